"""Junctions between the phases of an optimal control problem.

    e(x, u, λ, t) = 0           end of the phase: a gap closes, a rope becomes taut, or a time
    q⁺ = q,   v⁺ = v − A⊕ (1 + e) ψ    A of all rows that are active during the impact

A row that stays active has e = 0: ψ⁺ = 0, a plastic impact. A gap that rebounds has its
restitution, ġ⁺ = −e ġ (Newton's law). Without an impact, ψ = 0 and the velocity does not change.

Source: Moreau (1988), Unilateral contact and dry friction in finite freedom dynamics, in Nonsmooth
    Mechanics and Applications, Springer, 1-82.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from zwang.algebra.decomposition import pivots
from zwang.analysis.control_pieces import ControlPieces
from zwang.analysis.nonlinear_program import NonlinearProgram, Pattern
from zwang.analysis.optimal_interval import Problem, carried, limits
from zwang.analysis.transcription import PHASE_BEGIN, PHASE_DURATION, Transcription, curvature
from zwang.dynamics.equation_of_motion import Dynamics
from zwang.dynamics.run_events import SwitchCondition
from zwang.objects.record import Record, field


class Junction(Record):
    """The end of a phase.

    Attributes:
        before: the problem of the phase that ends.
        dynamics: the dynamics with the rows that are active during the impact.
        factor: 1 + e of each row of ψ.
        time: instant of the end [s], NaN if no time is given.
        ends: (q, v, t, p) → numbers that are zero there.
        conditions: conditions of switches that are zero there.
        positions, velocities: rows of φ and ψ that are zero there.
        timed: True if a time is given.
        changes: True if another phase follows.
    """

    before: Problem
    dynamics: Dynamics
    factor: Float[Array, " rows"]
    time: Float[Array, ""]
    ends: tuple[Callable, ...]
    conditions: tuple[SwitchCondition, ...]
    positions: tuple[int, ...] = field(static=True)
    velocities: tuple[int, ...] = field(static=True)
    timed: bool = field(static=True)
    changes: bool = field(static=True)

    def landed(self, x, t) -> Array:
        """The state after the impact."""
        d, s = self.dynamics, self.before.flow.state(t, x)
        if not d.constraints.m:
            return x
        A = d.matrix(s)
        rows = d.constraints.velocity_rows
        jump = d.gauss(d.mass(s, A), A, rows).correct(self.factor * d.velocity_residual(s))
        return jnp.concatenate([s.q, s.v - jump])

    def ending(self, x, u, t) -> Array:
        """Numbers that are zero at the end of the phase."""
        flow = self.before.under(ControlPieces(jnp.stack([t - 1, t]), u[None, None]))
        s, d = flow.state(t, x), self.dynamics
        multipliers = jnp.zeros(0)
        if any(c.off for c in self.conditions):
            multipliers = flow.dynamics.equation_at(s).multipliers
        phi, psi = d.residuals(s)
        zeros = [f(s.q, s.v, s.t, d.p) for f in self.ends]
        zeros += [c(s, d.p, multipliers) for c in self.conditions]
        found = [jnp.ravel(jnp.asarray(x, float)) for x in zeros]
        found += [phi[np.array(self.positions, int)], psi[np.array(self.velocities, int)]]
        return jnp.concatenate([*found, (t - self.time)[None][: int(self.timed)]])


def _slopes(of: Junction, y, beside):
    """The state after the junction, the numbers that are zero before it, and their derivatives by
    (x, u, T, begin), where T and begin are duration and initial time of the phase.
    """

    def values(y):
        nx = of.dynamics.system.nq + of.dynamics.system.nv
        x, u, t = y[:nx], y[nx:-2], y[-2] + y[-1]
        # a tenth of the displacements for an interval, because a phase has about ten intervals
        x = carried(of.before.flow, t, x, 0.1 * beside * y[-2])
        landed = of.landed(x, t) if of.changes else jnp.zeros(0)
        found = jnp.concatenate([landed, of.ending(x, u, t)])
        return found, found

    J, found = jax.jacfwd(values, has_aux=True)(y)
    return found, J


class Chain:
    """The nonlinear program of consecutive phases; its w is the concatenation of their w.

    Args:
        grids: the phases.
        junctions: their ends; the last phase may have none.
        asked: for each junction, a mask of the conditions that are imposed; the others follow from
            these and from the constraints.
    """

    def __init__(
        self,
        grids: Sequence[Transcription],
        junctions: Sequence[Junction] = (),
        asked: Sequence[np.ndarray] = (),
    ):
        self.grids, self.junctions, self.asked = tuple(grids), tuple(junctions), tuple(asked)
        self.offsets = np.cumsum([0, *(g.size for g in self.grids)])
        following = [*zip(self.grids[1:], self.offsets[1:-1].tolist(), strict=True), None]
        self.joints = [
            Joint(j, chosen, grid, int(at), after)
            for j, chosen, grid, at, after in zip(
                self.junctions, self.asked, self.grids, self.offsets, following, strict=False
            )
        ]

    def parts(self, w: np.ndarray) -> list[np.ndarray]:
        """w of each phase."""
        return np.split(w, self.offsets[1:-1])

    def divided(self, w: np.ndarray, rtol: float) -> tuple[Chain, np.ndarray] | None:
        """The same motion with every interval divided whose step has an error above rtol; None if
        there is none, or if there were too many intervals.
        """
        own = list(zip(self.grids, self.parts(w), strict=True))
        parts = [np.where(g.evaluated(x)[2] > rtol, 2, 1) for g, x in own]
        count = sum(int(np.sum(p)) for p in parts)
        if count == sum(map(len, parts)) or count > 1000:
            return None
        made = [g.divided(x, p) for (g, x), p in zip(own, parts, strict=True)]
        chain = Chain([g for g, _ in made], self.junctions, self.asked)
        return chain, np.concatenate([x for _, x in made])

    def crossing(self, w: np.ndarray) -> Chain | None:
        """The same program with the nodes marked at which rows lose rank at w; None if nothing
        changes.
        """
        known = [g.singular for g in self.grids]
        found = [g.singular_at(x) for g, x in zip(self.grids, self.parts(w), strict=True)]
        # the last node of one phase is the first of the next
        for one, other in zip(found, found[1:], strict=False):
            one[-1] = other[0] = one[-1] | other[0]
        if all(np.array_equal(*x) for x in zip(known, found, strict=True)):
            return None
        grids = [dataclasses.replace(g, singular=x) for g, x in zip(self.grids, found, strict=True)]
        return Chain(grids, self.junctions, self.asked)

    def program(self) -> NonlinearProgram:
        """The nonlinear program: the rows of the phases in order, followed by those of the
        junctions.
        """
        own, joints = [g.program() for g in self.grids], self.joints
        if not joints:
            return own[0]
        counts = [len(p.lower) for p in own]
        firsts = np.cumsum([0, *counts, *(j.size for j in joints)])
        both = lambda w: zip(own, self.parts(w), strict=True)
        joined = lambda name: np.concatenate([getattr(p, name) for p in own])
        at_zero = np.zeros(firsts[-1] - firsts[len(own)])

        def each(name, w, further):
            return np.concatenate([*(getattr(p, name)(x) for p, x in both(w)), *further])

        def hessian(w, of_cost, y):
            parts = np.split(y, firsts[1:-1])
            found = [p.hessian(x, of_cost, a) for (p, x), a in zip(both(w), parts, strict=False)]
            last = [j.curvature(w, a) for j, a in zip(joints, parts[len(own) :], strict=True)]
            return np.concatenate([*found, *last])

        places = [p.jacobian_pattern.places for p in own] + [j.places for j in joints]
        begins = [*self.offsets[:-1], *(0 for _ in joints)]
        jacobian = [(i + r, k + c) for (i, k), r, c in zip(places, firsts, begins, strict=False)]
        curved = [p.hessian_pattern.places for p in own]
        bent = [(i + c, k + c) for (i, k), c in zip(curved, self.offsets, strict=False)]
        bent += [j.pairs for j in joints]
        side_by_side = lambda x: [np.concatenate(y) for y in zip(*x, strict=True)]
        size = int(self.offsets[-1])
        return NonlinearProgram(
            lambda w: sum(p.objective(x) for p, x in both(w)),
            lambda w: each("gradient", w, []),
            lambda w: each("constraints", w, [j.values(w) for j in joints]),
            lambda w: each("jacobian", w, [j.slopes(w) for j in joints]),
            hessian,
            Pattern.of((int(firsts[-1]), size), *side_by_side(jacobian)),
            Pattern.of((size, size), *side_by_side(bent)),
            np.concatenate([joined("lower"), at_zero]),
            np.concatenate([joined("upper"), at_zero]),
            joined("lowest"),
            joined("highest"),
        )

    def described(self, row: int, names: Sequence[tuple[str, ...]], states: list[str]) -> str:
        """A row of the program in words; names as in `Transcription`, by phase."""
        for k, (grid, program) in enumerate((g, g.program()) for g in self.grids):
            if row < len(program.lower):
                place = f" in phase {k + 1}" if self.joints else ""
                return grid.described(row, names[k], states) + place
            row -= len(program.lower)
        for k, joint in enumerate(self.joints):
            if row < joint.size:
                return f"{joint.described(row, states)}, phase {k + 1}"
            row -= joint.size
        raise IndexError(row)


class Joint:
    """The rows of a junction in the program of its phases:

        x⁺(x_N, t) − x_0 = 0,    e(x_N, u, t) = 0,    begin + T − t = 0,

    x_N, u, T and begin belong to the phase that ends, x_0 and t, the initial time, to the next
    phase; at the end of the last phase only the second equation remains.

    Args:
        of: the junction.
        chosen: mask of the conditions that are imposed.
        before, at: the phase that ends, and the index of its first variable in w.
        after: the same for the next phase, or None.
    """

    def __init__(
        self,
        of: Junction,
        chosen: np.ndarray,
        before: Transcription,
        at: int,
        after: tuple[Transcription, int] | None,
    ):
        self.of, nx = of, 0
        # where rows lose rank at the junction, it is the limit along the motion
        self.singular = before.singular[-1:]
        whole = np.array([at + PHASE_DURATION, at + PHASE_BEGIN])
        self.y_at = np.concatenate([at + before.x_at[-1], at + before.c_at[-1, -1], whole])
        self.x_at = self.times = np.zeros(0, int)
        if after is not None:
            nx, (grid, then) = len(before.goal.x), after
            self.x_at, self.times = then + grid.x_at[0], np.append(whole, then + PHASE_BEGIN)
        self.rows = np.concatenate([np.arange(nx), nx + chosen]).astype(int)
        self.size = len(self.rows) + (after is not None)
        self._sum = np.array([1.0, 1.0, -1.0])[: len(self.times)]

    @property
    def places(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows and columns of the Jacobian's entries; the row of the times is the last."""
        k, ny, nx = len(self.rows), len(self.y_at), len(self.x_at)
        rows = [np.repeat(np.arange(k), ny), np.arange(nx), np.full(len(self.times), k)]
        return np.concatenate(rows), np.concatenate([np.tile(self.y_at, k), self.x_at, self.times])

    @property
    def pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows and columns of the Hessian's entries on and above its diagonal."""
        i, j = (self.y_at[k] for k in np.triu_indices(len(self.y_at)))
        return np.minimum(i, j), np.maximum(i, j)

    def _found(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        found, J = limits(_slopes, (self.of,), np.repeat(self.singular, len(y)), y)
        return found[:, self.rows], J[:, self.rows]

    def values(self, w: np.ndarray) -> np.ndarray:
        """The rows."""
        found = self._found(w[self.y_at][None])[0][0].copy()
        found[: len(self.x_at)] -= w[self.x_at]
        return np.append(found, [w[self.times] @ self._sum] * (self.size - len(self.rows)))

    def slopes(self, w: np.ndarray) -> np.ndarray:
        """The Jacobian's entries."""
        own = self._found(w[self.y_at][None])[1].ravel()
        return np.concatenate([own, -np.ones(len(self.x_at)), self._sum])

    def curvature(self, w: np.ndarray, multipliers: np.ndarray) -> np.ndarray:
        """Its contribution to the Hessian."""
        i, j = np.triu_indices(len(self.y_at))
        at, y = lambda _, y: self._found(y)[1], multipliers[None, : len(self.rows)]
        return curvature(at, w[self.y_at][None], y)[0, i, j]

    def described(self, row: int, states: list[str]) -> str:
        """A row in words."""
        if row < len(self.x_at):
            return f"{states[row]!r} where the phase ends"
        return "the time of the end" if row >= len(self.rows) else "what ends the phase"


def followed(of: Junction, y: np.ndarray, along: np.ndarray) -> np.ndarray:
    """Mask of the conditions at a junction that are independent along given directions of (x, u, T,
    begin); the others follow from them.

    Args:
        of: the junction.
        y: (x, u, T, begin) near the end of the phase.
        along: directions that the constraints leave free, shape (len(y), any).
    """
    nx = of.changes * (of.dynamics.system.nq + of.dynamics.system.nv)
    J = limits(_slopes, (of,), np.zeros(1, bool), y[None])[1][0, nx:] @ along
    return pivots(J.T)
