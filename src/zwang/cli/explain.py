"""`zwang explain`."""

from __future__ import annotations

import re
from typing import Annotated

import typer

from zwang.cli.failure import UserError
from zwang.cli.terminal import say
from zwang.inputs.suggestions import did_you_mean
from zwang.messages import Message, code_of_words, messages, reference

LINK = re.compile(r"\[([^\]]+)\]\(([\w-]+\.md)\)")
"""Pattern of a link to a page of the documentation."""
NAMED = re.compile(r"\(zwang explain (\S+)\)")
"""Pattern by which a printed message names its section."""


def explained(sentence: str, code: str | None = None) -> str:
    """A sentence followed by the command that explains it, for a code or for a known message."""
    code = code or code_of_words(sentence)
    return sentence if code is None else f"{sentence.rstrip('.')} {reference(code)}."


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
    asked = named[-1] if (named := NAMED.findall(asked)) else asked
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
    """True if all words occur in a message or in its explanation."""
    text = f"{message.code} {message.words} {message.text}".lower()
    return all(word in text for word in asked.lower().split())
