"""MuJoCo: the spanning tree in joint coordinates, loops closed by `connect`, steps taken by its
compiled `rollout`.
"""

from __future__ import annotations

import numpy as np

from benchmarks.peers.peer import STEPS, Outcome, Peer, coordinates, steps, timed, turned
from benchmarks.peers.problems import GROUND, SAMPLES, Linkage, RodChain

THIN = 1e-3
"""Inertia of a rod about its own axis beside that about the others; it is never felt."""
LEAST_INERTIA = 1e-12
"""MuJoCo takes no body without inertia [kg m²]: beside m l² = 1 of the point mass it is nothing."""


class MujocoDefault(Peer):
    key, title, package, module = "mujoco-default", "MuJoCo, defaults", "mujoco", "mujoco"
    how = "default settings (soft connects), Runge-Kutta of order 4, its compiled rollout"
    knob = "step [s]"
    stiff = False

    def settings(self, problem):
        return STEPS if self.stiff else STEPS[::3]  # as it comes, the step hardly matters

    def model(self, problem, h):
        """The compiled model at its start."""
        import mujoco

        spec = chain(problem) if isinstance(problem, RodChain) else linkage(problem)
        spec.option.timestep, spec.option.integrator = h, mujoco.mjtIntegrator.mjINT_RK4
        if self.stiff:
            spec.option.tolerance, spec.option.iterations = 1e-15, 100
            for equality in spec.equalities:
                equality.solref[:] = [
                    2 * h,
                    1.0,
                ]  # the shortest time constant that MuJoCo holds for stable
                equality.solimp[:] = [0.9999, 0.9999, 1e-3, 0.5, 2.0]  # the hardest that it takes
        model = spec.compile()
        data = mujoco.MjData(model)
        data.qvel[:] = _start(problem, model)
        return model, data

    def prepare(self, problem, setting):
        import mujoco
        from mujoco import rollout

        count, h = steps(problem, setting)
        model, data = self.model(problem, h)
        size = mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS)
        start, sines = np.zeros(size), getattr(problem, "sines", ())
        mujoco.mj_getState(model, data, start, mujoco.mjtState.mjSTATE_FULLPHYSICS)
        read = _ends if isinstance(problem, RodChain) else _poses

        def control(first):
            """Torques in the middle of each step, which are held along it."""
            t = (first + np.arange(count) + 0.5) * h
            return np.stack([a * np.sin(w * t + phase) for _, a, w, phase in sines], axis=1)[None]

        def go():
            states = [start]
            for i in range(SAMPLES):
                given = {"control": control(i * count)} if sines else {"nstep": count}
                states.append(rollout.rollout(model, data, states[-1][None], **given)[0][0, -1])
            return read(problem, model, data, states)

        return go


class MujocoStiff(MujocoDefault):
    key, title = "mujoco-stiff", "MuJoCo, stiffest"
    how = (
        "solref (2 step, 1), solimp 0.9999, Newton to 1e-15, Runge-Kutta of order 4, its "
        "compiled rollout"
    )
    stiff = True

    def evaluation(self, problem):
        import mujoco

        model, data = self.model(problem, 1e-3)
        model.opt.disableflags |= (
            mujoco.mjtDisableBit.mjDSBL_WARMSTART
        )  # the same state again would start from its own result
        return "acceleration", timed(lambda: mujoco.mj_forward(model, data))


def linkage(problem: Linkage):
    """A body per bar at its center of mass, hinges of the tree, `connect` for the other pins."""
    import mujoco

    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    spec.option.gravity = [0.0, -problem.gravity, 0.0]
    spec.compiler.balanceinertia, bodies = True, {GROUND: spec.worldbody}
    poses = {GROUND: np.zeros(3), **dict(enumerate(problem.pose))}
    carried, loops = problem.tree()
    for body, pin in carried:
        parent, own = poses[pin.first], poses[body]
        c, s = np.cos(parent[2]), np.sin(parent[2])
        d, angle = own[:2] - parent[:2], own[2] - parent[2]
        at = [c * d[0] + s * d[1], -s * d[0] + c * d[1], 0.0]
        J = max(problem.inertia[body], LEAST_INERTIA)
        part = bodies[pin.first].add_body(
            name=f"body {body}",
            pos=at,
            quat=[np.cos(angle / 2), 0, 0, np.sin(angle / 2)],
            mass=problem.mass[body],
            ipos=[0, 0, 0],
            inertia=[J, J, J],
            explicitinertial=True,
        )
        part.add_joint(
            name=f"hinge {body}",
            type=mujoco.mjtJoint.mjJNT_HINGE,
            axis=[0, 0, 1],
            pos=[*pin.at_second, 0.0],
        )
        bodies[body] = part
    for body, *_ in problem.sines:
        spec.add_actuator(
            name=f"motor {body}", trntype=mujoco.mjtTrn.mjTRN_JOINT, target=f"hinge {body}"
        )
    for pin in loops:
        name = lambda b: "world" if b == GROUND else f"body {b}"
        closing = spec.add_equality(
            type=mujoco.mjtEq.mjEQ_CONNECT,
            objtype=mujoco.mjtObj.mjOBJ_BODY,
            name1=name(pin.first),
            name2=name(pin.second),
        )
        closing.data[:3] = [*pin.at_first, 0.0]
    return spec


def chain(problem: RodChain):
    """Rods on ball joints, the body's frame at its joint."""
    import mujoco

    spec, l, m = mujoco.MjSpec(), problem.length, problem.mass
    spec.option.gravity = [0.0, 0.0, -problem.gravity]
    body, J = spec.worldbody, m * l * l / 12
    for i in range(problem.rods):
        body = body.add_body(
            name=f"rod {i}",
            pos=[l if i else 0.0, 0, 0],
            mass=m,
            ipos=[l / 2, 0, 0],
            inertia=[THIN * J, J, J],
            explicitinertial=True,
        )
        body.add_joint(type=mujoco.mjtJoint.mjJNT_BALL)
    return spec


def _start(problem, model) -> np.ndarray:
    """Joint velocities of the start."""
    if isinstance(problem, RodChain):
        v = np.zeros(model.nv)
        v[2] = problem.spin
        return v
    rate = lambda body: 0.0 if body == GROUND else problem.rate[body][2]
    return np.array([rate(body) - rate(pin.first) for body, pin in _in_order(problem, model)])


def _in_order(problem, model):
    """Bodies with their pins in the order of MuJoCo's joints."""
    by_name = {f"hinge {body}": (body, pin) for body, pin in problem.tree()[0]}
    return [by_name[model.joint(j).name] for j in range(model.njnt)]


def _placed(model, data, states):
    """At each state: velocity of each body's frame, read from MuJoCo."""
    import mujoco

    for state in states:
        mujoco.mj_setState(model, data, state, mujoco.mjtState.mjSTATE_FULLPHYSICS)
        mujoco.mj_forward(model, data)
        speeds = np.zeros((model.nbody - 1, 6))
        for b in range(1, model.nbody):
            mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_XBODY, b, speeds[b - 1], 0)
        yield data.xpos[1:].copy(), data.xmat[1:].reshape(-1, 3, 3).copy(), speeds


def _poses(problem, model, data, states) -> Outcome:
    poses, rates = np.zeros((2, len(states), len(problem.mass), 3))
    order = [body for body, _ in _in_order(problem, model)]
    for k, (places, turns, speeds) in enumerate(_placed(model, data, states)):
        poses[k, order] = np.stack(
            [*places[:, :2].T, np.arctan2(turns[:, 1, 0], turns[:, 0, 0])], axis=1
        )
        rates[k, order] = np.stack([speeds[:, 3], speeds[:, 4], speeds[:, 2]], axis=1)
    return coordinates(problem, turned(poses, problem.pose), rates)


def _ends(problem, model, data, states) -> Outcome:
    ends, rates = [], []
    for places, turns, speeds in _placed(model, data, states):
        arm = problem.length * turns[:, :, 0]
        ends.append((places + arm).ravel())
        rates.append((speeds[:, 3:] + np.cross(speeds[:, :3], arm)).ravel())
    return Outcome(np.array(ends), np.array(rates))
