"""The list of models with their settings; imports nothing slow, so that `zwang list` answers at
once.

| file | what |
|---|---|
| `entry.py` | `Entry`, `Setting` |
| `members.py` | members that are Python files |
| `mechanisms.py` | members that are mechanism files |
| `files.py` | the file that a member is made from |
"""

from __future__ import annotations

from zwang.gallery.index.entry import Entry as Entry
from zwang.gallery.index.entry import Setting as Setting
from zwang.gallery.index.mechanisms import MECHANISMS
from zwang.gallery.index.members import MEMBERS

ENTRIES: dict[str, Entry] = {entry.name: entry for entry in (*MEMBERS, *MECHANISMS)}
NAMES: tuple[str, ...] = tuple(ENTRIES)


def table() -> str:
    """All models as a Markdown table for the documentation."""
    lines = ["| model | what it shows | tags | source |", "|---|---|---|---|"]
    for entry in ENTRIES.values():
        cells = (f"`{entry.name}`", entry.summary, ", ".join(entry.tags), entry.source)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"
