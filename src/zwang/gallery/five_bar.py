"""Three parallel cranks on the ground joined by one coupler, with one degree of freedom although
there are 12 rows for 12 coordinates.

    six pins, 12 rows of rank 11; rank 10 if all bars are collinear, a bifurcation of the motion
    (parallel or crossed)
    exact:  (3 (J + m l²/4) + m₂ l²) θ̈ = −(3 m/2 + m₂) g l cos θ,   coupler angle 0,   l = 1 m

From the default start it passes the collinear configuration about twice per period. Source: de
Falco, Pennestrì and Vita, An investigation of the influence of pseudoinverse matrix calculations on
multibody dynamics simulations by means of the Udwadia-Kalaba formulation, Figure 1 (ground pivots
at 0, 1, 2 m, which the coupler's length implies). Units: m, kg, s.
"""

from __future__ import annotations

import numpy as np

from zwang.bodies import Body, PlanarBodies
from zwang.dynamics.model import Model
from zwang.equations.constraint import Holonomic
from zwang.gallery.drawing import Linkage, curve
from zwang.gallery.example import Example
from zwang.gallery.index.entry import GRAVITY, Entry, Setting
from zwang.gallery.swing import swing
from zwang.scene import array_namespace

ENTRY = Entry(
    "five-bar",
    "three parallel cranks and a coupler: 12 rows of rank 11, and 10 where all bars are collinear",
    20.0,
    {
        "angle": Setting(
            45.0, "start angle of the cranks above the horizontal, released from rest", "deg"
        ),
        "crank_mass": Setting(1.0, "mass of each crank", "kg"),
        "crank_inertia": Setting(0.1, "inertia of each crank about its center", "kg m²"),
        "coupler_mass": Setting(2.0, "mass of the coupler", "kg"),
        "coupler_inertia": Setting(0.2, "inertia of the coupler about its center", "kg m²"),
        "gravity": GRAVITY,
    },
    "de Falco, Pennestrì and Vita, pseudoinverse calculations in multibody dynamics, Figure 1",
    ("plane", "linkage", "redundant", "singular", "exact"),
)

PIVOTS = (0.0, 1.0, 2.0)


def build(*, angle, crank_mass, crank_inertia, coupler_mass, coupler_inertia, gravity) -> Example:
    """The model, released from rest with its cranks at `angle` [deg] above the horizontal."""
    bars, pins = mechanism(crank_mass, crank_inertia, coupler_mass, coupler_inertia, gravity)

    def exact(t):
        inertia = 3 * (crank_inertia + crank_mass / 4) + coupler_mass
        stiffness = (1.5 * crank_mass + coupler_mass) * gravity / inertia
        theta = swing(stiffness, np.radians(angle) + np.pi / 2, 0.0, t) - np.pi / 2
        return {**{f"crank {i}.angle": theta for i in (1, 2, 3)}, "coupler.angle": 0 * theta}

    return Example(
        Model(bars.system, pins, bars.params, name="five-bar"),
        q0=parallel(np.radians(angle)),
        v0=np.zeros(12),
        duration=20.0,
        description=(
            f"Three parallel cranks and a coupler, released from rest {angle:g}° above the "
            "horizontal. Its 12 constraint rows have rank 11, and 10 where all bars are "
            "collinear."
        ),
        figures={
            "Linkage": Linkage(drawn, until=1.4),
            "Phase portrait": curve("crank 1.angle", "d/dt crank 1.angle"),
        },
        exact=exact,
    )


def mechanism(
    crank_mass, crank_inertia, coupler_mass, coupler_inertia, gravity
) -> tuple[PlanarBodies, list[Holonomic]]:
    """The bars and their six pins."""
    cranks = [Body(f"crank {i}", crank_mass, crank_inertia) for i in (1, 2, 3)]
    bars = PlanarBodies(
        [*cranks, Body("coupler", coupler_mass, coupler_inertia)], gravity=(0.0, -gravity)
    )
    return bars, [pin for crank in (0, 1, 2) for pin in _pins(bars, crank)]


def parallel(angle: np.ndarray | float) -> np.ndarray:
    """Coordinates with all cranks at `angle` [rad] and the coupler level, shape (12,
    *angle.shape).
    """
    c, s = np.cos(angle), np.sin(angle)
    return np.stack(
        [part for x in PIVOTS for part in (x + c / 2, s / 2, angle)] + [1 + c, s, 0 * c]
    )


def _pins(bars: PlanarBodies, crank: int) -> list[Holonomic]:
    """The pins of one crank: to the ground, and to the coupler, whose pins are at −1, 0 and 1 m
    from its center.
    """
    pivot = np.array([PIVOTS[crank], 0.0])
    return [
        Holonomic(
            lambda q, t, p: bars.point(q, crank, (-0.5, 0.0)) - pivot, name=f"ground {crank + 1}"
        ),
        Holonomic(
            lambda q, t, p: bars.point(q, crank, (0.5, 0.0)) - bars.point(q, 3, (crank - 1.0, 0.0)),
            name=f"top {crank + 1}",
        ),
    ]


def drawn(q: np.ndarray) -> np.ndarray:
    """Ends of cranks and coupler, shape (4, 2, 2)."""
    # the coupler is twice as long as a crank
    xp = array_namespace(q)
    along = xp.stack([xp.cos(q[2::3]), xp.sin(q[2::3])], axis=1)
    half = np.array([0.5, 0.5, 0.5, 1.0])[:, None] * along
    center = q.reshape(4, 3)[:, :2]
    return xp.stack([center - half, center + half], axis=1)
