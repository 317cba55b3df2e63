"""Strings from outside: validation of names, and display on a terminal."""

from __future__ import annotations

import unicodedata

from zwang.errors import ModelError

LONGEST_NAME = 200
"""Longest name [characters]: it has to fit into a line of a table and into a file name."""
HIDDEN = {"Cc", "Cs", "Zl", "Zp"}
"""Unicode categories without a glyph: control codes, surrogates, separators of lines and
paragraphs. NetCDF refuses NUL, UTF-8 refuses surrogates, and a terminal executes the others.
"""
SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
REORDERING = {*map(chr, range(0x202A, 0x202F)), *map(chr, range(0x2066, 0x206A))}
"""Characters that reverse the direction in which the following text is shown."""


def counted(n: int, what: str, ending: str = "s") -> str:
    """Format a number of things, "1 row" or "2 rows"."""
    return f"{n} {what}{'' if n == 1 else ending}"


def unit_of_rate(unit: str, order: int) -> str:
    """Unit of a time derivative, "m/s²" for "m" and 2; empty for an empty unit."""
    power = "" if order == 1 else str(order).translate(SUPERSCRIPTS)
    return f"{unit}/s{power}" if unit and order else unit


def is_hidden(character: str) -> bool:
    """Return whether a terminal would execute a character instead of showing it."""
    return unicodedata.category(character) in HIDDEN or character in REORDERING


def escaped(text: str, *, lines: bool = True) -> str:
    """Escape every hidden character as in Python, `\\x1b`.

    Args:
        text: the text.
        lines: whether line breaks and tabs are kept.
    """
    if text.isascii() and text.isprintable():
        return text
    kept = "\n\t" if lines else ""
    return "".join(
        x.encode("unicode_escape").decode() if is_hidden(x) and x not in kept else x for x in text
    )


def checked_name(name: object, what: str, longest: int = LONGEST_NAME) -> str:
    """Return a name if it can be shown, saved and found again.

    Args:
        name: the name.
        what: the named thing, for the message.
        longest: limit of its length [characters].

    Raises:
        ModelError: if it is not a string, is empty, is too long or has hidden characters.
    """
    if not isinstance(name, str):
        raise ModelError(f"{what} is {name!r:.80}, expected a text.")
    if not name.strip():
        raise ModelError(f"{what} is empty; give it a name of at least one letter.")
    if len(name) > longest:
        raise ModelError(
            f"{what} has {len(name)} characters ({name[:20]!r} …), expected at most {longest}."
        )
    if (bad := next(filter(is_hidden, name), None)) is not None:
        raise ModelError(
            f"{what} is {name!r:.80} with the control character U+{ord(bad):04X}; "
            "expected characters that can be shown."
        )
    return name
