"""The final state of a run with stops, contact and dry friction as a differentiable function.

Between two mode changes the equations are differentiable. At a mode change with the event e(y, t,
p) = 0,

    δt = −δe/ė,    δy⁺ = J_y (δy⁻ + f⁻ δt) + J_t δt + J_p δp − f⁺ δt

with the jump y⁺ = J(y⁻, t, p) and the rates f before and after it (saltation). This matrix is not
formed. Instead, the motion is integrated up to the original instant, moved along its rate by `δt =
−e/ė`, changed by the jump, and moved back; this computation has the same derivatives.

Reference: Aizerman and Gantmacher (1958), Quarterly J. Mechanics Applied Math. 11, 225-241.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PyTree

from zwang.algebra.lapack import LU
from zwang.dynamics.model import Model
from zwang.dynamics.run_events import Events
from zwang.dynamics.vector_field import HELD_ON, ConstrainedVectorField
from zwang.equations.constraint.base import number_of
from zwang.equations.state import State
from zwang.errors import ModelError
from zwang.inputs.arguments import instance
from zwang.inputs.arrays import on_device, without_derivative
from zwang.inputs.call import misfits_named
from zwang.objects.record import replace
from zwang.simulation.contact import Contacts
from zwang.simulation.mode import held_rows, with_equations
from zwang.simulation.results import Run, Switched
from zwang.simulation.trajectory import trajectory
from zwang.thresholds import AGREEMENT, ALL_BUT_ZERO, RESOLVED


class Change(NamedTuple):
    """An instant of a mode change or an impact.

    Attributes:
        t: the instant [s]; `y`: the state before it.
        modes, next_modes: modes of all gaps and frictions before and after.
        event: index of the gap or friction that causes it; `slope`: ė along the motion before it.
        pushed: indices of the gaps that act in an impact.
        sticks: indices of their frictions that stick in it.
        slides: indices of their frictions that slide, with the direction of slip.
    """

    t: float
    y: Array | np.ndarray
    modes: np.ndarray
    next_modes: np.ndarray
    event: int
    slope: float
    pushed: tuple[int, ...]
    sticks: tuple[int, ...]
    slides: tuple[tuple[int, float], ...]


@dataclasses.dataclass(frozen=True, eq=False)
class FinalState:
    """The final state of a run as a function `(q, v, params)` of its initial state and parameters.

    At the initial state and parameters of the run, its value and its first derivatives by
    `jax.jacfwd` and `jax.jvp` are exact. Elsewhere it keeps the sequence of mode changes of this
    run, and differs from the result of another run.

    Attributes:
        run: the run.
        contacts: its gaps and dry frictions.
        changes: its mode changes and impacts.
    """

    run: Run
    contacts: Contacts
    changes: tuple[Change, ...]
    _programs: dict[tuple, Callable] = dataclasses.field(default_factory=dict, repr=False)

    def __call__(self, q, v, params: PyTree = None) -> State:
        """The state at the end of the run for an initial (q, v) and parameters that differ from the
        run's.
        """
        steps, nq, p = self.run.steps, self.run.model.system.nq, self._parameters(params)
        y = jnp.concatenate([jnp.asarray(q, jnp.float64), jnp.asarray(v, jnp.float64)])
        t, moved, modes = float(steps.t0), jnp.zeros(()), self._first_modes
        for x in self.changes:
            y = self._program(self._motion, modes)(y, moved, t, x.t, p)
            y, moved = self._cross(x._replace(y=y), p)
            t, modes = x.t, x.next_modes
        if (end := float(steps.t[-1])) > t:
            y = self._program(self._motion, modes)(y, moved, t, end, p)
        else:
            y = y - _rate(self._flow(p), modes, t, y) * moved
        return State(y[:nq], y[nq:], jnp.asarray(steps.t[-1]))

    def _cross(self, x: Change, p: PyTree) -> tuple[Array, Array]:
        """The state after a mode change, and the shift of its instant."""
        # identical for all changes of one kind, so that they share a program
        kind = x._replace(t=0.0, y=x.modes, slope=0.0)
        return self._program(self._turn, x.modes, kind)(x.y, x.t, x.slope, p)

    def _program(
        self, function: Callable, modes: np.ndarray, kind: Change | None = None
    ) -> Callable:
        """A method, compiled once for each mode and kind of change."""
        key = function.__name__, modes.tobytes(), kind and (kind.event, *kind[6:])
        if key not in self._programs:
            given = (kind,) if kind else (modes,)
            if function == self._motion:
                given = (modes, self._mode(modes))
            self._programs[key] = jax.jit(partial(function, *given))
        return self._programs[key]

    @property
    def _span(self) -> float:
        return float(self.run.times[-1] - self.run.steps.t0)

    @property
    def _first_modes(self) -> np.ndarray:
        steps = self.run.steps
        return np.asarray(steps.applied[np.flatnonzero(steps.t == steps.t0)[-1]])

    def _parameters(self, params: PyTree) -> PyTree:
        own = self.run.flow.dynamics.p
        return own if params is None else {**own, **params}

    def _flow(self, p: PyTree) -> ConstrainedVectorField:
        flow = self.run.flow
        return replace(flow, dynamics=replace(flow.dynamics, p=p))

    def _mode(self, modes: np.ndarray) -> Model:
        """The model with the equations of a mode."""
        return with_equations(self.run.model, *held_rows(self.run.flow, self.contacts, modes))

    def _motion(self, modes: np.ndarray, model: Model, y, moved, t, end, p) -> Array:
        """y at `end`, from y at `t + moved`, within one mode."""
        y = y - _rate(self._flow(p), modes, t, y) * moved
        nq, times = self.run.model.system.nq, jnp.stack([t, end])
        # the run has already checked the initial state
        options = {"rtol": self.run.attrs["rtol"], "start_tolerance": np.inf}
        asked = {"params": p, "gradient": "forward", "max_steps": 10**6, **options}
        found = trajectory(model, y[:nq], y[nq:], times, **asked)
        return jnp.concatenate([found.end.q, found.end.v])

    def _events(self, flow: ConstrainedVectorField, modes: np.ndarray, t, y) -> Array:
        """Event functions, which rise through zero when a gap or a friction changes its mode."""
        sizes = jnp.asarray(self._span), jnp.asarray(self.run.attrs["rtol"])
        events = Events((), (), len(self.contacts.names), *sizes)
        return events(flow, jnp.asarray(modes), t, y)

    def _passing(self, modes: np.ndarray, y, t) -> tuple[Array, Array]:
        """e of all gaps and frictions, and ė along a motion."""
        flow = self.run.flow
        values = lambda t, y: self._events(flow, modes, t, y)
        return jax.jvp(values, (t, y), (jnp.ones_like(t), _rate(flow, modes, t, y)))

    def _slips(self, modes: np.ndarray, y, t) -> Array:
        """ψ of all rows, gaps and frictions included."""
        nq = self.run.model.system.nq
        return _rows(self.run.flow, self.contacts, y[:nq], y[nq:], t)[0]

    def _turn(self, x: Change, y, t, slope, p) -> tuple[Array, Array]:
        """y after a mode change at t, and the shift of its instant."""
        flow = self._flow(p)
        e = self._events(flow, x.modes, t, y)[x.event]
        moved = -e / slope
        return self._jump(flow, x, t + moved, y + _rate(flow, x.modes, t, y) * moved), moved

    def _jump(self, flow: ConstrainedVectorField, x: Change, t, y) -> Array:
        """y after the impact of a change, by Newton's law for all gaps that act."""
        if not x.pushed:
            return y
        nq, contacts = self.run.model.system.nq, self.contacts
        q, v, p = y[:nq], y[nq:], flow.dynamics.p
        psi, A = _rows(flow, contacts, q, v, t)
        pushed = contacts.gaps[list(x.pushed)]
        sticks = [row for k in x.sticks for row in contacts.frictions[k].rows]
        kept = np.concatenate([pushed, sticks]).astype(int)
        e = [jnp.asarray(number_of(contacts.laws[k], p), jnp.float64) for k in x.pushed]
        wanted = -psi[kept]
        wanted = wanted.at[: len(pushed)].multiply(1 + jnp.stack(e))
        push = A[kept]
        for k, way in x.slides:
            friction = contacts.frictions[k]
            row, at = friction.rows[0], x.pushed.index(friction.gap)
            mu = friction.law.kinetic_coefficient(jnp.abs(psi[row]), p)
            push = push.at[at].add(-mu * way * A[row])
        # in addition to the rows that always hold
        loose = on_device(np.zeros(len(contacts.names)))
        gauss = flow.with_input(loose).dynamics.gauss_at(State(q, v, t))
        effect = jax.vmap(gauss.mobility)(push)
        impulse = LU(A[kept] @ effect.T).solve(wanted)
        return jnp.concatenate([q, v + impulse @ effect])


@misfits_named
def final_state(run: Run) -> FinalState:
    """The final state of a run with gaps or dry friction as a function of initial state and
    parameters that JAX differentiates, through contact, lift-off, impacts, stick and slip.

    Args:
        run: a run of `zw.simulate` that reached its end.

    Raises:
        ModelError: with the instant, if no derivative is known: for simultaneous events, a grazing
            event, an accumulation of rebounds, an impact law other than Newton's, friction in space
            whose direction turns, and switches.

    Example:
        >>> end = zw.analysis.final_state(run)
        >>> jax.jacfwd(lambda e: end(q0, v0, {"e": e}).q)(0.5)
    """
    instance(run, Run, "final_state: run", "a run of zw.simulate")
    model, flow = run.model, run.flow
    contacts = Contacts(model, flow.dynamics.p, 0)
    if flow.switched is None or len(contacts.names) != len(run.steps.applied[-1]):
        raise ModelError(
            f"{model.name} has no gaps or dry friction, or zw.Switch beside them, expected a model "
            "with gaps or dry friction; zw.trajectory differentiates other models."
        )
    if run.result.is_failure:
        raise ModelError(f"final_state: the run has failed, {run.sentence}; expected its end.")
    found = FinalState(run, contacts, ())
    changes = tuple(_change(found, x) for x in run.switches if x.time > run.steps.t0)
    return dataclasses.replace(found, changes=changes)


def _change(of: FinalState, x: Switched) -> Change:
    """A change of a run, with its cause."""
    contacts, steps = of.contacts, of.run.steps
    at = np.flatnonzero(steps.t == x.time)
    if not len(at) or any(not values for values in x.multipliers.values()):
        raise _unknown(x, "rebounds accumulate, whose limit no first-order change describes")
    first, last = int(at[0]), int(at[-1])
    y, after = steps.y[first], steps.y[last]
    modes, next_modes = (np.asarray(steps.applied[i]) for i in (first - 1, last))
    event, slope = _event(of, x, first, modes)
    pushed = tuple(contacts.names.index(name) for name in x.multipliers)
    sticks, slides = [], []
    arriving, slip = (np.asarray(of._program(of._slips, modes)(z, x.time)) for z in (y, after))
    size = max(np.max(np.abs(z), initial=0.0) for z in (arriving, slip))
    for k, friction in enumerate(contacts.frictions):
        if friction.gap in pushed:
            s = slip[friction.rows]
            if np.linalg.norm(s) <= AGREEMENT * size:
                sticks.append(k)
            elif len(s) == 1:
                slides.append((k, float(np.sign(s[0]))))
            else:
                raise _unknown(x, f"{friction.law.name!r} slides in space in an impact")
    found = Change(x.time, y, modes, next_modes, event, slope, pushed, tuple(sticks), tuple(slides))
    jumped = np.asarray(of._cross(found, of.run.flow.dynamics.p)[0])
    if pushed and not np.allclose(
        jumped, after, ALL_BUT_ZERO, ALL_BUT_ZERO * np.max(abs(after - y))
    ):
        raise _unknown(x, "the impact has no unique solution by Newton's law")
    return found


def _event(of: FinalState, x: Switched, at: int, modes: np.ndarray) -> tuple[int, float]:
    """Index of the gap or friction that causes a change, and the rate at which its event passes
    zero.
    """
    contacts, steps = of.contacts, of.run.steps
    span, passing = of._span, of._program(of._passing, modes)
    e, slope = map(np.asarray, passing(steps.y[at], x.time))
    # the motion before this change, since the previous one
    begun = at - 1
    while begun > 0 and steps.t[begun - 1] < steps.t[begun]:
        begun -= 1
    earlier = np.abs(np.asarray(passing(steps.y[begun], float(steps.t[begun]))[0]))
    usual = np.maximum(earlier, np.abs(e)) / max(x.time - float(steps.t[begun]), RESOLVED * span)
    close = np.abs(e) <= AGREEMENT * span * np.abs(slope)
    rising = np.flatnonzero(close & (slope > ALL_BUT_ZERO * usual))
    if len(rising) == 1:
        k = int(rising[0])
        if k >= len(contacts.gaps) and contacts.in_space[k]:
            raise _unknown(x, f"{contacts.names[k]!r} slides or sticks in space")
        return k, float(slope[k])
    if len(rising) > 1:
        names = " and ".join(repr(contacts.names[int(k)]) for k in rising)
        raise _unknown(x, f"{names} change at one instant, and in which order is not known")
    raise _unknown(x, "the event only touches zero")


def _unknown(x: Switched, why: str) -> ModelError:
    return ModelError(
        f"final_state: the end of the run has no derivative that is known: at t = {x.time:.6g} s "
        f"({x.what}) {why}. Differentiate a shorter run, or move a parameter and run again."
    )


def _rate(flow: ConstrainedVectorField, modes: np.ndarray, t, y) -> Array:
    """ẏ within one mode, as a number without derivatives."""
    return without_derivative(flow.with_input(on_device(modes)).rate(t, without_derivative(y)))


def _rows(flow: ConstrainedVectorField, contacts: Contacts, q, v, t) -> tuple[Array, Array]:
    """ψ of all rows and its derivative by v, gaps and frictions included."""
    every = on_device(np.full(len(contacts.names), HELD_ON))
    c, p = flow.with_input(every).dynamics.constraints, flow.dynamics.p
    psi = lambda v: c.velocity_by_row(q, v, t, p)
    return psi(v), jax.jacfwd(psi)(jnp.asarray(v))
