"""Suggestions for a name that does not exist."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

MOST_SHOWN = 24
"""Number of names listed in one sentence if none is close."""


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """Return the end of a sentence about an unknown name: close names, or all existing ones.

    Example:
        >>> did_you_mean("lenght", ["length", "mass"])
        "; did you mean 'length'?"
    """
    known = [str(x) for x in known]
    if close := close_to(name, known):
        return f"; did you mean {' or '.join(map(repr, close))}?"
    more = len(known) - MOST_SHOWN
    listed = ", ".join(known[:MOST_SHOWN]) + (f" and {more} more" if more > 0 else "")
    return f"; there are: {listed}." if known else "; there is none."


def close_to(name: object, known: Iterable[str]) -> list[str]:
    """Return at most two names that are close to one that does not exist."""
    return difflib.get_close_matches(str(name)[:100], list(known), n=2, cutoff=0.55)
