"""TOML with limited nesting.

The text is scanned once before `tomllib` parses it, because `tomllib` recurses at every bracket and
compares every part of a dotted key with every other.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from typing import Any

from zwang.errors import ModelError
from zwang.files.limits import limit
from zwang.inputs.text import checked_name, is_hidden

_TOKEN = re.compile(
    r"""(?P<skip>\"{3}(?:\\.|[^\\])*?\"{3,5}|'{3}.*?'{3,5}|"(?:\\.|[^"\\\n])*"|'[^'\n]*'|\#[^\n]*)
    |(?P<open>[\[{])|(?P<close>[\]}])|(?P<end>[,=\n])|(?P<word>[^\s\[\]{}"'\#,=]+)|.""",
    re.VERBOSE | re.DOTALL,
)


class TomlError(ModelError):
    """A file is not TOML, or exceeds a limit.

    Attributes:
        line: its line, or None.
        where: path of keys, e.g. ("bodies", "crank", "mass"); empty if it is not known.
    """

    def __init__(self, message: str, line: int | None = None, where: tuple[str, ...] = ()):
        super().__init__(message)
        self.line, self.where = line, where


def parsed_toml(text: str) -> dict[str, Any]:
    """Parse a TOML text to tables.

    Raises:
        TomlError: for text that is not TOML, nests too deeply, has too many entries, numbers that
            are too long or too large, or names that cannot be shown.
    """
    # `tomllib` accepts a carriage return only before a line feed.
    text = text.replace("\r\n", "\n")
    _check_nesting(text)
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise TomlError(f"{error}{_hint(str(error))}.") from None
    except (ValueError, OverflowError) as error:  # dates and integers that Python does not accept
        raise TomlError(f"{error}.") from None
    _check_values(content)
    return content


def _hint(message: str) -> str:
    twice = "overwrite" in message or "twice" in message
    return "; a name may stand only once in a table" if twice else ""


def _check_nesting(text: str) -> None:
    """Refuse depth, dotted keys, numbers of entries and digits beyond the limits."""
    depth, dots, entries, line = 0, 0, 0, 1
    for token in _TOKEN.finditer(text):
        kind, found = token.lastgroup, token[0]
        entries += kind == "open" or found in "=,"
        if kind == "open":
            depth, dots = depth + 1, 0
            if depth > limit("toml_depth"):
                raise TomlError(
                    f"brackets are nested deeper than {limit('toml_depth')} levels.", line
                )
        elif kind == "close":
            depth, dots = max(depth - 1, 0), 0
        elif kind == "end":
            dots = 0
            line += found == "\n"
            depth = 0 if found == "\n" and depth and _begins_table(text, token.end()) else depth
        elif kind == "word":
            dots += found.count(".")
            if dots >= limit("toml_key"):
                raise TomlError(f"a dotted key has more than {limit('toml_key')} parts.", line)
            _check_digits(found, line)
        elif kind == "skip":
            line += found.count("\n")
        elif found in "\"'":
            # Searching for its end again at every later quote would take quadratic time.
            raise TomlError("text in quotes has no closing quote.", line)
        if entries > limit("toml_entries"):
            raise TomlError(f"has more than {limit('toml_entries')} entries.", line)


def _begins_table(text: str, place: int) -> bool:
    """Return whether a table begins at the next line, i.e. a bracket was left open.

    The error of `tomllib` describes this better.
    """
    return text[place : place + 1] == "[" and text[place : place + 120].split("\n")[0].endswith("]")


def _check_digits(word: str, line: int) -> None:
    longest = max(map(len, re.findall(r"[\da-fA-F_]+", word)), default=0)
    if longest > limit("digits") and not re.match(r"[A-Za-z_-]", word):
        raise TomlError(
            f"a number has {longest} digits in a row, expected at most {limit('digits')}.", line
        )


def _check_values(content: Mapping[str, Any]) -> None:
    """Refuse names and strings that cannot be shown, and numbers whose squares overflow.

    The values are visited without recursion.
    """
    left: list[tuple[tuple[str, ...], Any]] = [((), content)]
    while left:
        where, value = left.pop()
        if isinstance(value, dict):
            for name, x in value.items():
                checked_name(name, f"a name in [{'.'.join(where)}]" if where else "a name")
                left.append(((*where, name), x))
        elif isinstance(value, list):
            left += [(where, x) for x in value]
        elif isinstance(value, str):
            hidden = [x for x in value if is_hidden(x) and x not in "\r\n\t"]
            if hidden:
                said = f"is {value!r:.80} with the control character U+{ord(hidden[0]):04X}."
                raise TomlError(f"{'.'.join(where)}: {said}", where=where)
        elif isinstance(value, (int, float)) and not abs(value) <= 10.0 ** limit("magnitude"):
            said = f"is {value:.6g}, expected a finite number up to 1e{limit('magnitude')} in size."
            raise TomlError(f"{'.'.join(where)}: {said}", where=where)
