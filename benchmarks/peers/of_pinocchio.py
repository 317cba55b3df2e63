"""Pinocchio: the spanning tree in joint angles, loops closed by `constraintDynamics` or by the
recursion `lcaba`, with proximal sweeps and Baumgarte's correctors.

It has no integrator for constrained motion, so that the loop is Python, of which `extra` states the
share.
"""

from __future__ import annotations

import time

import numpy as np

from benchmarks.peers.peer import STEPS, Outcome, Peer, coordinates, steps, timed, turned
from benchmarks.peers.problems import GROUND, SAMPLES, Linkage, RodChain

MU, ACCURACY, SWEEPS = 1e-10, 1e-14, 20
"""Damping, accuracy and number of proximal sweeps: on A02 a damping of 1e-4 costs three digits,
none at all fails.
"""
RECURSIVE_MU = 1e-5
"""Damping of `lcaba`: at 1e-7 and below its accelerations of ten loops are off by 2e-5 and more."""
FREQUENCY = 100.0
"""Of the correctors [rad/s]: Kp = ω², Kd = 2 ω."""


class Pinocchio(Peer):
    key, title, package, module = "pinocchio", "Pinocchio, RK4", "pin", "pinocchio"
    how = (
        "constraintDynamics with μ = 1e-10 and correctors at 100 rad/s (aba for trees), "
        "Runge-Kutta of order 4 in Python, fixed step"
    )
    knob = "step [s]"
    recursive = False

    def settings(self, problem):
        return (
            *STEPS[:2],
            8e-3,
            6e-3,
            *STEPS[2:],
        )  # it is the peer to beat: steps closer together where others are judged

    def prepare(self, problem, setting):
        self.of, q, v, gather = (
            chain(problem)
            if isinstance(problem, RodChain)
            else linkage(problem, recursive=self.recursive)
        )
        self.start = (0.0, q, v)
        count, h = steps(problem, setting)
        self.evaluations = 4 * count * SAMPLES
        rate = _quaternion_rate if isinstance(problem, RodChain) else lambda q, v: v
        renew = _unit if isinstance(problem, RodChain) else lambda q: q

        def go():
            begun = time.perf_counter()
            out = gather(*_runge_kutta_4(self.of, rate, renew, q, v, h, count))
            self.wall = time.perf_counter() - begun
            return out

        return go

    def evaluation(self, problem):
        of, q, v, _ = linkage(problem, recursive=self.recursive)
        return "acceleration", timed(lambda: of(0.0, q, v))

    def extra(self, problem, setting):
        begun = time.perf_counter()
        for _ in range(500):
            self.of(*self.start)
        bare = (time.perf_counter() - begun) / 500
        return {"evaluation": bare, "share_outside": 1 - bare * self.evaluations / self.wall}


class PinocchioRecursive(Pinocchio):
    key, title = "pinocchio-lcaba", "Pinocchio's lcaba, RK4"
    how = (
        "lcaba with μ = 1e-5 and correctors at 100 rad/s, Runge-Kutta of order 4 in Python, "
        "fixed step"
    )
    recursive = True


def tree(problem: Linkage):
    """Model with a hinge for each body, zero at the start; frames of bodies by number; joint
    velocities of the start; loop pins.
    """
    import pinocchio as pin

    model = pin.Model()
    model.gravity.linear[:] = (0.0, -problem.gravity, 0.0)
    joint, hinge = {GROUND: 0}, {}
    carried, loops = problem.tree()
    placement = lambda body: _placement((0.0, 0.0, 0.0) if body == GROUND else problem.pose[body])
    origin = {
        GROUND: _placement((0.0, 0.0, 0.0))
    }  # placement of each body's joint frame in space at the start
    for body, pin_ in carried:
        at = placement(body) * _placement((*pin_.at_second, 0.0))
        origin[body] = _placement((*at.translation[:2], problem.pose[body][2]))
        index = model.addJoint(
            joint[pin_.first],
            pin.JointModelRZ(),
            origin[pin_.first].inverse() * origin[body],
            f"hinge {body}",
        )
        center = -np.array([*pin_.at_second, 0.0])
        inertia = pin.Inertia(
            problem.mass[body], center, np.diag([0.0, 0.0, problem.inertia[body]])
        )
        model.appendBodyToJoint(index, inertia, pin.SE3.Identity())
        joint[body], hinge[body] = index, center
    rate = {GROUND: 0.0, **{b: problem.rate[b][2] for b in joint if b != GROUND}}
    v = np.zeros(model.nv)
    for body, pin_ in carried:
        v[model.idx_vs[joint[body]]] = rate[body] - rate[pin_.first]
    return model, joint, hinge, v, loops


def closures(model, joint, hinge, loops):
    """Rigid constraints for the pins that close loops; out of the plane their rows vanish, which
    the damping allows.
    """
    import pinocchio as pin

    constraints = pin.StdVec_RigidConstraintModel()
    for p in loops:
        ends = [
            pin.SE3(np.eye(3), np.array([*at, 0.0]) + hinge.get(b, 0.0))
            for b, at in ((p.first, p.at_first), (p.second, p.at_second))
        ]
        c = pin.RigidConstraintModel(
            pin.ContactType.CONTACT_3D,
            model,
            joint[p.first],
            ends[0],
            joint[p.second],
            ends[1],
            pin.ReferenceFrame.LOCAL,
        )
        c.setBaumgarteCorrectorParameters(
            pin.BaumgarteCorrectorParameters(FREQUENCY**2, 2 * FREQUENCY)
        )
        constraints.append(c)
    return constraints


def linkage(problem: Linkage, *, recursive: bool = False):
    """(t, q, v) → q̈, start, and what brings joint angles back to poses; loops by `lcaba` where it
    is `recursive`.
    """
    import pinocchio as pin

    model, joint, hinge, v0, loops = tree(problem)
    data, torque = model.createData(), np.zeros(model.nv)
    constraints = closures(model, joint, hinge, loops)
    datas = pin.StdVec_RigidConstraintData()
    for c in constraints:
        datas.append(c.createData())
    law = pin.lcaba if recursive else pin.constraintDynamics
    if len(constraints) and recursive:
        pin.computeJointMinimalOrdering(model, data, constraints)
    elif len(constraints):
        pin.initConstraintDynamics(model, data, constraints, datas)
    proximal = pin.ProximalSettings(ACCURACY, RECURSIVE_MU if recursive else MU, SWEEPS)
    driven = [
        (model.idx_vs[joint[b]], a, w, phase) for b, a, w, phase in problem.sines
    ]  # motors stand on the ground

    def of(t, q, v):
        for i, a, w, phase in driven:
            torque[i] = a * np.sin(w * t + phase)
        if not len(constraints):
            return pin.aba(model, data, q, v, torque)
        return law(model, data, q, v, torque, constraints, datas, proximal)

    def gather(qs, vs):
        poses, rates = np.zeros((2, len(qs), len(problem.mass), 3))
        for k, (q, v) in enumerate(zip(qs, vs, strict=True)):
            pin.forwardKinematics(model, data, q, v)
            for body, index in joint.items():
                if body != GROUND:
                    place, center = data.oMi[index], hinge[body]
                    speed = place.act(data.v[index])
                    at = place.act(center)
                    poses[k, body] = [
                        *at[:2],
                        np.arctan2(place.rotation[1, 0], place.rotation[0, 0]),
                    ]
                    rates[k, body] = [
                        *(speed.linear + np.cross(speed.angular, at))[:2],
                        speed.angular[2],
                    ]
        return coordinates(problem, turned(poses, problem.pose), rates)

    return of, np.zeros(model.nq), v0, gather


def chain(problem: RodChain):
    """Rods on ball joints, unit quaternions; a rod's inertia about its axis is never felt."""
    import pinocchio as pin

    model, l, m = pin.Model(), problem.length, problem.mass
    model.gravity.linear[:] = (0.0, 0.0, -problem.gravity)
    parent = 0
    for i in range(problem.rods):
        at = pin.SE3(np.eye(3), np.array([l if i else 0.0, 0.0, 0.0]))
        parent = model.addJoint(parent, pin.JointModelSpherical(), at, f"ball {i}")
        transverse = m * l * l / 12
        model.appendBodyToJoint(
            parent,
            pin.Inertia(
                m, np.array([l / 2, 0, 0]), np.diag([1e-3 * transverse, transverse, transverse])
            ),
            pin.SE3.Identity(),
        )
    data, torque = model.createData(), np.zeros(model.nv)
    v0 = np.zeros(model.nv)
    v0[2] = problem.spin

    def gather(qs, vs):
        ends, speeds = np.zeros((2, len(qs), problem.rods, 3))
        tip = np.array([l, 0.0, 0.0])
        for k, (q, v) in enumerate(zip(qs, vs, strict=True)):
            pin.forwardKinematics(model, data, q, v)
            for i in range(problem.rods):
                place = data.oMi[i + 1]
                speed = place.act(data.v[i + 1])
                ends[k, i] = place.act(tip)
                speeds[k, i] = speed.linear + np.cross(speed.angular, ends[k, i])
        return Outcome(ends.reshape(len(qs), -1), speeds.reshape(len(qs), -1))

    return lambda t, q, v: pin.aba(model, data, q, v, torque), pin.neutral(model), v0, gather


def _placement(pose):
    import pinocchio as pin

    c, s = np.cos(pose[2]), np.sin(pose[2])
    return pin.SE3(
        np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]), np.array([pose[0], pose[1], 0.0])
    )


def _quaternion_rate(q, v):
    """q̇ = ½ q ∘ (ω, 0), ω in the body's axes; `pin.integrate` between stages would make the method
    one of order 2.
    """
    (x, y, z, w), (a, b, c) = q.reshape(-1, 4).T, v.reshape(-1, 3).T
    return (
        0.5
        * np.stack(
            [
                w * a + y * c - z * b,
                w * b + z * a - x * c,
                w * c + x * b - y * a,
                -x * a - y * b - z * c,
            ],
            axis=1,
        ).ravel()
    )


def _unit(q):
    x = q.reshape(-1, 4)
    return (x / np.linalg.norm(x, axis=1, keepdims=True)).ravel()


def _runge_kutta_4(f, rate, renew, q, v, h, count):
    """Samples of q and v."""
    seen, t = [(q, v)], 0.0
    for _ in range(SAMPLES):
        for _ in range(count):
            k1, r1 = f(t, q, v), rate(q, v)
            q2, v2 = renew(q + h / 2 * r1), v + h / 2 * k1
            k2, r2 = f(t + h / 2, q2, v2), rate(q2, v2)
            q3, v3 = renew(q + h / 2 * r2), v + h / 2 * k2
            k3, r3 = f(t + h / 2, q3, v3), rate(q3, v3)
            q4, v4 = renew(q + h * r3), v + h * k3
            k4, r4 = f(t + h, q4, v4), rate(q4, v4)
            q, v = (
                renew(q + h / 6 * (r1 + 2 * r2 + 2 * r3 + r4)),
                v + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4),
            )
            t += h
        seen.append((q, v))
    return (np.array(x) for x in zip(*seen, strict=True))
