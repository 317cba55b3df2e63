"""Parameters of equal modules, stacked in one array each, so that a program of a thousand modules
has as many arguments as one of two.
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
    """Grouping of parameters into arrays, hashed by identity.

    Args:
        groups: full names of the parameters of each array, all of one shape.
    """

    def __init__(self, groups: Iterable[Sequence[str]]):
        self.groups = tuple(tuple(names) for names in groups)
        self.place = {
            name: (g, i) for g, names in enumerate(self.groups) for i, name in enumerate(names)
        }
        self._last: tuple[Any, StackedParameters] | None = None

    def __call__(self, p: Mapping[str, Any]) -> StackedParameters:
        """Return parameters by name in packed form; the last result is cached."""
        # a run passes the same mapping at every step, and stacking a thousand parameters takes
        # longer than a step
        if self._last is not None and self._last[0] is p:
            return self._last[1]
        # numbers are stacked by NumPy, without compilation; traced values must stay in the program
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
    """Packed parameters with access by name."""

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
        """Return several parameters along a leading axis, as a part of one array if possible."""
        found = [self.packing.place.get(name, (None, 0)) for name in names]
        group = found[0][0]
        # parameters in different arrays, or in none, are stacked one by one
        if group is None or any(g != group for g, _ in found):
            return jnp.stack([self[name] for name in names])
        at, array = np.array([i for _, i in found]), self.arrays[group]
        # the whole array is returned, because a gather would copy it
        return array if np.array_equal(at, np.arange(len(array))) else array[at]


def stacked(p: Mapping[str, Any], names: Sequence[str]) -> Array:
    """Return several parameters along a leading axis."""
    return (
        p.stacked(names)
        if isinstance(p, StackedParameters)
        else jnp.stack([p[name] for name in names])
    )
