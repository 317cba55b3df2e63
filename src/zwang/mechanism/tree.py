"""Joint coordinates: a spanning tree of joints carries the bodies, all other joints close loops.

A tree joint's coordinates are zero where its two points coincide with their axes, so the bodies'
positions at q = 0 follow from the points alone. A joint that is traversed from its second body has
reversed signs and order.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from zwang.algebra.decomposition import Decomposition
from zwang.bodies import BodyTree, Branch, ball, prismatic, revolute
from zwang.bodies.rotation import quaternion, rotation_matrix
from zwang.bodies.screws.twist import inverse, motion
from zwang.bodies.tree.free_system import TreeEquations
from zwang.equations.state import State
from zwang.errors import ModelError
from zwang.inputs.arithmetic import on_host, xp
from zwang.inputs.arrays import host_array
from zwang.mechanism.geometry import Geometry
from zwang.mechanism.joint_kind import JointEquations
from zwang.mechanism.loop_rows import ClosedChain
from zwang.mechanism.registry import JOINT_KINDS
from zwang.mechanism.relative_pose import RelativePose, frames, relative_poses
from zwang.mechanism.resolution import Ends
from zwang.mechanism.schema import Joint

PRODUCTS = 1e-12
"""Products of inertia, relative to the largest entry of all, up to which axes are principal."""


@dataclasses.dataclass(frozen=True)
class Carrier:
    """The joint that carries a body on its parent; none if the body is free.

    `reverse` says that it is traversed from its second body.
    """

    body: int
    parent: int
    joint: str | None
    reverse: bool = False


class TreePoses:
    """`(q, p)` → (x, y, angle) of each body in the plane, rigid motions (nb, 4, 4) in space.

    Args:
        equations: of the tree.
        order: index of each of the mechanism's bodies in the tree.
        d: 2 or 3.
    """

    def __init__(self, equations: TreeEquations, order: np.ndarray, d: int):
        self.equations, self.order, self.d = equations, order, d

    def __call__(self, q, p):
        at = self.equations.poses(q, p)
        if self.d == 3:
            return at[self.order]
        home = xp.arctan2(p["frame"][:, 1, 0], p["frame"][:, 0, 0])
        # counts whole turns
        angle = home + self.equations.tree.carried @ (p["twist"][:, 5] * q)
        return xp.concatenate([at[:, :2, 3], angle[:, None]], axis=1)[self.order].ravel()


class SpanningTree:
    """A mechanism's bodies in joint coordinates.

    Args:
        joints: by name, resolved.
        ends: numbers of the points of each joint.
        geometry: bodies and points.
        build: branches → `BodyTree`.

    Attributes:
        carriers: how each body is carried, parents first, which is the order of `branches` and of
            `tree`.
    """

    def __init__(
        self,
        joints: Mapping[str, Joint],
        ends: Mapping[str, tuple[int, int]],
        geometry: Geometry,
        build: Callable,
    ):
        self.joints, self.ends, self.geometry = joints, ends, geometry
        self.carriers = self._spanned()
        self._build = build
        # The tree orders bodies from the root outwards, the mechanism as they were declared.
        order = {self.geometry.bodies[by.body].name: i for i, by in enumerate(self.carriers)}
        self.order = np.array([order[body.name] for body in geometry.bodies])

    @cached_property
    def tree(self) -> BodyTree:
        """The bodies in joint coordinates."""
        with on_host():
            return self._build(self.branches)

    @cached_property
    def poses(self) -> TreePoses:
        """`(q, p)` → the bodies as `zwang.mechanism.relative_pose.frames` takes them."""
        return TreePoses(self.tree.equations, self.order, self.geometry.d)

    @cached_property
    def at_bodies(self) -> Callable:
        """`body_state` as a program."""
        return jax.jit(self.body_state)

    @property
    def carried(self) -> np.ndarray:
        """Incidence: true if the joint of carrier i carries body j, shape (carriers, nb)."""
        on = np.eye(len(self.order), dtype=bool)
        # from the tips inwards, so that a body is complete before it is added to its parent
        for by in reversed(self.carriers):
            if by.parent < len(on):
                on[by.parent] |= on[by.body]
        return on[[by.body for by in self.carriers]]

    @property
    def meets(self) -> np.ndarray:
        """Incidence: 1 if joint i carries body j, −1 if j is its parent, shape (carriers, nb)."""
        ends = np.zeros((len(self.carriers), len(self.order) + 1))
        for i, by in enumerate(self.carriers):
            ends[i, [by.body, by.parent]] = 1.0, -1.0
        return ends[:, :-1]

    @property
    def carrying(self) -> set[str]:
        """Names of the joints that carry bodies."""
        return {by.joint for by in self.carriers if by.joint is not None}

    def _spanned(self) -> list[Carrier]:
        ground, carrier = len(self.geometry.bodies), self.geometry.carrier
        carried, carriers = {ground}, []
        able = [
            n
            for n, j in self.joints.items()
            if n in self.ends and JOINT_KINDS[j.kind].carries(self.geometry.d)
        ]
        # A ball joint closes a loop of hinges. If it carried a body of the loop, it would hide the
        # loop's group of motions (`zwang.mechanism.loop_rows`).
        able.sort(key=lambda n: any(x.coordinate.unit == "1" for x in self._equations(n).freedoms))
        # otherwise in the order of the file, so that the coordinates do not depend on names
        while len(carriers) < ground:
            by = next(self._next(able, carried, carrier), None)
            if by is None:
                # No joint reaches this body: it moves freely, and joints that come later close
                # loops with it.
                free = next(b for b in range(ground) if b not in carried)
                by = Carrier(free, ground, None)
            carriers.append(by)
            carried.add(by.body)
        return carriers

    def _next(self, able: list[str], carried: set[int], carrier: np.ndarray):
        for name in able:
            a, b = (int(carrier[i]) for i in self.ends[name])
            if (a in carried) != (b in carried):
                yield Carrier(b, a, name) if a in carried else Carrier(a, b, name, reverse=True)

    @cached_property
    def branches(self) -> list[Branch]:
        """The bodies at q = 0 with the joints that carry them."""
        with on_host():
            return self._branches(self.geometry)

    def numbers(self, geometry: Geometry) -> dict[str, Any]:
        """The numbers of bodies and points that the functions of the tree take, as in `BodyTree`.

        The arrays are computed by NumPy on the host, or traced.
        """
        branches = self._branches(geometry)
        twists = [twist for b in branches for twist in b.joints.values()]
        return {
            "mass": xp.stack([xp.asarray(b.mass, float) for b in branches]),
            "center": xp.stack([b.center for b in branches]),
            "inertia": xp.stack([b.inertia for b in branches]),
            "frame": xp.stack([b.frame for b in branches]),
            "twist": xp.concatenate([x.reshape(-1, 6) for x in twists]),
        }

    def _branches(self, geometry: Geometry) -> list[Branch]:
        home: dict[int, Any] = {len(geometry.bodies): np.eye(4)}
        made = []
        points = _points(geometry)
        for by in self.carriers:
            body = geometry.bodies[by.body]
            home[by.body], twists = self._carried(by, home, points)
            # A number is the moment about the normal of a plane, a vector the diagonal in body
            # axes.
            at, inertia = home[by.body], xp.asarray(body.inertia, float)
            inertia = (
                inertia * xp.asarray(np.diag([0.0, 0.0, 1.0]))
                if inertia.ndim == 0
                else xp.diag(inertia)
                if inertia.ndim == 1
                else inertia
            )
            parent = (
                None
                if by.parent == len(self.geometry.bodies)
                else self.geometry.bodies[by.parent].name
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

    @property
    def closing(self) -> list[str]:
        """Names of the joints that close loops."""
        return [name for name in self.ends if name not in self.carrying]

    def closed_chains(
        self, geometry: Geometry, options: Callable[[str], Mapping[str, Any]]
    ) -> list[ClosedChain]:
        """The joints that carry no body, each with the joints between its two bodies.

        Args:
            geometry: positions and attitudes of the points.
            options: name → the options of a joint.
        """
        with on_host():
            branches, points = self._branches(geometry), _points(geometry)
        return [self._closed_chain(n, branches, points, options(n)) for n in self.closing]

    def _closed_chain(
        self, name: str, branches: list[Branch], points: list, options: Mapping[str, Any]
    ) -> ClosedChain:
        parent = {by.body: by.parent for by in self.carriers}
        branch = dict(zip(parent, branches, strict=True))

        def above(body: int) -> list[int]:
            return [body, *above(parent[body])] if body in parent else []

        bodies = [int(self.geometry.carrier[i]) for i in self.ends[name]]
        homes = [branch[b].frame if b in branch else np.eye(4) for b in bodies]
        first, second = (home @ points[i] for home, i in zip(homes, self.ends[name], strict=True))
        sides = set(above(bodies[0])), set(above(bodies[1]))
        carried = [x for b, x in branch.items() if b in sides[0] ^ sides[1]]
        of_first = [x for b, x in branch.items() if b in sides[0] - sides[1]]
        return ClosedChain(
            name,
            JOINT_KINDS[self.joints[name].kind],
            {joint: twist for b in carried for joint, twist in b.joints.items()},
            first,
            second,
            np.array([b.center for b in carried]).reshape(-1, 3),
            options,
            self.geometry.d,
            frozenset(joint for b in of_first for joint in b.joints),
        )

    def _carried(self, by: Carrier, home: dict, points: list) -> tuple[Any, dict[str, Any]]:
        """A body's pose at q = 0 and the twists that carry it, by name."""
        if by.joint is None:
            body = self.geometry.bodies[by.body].name
            slides = {
                f"{body}.{c}": prismatic(axis)
                for c, axis in zip("xyz"[: self.geometry.d], np.eye(3), strict=False)
            }
            return np.eye(4), {
                **slides,
                f"{body}.angle" if self.geometry.d == 2 else f"{body}.turn": self._free_turn(),
            }
        near, far = (
            points[i] for i in (self.ends[by.joint][::-1] if by.reverse else self.ends[by.joint])
        )
        at = home[by.parent] @ near
        twists = self._equations(by.joint).twists(at)
        if by.reverse:
            # A ball joint keeps its twists: its quaternion is inverted instead.
            twists = {name: x if x.ndim == 2 else -x for name, x in reversed(twists.items())}
        # The joint's coordinates are zero where its two points coincide with their axes.
        return at @ inverse(far), {f"{by.joint}{name}": x for name, x in twists.items()}

    def _free_turn(self) -> np.ndarray:
        return revolute([0.0, 0.0, 1.0]) if self.geometry.d == 2 else ball()

    # --- between the coordinates

    def entry(self, ends: Ends) -> int | None:
        """The entry of q for a coordinate of two points, if a joint there carries a body by it."""
        for by in self.carriers:
            if by.joint is None or self.ends[by.joint] != (ends.a, ends.b):
                continue
            for ending, freedom in self._equations(by.joint).endings().items():
                if freedom.coordinate.name == ends.coordinate.name:
                    return int(self.tree.coordinate(f"{by.joint}{ending}")[0])
        return None

    def of_bodies(self, params: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
        """Convert parameters in joint coordinates to those in maximal coordinates.

        Args:
            params: of the functions of the tree.
            own: of the same mechanism in maximal coordinates, which have the shapes.

        Raises:
            ModelError: for an inertia with products in axes in which the bodies have none.
        """
        with on_host():
            found, tensor = self.as_bodies(params, own)
        kept, moments = found["inertia"], np.diagonal(tensor, axis1=1, axis2=2)
        beyond = tensor - moments[:, None] * np.eye(3)
        most = PRODUCTS * np.abs(tensor).max()
        if np.ndim(own["inertia"]) == 2 and np.abs(beyond).max() > most:
            raise ModelError(
                "the inertia of a body was given products in its own axes, where it was declared "
                "by principal moments; declare it by six entries, xx, yy, zz, xy, xz, yz."
            )
        # A number that was not changed stays bitwise identical.
        inertia = np.asarray(own["inertia"])
        close = np.isclose(kept, inertia, rtol=PRODUCTS, atol=0.0)
        return {**found, "inertia": np.where(close, inertia, kept)}

    def as_bodies(self, params: Mapping[str, Any], own: Mapping[str, Any]) -> tuple[dict, Array]:
        """`of_bodies` without checks, traced or not, and tensors of inertia in the bodies' axes."""
        # The kept rows of loops are decided separately in each kind of coordinates.
        found = {name: params[name] for name in own if name != "keep"}
        R = xp.asarray(params["frame"])[self.order, :3, :3]
        tensor = xp.swapaxes(R, 1, 2) @ xp.asarray(params["inertia"])[self.order] @ R
        moments = xp.diagonal(tensor, axis1=1, axis2=2)
        found["inertia"] = {1: moments[:, 2], 2: moments, 3: tensor}[np.ndim(own["inertia"])]
        found["mass"] = xp.asarray(params["mass"])[self.order]
        found["gravity"] = xp.asarray(params["gravity"])[: self.geometry.d]
        return found, tensor

    def joint_state(self, state: State, params: dict) -> State:
        """Convert a state of all bodies to joint coordinates; `params` are the mechanism's.

        Motion that no joint of the tree allows is lost.
        """
        # NumPy arrays are accepted where JAX arrays are declared.
        own, tree, q = np.asarray(state.q)[: len(self.geometry.q)], self.tree, self.tree.home
        params = jax.tree.map(np.asarray, params)
        # NumPy, as JAX would compile each operation on its own
        with on_host():
            for name, value in self.coordinates_of(own, params).items():
                q[tree.coordinate(name)] = value
            # Twists are linear in v: their matrix by columns.
            at, ways = host_array(q), host_array(np.eye(tree.system.nv))
            columns = [tree.twists(at, v, params).ravel() for v in ways]
            twists = self._body_twists(state)[[by.body for by in self.carriers]]
        # the best approximation of the twists of all bodies that the tree's joints allow
        J = np.stack(columns, axis=1) if columns else np.zeros((twists.size, 0))
        v = Decomposition(J).solve(twists.ravel())
        return State(jnp.asarray(q), jnp.asarray(v), state.t)

    def coordinates_of(self, q: np.ndarray, params: dict) -> dict[str, object]:
        """Coordinates of the tree's joints by name, from those of all bodies."""
        at = frames(host_array(q), params, self.geometry.carrier)
        return {x: value for by in self.carriers for x, value in self._read(by, q, at).items()}

    def _read(self, by: Carrier, q: np.ndarray, at) -> dict[str, object]:
        if by.joint is None:
            name, own = (
                self.geometry.bodies[by.body].name,
                q.reshape(len(self.geometry.bodies), -1)[by.body],
            )
            last = "angle" if self.geometry.d == 2 else "turn"
            values = {f"{name}.{c}": own[i] for i, c in enumerate("xyz"[: self.geometry.d])}
            return {**values, f"{name}.{last}": own[2] if self.geometry.d == 2 else own[3:]}
        a, b = self.ends[by.joint]
        pose = jax.tree.map(lambda x: x[0], relative_poses(at, np.array([a]), np.array([b])))
        values = {}
        for ending, freedom in self._equations(by.joint).endings().items():
            # If a joint is traversed from its second body, the twists of a ball joint keep their
            # sign and its quaternion is inverted.
            back = by.reverse and freedom.coordinate.unit == "1"
            own = RelativePose(pose.displacement, pose.rotation.T) if back else pose
            values[f"{by.joint}{ending}"] = freedom.coordinate.value(own)
        return values

    def _equations(self, joint: str) -> JointEquations:
        equations = JOINT_KINDS[self.joints[joint].kind].equations(self.geometry.d)
        assert equations is not None
        return equations

    def _body_twists(self, state: State) -> np.ndarray:
        """(velocity at the origin, angular velocity) in space of each body, shape (nb, 6).

        The state is in maximal coordinates.
        """
        n, d = len(self.geometry.bodies), self.geometry.d
        own = np.asarray(state.q)[: len(self.geometry.q)]
        q, v = (np.asarray(x).reshape(n, -1) for x in (own, state.v))
        place, speed, spin = np.zeros((n, 3)), np.zeros((n, 3)), np.zeros((n, 3))
        place[:, :d], speed[:, :d] = q[:, :d], v[:, :d]
        # A planar mechanism turns about the third axis alone.
        spin[:, 3 - v[:, d:].shape[1] :] = v[:, d:]
        if d == 3:
            # Angular velocities of bodies in space are in body axes.
            spin = np.einsum("nij,nj->ni", np.asarray(rotation_matrix(host_array(q[:, 3:]))), spin)
        return np.hstack([speed - np.cross(spin, place), spin])

    def body_state(self, q, v, p) -> tuple[Array, Array]:
        """Coordinates and velocities of all bodies, as in `PlanarBodies` and `RigidBodies`."""
        at, twists = (x[self.order] for x in (self.tree.poses(q, p), self.tree.twists(q, v, p)))
        place, R, turning = at[:, :3, 3], at[:, :3, :3], twists[:, 3:]
        speed = twists[:, :3] + xp.cross(turning, place)
        if self.geometry.d == 2:
            return self.poses(q, p), xp.hstack([speed[:, :2], turning[:, 2:]]).ravel()
        spin = xp.einsum("nji,nj->ni", R, turning)
        return xp.hstack([place, quaternion(R)]).ravel(), xp.hstack([speed, spin]).ravel()


def _points(geometry: Geometry) -> list:
    """The points' frames on their bodies."""
    return [_motion(o, a) for o, a in zip(geometry.offset, geometry.orientation, strict=True)]


def _motion(offset, orientation):
    """A point's frame on its body as a rigid motion of space."""
    if np.ndim(orientation) < 2:
        c, s, zero = xp.cos(orientation), xp.sin(orientation), xp.zeros(())
        orientation = xp.stack(
            [xp.stack([c, -s, zero]), xp.stack([s, c, zero]), xp.asarray([0.0, 0.0, 1.0])]
        )
        offset = xp.append(offset, 0.0)
    return motion(orientation, offset)
