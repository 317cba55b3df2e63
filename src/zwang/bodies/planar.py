"""Rigid bodies that move in a plane: position of the center of mass and one angle each."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from zwang.bodies.body import Body, FreeEquations, by_name, entries_of, entry, stacked
from zwang.equations.system import System
from zwang.inputs.arrays import is_concrete
from zwang.objects.display import present


class PlanarBodies:
    """Rigid bodies in the plane, `q = (x, y, angle)` of each body in turn, `v = q̇`.

        M = diag(m, m, J) per body,    F = (m g, 0) + wrench − ∂V/∂q

    Masses and inertias are parameters, arrays with one entry per body, so that a run with other
    values needs no compilation: `p["mass"]` [kg], shape (nb,); `p["inertia"]` [kg·m²], shape (nb,);
    `p["gravity"]` [m/s²], shape (2,).

    Args:
        bodies: the bodies.
        gravity: acceleration of gravity [m/s²], shape (2,).
        wrench: `(q, v, t, p)` → further force and torque of each body [N, N, N·m], shape (nb, 3);
            none by default.
        potential: `(q, t, p)` → further potential energy V [J], e.g. of springs; its force is
            derived; none by default.
        length_unit, energy_unit: units of x and y and of energy in results; with others, give all
            parameters in consistent units.

    Attributes:
        system: the `zw.System`.
        params: the parameters above, for `zw.Model` (possibly with further parameters of the
            model).

    Example:
        >>> bars = PlanarBodies([Body("crank", 1.0, 0.1), Body("coupler", 2.0, 0.2)])
        >>> def gap(q, t, p):
        ...     return bars.point(q, "crank", (0.5, 0.0)) - bars.point(q, "coupler", (-1.0, 0.0))
        >>> pin = zw.Holonomic(gap)
        >>> model = zw.Model(bars.system, [pin], bars.params)
    """

    def __init__(
        self,
        bodies: Sequence[Body],
        *,
        gravity: Sequence[float] = (0.0, -9.81),
        wrench: Callable | None = None,
        potential: Callable | None = None,
        length_unit: str = "m",
        energy_unit: str = "J",
    ):
        self.bodies = tuple(bodies)
        self._index = by_name(self.bodies)
        mass, inertia = stacked(self.bodies, ())
        self.params = {"mass": mass, "inertia": inertia, "gravity": np.array(gravity, float)}
        equations = _Equations(wrench, potential)
        self.system = System(
            3 * len(self.bodies),
            equations.mass_matrix,
            equations.force,
            potential=equations.energy,
            coordinates=[f"{body.name}.{c}" for body in self.bodies for c in ("x", "y", "angle")],
            units=[length_unit, length_unit, "rad"] * len(self.bodies),
            energy_unit=energy_unit,
            parameters=entries_of(self.bodies),
        )

    def __repr__(self) -> str:
        return present("text_of", self, "bodies")

    # --- poses of the bodies

    def pose(self, q: Float[Array, " nq"], body) -> Float[Array, "... 3"]:
        """Return `(x, y, angle)` of a body, given by name or index; of several, with a leading
        axis, by slice or index array.
        """
        at = entry(self._index, body)
        if isinstance(at, int) and 0 <= at < len(self.bodies):
            return q[3 * at : 3 * at + 3]
        return q.reshape(-1, 3)[at]

    def point(self, q: Float[Array, " nq"], body, offset=(0.0, 0.0)) -> Float[Array, "... 2"]:
        """Return the place in the plane [m] of the point at `offset` [m] in the body's own axes;
        `body` as in `pose`.
        """
        pose = self.pose(q, body)
        xp = np if is_concrete(offset) else jnp
        along = xp.asarray(offset, float)
        across = xp.stack([-along[..., 1], along[..., 0]], axis=-1)
        angle = pose[..., 2:]
        # Known numbers remain NumPy arrays, and the rest is few operations, because all of them are
        # traced.
        return pose[..., :2] + jnp.cos(angle) * along + jnp.sin(angle) * across

    def velocity(
        self, q: Float[Array, " nq"], v: Float[Array, " nv"], body, offset=(0.0, 0.0)
    ) -> Float[Array, "... 2"]:
        """Return the velocity [m/s] of the point at `offset` [m] in the body's own axes; `body` as
        in `pose`.
        """
        twist, arm = self.pose(v, body), self.point(q, body, offset) - self.pose(q, body)[..., :2]
        return twist[..., :2] + twist[..., 2:] * jnp.stack([-arm[..., 1], arm[..., 0]], axis=-1)


class _Equations(FreeEquations):
    """M, F and the energy of the bodies."""

    def mass_matrix(self, q, t, p):
        return jnp.stack([p["mass"], p["mass"], p["inertia"]], axis=1).ravel()

    def force(self, q, v, t, p):
        # gravity has no moment about the center of mass
        weight = p["mass"][:, None] * p["gravity"]
        F = jnp.concatenate([weight, jnp.zeros((len(weight), 1))], axis=1)
        F = F if self.wrench is None else F + self.wrench(q, v, t, p)
        if self.potential is None:
            return F.ravel()
        return F.ravel() - jax.grad(self.potential)(q, t, p)

    def energy(self, q, t, p):
        gravity = -jnp.sum(p["mass"] * (q.reshape(-1, 3)[:, :2] @ p["gravity"]))
        return gravity if self.potential is None else gravity + self.potential(q, t, p)
