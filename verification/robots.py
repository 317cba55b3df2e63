"""Robot files of a folder, MJCF beside MuJoCo and URDF beside Pinocchio: mass matrix, bias, columns
of actuators, rows of constraints, and accelerations with all of them hard.

    python -m verification robots --data FOLDER
    python -m verification.robots FILE        # one file, in this process

Every file below the folder whose root is `mujoco` or `robot` and in which something moves is a
line; files of equal content are one. Each is compared in a process of its own, which may die of it.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

import zwang as zw
from verification.line import AGREES, DIFFERS, FAILED, NOT_MODELED, Line, judged
from zwang.dynamics.evaluation import evaluate
from zwang.robots import Robot
from zwang.robots.mujoco_reader import _compiled

SUITE = "Robot files"
ALLOWED = 1e-8
"""Of each quantity, relative to its largest entry."""
SPREADS = (0.2, 0.05, 0.01, 0.0)
"""How far from the file's own configuration the state is, at random [rad, m]; the first from which
loops close is taken.
"""
SECONDS = 300
COMMAND = "python -m verification robots"
STENCIL = {1: 45 / 60, 2: -9 / 60, 3: 1 / 60}
"""Central difference of sixth order."""
STEP = 3e-3
INDEPENDENT = 1e-4
"""Singular values of rows of unit length below it are of rows that repeat others up to the digits
of a file.
"""
TEXT = 2**20
"""Characters at the beginning of a file in which its root element is looked for."""
ROOT = re.compile(r"<(mujoco|robot)[\s>]")


# --- one file


def compared(path: Path) -> dict:
    """The largest relative differences of a file by quantity, or why there are none."""
    try:
        robot = zw.robot(path)
        if kind_of(path) == "robot":
            return {"kind": "Pinocchio", **beside_pinocchio(path, robot)}
        return {"kind": "MuJoCo", **beside_mujoco(path, robot)}
    except zw.ModelError as error:
        return {"refused": str(error)}


def kind_of(path: Path) -> str | None:
    """The root element of a file."""
    found = ROOT.search(path.read_text(encoding="utf-8", errors="replace")[:TEXT])
    return None if found is None else found[1]


def relative(ours, theirs) -> float:
    """The largest difference by the largest entry."""
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    if not theirs.size:
        return 0.0
    scale = np.abs(theirs).max()
    return float(np.abs(ours - theirs).max() / (scale if scale > 0 else 1.0))


def a_state(robot: Robot):
    """A state at random near the file's own on which its constraints hold, and its spread."""
    random = np.random.default_rng(7)
    nq, nv = robot.tree.system.nq, robot.tree.system.nv
    start = robot.start_state.q
    noise, v = random.uniform(-1.0, 1.0, nq), random.normal(size=nv)
    for spread in SPREADS:
        try:
            at = zw.consistent_state(robot.model, start + spread * noise, v).state
        except zw.ModelError:
            if spread == SPREADS[-1]:
                raise
            continue
        return at, spread
    raise AssertionError


def accelerations(M, F, J, right, rank=None) -> tuple[np.ndarray, int, list[float]]:
    """v̇ of M v̇ = F + Jᵀ λ, J v̇ = right, without rows that repeat others, or by a rank that is
    given; the rank, and the singular values.
    """
    W = np.linalg.inv(np.linalg.cholesky(M)).T
    free = W @ (W.T @ F)
    C = J @ W
    length = np.linalg.norm(C, axis=1)
    used = length > 1e-12 * max(length.max(initial=0.0), 1e-300)
    C, rest = C[used] / length[used, None], ((right - J @ free)[used]) / length[used]
    U, s, V = np.linalg.svd(C, full_matrices=False)
    rank = int(np.sum(s > INDEPENDENT)) if rank is None else rank
    return free + W @ (V[:rank].T @ ((U.T @ rest)[:rank] / s[:rank])), rank, s.tolist()


def ours_of(robot: Robot, at) -> dict:
    """All that is compared, as zwang has it."""
    here = evaluate(robot.model.dynamics(), at)
    found = zw.motion(robot.model, at.q, at.v)
    return {
        "M": np.asarray(here.M),
        "F": np.asarray(here.F),
        "acceleration": np.asarray(found.acceleration),
        "rank": int(found.rank),
        "rows": robot.model.constraints.m if robot.constraints else 0,
    }


# --- MJCF


def beside_mujoco(path: Path, robot: Robot) -> dict:
    """Differences from MuJoCo, whose model is taken without what the robot lists as left out."""
    import mujoco as mj

    m = _reduced(mj, path)
    assert m.nv == robot.tree.system.nv
    at, spread = a_state(robot)
    ours = ours_of(robot, at)
    data = mj.MjData(m)
    for e in range(m.neq):
        data.eq_active[e] = data.eq_active[e] and _taken(mj, m, e)

    def rows(q):
        data.qpos[:] = q
        mj.mj_fwdPosition(m, data)
        equal = data.efc_type[: data.nefc] == mj.mjtConstraint.mjCNSTR_EQUALITY
        J = data.efc_J.reshape(data.nefc, m.nv) if data.nefc else np.zeros((0, m.nv))
        return J[equal].copy(), data.efc_pos[: data.nefc][equal]

    q, v = np.array(at.q), np.array(at.v)

    def moved(h):
        new = q.copy()
        mj.mj_integratePos(m, new, v, h)
        return new

    h = STEP / max(1.0, np.abs(v).max())
    turning = sum(
        w * (rows(moved(k * h))[0] @ v - rows(moved(-k * h))[0] @ v) / h for k, w in STENCIL.items()
    )
    J, gap = rows(q)
    gap = float(np.abs(gap).max(initial=0.0))
    M, F = _mass_and_force(mj, m, data, v)
    exact, rank, s = accelerations(M, F, J, -turning)
    found = {}
    if rank != ours["rank"]:
        # rows that are nearly, but not exactly, parallel: whose decision it is
        alike = accelerations(M, F, J, -turning, ours["rank"])[0]
        found = {
            "acceleration by the rank of ours": relative(ours["acceleration"], alike),
            "singular values from there on": [float(f"{x:.1e}") for x in s[rank:][:6]],
        }
    return {
        "nv": m.nv, "rows": len(J), "rank": rank, "rank of ours": ours["rank"], "spread": spread,
        "gap": gap, "M": relative(ours["M"], M), "F": relative(ours["F"], F),
        "acceleration": relative(ours["acceleration"], exact), **found,
    }  # fmt: skip


def mujoco_of(path: Path):
    """(q, v) → M and F of MuJoCo."""
    import mujoco as mj

    m = _reduced(mj, path)
    data = mj.MjData(m)

    def found(q, v):
        data.qpos[:] = q
        mj.mj_fwdPosition(m, data)
        return _mass_and_force(mj, m, data, v)

    return found


def _mass_and_force(mj, m, data, v) -> tuple[np.ndarray, np.ndarray]:
    """M and F where positions are known."""
    data.qvel[:] = v
    mj.mj_fwdVelocity(m, data)
    M = np.zeros((m.nv, m.nv))
    mj.mj_fullM(m, data, M)
    return M, data.qfrc_passive - data.qfrc_bias


def _reduced(mj, path: Path):
    """MuJoCo's model without what the robot lists as left out."""
    try:
        m = mj.MjModel.from_xml_path(str(path))
    except ValueError:
        # without the files that are not there
        m, _ = _compiled(mj, path, floating=False)
    _reduce(mj, m)
    return m


def _reduce(mj, m) -> None:
    """Take out of MuJoCo's model what `Robot.unsupported` lists, and everything one-sided."""
    for name in (
        "tendon_stiffness tendon_damping tendon_armature tendon_stiffnesspoly tendon_dampingpoly "
        "jnt_stiffnesspoly dof_dampingpoly body_gravcomp actuator_armature actuator_damping"
    ).split():
        getattr(m, name)[:] = 0.0
    for j in range(m.njnt):
        if m.jnt_type[j] in (mj.mjtJoint.mjJNT_FREE, mj.mjtJoint.mjJNT_BALL):
            m.jnt_stiffness[j] = 0.0
    m.opt.density = m.opt.viscosity = 0.0
    m.opt.jacobian = mj.mjtJacobian.mjJAC_DENSE
    for flag in ("CONTACT", "LIMIT", "FRICTIONLOSS", "WARMSTART"):
        m.opt.disableflags |= getattr(mj.mjtDisableBit, f"mjDSBL_{flag}")


def _taken(mj, m, e: int) -> bool:
    """Whether an equality constraint has a counterpart: no other is part of a robot."""
    kind = mj.mjtEq(m.eq_type[e]).name.removeprefix("mjEQ_")
    if kind != "TENDON":
        return kind in ("CONNECT", "WELD", "JOINT")
    ends = [t for t in (m.eq_obj1id[e], m.eq_obj2id[e]) if t >= 0]
    wraps = [w for t in ends for w in range(m.tendon_adr[t], m.tendon_adr[t] + m.tendon_num[t])]
    return all(m.wrap_type[w] == mj.mjtWrap.mjWRAP_JOINT for w in wraps)


# --- URDF


def beside_pinocchio(path: Path, robot: Robot) -> dict:
    """Differences from Pinocchio, with the rows of mimic joints by hand."""
    functions = pinocchio_of(path, robot)
    if functions is None:
        return {"left out": TURNED}
    at, spread = a_state(robot)
    M, F = functions(np.array(at.q), np.array(at.v))
    tree, names = robot.tree, pinocchio_names(path)
    followed = [
        (joint.get("name", ""), mimic.get("joint", ""), float(mimic.get("multiplier", 1.0)))
        for joint in ElementTree.parse(path).getroot().iter("joint")
        if (mimic := joint.find("mimic")) is not None
    ]
    followed = [x for x in followed if x[0] in names and x[1] in names]
    J = np.zeros((len(followed), len(F)))
    for row, (follower, leader, ratio) in zip(J, followed, strict=True):
        row[int(tree.velocity(follower)[0])] += 1.0
        row[int(tree.velocity(leader)[0])] -= ratio
    found = {"nv": len(F), "rows": len(J), "spread": spread, "gap": 0.0}
    scales = np.sqrt(np.diag(M))
    if not np.all(scales > 0) or np.linalg.cond(M / np.outer(scales, scales)) > 1e12:
        here = evaluate(robot.model.dynamics(), at)
        return {**found, "M": relative(here.M, M), "F": relative(here.F, F), "singular": True}
    ours = ours_of(robot, at)
    exact, rank, _ = accelerations(M, F, J, np.zeros(len(J)))
    return {
        **found, "rank": rank, "rank of ours": ours["rank"],
        "M": relative(ours["M"], M), "F": relative(ours["F"], F),
        "acceleration": relative(ours["acceleration"], exact),
    }  # fmt: skip


def pinocchio_names(path: Path) -> list[str]:
    """Joints that move."""
    import pinocchio as pin

    return list(pin.buildModelFromUrdf(str(path)).names)[1:]


def pinocchio_of(path: Path, robot: Robot):
    """(q, v) → M and F of Pinocchio, in the order of the robot's joints; None where a joint turns
    its speeds.
    """
    import pinocchio as pin

    model = pin.buildModelFromUrdf(str(path))
    data, tree = model.createData(), robot.tree
    joints = [*zip(model.names[1:], model.joints[1:], strict=True)]
    if any(joint.nv != 1 for _, joint in joints):
        return None
    order = [int(tree.velocity(name)[0]) for name, _ in joints]
    damping, armature = (np.asarray(robot.params[x]) for x in ("damping", "armature"))

    def found(q, v):
        theirs = pin.neutral(model)
        for (_, joint), i in zip(joints, order, strict=True):
            theirs[joint.idx_q : joint.idx_q + joint.nq] = (
                (q[i],) if joint.nq == 1 else (np.cos(q[i]), np.sin(q[i]))
            )
        mass = pin.crba(model, data, theirs)
        mass = np.triu(mass) + np.triu(mass, 1).T
        bias = pin.rnea(model, data, theirs, v[order], np.zeros(model.nv))
        M, F = np.zeros_like(mass), np.zeros(model.nv)
        M[np.ix_(order, order)], F[order] = mass, -bias
        return M + np.diag(armature), F - damping * v

    return found


TURNED = "has a floating or planar joint, whose speeds Pinocchio turns"


# --- a folder


def files(folder: Path) -> list[Path]:
    """Robot files below a folder, those of equal content once."""
    seen, found = set(), []
    for path in sorted(folder.rglob("*")):
        if path.suffix.lower() not in (".xml", ".urdf", ".mjcf") or not path.is_file():
            continue
        text = path.read_bytes()
        digest = hashlib.sha256(text).digest()
        if digest in seen or not ROOT.search(text[:TEXT].decode(errors="replace")):
            continue
        seen.add(digest)
        found.append(path)
    return found


def lines(folder: Path) -> list[Line]:
    """A line for each file in which something moves."""
    made = []
    for path in files(folder):
        found = in_a_process(path)
        if "no joint moves any" not in found.get("refused", ""):
            made.append(_line(str(path.relative_to(folder)), found))
    return made


def in_a_process(path: Path, module: str = "verification.robots") -> dict:
    """The comparison of one file, made where it can end its process."""
    command = [sys.executable, "-m", module, str(path)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return {"failed": f"not finished in {SECONDS} s"}
    if done.returncode:
        said = done.stderr.strip().splitlines() or [f"ended with code {done.returncode}"]
        return {"failed": said[-1]}
    return json.loads(done.stdout.splitlines()[-1])


def _line(case: str, found: dict) -> Line:
    what = "M, forces, accelerations"
    none = (SUITE, case, what, "", "", math.nan, ALLOWED)
    if "failed" in found:
        return Line(*none, FAILED, found["failed"], COMMAND)
    if why := found.get("left out", found.get("refused")):
        # without the folder, which is the reader's own
        return Line(*none, NOT_MODELED, re.sub(r"\S*/", "", why), COMMAND)
    worst = max(found[x] for x in ("M", "F", "acceleration") if x in found)
    verdict = judged(worst, ALLOWED)
    if found.get("rank") != found.get("rank of ours"):
        verdict = DIFFERS
    why = "" if verdict == AGREES else ", ".join(f"{k} {v}" for k, v in found.items())
    said = f"{found['nv']} freedoms, {found['rows']} rows"
    return Line(
        SUITE, case, what, found["kind"], said, worst, ALLOWED, verdict, why, COMMAND
    )  # fmt: skip


if __name__ == "__main__":
    from zwang.cli.startup import start_jax

    start_jax()
    print(json.dumps(compared(Path(sys.argv[1]))))
