"""Content of a compiled MJCF model that a robot omits: listed by name, never dropped silently."""

from __future__ import annotations

from collections.abc import Iterable
from types import ModuleType
from typing import Any

import numpy as np

from zwang.robots.description import CONTACTS, FRICTION, LIMITS, Description


def name_of(mj: ModuleType, model: Any, kind: str, i: int, default: str) -> str:
    """The name of a part, which may be unnamed in its file."""
    return mj.mj_id2name(model, getattr(mj.mjtObj, f"mjOBJ_{kind}"), i) or (
        default if i == 0 else f"{default} {i}"
    )


def disabled(mj: ModuleType, m: Any, *flags: str) -> bool:
    """Return whether the file disables any of some parts of MuJoCo's computation."""
    bits = [getattr(mj.mjtDisableBit, f"mjDSBL_{flag}") for flag in flags]
    return any(int(m.opt.disableflags) & int(bit) for bit in bits)


def actuators(m: Any) -> list[tuple[slice, slice]]:
    """Indices of each actuator's controls and of its forces, one of each before MuJoCo 4."""
    if not hasattr(m, "nactuator"):
        return [(slice(i, i + 1), slice(i, i + 1)) for i in range(m.nu)]
    return [
        (slice(a, a + n), slice(b, b + k))
        for a, n, b, k in zip(
            m.actuator_ctrladr,
            m.actuator_ctrlnum,
            m.actuator_outadr,
            m.actuator_outnum,
            strict=True,
        )
    ]


def list_left_out(
    mj: ModuleType, m: Any, bodies: list[str], joints: list[str], made: Description
) -> None:
    """List the parts without a counterpart, by name.

    Args:
        mj: the module mujoco.
        m: the compiled model.
        bodies, joints: their names.
        made: the description that lists them.
    """

    def named(names: list[str], values: Iterable) -> list[str]:
        return [n for n, x in zip(names, values, strict=True) if np.any(x)]

    def of(kind: str, count: int) -> list[str]:
        return [name_of(mj, m, kind.upper(), i, kind) for i in range(count)]

    dofs, tendons = [joints[j] for j in m.dof_jntid], of("tendon", m.ntendon)
    motors = of("actuator", len(actuators(m)))
    made.leave_out(
        CONTACTS,
        [
            bodies[m.geom_bodyid[g]]
            for g in range(m.ngeom)
            if m.geom_contype[g] or m.geom_conaffinity[g]
        ],
    )
    pairs = [
        mj.mj_id2name(m, mj.mjtObj.mjOBJ_PAIR, i)
        or "-".join(name_of(mj, m, "GEOM", int(x), "geom") for x in ends)
        for i, ends in enumerate(zip(m.pair_geom1, m.pair_geom2, strict=True))
    ]
    made.leave_out("contacts by pair", pairs)
    made.leave_out(LIMITS, named(joints, m.jnt_limited))
    made.leave_out("limits of the force at joints", named(joints, m.jnt_actfrclimited))
    made.leave_out(FRICTION, named(dofs, m.dof_frictionloss))
    made.leave_out(
        "springs and dampers of joints that are not linear",
        named(joints, m.jnt_stiffnesspoly) + named(dofs, m.dof_dampingpoly),
    )
    made.leave_out(
        "springs that yield",
        # version 3 has neither these fields nor such springs
        named(joints, getattr(m, "jnt_springyield", np.zeros(m.njnt)))
        + named(tendons, getattr(m, "tendon_springyield", np.zeros(m.ntendon))),
    )
    made.leave_out("limits of tendons", named(tendons, m.tendon_limited))
    made.leave_out("limits of the force at tendons", named(tendons, m.tendon_actfrclimited))
    made.leave_out("dry friction in tendons", named(tendons, m.tendon_frictionloss))
    springs = np.abs(m.tendon_stiffness) + np.abs(m.tendon_damping) + np.abs(m.tendon_armature)
    made.leave_out(
        "springs, dampers and inertia of tendons",
        named(tendons, springs)
        + named(tendons, m.tendon_stiffnesspoly)
        + named(tendons, m.tendon_dampingpoly),
    )
    made.leave_out(
        "inertia and damping of actuators",
        named(motors, m.actuator_armature)
        + named(motors, m.actuator_damping)
        + named(motors, m.actuator_dampingpoly),
    )
    made.leave_out("delays of actuators", named(motors, m.actuator_delay))
    made.leave_out("compensation of gravity", named(bodies, m.body_gravcomp))
    made.leave_out("bodies moved from outside (mocap)", named(bodies, m.body_mocapid >= 0))
    made.leave_out(
        "forces of a surrounding medium",
        ["density or viscosity"] if m.opt.density or m.opt.viscosity else [],
    )
    made.leave_out("deformable bodies", of("flex", m.nflex))
    made.leave_out("plugins", of("plugin", m.nplugin))
    keys = of("key", m.nkey)
    made.leave_out(
        "velocities, controls and forces of configurations",
        named(keys, m.key_qvel) + named(keys, m.key_ctrl) + named(keys, m.key_act),
    )
