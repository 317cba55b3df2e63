"""The text of Universal Scene Description (`#usda 1.0`) as a tree of prims with their attributes.

Content of other layers (references, payloads, variants, time samples) is recorded by name and not
followed.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator

from zwang.errors import ModelError
from zwang.files.limits import limit

TOKEN = re.compile(
    r"""(?P<space>\s+|\#[^\n]*)
    |(?P<text>\"\"\".*?\"\"\"|'''.*?'''|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
    |(?P<path><[^>\n]*>)
    |(?P<asset>@@@.*?@@@|@[^@\n]*@)
    |(?P<number>[-+]?(?:inf|nan)\b|[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)
    |(?P<word>[A-Za-z_][\w:.\-]*(?:\[\])?)
    |(?P<sign>[()\[\]{}=,;:])""",
    re.VERBOSE | re.DOTALL,
)
SPECIFIERS = ("def", "over", "class")
LIST_OPERATIONS = ("prepend", "append", "add", "delete", "reorder")
QUALIFIERS = (*LIST_OPERATIONS, "custom", "uniform", "varying", "config")
CLOSED_BY = {"(": ")", "[": "]", "{": "}"}
Token = tuple[str, str]


class Path(str):
    """The place of a prim in the scene, as in `</robot/link>`."""


@dataclasses.dataclass(eq=False)
class Prim:
    """A part of the scene.

    Attributes:
        kind: its type, "" without one.
        path: names from the outermost on.
        metadata: the entries in parentheses after its name.
        attributes: values by name; relations are paths.
        children: prims inside it.
        parent: the enclosing prim.
    """

    kind: str
    path: str
    metadata: dict = dataclasses.field(default_factory=dict)
    attributes: dict = dataclasses.field(default_factory=dict)
    children: list[Prim] = dataclasses.field(default_factory=list)
    parent: Prim | None = None

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def schemas(self) -> tuple[str, ...]:
        """Names of the schemas that are applied to it."""
        return tuple(self.metadata.get("apiSchemas") or ())

    def all(self) -> Iterator[Prim]:
        """The prim and all prims inside it."""
        yield self
        for child in self.children:
            yield from child.all()


def scene(text: str, shown: str) -> Prim:
    """The outermost prim, which has the layer's metadata and no name.

    Raises:
        ModelError: one sentence for a text in another format.
    """
    if not text.startswith("#usda"):
        raise ModelError(
            f"{shown} does not begin with '#usda'; write a binary file as text, by usdcat "
            "FILE -o FILE.usda."
        )
    return _Reading(text, shown).layer()


class _Reading:
    def __init__(self, text: str, shown: str):
        self.shown, self.text, self.at = shown, text, 0
        self.tokens: list[Token] = []
        self.places: list[int] = []
        place = 0
        while place < len(text):
            found = TOKEN.match(text, place)
            if found is None:
                raise self._wrong(f"{text[place]!r}", place)
            if found.lastgroup != "space":
                self.tokens.append((str(found.lastgroup), found.group()))
                self.places.append(place)
            place = found.end()
        self.places.append(place)

    def _wrong(self, what: str, place: int | None = None) -> ModelError:
        place = self.places[min(self.at, len(self.tokens))] if place is None else place
        return ModelError(f"{self.shown}, line {self.text.count(chr(10), 0, place) + 1}: {what}.")

    def _next(self) -> Token:
        return self.tokens[self.at] if self.at < len(self.tokens) else ("end", "the end")

    def _take(self, sign: str | None = None) -> str:
        kind, word = self._next()
        if kind == "end" or (sign is not None and word != sign):
            raise self._wrong(f"{word!r:.40}, expected {sign or 'more'!r}")
        self.at += 1
        return word

    def _met(self, sign: str) -> bool:
        """Consume a token if it comes next."""
        if self._next() != ("sign", sign):
            return False
        self.at += 1
        return True

    def _refuse_deep(self, depth: int) -> None:
        if depth > limit("xml_depth"):
            raise self._wrong(f"more than {limit('xml_depth')} levels of brackets in each other")

    def layer(self) -> Prim:
        root = Prim("", "")
        if self._met("("):
            root.metadata = self._entries(")")
        while self._next()[0] != "end":
            self._prim(root, 0)
        return root

    def _prim(self, parent: Prim, depth: int) -> None:
        self._refuse_deep(depth)
        if (word := self._take()) not in SPECIFIERS:
            raise self._wrong(f"{word!r:.40}, expected one of {', '.join(SPECIFIERS)}")
        kind = self._take() if self._next()[0] == "word" else ""
        if self._next()[0] != "text":
            raise self._wrong(f"{self._next()[1]!r:.40}, expected a name in quotes")
        made = Prim(kind, f"{parent.path}/{self._take()[1:-1]}", parent=parent)
        if self._met("("):
            made.metadata = self._entries(")")
        self._take("{")
        while not self._met("}"):
            if self._next()[1] in SPECIFIERS:
                self._prim(made, depth + 1)
            elif self._next()[1] == "variantSet":
                self._variants(made)
            elif not self._met(";"):
                self._property(made)
        # an abstract class is only a template of others
        if word != "class":
            parent.children.append(made)

    def _variants(self, prim: Prim) -> None:
        self._take()
        prim.metadata.setdefault("variant sets", []).append(self._take()[1:-1])
        self._take("=")
        self._take("{")
        self._skip("}")

    def _skip(self, end: str) -> None:
        """Skip past the token that closes the open bracket."""
        open_ = [end]
        while open_:
            kind, word = self._next()
            self._take()
            if kind != "sign":
                continue
            if word in CLOSED_BY:
                open_.append(CLOSED_BY[word])
            elif word == open_[-1]:
                open_.pop()

    def _property(self, prim: Prim) -> None:
        while self._next()[1] in QUALIFIERS:
            self._take()
        words = []
        while self._next()[0] == "word":
            words.append(self._take())
        if not words:
            raise self._wrong(f"{self._next()[1]!r:.40}, expected an attribute")
        value = self._value() if self._met("=") else None
        if value is not None:
            prim.attributes[words[-1]] = value
        if self._met("("):
            self._entries(")")

    def _entries(self, end: str, depth: int = 0) -> dict:
        """Named values, each by its own name, up to a token."""
        found: dict = {}
        while not self._met(end):
            if self._met(";") or self._met(","):
                continue
            if self._next()[0] == "text" and end == ")":
                self._take()  # a comment
                continue
            while self._next()[1] in QUALIFIERS:
                self._take()
            words = []
            while self._next()[0] in ("word", "text"):
                words.append(self._take().strip("\"'"))
            if not words:
                raise self._wrong(f"{self._next()[1]!r:.40}, expected a name")
            self._take("=")
            found[words[-1]] = self._value(depth)
        return found

    def _value(self, depth: int = 0):
        self._refuse_deep(depth)
        kind, word = self._next()
        self._take()
        if kind == "number":
            return float(word)
        if kind == "text":
            return word[3:-3] if word[:3] in ('"""', "'''") else word[1:-1]
        if kind == "path":
            return Path(word[1:-1])
        if kind == "asset":
            # a path in it names a prim of that file
            inside = self._take() if self._next()[0] == "path" else ""
            return word.strip("@") + inside
        if kind == "word":
            return {"true": True, "false": False, "None": None}.get(word, word)
        if word in ("(", "["):
            made = []
            while not self._met(CLOSED_BY[word]):
                if not self._met(","):
                    made.append(self._value(depth + 1))
            return made
        if word == "{":
            if self._next()[0] == "number":  # time samples
                self._skip("}")
                return None
            return self._entries("}", depth + 1)
        raise self._wrong(f"{word!r:.40}, expected a value")
