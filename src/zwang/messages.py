"""Index of messages: the section of `messages.md`, a page of the documentation, that explains a
sentence of the library.

A section holds words of one message, or names the modules whose sentences it explains. The section
of an error without words of its own is that of the innermost module on its traceback which a
section names: checks of arguments, which every part of the library shares, are named by none, so
that the part which asked for them explains what it expects.
"""

from __future__ import annotations

import functools
import re
import traceback
from pathlib import Path
from types import FrameType, TracebackType
from typing import NamedTuple

PAGE = Path(__file__).with_name("messages.md")
SECTION = re.compile(r"^## (\S+)\n\n> ([^\n]+)\n\n(.*?)(?=^## |\Z)", re.DOTALL | re.MULTILINE)
MODULES = re.compile(r"^<!-- of ([^>]+) -->$", re.MULTILINE)
"""The comment of a section with the modules whose sentences it explains."""
OF_ANY = "arguments"
"""Section of errors that no other one explains."""


class Message(NamedTuple):
    """A message and what is behind it.

    Attributes:
        code: what `zwang explain` calls it.
        words: part of the message, with "…" for what differs; or what its messages are about.
        text: what it means and what to do, in Markdown.
        modules: modules and packages all of whose sentences it explains.
    """

    code: str
    words: str
    text: str
    modules: tuple[str, ...]

    def says(self, sentence: str) -> bool:
        """Whether a sentence of the library is this message."""
        parts = map(re.escape, self.words.split("…"))
        return re.search(".*".join(parts), " ".join(sentence.split())) is not None


@functools.cache
def messages() -> dict[str, Message]:
    """All messages that are explained, by their codes."""
    found = {}
    for code, words, text in SECTION.findall(PAGE.read_text(encoding="utf-8")):
        modules = tuple(" ".join(MODULES.findall(text)).replace(",", " ").split())
        found[code] = Message(code, words, MODULES.sub("", text).strip(), modules)
    return found


def code_of_words(sentence: str) -> str | None:
    """The code of a message by its words; None for one that has no section of its own."""
    return next((x.code for x in messages().values() if x.says(sentence)), None)


def code_of_module(module: str) -> str | None:
    """The code of the section that names a module, or the nearest package that contains it."""
    names = {name: x.code for x in messages().values() for name in x.modules}
    while module and module not in names:
        module = module.rpartition(".")[0]
    return names.get(module)


def code_of(sentence: str, trace: TracebackType | None) -> str:
    """The code that explains the sentence of an error: by its words, or by where it was raised."""
    if (code := code_of_words(sentence)) is not None:
        return code
    modules = [_module(frame) for frame, _ in traceback.walk_tb(trace)]
    return next(filter(None, map(code_of_module, reversed(modules))), OF_ANY)


def _module(frame: FrameType) -> str:
    """The module of a frame; for one of `zwang.inputs.call`, of the function that was called."""
    module = frame.f_globals.get("__name__", "")
    called = frame.f_locals.get("function") if module == "zwang.inputs.call" else None
    return getattr(called, "__module__", module)


def reference(code: str) -> str:
    """The command that explains a message."""
    return f"(zwang explain {code})"
