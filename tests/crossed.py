"""Combinations of parameters of a test; by default a selection that covers every value once."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import pytest


def crossed(*axes: Sequence[Any] | Mapping[str, Any]) -> list:
    """All combinations for `pytest.mark.parametrize`: by default as many are tested as show every
    member of every axis once; the others are `slow`.

    Args:
        axes: the members of each axis, or a dictionary of them by the name that they are shown by;
            a member may be a `pytest.param`, whose marks its combinations have.
    """
    named = [
        [*axis.items()] if isinstance(axis, Mapping) else [(_name(x), x) for x in axis]
        for axis in axes
    ]
    shown = {tuple(k % len(axis) for axis in named) for k in range(max(map(len, named)))}
    found = []
    for at in itertools.product(*(range(len(axis)) for axis in named)):
        names, members = zip(*(axis[i] for axis, i in zip(named, at, strict=True)), strict=True)
        params = [x if hasattr(x, "marks") else pytest.param(x) for x in members]
        marks = [mark for x in params for mark in x.marks]
        if at not in shown:
            marks.append(pytest.mark.slow)
        values = itertools.chain.from_iterable(x.values for x in params)
        found.append(pytest.param(*values, marks=marks, id="-".join(names)))
    return found


def _name(x: Any) -> str:
    value = x.values[0] if hasattr(x, "marks") else x
    return getattr(value, "__name__", str(value))
