"""An arm whose motor turns the first of two rods, while a spring holds the second one: only one
bounded motion, which begins before the maneuver, leads the tip along its path.

    (1/3 + c/2) α̈ + β̈/3 + (s/2) α̇² + (k β + d β̇)/(m l²) = 0      c = cos β, s = sin β; no motor
    angle α + r β = path(t)                        servo, relative degree 2
    free:  (1/3 − r (1/3 + c/2)) β̈ = −(1/3 + c/2) ÿ − (s/2)(ẏ − r β̇)² − (k β + d β̇)/(m l²)
           grows for r > 2/5

For r = 1/2 the controlled angle is that of the line from the shoulder to the tip. The motion that
stays bounded for all times is the solution of a boundary value problem of the free motion; it is
computed here by collocation (SciPy). Its control is a feedforward, and a regulator with constant
gains stabilizes the motion. `zw.analysis.stable_inversion` finds the same motion from the servo
constraint alone.

Source: Seifried and Blajer (2013), Analysis of servo-constraint problems for underactuated
    multibody systems, Mechanical Sciences 4, 113-129 (the kind of arm); the numbers are chosen
    here. Units: m, kg, s.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from zwang.algebra.spectrum import riccati
from zwang.dynamics.model import Model
from zwang.equations.system import System
from zwang.errors import ModelError
from zwang.gallery.drawing import Linkage
from zwang.gallery.example import Example
from zwang.gallery.index.entry import Entry, Setting
from zwang.gallery.servo.checks import not_negative, positive
from zwang.gallery.servo.crane import SMOOTH
from zwang.gallery.servo.drawing import controls, over_time
from zwang.scene import array_namespace
from zwang.servo import Feedback
from zwang.servo.tracking import SPLINE_DEGREE, Tracking, piecewise

ENTRY = Entry(
    "rotational-arm",
    "an arm with a passive joint that leads its tip along a path although its free motion grows",
    6.0,
    {
        "mass": Setting(1.0, "mass of each rod, uniform", "kg"),
        "length": Setting(1.0, "length of each rod", "m"),
        "reach": Setting(0.5, "r: share of the passive joint's angle; 0.5 is the tip"),
        "stiffness": Setting(12.0, "stiffness of the passive joint", "N m/rad"),
        "damping": Setting(0.4, "damping of the passive joint", "N m s/rad"),
        "begin": Setting(2.0, "when the path begins", "s"),
        "travel": Setting(1.0, "how far it goes", "rad"),
        "travel_time": Setting(2.0, "how long it takes", "s"),
    },
    "Seifried and Blajer (2013)",
    ("servo", "underactuated", "zero dynamics", "stable inversion", "plane", "exact"),
)

NAME = "rotational-arm"
MOTION_SPACING = 0.02
"""Largest distance of the samples of the motion [s]."""
TIME_CONSTANTS = 28.0
"""Number of time constants after which a deviation of the free motion is round-off."""


def build(*, mass, length, reach, stiffness, damping, begin, travel, travel_time) -> Example:
    """The model, started on the bounded motion."""
    positive(NAME, mass=mass, length=length, stiffness=stiffness, travel_time=travel_time)
    not_negative(NAME, damping=damping, begin=begin)
    if not reach > 0.4:
        raise ModelError(
            f"{NAME}: reach is {reach:.4g}, and the free motion decays; a zw.Servo leads this "
            "point by itself. Expected more than 0.4."
        )
    k, scale = np.array([stiffness, damping]) / (mass * length**2), mass * length**2
    t, motion = _bounded(k, reach, travel, travel_time)
    system = _arm()
    params = {"mass": mass, "length": length, "stiffness": stiffness, "damping": damping}
    # the gains are those of a regulator about the arm at rest and straight
    M = np.asarray(system.mass_matrix(np.zeros(2), 0.0, params))
    drift = np.linalg.solve(M, [[0.0, 0.0, 0.0, 0.0], [0.0, -stiffness, 0.0, -damping]])
    A = np.block([[np.zeros((2, 2)), np.eye(2)], [drift]])
    push = np.concatenate([np.zeros(2), np.linalg.solve(M, [1.0, 0.0])])[:, None]
    gains = riccati(A, push, 100.0 * scale * np.eye(4), np.eye(1))[1]

    y, beta = motion(t)
    q, v, a = (np.stack([y[i] - reach * beta[i], beta[i]], axis=1) for i in range(3))
    c, s = np.cos(q[:, 1]), np.sin(q[:, 1])
    torque = (5 / 3 + c) * a[:, 0] + (1 / 3 + c / 2) * a[:, 1]
    torque = scale * (torque - s / 2 * (2 * v[:, 0] + v[:, 1]) * v[:, 1])
    reference = np.concatenate([torque[:, None], q, v], axis=1)
    joints = [0.0, travel_time]
    law = Tracking(
        jnp.asarray(t + begin),
        jnp.asarray(piecewise(t, reference, SPLINE_DEGREE, joints)),
        jnp.asarray(t[[0, -1]] + begin),
        jnp.asarray(piecewise(t[[0, -1]], np.repeat(gains, 2, axis=0), 1, ())),
    )
    servo = Feedback(law, [[1.0], [0.0]], actuators=["motor"], actuator_units=["N m"])

    def exact(t) -> dict[str, np.ndarray]:
        y, beta = motion(np.asarray(t, float) - begin)
        return {"shoulder": y[0] - reach * beta[0], "elbow": beta[0]}

    def angles(run) -> dict[str, np.ndarray]:
        led = run.q @ [1.0, reach]
        return {"led": led, "shoulder": run.q[:, 0], "asked for": motion(run.t - begin)[0][0]}

    def drawn(q):
        xp = array_namespace(q)
        ways = [xp.stack([xp.cos(x), xp.sin(x)]) for x in (q[0], q[0] + q[1])]
        elbow = length * ways[0]
        tip = elbow + length * ways[1]
        return xp.stack([xp.stack([0 * elbow, elbow]), xp.stack([elbow, tip])])

    y, beta = motion(np.array(-begin))
    return Example(
        Model(system, [], params, servo=servo, name=NAME),
        np.array([y[0] - reach * beta[0], beta[0]]),
        np.array([y[1] - reach * beta[1], beta[1]]),
        duration=6.0,
        description="An arm turns back before its tip is to move, so that nothing grows.",
        exact=exact,
        figures={
            "Angles": over_time("angle [rad]", angles, dashed=["asked for"]),
            "Torque": controls("torque [N m]"),
            "Arm": Linkage(drawn, until=begin + travel_time),
        },
    )


def _arm() -> System:
    """Two uniform rods of one length in joint angles, without gravity, and a spring between
    them.
    """

    def mass_matrix(q, t, p):
        c = jnp.cos(q[1])
        both = 1 / 3 + 0.5 * c
        rows = [jnp.stack([5 / 3 + c, both]), jnp.stack([both, 1 / 3 + 0 * c])]
        return p["mass"] * p["length"] ** 2 * jnp.stack(rows)

    def force(q, v, t, p):
        h = 0.5 * p["mass"] * p["length"] ** 2 * jnp.sin(q[1])
        spring = p["stiffness"] * q[1] + p["damping"] * v[1]
        return jnp.stack([h * (2 * v[0] + v[1]) * v[1], -h * v[0] ** 2 - spring])

    return System(
        2,
        mass_matrix,
        force,
        potential=lambda q, t, p: 0.5 * p["stiffness"] * q[1] ** 2,
        coordinates=["shoulder", "elbow"],
        units=["rad", "rad"],
    )


def _bounded(spring, reach: float, travel: float, T: float):
    """Times around the path [0, T] after which the motion is at rest, and t → (y, ẏ, ÿ) and (β, β̇,
    β̈) of the free motion that is bounded for all t.
    """
    from scipy.integrate import solve_bvp

    path = travel * SMOOTH / T ** np.arange(len(SMOOTH) - 1, -1, -1)
    derivatives = [np.polyder(path, i) for i in range(3)]

    def output(t):
        return [np.polyval(x, np.clip(t, 0.0, T)) for x in derivatives]

    def bent(t, beta, rate):
        _, speed, acceleration = output(t)
        both = 1 / 3 + 0.5 * np.cos(beta)
        turning = 0.5 * np.sin(beta) * (speed - reach * rate) ** 2
        pull = both * acceleration + turning + spring[0] * beta + spring[1] * rate
        return -pull / (1 / 3 - reach * both)

    decays, grows = sorted(np.roots([1 / 3 - reach * 5 / 6, spring[1], spring[0]]).real)
    ends = -TIME_CONSTANTS / grows, T - TIME_CONSTANTS / decays
    parts = [(ends[0], 0.0), (0.0, T), (T, ends[1])]
    t = np.unique(
        np.concatenate(
            [np.linspace(a, b, int(np.ceil((b - a) / MOTION_SPACING)) + 1) for a, b in parts]
        )
    )
    # nothing that decays at the first time, and nothing that grows at the last one
    found = solve_bvp(
        lambda t, x: np.stack([x[1], bent(t, *x)]),
        lambda first, last: np.array([first[1] - grows * first[0], last[1] - decays * last[0]]),
        t,
        np.zeros((2, len(t))),
        tol=1e-9,
        max_nodes=100_000,
    )
    if not found.success:
        raise ModelError(f"{NAME}: no bounded motion is found; expected a slower or shorter path.")

    def motion(t):
        beta, rate = found.sol(np.clip(t, *ends))
        return output(t), [beta, rate, bent(t, beta, rate)]

    return t, motion
