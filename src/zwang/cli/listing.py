"""`zwang list`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from zwang.cli.failure import UserError

if TYPE_CHECKING:
    from zwang.gallery.index import Entry

FEW_MODELS = 3
"""Largest number of models that are listed with the meanings of their settings."""


def command(
    word: Annotated[
        str,
        typer.Argument(
            help="Show only models with this word in their name, summary, source or tags."
        ),
    ] = "",
    file: Annotated[
        bool,
        typer.Option(
            "--file", help="Print the file of the one model that has this name, to start from."
        ),
    ] = False,
    keys: Annotated[
        bool,
        typer.Option("--keys", help="Show the keys of mechanism files that have this word."),
    ] = False,
) -> int:
    """Show the models of the gallery, with their settings and where they come from.

    Examples:

    [cyan]zwang list[/]            all

    [cyan]zwang list singular[/]   those that have to do with singular configurations

    [cyan]zwang list five-bar[/]   one, with what its settings mean

    [cyan]zwang list four-bar --file > mine.toml[/]   its file; run yours with zwang run mine.toml

    [cyan]zwang list --keys spring[/]   what a spring of a file may have: keys, units, defaults
    """
    if keys:
        return _print_keys(word)
    from zwang.gallery.index import ENTRIES

    if file:
        return _print_file(word)
    shown = [
        e
        for e in ENTRIES.values()
        if word.lower() in " ".join([e.name, e.summary, e.source, *e.tags]).lower()
    ]
    if not shown:
        raise UserError(
            f"no model has {word!r:.100} in its name, summary, source or tags; "
            "`zwang list` shows all."
        )
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    detailed = len(shown) <= FEW_MODELS
    table = Table.grid(padding=(0, 3, 0, 0))
    table.add_column(style="bold cyan", no_wrap=True)
    table.add_column()
    for entry in shown:
        about = Text.assemble(
            entry.summary, "\n", *settings_of(entry, detailed), (f"from {entry.source}\n", "dim")
        )
        table.add_row(entry.name, about)
    console = Console(highlight=False)
    # lines for a file or a pager are not folded at 80 columns
    if not console.is_terminal:
        console.width = max(console.width, 120)
    console.print(table)
    if not detailed:
        explains, changes = (
            "[bold]zwang list NAME[/]",
            "[bold]zwang run NAME --set SETTING=VALUE[/]",
        )
        console.print(f"{explains} says what each setting means, {changes} changes it.")
    return 0


def _print_keys(word: str) -> int:
    """Print the keys of mechanism files."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from zwang.mechanism.keys import sections

    found = sections(word)
    if not found:
        raise UserError(
            f"mechanism files have no key with {word!r:.100}; `zwang list --keys` shows all."
        )
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = max(console.width, 120)
    for section in found:
        table = Table.grid(padding=(0, 2, 0, 0))
        for _ in range(3):
            table.add_column()
        for x in section.keys:
            unit = f" [{x.unit}]" if x.unit else ""
            default = {"": "", "required": ", required"}.get(x.default, f" = {x.default}")
            table.add_row(
                Text(f"  {x.name}", "green"), Text(f"{x.takes}{unit}{default}"), Text(x.meaning)
            )
        console.print(Text(section.header, "bold cyan"), Text(section.meaning, "dim"))
        console.print(table)
    return 0


def _print_file(name: str) -> int:
    """Print the source file of a model."""
    from zwang.gallery.index import ENTRIES
    from zwang.gallery.index.files import file_of
    from zwang.inputs.suggestions import did_you_mean

    if name not in ENTRIES:
        hint = did_you_mean(name, ENTRIES) if name else ": give one."
        raise UserError(f"--file needs the name of one model; there is no {name!r:.100}{hint}")
    print(file_of(ENTRIES[name]).read_text(encoding="utf-8"), end="")
    return 0


def settings_of(entry: Entry, detailed: bool) -> list:
    """Settings with their defaults and units: in one line, or each in a line with its meaning."""
    texts = {
        name: f"={s.default}{f' {s.unit}' if s.unit not in ('', '1') else ''}"
        for name, s in entry.settings.items()
    }
    width = max((len(name + text) for name, text in texts.items()), default=0)
    parts = []
    for name, text in texts.items():
        space = " " * (width - len(name + text))
        meaning = f"{space}   {entry.settings[name].description}\n" if detailed else "  "
        parts += [(name, "green"), text, (meaning, "dim")]
    return parts if detailed or not parts else [*parts, "\n"]
