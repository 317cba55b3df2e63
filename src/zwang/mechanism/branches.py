"""Joint coordinates: joints that span a tree carry the bodies, all others close loops.

A tree joint's coordinates are zero where its two points coincide with their axes, so the bodies'
places at q = 0 follow from the points alone. A joint that is met from its second body turns the
other way, in the opposite order.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from zwang.bodies import BodyTree, Branch, ball, prismatic, revolute
from zwang.bodies.rotation import quaternion, rotation_matrix
from zwang.bodies.screws.twist import motion
from zwang.equations.state import State
from zwang.mechanism.layout import Layout
from zwang.mechanism.pairs import frames, pair
from zwang.mechanism.parts import Joint


@dataclasses.dataclass(frozen=True)
class Step:
    """How a body stands on the one that carries it: by a joint, met from its second body if
    `reverse`, or free in space if None.
    """

    body: int
    parent: int
    joint: str | None
    reverse: bool = False


def _space(kind: str, at: np.ndarray) -> dict[str, np.ndarray] | None:
    """Twists of a joint by name of its coordinate, for the frame that its two points share at q =
    0; None if it carries no body.
    """
    (x, y, z), c = at[:3, :3].T, at[:3, 3]
    made = {
        "revolute": lambda: {"": revolute(z, c)},
        "prismatic": lambda: {"": prismatic(z)},
        "cylindrical": lambda: {".angle": revolute(z, c), ".slide": prismatic(z)},
        "universal": lambda: {".first": revolute(x, c), ".second": revolute(y, c)},
        "spherical": lambda: {"": ball(c, at[:3, :3])},
        "planar": lambda: {".x": prismatic(x), ".y": prismatic(y), ".angle": revolute(z, c)},
        "fixed": lambda: {},
    }
    return made[kind]() if kind in made else None


def _plane(kind: str, at: np.ndarray) -> dict[str, np.ndarray] | None:
    made = {
        "revolute": {"": revolute(at[:3, 2], at[:3, 3])},
        "prismatic": {"": prismatic(at[:3, 0])},
        "fixed": {},
    }
    return made.get(kind)


def _values(kind: str, gap, turn) -> dict[str, float]:
    """Coordinates of a tree joint that has one number each, by name."""
    if np.ndim(turn) == 0:
        return {"revolute": {"": turn}, "prismatic": {"": gap[0]}, "fixed": {}}[kind]
    angle = np.arctan2(turn[1, 0], turn[0, 0])
    return {
        "revolute": {"": angle},
        "prismatic": {"": gap[2]},
        "cylindrical": {".angle": angle, ".slide": gap[2]},
        "fixed": {},
        "universal": {
            ".first": np.arctan2(turn[2, 1], turn[1, 1]),
            ".second": np.arctan2(turn[0, 2], turn[0, 0]),
        },
        "planar": {".x": gap[0], ".y": gap[1], ".angle": angle},
    }[kind]


class Branches:
    """A mechanism's bodies in joint coordinates.

    Args:
        joints: by name, resolved.
        ends: numbers of the points of each joint.
        layout: bodies and points.
        build: branches → `BodyTree`.

    Attributes:
        steps: how each body is carried, parents first.
        tree: the `BodyTree`; its order of bodies is that of `steps`.
    """

    def __init__(
        self,
        joints: Mapping[str, Joint],
        ends: Mapping[str, tuple[int, int]],
        layout: Layout,
        build: Callable,
    ):
        self.joints, self.ends, self.layout = joints, ends, layout
        self._twists = _plane if layout.d == 2 else _space
        self.steps = self._spanned()
        self._points = np.array(
            [_motion(o, a) for o, a in zip(layout.offset, layout.orientation, strict=True)]
        )
        self.tree: BodyTree = build(self._branches())
        self.at_bodies = jax.jit(self.body_state)
        order = {self.layout.bodies[step.body].name: i for i, step in enumerate(self.steps)}
        self.order = np.array([order[body.name] for body in layout.bodies])

    @property
    def carried(self) -> np.ndarray:
        """Whether the joint of step i carries body j, shape (steps, nb)."""
        on = np.eye(len(self.order), dtype=bool)
        for step in reversed(self.steps):
            if step.parent < len(on):
                on[step.parent] |= on[step.body]
        return on[[step.body for step in self.steps]]

    @property
    def meets(self) -> np.ndarray:
        """1 where the joint of step i carries body j itself, −1 where it stands on it, shape
        (steps, nb).
        """
        ends = np.zeros((len(self.steps), len(self.order) + 1))
        for i, step in enumerate(self.steps):
            ends[i, [step.body, step.parent]] = 1.0, -1.0
        return ends[:, :-1]

    @property
    def carrying(self) -> set[str]:
        """Names of the joints that carry bodies."""
        return {step.joint for step in self.steps if step.joint is not None}

    def _spanned(self) -> list[Step]:
        ground, carrier = len(self.layout.bodies), self.layout.carrier
        carried, steps = {ground}, []
        able = [
            n
            for n, j in self.joints.items()
            if n in self.ends and self._twists(j.kind, np.eye(4)) is not None
        ]
        while len(steps) < ground:
            step = next(self._next(able, carried, carrier), None)
            if step is None:
                free = next(b for b in range(ground) if b not in carried)
                step = Step(free, ground, None)
            steps.append(step)
            carried.add(step.body)
        return steps

    def _next(self, able: list[str], carried: set[int], carrier: np.ndarray):
        for name in able:
            a, b = (int(carrier[i]) for i in self.ends[name])
            if (a in carried) != (b in carried):
                yield Step(b, a, name) if a in carried else Step(a, b, name, reverse=True)

    def _branches(self) -> list[Branch]:
        home, made = {len(self.layout.bodies): np.eye(4)}, []
        for step in self.steps:
            body = self.layout.bodies[step.body]
            home[step.body], twists = self._carried(step, home)
            at, inertia = home[step.body], np.asarray(body.inertia, float)
            inertia = (
                np.diag([0.0, 0.0, float(inertia)])
                if inertia.ndim == 0
                else np.diag(inertia)
                if inertia.ndim == 1
                else inertia
            )
            parent = (
                None
                if step.parent == len(self.layout.bodies)
                else self.layout.bodies[step.parent].name
            )
            made.append(
                Branch(
                    body.name,
                    parent,
                    twists,
                    body.mass,
                    at[:3, 3],
                    at[:3, :3] @ inertia @ at[:3, :3].T,
                    at,
                )
            )
        return made

    def _carried(self, step: Step, home: dict) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """A body's place at q = 0 and the twists that carry it, by name."""
        if step.joint is None:
            body = self.layout.bodies[step.body].name
            slides = {
                f"{body}.{c}": prismatic(axis)
                for c, axis in zip("xyz"[: self.layout.d], np.eye(3), strict=False)
            }
            return np.eye(4), {
                **slides,
                f"{body}.angle" if self.layout.d == 2 else f"{body}.turn": self._free_turn(),
            }
        near, far = (
            self._points[i]
            for i in (self.ends[step.joint][::-1] if step.reverse else self.ends[step.joint])
        )
        at = home[step.parent] @ near
        twists = self._twists(self.joints[step.joint].kind, at)
        assert twists is not None
        if step.reverse:
            twists = {name: x if x.ndim == 2 else -x for name, x in reversed(twists.items())}
        return at @ np.linalg.inv(far), {f"{step.joint}{name}": x for name, x in twists.items()}

    def _free_turn(self) -> np.ndarray:
        return revolute([0.0, 0.0, 1.0]) if self.layout.d == 2 else ball()

    # --- between the coordinates
    # ---------------------------------------------------------------------------------

    def poses(self, q, p):
        """Bodies as `zwang.mechanism.pairs.frames` takes them: (x, y, angle) of each in the plane,
        rigid motions (nb, 4, 4) in space.
        """
        at = self.tree.poses(q, p)
        if self.layout.d == 3:
            return at[self.order]
        home = jnp.arctan2(p["frame"][:, 1, 0], p["frame"][:, 0, 0])
        angle = home + self.tree.branching.carried @ (p["twist"][:, 5] * q)  # counts whole turns
        return jnp.concatenate([at[:, :2, 3], angle[:, None]], axis=1)[self.order].ravel()

    def joint_state(self, state: State, points: dict) -> State:
        """A state of all bodies in joint coordinates; what the tree's joints do not allow is lost."""
        tree, q = self.tree, self.tree.home
        at = frames(jnp.asarray(state.q), points, self.layout.carrier)
        for step in self.steps:
            for name, value in self._read(step, np.asarray(state.q), at).items():
                q[tree.coordinate(name)] = value
        J = jax.jit(jax.vmap(lambda v: tree.twists(jnp.asarray(q), v, tree.params), out_axes=-1))(
            jnp.eye(tree.system.nv)
        )
        twists = self._body_twists(state)[[step.body for step in self.steps]]
        v = np.linalg.lstsq(np.asarray(J).reshape(-1, tree.system.nv), twists.ravel(), rcond=None)[
            0
        ]
        return State(jnp.asarray(q), jnp.asarray(v), state.t)

    def _read(self, step: Step, q: np.ndarray, at) -> dict[str, object]:
        if step.joint is None:
            name, own = (
                self.layout.bodies[step.body].name,
                q.reshape(len(self.layout.bodies), -1)[step.body],
            )
            last = "angle" if self.layout.d == 2 else "turn"
            values = {f"{name}.{c}": own[i] for i, c in enumerate("xyz"[: self.layout.d])}
            return {**values, f"{name}.{last}": own[2] if self.layout.d == 2 else own[3:]}
        a, b = self.ends[step.joint]
        gap, turn = (np.asarray(x)[0] for x in pair(at, np.array([a]), np.array([b])))
        kind = self.joints[step.joint].kind
        if kind == "spherical":
            return {
                step.joint: np.asarray(quaternion(jnp.asarray(turn.T if step.reverse else turn)))
            }
        return {f"{step.joint}{name}": value for name, value in _values(kind, gap, turn).items()}

    def _body_twists(self, state: State) -> np.ndarray:
        """(velocity at the origin, angular velocity) in space of each body of a maximal state,
        shape (nb, 6).
        """
        n, d = len(self.layout.bodies), self.layout.d
        q, v = np.asarray(state.q).reshape(n, -1), np.asarray(state.v).reshape(n, -1)
        place, speed, spin = np.zeros((n, 3)), np.zeros((n, 3)), np.zeros((n, 3))
        place[:, :d], speed[:, :d] = q[:, :d], v[:, :d]
        spin[:, 3 - v[:, d:].shape[1] :] = v[:, d:]
        if d == 3:
            spin = np.einsum("nij,nj->ni", np.asarray(rotation_matrix(jnp.asarray(q[:, 3:]))), spin)
        return np.hstack([speed - np.cross(spin, place), spin])

    def body_state(self, q, v, p) -> tuple[Array, Array]:
        """Coordinates and velocities of all bodies, as `PlanarBodies` and `RigidBodies` have them."""
        at, twists = (x[self.order] for x in (self.tree.poses(q, p), self.tree.twists(q, v, p)))
        place, R, turning = at[:, :3, 3], at[:, :3, :3], twists[:, 3:]
        speed = twists[:, :3] + jnp.cross(turning, place)
        if self.layout.d == 2:
            return self.poses(q, p), jnp.hstack([speed[:, :2], turning[:, 2:]]).ravel()
        spin = jnp.einsum("nji,nj->ni", R, turning)
        return jnp.hstack([place, quaternion(R)]).ravel(), jnp.hstack([speed, spin]).ravel()


def _motion(offset: np.ndarray, orientation: np.ndarray) -> np.ndarray:
    """A point's frame on its body as a rigid motion of space."""
    if np.ndim(orientation) == 2:
        return np.asarray(motion(jnp.asarray(orientation), jnp.asarray(offset)))
    c, s = np.cos(orientation), np.sin(orientation)
    return np.asarray(
        motion(
            jnp.asarray([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]), jnp.asarray([*offset, 0.0])
        )
    )
