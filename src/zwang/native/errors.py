"""What keeps a function from becoming native code."""

from __future__ import annotations

from collections.abc import Iterable


class NotNativeError(Exception):
    """The function has an operation, a type or a size that is not emitted; the text names it."""


def refuse_lapack(routines: Iterable[str]) -> None:
    """Refuse a function that calls some routines of LAPACK, as other languages do not.

    Raises:
        NotNativeError: if there are any.
    """
    if called := ", ".join(sorted(x.removeprefix("zwang.") for x in routines)):
        raise NotNativeError(f"a factorization by LAPACK ({called})")
