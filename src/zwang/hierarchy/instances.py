"""Where modules of one kind are in a larger system, and how a function of one is evaluated at all
of them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, Protocol, Self, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from zwang.hierarchy.stacked_parameters import StackedParameters, stacked


class Sized(Protocol):
    """What has coordinates and velocities: a system, or their names."""

    nq: int
    nv: int


@dataclasses.dataclass(frozen=True, eq=False)
class Instances:
    """Instances of modules of one kind; hashed by identity, so that a compiled program takes them
    as they are.

    Attributes:
        prefixes: the modules' paths, before the names of their parameters and constraints; empty
            for the whole.
        q_starts, v_starts: where their coordinates and velocities begin.
        params: names and shapes of the parameters of one of them; its functions get None if there
            are none.
        tree: the dictionary that they make up, which may be nested.
    """

    prefixes: tuple[str, ...]
    q_starts: tuple[int, ...]
    v_starts: tuple[int, ...]
    params: tuple[tuple[str, tuple[int, ...]], ...]
    tree: object

    @staticmethod
    def whole(params: Mapping[str, Any] | None) -> Instances:
        """The one place of a model that is not a part of another, with all of its parameters."""
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
        """The same, below a path and behind other coordinates."""
        paths = tuple(below(prefix, x) for x in self.prefixes)
        return Instances(
            paths,
            tuple(x + q_start for x in self.q_starts),
            tuple(x + v_start for x in self.v_starts),
            self.params,
            self.tree,
        )

    def q(self, of: Sized) -> np.ndarray:
        """Entries of q, shape (places, nq of a module)."""
        return np.array(self.q_starts)[:, None] + np.arange(of.nq)

    def v(self, of: Sized) -> np.ndarray:
        """Entries of v, shape (places, nv of a module)."""
        return np.array(self.v_starts)[:, None] + np.arange(of.nv)

    def each(self, function: Callable, p, *own):
        """`function(*own, p)` at all places, with a leading axis; `own` has one, and p of a place
        are its own parameters.
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
        """The parameters of one module, as its functions take them."""
        return (
            jax.tree_util.tree_unflatten(self.tree, [value(name) for name, _ in self.params])
            if self.params
            else None
        )

    def named(self, parameter: str) -> list[str]:
        """Full names of a parameter at all places."""
        return [below(prefix, parameter) for prefix in self.prefixes]


class Somewhere(Protocol):
    """What acts at places and knows of what kind it is."""

    @property
    def instances(self) -> Instances: ...

    @property
    def kind(self) -> Hashable: ...

    def at(self, instances: Instances) -> Self: ...


T = TypeVar("T", bound=Somewhere)


def merged(parts: Iterable[T]) -> list[T]:
    """Parts of one kind as one part at all of their places, in the order of the first of each."""
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
    """Parameters by full name: `{"spring": {"stiffness": k}}` as `{"spring.stiffness": k}`."""
    if isinstance(params, StackedParameters):
        return dict(params)
    leaves = jax.tree_util.tree_flatten_with_path(dict(params or {}))[0]
    return {".".join(str(key.key) for key in path): x for path, x in leaves}


def below(prefix: str, name: str) -> str:
    """A name below a path; either may be empty."""
    return f"{prefix}.{name}" if prefix and name else prefix or name


def taken(x, entries: np.ndarray):
    """`x[entries]`; a slice where the entries follow each other, whose derivative costs less than
    that of a gathering.
    """
    first, flat = int(entries.flat[0]) if entries.size else 0, entries.ravel()
    if np.array_equal(flat, first + np.arange(len(flat))):
        return x[first : first + len(flat)].reshape(entries.shape)
    return x[entries]
