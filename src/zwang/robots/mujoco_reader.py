"""MJCF through MuJoCo as a parser: its numbers of bodies and joints, not its forces.

All joints are described at coordinates zero (`Branch`), where MuJoCo's kinematics are evaluated
once. Coordinates and velocities have MuJoCo's order and meaning; a free joint is three slides and a
ball.
"""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from types import ModuleType
from xml.etree.ElementTree import Element

import numpy as np

from zwang.bodies import Branch, ball, prismatic, revolute
from zwang.errors import ModelError
from zwang.files import is_file, read_text
from zwang.files.isolation import run_isolated, scratch_folder
from zwang.files.limits import limit
from zwang.files.reading import shown_path
from zwang.mechanism.registry import by_format
from zwang.objects.extras import require
from zwang.robots.copies import refuse_many_copies
from zwang.robots.description import Coupling, Description, Loop, unique
from zwang.robots.mujoco_actuators import add_actuators, disabled
from zwang.robots.mujoco_omissions import list_left_out, name_of
from zwang.robots.pictures import add_shapes
from zwang.robots.text import of_quaternion

PROCESS = Path(__file__).with_name("mujoco_process.py")
"""The program that MuJoCo runs in."""
NUMBERS = (
    "body_mass",
    "body_inertia",
    "body_pos",
    "body_ipos",
    "jnt_pos",
    "jnt_stiffness",
    "dof_armature",
    "dof_damping",
    "qpos0",
    "jnt_range",
    "key_qpos",
    "eq_data",
    "actuator_gear",
    "wrap_prm",
)
"""Arrays of MuJoCo's model that the robot is made from."""
LOOPS = by_format("mjcf equality")
"""Kinds of joints that close a loop, by the name of MuJoCo's equality constraint."""
MISSING = "files that are not there, with their shapes and contacts"


def read(path: Path, root: Element, *, floating: bool | None = None) -> Description:
    """Read the robot of an MJCF file.

    Args:
        path: the file.
        root: its root element.
        floating: whether bodies fixed to the ground are free; needed only for files that hold
            them.

    Raises:
        ModelError: one sentence for a file that MuJoCo refuses, or if MuJoCo is not installed.
    """
    # before MuJoCo reads the file, as it would make all copies first
    refuse_many_copies(root, shown_path(path))
    require("mujoco", "robots", "reading MJCF")
    mujoco: ModuleType = importlib.import_module("mujoco")
    model, lost = _compiled(mujoco, path, bool(floating))
    made = _Reading(mujoco, model, path).description
    made.leave_out(MISSING, lost)
    made.name = _model_name(model) or path.stem
    if floating is False and any(n == mujoco.mjtJoint.mjJNT_FREE for n in model.jnt_type):
        raise ModelError(
            f"{path}: floating=False, but the file gives {made.branches[0].name!r} a free "
            "joint; take it out there."
        )
    return made


def _refuse_numbers(model, shown: str) -> None:
    """Refuse numbers that are not finite, or whose squares are not."""
    for name in NUMBERS:
        values = np.asarray(getattr(model, name))
        if not np.all(np.abs(values) <= 10.0 ** limit("magnitude")):
            raise ModelError(
                f"{shown}: {name} has a number that is not finite or beyond "
                f"1e{limit('magnitude')}; look at sizes, densities, masses and gains."
            )


def _compiled(mujoco, path: Path, floating: bool):
    """Compile a file by MuJoCo in a process of its own, which may crash.

    Returns the model, and the missing files that it omits.
    """
    limits = [str(limit(x)) for x in ("parser_memory", "parser_result", "parser_time", "bodies")]
    with scratch_folder() as folder:
        result = folder / "model.mjb"
        words = [os.path.abspath(path), str(result), "floating" if floating else "held"]
        run_isolated(PROCESS, [*words, *limits], folder, shown_path(path))
        try:
            model = mujoco.MjModel.from_binary_path(str(result))
        except ValueError as error:
            raise ModelError(f"{shown_path(path)}: {' '.join(str(error).split())}") from None
        names = folder / f"{result.name}.lost"
        lost = read_text(names, "parser_result").splitlines() if is_file(names) else []
    _refuse_numbers(model, shown_path(path))
    return model, lost


def _model_name(model) -> str:
    return bytes(model.names).split(b"\0")[0].decode(errors="replace")


class _Reading:
    """One compiled model, and the description made from it."""

    def __init__(self, mujoco, model, path: Path):
        self.mj, self.model, self.path = mujoco, model, path
        self.data = mujoco.MjData(model)
        # Coordinates zero, not the file's reference: twists are given where all joints are at zero.
        self.data.qpos[:] = 0.0
        for j in range(model.njnt):
            if (kind := self._kind(j)) in ("FREE", "BALL"):
                self.data.qpos[model.jnt_qposadr[j] + (3 if kind == "FREE" else 0)] = 1.0
        mujoco.mj_kinematics(model, self.data)
        self.bodies = [self._name("BODY", b, "body") for b in range(model.nbody)]
        self.joints = [
            self._name("JOINT", j, f"{self.bodies[model.jnt_bodyid[j]]} joint")
            for j in range(model.njnt)
        ]
        for names in (self.bodies, self.joints):
            for i, name in enumerate(names):
                # MuJoCo allows parts without a name; here each needs one.
                names[i] = unique(name, names[:i])
        self.description = Description(
            path.stem,
            [self._branch(b) for b in range(1, model.nbody)],
            np.zeros(3) if self._off("GRAVITY") else np.array(model.opt.gravity),
        )
        self._joint_numbers()
        self._keyframes()
        self._equalities()
        add_actuators(mujoco, model, self.joints, self._fixed_tendon, self.description)
        add_shapes(mujoco, model, self.bodies, self.description, path)
        list_left_out(mujoco, model, self.bodies, self.joints, self.description)

    def _name(self, kind: str, i: int, default: str) -> str:
        return name_of(self.mj, self.model, kind, i, default)

    def _kind(self, joint: int) -> str:
        return self.mj.mjtJoint(self.model.jnt_type[joint]).name.removeprefix("mjJNT_")

    def _off(self, *flags: str) -> bool:
        return disabled(self.mj, self.model, *flags)

    def _on(self, body: int) -> str | None:
        return None if body == 0 else self.bodies[body]

    def _frame(self, body: int) -> np.ndarray:
        return of_quaternion(self.data.xpos[body], self.data.xquat[body])

    # --- bodies and joints

    def _branch(self, b: int) -> Branch:
        m, d = self.model, self.data
        joints: dict[str, np.ndarray] = {}
        for j in range(m.body_jntadr[b], m.body_jntadr[b] + m.body_jntnum[b]):
            name, kind = self.joints[j], self._kind(j)
            if kind == "FREE":
                joints |= {
                    f"{name}.{c}": prismatic(axis) for c, axis in zip("xyz", np.eye(3), strict=True)
                }
            joints[name] = {
                "FREE": lambda b=b: ball(d.xpos[b]),
                "BALL": lambda b=b, j=j: ball(d.xanchor[j], d.xmat[b].reshape(3, 3)),
                "SLIDE": lambda j=j: prismatic(d.xaxis[j]),
                "HINGE": lambda j=j: revolute(d.xaxis[j], d.xanchor[j]),
            }[kind]()
        # principal axes of the body, in which MuJoCo stores inertias
        R = d.ximat[b].reshape(3, 3)
        return Branch(
            self.bodies[b],
            self._on(m.body_parentid[b]),
            joints,
            float(m.body_mass[b]),
            d.xipos[b].copy(),
            R @ np.diag(m.body_inertia[b]) @ R.T,
            self._frame(b),
        )

    def _joint_numbers(self) -> None:
        m, made = self.model, self.description
        odd: list[str] = []
        for j, name in enumerate(self.joints):
            kind, at, dof = self._kind(j), m.jnt_qposadr[j], m.jnt_dofadr[j]
            parts = [f"{name}.{c}" for c in "xyz"] + [name] if kind == "FREE" else [name]
            for part, entry in zip(parts, range(dof, dof + len(parts)), strict=True):
                made.armature[part], made.damping[part] = (
                    float(m.dof_armature[entry]),
                    0.0 if self._off("DAMPER") else float(m.dof_damping[entry]),
                )
            if kind == "FREE":
                made.start |= {
                    f"{name}.{c}": np.array([m.qpos0[at + i]]) for i, c in enumerate("xyz")
                }
                made.start[name] = m.qpos0[at + 3 : at + 7].copy()
            elif kind != "BALL":
                made.start[name] = np.array([m.qpos0[at]])
            if m.dof_frictionloss[dof] > 0 and kind in ("HINGE", "SLIDE"):
                made.frictions[name] = float(m.dof_frictionloss[dof])
            if m.jnt_actfrclimited[j] and kind in ("HINGE", "SLIDE"):
                made.efforts[name] = float(np.min(np.abs(m.jnt_actfrcrange[j])))
            if m.jnt_limited[j] and kind in ("HINGE", "SLIDE"):
                made.ranges[name] = (float(m.jnt_range[j, 0]), float(m.jnt_range[j, 1]))
            if m.jnt_stiffness[j] and not self._off("SPRING"):
                if kind in ("FREE", "BALL"):
                    odd.append(name)
                else:
                    made.stiffness[name], made.rest[name] = (
                        float(m.jnt_stiffness[j]),
                        float(m.qpos_spring[at]),
                    )
        made.leave_out("springs of joints that are no hinge or slide", odd)

    def _keyframes(self) -> None:
        """Add the named configurations."""
        m = self.model
        for k, q in enumerate(m.key_qpos):
            at: dict[str, np.ndarray] = {}
            for j, name in enumerate(self.joints):
                begin, kind = m.jnt_qposadr[j], self._kind(j)
                if kind == "FREE":
                    at |= {f"{name}.{c}": q[begin + i : begin + i + 1] for i, c in enumerate("xyz")}
                    begin += 3
                size = 4 if kind in ("FREE", "BALL") else 1
                at[name] = q[begin : begin + size]
            self.description.keyframes[self._name("KEY", k, "key")] = {
                name: np.array(x) for name, x in at.items()
            }

    # --- constraints

    def _equalities(self) -> None:
        m, made = self.model, self.description
        other, asleep = [], []
        for e in range(m.neq):
            kind = self.mj.mjtEq(m.eq_type[e]).name.removeprefix("mjEQ_")
            taken, name = (
                [*made.loops, *made.couplings],
                self.mj.mj_id2name(m, self.mj.mjtObj.mjOBJ_EQUALITY, e),
            )
            a, b, data = int(m.eq_obj1id[e]), int(m.eq_obj2id[e]), m.eq_data[e]
            if kind in ("CONNECT", "WELD"):
                first, second = self._ends(e, kind, a, b, data)
                name = name or unique(
                    f"{kind.lower()} {first[0] or 'ground'}-{second[0] or 'ground'}", taken
                )
                # a weld whose torque has zero weight constrains positions alone
                free = kind == "WELD" and data[10] == 0
                made.loops[name] = Loop(LOOPS["connect" if free else kind.lower()], first, second)
            elif kind in ("JOINT", "TENDON") and (sums := self._sums(kind, a, b)) is not None:
                what = "-".join(str(x) for x in sums[2])
                name = name or unique(f"{kind.lower()} {what}", taken)
                made.couplings[name] = Coupling(
                    sums[0], sums[1], tuple(float(x) for x in data[:5]), sums[3]
                )
            else:
                other.append(name or f"{kind.lower()} {e}")
                continue
            # Built and then dropped, so that the names of the others do not depend on it.
            if not m.eq_active0[e] or self._off("CONSTRAINT", "EQUALITY"):
                made.loops.pop(name, None)
                made.couplings.pop(name, None)
                asleep.append(name)
        made.leave_out("equality constraints of another kind", other)
        made.leave_out("equality constraints that are switched off", asleep)

    def _ends(self, e: int, kind: str, a: int, b: int, data):
        """The two frames of a connect or weld, on their bodies."""
        m = self.model
        if m.eq_objtype[e] == self.mj.mjtObj.mjOBJ_SITE:
            return tuple(
                (self._on(m.site_bodyid[s]), of_quaternion(m.site_pos[s], m.site_quat[s]))
                for s in (a, b)
            )
        if kind == "CONNECT":
            frames = [of_quaternion(data[i : i + 3], [1.0, 0.0, 0.0, 0.0]) for i in (0, 3)]
        else:
            # one position in the first body and in the second one, and the orientation of the
            # second body relative to the first
            frames = [
                of_quaternion(data[3:6], data[6:10]),
                of_quaternion(data[:3], [1.0, 0.0, 0.0, 0.0]),
            ]
        return (self._on(a), frames[0]), (self._on(b), frames[1])

    def _sums(self, kind: str, a: int, b: int):
        """Weights, names and values at the reference configuration of the two sides of a coupling.

        None if a tendon is not a sum of joints.
        """
        m, sides, names, rest = self.model, [], [], []
        for i in (a, b):
            if i < 0:
                sides.append({})
                rest.append(0.0)
                continue
            weights = {self.joints[i]: 1.0} if kind == "JOINT" else self._fixed_tendon(i)
            if weights is None:
                return None
            sides.append(weights)
            names.append(self.joints[i] if kind == "JOINT" else self._name("TENDON", i, "tendon"))
            rest.append(
                sum(
                    w * float(m.qpos0[m.jnt_qposadr[self.joints.index(j)]])
                    for j, w in weights.items()
                )
            )
        return sides[0], sides[1], names, tuple(rest)

    def _fixed_tendon(self, tendon: int) -> dict[str, float] | None:
        m = self.model
        wraps = range(m.tendon_adr[tendon], m.tendon_adr[tendon] + m.tendon_num[tendon])
        if any(m.wrap_type[w] != self.mj.mjtWrap.mjWRAP_JOINT for w in wraps):
            return None
        return {self.joints[m.wrap_objid[w]]: float(m.wrap_prm[w]) for w in wraps}
