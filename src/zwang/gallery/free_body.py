"""A rigid body without applied torques.

    J ω̇ = −ω × J ω,    q̇ = ½ E(q) ω;   angular momentum in space and energy are constant

    exact, I₁ ≤ I₂ ≤ I₃ or the reverse:  ω = (A₁ cn τ, A₂ sn τ, ± A₃ dn τ),  τ linear in time

Started about its intermediate axis it tumbles (tennis racket theorem). With energy = held, the
energy is a constraint, whose projection corrects coarse steps (Braun and Goldfarb 2009).
Source: Landau and Lifshitz, Mechanics, section 37. Units: m, kg, s.
"""

from __future__ import annotations

import numpy as np
from scipy.integrate import solve_ivp

from zwang.bodies import Body, RigidBodies, Shape
from zwang.dynamics.model import Model
from zwang.equations.constraint import Nonholonomic
from zwang.errors import ModelError
from zwang.gallery.drawing import one
from zwang.gallery.elliptic import first_kind, jacobi
from zwang.gallery.example import Example
from zwang.gallery.index.entry import Entry, Setting
from zwang.plots import Curve, Label, joined, projected
from zwang.plots.data import MUTED, PALETTE, RULE
from zwang.scene import bodies_scene

ENTRY = Entry(
    "free-body",
    "a rigid body without torque; about its middle axis it tumbles",
    20.0,
    {
        "inertia": Setting((1.0, 2.0, 2.8), "principal moments of inertia", "kg m²"),
        "spin": Setting(
            (0.02, 2.0, 0.0), "angular velocity at the start, along the principal axes", "rad/s"
        ),
        "mass": Setting(1.0, "mass", "kg"),
        "energy": Setting("free", "free, or held by a constraint row"),
    },
    "textbook: Landau and Lifshitz, section 37",
    ("space", "quaternion", "exact"),
)


def build(*, inertia, spin, mass, energy) -> Example:
    """The model, started with its axes along the axes of space."""
    J, start = np.asarray(inertia, float), np.asarray(spin, float)
    # moments of every mass distribution satisfy the triangle inequality
    if np.any(J <= 0) or 2 * J.max() > J.sum() * (1 + 1e-12):
        raise ModelError(
            f"free-body got principal moments {list(J)}; each must be positive and at most the "
            "sum of the other two."
        )
    if energy not in ("free", "held"):
        raise ModelError(f"free-body got energy = {energy!r}; expected 'free' or 'held'.")
    twice = start @ (J * start)
    row = lambda q, v, t, p: 0.5 * (v[3:] @ (p["inertia"][0] * v[3:]) - twice)
    rows = [Nonholonomic(row, name="energy", unit="J")] if energy == "held" else []
    bodies = RigidBodies([Body("body", mass, tuple(J))], gravity=(0.0, 0.0, 0.0))
    # edges of a box with these moments
    edges = np.sqrt(np.maximum(6 * (J.sum() - 2 * J) / mass, 1e-3 * J.max() / mass))
    names = ("body.qw", "body.qx", "body.qy", "body.qz")
    return Example(
        Model(bodies.system, rows, bodies.params, name="free-body"),
        q0=np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]),
        v0=np.r_[0.0, 0.0, 0.0, start],
        duration=20.0,
        description=f"A body with principal moments {J[0]:g}, {J[1]:g}, {J[2]:g} kg m² turns "
        "freely.",
        figures={"Polhode": _polhode, "Angular velocity": _angular_velocity},
        exact=lambda t: dict(zip(names, attitude(J, start, t), strict=True)),
        scene=bodies_scene(
            {"body": (Shape("box", tuple(edges)),)},
            {"corner": ("body", 0.5 * edges)},
            traces=("corner",),
        ),
    )


def angular_velocity(J: np.ndarray, start: np.ndarray, t: np.ndarray) -> np.ndarray:
    """ω(t) [rad/s] in body axes by elliptic functions, shape (3, samples)."""
    momentum = J * start
    if np.linalg.norm(np.cross(momentum, start)) <= 1e-14 * (momentum @ start):
        return np.tile(start[:, None], (1, len(t)))  # about a principal axis
    order = np.argsort(J, kind="stable")
    energy2, square = momentum @ start, momentum @ momentum
    # the angular momentum precesses about the axis of the largest moment, or about that of the
    # smallest
    if square < energy2 * J[order[1]]:
        order = order[::-1]
    I1, I2, I3 = J[order]
    w1, w2, w3 = start[order]
    A1 = np.sqrt((energy2 * I3 - square) / (I1 * (I3 - I1)))
    A2 = np.sqrt((energy2 * I3 - square) / (I2 * (I3 - I2)))
    A3 = np.sqrt((square - energy2 * I1) / (I3 * (I3 - I1)))
    parameter = (I2 - I1) * (energy2 * I3 - square) / ((I3 - I2) * (square - energy2 * I1))
    rate = np.sqrt((I3 - I2) * (square - energy2 * I1) / (I1 * I2 * I3))
    way = 1.0 if w3 >= 0 else -1.0
    # from I₁ ω̇₁ = ±(I₂ − I₃) ω₂ ω₃, − for odd orders
    forward = way * np.sign(I3 - I2) * np.linalg.det(np.eye(3)[order])
    # the argument of the elliptic functions at the start
    phase = first_kind(np.arctan2(w2 / A2, w1 / A1), parameter)
    sn, cn, dn = jacobi(forward * rate * np.asarray(t) + phase, parameter)
    w = np.empty((3, len(t)))
    w[order] = A1 * cn, A2 * sn, way * A3 * dn
    return w


def attitude(J: np.ndarray, start: np.ndarray, t: np.ndarray) -> np.ndarray:
    """Quaternion over time, shape (4, samples): the kinematic equation with the exact ω, by DOP853
    at 1e-13.
    """

    def slope(time, q):
        w, r = angular_velocity(J, start, np.array([time]))[:, 0], q[1:]
        return 0.5 * np.r_[-r @ w, q[0] * w + np.cross(r, w)]

    t = np.asarray(t, float)
    end = max(float(t[-1]), 1e-9)
    return solve_ivp(
        slope, (0.0, end), [1.0, 0.0, 0.0, 0.0], method="DOP853", rtol=1e-13, atol=1e-13, t_eval=t
    ).y


def _polhode(run):
    """Path of the angular velocity on the inertia ellipsoid in body axes, in parallel
    projection.
    """
    w, J = run.v[:, 3:], np.asarray(run.model.params["inertia"])[0]
    half = np.sqrt((J @ w[0] ** 2) / J)
    around, down = np.linspace(0, 2 * np.pi, 61), np.linspace(0, np.pi, 31)
    meridians = [_on_ball(a, down) for a in around[:-1:5]]
    parallels = [_on_ball(around, b) for b in down[3:-1:3]]
    ball = joined(
        [_seen(half * line) for line in meridians + parallels], color=RULE, width=0.5, sketch=True
    )
    ends = 1.25 * np.diag(half)
    axes = joined([_seen(np.stack([0 * end, end])) for end in ends], color=MUTED, width=0.8)
    names = [
        Label(_seen(1.1 * end), f"ω{i}", MUTED, (-4.0, -3.0))
        for end, i in zip(ends, "₁₂₃", strict=True)
    ]
    drawn = [ball, axes, joined([_seen(w)], color=PALETTE[0], dot=True)]
    return one(
        drawn,
        "to the right [rad/s]",
        "up in the picture [rad/s]",
        equal=True,
        heading="dot: start",
        labels=names,
    )


def _on_ball(around, down):
    return np.stack(
        np.broadcast_arrays(
            np.cos(around) * np.sin(down), np.sin(around) * np.sin(down), np.cos(down)
        ),
        axis=-1,
    )


def _seen(w):
    """Projection of points, shape (..., 3), seen from 30° above and from between the first two
    axes, shape (..., 2).
    """
    return projected(w, np.pi / 4, np.pi / 6)


def _angular_velocity(run):
    curves = [
        Curve(run.t, w, label) for w, label in zip(run.v[:, 3:].T, ("ω₁", "ω₂", "ω₃"), strict=True)
    ]
    return one(curves, "time [s]", "angular velocity in the body [rad/s]")
