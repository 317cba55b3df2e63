"""Translation of names of the library into words of the command line.

Remedies of the library are stated as options of the command that runs (see `zwang.remedy`). This
module translates other arguments, classes and functions in a sentence into options and commands.
"""

from __future__ import annotations

import functools
import importlib
import re
from collections.abc import Set
from typing import get_type_hints

from zwang.remedy import spoken_options

SINGULAR = {"inputs": "input", "outputs": "output"}
"""Arguments whose option is repeated, once for each entry."""
CALLED = re.compile(
    r"\bzw\.(?:analysis\.|study\.)?([a-z][a-z_]*)(\((?:[^()=]|\([^()]*\))*\))?(?!\w|\.\w|\()"
)
"""Pattern of a function of the library, alone or called without an option."""
METHOD = re.compile(r"\b(?:(integrator|pseudoinverse|formulation)=)?zw\.methods\.([A-Z]\w*)\(\)")
ARGUMENT = re.compile(r"(?<![\w.(])([a-z]\w*)=(?=[\s.,;:)]|$)")
"""Pattern of an argument that is named without a value."""


def fitted(sentence: str, command: str | None = None) -> str:
    """The sentence with names of the command line in place of those that this command has.

    Args:
        sentence: a sentence of the library.
        command: name of a command's module; by default that of the running command.
    """
    spoken = spoken_options() if command is None else None
    has = spoken or options_of(command or "run")
    sentence = METHOD.sub(lambda x: _method(x, has), sentence)
    sentence = ARGUMENT.sub(lambda x: _argument(x, has), sentence)
    return CALLED.sub(_called, sentence)


@functools.cache
def options_of(command: str) -> set[str]:
    """Names of the options of a command, without leading dashes."""
    function = importlib.import_module(f"zwang.cli.{command}").command
    found = set()
    for name, kind in get_type_hints(function, include_extras=True).items():
        for about in getattr(kind, "__metadata__", ()):
            if type(about).__name__ != "OptionInfo":  # an argument, which has no option name
                continue
            # in an annotation, typer stores the first name of an option as the default value
            given = [getattr(about, "default", None), *(getattr(about, "param_decls", None) or ())]
            words = "/".join(x for x in given if isinstance(x, str) and x.startswith("--"))
            words = words or f"--{name.replace('_', '-')}"
            found |= {x.removeprefix("--") for x in words.split("/")}
    return found


def _method(found: re.Match, has: Set[str]) -> str:
    """A method in terms of the option that selects it."""
    from zwang.objects import families

    for option in ("integrator", "pseudoinverse", "formulation"):
        members = getattr(families, f"{option.upper()}S").members
        names = [name for name, member in members.items() if member.name == found[2]]
        if names and option in has:
            return f"--{option} {names[0]}"
    return found[0]


def _argument(found: re.Match, has: Set[str]) -> str:
    """An argument in terms of its option."""
    name = str(SINGULAR.get(found[1], found[1])).replace("_", "-")
    return f"--{name}" if name in has else found[0]


def _called(found: re.Match) -> str:
    """A function in terms of its command."""
    from zwang.cli import COMMANDS

    name = {"simulate": "run"}.get(found[1], found[1].replace("_", "-"))
    return f"`zwang {name}`" if name in COMMANDS else found[0]
