"""An overhead crane in the plane: a trolley and a winch move a load on an elastic rope along a
given path.

    m_t s̈ = u_t + T n_x,   m_w ẅ = T − u_h,   m (Ẍ, Ÿ) = T n − (0, m g)
    T = k (ρ − w),   ρ n = (s − X, −Y):   rope from the load to the trolley, w of it unwound
    load:   (X, Y) = path: at rest, along a straight line, at rest again   servo, relative degree 4
    exact:  T n = m (Ẍ, Ÿ + g),  s = X − Y n_x/n_y,  w = ρ − T/k

The position of the load is a flat output.

There are two actuators for four degrees of freedom, and no zero dynamics: the motion of the load
determines trolley and rope. The rope's force depends only on positions, so trolley and hoist appear
only in the fourth derivative of the load's position. The initial state is at rest with an error of
the load, which decays as exp(−r t) Σ (r t)ⁱ/i!, i < 4. (With a rigid rope, the hoist would act on
the load along the rope at degree 2, and no actuator would act across it.)
Source: textbook; Fliess, Lévine, Martin and Rouchon (1995), Flatness and defect of nonlinear
    systems, Int. J. Control 61, 1327-1361.
Units: m, kg, s.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from zwang.dynamics.model import Model
from zwang.equations.constraint import Holonomic
from zwang.equations.system import System
from zwang.errors import ModelError
from zwang.gallery.drawing import Linkage, paths
from zwang.gallery.example import Example
from zwang.gallery.index.entry import GRAVITY, Entry, Setting
from zwang.gallery.servo.checks import lengths, not_negative, positive
from zwang.gallery.servo.drawing import controls, over_time
from zwang.gallery.servo.tracking import along, decay
from zwang.scene import array_namespace
from zwang.servo import Servo

ENTRY = Entry(
    "crane",
    "an overhead crane that carries its load along a path by trolley and hoist",
    10.0,
    {
        "trolley_mass": Setting(300.0, "mass of the trolley", "kg"),
        "winch_mass": Setting(100.0, "inertia of the winch over its radius squared", "kg"),
        "load_mass": Setting(1000.0, "mass of the load", "kg"),
        "rope_stiffness": Setting(2e5, "stiffness of the rope", "N/m"),
        "gravity": GRAVITY,
        "start": Setting((0.0, -6.0), "where the path starts, the trolley being at height 0", "m"),
        "goal": Setting((8.0, -3.0), "where it ends", "m"),
        "travel_time": Setting(6.0, "how long it takes", "s"),
        "rate": Setting(
            2.0, "rate at which an error decays, all four poles at -rate; 0 keeps it", "1/s"
        ),
        "offset": Setting((0.4, -0.3), "start error of the load", "m"),
    },
    "textbook: Fliess, Lévine, Martin and Rouchon 1995",
    ("servo", "underactuated", "flat", "relative degree", "plane", "exact"),
)

NAME = "crane"
DEGREE = 4
"""Relative degree, as found by `zwang.servo.relative_degree`."""
SMOOTH = np.array([70.0, -315.0, 540.0, -420.0, 126.0, 0.0, 0.0, 0.0, 0.0, 0.0])
"""Polynomial from 0 to 1 on [0, 1] whose derivatives up to the fourth vanish at both ends, so that
the controls are continuous.
"""
COORDINATES = ["trolley", "rope", "load.x", "load.y"]


def build(
    *,
    trolley_mass,
    winch_mass,
    load_mass,
    rope_stiffness,
    gravity,
    start,
    goal,
    travel_time,
    rate,
    offset,
) -> Example:
    """The model, started `offset` [m] away from `start`, at rest."""
    lengths(NAME, 2, start=start, goal=goal, offset=offset)
    positive(
        NAME,
        trolley_mass=trolley_mass,
        winch_mass=winch_mass,
        load_mass=load_mass,
        rope_stiffness=rope_stiffness,
        gravity=gravity,
        travel_time=travel_time,
    )
    not_negative(NAME, rate=rate)
    begin, way, off = np.asarray(start, float), np.subtract(goal, start), np.asarray(offset, float)

    def load(t):
        """Position and acceleration of the load, shape (2, 2, …), for an initial error with zero
        rates; t may be complex.
        """
        # t may be complex, because derivatives of the path are computed by complex steps
        tau = np.where(t.real < travel_time, t, travel_time) / travel_time
        e = decay(rate, (1.0, 0.0, 0.0, 0.0), t)
        place = begin[:, None] + np.outer(way, np.polyval(SMOOTH, tau)) + np.outer(off, e[0])
        # the acceleration of the load determines the rope's direction and force
        bent = np.polyval(np.polyder(SMOOTH, 2), tau) / travel_time**2
        return place, np.outer(way, bent) + np.outer(off, e[2])

    def carried(t):
        """All coordinates, shape (4, …)."""
        (X, Y), (ax, ay) = load(np.atleast_1d(t))
        lean = ax / (ay + gravity)
        rope, tension = -Y * np.sqrt(1 + lean**2), load_mass * np.sqrt(ax**2 + (ay + gravity) ** 2)
        return np.stack([X - Y * lean, rope - tension / rope_stiffness, X, Y])

    # checked along the whole path, not only at its ends
    _possible(*load(np.linspace(0.0, travel_time, 400)), gravity)
    q0, v0 = (x[:, 0] for x in along(carried, 0.0))
    params = {
        "trolley_mass": trolley_mass,
        "winch_mass": winch_mass,
        "load_mass": load_mass,
        "rope_stiffness": rope_stiffness,
        "gravity": gravity,
        "start": start,
        "goal": goal,
        "travel_time": travel_time,
    }
    servo = Servo(
        [Holonomic(_off_path, name="load")],
        np.array([[1.0, 0.0], [0.0, -1.0], [0.0, 0.0], [0.0, 0.0]]),
        actuators=["trolley", "hoist"],
        actuator_units=["N"] * 2,
        gains=rate or None,
        degrees={"load": DEGREE},
    )
    return Example(
        Model(_system(), [], params, servo=servo, name=NAME),
        q0,
        v0,
        duration=10.0,
        description=(
            f"A crane carries a load on an elastic rope from {begin} m to "
            f"{np.asarray(goal, float)} m in {travel_time:g} s; it starts {off} m off, which "
            f"decays with all poles at -{rate:g} 1/s."
        ),
        figures=_figures(begin, way, travel_time),
        exact=lambda t: dict(zip(COORDINATES, carried(np.asarray(t, float)), strict=True)),
    )


def _figures(begin, way, travel_time) -> dict:
    """Path, rope, error and forces."""
    return {
        "Path of the load": paths(
            lambda q: [q[:, 2:].T, np.stack([begin, begin + way], axis=1)],
            ["load", "asked for"],
        ),
        "Rope": Linkage(
            lambda q: array_namespace(q).stack([np.array([1.0, 0.0]) * q[0], q[2:]])[None]
        ),
        "Error of the load": over_time(
            "error [m]",
            lambda run: dict(zip("xy", _error(run, begin, way, travel_time), strict=True)),
        ),
        "Forces": controls("force [N]"),
    }


def _system() -> System:
    def mass_matrix(q, t, p):
        return jnp.stack([p["trolley_mass"], p["winch_mass"], p["load_mass"], p["load_mass"]])

    def force(q, v, t, p):
        across, up = q[0] - q[2], -q[3]
        length = jnp.hypot(across, up)
        tension = p["rope_stiffness"] * (length - q[1])
        nx, ny = across / length, up / length
        return jnp.stack(
            [-tension * nx, tension, tension * nx, tension * ny - p["load_mass"] * p["gravity"]]
        )

    def potential(q, t, p):
        stretch = jnp.hypot(q[0] - q[2], q[3]) - q[1]
        return 0.5 * p["rope_stiffness"] * stretch**2 + p["load_mass"] * p["gravity"] * q[3]

    return System(
        4, mass_matrix, force, potential=potential, coordinates=COORDINATES, units=["m"] * 4
    )


def _off_path(q, t, p):
    tau = jnp.clip(t / p["travel_time"], 0.0, 1.0)
    return q[2:] - p["start"] - (p["goal"] - p["start"]) * jnp.polyval(jnp.asarray(SMOOTH), tau)


def _error(run, begin, way, travel_time):
    share = np.polyval(SMOOTH, np.clip(run.t / travel_time, 0, 1))
    return run.q[:, 2:].T - begin[:, None] - np.outer(way, share)


def _possible(place, acceleration, gravity: float) -> None:
    """Refuse a path above the trolley, or with a downward acceleration larger than gravity."""
    if not np.all(place[1] < 0):
        raise ModelError(
            f"{NAME}: the load is to be at height {place[1].max():g} m, but the trolley runs at "
            "0; keep it below."
        )
    if not np.all(acceleration[1] > -gravity):
        raise ModelError(
            f"{NAME}: the load is to be accelerated downward at {-acceleration[1].min():.4g} "
            "m/s², more than gravity, and a rope does not push; take more travel_time, or a "
            "smaller rate or offset."
        )
