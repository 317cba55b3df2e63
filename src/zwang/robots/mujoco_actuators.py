"""Actuators of a compiled MuJoCo model: generalized forces per unit of an actuator's force."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from zwang.robots.description import Description, unique
from zwang.robots.mujoco_omissions import actuators, disabled, name_of


def add_actuators(
    mj: ModuleType,
    m: Any,
    joints: list[str],
    weights: Callable[[int], dict | None],
    made: Description,
) -> None:
    """Add the actuators that act along joints, and list the attributes that are not modeled.

    The control is the actuator's force here; laws that make a force from a signal are listed.

    Args:
        mj: the module mujoco.
        m: the compiled model.
        joints: their names.
        weights: of joints in a tendon, by its number; None if it is not a sum of joints.
        made: the description to be extended.
    """
    other, laws, dynamics, limited, asleep = [], [], [], [], []
    for i, (controls, outputs) in enumerate(actuators(m)):
        name = unique(name_of(mj, m, "ACTUATOR", i, "actuator"), made.actuators)
        group = int(m.actuator_group[i])
        if disabled(mj, m, "ACTUATION") or (int(m.opt.disableactuator) >> group) & 1:
            asleep.append(name)
            continue
        gear = m.actuator_gear[outputs]
        column = _column(mj, m, i, gear[0], joints, weights) if len(gear) == 1 else None
        if column is None:
            other.append(name)
            continue
        made.actuators[name] = column
        if _has_law(mj, m, i):
            laws.append(name)
        if mj.mjtDyn(m.actuator_dyntype[i]).name != "mjDYN_NONE":
            dynamics.append(name)
        if m.actuator_forcelimited[i] or np.any(m.actuator_ctrllimited[controls]):
            limited.append(name)
    made.leave_out("actuators that are switched off", asleep)
    made.leave_out("actuators that pull at neither a joint nor a tendon of joints", other)
    made.leave_out(
        "control laws of actuators (gain and bias; a control here is the actuator's force)", laws
    )
    made.leave_out("internal dynamics of actuators", dynamics)
    made.leave_out("ranges of actuators", limited)


def _has_law(mj: ModuleType, m: Any, i: int) -> bool:
    gain = mj.mjtGain(m.actuator_gaintype[i]).name.removeprefix("mjGAIN_")
    bias = mj.mjtBias(m.actuator_biastype[i]).name.removeprefix("mjBIAS_")
    biased = bias != "NONE" and bool(np.any(m.actuator_biasprm[i]))
    straight = gain == "FIXED" and m.actuator_gainprm[i, 0] == 1.0
    return not straight or biased or int(m.actuator_plugin[i]) >= 0


def _column(mj: ModuleType, m: Any, i: int, gear, joints: list[str], weights) -> dict | None:
    target = m.actuator_trnid[i][0]
    kind = mj.mjtTrn(m.actuator_trntype[i]).name.removeprefix("mjTRN_")
    if kind == "TENDON":
        sums = weights(target)
        return None if sums is None else {j: np.array([w * gear[0]]) for j, w in sums.items()}
    if kind not in ("JOINT", "JOINTINPARENT"):
        return None
    name = joints[target]
    joint = mj.mjtJoint(m.jnt_type[target]).name.removeprefix("mjJNT_")
    if joint in ("HINGE", "SLIDE"):
        return {name: gear[:1].copy()}
    if kind == "JOINTINPARENT":
        return None  # its axes move relative to the velocities: not a constant column
    if joint == "BALL":
        return {name: gear[:3].copy()}
    return {
        **{f"{name}.{c}": gear[k : k + 1].copy() for k, c in enumerate("xyz")},
        name: gear[3:6].copy(),
    }
