"""Parameters of equal modules as one array each: a program of a thousand modules has as many
arguments as one of two.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from zwang.inputs.arrays import is_concrete
from zwang.objects.record import Record, field


class Packing:
    """Which parameters stand together; hashed by identity.

    Args:
        groups: full names of the parameters that make up one array each, all of one shape.
    """

    def __init__(self, groups: Iterable[Sequence[str]]):
        self.groups = tuple(tuple(names) for names in groups)
        self.place = {
            name: (g, i) for g, names in enumerate(self.groups) for i, name in enumerate(names)
        }
        self._last: tuple[Any, StackedParameters] | None = None

    def __call__(self, p: Mapping[str, Any]) -> StackedParameters:
        """Parameters by name, packed; of the numbers that came last it is known."""
        # a run asks with the same mapping at every step; stacking a thousand parameters takes
        # longer than a step
        if self._last is not None and self._last[0] is p:
            return self._last[1]
        # numbers are stacked by NumPy, without compiling; traced values must stay in the program
        known = is_concrete(p)
        stack = (
            (lambda parts: jax.device_put(np.stack([np.asarray(x) for x in parts])))
            if known
            else jnp.stack
        )
        arrays = tuple(stack([p[name] for name in names]) for names in self.groups)
        packed = StackedParameters(
            arrays, {name: x for name, x in p.items() if name not in self.place}, self
        )
        if known:
            self._last = (p, packed)
        return packed


class StackedParameters(Record, Mapping):
    """Parameters by name, as functions take them."""

    arrays: tuple[Array, ...]
    plain: dict[str, Array]
    packing: Packing = field(static=True)

    def __getitem__(self, name: str):
        g, i = self.packing.place.get(name, (None, 0))
        return self.plain[name] if g is None else self.arrays[g][i]

    def __contains__(self, name: object) -> bool:
        return name in self.plain or name in self.packing.place

    def __iter__(self) -> Iterator[str]:
        return iter((*self.plain, *self.packing.place))

    def __len__(self) -> int:
        return len(self.plain) + len(self.packing.place)

    def __hash__(self):
        return id(self)

    def stacked(self, names: Sequence[str]) -> Array:
        """Several parameters with a leading axis: a part of one array where they stand in one."""
        found = [self.packing.place.get(name, (None, 0)) for name in names]
        group = found[0][0]
        # parameters that stand in different arrays, or in none, are stacked as they come
        if group is None or any(g != group for g, _ in found):
            return jnp.stack([self[name] for name in names])
        at, array = np.array([i for _, i in found]), self.arrays[group]
        # the whole array as it is: a gather would copy it
        return array if np.array_equal(at, np.arange(len(array))) else array[at]


def stacked(p: Mapping[str, Any], names: Sequence[str]) -> Array:
    """Several parameters with a leading axis."""
    return (
        p.stacked(names)
        if isinstance(p, StackedParameters)
        else jnp.stack([p[name] for name in names])
    )
