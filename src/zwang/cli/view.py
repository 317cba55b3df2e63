"""`zwang view`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from zwang.cli.failure import UserError
from zwang.cli.terminal import say
from zwang.files import is_file
from zwang.files.reading import shown_path

PAGE = "view.html"


def command(
    run: Annotated[
        Path,
        typer.Argument(
            metavar="RUN", help="Folder of a run, such as results/four-bar, or its view.html."
        ),
    ],
    port: Annotated[
        int, typer.Option(help="Port to serve on; 0 takes one that is free.", min=0, max=65535)
    ] = 8000,
    open_: Annotated[
        bool, typer.Option("--open/--no-open", help="Open the page in the browser.")
    ] = True,
) -> int:
    """Play a run in the browser, served on this computer only; Ctrl-C ends it.

    The page, view.html in the run's folder, also opens by itself, without this command and without
    a network.

    Examples:

    [cyan]zwang run four-bar[/]

    [cyan]zwang view results/four-bar[/]

    [cyan]zwang view results/four-bar --port 0 --no-open[/]
    """
    folder = _folder(run)
    from zwang.output.viewer.server import serving

    try:
        with serving(folder, port) as (server, address):
            say(f"serving {folder} at {address} on this computer only; Ctrl-C ends it")
            # after the server is bound, because the browser may send a request at once
            if open_:
                import webbrowser

                webbrowser.open(address)
            try:
                server.serve_forever(poll_interval=0.2)
            except KeyboardInterrupt:
                print("ended")
    except OSError as error:
        taken = (
            f"port {port} cannot be used: {error.strerror}; give another one with --port, or "
            "--port 0 for any that is free."
        )
        raise UserError(taken) from None
    return 0


def _folder(run: Path) -> Path:
    folder = run.parent if is_file(run) else run
    if not os.path.isdir(folder):
        raise UserError(
            f"there is no run {shown_path(run)}; expected the folder that `zwang run MODEL` has "
            "written, such as results/pendulum."
        )
    if not is_file(folder / PAGE):
        written = is_file(folder / "run.nc")
        why = (
            "its model has no scene: define scene, a zw.Scene, next to model, q0 and v0, and run "
            "it again"
            if written
            else "expected the folder that `zwang run MODEL` has written"
        )
        raise UserError(f"{shown_path(folder)} has no {PAGE}: {why}.")
    return folder
