"""What a name that does not exist may have meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

MOST_SHOWN = 24
"""Names listed in one sentence where none is close."""


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """The end of a sentence about an unknown name: the names close to it, or those that exist.

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
    """At most two names that are close to one that does not exist."""
    return difflib.get_close_matches(str(name)[:100], list(known), n=2, cutoff=0.55)
