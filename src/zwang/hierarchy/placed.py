"""A module's constraint at the place that the module has in a larger system."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np

from zwang.constraint import AbstractConstraint
from zwang.hierarchy.names import parameters_of
from zwang.system import System


class Placed(AbstractConstraint):
    """A constraint of a module, written for the module alone, that acts on the module's part of a larger q and v.

    Args:
        constraint: as the module has it.
        home: the module's own system.
        q_start, v_start: where its coordinates and velocities begin.
        prefix: the module's path, before the names of its parameters and constraints.
        has_params: whether the module has parameters; its functions get None if not.
    """

    constraint: AbstractConstraint
    home: System
    q_start: int
    v_start: int
    prefix: str
    has_params: bool
    name: str

    def __init__(self, constraint: AbstractConstraint, home: System, q_start: int, v_start: int, prefix: str, has_params: bool):
        self.constraint, self.home, self.prefix, self.has_params = constraint, home, prefix, has_params
        self.q_start, self.v_start, self.name = q_start, v_start, f"{prefix}.{constraint.name}"

    @property
    def level(self) -> str:
        return self.constraint.level

    @property
    def copies(self):
        # a compiled program takes a constraint apart and makes a new object of it, whose functions and names are the same ones
        leaves, tree = jax.tree_util.tree_flatten((self.constraint, self.home))
        return None if any(isinstance(x, (jax.Array, np.ndarray)) for x in leaves) else (tree, *leaves)

    @property
    def nonideal(self) -> Callable | None:  # type: ignore[override]
        impressed = self.constraint.nonideal
        if impressed is None:
            return None

        def placed(q, v, t, p, ideal_force):
            c = impressed(*self._own(q, v), t, self._params(p), ideal_force[self._v])
            return jnp.zeros(v.shape).at[self._v].set(c)

        return placed

    @property
    def _q(self) -> slice:
        return slice(self.q_start, self.q_start + self.home.nq)

    @property
    def _v(self) -> slice:
        return slice(self.v_start, self.v_start + self.home.nv)

    def _own(self, q, v):
        return q[self._q], v[self._v]

    def _params(self, p):
        return parameters_of(p, self.prefix) if self.has_params else None

    def position_residual(self, system, q, t, p):
        return self.constraint.position_residual(self.home, q[self._q], t, self._params(p))

    def velocity_residual(self, system, q, v, t, p):
        return self.constraint.velocity_residual(self.home, *self._own(q, v), t, self._params(p))

    def acceleration_rows(self, system, q, v, t, p):
        A, b = self.constraint.acceleration_rows(self.home, *self._own(q, v), t, self._params(p))
        return jnp.zeros((len(b), system.nv)).at[:, self._v].set(A), b

    def together(self, members: Sequence[Placed], method: str, *state):
        """A residual of all copies at once, shape (copies, rows), by `vmap`; `state` is (q, t, p) or (q, v, t, p)."""
        *vectors, t, p = state
        starts = [[c.q_start for c in members], [c.v_start for c in members]]
        sizes = (self.home.nq, self.home.nv)
        own = [x[np.array(s)[:, None] + np.arange(n)] for x, s, n in zip(vectors, starts, sizes, strict=False)]
        params = stacked_parameters(p, [c.prefix for c in members]) if self.has_params else None
        residual = getattr(self.constraint, method)
        return jax.vmap(lambda *a: residual(self.home, *a[:-1], t, a[-1]))(*own, params)


def stacked_parameters(p, prefixes: Sequence[str]):
    """Parameters of equal modules with a leading axis."""
    parts = [parameters_of(p, prefix) for prefix in prefixes]
    return {name: jnp.stack([part[name] for part in parts]) for name in parts[0]}
