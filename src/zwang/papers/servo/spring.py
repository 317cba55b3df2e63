"""Two masses and a spring: the printed force keeps every error of the start; a gain takes it
away.
"""

from __future__ import annotations

import equinox as eqx
import numpy as np

import zwang.gallery
from zwang.gallery import Example
from zwang.papers.claim import Claim, Part, Verdict, compared
from zwang.papers.drawing import curves
from zwang.servo import Rate
from zwang.simulation.simulate import simulate

STARTS = {
    "consistent": {"offset": 0.0},
    "wrong distance": {"offset": 0.3},
    "wrong velocity": {"offset": 0.0, "offset_rate": 0.2},
    "both wrong": {"offset": -0.5, "offset_rate": -0.4, "speed": 0.1},
}
TIMES = np.linspace(0, 5, 101)
DECAY = 5.0
"""Rate at which the error is taken away where it is [1/s]."""
AGREES = 1e-9


def reproduced() -> Part:
    """Eq. (36)-(47), from starts on and off the constraint."""
    example = zwang.gallery.load("two-mass-spring")
    printed = {name: _run(example, settings, 0.0) for name, settings in STARTS.items()}
    gained = _run(example, STARTS["both wrong"], DECAY)
    delta = {name: run.q[:, 1] - run.q[:, 0] - 2.0 for name, run in printed.items()}
    delta_gained = gained.q[:, 1] - gained.q[:, 0] - 2.0
    figure = curves(
        "spring",
        "Section IV: error of the distance",
        "Printed force from four starts, and with a gain from the worst of them.",
        ("time [s]", "δ [m]"),
        {
            **{f"{name}, printed force": (TIMES, d) for name, d in delta.items()},
            f"both wrong, rate {DECAY:g}/s": (TIMES, delta_gained),
        },
    )
    return Part(
        [_force(printed), *_errors(delta), _gain(delta_gained), _motion(printed["consistent"])],
        charts=[figure],
    )


def _run(example: Example, settings: dict, rate: float):
    start = zwang.gallery.load("two-mass-spring", **settings)
    model = eqx.tree_at(lambda m: m.servo.gains["distance"], example.model, Rate(rate))
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
        "Eq. (39) prints x₂ for m₂ in M; eq. (40) calls the spring's force a constraint force.",
    )


def _errors(delta: dict) -> list[Claim]:
    made = []
    for name, d in delta.items():
        settings = STARTS[name]
        stays = settings["offset"] + settings.get("offset_rate", 0.0) * TIMES
        off = float(abs(d - stays).max())
        obeys = float(abs(d).max()) < AGREES
        consistent = name == "consistent"
        why = "" if consistent else f"δ̈ = 0 is all that it asks for: δ = δ₀ + t δ̇₀ to {off:.0e}."
        made.append(
            Claim(
                "eq. (47)",
                f"δ = 0 from a start that is {name}"
                if consistent
                else f"δ → 0 from a start with {name}",
                "0",
                f"|δ| ≤ {abs(d).max():.1e} m",
                compared(obeys and off < AGREES),
                why,
                Verdict.REPRODUCED if consistent else Verdict.NOT,
            )
        )
    return made


def _gain(d: np.ndarray) -> Claim:
    offset, speed = STARTS["both wrong"]["offset"], STARTS["both wrong"]["offset_rate"]
    off = float(abs(d - np.exp(-DECAY * TIMES) * (offset + (speed + DECAY * offset) * TIMES)).max())
    correction = f"With m₁ (2 r δ̇ + r² δ) added to the force, r = {DECAY:g}/s."
    return Claim(
        "eq. (47)",
        "δ → 0 from a wrong start",
        "0",
        f"|δ| = {abs(d[-1]):.0e} m after 5 s, (s + r)² δ = 0 to {off:.0e}",
        compared(off < AGREES, correction),
        correction,
        Verdict.CORRECTED,
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
