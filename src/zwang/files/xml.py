"""XML without entities or anything from elsewhere, with limited depth and number of elements."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from zwang.errors import ModelError
from zwang.files.limits import limit
from zwang.text import checked_name

_DECLARED = re.compile(r"\s*<\?xml[^>]*?encoding\s*=\s*[\"']([^\"']*)[\"']")
ENCODINGS = {"utf-8", "utf8", "us-ascii", "ascii"}
NAMES = ("name", "joint", "link", "body", "class")
"""Attributes that hold a name."""
PIECE = 2**20
"""Characters that are read at once."""


def parsed_xml(text: str, shown: str) -> ElementTree.Element:
    """The root element of a text.

    Args:
        text: the XML.
        shown: the file, for messages.

    Raises:
        ModelError: for text that is no XML, declares a document type, in which entities could
            hide, or goes beyond a limit.
    """
    declared = _DECLARED.match(text)
    if declared and declared[1].lower() not in ENCODINGS:
        raise ModelError(f"{shown} declares the encoding {declared[1]!r:.40}, expected UTF-8.")
    if "<!DOCTYPE" in text.upper() or "<!ENTITY" in text.upper():
        raise ModelError(
            f"{shown} declares a document type or entities; write the robot's elements out."
        )
    reader = ElementTree.XMLPullParser(("start", "end"))
    counts = _Counts(shown)
    try:
        # piece by piece, so that a limit ends the reading before the whole tree is in memory
        for begin in range(0, len(text), PIECE):
            reader.feed(text[begin : begin + PIECE])
            counts.take(reader.read_events())
        reader.close()
        counts.take(reader.read_events())
    except ElementTree.ParseError as error:
        raise ModelError(f"{shown}: no XML: {error}.") from None
    except (ValueError, LookupError) as error:
        if isinstance(error, ModelError):
            raise
        raise ModelError(f"{shown}: no XML: {error}.") from None
    assert counts.root is not None  # an empty text is a ParseError
    return counts.root


class _Counts:
    """Depth and number of elements so far, and the first of them."""

    def __init__(self, shown: str):
        self.shown, self.depth, self.number = shown, 0, 0
        self.root: ElementTree.Element | None = None

    def take(self, events) -> None:
        """Count, and refuse what goes beyond a limit."""
        for event, element in events:
            if event == "end":
                self.depth -= 1
                continue
            self.root = element if self.root is None else self.root
            self.depth, self.number = self.depth + 1, self.number + 1
            if self.depth > limit("xml_depth"):
                raise ModelError(
                    f"{self.shown}: elements are nested deeper than {limit('xml_depth')} levels."
                )
            if self.number > limit("xml_elements"):
                raise ModelError(f"{self.shown} has more than {limit('xml_elements')} elements.")
            for name in NAMES:
                if element.get(name):
                    checked_name(element.get(name), f"{self.shown}: a {element.tag:.40}'s {name}")
