"""The result of `zw.analysis.optimal_control`."""

from __future__ import annotations

import dataclasses
import functools
from typing import TYPE_CHECKING

import jax.numpy as jnp
import numpy as np

from zwang.analysis.control_pieces import ControlPieces, weights
from zwang.analysis.linearize import linearize
from zwang.analysis.lqr import lqr
from zwang.analysis.nonlinear_program import ENDED, UNFINISHED, Optimum
from zwang.analysis.optimal_interval import Between
from zwang.analysis.optimal_junction import Chain
from zwang.analysis.optimal_phase import Schedule
from zwang.analysis.optimal_problem import Guess
from zwang.analysis.result import AbstractResult, with_unit
from zwang.analysis.time_varying import TrackingRegulator
from zwang.analysis.transcription import PHASE_DURATION, Transcription
from zwang.dynamics.model import Model
from zwang.equations.constraint.units import one
from zwang.errors import ModelError
from zwang.inputs.text import counted
from zwang.objects.record import replace
from zwang.plots import Curve, Panel, Picture
from zwang.plots.script import opens_in_scripts
from zwang.servo.feedback import Feedback
from zwang.servo.tracking import SPLINE_DEGREE, Tracking, piecewise, powers
from zwang.simulation.results.dataset import Units
from zwang.thresholds import ALL_BUT_ZERO

if TYPE_CHECKING:
    import xarray as xr

PER_INTERVAL = SPLINE_DEGREE
"""Number of instants per interval, including its end, at which the motion is evaluated. Together
with its beginning they determine the polynomials of a `Tracking` law.
"""


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class OptimalMotion(AbstractResult):
    """The motion of least cost between two states; `str()` prints it, `.plot()` draws it.

    Attributes:
        passive: the model without control.
        feedforward: u(t) as a control law.
        t, q, v: the motion at the ends of the intervals, shapes (nodes,), (nodes, nq), (nodes, nv);
            at a junction of phases there are two nodes, before and after it.
        cost, duration: the cost and the duration of the motion [s].
        samples: the motion between nodes: `.t`, `.x`, `.u`, `.multipliers` and `.off`, the norm of
            φ and ψ together.
        error: largest error of a step over an interval, relative to the state.
        bounds: lowest and highest q and v together, u, and other limited quantities; with several
            phases, each phase has its own.
        phases: with several phases, the motion of each, with the equations that hold along it as
            its model; empty for a single phase.
        status: the status of the solver.
        history: cost and largest violation by iteration, shape (iterations, 2).
    """

    passive: Model
    feedforward: Feedback
    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    cost: float
    duration: float
    samples: Between
    error: float
    bounds: dict[str, tuple[np.ndarray, np.ndarray]]
    status: str
    history: np.ndarray
    phases: tuple[OptimalMotion, ...] = ()

    @property
    def pieces(self) -> ControlPieces:
        """u(t): Bernstein coefficients over each interval."""
        return self.feedforward.function  # pyright: ignore[reportReturnType]

    @property
    def u(self) -> np.ndarray:
        """Controls at the nodes, at the last node of a phase the limit from the left, shape (nodes,
        nu).
        """
        if self.phases:
            return np.concatenate([x.u for x in self.phases])
        c = np.asarray(self.pieces.c)
        return np.vstack([c[:, 0], c[-1:, -1]])

    @property
    def actuators(self) -> tuple[str, ...]:
        """Names of the controls."""
        return self.feedforward.names(self.pieces.c.shape[2])

    @property
    def kinematic_error(self) -> float:
        """Largest norm of φ and ψ together, at nodes and between them."""
        return float(np.max(self.samples.off, initial=0.0))

    @property
    def model(self) -> Model:
        """The model under the feedforward, for a simulation from `q[0]`, `v[0]` at `t[0]`."""
        return self.passive.with_parts(servo=self.feedforward)

    def regulator(self, Q=None, R=None) -> TrackingRegulator:
        """Gains along the motion, by `zw.analysis.lqr`.

        Args:
            Q, R: weights of all coordinates and velocities, and of the actuators.

        Raises:
            ModelError: for a motion with several phases.
        """
        if self.phases:
            raise ModelError(
                f"{self.passive.name}: a regulator is one of a phase, expected "
                "found.phases[k].regulator(...) or .feedback(...)."
            )
        along = linearize(self.passive, self.q, self.v, t=self.t, inputs=self.feedforward)
        return lqr(along, Q, R)

    def feedback(self, Q=None, R=None) -> Feedback:
        """The feedforward with its regulator as a control law, within the limits of the actuators.

        Args:
            Q, R: as in `regulator`.
        """
        from scipy.interpolate import BPoly, PPoly

        found, (t, x, u, *_) = self.regulator(Q, R), self.samples
        whole = found.feedback(self.feedforward.actuation, u, motion=(t, *self._split(x)))
        law: Tracking = whole.function  # pyright: ignore[reportAssignmentType]
        nq_nv = piecewise(t, x, SPLINE_DEGREE, self.t[1:-1].tolist())
        # because round-off may place an instant before its interval
        begins = np.maximum(t[:-1], np.repeat(self.t[:-1], PER_INTERVAL))
        bernstein = BPoly(np.swapaxes(np.asarray(self.pieces.c), 0, 1), self.t)
        control = powers(PPoly.from_bernstein_basis(bernstein), begins, SPLINE_DEGREE)
        reference = jnp.asarray(np.concatenate([control, nq_nv], axis=2))
        made = replace(law, reference=reference)
        return replace(self.feedforward, function=made)

    def _split(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        nq = self.passive.system.nq
        return x[:, :nq], x[:, nq:]

    def as_guess(self, degree: int, spans: np.ndarray) -> list[Guess]:
        """The initial guess of another search.

        Args:
            degree: of its control, which interpolates this one.
            spans: least and greatest duration of its phases, shape (phases, 2).
        """
        own = self.phases or (self,)
        if len(own) != len(spans):
            raise ModelError(
                f"optimal_control: guess has {len(own)} phases, expected {len(spans)}."
            )
        found, begin = [], float(self.t[0])
        for x, (least, most) in zip(own, spans.tolist(), strict=True):
            c = np.asarray(x.pieces.c)
            if c.shape[1] != degree + 1:
                ends = np.linspace(0.0, 1.0, degree + 1) if degree else np.array([0.5])
                c = np.stack([np.asarray(weights(c.shape[1] - 1, s)) for s in ends]) @ c
            tau, T = (x.t - x.t[0]) / x.duration, min(max(x.duration, least), most)
            found.append(Guess(tau, np.hstack([x.q, x.v]), c, T, begin))
            begin += T
        return found

    @property
    def dataset(self) -> xr.Dataset:
        """Motion, control and multipliers over time, at nodes and between them, with names."""
        import xarray as xr

        system, units, at = self.passive.system, Units.of(self.passive), self.samples
        q, v = self._split(at.x)
        rows = _row_names(self.passive)
        return xr.Dataset(
            {
                "q": (("time", "coordinate"), q),
                "v": (("time", "velocity"), v),
                "control": (("time", "actuator"), at.u),
                "multiplier": (("time", "row"), at.multipliers),
                "kinematic_error": (("time",), at.off),
                "node": (("node_time", "coordinate"), self.q),
            },
            {
                "time": at.t,
                "node_time": self.t,
                "coordinate": list(system.coordinates),
                "velocity": list(system.velocities),
                "actuator": list(self.actuators),
                "row": rows,
                "coordinate_unit": ("coordinate", units.coordinates),
                "velocity_unit": ("velocity", units.velocities),
                "multiplier_unit": ("row", units.multipliers),
            },
            {"model": self.passive.name, "cost": self.cost, "duration": self.duration},
        )

    @opens_in_scripts
    def plot(self) -> Picture:
        """Plot controls, coordinates, velocities and multipliers over time, with their bounds."""
        system, units, at = self.passive.system, Units.of(self.passive), self.samples
        nu, nq = at.u.shape[1], system.nq
        x_low, x_high = self.bounds["x"]
        of_u = list(self.feedforward.units(nu))
        panel = functools.partial(_panel, at.t)
        panels = [
            panel(at.u, self.actuators, of_u, "control", self.bounds["c"]),
            panel(
                at.x[:, :nq],
                system.coordinates,
                units.coordinates,
                "coordinates",
                (x_low[:nq], x_high[:nq]),
            ),
            panel(
                at.x[:, nq:],
                system.velocities,
                units.velocities,
                "velocities",
                (x_low[nq:], x_high[nq:]),
            ),
        ]
        if at.multipliers.shape[1]:
            names = _row_names(self.passive)
            panels.append(panel(at.multipliers, names, units.multipliers, "multipliers", None))
        return Picture(panels, xlabel="t [s]", title=f"{self.passive.name}: optimal motion")

    @opens_in_scripts
    def plot_search(self) -> Picture:
        """Cost and largest violation by iteration, over all grids."""
        cost, missed = self.history.T
        steps = np.arange(1, len(cost) + 1)
        panels = [
            Panel([Curve(steps, cost)], "cost"),
            Panel([Curve(steps, missed)], "largest violation", logarithmic=True),
        ]
        return Picture(panels, xlabel="iteration", title=f"{self.passive.name}: search")

    @property
    def sentence(self) -> str:
        """The outcome of the search in words."""
        said = ENDED.get(self.status, UNFINISHED.get(self.status, self.status))
        left = float(self.history[-1, 1]) if len(self.history) else np.nan
        much = "" if self.status in ENDED else f", constraints missed by up to {left:.1e}"
        return f"{said} after {counted(len(self.history), 'iteration')}{much}"

    def __str__(self) -> str:
        return (
            f"{self.passive.name}: optimal motion of {self.duration:.6g} s in "
            f"{self._divided}, cost {self.cost:.8g}; {self.sentence}; φ and ψ at most "
            f"{self.kinematic_error:.1e} at nodes and between them; error of a step "
            f"{self.error:.1e}{self._at_bounds()}"
        )

    @property
    def _divided(self) -> str:
        """The numbers of intervals and phases in words."""
        intervals = f"{len(self.pieces.c)} intervals"
        if not self.phases:
            return intervals
        lengths = ", ".join(f"{x.duration:.6g}" for x in self.phases)
        return f"{len(self.phases)} phases ({lengths} s) and {intervals}"

    def _at_bounds(self) -> str:
        """The controls that reach their bounds, with the share of the time."""
        low, high = self.bounds["c"]
        found = []
        for i, name in enumerate(self.actuators):
            u = self.samples.u[:, i]
            room = ALL_BUT_ZERO * (high[i] - low[i]) if np.isfinite(high[i] - low[i]) else 0.0
            at = np.mean((u <= low[i] + room) | (u >= high[i] - room))
            if at > 0:
                found.append(f"{name} at its bounds for {100 * at:.0f} % of the time")
        return "".join(f"; {x}" for x in found)


def optimal_motion(
    schedule: Schedule, chain: Chain, found: Optimum, history: np.ndarray
) -> OptimalMotion:
    """The result of a solution, with the motion between nodes."""
    split = chain.parts(found.w)
    each = [_of_grid(schedule.model, g, w, found) for g, w in zip(chain.grids, split, strict=True)]
    whole = dataclasses.replace(each[0], history=history)
    if len(each) == 1:
        return whole
    t = np.concatenate([each[0].t[:1], *(x.t[1:] for x in each)])
    c = np.concatenate([np.asarray(x.pieces.c) for x in each])
    joined = lambda name: np.concatenate([getattr(x, name) for x in each])
    samples = Between(*map(np.concatenate, zip(*(x.samples for x in each), strict=True)))
    widest = lambda k: tuple(
        f.reduce([x.bounds[k][i] for x in each]) for i, f in enumerate((np.minimum, np.maximum))
    )
    phases = []
    for k, x in enumerate(each):
        rows = slice(None) if schedule.switching is None else schedule.on(schedule.holds[k])
        own = x.samples._replace(multipliers=x.samples.multipliers[:, rows])
        phases.append(dataclasses.replace(x, passive=schedule.passive(k), samples=own))
    return dataclasses.replace(
        whole,
        feedforward=replace(
            whole.feedforward, function=ControlPieces(jnp.asarray(t), jnp.asarray(c))
        ),
        t=joined("t"),
        q=joined("q"),
        v=joined("v"),
        cost=sum(x.cost for x in each),
        duration=sum(x.duration for x in each),
        samples=samples,
        error=max(x.error for x in each),
        bounds={k: widest(k) for k in ("x", "c")},
        phases=tuple(phases),
    )


def _of_grid(model: Model, grid: Transcription, w: np.ndarray, found: Optimum) -> OptimalMotion:
    """The motion of one phase."""
    x, c, t = w[grid.x_at], w[grid.c_at], grid.times(w)
    nq, N = model.system.nq, len(grid.tau) - 1
    law = replace(grid.problem.law, function=ControlPieces(jnp.asarray(t), jnp.asarray(c)))
    parts = [grid.between(w, (i + 1) / PER_INTERVAL) for i in range(PER_INTERVAL)]
    first = grid.between(w, 0.0, slice(1))
    size = N * PER_INTERVAL
    inner = lambda rest: np.stack(rest, 1).reshape(size, *rest[0].shape[1:])
    joined = lambda own, rest: np.concatenate([own, inner(rest)])
    samples = Between(*(joined(f, rest) for f, *rest in zip(first, *parts, strict=True)))
    values, _, error = grid.evaluated(w)
    return OptimalMotion(
        model,
        law,
        t,
        x[:, :nq],
        x[:, nq:],
        float(np.sum(values[:, -1])),
        float(w[PHASE_DURATION]),
        samples,
        float(np.max(error)),
        grid.limits,
        found.status,
        found.history,
    )


def _row_names(model: Model) -> list[str]:
    """Names of the rows of the constraints."""
    made = []
    for name, rows in model.constraints.row_slices.items():
        size = rows.stop - rows.start
        made += [name] if size == 1 else [f"{name}[{i}]" for i in range(size)]
    return made


def _panel(t, values, names, units, label, bounds) -> Panel:
    """Curves, with their bounds dashed."""
    several = len(names) > 1
    curves = [Curve(t, y, n if several else "") for y, n in zip(values.T, names, strict=True)]
    ends = [] if bounds is None else sorted({float(x) for side in bounds for x in np.ravel(side)})
    for x in ends:
        if np.isfinite(x):
            curves.append(Curve([t[0], t[-1]], [x, x], color="#59636e", width=0.8, dash=(4, 3)))
    return Panel(curves, with_unit(label, one(units)))
