"""Mass matrix and forces of robot files at 1000 random states each, MJCF beside MuJoCo and URDF
beside Pinocchio, without their loops.

    python -m verification states --data FOLDER
    python -m verification.robot_states FILE        # one file, in this process

The files are those of `python -m verification robots`.
"""

from __future__ import annotations

import json
import math
import re
import sys
from pathlib import Path

import numpy as np

import zwang as zw
from verification import robots
from verification.line import FAILED, NOT_MODELED, Line, judged
from zwang.compile import BoundProgram
from zwang.robots import Robot

SUITE = "Robot files at random states"
STATES, SPREAD = 1000, 1.5
"""How many, and how far from the file's own configuration [rad, m]."""
ALLOWED = 1e-10
"""Of each quantity, relative to its largest entry."""
COMMAND = "python -m verification states"


def compared(path: Path) -> dict:
    """The largest relative differences of a file by quantity, or why there are none."""
    try:
        robot = zw.robot(path)
        urdf = robots.kind_of(path) == "robot"
        theirs = robots.pinocchio_of(path, robot) if urdf else robots.mujoco_of(path)
    except zw.ModelError as error:
        return {"refused": str(error)}
    if theirs is None:
        return {"refused": robots.TURNED}
    worst = {"M": 0.0, "F": 0.0}
    ours = functions_of(robot)
    for q, v in random_states(robot):
        for name, mine, other in zip(worst, ours(q, v), theirs(q, v), strict=True):
            worst[name] = max(worst[name], robots.relative(mine, other))
    return {"kind": "Pinocchio" if urdf else "MuJoCo", "nv": robot.tree.system.nv, **worst}


def functions_of(robot: Robot):
    """(q, v) → M and F, compiled."""
    system, model = robot.model.system, robot.model

    def both(p, q, v):
        return system.mass_matrix(q, 0.0, p), system.force(q, v, 0.0, p)

    example = np.zeros(system.nq), np.zeros(system.nv)
    return BoundProgram(both, (model.parameters(),), example)


def random_states(robot: Robot):
    """Coordinates about the file's own, quaternions of length one, and velocities."""
    random, tree = np.random.default_rng(11), robot.tree
    at = [tree.coordinate(x) for x in tree.joints]
    for _ in range(STATES):
        q = robot.tree.home + random.uniform(-SPREAD, SPREAD, tree.system.nq)
        for entries in at:
            if len(entries) == 4:
                q[entries] /= np.linalg.norm(q[entries])
        yield q, random.normal(size=tree.system.nv)


def lines(folder: Path) -> list[Line]:
    """A line for each file in which something moves."""
    made = []
    for path in robots.files(folder):
        found = robots.in_a_process(path, "verification.robot_states")
        if "no joint moves any" not in found.get("refused", ""):
            made.append(_line(str(path.relative_to(folder)), found))
            print(made[-1].case, made[-1].verdict, made[-1].difference, flush=True)
    return made


def _line(case: str, found: dict) -> Line:
    what = f"M, forces at {STATES} random states"
    none = (SUITE, case, what, "", "", math.nan, ALLOWED)
    if "failed" in found:
        return Line(*none, FAILED, found["failed"], COMMAND)
    if why := found.get("refused"):
        return Line(*none, NOT_MODELED, re.sub(r"\S*/", "", why), COMMAND)
    worst = max(found["M"], found["F"])
    said = f"{found['nv']} freedoms"
    verdict = judged(worst, ALLOWED)
    return Line(SUITE, case, what, found["kind"], said, worst, ALLOWED, verdict, "", COMMAND)


if __name__ == "__main__":
    from zwang.cli.startup import start_jax

    start_jax()
    print(json.dumps(compared(Path(sys.argv[1]))))
