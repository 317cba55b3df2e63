"""States between the steps of a run."""

from __future__ import annotations

import dataclasses
from functools import cached_property

import jax
import jax.numpy as jnp
import numpy as np

from zwang.algebra.elimination.matrix import SparseMatrix
from zwang.algebra.judgement import row_scale
from zwang.algebra.metric import metric_of, rows_of
from zwang.algebra.singular import AbstractRows, DenseRows, SparseRows
from zwang.compile.blocks import mapped
from zwang.dynamics.evaluation import evaluate
from zwang.dynamics.sparse_structure import Structure
from zwang.dynamics.vector_field import ConstrainedVectorField
from zwang.equations.state import host_state
from zwang.simulation.results.observe import rate_of_stage
from zwang.stepping import AbstractIntegrator

STENCIL = 4
"""Number of steps of one polynomial; with their rates it has degree 7, that of the steps of the
default integrator."""


class Interpolant:
    """A polynomial through four steps and their rates, projected onto the constraints.

    Args:
        flow: the motion.
        t: accepted steps [s], shape (steps,).
        y: (q, v) there, shape (steps, n).
        applied: sampled control or modes of switches from each step on, shape (steps, k). No
            polynomial crosses a jump of them: a state after a step is then computed by a shorter
            step of the same `integrator`.
    """

    def __init__(
        self,
        flow: ConstrainedVectorField,
        t: np.ndarray,
        y: np.ndarray,
        applied: np.ndarray,
        integrator,
    ):
        self.flow, self.t, self.y, self.applied, self.integrator = flow, t, y, applied, integrator
        self._rates = np.full_like(y, np.nan)
        self._known = np.zeros(len(t), bool)

    def __call__(self, times: np.ndarray) -> np.ndarray:
        """Return the states (k, n) at times within the run (k,)."""
        guess, on_step, held = self._guessed(times)
        return np.where(on_step[:, None], guess, self._between(times, guess, held)[0])

    def near(self, times: np.ndarray) -> np.ndarray:
        """Return the states (k, n) of the polynomial, without projection."""
        return self._guessed(times)[0]

    def rows(self, times: np.ndarray, glance: bool = False) -> AbstractRows:
        """Return the rows at unit length in the metric of M⁻¹ at times within the run (k,). With
        `glance` and few times they are those of the unprojected polynomial, which violates the
        constraints by about the tolerance of the run.
        """
        guess, _, held = self._guessed(times)
        rows = self._between(times, guess, held, on_constraints=not glance)[1]
        structure = self.flow.dynamics.structure
        return (
            SparseRows(rows, structure.layout)
            if isinstance(structure, Structure)
            else DenseRows(rows)
        )

    def _between(self, times, guess, held, on_constraints: bool = True) -> tuple:
        """Return states on the constraints, and rows at unit length there."""
        # an error of zero is an argument, so that the projection is the code of the run's steps
        none = np.zeros(self.y.shape[1])
        fixed = self.flow, self._usual_lengths, np.asarray(on_constraints), none
        return mapped(_between, fixed, times, guess, held)

    def _guessed(self, times: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return states before their projection, which of them are those of steps, and the control
        or modes.
        """
        last = np.searchsorted(self.t, times, side="right") - 1
        on_step, held = self.t[last] == times, self.applied[last]
        guess = np.where(on_step[:, None], self.y[last], 0.0)
        if held.shape[1]:
            given = self.t[last], self.y[last], held, times - self.t[last]
            reached = mapped(_stepped, (self.flow, self.integrator), *given)
            guess = np.where(on_step[:, None], guess, reached)
        else:
            guess = self._through_steps(times, guess, on_step, last + 1)
        return guess, on_step, held

    @cached_property
    def _usual_lengths(self) -> np.ndarray:
        """Return the lengths of rows along the run: the typical ones of its start, or those of a
        few of its steps where they are longer, shape (m,). A much shorter row vanishes.
        """
        dynamics, nq = self.flow.dynamics, self.flow.dynamics.system.nq
        assert dynamics.scales is not None
        usual = np.asarray(dynamics.scales.row_length)
        # along a motion the length of a row changes little or vanishes
        for i in np.unique(np.linspace(0, len(self.t) - 1, 5).astype(int)):
            at = evaluate(dynamics, host_state(self.y[i, :nq], self.y[i, nq:], self.t[i]))
            usual = np.fmax(
                usual, metric_of(at.M, at.A, dynamics.singular_mass).lengths(rows_of(at.A))
            )
        return usual

    def rates(self, steps: np.ndarray) -> np.ndarray:
        """Return ẏ at steps given by their indices, shape (k, n), with the control or modes from
        each on.
        """
        given = (x[steps] for x in (self.t, self.y, self.applied))
        return mapped(rate_of_stage, (self.flow,), *given)

    def _through_steps(self, times, guess, on_step, after) -> np.ndarray:
        """Return `guess` with the times between steps filled in."""
        between = np.flatnonzero(~on_step)
        first = np.clip(after[between] - STENCIL // 2, 0, max(len(self.t) - STENCIL, 0))
        near = first[:, None] + np.arange(min(STENCIL, len(self.t)))
        wanted = np.unique(near)
        if len(wanted := wanted[~self._known[wanted]]):
            self._rates[wanted] = self.rates(wanted)
            self._known[wanted] = True
        if len(between):
            guess[between] = hermite(self.t[near], self.y[near], self._rates[near], times[between])
        return guess


def hermite(nodes, values, rates, at) -> np.ndarray:
    """Return polynomials with given values and rates at their nodes, each at one place, by Newton's
    divided differences.

    Args:
        nodes: increasing, shape (k, steps).
        values, rates: shapes (k, steps, n).
        at: shape (k,).
    """
    z = np.repeat(nodes, 2, axis=1)
    table, diagonal = np.repeat(values, 2, axis=1), [values[:, 0]]
    for order in range(1, z.shape[1]):
        gap = (z[:, order:] - z[:, :-order])[..., None]
        table = np.diff(table, axis=1) / np.where(gap > 0, gap, 1.0)
        if order == 1:
            table[:, ::2] = rates
        diagonal.append(table[:, 0])
    total = diagonal[-1]
    for order in range(z.shape[1] - 2, -1, -1):
        total = diagonal[order] + (at - z[:, order])[:, None] * total
    return total


def _stepped(flow: ConstrainedVectorField, integrator: AbstractIntegrator, t, y, applied, h):
    return integrator.step(flow.with_input(applied), t, y, h, jnp.ones_like(y)).y


def _between(flow: ConstrainedVectorField, usual, on_constraints, error, t, y, applied):
    held = flow.with_input(applied)
    dynamics, scales = held.dynamics, held.dynamics.scales
    assert scales is not None

    def rows(A, mass):
        # their own length, or the usual one for a shorter row, which is about to vanish
        length = jnp.maximum(mass.row_lengths(A), usual)
        if isinstance(A, SparseMatrix):
            scaled = dataclasses.replace(scales, row_length=length)
            unit = dataclasses.replace(dynamics, scales=scaled).gauss(mass, A).rows
            assert isinstance(unit, SparseMatrix)
            return unit.data
        return row_scale(jnp, length, scales.row_length)[:, None] * mass.weigh(A)

    # projected as the steps are, so that a gap between branches appears as it does to the steps
    projected = lambda y: held.project_step(t, y, error).y
    y = jax.lax.cond(on_constraints, projected, lambda y: y, y)
    A = dynamics.matrix(state := held.state(t, y))
    return y, rows(A, dynamics.mass(state, A))
