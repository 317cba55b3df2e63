"""Pictures of a script; those that it neither shows nor saves are opened when it ends."""

from __future__ import annotations

import atexit
import functools
import sys
import tempfile
import webbrowser
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import ParamSpec, TypeVar

from zwang.files import write_text

P = ParamSpec("P")
T = TypeVar("T")
_UNSEEN: dict[int, object] = {}
"""Drawn pictures that were not shown or saved yet, by identity; kept alive to be shown."""


def open_in_browser(path: Path) -> None:
    """Open a file in the web browser, if there is one, and print its path."""
    there = webbrowser.open(path.as_uri())
    # Standard output may be a script's own result.
    print(f"{'opened' if there else 'no browser opens here; see'} {path}", file=sys.stderr)


def show(drawn: Iterable) -> None:
    """Open pictures or figures, which have `savefig`, in the web browser."""
    folder = Path(tempfile.mkdtemp(prefix="zwang-"))
    files = []
    for n, x in enumerate(drawn):
        files.append(folder / f"figure-{n}.png")
        x.savefig(files[-1])
    page = files[0]
    if len(files) > 1:
        page = folder / "figures.html"
        write_text(page, "\n".join(f'<p><img src="{x.name}" alt="{x.stem}"></p>' for x in files))
    open_in_browser(page)


def seen(drawn: object) -> None:
    """Record that a picture was shown, saved or taken over by its owner."""
    _UNSEEN.pop(id(drawn), None)


def opens_in_scripts(plot: Callable[P, T]) -> Callable[P, T]:
    """Decorate a method that draws: its picture is opened at the end of a script.

    A picture that the script shows or saves is not opened. In an interactive interpreter it is
    opened at once. Notebooks show what a cell returns.
    """

    @functools.wraps(plot)
    def called(*args: P.args, **kwargs: P.kwargs) -> T:
        drawn = plot(*args, **kwargs)
        caller = sys._getframe(1).f_globals
        # A library, a test or a command draws for its own purposes.
        if isinstance(drawn, Path) or caller.get("__name__") != "__main__" or _notebook():
            return drawn
        if hasattr(sys, "ps1"):
            show([drawn])
        else:
            if not _UNSEEN:
                atexit.register(_show_unseen)
            _UNSEEN[id(drawn)] = drawn
        return drawn

    return called


def _notebook() -> bool:
    module = sys.modules.get("IPython")
    return module is not None and module.get_ipython() is not None


def _show_unseen() -> None:
    left = list(_UNSEEN.values())
    if left:
        show(left)
    _UNSEEN.clear()
