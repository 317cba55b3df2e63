"""A case of the catalogue of hostile input, its execution and its check."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from zwang.errors import ModelError, OutputError, SimulationError
from zwang.messages import messages


@dataclass(frozen=True)
class Case:
    """One hostile input and what has to come of it.

    Attributes:
        name: what is given, in a few words; unique within its catalogue.
        line: line of the list of classes in the issue that this case belongs to.
        do: a function of an empty folder that gives the input to the library in Python; a
            `ModelError`, `OutputError` or `SimulationError` that it raises is its sentence, or the
            text that it returns where the input is right or ends in a warning; or
        argv: words of the command line after `zwang`, run in an empty folder in which `files`
            have been written.
        says: regular expression that the sentence contains (raised, or printed by the command).
        code: exit code of the command; None for a case in Python, which has to raise.
        files: name → content, written into the folder before the case runs.
    """

    name: str
    line: int
    says: str
    do: Callable[[Path], object] | None = None
    argv: tuple[str, ...] = ()
    code: int | None = None
    files: dict[str, str | bytes] | None = None


LONGEST_SENTENCE = 2000
"""Characters [-] that a message may have: input is quoted in part, never as a whole."""
CLASSES = {
    0: "Right models that must run",
    1: "Constraints that come to contradict each other",
    2: "Rows that vanish while they ask for something",
    3: "Nearly parallel rows",
    4: "Ill-conditioned systems",
    5: "Singular mass matrices",
    6: "Input of which a part would be dropped",
    7: "Parameters without effect, unstable gains, servos that are not met",
    8: "Names and units of results",
    9: "Files that cannot be written",
    10: "Input without end",
    11: "Interrupted runs",
    12: "Arguments, functions and files of a wrong kind",
    13: "Advice that fits the place",
}
"""What the cases of a line have in common."""


def outcome(case: Case, folder: Path, command: Callable) -> tuple[int | None, str]:
    """Exit code and text of a case; foreign exceptions are not caught, so that they fail the test.

    Args:
        case: the case.
        folder: an empty folder, the working directory of the case.
        command: `(words) -> (exit code, text)` runs the command line in this process.
    """
    for name, content in (case.files or {}).items():
        data = content if isinstance(content, bytes) else content.encode()
        (folder / name).write_bytes(data)
    if case.do is None:
        return command(case.argv)
    try:
        found = case.do(folder)
    except (ModelError, OutputError, SimulationError) as error:
        assert error.code in messages()
        return None, str(error)
    return None, found if isinstance(found, str) else "(accepted without a word)"


def fault(case: Case, code: int | None, text: str) -> str | None:
    """What is wrong with the outcome of a case, or None."""
    if code != case.code:
        return f"{case.name}: exit code {code}, expected {case.code}: {text[-500:]}"
    if not re.search(case.says, " ".join(text.split())):
        return f"{case.name}: nothing of {case.says!r} in: {text[-500:]}"
    if "Traceback" in text or len(text) > LONGEST_SENTENCE:
        return f"{case.name}: a traceback or too long ({len(text)} characters): {text[:500]}"
    if any(ord(x) < 32 and x not in "\n\t" for x in text):
        return f"{case.name}: control codes reach the terminal: {text[:500]!r}"
    return None


def readable(pattern: str) -> str:
    """The words that a regular expression asks for, as they are read by people."""
    words = re.sub(r"\.[*+]", " … ", pattern)
    words = re.sub(r"\\([^\w\s])", r"\1", words).replace("\\d", "0").replace(".", ".")
    return " ".join(words.replace("|", " or ").split())


def table(catalogues: Mapping[str, ModuleType]) -> str:
    """All cases as Markdown, a table for each class; "–" for a call in Python, which raises."""
    cases = [(name, case) for name, module in catalogues.items() for case in module.CASES]
    lines = []
    for number, title in CLASSES.items():
        of_class = [(name, case) for name, case in cases if case.line == number]
        if not of_class:
            continue
        lines += ["", f"## {title}", "", f"{len(of_class)} cases.", ""]
        lines += ["| what is given | by | what is said | exit code |", "|---|---|---|---|"]
        for name, case in of_class:
            code = "–" if case.code is None else str(case.code)
            by = "command" if case.do is None else "file" if name == "files" else "Python"
            cells = (_cell(case.name), by, _cell(readable(case.says)), code)
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(text: str) -> str:
    """Text as it is, whatever Markdown would make of it."""
    shown = "".join(x if x.isprintable() else "?" for x in text)
    return re.sub(r"([\\`*_{}\[\]<>|$#~])", r"\\\1", shown)
