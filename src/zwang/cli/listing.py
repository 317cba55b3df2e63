"""`zwang list`."""

from __future__ import annotations

from typing import Annotated

import typer

from zwang.cli.failure import UserError


def command(
    word: Annotated[str, typer.Argument(help="Show only models with this word in their name, summary, source or tags.")] = "",
) -> int:
    """Show the models of the gallery, with their settings and where they come from.

    Examples:

    [cyan]zwang list[/]            all

    [cyan]zwang list singular[/]   those that have to do with singular configurations
    """
    from zwang.gallery.index import ENTRIES

    shown = [e for e in ENTRIES.values() if word.lower() in " ".join([e.name, e.summary, e.source, *e.tags]).lower()]
    if not shown:
        raise UserError(f"no model has {word!r} in its name, summary, source or tags; `zwang list` shows all.")
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 3, 1, 0), header_style="bold")
    table.add_column("model", style="cyan", no_wrap=True)
    table.add_column("what", ratio=3)
    table.add_column("settings (--set name=value)", ratio=4)
    table.add_column("source", ratio=2, style="dim")
    for entry in shown:
        what = f"{entry.summary}{f' [{chr(44).join(entry.tags)}]' if entry.tags else ''}"
        table.add_row(Text(entry.name), Text(what), Text(settings_of(entry)), Text(entry.source))
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = max(console.width, 160)
    console.print(table)
    return 0


def settings_of(entry) -> str:
    """A line for each setting: name, default, unit, meaning."""
    lines = []
    for name, setting in entry.settings.items():
        unit = f" {setting.unit}" if setting.unit and setting.unit != "1" else ""
        lines.append(f"{name}={setting.default}{unit}: {setting.description}")
    return "\n".join(lines) or "none"
