"""N four-bar loops in a row: N + 1 cranks on the ground, joined by N couplers, all of equal length.

    2 (N + 1) + 4 N rows for 3 (2 N + 1) coordinates; all bars are collinear twice per turn, where
    the rank drops by N
    exact:  ((N + 1)/3 + N) m l² θ̈ = −((N + 1)/2 + N) m g l cos θ,   couplers horizontal

Source: IFToMM library of computational benchmark problems, A02 (there N = 2 … 40, upright start,
    crank tips at 1 m/s); González, Dopico, Lugrís and Cuadrado (2006), A benchmarking system for
    MBS simulation software, Multibody Syst. Dyn. 16, 179-190.
Units: m, kg, s; or mm, g, s, where energies are in nJ.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from zwang.bodies import Body, PlanarBodies
from zwang.dynamics.model import Model
from zwang.equations.constraint import Holonomic
from zwang.errors import ModelError
from zwang.gallery.drawing import Linkage, curve
from zwang.gallery.example import Example
from zwang.gallery.index.entry import GRAVITY, Entry, Setting
from zwang.gallery.swing import swing
from zwang.scene import array_namespace

ENTRY = Entry(
    "n-four-bar",
    "N four-bar loops in a row, whose bars are all collinear twice a turn",
    10.0,
    {
        "N": Setting(2, "number of loops"),
        "length": Setting(1.0, "length of each bar", "m"),
        "mass": Setting(1.0, "mass of each bar, uniform", "kg"),
        "gravity": GRAVITY,
        "speed": Setting(1.0, "speed of the crank tips at the start, to the right", "m/s"),
        "units": Setting(
            "m-kg",
            "units of the model: m-kg, or mm-g for millimetres and grams (energy then in nJ)",
        ),
        "row_factor": Setting(
            1.0, "rows are multiplied by factors from 1/row_factor to row_factor"
        ),
        "repeat": Setting(1, "how often each constraint is written down"),
    },
    "IFToMM library of computational benchmark problems, A02",
    ("plane", "linkage", "redundant", "singular", "exact", "benchmark"),
)

UNITS = {"m-kg": (1.0, 1.0, "m", "J"), "mm-g": (1e3, 1e3, "mm", "nJ")}


def build(*, N, length, mass, gravity, speed, units, row_factor, repeat) -> Example:
    """The model, started upright with its crank tips moving to the right."""
    if N < 1 or repeat < 1 or not row_factor > 0:
        raise ModelError(
            f"n-four-bar got N = {N}, repeat = {repeat} and row_factor = {row_factor}; expected "
            "≥ 1, ≥ 1 and > 0."
        )
    if units not in UNITS:
        raise ModelError(f"n-four-bar has no units {units!r}; expected {' or '.join(UNITS)}.")
    per_meter, per_kilogram, unit, energy_unit = UNITS[units]
    m, l, g = mass * per_kilogram, length * per_meter, gravity * per_meter
    bodies = [Body(f"crank {i + 1}", m, m * l**2 / 12) for i in range(N + 1)]
    bodies += [Body(f"coupler {i + 1}", m, m * l**2 / 12) for i in range(N)]
    bars = PlanarBodies(bodies, gravity=(0.0, -g), length_unit=unit, energy_unit=energy_unit)
    model = Model(
        bars.system,
        _pins(bars, N, row_factor, repeat),
        {**bars.params, "length": l},
        name=f"n-four-bar {N}",
    )
    q0, v0 = _start(N, l, speed * per_meter)

    def exact(t):
        stiffness = (1.5 * N + 0.5) / ((4 * N + 1) / 3) * gravity / length
        theta = swing(stiffness, np.pi, -speed / length, t) - np.pi / 2
        cranks = {f"crank {i + 1}.angle": theta for i in range(N + 1)}
        return {**cranks, **{f"coupler {i + 1}.angle": 0 * theta for i in range(N)}}

    return Example(
        model,
        q0,
        v0,
        duration=10.0,
        description=(
            f"{N} four-bar loop{'s' * (N > 1)} in a row, started upright with the crank tips at "
            f"{speed:g} m/s. All bars are collinear twice a turn, where the constraint rows "
            f"lose {N} rank{'s' * (N > 1)} at once."
        ),
        figures={
            "Linkage": Linkage(lambda q: _bars(q, l), unit=unit, until=1.0),
            "Phase portrait": curve("crank 1.angle", "d/dt crank 1.angle"),
        },
        exact=exact,
    )


def _pins(bars: PlanarBodies, N: int, row_factor: float, repeat: int) -> list[Holonomic]:
    """Three groups of pins, `repeat` times, with rows multiplied by factors from 1/row_factor to
    row_factor in a fixed random order.
    """
    cranks, couplers = slice(0, N + 1), slice(N + 1, None)
    left, right = np.array([-0.5, 0.0]), np.array([0.5, 0.0])
    across = np.stack([np.arange(N + 1.0), np.zeros(N + 1)], axis=1)

    def ground(q, t, p):
        return bars.point(q, cranks, p["length"] * left) - p["length"] * across

    def left_of_coupler(q, t, p):
        return bars.point(q, slice(0, N), p["length"] * right) - bars.point(
            q, couplers, p["length"] * left
        )

    def right_of_coupler(q, t, p):
        return bars.point(q, slice(1, N + 1), p["length"] * right) - bars.point(
            q, couplers, p["length"] * right
        )

    groups = {
        "ground pins": (ground, N + 1),
        "left coupler pins": (left_of_coupler, N),
        "right coupler pins": (right_of_coupler, N),
    }
    rows = 2 * sum(pins for _, pins in groups.values()) * repeat
    # in random order, so that no group of rows is uniformly long or short
    factors = iter(row_factor ** np.random.default_rng(1).permutation(np.linspace(-1.0, 1.0, rows)))
    return [
        Holonomic(
            _scaled(phi, np.array([next(factors) for _ in range(2 * pins)])),
            name=name if i == 0 else f"{name}, again {i}",
        )
        for i in range(repeat)
        for name, (phi, pins) in groups.items()
    ]


def _scaled(phi: Callable, factor: np.ndarray) -> Callable:
    return lambda q, t, p: factor * phi(q, t, p).ravel()


def _start(N: int, length: float, speed: float) -> tuple[np.ndarray, np.ndarray]:
    """Cranks upright on their pivots, couplers horizontal on top."""
    i, k = np.arange(N + 1.0), np.arange(N) + 0.5
    cranks = np.stack([i * length, 0.5 * length + 0 * i, np.pi / 2 + 0 * i], axis=1)
    couplers = np.stack([k * length, length + 0 * k, 0 * k], axis=1)
    # the center of an upright crank moves at half the speed of its tip
    turning = np.tile([0.5 * speed, 0.0, -speed / length], (N + 1, 1))
    return np.vstack([cranks, couplers]).ravel(), np.vstack(
        [turning, np.tile([speed, 0.0, 0.0], (N, 1))]
    ).ravel()


def _bars(q: np.ndarray, length: float) -> np.ndarray:
    """Ends of all bars, shape (2 N + 1, 2, 2)."""
    xp = array_namespace(q)
    half = 0.5 * length * xp.stack([xp.cos(q[2::3]), xp.sin(q[2::3])], axis=1)
    center = q.reshape(-1, 3)[:, :2]
    return xp.stack([center - half, center + half], axis=1)
