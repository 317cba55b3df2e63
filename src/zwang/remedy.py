"""Remedies: what can be done about a failure, in words of those who can do it.

In Python one gives an argument, on the command line an option. A remedy is data until it is said:

    raise ModelError(f"the start is off its constraints: {advice(MOVED, TOLERATED)}.")

`zwang.cli` names the options of the command that runs by `speak_to`; before, Python is spoken.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from typing import NamedTuple


class Remedy(NamedTuple):
    """One thing to do.

    Attributes:
        words: those of a program, and of everyone else where there are no others.
        options: pairs of an option and words for a command that has it, of which the first counts;
            every command has the option "". Without a pair a remedy is one of programs alone.
    """

    words: str
    options: tuple[tuple[str, str], ...] | None = None


STEPS = Remedy("raise max_steps", (("max-steps", "raise --max-steps"),))
LOOSER = Remedy("loosen rtol", (("rtol", "loosen --rtol"),))
STIFF = Remedy(
    "take integrator=zw.methods.Kvaerno5() for a stiff system",
    (("integrator", "take --integrator kvaerno5 for a stiff system"),),
)
LONGER_STEP = Remedy("give a longer step", (("step", "give a longer --step"),))
SHORTER = Remedy(
    "end the motion before with a zw.Stop",
    (("duration", "end the motion before by a shorter --duration"),),
)
MOVED = Remedy(
    "move it with zw.consistent_state(model, q0, v0).state",
    (("set", "give another start (by --set, or by consistent_state in a .py file)"),),
)
TOLERATED = Remedy(
    "raise start_tolerance", (("start-tolerance", "raise --start-tolerance to project it"),)
)

_options: Callable[[], Set[str]] | None = None


def speak_to(options: Callable[[], Set[str]] | None) -> None:
    """Say advice from now on as options of a command, by their names; None speaks Python."""
    global _options
    _options = options


def spoken_options() -> Set[str] | None:
    """Options of the command that is spoken to, by their names; None where Python is spoken."""
    return None if _options is None else _options()


def advice(*remedies: Remedy) -> str:
    """The remedies that whoever is spoken to can follow; in Python's words where none is left."""
    said = [x.words for x in remedies]
    if (has := spoken_options()) is not None:
        pairs = ([("", x.words)] if x.options is None else x.options for x in remedies)
        ways = ([words for name, words in x if not name or name in has] for x in pairs)
        said = [way[0] for way in ways if way] or said
    *others, last = said
    return f"{', '.join(others)} or {last}" if others else last


def resume_call(folder: str) -> str:
    """The call, or the command, that resumes a long run."""
    command = ("resume", f"zwang run --resume {folder}")
    return advice(Remedy(f"zw.study.resume({folder!r})", (command,)))
