"""How far a long computation is: said where it is known, shown by whoever listens.

with listening(lambda what, fraction: print(what, fraction)):
    zw.analysis.workspace(...)
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar

_listener: ContextVar[Callable[[str, float | None], None] | None]
_listener = ContextVar("listener", default=None)


def report(what: str, fraction: float | None = None) -> None:
    """Say what is going on; costs nothing where nobody listens.

    Args:
        what: words such as "filling the grid".
        fraction: the part of it that is done, 0 to 1; None where that is not known.
    """
    if (listener := _listener.get()) is not None:
        listener(what, fraction)


@contextlib.contextmanager
def listening(listener: Callable[[str, float | None], None]) -> Iterator[None]:
    """Hand what is reported inside to `listener(what, fraction)`."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)
