"""Two masses and a spring: the force keeps a motion on the constraint, and keeps every initial
error; Baumgarte's form removes errors.
"""

from __future__ import annotations

import numpy as np

import zwang.gallery
from zwang.gallery import Example
from zwang.objects.record import replace
from zwang.papers.claim import Claim, Part, compared
from zwang.papers.drawing import curves
from zwang.servo import Rate, Servo
from zwang.simulation.simulate import simulate

STARTS = {
    "consistent": {"offset": 0.0},
    "wrong distance": {"offset": 0.3},
    "wrong velocity": {"offset": 0.0, "offset_rate": 0.2},
    "both wrong": {"offset": -0.5, "offset_rate": -0.4, "speed": 0.1},
}
TIMES = np.linspace(0, 5, 101)
DECAY = 5.0
"""Decay rate of the error in stabilized runs [1/s]."""
AGREES = 1e-9


def reproduced() -> Part:
    """Eq. (36)-(47), from initial states on and off the constraint."""
    example = zwang.gallery.load("two-mass-spring")
    printed = {name: _run(example, settings, 0.0) for name, settings in STARTS.items()}
    gained = _run(example, STARTS["both wrong"], DECAY)
    delta = {name: run.q[:, 1] - run.q[:, 0] - 2.0 for name, run in printed.items()}
    delta_gained = gained.q[:, 1] - gained.q[:, 0] - 2.0
    figure = curves(
        "spring",
        "Section IV: error of the distance",
        "The force of eq. (47) from four starts, and with the stabilization of section III.B from "
        "the worst of them.",
        ("time [s]", "δ [m]"),
        {
            **{f"{name}, eq. (47)": (TIMES, d) for name, d in delta.items()},
            f"both wrong, stabilized, α = {DECAY:g}/s": (TIMES, delta_gained),
        },
    )
    return Part(
        [_force(printed), *_errors(delta), _decays(delta_gained), _motion(printed["consistent"])],
        charts=[figure],
    )


def _run(example: Example, settings: dict, rate: float):
    start = zwang.gallery.load("two-mass-spring", **settings)
    servo = example.model.servo
    assert isinstance(servo, Servo)
    gains = {**servo.gains, "distance": Rate(rate)}
    model = replace(example.model, servo=replace(servo, gains=gains))
    return simulate(model, start.q0, start.v0, times=list(TIMES), rtol=1e-11)


def _force(printed: dict) -> Claim:
    """Eq. (47), `u = −(1 + m₁/m₂) k (x₂ − x₁ − l)`."""
    off = 0.0
    for run in printed.values():
        u = run.dataset.control.values[:, 0]
        off = max(off, float(abs(u + 1.5 * 10 * (run.q[:, 1] - run.q[:, 0] - 1)).max()))
    return Claim(
        "eq. (47)",
        "force on mass 1 that keeps the distance",
        "−(1 + m₁/m₂) k (x₂ − x₁ − l)",
        f"differs by {off:.0e} N",
        compared(off < AGREES),
        "Eq. (40) calls the spring's force a constraint force; it is an impressed one.",
    )


def _errors(delta: dict) -> list[Claim]:
    """Section III.B, which assumes an initial state on the constraint, and the error that any other
    initial state keeps.
    """
    kept = {
        name: STARTS[name]["offset"] + STARTS[name].get("offset_rate", 0.0) * TIMES
        for name in delta
    }
    off = max(float(abs(d - kept[name]).max()) for name, d in delta.items())
    largest = float(abs(delta["consistent"]).max())
    ends = ", ".join(f"{d[-1]:.2f}" for name, d in delta.items() if name != "consistent")
    return [
        Claim(
            "section III.B, eq. (44)-(47)",
            "from a start on the constraint the second-order form loses nothing: δ = 0",
            "δ = 0",
            f"|δ| ≤ {largest:.1e} m",
            compared(largest < AGREES),
        ),
        Claim(
            "section III.B, eq. (45)",
            "what a differentiated constraint has lost is in the start",
            "a constant",
            f"δ = δ₀ + t δ̇₀ to {off:.0e} m",
            compared(off < AGREES),
            f"Starts off the constraint, which the paper does not use: δ̈ = 0 keeps their error, "
            f"{ends.replace('-', '−')} m after {TIMES[-1]:g} s.",
        ),
    ]


def _decays(d: np.ndarray) -> Claim:
    """Baumgarte's form with α = β, from an initial state with an error."""
    offset, speed = STARTS["both wrong"]["offset"], STARTS["both wrong"]["offset_rate"]
    off = float(abs(d - np.exp(-DECAY * TIMES) * (offset + (speed + DECAY * offset) * TIMES)).max())
    return Claim(
        "section III.B",
        "φ̈ + 2αφ̇ + β²φ = 0 with α = β > 0 takes every error away",
        "φ → 0",
        f"|δ| = {abs(d[-1]):.0e} m after {TIMES[-1]:g} s, (s + α)² δ = 0 to {off:.0e}",
        compared(off < AGREES),
        f"α = {DECAY:g}/s, from a start with both errors; it adds m₁ (2αδ̇ + α²δ) to the force "
        "of eq. (47).",
    )


def _motion(run) -> Claim:
    wanted = -10 * 1 / 2 * TIMES**2 / 2
    off = float(abs(run.q[:, 0] - wanted).max())
    return Claim(
        "section IV",
        "both masses then move together",
        "not said",
        f"x₁ = −(k l/m₂) t²/2 to {off:.0e} m",
        compared(off < AGREES),
        "The kept distance stretches the spring, which accelerates the pair for ever.",
    )
