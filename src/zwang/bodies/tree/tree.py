"""A tree of bodies in joint coordinates as a system."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from zwang.bodies.body import by_name, entries_of, entry, stacked
from zwang.bodies.screws.twist import motion, revolute
from zwang.bodies.tree import equations
from zwang.bodies.tree.branching import GROUND, Branching, order
from zwang.bodies.tree.free_system import TreeEquations
from zwang.bodies.tree.joint_numbers import along_axis
from zwang.equations.system import System
from zwang.errors import ModelError
from zwang.inputs.arrays import host_array, is_concrete
from zwang.objects.display import present
from zwang.thresholds import ROUND_OFF

BALL_COORDINATES, BALL_VELOCITIES = ("qw", "qx", "qy", "qz"), ("wx", "wy", "wz")


def ball(center=(0.0, 0.0, 0.0), axes=None) -> Any:
    """Return the twists of a ball joint, shape (3, 6).

    Its coordinates are the unit quaternion of the body's rotation in `axes`, its velocities the
    angular velocity in these axes, which move with the body.

    Args:
        center: its center [m], shape (3,).
        axes: axes in the columns of a rotation matrix; the base's by default.
    """
    known = is_concrete((center, axes))
    axes = np.eye(3) if axes is None else np.asarray(axes, float) if known else axes
    made = [revolute(axis, center) for axis in axes.T]
    return np.stack(made) if known else jnp.stack(made)


def _advances(twist: np.ndarray) -> bool:
    """Return whether a joint moves along its axis, or has none."""
    way, axis = host_array(twist[:3]), host_array(twist[3:])
    return bool(np.linalg.norm(along_axis(way, axis)) > ROUND_OFF * np.linalg.norm(way))


@dataclasses.dataclass(frozen=True)
class Branch:
    """A body with the joints that carry it, described in base axes at q = 0.

    Attributes:
        name: of the body.
        parent: name of the body that carries it, or None for the ground.
        joints: by name, from the parent on: twists of shape (6,) as `revolute` and `prismatic`
            return them, or (3, 6) as `ball` does; several make a universal, cylindrical or planar
            joint or a free body, none a fixed one.
        mass: mass [kg].
        center: center of mass at q = 0 [m], shape (3,).
        inertia: about the center of mass [kg·m²], in axes parallel to the base's at q = 0: three
            moments or a (3, 3) matrix.
        frame: the body's own frame at q = 0, a rigid motion (4, 4); at its center of mass, parallel
            to the base by default.
    """

    name: str
    parent: str | None
    joints: dict[str, np.ndarray]
    mass: float
    center: Sequence | np.ndarray
    inertia: Sequence | np.ndarray
    frame: np.ndarray | None = None


class BodyTree:
    """Bodies on joints in a tree, in joint coordinates: an angle, a distance or a unit quaternion
    per joint.

        M(q) v̇ = F,    F = −h(q, v) + force − Nᵀ ∂V/∂q

    All numbers are parameters, arrays, so that another robot of the same topology needs no
    compilation: `p["twist"]` (nv, 6), joints at q = 0; `p["mass"]` [kg], (nb,); `p["center"]` [m],
    (nb, 3); `p["inertia"]` [kg·m²], (nb, 3, 3); `p["frame"]` (nb, 4, 4), bodies' own frames at q =
    0; `p["armature"]` [kg·m², kg], (nv,), inertia of rotors, on the diagonal of M; `p["gravity"]`
    [m/s²], (3,).

    Args:
        branches: the bodies, in any order; coordinates are in their order, parents before children.
        gravity: acceleration of gravity [m/s²], shape (3,).
        armature: by name of a joint with one coordinate [kg·m² or kg].
        force: `(q, v, t, p)` → further joint torques and forces [N·m, N], shape (nv,); none by
            default.
        potential: `(q, t, p)` → further potential energy [J]; its force is derived; none by
            default.

    Attributes:
        system: the `zw.System`.
        params: the parameters above, for `zw.Model` (possibly with further parameters of the
            model).
        joints: names of all joints, in the order of their coordinates.

    Raises:
        ModelError: for no bodies, a repeated name, an unknown parent, or parents in a circle.

    Example:
        >>> shoulder, elbow = revolute([0, 1, 0]), revolute([0, 1, 0], [0.4, 0, 0])
        >>> inertia = [0.01, 0.02, 0.02]
        >>> arm = BodyTree([
        ...     Branch("upper", None, {"shoulder": shoulder}, 2.0, [0.2, 0, 0], inertia),
        ...     Branch("lower", "upper", {"elbow": elbow}, 1.0, [0.6, 0, 0], inertia),
        ... ])
        >>> model = zw.Model(arm.system, params=arm.params)
    """

    def __init__(
        self,
        branches: Sequence[Branch],
        *,
        gravity: Sequence[float] = (0.0, 0.0, -9.81),
        armature: dict[str, float] | None = None,
        force: Callable | None = None,
        potential: Callable | None = None,
    ):
        index = by_name(branches)
        for b in branches:
            if b.parent is not None and b.parent not in index:
                raise ModelError(
                    f"body {b.name!r} has the parent {b.parent!r}; there are: {', '.join(index)}."
                )
        try:
            ordered = order([GROUND if b.parent is None else index[b.parent] for b in branches])
        except ValueError:
            raise ModelError(
                "the bodies' parents form a circle; give the ground, None, as the parent of one "
                "of them."
            ) from None
        # parents first, as the recursions along branches require
        self.branches = tuple(branches[i] for i in ordered)
        self._index = by_name(self.branches)
        self.branching, self.joints, twist = self._joined()
        mass, inertia = stacked(self.branches, (3, 3))
        center = np.array([np.asarray(b.center, float) for b in self.branches])
        home = [
            motion(jnp.eye(3), jnp.asarray(c)) if b.frame is None else b.frame
            for b, c in zip(self.branches, center, strict=True)
        ]
        self.params = {
            "twist": np.array(twist, float).reshape(-1, 6),
            "mass": mass,
            "center": center,
            "inertia": inertia,
            "frame": np.array([np.asarray(x) for x in home]),
            "armature": self._armature(armature or {}),
            "gravity": np.array(gravity, float),
        }
        self.equations = TreeEquations(self.branching, force, potential)
        self.system = self._system()

    def __repr__(self) -> str:
        return present("text_of", self, "bodies")

    def _joined(self) -> tuple[Branching, tuple[str, ...], list]:
        parent, balls, bodies, names, twists, slides = [], [], [], [], [], []
        for b in self.branches:
            last = GROUND if b.parent is None else bodies[self._index[b.parent]]
            for name, twist in b.joints.items():
                twist = np.asarray(twist, float)
                if twist.shape not in ((6,), (3, 6)):
                    raise ModelError(
                        f"joint {name!r} has the shape {twist.shape}; give revolute(axis, "
                        "point), prismatic(direction) or ball(center)."
                    )
                parent.append(last)
                balls.append(twist.ndim == 2)
                slides.append(twist.ndim == 1 and _advances(twist))
                names.append(name)
                twists += list(np.atleast_2d(twist))
                # several joints of one body are in a row
                last = len(parent) - 1
            bodies.append(last)
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise ModelError(
                f"joint name {repeated[0]!r} is used {names.count(repeated[0])} times; give "
                "each its own."
            )
        if not names:
            raise ModelError("the bodies have no joints; give at least one of them a joint.")
        made = Branching(tuple(parent), tuple(balls), tuple(bodies), tuple(slides))
        return made, tuple(names), twists

    def _armature(self, given: dict[str, float]) -> np.ndarray:
        values = np.zeros(self.branching.nv)
        for name, value in given.items():
            values[self.velocity(name)] = value
        return values

    def _system(self) -> System:
        tree = self.branching
        names, units, velocities, rates = [], [], [], []
        angular = [bool(np.any(self.params["twist"][x[0], 3:])) for x in tree.places(1, 3)]
        for name, is_ball, turning in zip(self.joints, tree.balls, angular, strict=True):
            names += [f"{name}.{c}" for c in BALL_COORDINATES] if is_ball else [name]
            velocities += [f"{name}.{c}" for c in BALL_VELOCITIES] if is_ball else [name]
            units += ["1"] * 4 if is_ball else ["rad" if turning else "m"]
            rates += ["rad/s"] * 3 if is_ball else ["rad/s" if turning else "m/s"]
        turned, made = any(tree.balls), self.equations
        return System(
            tree.nq,
            made.mass_matrix,
            made.force,
            nv=tree.nv,
            velocity_map=made.velocity_map if turned else None,
            retract=made.retract if turned else None,
            potential=made.energy,
            coordinates=names,
            velocities=velocities,
            units=units,
            velocity_units=rates,
            parameters=entries_of(self.branches),
        )

    # --- coordinates

    def coordinate(self, joint: str) -> np.ndarray:
        """Return the entries of q that belong to a joint."""
        return self.branching.places(1, 4)[self._joint(joint)]

    def velocity(self, joint: str) -> np.ndarray:
        """Return the entries of v that belong to a joint."""
        return self.branching.places(1, 3)[self._joint(joint)]

    def _joint(self, name: str) -> int:
        if name not in self.joints:
            raise ModelError(f"there is no joint {name!r}; there are: {', '.join(self.joints)}.")
        return self.joints.index(name)

    @property
    def home(self) -> np.ndarray:
        """q = 0, with quaternions of the identity, shape (nq,)."""
        q = np.zeros(self.branching.nq)
        q[
            [
                x[0]
                for x, is_ball in zip(
                    self.branching.places(1, 4), self.branching.balls, strict=True
                )
                if is_ball
            ]
        ] = 1.0
        return q

    # --- poses and velocities of the bodies; `body` is a name or index

    def poses(self, q: Float[Array, " nq"], p) -> Float[Array, "nb 4 4"]:
        """Return the own frames of all bodies in space, in the order of `branches`."""
        return self.equations.poses(q, p)

    def pose(self, q: Float[Array, " nq"], body, p) -> Float[Array, "4 4"]:
        """Return the own frame of a body in space."""
        return self.poses(q, p)[entry(self._index, body)]

    def point(self, q: Float[Array, " nq"], body, offset, p) -> Float[Array, "3"]:
        """Return the place in space [m] of the point of a body at `offset` [m] in its own frame."""
        g = self.pose(q, body, p)
        return g[:3, 3] + g[:3, :3] @ jnp.asarray(offset, float)

    def twists(self, q: Float[Array, " nq"], v: Float[Array, " nv"], p) -> Float[Array, "nb 6"]:
        """Return the motion of all bodies in space: velocity of the point at the origin [m/s],
        angular velocity [rad/s].
        """
        return self.equations.twists(q, v, p)

    def frame_jacobian(
        self, q: Float[Array, " nq"], body, p, offset=(0.0, 0.0, 0.0)
    ) -> Float[Array, "6 nv"]:
        """Return J with J v the velocity [m/s] of the point of a body at `offset` [m] in its own
        frame, and the angular velocity [rad/s] of the body, both in space.
        """
        b = entry(self._index, body)
        P, x = equations.motions(self.branching, q, p), self.point(q, b, offset, p)
        S = equations.screws(self.branching, P, p, about=x)
        return (S * self.branching.carried[b][:, None]).T

    # --- M, h and F

    def mass_matrix(self, q: Float[Array, " nq"], p) -> Float[Array, "nv nv"]:
        """Return M [kg·m², kg·m, kg], armature included."""
        return self.equations.mass_matrix(q, 0.0, p)

    def bias(self, q: Float[Array, " nq"], v: Float[Array, " nv"], p) -> Float[Array, " nv"]:
        """Return h [N·m, N]: Coriolis and centrifugal forces and weights, the forces at v̇ = 0."""
        return self.equations.bias(q, v, p)

    def inverse_dynamics(
        self, q: Float[Array, " nq"], v: Float[Array, " nv"], acceleration, p
    ) -> Float[Array, " nv"]:
        """Return `M v̇ + h` [N·m, N] by recursion, without M: the forces at the joints that cause
        an acceleration v̇, shape (nv,).
        """
        return self.equations.inverse_dynamics(q, v, jnp.asarray(acceleration), p)

    def inverse_dynamics_derivatives(
        self, q: Float[Array, " nq"], v: Float[Array, " nv"], acceleration, p
    ) -> tuple[Float[Array, "nv nv"], Float[Array, "nv nv"]]:
        """Return ∂(M v̇ + h)/∂q and ∂(M v̇ + h)/∂v at a given v̇, in closed form.

        A change of q is one along velocities: that of a ball joint rotates it about its own axes.
        The derivatives of v̇ at given forces are −M⁻¹ times these.

        Source: Carpentier and Mansard (2018), Robotics: Science and Systems XIV.
        """
        return self.equations.derivatives(q, v, jnp.asarray(acceleration), p)
