"""Projection of a start onto its constraints, and the scales of a motion, inside a compiled
program.

`zw.simulate` computes both on the host (`zwang.dynamics.placement`).
"""

from __future__ import annotations

import dataclasses
import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from zwang.algebra.judgement import ABSENT, row_scale
from zwang.algebra.mass_matrix import AbstractMass, Matrix
from zwang.compile.hints import for_any_member, over_rows
from zwang.dynamics import functions
from zwang.dynamics.drift import Projection
from zwang.dynamics.equation_of_motion import Dynamics, Scales
from zwang.dynamics.number_range import (
    changes_as_expected,
    out_of_range,
    probes,
    round_off_of_kin,
    row_sizes,
    too_large,
)
from zwang.dynamics.scales import (
    NEIGHBOURS,
    UNTYPICAL,
    are_typical,
    beside,
    directions_of,
    extent_of,
    neighbourhood,
    scales_of,
    size_of,
    tangent_of,
)
from zwang.equations.state import State
from zwang.inputs.arrays import select, without_derivative
from zwang.simulation.differentiable import corrected, position_violation
from zwang.thresholds import AGREEMENT, ALL_BUT_ZERO, SHORT_WAY

TANGENT = 6
"""Number of random directions of motion on whose pairs the quadratic form of a vanishing row is
evaluated.
"""


def placed(
    dynamics: Dynamics, given: State, target: Float[Array, ""]
) -> tuple[State, Float[Array, ""]]:
    """Return the start projected onto its constraints, and its violation before: the larger one of
    position and of velocity relative to the speed.
    """
    if not dynamics.constraints.m:
        return given, jnp.zeros(())
    fixed, at = without_derivative(dynamics), without_derivative(given)
    A = fixed.matrix(at)
    moving = fixed.gauss(fixed.mass(at, A), A, fixed.constraints.velocity_rows)
    slip, speed = (
        jnp.linalg.norm(moving.scale * fixed.velocity_residual(at)),
        moving.mass.size(at.v),
    )
    before = jnp.maximum(
        position_violation(fixed, at),
        jnp.where(slip > 0, slip / jnp.maximum(speed, 1e-300), 0.0),
    )
    # a start has no integration error that would have to be projected
    nothing = (jnp.zeros_like(at.q), jnp.zeros_like(at.v))
    found = Projection().project_step(fixed, at, nothing, target).state
    s = State(
        given.q + without_derivative(found.q - given.q),
        given.v + without_derivative(found.v - given.v),
        given.t,
    )
    return corrected(dynamics, s), before


class Measured(NamedTuple):
    """Properties of a start as given.

    Attributes:
        scales: typical row lengths and curvature.
        massive: whether M, or `M + AᵀDA` where it may be singular, is positive definite.
        beyond: whether masses, rows, coordinates, velocities or forces have sizes with which
            float64 cannot compute; `zwang.dynamics.number_range` names them.
    """

    scales: Scales
    massive: Bool[Array, ""]
    beyond: Bool[Array, ""]


class _Place(NamedTuple):
    """Measurements at a state or at one of its neighbours; `curved` and `far` are used at the state
    only.

    Attributes:
        A, mass: evaluated there.
        length: of the rows, shape (m,).
        curved: `wᵀHᵢw` of the directions, shape (8, m).
        extent: of the motion.
        far: whether the neighbours are taken into account.
    """

    A: Matrix
    mass: AbstractMass
    length: Float[Array, " m"]
    curved: Float[Array, "eight m"]
    extent: Float[Array, ""]
    far: Bool[Array, ""]


def measured(dynamics: Dynamics, s: State, span: Float[Array, ""]) -> Measured:
    """Compute `zwang.dynamics.scales.measure` inside a program. The state and its neighbours are
    iterations of one loop, so that the model's functions are compiled once for all of them.
    """
    force = functions.force(dynamics.system, s.q, s.v, s.t, dynamics.p)
    look = functools.partial(_looked, dynamics, s, span, force)
    _, places = jax.lax.scan(look, jnp.zeros_like(s.v), jnp.asarray(NEIGHBOURS, float))
    here = jax.tree_util.tree_map(lambda x: x[0], places)
    diagonal = here.mass.diag()
    beyond = out_of_range(jnp, row_sizes(jnp, here.A, diagonal), diagonal)
    beyond = beyond | too_large(jnp, s.q, s.v, force)
    scales = scales_of(jnp, here.length, here.curved, here.extent)
    if dynamics.constraints.m:
        typical, residual = beside(jnp, places.length)
        nearby = scales_of(jnp, typical, here.curved, here.extent)

        def reached(place: _Place) -> Float[Array, ""]:
            change = _with_lengths(dynamics, typical).gauss(place.mass, place.A).correct(residual)
            return place.mass.size(change)

        reach = jax.lax.map(reached, places)
        taken = here.far & are_typical(jnp, nearby, scales, places.length, reach)
        scales = select(taken, nearby, scales)
        scales = dataclasses.replace(
            scales, row_length=_of_typical_length(dynamics, s, here.A, scales.row_length)
        )
    return Measured(scales, here.mass.is_positive(), beyond)


def _looked(dynamics: Dynamics, s: State, span, force, dq, sign) -> tuple[Array, _Place]:
    """Take one iteration of the loop of `measured`: the step to the neighbours, and the
    measurements at one place.
    """
    q = jnp.where(sign == 0, s.q, dynamics.move(s, sign * dq))
    s = State(q, s.v, s.t)
    A = dynamics.matrix(s)
    mass = dynamics.mass(s, A)
    m, length, unit = len(A), mass.row_lengths(A), jnp.sqrt(jnp.mean(abs(mass.diag())))
    place = mass.size(s.q) if len(s.q) == len(s.v) else size_of(jnp, s.q, unit)
    free = mass.size(mass.solve(force))
    extent = extent_of(jnp, place, mass.size(s.v), free, unit, span)
    w = over_rows(mass.unweigh)(jnp.asarray(directions_of(dynamics.system.nv)))
    weighted = _with_lengths(dynamics, length).gauss(mass, A)
    along = tangent_of(jnp, mass.size, weighted.tangent(w[0]), m)
    asked = jnp.concatenate([w, along[None]])
    b = over_rows(lambda v: dynamics.rhs(State(s.q, v, s.t)))
    found = b(jnp.concatenate([asked, -asked, 0 * w[:1]]))
    curved = 0.5 * (found[: len(asked)] + found[len(asked) : -1]) - found[-1]
    step = neighbourhood(jnp, mass.size(weighted.correct(curved[-1])), m, extent)
    scales = scales_of(jnp, length, curved[:-1], extent)
    far = step * scales.curvature > UNTYPICAL
    dq = jnp.where(sign == 0, step * along, dq)
    return dq, _Place(A, mass, length, curved[:-1], extent, far)


def _with_lengths(dynamics: Dynamics, length: Float[Array, " m"]) -> Dynamics:
    """Return the dynamics with rows of these lengths."""
    return dataclasses.replace(dynamics, scales=Scales(length, jnp.zeros(()), jnp.zeros(())))


def judged(dynamics: Dynamics, s: State) -> tuple[Bool[Array, ""], Bool[Array, ""]]:
    """Return two checks of a start. The first: a row that vanishes there is a squared constraint or
    an isolated point, because its second-order form has one sign on the motions that the other rows
    allow (`zwang.dynamics.consistency`). The second: the start is at rest with an acceleration that
    no motion has (`zwang.dynamics.leaving`); it is omitted if a control law or a drive acts.

    The form is evaluated on the planes of `TANGENT` directions, which is decisive where the other
    rows leave two directions of motion or fewer. A form with one sign on every plane, but two signs
    between them, is taken to have one sign; `zw.simulate` examines the whole form.
    """
    c, no = dynamics.constraints, jnp.asarray(False)
    if not len(c.velocity_rows):
        return no, no
    assert dynamics.scales is not None
    A = dynamics.matrix(s)
    mass = dynamics.mass(s, A)
    length, typical = mass.row_lengths(A), dynamics.scales.row_length
    gone = ~(row_scale(jnp, length, typical) > 0)[c.velocity_rows]
    square = lambda x: jnp.abs(x @ mass.apply(x))
    free = mass.solve(functions.force(dynamics.system, s.q, s.v, s.t, dynamics.p))
    pushed = jnp.sqrt(square(free))
    slow = (pushed > 0) & (0.5 * square(s.v) <= pushed * SHORT_WAY / dynamics.scales.inverse_length)

    def looked_at() -> tuple[Bool[Array, ""], Bool[Array, ""]]:
        drawn = jnp.asarray(np.random.default_rng(1829).standard_normal((TANGENT, len(s.v))))
        drawn = over_rows(mass.unweigh)(drawn)
        weighted = dynamics.gauss(mass, A)
        *tangent, w = over_rows(weighted.tangent)(jnp.concatenate([drawn, free[None]]))
        tangent = jnp.stack(tangent)
        i, j = np.triu_indices(TANGENT, 1)
        asked = jnp.concatenate([drawn, tangent, tangent[i] + tangent[j], w[None]])
        b = over_rows(lambda v: dynamics.rhs(State(s.q, v, s.t))[c.velocity_rows])
        still = b(0 * asked[:1])
        form = still - 0.5 * (b(asked) + b(-asked))
        size, single, both = jnp.split(form[:-1], [TANGENT, 2 * TANGENT])
        mixed = 0.5 * (both - single[i] - single[j])
        small = AGREEMENT * jnp.max(jnp.abs(size), axis=0)
        present = jnp.max(jnp.abs(single), axis=0) > small
        two_signs = jnp.any(single > small, axis=0) & jnp.any(single < -small, axis=0)
        saddle = jnp.any(single[i] * single[j] - mixed**2 < -small * jnp.abs(size).max(0), axis=0)
        # the acceleration of a driven start has a part that no form shows
        driven = jnp.any(jnp.abs(still) > ALL_BUT_ZERO * pushed * length[c.velocity_rows])
        typical = jnp.max(jnp.abs(size), axis=0) * square(w) / jnp.mean(jax.vmap(square)(drawn))
        r = jnp.zeros(c.m).at[c.velocity_rows].set(form[-1])
        left = (weighted.units() * (r - A @ weighted.correct(r)))[c.velocity_rows]
        beside = ALL_BUT_ZERO * jnp.max(weighted.units()[c.velocity_rows] * typical)
        between = slow & ~driven & (jnp.max(jnp.abs(left)) > beside)
        return jnp.any(gone & present & ~two_signs & ~saddle), between

    # in a batch it is computed only if any member has such a row, or is at rest
    return jax.lax.cond(for_any_member(jnp.any(gone) | slow), looked_at, lambda: (no, no))


def _of_typical_length(dynamics: Dynamics, s: State, A, length) -> Float[Array, " m"]:
    """Compute `zwang.dynamics.number_range.of_typical_length` inside a program."""
    short = (length > 0) & ~(length > ABSENT * jnp.max(length))
    kin = round_off_of_kin(jnp, dynamics.constraints, A)
    keep = lambda: jnp.where(short & ~_acts(dynamics, s, A), 0.0, length)
    return jnp.where(kin, 0.0, jax.lax.cond(for_any_member(jnp.any(short)), keep, lambda: length))


def _acts(dynamics: Dynamics, s: State, A) -> Bool[Array, " m"]:
    """Return which rows have a gradient that agrees with the change of their residual
    (`zwang.dynamics.number_range.acting_rows`).
    """
    c = dynamics.constraints
    steps = jnp.asarray(probes(dynamics.system.nv))
    flat = steps.reshape(-1, dynamics.system.nv)
    moved = over_rows(lambda d: dynamics.position_residual(State(dynamics.move(s, d), s.v, s.t)))
    pushed = over_rows(lambda d: dynamics.velocity_residual(State(s.q, s.v + d, s.t)))
    change = jnp.zeros((len(flat), c.m))
    change = change.at[:, c.velocity_rows].set(pushed(flat) - dynamics.velocity_residual(s))
    # ψ of a position row is linear in v even where its gradient is round-off
    change = change.at[:, c.position_rows].set(moved(flat) - dynamics.position_residual(s))
    expected = over_rows(lambda d: A @ d)(flat)
    return changes_as_expected(jnp, c, A, change, expected)
