"""A mass that slides on a car along an inclined spring: its zero dynamics are unstable, and only
one bounded motion, which begins before the maneuver, follows the path.

    (m₁ + m₂) ẍ + m₂ cos α s̈ = u,   m₂ (cos α ẍ + s̈) + d ṡ + k s = 0
    place x + r s = path(t)                        servo, relative degree 2
    free:  m₂ (1 − r cos α) s̈ + d ṡ + k s = −m₂ cos α ÿ     grows for r cos α > 1
    exact: the bounded solution, s = P + A exp(λ₁ t) + B exp(λ₂ (t − T)), λ₁ < 0 < λ₂

For r = cos α the controlled point is the mass itself. For r > cos α it lies beyond the mass, at the
end of a lever of ratio r / cos α, and no feedback of the present state can make it follow a path
with bounded internal motion: no gain stabilizes the zero dynamics. The bounded solution moves the
car back before the path begins, and settles after it has ended. Its control is a feedforward, and a
regulator with constant gains stabilizes the motion. `zw.analysis.stable_inversion` finds the same
motion from the servo constraint alone.

Source: Seifried and Blajer (2013), Analysis of servo-constraint problems for underactuated
    multibody systems, Mechanical Sciences 4, 113-129, section 4 (the model). Units: m, kg, s.
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

ENTRY = Entry(
    "mass-on-car",
    "a car that leads a lever's tip along a path although its free motion grows",
    8.0,
    {
        "car_mass": Setting(1.0, "mass of the car", "kg"),
        "mass": Setting(2.0, "mass on the spring", "kg"),
        "angle": Setting(30.0, "slope of the spring", "deg"),
        "reach": Setting(1.6, "r: travel of the tip over that of the mass"),
        "stiffness": Setting(5.0, "stiffness of the spring", "N/m"),
        "damping": Setting(0.5, "damping of the spring", "N s/m"),
        "begin": Setting(3.0, "when the path begins", "s"),
        "travel": Setting(1.0, "how far it goes", "m"),
        "travel_time": Setting(2.0, "how long it takes", "s"),
    },
    "Seifried and Blajer (2013)",
    ("servo", "underactuated", "zero dynamics", "plane", "exact"),
)

NAME = "mass-on-car"


def build(
    *, car_mass, mass, angle, reach, stiffness, damping, begin, travel, travel_time
) -> Example:
    """The model, started on the bounded motion."""
    positive(NAME, car_mass=car_mass, mass=mass, stiffness=stiffness, travel_time=travel_time)
    not_negative(NAME, damping=damping, begin=begin)
    slope = float(np.cos(np.radians(angle)))
    if not reach * slope > 1:
        raise ModelError(
            f"{NAME}: reach * cos(angle) is {reach * slope:.4g}, and the free motion decays; a "
            "zw.Servo leads this tip by itself. Expected more than 1."
        )
    free = mass * (1 - reach * slope), damping, stiffness
    motion = _bounded(free, mass * slope, travel, travel_time)
    M = np.array([[car_mass + mass, mass * slope], [mass * slope, mass]])
    rows = np.array([[0.0, 0.0, 0.0, 0.0], [0.0, -stiffness, 0.0, -damping]])
    drift = np.linalg.solve(M, rows)
    A = np.block([[np.zeros((2, 2)), np.eye(2)], [drift]])
    push = np.concatenate([np.zeros(2), np.linalg.solve(M, [1.0, 0.0])])[:, None]
    K = riccati(A, push, 100.0 * np.eye(4), np.eye(1))[1][0]

    def state(xp, t):
        """x, s, ẋ, ṡ and the control, at a time."""
        s, y = motion(xp, t - begin)
        place = [y[k] - reach * s[k] for k in range(3)]
        u = (car_mass + mass) * place[2] + mass * slope * s[2]
        return xp.stack([place[0], s[0], place[1], s[1]]), u

    def law(q, v, t, p):
        x, u = state(jnp, t)
        return (u - p["gains"] @ (jnp.concatenate([q, v]) - x))[None]

    params = {"mass_matrix": M, "stiffness": stiffness, "damping": damping, "gains": K}
    system = System(
        2,
        lambda q, t, p: p["mass_matrix"],
        lambda q, v, t, p: jnp.stack([0 * q[0], -p["stiffness"] * q[1] - p["damping"] * v[1]]),
        potential=lambda q, t, p: 0.5 * p["stiffness"] * q[1] ** 2,
        coordinates=["car", "spring"],
        units=["m", "m"],
    )
    servo = Feedback(law, [[1.0], [0.0]], actuators=["push"], actuator_units=["N"])
    start = state(np, np.zeros(()))[0]
    way = np.array([slope, np.sin(np.radians(angle))])

    def drawn(q):
        xp = array_namespace(q)
        car = xp.stack([q[0], 0 * q[0]])
        tip = car + xp.stack([reach * q[1], 0 * q[1]])
        mass = car + q[1] * way
        return xp.stack([xp.stack([car - way, car + way]), xp.stack([mass, tip])])

    return Example(
        Model(system, [], params, servo=servo, name=NAME),
        start[:2],
        start[2:],
        duration=8.0,
        description="A car pulls back before its lever's tip is to move, so that nothing grows.",
        exact=lambda t: dict(
            zip(["car", "spring"], state(np, np.asarray(t, float))[0][:2], strict=True)
        ),
        figures={
            "Tip": over_time(
                "place [m]",
                lambda run: {
                    "tip": run.q @ [1.0, reach],
                    "car": run.q[:, 0],
                    "asked for": motion(np, run.t - begin)[1][0],
                },
                dashed=["asked for"],
            ),
            "Push": controls("force [N]"),
            "Car": Linkage(drawn),
        },
    )


def _bounded(free, lead: float, travel: float, T: float):
    """`(xp, t)` → s, ṡ, s̈ and y, ẏ, ÿ of the solution that is bounded for all t of

    a s̈ + d ṡ + k s = −lead ÿ.
    """
    a, d, k = free
    path = travel * SMOOTH / T ** np.arange(len(SMOOTH) - 1, -1, -1)
    # a polynomial that solves the equation within the path, from its highest power down
    right = -lead * np.polyder(path, 2)
    n = len(right)
    P = np.zeros(n)
    for i in range(n):
        power = n - 1 - i
        P[i] = right[i]
        if i >= 1:
            P[i] -= d * (power + 1) * P[i - 1]
        if i >= 2:
            P[i] -= a * (power + 2) * (power + 1) * P[i - 2]
        P[i] /= k
    decays, grows = sorted(np.roots([a, d, k]).real)
    # value and rate are continuous at the beginning and the end of the path
    at = lambda t, m: np.polyval(np.polyder(P, m), t)
    unknown = [[1, np.exp(-grows * T), -1, 0], [decays, grows * np.exp(-grows * T), -grows, 0]]
    unknown += [[np.exp(decays * T), 1, 0, -1], [decays * np.exp(decays * T), grows, 0, -decays]]
    known = [-at(0.0, 0), -at(0.0, 1), -at(T, 0), -at(T, 1)]
    A, B, C, D = np.linalg.solve(np.array(unknown), known)

    def motion(xp, t):
        tau = xp.clip(t, 0.0, T)
        inside = (t >= 0) & (t <= T)
        y = [xp.polyval(xp.asarray(np.polyder(path, m)), tau) for m in range(3)]
        early, late = xp.exp(grows * xp.minimum(t, 0.0)), xp.exp(decays * xp.maximum(t - T, 0.0))
        first, second = xp.exp(decays * tau), xp.exp(grows * (tau - T))
        s = [
            xp.where(
                inside,
                xp.polyval(xp.asarray(np.polyder(P, m)), tau)
                + A * decays**m * first
                + B * grows**m * second,
                xp.where(t < 0, C * grows**m * early, D * decays**m * late),
            )
            for m in range(3)
        ]
        return s, y

    return motion
