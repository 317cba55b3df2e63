"""An arm of two links in the vertical plane with elastic joints: each motor acts on its link
through a spring.

    D(q₁) q̈₁ + C(q₁, q̇₁) q̇₁ + G(q₁) + K (q₁ − q₂) = 0
    J q̈₂ − K (q₁ − q₂) = u

q₁ are the link angles, the first from hanging down, the second relative to it; q₂ the motor angles.

    task "speeds":  q̇₁⁽¹⁾ + q̇₁⁽²⁾ = 0                        relative degree 3, one row for two
                                                             motors, five states stay free
    task "angles":  q₁ = amplitude ∘ (sin ω t, sin 2 ω t)     relative degree 4, nothing stays free
    exact, "angles":  q₂ = q₁ + K⁻¹ (D q̈₁ + C q̇₁ + G),  q₁ the path and an error that decays as
    exp(−r t) Σ (r t)ⁱ/i!, i < 4

The link angles are a flat output: the initial state is at rest relative to the path, `offset` away
from it. In the paper's eq. (71) and (72), u appears in the motor's equation although it was derived
for a torque on the links; used in this way it makes the arm unstable. Here the constraint is
differentiated until the motors appear in it. Source: review of the Udwadia-Kalaba approach, section
8.3, eq. (66)-(72). Units: rad, kg, s.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from zwang.dynamics.model import Model
from zwang.equations.constraint import Holonomic, Nonholonomic
from zwang.equations.system import System
from zwang.gallery.example import Example
from zwang.gallery.index.entry import GRAVITY, RATE, Entry, Setting
from zwang.gallery.servo.checks import lengths, not_negative, one_of, positive
from zwang.gallery.servo.drawing import controls, over_time
from zwang.gallery.servo.tracking import along, decay
from zwang.scene import array_namespace, bars_scene
from zwang.servo import Servo

ENTRY = Entry(
    "flexible-joint",
    "an arm whose motors drive its links through springs: relative degree three and four",
    5.0,
    {
        "mass": Setting((1.0, 1.0), "masses of the links", "kg"),
        "length": Setting(1.0, "length of the first link", "m"),
        "center": Setting((0.5, 0.5), "distance of each link's center of mass from its joint", "m"),
        "inertia": Setting((1.0, 1.0), "inertias of the links about their centers", "kg m²"),
        "motor_inertia": Setting((1.0, 1.0), "inertias of the motors", "kg m²"),
        "stiffness": Setting((1.0, 1.0), "stiffness of the joints", "N m/rad"),
        "gravity": GRAVITY,
        "task": Setting(
            "speeds",
            "speeds: the link velocities add up to 0; angles: both links follow a path",
        ),
        "rate": RATE,
        "speeds": Setting((1.0, -0.1), "start velocities of the links, for speeds", "rad/s"),
        "amplitude": Setting((0.8, 0.5), "amplitudes of the links' paths, for angles", "rad"),
        "frequency": Setting(
            1.5, "angular frequency of the first link's path, half that of the second", "rad/s"
        ),
        "offset": Setting((0.3, -0.2), "start errors of the links, for angles", "rad"),
    },
    "review of the Udwadia-Kalaba approach, section 8.3",
    ("servo", "underactuated", "flexible", "relative degree", "robot", "paper", "exact"),
)

NAME = "flexible-joint"
DEGREES = {"speeds": 3, "angles": 4}
"""Relative degrees as found by `zwang.servo.relative_degree`, which takes longer than to run the
model.
"""
MOTORS = np.array([[0, 0], [0, 0], [1, 0], [0, 1]], float)
"""The actuation matrix B."""
COORDINATES = ["link 1", "link 2", "motor 1", "motor 2"]


def build(
    *,
    mass,
    length,
    center,
    inertia,
    motor_inertia,
    stiffness,
    gravity,
    task,
    rate,
    speeds,
    amplitude,
    frequency,
    offset,
) -> Example:
    """The model with one of the two tasks."""
    pairs = {
        "mass": mass,
        "center": center,
        "inertia": inertia,
        "motor_inertia": motor_inertia,
        "stiffness": stiffness,
    }
    lengths(NAME, 2, **pairs, speeds=speeds, amplitude=amplitude, offset=offset)
    positive(NAME, **pairs, length=length)
    not_negative(NAME, rate=rate)
    one_of(NAME, tuple(DEGREES), task=task)
    params = {
        **pairs,
        "length": length,
        "gravity": gravity,
        "amplitude": amplitude,
        "frequency": frequency,
    }
    arrays = {name: np.asarray(value, float) for name, value in params.items()}
    harmonics = frequency * np.array([1.0, 2.0])

    def place(t):
        """Angles of links and motors at a time, from the path of the links; t may be complex."""
        e, e_rate, e_acceleration = decay(rate, (1.0, 0.0, 0.0, 0.0), t)[
            :3, ..., None
        ] * np.asarray(offset, float)
        phase, swing = t[..., None] * harmonics, np.asarray(amplitude, float)
        links = swing * np.sin(phase) + e
        rates = swing * harmonics * np.cos(phase) + e_rate
        accelerations = -swing * harmonics**2 * np.sin(phase) + e_acceleration
        twist = _needed(np, links, rates, accelerations, arrays)
        return np.concatenate([links, links + twist / arrays["stiffness"]], axis=-1)

    if task == "angles":
        q0, v0 = along(place, 0.0)
        wanted = Holonomic(_tracked, name=task)
        exact = lambda t: dict(zip(COORDINATES, place(np.asarray(t)).T, strict=True))
    else:
        q0, v0 = np.zeros(4), np.r_[np.asarray(speeds, float), 0.0, 0.0]
        wanted, exact = Nonholonomic(lambda q, v, t, p: v[0] + v[1], name=task), None
    servo = Servo(
        [wanted],
        MOTORS,
        actuators=["motor 1", "motor 2"],
        actuator_units=["N m"] * 2,
        gains=rate or None,
        degrees={task: DEGREES[task]},
    )
    return Example(
        Model(_system(), [], params, servo=servo, name=NAME),
        q0,
        v0,
        duration=5.0,
        description=(
            "An arm whose motors drive its links through springs. The servo constraint "
            f"{'on the sum of the link velocities' if task == 'speeds' else 'on both link angles'} "
            f"is differentiated {DEGREES[task]} times until the motors reach it."
        ),
        figures=_figures(task, amplitude, harmonics),
        exact=exact,
        scene=bars_scene(
            lambda q: _drawn(q, length, center[1]), ("link 1", "link 2"), traces=("link 2.end",)
        ),
    )


def _figures(task, amplitude, harmonics) -> dict:
    """Figures of the task, the springs and the motors."""
    if task == "angles":
        beside = lambda run: _beside_path(run, amplitude, harmonics)
        figures = {"Link angles": over_time("angle [rad]", beside, dashed=["path 1", "path 2"])}
    else:
        figures = {
            "Error of the constraint": over_time(
                "sum of the link velocities [rad/s]", lambda run: {"β": run.v[:, 0] + run.v[:, 1]}
            ),
            "Link velocities": over_time(
                "velocity [rad/s]", lambda run: {"link 1": run.v[:, 0], "link 2": run.v[:, 1]}
            ),
        }
    return {
        **figures,
        "Joint twist": over_time(
            "motor angle − link angle [rad]",
            lambda run: {
                "joint 1": run.q[:, 2] - run.q[:, 0],
                "joint 2": run.q[:, 3] - run.q[:, 1],
            },
        ),
        "Motor torques": controls("torque [N m]"),
    }


def _drawn(q, length, center):
    """Both links, suspended from the origin; the second is drawn with twice the distance to its
    center of mass as its length, shape (2, 2, 2).
    """
    xp = array_namespace(q)
    hanging = lambda angle: xp.stack([xp.sin(angle), -xp.cos(angle)])
    elbow = length * hanging(q[0])
    tip = elbow + 2 * center * hanging(q[0] + q[1])
    return xp.stack([xp.stack([0 * elbow, elbow]), xp.stack([elbow, tip])])


def _links(xp, q, p):
    """The three numbers of D at link angles (…, 2), for `xp` NumPy or JAX, and the factor h of the
    Coriolis terms.
    """
    m1, m2 = p["mass"][0], p["mass"][1]
    c1, c2 = p["center"][0], p["center"][1]
    I1, I2 = p["inertia"][0], p["inertia"][1]
    l, cos = p["length"], xp.cos(q[..., 1])
    d11 = m2 * (l**2 + c2**2 + 2 * l * c2 * cos) + m1 * c1**2 + I1 + I2
    d12 = m2 * (c2**2 + l * c2 * cos) + I2
    return d11, d12, m2 * c2**2 + I2, m2 * l * c2 * xp.sin(q[..., 1])


def _bias(xp, q, v, p):
    """`C q̇₁ + G`, shape (…, 2)."""
    h = _links(xp, q, p)[3]
    m1, m2, g = p["mass"][0], p["mass"][1], p["gravity"]
    lower = m2 * p["center"][1] * g * xp.sin(q[..., 0] + q[..., 1])
    upper = (m1 * p["center"][0] + m2 * p["length"]) * g * xp.sin(q[..., 0])
    first = -h * v[..., 1] * (2 * v[..., 0] + v[..., 1]) + upper + lower
    return xp.stack([first, h * v[..., 0] ** 2 + lower], axis=-1)


def _needed(xp, q, v, a, p):
    """Torque of the springs on the links for accelerations a, `D a + C q̇₁ + G`, shape (…, 2)."""
    d11, d12, d22, _ = _links(xp, q, p)
    D_a = xp.stack([d11 * a[..., 0] + d12 * a[..., 1], d12 * a[..., 0] + d22 * a[..., 1]], axis=-1)
    return D_a + _bias(xp, q, v, p)


def _system() -> System:
    def mass_matrix(q, t, p):
        d11, d12, d22, _ = _links(jnp, q[:2], p)
        return (
            jnp.diag(jnp.concatenate([jnp.stack([d11, d22]), p["motor_inertia"]]))
            .at[0, 1]
            .set(d12)
            .at[1, 0]
            .set(d12)
        )

    def force(q, v, t, p):
        spring = p["stiffness"] * (q[:2] - q[2:])
        return jnp.concatenate([-_bias(jnp, q[:2], v[:2], p) - spring, spring])

    def potential(q, t, p):
        m, c, g = p["mass"], p["center"], p["gravity"]
        weight = (m[0] * c[0] + m[1] * p["length"]) * jnp.cos(q[0]) + m[1] * c[1] * jnp.cos(
            q[0] + q[1]
        )
        return 0.5 * p["stiffness"] @ (q[:2] - q[2:]) ** 2 - g * weight

    return System(
        4, mass_matrix, force, potential=potential, coordinates=COORDINATES, units=["rad"] * 4
    )


def _tracked(q, t, p):
    return q[:2] - p["amplitude"] * jnp.sin(p["frequency"] * t * jnp.array([1.0, 2.0]))


def _beside_path(run, amplitude, harmonics) -> dict:
    path = np.asarray(amplitude) * np.sin(run.t[:, None] * harmonics)
    return {
        "link 1": run.q[:, 0],
        "link 2": run.q[:, 1],
        "path 1": path[:, 0],
        "path 2": path[:, 1],
    }
