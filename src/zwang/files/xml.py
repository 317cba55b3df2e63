"""XML without entities or external content, with limited depth and number of elements."""

from __future__ import annotations

import re
from xml.etree import ElementTree
from xml.parsers import expat

from zwang.errors import ModelError
from zwang.files.limits import limit
from zwang.inputs.text import checked_name

_DECLARED = re.compile(r"\s*<\?xml[^>]*?encoding\s*=\s*[\"']([^\"']*)[\"']")
ENCODINGS = {"utf-8", "utf8", "us-ascii", "ascii"}
NAMES = ("name", "joint", "link", "body", "class")
"""Attributes that hold a name."""
PIECE = 2**20
"""Number of characters that are parsed at once."""


def parsed_xml(text: str, shown: str) -> ElementTree.Element:
    """Parse XML text and return its root element.

    Args:
        text: the XML.
        shown: the file, for messages.

    Raises:
        ModelError: for text that is not XML, declares a document type, in which entities could
            hide, or exceeds a limit.
    """
    declared = _DECLARED.match(text)
    if declared and declared[1].lower() not in ENCODINGS:
        raise ModelError(f"{shown} declares the encoding {declared[1]!r:.40}, expected UTF-8.")
    if "<!DOCTYPE" in text.upper() or "<!ENTITY" in text.upper():
        raise ModelError(
            f"{shown} declares a document type or entities; write the robot's elements out."
        )
    reader = _Reader(shown)
    try:
        # The text is parsed in pieces, so that a limit is applied before the whole tree is in
        # memory.
        for begin in range(0, len(text), PIECE):
            reader.parser.Parse(text[begin : begin + PIECE], False)
        reader.parser.Parse("", True)
    except (expat.ExpatError, ValueError, LookupError) as error:
        if isinstance(error, ModelError):
            raise
        raise ModelError(f"{shown}: no XML: {error}.") from None
    return reader.builder.close()


class _Reader:
    """Builder of an element tree, with a limited depth and number of elements.

    Names keep their prefixes as they are written: robot files have elements of other programs whose
    namespace they do not declare.
    """

    def __init__(self, shown: str):
        self.shown, self.depth, self.number = shown, 0, 0
        self.builder, self.parser = ElementTree.TreeBuilder(), expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.builder.data

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Open an element, and refuse content that exceeds a limit."""
        self.depth, self.number = self.depth + 1, self.number + 1
        if self.depth > limit("xml_depth"):
            raise ModelError(
                f"{self.shown}: elements are nested deeper than {limit('xml_depth')} levels."
            )
        if self.number > limit("xml_elements"):
            raise ModelError(f"{self.shown} has more than {limit('xml_elements')} elements.")
        for name in NAMES:
            if attributes.get(name):
                checked_name(attributes[name], f"{self.shown}: a {tag:.40}'s {name}")
        self.builder.start(tag, attributes)

    def end(self, tag: str) -> None:
        """Close an element."""
        self.depth -= 1
        self.builder.end(tag)
