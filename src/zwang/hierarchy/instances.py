"""Places of modules of one kind in a larger system, and evaluation of a function at all places."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, Protocol, Self, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from zwang.hierarchy.stacked_parameters import StackedParameters, stacked


class Sized(Protocol):
    """Protocol of objects with coordinates and velocities: a system, or their names."""

    nq: int
    nv: int


@dataclasses.dataclass(frozen=True, eq=False)
class Instances:
    """Instances of modules of one kind, hashed by identity, because they are static in a compiled
    program.

    Attributes:
        prefixes: paths of the modules, which precede the names of their parameters and constraints;
            empty for the whole.
        q_starts, v_starts: indices at which their coordinates and velocities begin.
        params: names and shapes of the parameters of one module; its functions receive None if
            there are none.
        tree: structure of the dictionary of parameters, which may be nested.
    """

    prefixes: tuple[str, ...]
    q_starts: tuple[int, ...]
    v_starts: tuple[int, ...]
    params: tuple[tuple[str, tuple[int, ...]], ...]
    tree: object

    @staticmethod
    def whole(params: Mapping[str, Any] | None) -> Instances:
        """Return the only place of a model that is not part of another, with its parameters."""
        tree = jax.tree_util.tree_structure(dict(params or {}))
        return Instances(
            ("",),
            (0,),
            (0,),
            tuple((name, jnp.shape(x)) for name, x in flattened(params).items()),
            tree,
        )

    def __len__(self) -> int:
        return len(self.prefixes)

    def moved(self, prefix: str, q_start: int, v_start: int) -> Instances:
        """Return the instances below a path and with shifted coordinates."""
        paths = tuple(below(prefix, x) for x in self.prefixes)
        return Instances(
            paths,
            tuple(x + q_start for x in self.q_starts),
            tuple(x + v_start for x in self.v_starts),
            self.params,
            self.tree,
        )

    def q(self, of: Sized) -> np.ndarray:
        """Return the indices in q, shape (places, nq of a module)."""
        return np.array(self.q_starts)[:, None] + np.arange(of.nq)

    def v(self, of: Sized) -> np.ndarray:
        """Return the indices in v, shape (places, nv of a module)."""
        return np.array(self.v_starts)[:, None] + np.arange(of.nv)

    def each(self, function: Callable, p, *own):
        """Evaluate `function(*own, p)` at all places, along a leading axis, which `own` has as
        well; p of a place contains the parameters of this place.
        """
        # one module needs no `vmap`, which would give every operation a batch axis to compile
        if len(self) == 1:
            known = p if self.prefixes[0] else flattened(p)
            alone = self._own(lambda name: known[below(self.prefixes[0], name)])
            return jax.tree_util.tree_map(
                lambda x: jnp.asarray(x)[None], function(*(x[0] for x in own), alone)
            )
        return jax.vmap(function)(*own, self._own(lambda name: stacked(p, self.named(name))))

    def _own(self, value: Callable[[str], Any]):
        """Return the parameters of one module in the form that its functions take."""
        return (
            jax.tree_util.tree_unflatten(self.tree, [value(name) for name, _ in self.params])
            if self.params
            else None
        )

    def named(self, parameter: str) -> list[str]:
        """Full names of a parameter at all places."""
        return [below(prefix, parameter) for prefix in self.prefixes]


class Somewhere(Protocol):
    """Protocol of objects that act at places and have a kind."""

    @property
    def instances(self) -> Instances: ...

    @property
    def kind(self) -> Hashable: ...

    def at(self, instances: Instances) -> Self: ...


T = TypeVar("T", bound=Somewhere)


def merged(parts: Iterable[T]) -> list[T]:
    """Merge parts of one kind into one part at all places, in order of first occurrence."""
    kinds: dict[Any, T] = {}
    joined: dict[Any, list[Instances]] = {}
    for part in parts:
        # equal shapes of parameters as well: modules of one kind with vectors of different length
        # cannot share an axis
        key = (part.kind, part.instances.params, part.instances.tree)
        kinds.setdefault(key, part)
        joined.setdefault(key, []).append(part.instances)
    return [
        part if len(joined[key]) == 1 else part.at(_joined(joined[key]))
        for key, part in kinds.items()
    ]


def _joined(parts: list[Instances]) -> Instances:
    together = lambda name: tuple(x for part in parts for x in getattr(part, name))
    return Instances(
        together("prefixes"),
        together("q_starts"),
        together("v_starts"),
        parts[0].params,
        parts[0].tree,
    )


def flattened(params: Mapping[str, Any] | None) -> dict[str, Any]:
    """Flatten parameters to full names: `{"spring": {"stiffness": k}}` to
    `{"spring.stiffness": k}`.
    """
    if isinstance(params, StackedParameters):
        return dict(params)
    leaves = jax.tree_util.tree_flatten_with_path(dict(params or {}))[0]
    return {".".join(str(key.key) for key in path): x for path, x in leaves}


def below(prefix: str, name: str) -> str:
    """Return a name below a path; either may be empty."""
    return f"{prefix}.{name}" if prefix and name else prefix or name


def taken(x, entries: np.ndarray):
    """Return `x[entries]`, by a slice if the entries are contiguous, because its derivative costs
    less than that of a gather.
    """
    first, flat = int(entries.flat[0]) if entries.size else 0, entries.ravel()
    if np.array_equal(flat, first + np.arange(len(flat))):
        return x[first : first + len(flat)].reshape(entries.shape)
    return x[entries]
