"""A robot's tree and loops as Pinocchio's model, joint by joint, of the same numbers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from zwang.equations.state import State
from zwang.robots import Robot

ACCURACY, SWEEPS = 1e-12, 20
"""Of the proximal sweeps."""
APART = 0.05
"""Of a hinge's two points from its middle [m]."""


class Loops:
    """A robot at a state in Pinocchio's words; a base of three slides and a ball is a free flyer,
    whose velocities are in its own axes.
    """

    def __init__(self, robot: Robot, s: State):
        import pinocchio as pin

        self.pin, self.robot, self.model = pin, robot, pin.Model()
        self.model.gravity.linear[:] = robot.description.gravity
        self.Q, self.V = np.asarray(s.q), np.asarray(s.v)
        self.joint, self.home, self.at = {None: 0}, {None: pin.SE3.Identity()}, {}
        self.at[None] = pin.SE3.Identity()
        self.parts: list[tuple[int, str, list[str]]] = []
        for branch in robot.tree.branches:
            self._add(branch)
        for index, kind, names in self.parts:
            if kind in ("hinge", "slide"):
                armature = robot.params["armature"][robot.tree.velocity(names[0])[0]]
                self.model.armature[self.model.idx_vs[index]] = armature
        self.constraints = pin.StdVec_RigidConstraintModel()
        for loop in robot.description.loops.values():
            self._close(loop)
        self.q, self.v = self._state()

    def _motion(self, g):
        return self.pin.SE3(np.asarray(g)[:3, :3], np.asarray(g)[:3, 3])

    def _add(self, branch) -> None:
        pin, names = self.pin, list(branch.joints)
        twists = [np.asarray(branch.joints[n], float) for n in names]
        index, home = self.joint[branch.parent], self.home[branch.parent]
        free = branch.parent is None and [x.ndim for x in twists] == [1, 1, 1, 2]
        alone = [([n], x) for n, x in zip(names, twists, strict=True)]
        groups = [(names, twists[-1])] if free else alone
        for own, twist in groups:
            if twist.ndim == 2:
                center = 0.5 * np.cross(twist[:, 3:], twist[:, :3]).sum(axis=0)
                frame = pin.SE3(twist[:, 3:].T, center)
                kind, joint = (
                    ("free", pin.JointModelFreeFlyer())
                    if free
                    else ("ball", pin.JointModelSpherical())
                )
            elif np.any(twist[3:]):
                frame = self._along(twist[3:], np.cross(twist[3:], twist[:3]))
                kind, joint = "hinge", pin.JointModelRZ()
            else:
                frame = self._along(twist[:3], np.asarray(branch.center, float))
                kind, joint = "slide", pin.JointModelPZ()
            index = self.model.addJoint(index, joint, home.inverse() * frame, own[-1])
            home = frame
            self.parts.append((index, kind, own))
        if branch.mass > 0:
            J = np.asarray(branch.inertia, float)
            own = pin.Inertia(branch.mass, np.zeros(3), np.diag(J) if J.ndim == 1 else J)
            place = pin.SE3(np.eye(3), np.asarray(branch.center, float))
            self.model.appendBodyToJoint(index, own, home.inverse() * place)
        self.joint[branch.name], self.home[branch.name] = index, home
        self.at[branch.name] = home.inverse() * self._motion(branch.frame)

    def _along(self, axis, place):
        """A frame whose z axis is an axis."""
        z = axis / np.linalg.norm(axis)
        x = np.eye(3)[np.argmin(np.abs(z))]
        x = x - z * (x @ z)
        x /= np.linalg.norm(x)
        return self.pin.SE3(np.stack([x, np.cross(z, x), z], axis=1), place)

    def _close(self, loop) -> None:
        pin = self.pin
        points = {
            "spherical": (pin.ContactType.CONTACT_3D, [0.0]),
            "fixed": (pin.ContactType.CONTACT_6D, [0.0]),
            "revolute": (pin.ContactType.CONTACT_3D, [-APART, APART]),
        }
        kind, along = points[loop.kind]
        for z in along:
            ends = []
            for body, frame in (loop.first, loop.second):
                moved = pin.SE3(np.eye(3), np.array([0.0, 0.0, z]))
                ends += [self.joint[body], self.at[body] * self._motion(frame) * moved]
            local = pin.ReferenceFrame.LOCAL
            self.constraints.append(pin.RigidConstraintModel(kind, self.model, *ends, local))

    def _state(self) -> tuple[np.ndarray, np.ndarray]:
        q, v = self.pin.neutral(self.model), np.zeros(self.model.nv)
        tree = self.robot.tree
        for index, kind, names in self.parts:
            i, j = self.model.idx_qs[index], self.model.idx_vs[index]
            last_q, last_v = (
                x[entries(names[-1])]
                for x, entries in ((self.Q, tree.coordinate), (self.V, tree.velocity))
            )
            if kind in ("free", "ball"):
                moved = i + 3 * (kind == "free")
                q[moved : moved + 4] = [*last_q[1:], last_q[0]]
                v[j + 3 * (kind == "free") :][:3] = last_v
                if kind == "free":
                    q[i : i + 3] = self.Q[[tree.coordinate(n)[0] for n in names[:3]]]
                    v[j : j + 3] = self._turn(last_q).T @ self._speed(names)
            else:
                q[i], v[j] = last_q[0], last_v[0]
        return q, v

    def _turn(self, x):
        return self.pin.Quaternion(*map(float, x)).toRotationMatrix()

    def _speed(self, names):
        return self.V[[self.robot.tree.velocity(n)[0] for n in names[:3]]]

    def call(self, law: str, damping: float) -> Callable[[], np.ndarray]:
        """An acceleration without forces of joints, by `lcaba` or `constraintDynamics`."""
        pin, model, constraints = self.pin, self.model, self.constraints
        data, datas = model.createData(), pin.StdVec_RigidConstraintData()
        for x in constraints:
            datas.append(x.createData())
        if law == "lcaba":
            pin.computeJointMinimalOrdering(model, data, constraints)
        else:
            pin.initConstraintDynamics(model, data, constraints, datas)
        function, none = getattr(pin, law), np.zeros(model.nv)
        settings = pin.ProximalSettings(ACCURACY, damping, SWEEPS)
        given = model, data, self.q, self.v, none, constraints, datas, settings
        return lambda: function(*given)

    def acceleration(self, theirs: np.ndarray) -> np.ndarray:
        """v̇ in the robot's velocities."""
        tree, found = self.robot.tree, np.zeros(len(self.V))
        for index, kind, names in self.parts:
            j = self.model.idx_vs[index]
            last = tree.velocity(names[-1])
            if kind == "free":
                R, spin = self._turn(self.Q[tree.coordinate(names[-1])]), self.V[last]
                speed = R.T @ self._speed(names)
                along = R @ (theirs[j : j + 3] + np.cross(spin, speed))
                found[[tree.velocity(n)[0] for n in names[:3]]] = along
                found[last] = theirs[j + 3 : j + 6]
            else:
                found[last] = theirs[j : j + len(last)]
        return found
