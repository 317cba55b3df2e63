"""All quantities at one instant of a run, as arrays."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from zwang.algebra.judgement import relative_error, row_scale
from zwang.compile.blocks import mapped
from zwang.dynamics import functions
from zwang.dynamics.control_law import AbstractControlLaw, Control
from zwang.dynamics.motion import Motion, motion_of
from zwang.dynamics.vector_field import ConstrainedVectorField
from zwang.equations.state import State
from zwang.errors import ModelError, Result
from zwang.objects.record import Record
from zwang.thresholds import AGREEMENT


class Observation(Record):
    """Quantities at one instant.

    Attributes:
        motion: acceleration, forces, rank, residual; without the matrix.
        phi, psi: residuals, shape (m,), 0 in rows without one.
        relative: φ at rows of unit length times curvature [dimensionless], shape (m,).
        kinetic, potential: energy [J].
        applied_power: power of all forces that are not derived from the potential, `v·F + ½ vᵀṀv +
            V̇` [W].
        constraint_power: power of ideal constraint forces, v·Q_c [W]; nonzero for moving
            constraints only.
        nonideal_power: power of nonideal constraint forces [W].
        control_power: power of the actuators, v·B u [W].
        control: u and its diagnosis; None without a control law.
    """

    motion: Motion
    phi: Float[Array, " m"]
    psi: Float[Array, " m"]
    relative: Float[Array, " m"]
    kinetic: Float[Array, ""]
    potential: Float[Array, ""]
    applied_power: Float[Array, ""]
    constraint_power: Float[Array, ""]
    nonideal_power: Float[Array, ""]
    control_power: Float[Array, ""]
    control: Control | None


def observe(flow: ConstrainedVectorField, s: State, stage: Float[Array, " nv"]) -> Observation:
    """Evaluate one instant of a run, with the forces that acted in it, including a stabilization's
    term.

    Args:
        flow, s: the motion and its state.
        stage: v̇ as a stage of the run computes it there. The accuracy of the motion is that of its
            stages, which the method of the run solves; the sample itself is solved up to round-off.
    """
    dynamics = flow.dynamics
    c, system, p = dynamics.constraints, dynamics.system, dynamics.p
    phi = jnp.zeros(c.m).at[c.position_rows].set(dynamics.position_residual(s))
    psi = jnp.zeros(c.m).at[c.velocity_rows].set(dynamics.velocity_residual(s))
    scales = dynamics.scales
    assert scales is not None
    # Loads of friction depend on how dependent rows share a force, in stages by typical lengths.
    if not dynamics.rough:
        dynamics = dynamics.by_own_lengths(s)
    stabilization = flow.drift.term(dynamics, s)
    law = dynamics.law
    control = None
    if law is not None:
        assert isinstance(law, AbstractControlLaw)
        control = law.control(dynamics.passive, s, stabilization)
    actuators = 0.0 if control is None else control.actuator_force
    motion = motion_of(dynamics.passive, s, stabilization, actuators, scales)
    if c.m:
        mass = dynamics.mass(s, dynamics.matrix(s))
        sizes = mass.size(motion.acceleration), mass.size(motion.free_acceleration)
        apart = relative_error(jnp, mass.size(stage - motion.acceleration), *sizes)
        motion = dataclasses.replace(motion, accuracy=jnp.maximum(motion.accuracy, apart))
    kinetic, potential = system.energy(s.q, s.v, s.t, p)
    along = (system.rate(s.q, s.v, s.t, p), jnp.ones_like(s.t))
    drift = jax.jvp(lambda q, t: sum(system.energy(q, s.v, t, p)), (s.q, s.t), along)[1]
    force, moving = functions.force(system, s.q, s.v, s.t, p), system.mechanical(s.v)
    # the matrix is large, and follows from q, v and t
    motion = dataclasses.replace(motion, matrix=jnp.zeros((0, 0)))
    return Observation(
        motion,
        phi,
        psi,
        phi * row_scale(jnp, scales.row_length, scales.row_length) * scales.inverse_length,
        kinetic,
        potential,
        moving @ force + drift,
        moving @ motion.ideal_force,
        moving @ motion.nonideal_force,
        jnp.zeros(()) if control is None else moving @ control.actuator_force,
        control,
    )


def rate_of_stage(flow: ConstrainedVectorField, t, y, applied) -> Float[Array, " n"]:
    """Return ẏ as a stage of the run computes it, with the sampled control or modes."""
    return flow.with_input(applied).rate(t, y)


def _observed(flow: ConstrainedVectorField, q, v, t, applied, stage) -> Observation:
    return observe(flow.with_input(applied), State(q, v, t), stage)


def observe_all(
    flow: ConstrainedVectorField, t: np.ndarray, q: np.ndarray, v: np.ndarray, applied: np.ndarray
) -> Observation:
    """Evaluate many instants, with the sampled control or modes; every leaf gets a leading time
    axis.
    """
    rates = mapped(rate_of_stage, (flow,), t, np.concatenate([q, v], axis=1), applied)
    return mapped(_observed, (flow,), q, v, t, applied, rates[:, q.shape[1] :])


def _missed(flow: ConstrainedVectorField, t, y) -> Float[Array, ""]:
    return flow.missed(t, y)


def refuse_missed(flow: ConstrainedVectorField, t: np.ndarray, y: np.ndarray) -> None:
    """Raise if a constraint depends on velocities that were absent when its sparsity was
    determined; every step is checked.
    """
    if not flow.dynamics.structure.sparse or not len(t):
        return
    bad = ~(mapped(_missed, (flow,), t, y) <= AGREEMENT) & np.all(np.isfinite(y), axis=1)
    if np.any(bad):
        raise ModelError(f"at t = {t[bad][0]:.6g} s {Result.OUTSIDE_STRUCTURE.sentence}.")
