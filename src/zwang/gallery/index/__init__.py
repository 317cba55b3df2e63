"""The list of models with their settings. It imports no slow modules, so that `zwang list` answers
immediately.

| file | content |
|---|---|
| `entry.py` | `Entry`, `Setting` |
| `members.py` | models that are Python files |
| `mechanisms.py` | models that are mechanism files |
| `files.py` | the source file of a model |
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from zwang.gallery.index.entry import Entry as Entry
from zwang.gallery.index.entry import Setting as Setting
from zwang.gallery.index.mechanisms import MECHANISMS, mechanism
from zwang.gallery.index.members import MEMBERS


class _Entries(Mapping[str, Entry]):
    """The models by name; the entry of a file is read on first access."""

    def __init__(self):
        self._members = {entry.name: entry for entry in MEMBERS}

    def __getitem__(self, name: str) -> Entry:
        if name in self._members:
            return self._members[name]
        if name in MECHANISMS:
            return mechanism(name)
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        yield from self._members
        yield from MECHANISMS

    def __len__(self) -> int:
        return len(self._members) + len(MECHANISMS)


ENTRIES: Mapping[str, Entry] = _Entries()
NAMES: tuple[str, ...] = tuple(ENTRIES)


def table() -> str:
    """All models as a Markdown table for the documentation."""
    lines = ["| model | what it shows | tags | source |", "|---|---|---|---|"]
    for entry in ENTRIES.values():
        cells = (f"`{entry.name}`", entry.summary, ", ".join(entry.tags), entry.source)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"
