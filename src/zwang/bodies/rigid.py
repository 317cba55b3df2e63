"""Rigid bodies in space: position of the center of mass and a unit quaternion each."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from zwang.bodies.body import Body, FreeEquations, by_name, entries_of, entry, stacked
from zwang.bodies.rotation import moved, rate_map, rotation_matrix
from zwang.equations.system import AbstractVelocityMap, System
from zwang.objects.display import present

COORDINATES = ("x", "y", "z", "qw", "qx", "qy", "qz")
VELOCITIES = ("vx", "vy", "vz", "wx", "wy", "wz")


class RigidBodies:
    """Rigid bodies in space with unit quaternions.

    For each body in turn, q contains the center of mass (x, y, z) and the quaternion (qw, qx, qy,
    qz) of its attitude, v the velocity (vx, vy, vz) in space and the angular velocity (wx, wy, wz)
    in its own axes.

        M = diag(m, m, m, J),    F = (m g, −ω × J ω) + wrench − Nᵀ ∂V/∂q,    N = diag(1, ½ E(q))

    Masses and inertias are parameters, arrays with one entry per body, so that a run with other
    values needs no compilation: `p["mass"]` [kg], shape (nb,); `p["inertia"]` [kg·m²], shape (nb,
    3) if all bodies are given in principal axes, so that M is diagonal, else (nb, 3, 3);
    `p["gravity"]` [m/s²], shape (3,).

    Args:
        bodies: the bodies.
        gravity: acceleration of gravity [m/s²], shape (3,).
        wrench: `(q, v, t, p)` → further force in space and torque in body axes, about the center of
            mass, of each body [N, N·m], shape (nb, 6); none by default.
        potential: `(q, t, p)` → further potential energy V [J], e.g. of springs; its force is
            derived; none by default.

    Attributes:
        system: the `zw.System`.
        params: the parameters above, for `zw.Model` (possibly with further parameters of the
            model).

    Example:
        >>> bodies = RigidBodies([Body("top", 1.0, (0.2, 0.2, 0.1))])
        >>> tip = zw.Holonomic(lambda q, t, p: bodies.point(q, "top", (0.0, 0.0, -1.0)), name="tip")
        >>> model = zw.Model(bodies.system, [tip], bodies.params)
    """

    def __init__(
        self,
        bodies: Sequence[Body],
        *,
        gravity: Sequence[float] = (0.0, 0.0, -9.81),
        wrench: Callable | None = None,
        potential: Callable | None = None,
    ):
        self.bodies = tuple(bodies)
        self._index = by_name(self.bodies)
        # M is diagonal if every body has principal axes; it then needs no factorization
        principal = all(np.shape(body.inertia) == (3,) for body in self.bodies)
        mass, inertia = stacked(self.bodies, (3,) if principal else (3, 3))
        self.params = {"mass": mass, "inertia": inertia, "gravity": np.array(gravity, float)}
        equations = _Equations(wrench, potential)
        self.system = System(
            7 * len(self.bodies),
            equations.mass_matrix,
            equations.force,
            nv=6 * len(self.bodies),
            velocity_map=velocity_map,
            retract=_retract,
            potential=equations.energy,
            coordinates=[f"{body.name}.{c}" for body in self.bodies for c in COORDINATES],
            velocities=[f"{body.name}.{c}" for body in self.bodies for c in VELOCITIES],
            units=["m", "m", "m", "1", "1", "1", "1"] * len(self.bodies),
            velocity_units=["m/s", "m/s", "m/s", "rad/s", "rad/s", "rad/s"] * len(self.bodies),
            parameters=entries_of(self.bodies),
        )

    def __repr__(self) -> str:
        return present("text_of", self, "bodies")

    # --- poses of the bodies; `body` is a name or index, or a slice or index array for several with
    # a leading axis ---

    def position(self, q: Float[Array, " nq"], body) -> Float[Array, "... 3"]:
        """Return the center of mass [m] in space."""
        return q.reshape(-1, 7)[entry(self._index, body), :3]

    def quaternion(self, q: Float[Array, " nq"], body) -> Float[Array, "... 4"]:
        """Return the attitude as a quaternion (w, x, y, z)."""
        return q.reshape(-1, 7)[entry(self._index, body), 3:]

    def rotation(self, q: Float[Array, " nq"], body) -> Float[Array, "... 3 3"]:
        """Return the attitude as a matrix R: x_space = R x_body, the body's axes in its columns."""
        return rotation_matrix(self.quaternion(q, body))

    def direction(self, q: Float[Array, " nq"], body, axis) -> Float[Array, "... 3"]:
        """Return a vector given in the body's axes, in space."""
        return jnp.einsum("...ij,...j->...i", self.rotation(q, body), jnp.asarray(axis, float))

    def point(self, q: Float[Array, " nq"], body, offset=(0.0, 0.0, 0.0)) -> Float[Array, "... 3"]:
        """Return the place in space [m] of the point at `offset` [m] in the body's axes."""
        return self.position(q, body) + self.direction(q, body, offset)

    def angular_velocity(
        self, q: Float[Array, " nq"], v: Float[Array, " nv"], body
    ) -> Float[Array, "... 3"]:
        """Return the angular velocity [rad/s] in space; `v` itself contains it in body axes."""
        return self.direction(q, body, v.reshape(-1, 6)[entry(self._index, body), 3:])

    def velocity(
        self, q: Float[Array, " nq"], v: Float[Array, " nv"], body, offset=(0.0, 0.0, 0.0)
    ) -> Float[Array, "... 3"]:
        """Return the velocity in space [m/s] of the point at `offset` [m] in the body's axes."""
        twist, offset = v.reshape(-1, 6)[entry(self._index, body)], jnp.asarray(offset, float)
        return twist[..., :3] + self.direction(q, body, jnp.cross(twist[..., 3:], offset))


class _Equations(FreeEquations):
    """M, F and the energy of the bodies."""

    def mass_matrix(self, q, t, p):
        mass, inertia = p["mass"], p["inertia"]
        if inertia.ndim == 2:
            return jnp.concatenate([jnp.tile(mass[:, None], 3), inertia], axis=1).ravel()
        blocks = jnp.zeros((len(mass), 6, 6)).at[:, 3:, 3:].set(inertia)
        return blocks.at[:, [0, 1, 2], [0, 1, 2]].set(mass[:, None])

    def force(self, q, v, t, p):
        w = v.reshape(-1, 6)[:, 3:]
        spin = (
            p["inertia"] * w
            if p["inertia"].ndim == 2
            else jnp.einsum("bij,bj->bi", p["inertia"], w)
        )
        # in body axes the inertia is constant and Euler’s term −ω × J ω appears
        F = jnp.concatenate([p["mass"][:, None] * p["gravity"], -jnp.cross(w, spin)], axis=1)
        F = F if self.wrench is None else F + self.wrench(q, v, t, p)
        if self.potential is None:
            return F.ravel()
        # ∂V/∂q is conjugate to q̇; Nᵀ maps it to v, because quaternions have four rates but three
        # velocities
        slope = jax.grad(self.potential)(q, t, p).reshape(-1, 7)
        turning = jnp.einsum("bij,bi->bj", rate_map(q.reshape(-1, 7)[:, 3:]), slope[:, 3:])
        return (F - jnp.concatenate([slope[:, :3], turning], axis=1)).ravel()

    def energy(self, q, t, p):
        gravity = -jnp.sum(p["mass"] * (q.reshape(-1, 7)[:, :3] @ p["gravity"]))
        return gravity if self.potential is None else gravity + self.potential(q, t, p)


class VelocityMap(AbstractVelocityMap):
    """N of rigid bodies: `q̇ = N v`."""

    def __call__(self, q: Float[Array, " nq"], t, p) -> Float[Array, "nq nv"]:
        blocks = _blocks(q)
        nb = len(blocks)
        return jnp.einsum("bij,bc->bicj", blocks, jnp.eye(nb)).reshape(7 * nb, 6 * nb)

    def along(self, q: Float[Array, " nq"], dv: Float[Array, " nv"], t, p) -> Float[Array, " nq"]:
        """Return `N dv`, body by body."""
        return jnp.sum(_blocks(q) * dv.reshape(-1, 1, 6), axis=2).ravel()


def _blocks(q: Float[Array, " nq"]) -> Float[Array, "nb 7 6"]:
    """Return N of each body."""
    poses = q.reshape(-1, 7)
    nb, turning = len(poses), rate_map(poses[:, 3:])
    # concatenated, because writing into zeros would be compiled entry by entry
    moving = jnp.broadcast_to(jnp.eye(3, 6), (nb, 3, 6))
    turning = jnp.concatenate([jnp.zeros((nb, 4, 3)), turning], axis=2)
    return jnp.concatenate([moving, turning], axis=1)


velocity_map = VelocityMap()


def _retract(q, dv, t, p):
    poses, steps = q.reshape(-1, 7), dv.reshape(-1, 6)
    return jnp.concatenate(
        [poses[:, :3] + steps[:, :3], moved(poses[:, 3:], steps[:, 3:])], axis=1
    ).ravel()
