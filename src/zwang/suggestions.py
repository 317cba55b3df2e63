"""The end of a sentence that refuses an unknown name."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

CUTOFF = 0.55
"""Least similarity of a suggestion to the word [1]."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`; did you mean 'x'?`, or, where no known name is similar, a list of all of them.

    Args:
        word: the name that is not known.
        known: the names that are.
    """
    known = list(known)
    close = difflib.get_close_matches(word, known, n=2, cutoff=CUTOFF)
    if close:
        return f"; did you mean {' or '.join(map(repr, close))}?"
    return f"; there are: {', '.join(known) or 'none'}."
