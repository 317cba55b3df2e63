"""Mutants that no test can notice, each with the reason, from `equivalent.toml`."""

from __future__ import annotations

import functools
import tomllib
from pathlib import Path

from tests.mutation.mutants import Mutant

LISTED = Path(__file__).with_name("equivalent.toml")


@functools.cache
def listed() -> dict[tuple[str, str, str], str]:
    """Reasons by module, kind and change; lines move, the words of a change do not."""
    entries = tomllib.loads(LISTED.read_text())["mutant"]
    return {(x["module"], x["kind"], x["what"]): x["why"] for x in entries}


def why_equivalent(module: str, mutant: Mutant) -> str | None:
    """Why a mutant behaves as the text does, or None if it is not listed."""
    return listed().get((module, mutant.kind, mutant.what))
