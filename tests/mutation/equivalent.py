"""Mutants that no test can detect, each with the reason, from `equivalent.toml`."""

from __future__ import annotations

import functools
import tomllib
from pathlib import Path

from tests.mutation.mutants import Mutant

LISTED = Path(__file__).with_name("equivalent.toml")


@functools.cache
def listed() -> dict[tuple[str, str, str], str]:
    """Reasons by module, code of the line, and change; code that is edited has to be judged
    anew.
    """
    entries = tomllib.loads(LISTED.read_text())["mutant"]
    return {(x["module"], x["line"], x["what"]): x["why"] for x in entries}


def key(module: str, mutant: Mutant, source: str) -> tuple[str, str, str]:
    """The entry of a mutant in the list: its line without the comment that follows the code."""
    code, _, _ = source.splitlines()[mutant.line - 1].partition("  #")
    return module, code.strip(), mutant.what


def why_equivalent(module: str, mutant: Mutant, source: str) -> str | None:
    """Why a mutant behaves as the text does, or None if it is not listed."""
    return listed().get(key(module, mutant, source))
