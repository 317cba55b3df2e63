"""A SCARA robot whose joints move its hand along a helix: one servo constraint for every degree of
freedom.

    M = [[α + β + 2γ c₂, β + γ c₂, δ, 0], [β + γ c₂, β, δ, 0], [δ, δ, δ, 0], [0, 0, 0, m₄]]
    F = −C q̇ − (0, 0, 0, m₄ g)
    Φ = (x − R sin ω t,  y − y₀ − R cos ω t,  q₁ + q₂ + q₃,  q₄ − w t)
    x = −l₁ s₁ − l₂ s₁₂,  y = l₁ c₁ + l₂ c₁₂
    Φ̈ + damping Φ̇ + stiffness Φ = 0, eq. (52); without both the error of the start grows linearly
    with time
    exact: x, y, the orientation and z are the path and Φ(t); the joint angles by the cosine rule

The paper's initial velocities are rounded (`start` "paper"), which is why its errors grow. Its
printed angles (30, 55, 24)° miss the path by 0.4 m; the correct signs are (30, −55, 24)°
("rounded"), or all reversed with the elbow on the left. "exact" starts on the path.
Source: SCARA robot paper, eq. (34)-(36), (38)-(54). Units: m, kg, s.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from zwang.dynamics.model import Model
from zwang.equations.constraint import Holonomic
from zwang.equations.system import System
from zwang.errors import ModelError
from zwang.gallery.drawing import paths
from zwang.gallery.example import Example
from zwang.gallery.index.entry import GRAVITY, Entry, Setting
from zwang.gallery.servo.checks import lengths, not_negative, one_of, positive
from zwang.gallery.servo.drawing import controls, over_time
from zwang.gallery.servo.tracking import along, decay
from zwang.scene import array_namespace, bars_scene
from zwang.servo import SecondOrder, Servo

ENTRY = Entry(
    "scara",
    "a SCARA robot whose joints drive its hand along a helix",
    20.0,
    {
        "mass": Setting((20.0, 15.0, 15.0, 0.5), "masses", "kg"),
        "length": Setting((0.2, 0.25), "lengths of the two arms", "m"),
        "center": Setting((0.1, 0.125), "distance of each arm's center of mass from its axis", "m"),
        "inertia": Setting((0.27, 0.31, 0.02, 0.0001), "inertias about the vertical", "kg m²"),
        "radius": Setting(0.05, "radius of the helix", "m"),
        "middle": Setting(0.35, "distance of the helix from the first axis", "m"),
        "period": Setting(5.0, "time for one turn of the helix", "s"),
        "climb": Setting(0.02, "climb of the helix", "m/s"),
        "damping": Setting(0.5, "damping of the error, alpha of the paper", "1/s"),
        "stiffness": Setting(
            200.0, "stiffness of the error, beta of the paper; with damping 0 for none", "1/s²"
        ),
        "start": Setting(
            "paper",
            "paper: printed velocities; rounded: printed angles too; exact: on the path",
        ),
        "elbow": Setting("right", "right or left"),
        "gravity": GRAVITY,
    },
    "dynamic modeling of the SCARA robot, eq. (34)-(54)",
    ("servo", "full actuation", "robot", "paper", "exact"),
)

NAME = "scara"
COORDINATES = ["q1", "q2", "q3", "q4"]
ROUNDED = np.radians([30.0, -55.0, 24.0])
"""Angles as printed, with the elbow on the right and the sign of q₂ corrected."""
PRINTED_RATES = np.array([-0.157, 0.0001, 0.157, 0.0195])
"""Velocities as printed, which are valid for both branches."""

SCARA_SAMPLES = 801
"""Number of samples; the default samples are too far apart for an error that oscillates twice per
second.
"""


def build(
    *,
    mass,
    length,
    center,
    inertia,
    radius,
    middle,
    period,
    climb,
    damping,
    stiffness,
    start,
    elbow,
    gravity,
) -> Example:
    """The model; `start` is "paper", "rounded" or "exact", `elbow` "right" (q₂ < 0) or "left"."""
    _check_sizes(mass, length, center, inertia)
    _check_path(length, radius, middle, period)
    _check_error(damping, stiffness, start, elbow)
    frequency, side = 2 * np.pi / period, -1.0 if elbow == "right" else 1.0

    def path(t):
        return np.stack(
            [
                radius * np.sin(frequency * t),
                middle + radius * np.cos(frequency * t),
                0 * t,
                climb * t,
            ]
        )

    q0 = (
        np.r_[-side * ROUNDED, 0.0]
        # the printed angles miss the path, and are used only on request
        if start == "rounded"
        else _joints(path(np.asarray(0.0)), length, side)
    )
    v0 = PRINTED_RATES.copy() if start != "exact" else _rates(q0, along(path, 0.0)[1], length)
    # the initial error; its exact decay is added to the path
    error, error_rate = along(lambda t: _hand(q0 + v0 * t, length) - path(t), 0.0)
    gain = SecondOrder(np.sqrt(stiffness), damping / (2 * np.sqrt(stiffness)) if stiffness else 0.0)

    def exact(t):
        t = np.asarray(t, float)
        off = np.multiply.outer(error, decay(gain, (1.0, 0.0), t)[0]) + np.multiply.outer(
            error_rate, decay(gain, (0.0, 1.0), t)[0]
        )
        return dict(zip(COORDINATES, _joints(path(t) + off, length, side), strict=True))

    params = {
        "mass": mass,
        "length": length,
        "center": center,
        "inertia": inertia,
        "gravity": gravity,
        "radius": radius,
        "middle": middle,
        "frequency": frequency,
        "climb": climb,
    }
    return Example(
        Model(_system(), [], params, servo=_servo(gain if stiffness else None), name=NAME),
        q0,
        v0,
        duration=20.0,
        description=(
            f"A SCARA robot follows a helix with damping {damping:g} 1/s and stiffness "
            f"{stiffness:g} 1/s² of its error, started with the {start} values and the elbow on "
            f"the {elbow}."
        ),
        figures=_figures(length, path, period),
        exact=exact,
        scene=bars_scene(
            lambda q: _drawn(q, length),
            ("column", "upper arm", "forearm", "lift", "hand"),
            traces=("lift.end",),
        ),
        simulate={"samples": SCARA_SAMPLES},
    )


def _check_sizes(mass, length, center, inertia) -> None:
    """Refuse an arm with impossible dimensions or masses."""
    lengths(NAME, 4, mass=mass, inertia=inertia)
    lengths(NAME, 2, length=length, center=center)
    positive(NAME, mass=mass, inertia=inertia, length=length)


def _check_path(length, radius, middle, period) -> None:
    """Refuse a path that the arm does not reach."""
    positive(NAME, period=period)
    not_negative(NAME, radius=radius)
    if not abs(length[0] - length[1]) < middle - radius <= middle + radius < sum(length):
        raise ModelError(
            f"{NAME}: the path is {middle - radius:g} to {middle + radius:g} m from the first "
            f"axis, but the arm reaches from {abs(length[0] - length[1]):g} to {sum(length):g} "
            "m; change radius, middle or length."
        )


def _check_error(damping, stiffness, start, elbow) -> None:
    """Refuse an unknown start, and gains under which the error does not decay."""
    not_negative(NAME, damping=damping, stiffness=stiffness)
    one_of(NAME, ("paper", "rounded", "exact"), start=start)
    one_of(NAME, ("right", "left"), elbow=elbow)
    if damping and not stiffness:
        raise ModelError(
            f"{NAME}: damping = {damping} with stiffness 0 slows an error but keeps it; give "
            "stiffness, or no damping."
        )


def _servo(gain) -> Servo:
    """Four motors that follow the helix."""
    return Servo(
        [Holonomic(_helix, name="helix")],
        np.eye(4),
        actuators=["motor 1", "motor 2", "motor 3", "lift"],
        actuator_units=["N m"] * 3 + ["N"],
        gains=gain,
    )


def _figures(length, path, period) -> dict:
    """Path of the hand, angles, errors and forces."""
    turn = np.linspace(0, period, 100)
    return {
        "Path of the hand": paths(
            lambda q: [_hand(q.T, length)[:2], path(turn)[:2]], ["hand", "asked for"]
        ),
        "Joint angles": over_time(
            "angle [rad]", lambda run: {f"q{i}": run.q[:, i - 1] for i in (1, 2, 3)}
        ),
        "Errors of the hand": over_time(
            "error [m]",
            lambda run: dict(
                zip("xyz", (_hand(run.q.T, length) - path(run.t))[[0, 1, 3]], strict=True)
            ),
        ),
        "Torques": controls("torque [N m]", ["motor 1", "motor 2", "motor 3"]),
        "Force of the lift": controls("force [N]", ["lift"]),
    }


def _system() -> System:
    def mass_matrix(q, t, p):
        m, (l1, l2), (r1, r2), I = p["mass"], p["length"], p["center"], p["inertia"]
        alpha = I[0] + r1**2 * m[0] + l1**2 * (m[1] + m[2] + m[3])
        beta = I[1] + I[2] + I[3] + l2**2 * (m[2] + m[3]) + m[1] * r2**2
        c, delta = _coupling(p) * jnp.cos(q[1]), I[2] + I[3]
        rows = [
            [alpha + beta + 2 * c, beta + c, delta],
            [beta + c, beta, delta],
            [delta, delta, delta],
        ]
        return jnp.diag(m).at[:3, :3].set(jnp.array(rows))

    def force(q, v, t, p):
        h = _coupling(p) * jnp.sin(q[1])
        return jnp.stack(
            [h * v[1] * (2 * v[0] + v[1]), -h * v[0] ** 2, 0.0 * h, -p["mass"][3] * p["gravity"]]
        )

    return System(
        4,
        mass_matrix,
        force,
        potential=lambda q, t, p: p["mass"][3] * p["gravity"] * q[3],
        coordinates=COORDINATES,
        units=["rad", "rad", "rad", "m"],
    )


def _coupling(p):
    """γ of the mass matrix."""
    m, (l1, l2) = p["mass"], p["length"]
    return l1 * (l2 * (m[2] + m[3]) + m[1] * p["center"][1])


def _helix(q, t, p):
    (l1, l2), phase = p["length"], p["frequency"] * t
    x = -l1 * jnp.sin(q[0]) - l2 * jnp.sin(q[0] + q[1]) - p["radius"] * jnp.sin(phase)
    y = l1 * jnp.cos(q[0]) + l2 * jnp.cos(q[0] + q[1]) - p["middle"] - p["radius"] * jnp.cos(phase)
    return jnp.stack([x, y, q[0] + q[1] + q[2], q[3] - p["climb"] * t])


def _hand(q, length):
    """x, y, orientation and z of the hand, shape (4, …), for joints (4, …)."""
    l1, l2 = length
    x, y = (
        -l1 * np.sin(q[0]) - l2 * np.sin(q[0] + q[1]),
        l1 * np.cos(q[0]) + l2 * np.cos(q[0] + q[1]),
    )
    return np.stack([x, y, q[0] + q[1] + q[2], q[3]])


def _drawn(q, length):
    """Lines for the column, both arms, the lift down to the hand, and the hand with its attitude,
    shape (5, 2, 3).
    """
    xp = array_namespace(q)
    ahead = lambda angle, way: way * xp.stack([-xp.sin(angle), xp.cos(angle), 0 * angle])
    top = np.array([0.0, 0.0, sum(length) / 2])
    elbow = top + ahead(q[0], length[0])
    wrist = elbow + ahead(q[0] + q[1], length[1])
    hand = xp.stack([wrist[0], wrist[1], q[3]])
    finger = hand + ahead(q[0] + q[1] + q[2], 0.2 * length[1])
    ends = xp.stack([0 * elbow, top + 0 * elbow, elbow, wrist, hand, finger])
    return xp.stack([ends[:-1], ends[1:]], axis=1)


def _joints(hand, length, side):
    """Joints (4, …) for x, y, orientation and z of the hand, by the cosine rule; `side` is the sign
    of q₂.
    """
    (x, y, turned, z), (l1, l2) = hand, length
    q2 = side * np.arccos((x**2 + y**2 - l1**2 - l2**2) / (2 * l1 * l2))
    q1 = np.arctan2(-x, y) - np.arctan2(l2 * np.sin(q2), l1 + l2 * np.cos(q2))
    return np.stack([q1, q2, turned - q1 - q2, z])


def _rates(q, hand_rates, length):
    """Joint rates for rates of the hand."""
    columns = [along(lambda s, e=e: _hand(q + s * e, length), 0.0)[1] for e in np.eye(4)]
    return np.linalg.solve(np.stack(columns, axis=1), hand_rates)
