"""`zwang explain`."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from zwang.cli.failure import UserError
from zwang.cli.terminal import say
from zwang.inputs.suggestions import did_you_mean

PAGE = Path(__file__).with_name("messages.md")
"""The page of the documentation that explains messages, a section each."""
SECTION = re.compile(r"^## (\S+)\n\n> ([^\n]+)\n\n(.*?)(?=^## |\Z)", re.DOTALL | re.MULTILINE)

LINK = re.compile(r"\[([^\]]+)\]\(([\w-]+\.md)\)")
"""A page of the documentation."""


class Message(NamedTuple):
    """A message and what is behind it.

    Attributes:
        code: what `zwang explain` calls it.
        words: part of the message, with "…" for what differs.
        text: what it means and what to do, in Markdown.
    """

    code: str
    words: str
    text: str

    def says(self, sentence: str) -> bool:
        """Whether a sentence of the library is this message."""
        parts = map(re.escape, self.words.split("…"))
        return re.search(".*".join(parts), " ".join(sentence.split())) is not None


@functools.cache
def messages() -> dict[str, Message]:
    """All messages that are explained, by their codes."""
    found = SECTION.findall(PAGE.read_text(encoding="utf-8"))
    return {code: Message(code, words, text.strip()) for code, words, text in found}


def explained(sentence: str) -> str:
    """A sentence with the command that explains it, where there is one."""
    code = next((x.code for x in messages().values() if x.says(sentence)), None)
    return sentence if code is None else f"{sentence.rstrip('.')} (zwang explain {code})."


def command(
    words: Annotated[
        list[str] | None, typer.Argument(help="A code, words of a message, or the whole message.")
    ] = None,
) -> int:
    """Explain a message: what it means, where it comes from, what to do.

    Examples:

    [cyan]zwang explain[/]                       all codes

    [cyan]zwang explain start-off[/]             one of them

    [cyan]zwang explain "the step limit"[/]      a message, or some words of it
    """
    known, asked = messages(), " ".join(words or [])
    found = [x for x in known.values() if not asked or x.code == asked or x.says(asked)]
    found = found or [x for x in known.values() if _has(x, asked)]
    if not found:
        raise UserError(f"no message explained has {asked!r:.100}{did_you_mean(asked, known)}")
    if len(found) > 1:
        wide = max(len(x.code) for x in found)
        for x in found:
            say(f"{x.code:{wide}}  {x.words}")
        return 0
    text = LINK.sub(r"\1 (docs/\2)", found[0].text)
    say(f"{found[0].code}: {found[0].words}\n\n{text}")
    return 0


def _has(message: Message, asked: str) -> bool:
    """Whether all words stand in a message, or in what explains it."""
    text = f"{message.code} {message.words} {message.text}".lower()
    return all(word in text for word in asked.lower().split())
