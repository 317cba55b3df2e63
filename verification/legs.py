"""DR Legs, a robot with six closed loops, under random targets and a limit of torque, as the public
reproduction of newton-physics/newton's issue 4173 has it: there the solver of the simulator ends in
NaN as soon as the limit holds.

    git clone --depth 1 https://github.com/newton-physics/newton-assets
    python -m verification legs --data newton-assets

Taken from there are the robot, 100 random targets of its twelve motors by seed 12, the limit of 3.1
N·m and the greatest speed of a joint that makes sense, 100 rad/s. How long a target holds and what
it is drawn from are choices of ours, `HOLD` and the range of each joint, as the simulator's own
example, which says so there, was not at hand. Gains and rotors are those of the file, or `GAINS`,
`ROTOR` and `RANGE` where its edition has none. The pelvis is held, and nothing touches the ground,
as contacts are switched off there too.
"""

from __future__ import annotations

from pathlib import Path

import jax.numpy as jnp
import numpy as np

import zwang as zw
from verification.line import Line, judged
from zwang.robots.usd_text import scene

FILES = ("dr_legs_no_meshes.usda", "dr_legs_with_boxes.usda", "dr_legs.usda")
FOLDER = Path("disneyresearch") / "dr_legs" / "usd"
TARGETS, SEED, TORQUE, SPEED, GAP = 100, 12, 3.1, 100.0, 1e-12
HOLD, RTOL, SAMPLES = 0.1, 1e-6, 21
GAINS, ROTOR, RANGE = (5.0, 0.2), 0.01048, (-0.35, 0.35)
"""Stiffness [N·m/rad] and damping [N·m·s/rad], inertia of a rotor [kg·m²], range [rad]."""
COMMAND = "python -m verification legs --data FOLDER"


def lines(folder: Path) -> list[Line]:
    """Torque, speed and open loops, each beside what is allowed."""
    path = next(x for name in FILES if (x := folder / FOLDER / name).exists())
    found = greatest(path)
    case = f"{TARGETS} targets, {found['steps']:.0f} steps"
    made = [
        ("states that are not finite", found["lost"], 0.0),
        ("greatest torque, by which the limit acts", abs(found["torque"] / TORQUE - 1), 0.0),
        ("greatest speed of a joint by that allowed", found["speed"] / SPEED, 1.0),
        ("open loops [m, rad]", found["gap"], GAP),
    ]
    return [
        Line("legs", case, what, "", "", size, allowed, judged(size, allowed), "", COMMAND)
        for what, size, allowed in made
    ]


def greatest(path: Path) -> dict[str, float]:
    """The greatest torque, speed and gap of a run from target to target."""
    robot = zw.robot(path, floating=False)
    motors, tree = robot.motors, robot.tree
    of_q = np.concatenate([tree.coordinate(x) for x in motors])
    of_v = np.concatenate([tree.velocity(x) for x in motors])
    stiffness, damping = _gains(path, motors)
    rotors = np.array(robot.params["armature"])
    rotors[of_v] = np.where(rotors[of_v] == 0, ROTOR, rotors[of_v])

    def control(q, v, t, p):
        wanted = stiffness * (p["target"] - q[of_q]) - damping * v[of_v]
        return jnp.clip(wanted, -TORQUE, TORQUE)

    more = {"armature": rotors, "target": np.zeros(len(motors))}
    model = robot.driven(control, params=more)
    least, most = np.array([robot.ranges.get(x, RANGE) for x in motors]).T
    q, v = robot.start_state.q, robot.start_state.v
    found = dict.fromkeys(("lost", "torque", "speed", "gap", "steps"), 0.0)
    for target in np.random.default_rng(SEED).uniform(least, most, (TARGETS, len(motors))):
        held = model.with_params({"target": target})
        run = zw.simulate(held, q, v, duration=HOLD, rtol=RTOL, samples=SAMPLES)
        q, v = run.q[-1], run.v[-1]
        u = np.array([control(a, b, 0.0, {"target": target}) for a, b in zip(run.q, run.v)])  # noqa: B905
        found["lost"] += not np.isfinite([*run.q.flat, *run.v.flat]).all()
        found["steps"] += len(run.steps.t) - 1
        for name, size in (
            ("torque", np.abs(u).max()),
            ("speed", np.abs(run.v).max()),
            ("gap", float(run.dataset["violation"].max())),
        ):
            found[name] = max(found[name], size)
    return found


def _gains(path: Path, motors: tuple[str, ...]) -> np.ndarray:
    """Stiffness and damping of each motor, which the file has by degrees."""
    prims = {x.name: x for x in scene(path.read_text(encoding="utf-8"), path.name).all()}
    names = ("stiffness", "damping")
    return np.array(
        [
            [
                np.degrees(given) if (given := prims[x].attributes.get(key)) else default
                for x in motors
            ]
            for key, default in zip(
                [f"drive:angular:physics:{x}" for x in names], GAINS, strict=True
            )
        ]
    )
