"""Errors that prevent a function from becoming native code."""

from __future__ import annotations

from collections.abc import Iterable


class NotNativeError(Exception):
    """An operation, a type or a size is not supported by native code; the message names it."""


def refuse_lapack(routines: Iterable[str]) -> None:
    """Refuse a function that calls LAPACK, which the other target languages cannot.

    Raises:
        NotNativeError: if there are any routines.
    """
    if called := ", ".join(sorted(x.removeprefix("zwang.") for x in routines)):
        raise NotNativeError(f"a factorization by LAPACK ({called})")
