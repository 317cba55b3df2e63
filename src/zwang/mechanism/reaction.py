"""What a joint transmits: force and torque on its second body, at its second point, in the axes of its first point.

f = R_aᵀ F_b,    τ = R_aᵀ (τ_b − (r − r_b) × F_b)        from the joint's share (F_b, τ_b) of the constraint force
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np

from zwang.bodies.rotation import rotation_matrix
from zwang.mechanism.joints import KINDS
from zwang.mechanism.mechanism import Mechanism
from zwang.mechanism.pairs import frames
from zwang.mechanism.parts import PartError
from zwang.mechanism.rows import RATES

if TYPE_CHECKING:
    from zwang.run import Run


@dataclasses.dataclass(frozen=True)
class Reaction:
    """Force [N], shape (..., d), and torque [N·m], a number (...) in the plane or (..., 3), of a joint in its own axes."""

    force: np.ndarray
    torque: np.ndarray


def reaction(mechanism: Mechanism, q, by_constraint, joint: str) -> Reaction:
    """What a joint, or a drive at it, exerts on its second body; on its first one it exerts the opposite.

    Of redundant joints the shares are those of least norm. A joint that couples two others reports what it exerts at the first one.

    Args:
        mechanism: the mechanism.
        q: coordinates, shape (..., nq).
        by_constraint: generalized force of each constraint by name, shape (..., nv): `zw.motion(...).by_constraint`, or of a run
            `run.dataset["constraint_force"].sel(constraint=name)`.
        joint: name of the joint or drive.

    Raises:
        PartError: if there is no such joint, or the mechanism is in joint coordinates, in which what carries a body has no share:
            take `mechanism.maximal` at `mechanism.body_state(q, v)`.
    """
    if mechanism.coordinates == "joint":
        raise PartError(
            (),
            f"{mechanism.name} is in joint coordinates, which hold no forces of joints; take mechanism.maximal at body_state(q, v).",
        )
    layout, d = mechanism.layout, mechanism.d
    ends = mechanism.ends(joint)
    names = [n for n in (joint, joint + RATES) if n in mechanism.model.constraints.names]
    share = sum(np.asarray(by_constraint[n], float) for n in names)
    q = np.asarray(q, float)
    shape, q, share = q.shape[:-1], q.reshape(-1, q.shape[-1]), np.reshape(share, (-1, np.shape(share)[-1]))
    carried = layout.carrier[ends.b] < len(layout.bodies)
    body, sign = (layout.carrier[ends.b], 1.0) if carried else (layout.carrier[ends.a], -1.0)
    own = sign * share.reshape(len(q), len(layout.bodies), -1)[:, body]
    at = jax.vmap(lambda q: frames(q, mechanism.params, layout.carrier))(q)
    arm = np.asarray(at.place)[:, ends.b] - q.reshape(len(q), len(layout.bodies), -1)[:, body, :d]
    attitude = np.asarray(at.attitude)[:, ends.a]
    if d == 2:
        c, s = np.cos(attitude), np.sin(attitude)
        force = np.stack([c * own[:, 0] + s * own[:, 1], c * own[:, 1] - s * own[:, 0]], axis=1)
        torque = own[:, 2] - (arm[:, 0] * own[:, 1] - arm[:, 1] * own[:, 0])
        return Reaction(force.reshape(*shape, 2), torque.reshape(shape))
    turned = np.asarray(rotation_matrix(jnp.asarray(q).reshape(len(q), -1, 7)[:, body, 3:]))
    torque = np.einsum("nij,nj->ni", turned, own[:, 3:]) - np.cross(arm, own[:, :3])
    back = np.swapaxes(attitude, 1, 2)
    force, torque = (np.einsum("nij,nj->ni", back, x).reshape(*shape, 3) for x in (own[:, :3], torque))
    return Reaction(force, torque)


def reactions(mechanism: Mechanism, run: Run) -> dict[str, Reaction]:
    """`reaction` of every joint between two bodies, and of every drive, at the samples of a run."""
    data = run.dataset["constraint_force"]
    shares = {str(name): data.sel(constraint=name).values for name in data["constraint"].values}
    joints = [name for name, joint in mechanism.joints.items() if not KINDS[joint.kind].couples]
    return {name: reaction(mechanism, run.q, shares, name) for name in (*joints, *mechanism.drives)}
