"""The paper's runs: without stabilization, with Baumgarte's stabilization, with projection, and
with a loose tolerance.

without:            Φ̈ = 0,                     Φ(t) = Φ₀ + t Φ̇₀
Baumgarte, (52):    Φ̈ + α Φ̇ + β Φ = 0,        decays as exp(−αt/2), oscillates at √(β − α²/4)
"""

from __future__ import annotations

import dataclasses

import numpy as np
from scipy.integrate import solve_ivp

import zwang.gallery
from zwang.objects.record import replace
from zwang.papers.scara import robot
from zwang.servo import SecondOrder, Servo
from zwang.simulation.simulate import simulate

VELOCITY_GAIN, POSITION_GAIN = 0.5, 200.0
"""Gains of the paper [1/s, 1/s²]."""
DURATION = 20.0
"""Duration of the runs [s], at which the error of z reaches the printed 0.01 m."""
RUN_SAMPLES = 2001
"""Number of samples: the errors oscillate twice per second, and peaks are read from the samples."""
RTOL = 1e-11
"""Relative error of a step; the errors of the runs are then below 1e-11."""
ODE45 = {"method": "RK45", "rtol": 1e-3, "atol": 1e-6, "max_step": DURATION / 10}
"""Settings of MATLAB's ode45: the pair of Dormand and Prince with the default tolerances."""
FIRST_STEPS = np.geomspace(1e-3, 0.2, 9)
"""First steps of runs with a loose tolerance [s]; no result should depend on them, but all do."""
FREE = 10.0
"""Dimensionless start tolerance that permits any correction of the initial state by projection."""


@dataclasses.dataclass(frozen=True)
class Outcome:
    """A run.

    Attributes:
        t, q, v: samples, shapes (k,), (4, k), (4, k).
        torques: Q_c, shape (4, k).
        off: Φ, shape (4, k): x, y [m], orientation [rad], z [m].
        steps: accepted steps.
        moved: largest change of the initial state by projection [rad, m]; 0 without projection.
    """

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    torques: np.ndarray
    off: np.ndarray
    steps: int
    moved: float = 0.0

    @property
    def largest(self) -> np.ndarray:
        """max |Φ| over the run, shape (4,)."""
        return np.abs(self.off).max(axis=1)


def start_of(start: str, elbow: str = "right") -> tuple[np.ndarray, np.ndarray]:
    """Initial q and v: "paper" has angles on the path and printed velocities, "rounded" also has
    printed angles, and "exact" is on the path.
    """
    example = zwang.gallery.load("scara", start=start, elbow=elbow)
    return np.asarray(example.q0), np.asarray(example.v0)


def servoed(start: str, elbow: str = "right", *, stabilized: bool) -> Outcome:
    """The path as a servo constraint, eq. (50)-(54), with the paper's gains or none; one program
    for all initial states and gains.
    """
    omega = np.sqrt(POSITION_GAIN) if stabilized else 0.0
    gain = SecondOrder(omega, VELOCITY_GAIN / (2 * omega) if stabilized else 0.0)
    model = robot.member().model
    assert isinstance(model.servo, Servo)
    gains = {**model.servo.gains, "helix": gain}
    model = replace(model, servo=replace(model.servo, gains=gains))
    run = simulate(
        model, *start_of(start, elbow), duration=DURATION, samples=RUN_SAMPLES, rtol=RTOL
    )
    return _outcome(run, run.dataset["control"].values)


def projected(start: str) -> Outcome:
    """The path as a passive constraint, with projection."""
    q0, v0 = start_of(start)
    run = simulate(
        robot.passive(),
        q0,
        v0,
        duration=DURATION,
        samples=RUN_SAMPLES,
        rtol=RTOL,
        start_tolerance=FREE,
    )
    outcome = _outcome(run, run.dataset["constraint_force"].sel(constraint="helix").values)
    moved = np.concatenate([outcome.q[:, 0] - q0, outcome.v[:, 0] - v0])
    return dataclasses.replace(outcome, moved=float(np.abs(moved).max()))


def loose(start: str, **settings) -> Outcome:
    """`A q̈ = b` without stabilization by SciPy, by default with the tolerances of ode45."""
    p = robot.numbers()

    def rate(t, y):
        # A is square
        return np.concatenate([y[4:], np.linalg.solve(*robot.equation(y[:4], y[4:], t, p))])

    found = solve_ivp(rate, (0.0, DURATION), np.concatenate(start_of(start)), **(ODE45 | settings))
    q, v = found.y[:4], found.y[4:]
    return Outcome(
        found.t, q, v, np.full_like(q, np.nan), robot.errors(q, v, found.t, p)[0], len(found.t) - 1
    )


def theory(t: np.ndarray, elbow: str = "right") -> np.ndarray:
    """Joint coordinates for a hand on the path, shape (4, k)."""
    exact = zwang.gallery.load("scara", start="exact", elbow=elbow).exact
    assert exact is not None
    return np.stack(list(exact(t).values()))


def predicted(outcome: Outcome, *, stabilized: bool) -> np.ndarray:
    """Φ(t) predicted from its initial value and rate, shape (4, k)."""
    t = outcome.t
    place, rate = (
        x[:, :1] for x in robot.errors(outcome.q[:, :1], outcome.v[:, :1], t[:1], robot.numbers())
    )
    if not stabilized:
        return place + t * rate
    swing = np.sqrt(POSITION_GAIN - VELOCITY_GAIN**2 / 4)
    return np.exp(-VELOCITY_GAIN * t / 2) * (
        place * np.cos(swing * t) + (rate + VELOCITY_GAIN / 2 * place) * np.sin(swing * t) / swing
    )


def _outcome(run, torques: np.ndarray) -> Outcome:
    q, v = run.q.T, run.v.T
    return Outcome(
        run.t,
        q,
        v,
        torques.T,
        robot.errors(q, v, run.t, robot.numbers())[0],
        int(run.attrs["steps_accepted"]),
    )
