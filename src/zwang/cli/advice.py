"""Advice of the library in words of the command line.

The library advises in Python: arguments, classes, functions. A command says instead what it can do
itself, and leaves out what it cannot.
"""

from __future__ import annotations

import contextvars
import importlib
import re
from collections.abc import Iterable
from typing import NamedTuple, get_type_hints

COMMAND: contextvars.ContextVar[str] = contextvars.ContextVar("COMMAND", default="run")
"""The command that runs, by the name of its module."""


class Remedy(NamedTuple):
    """One thing to do: `option` is what a command needs for it, empty for none."""

    option: str
    words: str


STEPS, LOOSER = Remedy("max-steps", "raise --max-steps"), Remedy("rtol", "loosen --rtol")
STIFF = Remedy("integrator", "take --integrator kvaerno5 for a stiff system")
SHORTER = Remedy("duration", "end the run before by a shorter --duration")
OTHER_START = Remedy("set", "give another start (by --set, or by consistent_state in a .py file)")
PROJECTED = Remedy("start-tolerance", "raise --start-tolerance to project it")
REMEDIES: dict[str, tuple[Remedy, ...]] = {
    r"raise max_steps, loosen rtol, or use zw\.Kvaerno5\(\) for a stiff system": (
        STEPS,
        LOOSER,
        STIFF,
    ),
    r"raise max_steps or loosen rtol": (STEPS, LOOSER),
    r"raise max_steps, or give a longer step": (STEPS, Remedy("step", "give a longer --step")),
    r"try a larger rtol, or zw\.Kvaerno5\(\) in place of an explicit one": (LOOSER, STIFF),
    r"try a larger rtol, or end the motion before with a zw\.Stop": (LOOSER, SHORTER),
    r"state the relation itself instead of its square, or end the motion before with a zw\.Stop": (
        Remedy("", "state the relation itself instead of its square"),
        SHORTER,
    ),
    r"end (the motion|the run|it) before with a zw\.Stop": (SHORTER,),
    r"move it with zw\.consistent_state\(model, q0, v0\)\.state, or raise start_tolerance": (
        OTHER_START,
        PROJECTED,
    ),
    r"move it with zw\.consistent_state(?!\()": (OTHER_START, PROJECTED),
    r"raise start_tolerance": (Remedy("start-tolerance", "raise --start-tolerance"),),
    r"more than start_tolerance": (
        Remedy("start-tolerance", "more than --start-tolerance"),
        Remedy("", "more than it may be"),
    ),
    r"give more digits, or take the start from zw\.consistent_state": (
        Remedy("", "give more digits"),
    ),
    r" \(inside jit a model that is massless there needs zw\.Model\([^)]*\)\)": (Remedy("", ""),),
    r", or run it on the host, where one is chosen": (Remedy("", ""),),
    r"\(longest_step, rtol\)": (Remedy("rtol", "(a smaller --rtol)"),),
    r"see zw\.passages, or start": (Remedy("", "start"),),
    r"start with a little speed, zw\.branches\([^)]*\)\.start\([^)]*\)": (
        Remedy("", "start with a little speed along it (`zwang branches` lists all)"),
    ),
    r"give a dictionary, input=\{[^}]*\}": (
        Remedy("", "the command takes one, its function in Python several"),
    ),
    r"give a q inside, or a range": (Remedy("", "give a range"),),
    r"give a q that has it \(zw\.assembly_modes lists all\)": (
        Remedy("set", "`zwang assembly-modes` lists all starts, choose one by --set"),
    ),
    r"give tangent=, or start elsewhere": (Remedy("", "start elsewhere"),),
    r"start closer, let a parameter be found by inputs=, or check": (
        Remedy("", "start closer, or check"),
    ),
    r"leave v out for an equilibrium at the given time": (
        Remedy("steady", "leave --steady out for an equilibrium at the given time"),
    ),
    r"which needs a steady motion: give v": (
        Remedy("steady", "which needs a steady motion: give --steady"),
    ),
    r"give zw\.simulate step= \(--step\)": (Remedy("step", "give --step"),),
    r"give python=True, too": (Remedy("as", "take --as fmu2-python or --as fmu3-python"),),
    r"take sample=zw\.sobol\(count\) or zw\.draws\(count\)": (
        Remedy("sample", "take --sample sobol:COUNT or --sample draws:COUNT"),
    ),
    r"zw\.with_found_degrees finds": (Remedy("", "with_found_degrees finds, in a .py file,"),),
    r"find=\"nearest\"": (Remedy("find", "--find nearest"),),
    r"zw\.c_code\b": (Remedy("", "`zwang export --as c`"),),
}
"""What the library advises, as a regular expression, and what there is to do instead. Those that
the command has are said; without any, the sentence stays as it is.
"""
SINGULAR = {"inputs": "input", "outputs": "output"}
"""Arguments whose option is given once for each."""
RESUMED = re.compile(r"zw\.resume\('([^']*)'\)")
CALLED = re.compile(r"\bzw\.([a-z][a-z_]*)(\((?:[^()=]|\([^()]*\))*\))?(?!\w|\.\w|\()")
"""A function of the library, alone or called without an option."""
METHOD = re.compile(r"\b(?:(integrator|pseudoinverse|formulation)=)?zw\.([A-Z]\w*)\(\)")
ARGUMENT = re.compile(r"(?<![\w.(])([a-z]\w*)=(?=[\s.,;:)]|$)")
"""An argument that is named and given no value."""


def fitted(sentence: str, command: str | None = None) -> str:
    """The sentence with advice that the command line, and this command of it, can follow.

    Args:
        sentence: of the library.
        command: name of a command's module; by default of the one that runs.
    """
    has = options_of(COMMAND.get() if command is None else command)
    sentence = RESUMED.sub(r"zwang run --resume \1", sentence)
    for python, remedies in REMEDIES.items():
        if words := [x.words for x in remedies if not x.option or x.option in has]:
            # of two ways to say it, the first that the command has
            words = words[:1] if remedies[-1].option == "" and len(remedies) > 1 else words
            sentence = re.sub(python, _either(words), sentence)
    sentence = METHOD.sub(lambda x: _method(x, has), sentence)
    sentence = ARGUMENT.sub(lambda x: _argument(x, has), sentence)
    return CALLED.sub(_called, sentence)


def options_of(command: str) -> set[str]:
    """Names of the options of a command, without dashes before them."""
    function = importlib.import_module(f"zwang.cli.{command}").command
    found = set()
    for name, kind in get_type_hints(function, include_extras=True).items():
        for about in getattr(kind, "__metadata__", ()):
            if type(about).__name__ != "OptionInfo":  # an argument, which has no name
                continue
            # of what stands in an annotation the first name is taken for a default value
            given = [getattr(about, "default", None), *(getattr(about, "param_decls", None) or ())]
            words = "/".join(x for x in given if isinstance(x, str) and x.startswith("--"))
            words = words or f"--{name.replace('_', '-')}"
            found |= {x.removeprefix("--") for x in words.split("/")}
    return found


def _either(words: Iterable[str]) -> str:
    *others, last = words
    return f"{', '.join(others)} or {last}" if others else last


def _method(found: re.Match, has: set[str]) -> str:
    """A method by the option that chooses it."""
    from zwang import families

    for option in ("integrator", "pseudoinverse", "formulation"):
        members = getattr(families, f"{option.upper()}S").members
        names = [name for name, member in members.items() if member.name == found[2]]
        if names and option in has:
            return f"--{option} {names[0]}"
    return found[0]


def _argument(found: re.Match, has: set[str]) -> str:
    """An argument by its option."""
    name = str(SINGULAR.get(found[1], found[1])).replace("_", "-")
    return f"--{name}" if name in has else found[0]


def _called(found: re.Match) -> str:
    """A function by its command."""
    from zwang.cli import COMMANDS

    name = {"simulate": "run"}.get(found[1], found[1].replace("_", "-"))
    return f"`zwang {name}`" if name in COMMANDS else found[0]
