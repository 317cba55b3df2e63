"""States between the steps of a run."""

from __future__ import annotations

import dataclasses
from functools import cached_property
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np

from zwang.algebra import judgement
from zwang.algebra.kernel import row_scale
from zwang.arrays import on_device
from zwang.compile import model_program, prepared
from zwang.compile.blocks import BLOCK, MOST_ON_HOST, in_blocks
from zwang.dynamics.drift.metric import metric_of, rows_of
from zwang.dynamics.evaluation import evaluate
from zwang.dynamics.host import HostVectorField, has_host
from zwang.dynamics.vector_field import ConstrainedVectorField
from zwang.equations.state import host_state
from zwang.simulation.results.singular import AbstractRows, DenseRows, SparseRows
from zwang.stepping import AbstractIntegrator

STENCIL = 4
"""Steps that one polynomial goes through; with their rates it has degree 7, that of the default
integrator's steps.
"""
LEAST_COMPILED = BLOCK // 4
"""Instants from which on a block of them in a compiled program takes less time than the host."""
LOOKED_AT = 5
"""Steps whose rows are measured; along a motion the length of a row changes little or vanishes."""


class Interpolant:
    """A polynomial through four steps and their rates, projected onto the constraints.

    Args:
        flow: the motion.
        t: accepted steps [s], shape (steps,).
        y: (q, v) there, shape (steps, n).
        applied: what was held from each step on, shape (steps, k): a sampler's control, or
            switches. Where it jumps no polynomial goes through: a state after a step is then
            reached by a shorter step of the same `integrator`.
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
        """States (k, n) at times within the run (k,)."""
        guess, on_step, held = self._guessed(times)
        if self._is_on_host(times):
            projected = self._projected_on_host(times, guess, held)
        else:
            projected = self._projected(times, guess, held)[0]
        return np.where(on_step[:, None], guess, projected)

    @property
    def is_held(self) -> bool:
        """Whether something is held from each step on, so that rates need more than a state."""
        return self.applied.shape[1] > 0

    def near(self, times: np.ndarray) -> np.ndarray:
        """States (k, n) of the polynomial itself."""
        return self._guessed(times)[0]

    def rows(self, times: np.ndarray, glance: bool = False) -> AbstractRows:
        """Rows at unit length in the metric of M⁻¹ at times within the run (k,); at a `glance`
        of few, those of the polynomial itself, which is off the constraints by about the tolerance
        of the run.
        """
        guess, _, held = self._guessed(times)
        if self._is_on_host(times):
            return DenseRows(self._rows_on_host(times, guess, held, glance))
        rows = self._projected(times, guess, held)[1]
        structure = self.flow.dynamics.structure
        return (
            SparseRows(rows, cast(Any, structure).layout) if structure.sparse else DenseRows(rows)
        )

    def compile(self) -> None:
        """Make the program for many instants, for this process or for later ones."""
        prepared(_projected, *self._example, make=True)

    def _is_on_host(self, times: np.ndarray) -> bool:
        """Whether the host evaluates them before a program for them would be compiled, or sooner
        than one that is there.
        """
        if self._host is None or len(times) > MOST_ON_HOST:
            return False
        return len(times) < LEAST_COMPILED or not self._is_compiled

    @cached_property
    def _is_compiled(self) -> bool:
        """Whether the program for many instants is at hand or kept."""
        return prepared(_projected, *self._example, make=False) is not None

    @property
    def _example(self) -> tuple:
        """Arguments of `_projected` for one block of instants."""
        block = (np.zeros((BLOCK, *x.shape[1:])) for x in (self.t, self.y, self.applied))
        return self.flow, on_device(np.zeros(self.flow.dynamics.constraints.m)), *block

    def _guessed(self, times: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """States before their projection, which of them are those of steps, and what was held."""
        last = np.searchsorted(self.t, times, side="right") - 1
        on_step, held = self.t[last] == times, self.applied[last]
        guess = np.where(on_step[:, None], self.y[last], 0.0)
        if held.shape[1]:
            given = self.t[last], self.y[last], held, times - self.t[last]
            reached = in_blocks(lambda *x: _stepped(self.flow, self.integrator, *x), *given)
            guess = np.where(on_step[:, None], guess, reached)
        else:
            guess = self._through_steps(times, guess, on_step, last + 1)
        return guess, on_step, held

    def __getstate__(self) -> dict:
        # the motion on the host holds compiled programs, and is made again when it is asked for
        return {name: x for name, x in vars(self).items() if name != "_host"}

    @cached_property
    def _usual_lengths(self) -> np.ndarray:
        """Lengths of rows along the run: the typical ones of its start, or those of a few of its
        steps where they are longer, shape (m,). A row far below it vanishes.
        """
        dynamics, nq = self.flow.dynamics, self.flow.dynamics.system.nq
        assert dynamics.scales is not None
        usual = np.asarray(dynamics.scales.row_length)
        for i in np.unique(np.linspace(0, len(self.t) - 1, LOOKED_AT).astype(int)):
            at = evaluate(dynamics, host_state(self.y[i, :nq], self.y[i, nq:], self.t[i]))
            usual = np.fmax(usual, metric_of(dynamics, at.M, at.A).lengths(rows_of(at.A)))
        return usual

    @cached_property
    def _host(self) -> HostVectorField | None:
        """The motion on the host, where it has one."""
        return HostVectorField(self.flow) if has_host(self.flow) else None

    def rates(self, t: np.ndarray, y: np.ndarray) -> np.ndarray:
        """ẏ at steps, shape (k, n)."""
        if self._host is None or len(t) > MOST_ON_HOST:
            return in_blocks(lambda t, y: _rates(self.flow, t, y), t, y)
        return np.stack([self._host.rate(*x) for x in zip(t, y, strict=True)])

    def _projected(self, times, guess, held):
        """States on the constraints, and their rows at unit length, by one program."""
        usual = on_device(self._usual_lengths)
        return in_blocks(lambda *x: _projected(self.flow, usual, *x), times, guess, held)

    def _projected_on_host(self, times, guess, held) -> np.ndarray:
        """States projected onto the constraints."""
        host = self._host
        assert host is not None
        with np.errstate(all="ignore"):
            return np.stack(
                [
                    np.asarray(host.with_input(u).project_step(t, y, np.zeros_like(y)).y)
                    for t, y, u in zip(times, guess, held, strict=True)
                ]
            )

    def _rows_on_host(self, times, guess, held, glance: bool) -> np.ndarray:
        """Rows at unit length of states as they are, or of those on the constraints."""
        rows = []
        host = self._host
        assert host is not None
        for t, y, u in zip(times, guess, held, strict=True):
            flow = host.with_input(u)
            with np.errstate(all="ignore"):
                s = flow.state(t, y) if glance else flow.placed(t, y)
            A = flow.dynamics.matrix(s)
            C = flow.dynamics.mass(s, A).weigh(A)
            # their own length, and of a row that is about to vanish the usual one
            length = np.maximum(np.linalg.norm(C, axis=1), self._usual_lengths)
            rows.append(judgement.row_scale(np, length)[:, None] * C)
        return np.stack(rows)

    def _through_steps(self, times, guess, on_step, after) -> np.ndarray:
        """`guess` with the times between steps filled in."""
        between = np.flatnonzero(~on_step)
        first = np.clip(after[between] - STENCIL // 2, 0, max(len(self.t) - STENCIL, 0))
        near = first[:, None] + np.arange(min(STENCIL, len(self.t)))
        wanted = np.unique(near)
        if len(wanted := wanted[~self._known[wanted]]):
            self._rates[wanted] = self.rates(self.t[wanted], self.y[wanted])
            self._known[wanted] = True
        if len(between):
            guess[between] = hermite(self.t[near], self.y[near], self._rates[near], times[between])
        return guess


def hermite(nodes, values, rates, at) -> np.ndarray:
    """Polynomials with given values and rates at their nodes, each at one place, by Newton's
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


@model_program
def _rates(flow: ConstrainedVectorField, t, y):
    return jax.lax.map(lambda ty: flow.rate(*ty), (jnp.asarray(t), jnp.asarray(y)))


@model_program
def _stepped(flow: ConstrainedVectorField, integrator: AbstractIntegrator, t, y, applied, h):
    def one(x):
        t, y, u, h = x
        return integrator.step(flow.with_input(u), t, y, h, jnp.ones_like(y)).y

    return jax.lax.map(one, jax.tree_util.tree_map(jnp.asarray, (t, y, applied, h)))


@model_program
def _projected(flow: ConstrainedVectorField, usual, t, y, applied):
    def one(x):
        t, y, u = x
        held = flow.with_input(u)
        y = held.project_step(t, y, jnp.zeros_like(y)).y
        state = held.state(t, y)
        dynamics, scales = held.dynamics, held.dynamics.scales
        assert scales is not None
        A = dynamics.matrix(state)
        mass = dynamics.mass(state, A)
        # their own length, and of a row that is shorter than usual, which is about to vanish, that
        length = jnp.maximum(dynamics.row_lengths(mass, A), usual)
        if dynamics.structure.sparse:
            scaled = dataclasses.replace(scales, row_length=length)
            dynamics = dataclasses.replace(dynamics, scales=scaled)
            return y, dynamics.weighted(mass, A).C.data
        return y, row_scale(length)[:, None] * mass.weigh(A)

    return jax.lax.map(one, (jnp.asarray(t), jnp.asarray(y), jnp.asarray(applied)))
