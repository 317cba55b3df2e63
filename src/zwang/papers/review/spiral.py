"""The particle on a logarithmic spiral: all its errors come from the integrator, and they grow
linearly.
"""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
from scipy.integrate import solve_ivp

import zwang.gallery
from zwang.dynamics.model import Model
from zwang.dynamics.motion import motion
from zwang.equations.system import System
from zwang.gallery import Example
from zwang.papers.claim import Claim, Grid, Part, Verdict, compared
from zwang.papers.drawing import curves

SPIRAL_DURATION = 30.0
ODE45 = "RK45 as ode45 by default"
SETTINGS = {
    ODE45: {"method": "RK45", "rtol": 1e-3, "atol": 1e-6, "max_step": SPIRAL_DURATION / 10},
    "RK45, rtol 1e-3": {"method": "RK45", "rtol": 1e-3, "atol": 1e-6},
    "RK45, rtol 1e-6": {"method": "RK45", "rtol": 1e-6, "atol": 1e-9},
    "RK45, rtol 1e-10": {"method": "RK45", "rtol": 1e-10, "atol": 1e-12},
    "DOP853, rtol 1e-13": {"method": "DOP853", "rtol": 1e-13, "atol": 1e-14},
}
"""Integrators for eq. (57), which is not stabilized."""
PROJECTED = "zwang's default, rtol 1e-10"
VERY_SMALL = 0.01
"""Fraction of the initial value that is invisible in a figure."""
CLOSED_FORM = 1e-12
"""Round-off of values up to 30."""


@dataclasses.dataclass(frozen=True)
class History:
    """States (r, θ, ṙ, θ̇) of one integration, shape (k, 4), and number of calls of its right-hand
    side.
    """

    t: np.ndarray
    y: np.ndarray
    calls: int

    @property
    def errors(self) -> tuple[np.ndarray, np.ndarray]:
        """ε₁ and ε₂ of eq. (58), (59)."""
        (r, theta, r_rate, theta_rate), spiral = self.y.T, np.exp(0.1 * self.y[:, 1])
        return np.hypot(r - spiral, theta + self.t - 30), np.hypot(
            r_rate - 0.1 * spiral * theta_rate, theta_rate + 1
        )


def reproduced() -> Part:
    """Eq. (51)-(59) and Figures 2-5."""
    example = zwang.gallery.load("log-spiral")
    histories, exact = _histories(example), _exact(example)
    return Part(
        [*_errors(histories), *exact, *_masses(example)], [_table(histories)], _charts(histories)
    )


def _histories(example: Example) -> dict[str, History]:
    model = example.model

    @jax.jit
    def rate(t, y):
        return jnp.concatenate([y[2:], motion(model, y[:2], y[2:], t, throw=False).acceleration])

    start, found = np.r_[example.q0, example.v0], {}
    for name, settings in SETTINGS.items():
        run = solve_ivp(
            lambda t, y: np.asarray(rate(t, y)), (0, SPIRAL_DURATION), start, **settings
        )
        found[name] = History(run.t, run.y.T, run.nfev)
    run = example.run()
    # Dopri8 has 12 stages; rejected steps count like accepted ones
    calls = 12 * (int(run.attrs["steps_accepted"]) + int(run.attrs["steps_rejected"]))
    return {**found, PROJECTED: History(np.asarray(run.steps.t), np.asarray(run.steps.y), calls)}


def _errors(histories: dict[str, History]) -> list[Claim]:
    """Figure 5 and the statements of the text about it."""
    made, first = [], histories[ODE45].errors[0].max()
    ends = [histories[name].errors[0].max() for name in SETTINGS if name != ODE45]
    made.append(
        Claim(
            "Figure 5",
            "the errors ε₁, ε₂ of eq. (57) are small",
            "small",
            f"ε₁ ≤ {first:.0e} by {ODE45}",
            compared(bool(first < 1e-5)),
            "No settings are given; they decide the size of the errors.",
        )
    )
    t, e = histories[ODE45].t, histories[ODE45].errors[0]
    # after the initial transient
    power = float(np.polyfit(np.log(t[t > 3]), np.log(e[t > 3]), 1)[0])
    made.append(
        Claim(
            "Figure 5",
            "ε₁ is the integrator's error alone: it falls with the tolerance",
            "not said",
            ", ".join(f"{x:.0e}" for x in ends),
            compared(bool(all(a > b for a, b in zip(ends[:-1], ends[1:], strict=True)))),
            f"Nothing in eq. (57) brings an error back; by {ODE45} it grows as t to the power "
            f"{power:.1f}. Projection keeps it at {histories[PROJECTED].errors[0].max():.0e}.",
        )
    )
    last = float(histories[PROJECTED].y[-1, 0])
    at_20 = float(np.interp(20.0, histories[PROJECTED].t, histories[PROJECTED].y[:, 0]))
    made.append(
        Claim(
            "Figure 3",
            "r settles to a very small magnitude after t ≥ 20",
            "very small",
            f"{at_20:.2f} m at 20 s, {last:.2f} m at 30 s",
            compared(at_20 < VERY_SMALL * np.exp(3.0)),
            "Eq. (53) itself says r = exp(3 − t/10): an eighth of the start at 20 s, and a "
            "twentieth at the end.",
            Verdict.NOT,
        )
    )
    return made


def _exact(example: Example) -> list[Claim]:
    error = example.error(example.run())
    return [
        Claim(
            "eq. (53)",
            "the motion is θ = 30 − t, r = exp(0.1 θ)",
            "that",
            f"differs by {error:.0e}",
            compared(error < CLOSED_FORM),
            "Two constraints on two coordinates leave no freedom.",
        )
    ]


def _masses(example: Example) -> list[Claim]:
    """The mass matrix of eq. (9) gives right results only as long as no degree of freedom
    remains.
    """
    model = example.model

    def printed_force(q, v, t, p):
        r = q[0]
        return model.system.force(q, v, t, p) / jnp.stack([1.0, r**2])

    printed = System(
        2, lambda q, t, p: p["mass"] * jnp.ones(2), printed_force, coordinates=["r", "theta"]
    )
    differ = {}
    # without a degree of freedom, every positive mass gives the right motion, which hides the error
    for what, rows in (("both constraints", 2), ("the spiral alone", 1)):
        members = model.constraints.members[:rows]
        right, wrong = (
            motion(Model(system, members, model.params), example.q0, example.v0).acceleration
            for system in (model.system, printed)
        )
        differ[what] = float(np.abs(np.asarray(right) - np.asarray(wrong)).max())
    correction = (
        "M must be diag(m, m r²) with the force to match; diag(m, m) gives the same free "
        "accelerations but no Lagrangian form, and its constraint force along θ is an angular "
        "acceleration."
    )
    agrees = differ["both constraints"] < CLOSED_FORM * 100 and differ["the spiral alone"] > 1
    return [
        Claim(
            "eq. (9)",
            "equation of motion in polar coordinates, M = diag(m, m)",
            "M = diag(m, m)",
            "accelerations differ by "
            + ", ".join(f"{x:.0e} with {what}" for what, x in differ.items()),
            compared(agrees, correction),
            correction,
            Verdict.CORRECTED,
        )
    ]


def _table(histories: dict[str, History]) -> Grid:
    rows = []
    for name, history in histories.items():
        first, second = history.errors
        rows.append([name, f"{history.calls:,}", f"{first.max():.1e}", f"{second.max():.1e}"])
    return Grid(
        "Error growth against tolerance, eq. (58), (59)",
        ("integration", "calls", "max ε₁", "max ε₂"),
        rows,
        "ε₁ adds meters to radians, as eq. (58) does.",
    )


def _charts(histories: dict[str, History]) -> list:
    run = histories[PROJECTED]
    t = np.linspace(0, SPIRAL_DURATION, 1200)
    r, theta = (np.interp(t, run.t, y) for y in (np.log(run.y[:, 0]), run.y[:, 1]))
    r = np.exp(r)
    errors = {name: (h.t, h.errors[0]) for name, h in histories.items()}
    rates = {f"ε₂, {name}": (h.t, h.errors[1]) for name, h in histories.items() if name == ODE45}
    return [
        curves(
            "figure2",
            "Figure 2: r over θ",
            "From the right to the left.",
            ("θ [rad]", "r [m]"),
            {"r": (theta, r)},
        ),
        curves(
            "figure3",
            "Figure 3: r and θ over time",
            "r ends at 1 m.",
            ("time [s]", "r [m], θ [rad]"),
            {"r": (t, r), "θ": (t, theta)},
        ),
        curves(
            "figure4",
            "Figure 4: path of the particle",
            "It starts outside, at the dot (G in the paper), and moves inward.",
            ("x [m]", "y [m]"),
            {"path": (r * np.cos(theta), r * np.sin(theta))},
            path=True,
        ),
        curves(
            "figure5",
            "Figure 5: errors ε₁ and ε₂",
            "Every line is the same equation, integrated with other settings; the lowest is "
            "projected onto its constraints.",
            ("time [s]", "ε₁ [m, rad], ε₂ [m/s, rad/s]"),
            {**errors, **rates},
            logarithmic=True,
        ),
    ]
