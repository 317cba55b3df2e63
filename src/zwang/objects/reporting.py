"""Progress of a long computation: reported by the computation, shown by a listener.

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
    """Report progress; costs nothing without a listener.

    Args:
        what: words such as "filling the grid".
        fraction: completed part, 0 to 1; None if it is unknown.
    """
    if (listener := _listener.get()) is not None:
        listener(what, fraction)


@contextlib.contextmanager
def listening(listener: Callable[[str, float | None], None]) -> Iterator[None]:
    """Pass reports inside the context to `listener(what, fraction)`."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)
