"""Andrews' squeezing mechanism: seven bodies in three loops, driven by a constant torque; 7 angles,
6 constraints.

    β of the crank OF,  Θ of FE relative to it,  γ of the triangle BDE,  φ and δ of HE and AH,
    Ω and ε of GE and AG;  the spring CD pulls at the triangle

The chains A-H-E, A-G-E and B-E meet the chain O-F-E in the point E. The crank makes two and a half
turns in 30 ms; the masses are a few grams, so all motions are fast.

Source: Hairer and Wanner (1996), Solving Ordinary Differential Equations II, 2nd ed., section VI.9;
    data from there (Schiehlen 1990). Units: m, kg, s.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from zwang.dynamics.model import Model
from zwang.equations.constraint import Holonomic
from zwang.equations.lagrangian import Lagrangian
from zwang.gallery.drawing import Linkage, paths
from zwang.gallery.example import Example
from zwang.gallery.index.entry import Entry, Setting
from zwang.inputs.arithmetic import on_host, traced, xp
from zwang.scene import Bar, Mark, Plate, Scene, Seen, array_namespace

ENTRY = Entry(
    "squeezer",
    "Andrews' squeezing mechanism: seven bodies, three loops, a spring and a motor",
    0.03,
    {
        "torque": Setting(0.033, "torque of the motor on the crank", "N m"),
        "stiffness": Setting(4530.0, "of the spring", "N/m"),
    },
    "textbook: Hairer and Wanner, Solving Ordinary Differential Equations II, section VI.9",
    ("plane", "linkage", "benchmark"),
)
MASSES = (0.04325, 0.00365, 0.02373, 0.00706, 0.07050, 0.00706, 0.05498)
INERTIAS = (2.194e-6, 4.410e-7, 5.255e-6, 5.667e-7, 1.169e-5, 5.667e-7, 1.912e-5)
"""Moments of inertia of the bodies K1 to K7 about their centers of mass [kg m²]."""
A, B, C = (-0.06934, -0.00227), (-0.03635, 0.03273), (0.014, 0.072)
"""Pivots on the ground, in addition to O in the origin [m]."""
CRANK, LINK, SIDE = 0.007, 0.028, 0.035
"""Lengths OF, FE and BE [m]."""
UPPER_ARM, UPPER_BAR, LOWER_ARM, LOWER_BAR = 0.04, 0.02, 0.04, 0.02
"""Lengths AH, HE, AG and GE [m]."""
REST = 0.07785
"""Length of the spring without load [m]."""
START = (
    -0.0617138900142764496358948458001,
    0.0,
    0.455279819163070380255912382449,
    0.222668390165885884674473185609,
    0.487364979543842550225598953530,
    -0.222668390165885884674473185609,
    1.23054744454982119249735015568,
)
NAMES = ("beta", "theta", "gamma", "phi", "delta", "omega", "epsilon")


def along(angle, x: float, y: float = 0.0):
    """The vector (x, y) rotated by an angle."""
    c, s = xp.cos(angle), xp.sin(angle)
    return xp.stack([x * c - y * s, x * s + y * c])


def joints(q):
    """Positions of F, E, D, H and G."""
    beta, theta, gamma, _, delta, _, epsilon = q
    F = along(beta, CRANK)
    D = xp.asarray(B) + along(gamma, 0.02, -0.018)
    H, G = xp.asarray(A) + along(delta, UPPER_ARM), xp.asarray(A) + along(epsilon, 0, -LOWER_ARM)
    return F, F - along(beta + theta, LINK), D, H, G


def closures(q):
    """Position of E by the chains from B, from A through H and from A through G, minus that from
    O.
    """
    _, _, gamma, phi, delta, omega, epsilon = q
    _, E, _, H, G = joints(q)
    ends = (
        jnp.array(B) + along(gamma, 0, -SIDE),
        H + along(phi + delta, 0, -UPPER_BAR),
        G + along(omega + epsilon, LOWER_BAR),
    )
    return jnp.concatenate([E - end for end in ends])


def centers(q):
    """Centers of mass of the seven bodies, shape (7, 2)."""
    beta, theta, gamma, phi, delta, omega, epsilon = q
    F, _, _, H, G = joints(q)
    a, b = jnp.array(A), jnp.array(B)
    return jnp.stack(
        [
            along(beta, 0.00092),
            F - along(beta + theta, 0.0115),
            b + along(gamma, 0.01043, -0.01874),
            H + along(phi + delta, 0, -0.00579),
            a + along(delta, 0.02308, 0.00916),
            G + along(omega + epsilon, 0.00579),
            a + along(epsilon, 0.00449, -0.01228),
        ]
    )


def kinetic(q, v, t, p):
    """Kinetic energy of the seven bodies."""
    speeds = jax.jvp(centers, (q,), (v,))[1]
    db, dt, dg, dp, dd, do, de = v
    spins = jnp.stack([db, db + dt, dg, dp + dd, dd, do + de, de])
    return 0.5 * jnp.array(MASSES) @ jnp.sum(speeds**2, axis=1) + 0.5 * jnp.array(INERTIAS) @ (
        spins**2
    )


def potential(q, t, p):
    """Energy of the spring CD."""
    _, _, D, _, _ = joints(q)
    return 0.5 * p["stiffness"] * (jnp.linalg.norm(D - jnp.array(C)) - REST) ** 2


def build(*, torque, stiffness) -> Example:
    """The model, started from rest."""
    system = Lagrangian(
        kinetic,
        potential,
        lambda q, v, t, p: jnp.zeros(7).at[0].set(p["torque"]),
        nq=7,
        coordinates=NAMES,
        units=["rad"] * 7,
    )
    closed = Holonomic(lambda q, t, p: closures(q), name="closures")
    return Example(
        Model(system, [closed], {"torque": torque, "stiffness": stiffness}, name="squeezer"),
        q0=np.array(START),
        v0=np.zeros(7),
        duration=0.03,
        rtol=1e-9,
        description="A motor turns the crank of Andrews' squeezing mechanism from rest.",
        figures={
            "Joints": paths(lambda q: [x.T for x in _places(q)[:, 5:].swapaxes(0, 1)], "EDHG"),
            "Bars": Linkage(lambda q: _bars(_places(q[None])[0]), until=0.0125),
        },
        scene=SCENE,
    )


def _places(q):
    """Positions of all points of the scene, shape (n, 9, 2)."""
    fixed, of_q = np.array([(0.0, 0.0), A, B, C]), array_namespace(q)
    with on_host() if of_q is np else traced():  # a picture must not wait for a compilation
        moving = of_q.stack([of_q.stack(joints(x)) for x in q])
    return of_q.concatenate([of_q.broadcast_to(fixed, (len(q), 4, 2)), moving], axis=1)


POINTS = ("O", "A", "B", "C", "F", "E", "D", "H", "G")
BARS = ("OF", "FE", "BE", "BD", "DE", "AH", "HE", "AG", "GE")


def _bars(places):
    """Ends of the bars at one instant, shape (9, 2, 2)."""
    return places[np.array([[POINTS.index(x) for x in bar] for bar in BARS])]


SCENE = Scene(
    POINTS,
    lambda q: Seen(_places(q)),
    (
        *(Bar((bar[0], bar[1]), bar) for bar in BARS if bar not in ("BE", "BD", "DE")),
        Bar(("C", "D"), kind="spring"),
    ),
    (Plate(("B", "D", "E"), "BDE"),),
    (
        *(Mark(x, x, grounded=True, constraints=()) for x in "OABC"),
        Mark("E", "E", constraints=("closures",)),
        *(Mark(x, x, constraints=()) for x in "FDHG"),
    ),
    traces=("E",),
)
