"""A cart with a pole on a track; the cart's motor enforces either the path of the cart or the angle
of the pole.

    track:  y = 0, angle = 0 of the cart;   pin: the pole's lower end is on the cart
    I φ̈ = m c (ẍ sin φ − g cos φ),   I = J + m c²
    task "pole":  φ = rest + lean sin ω t,   cart:  ẍ = (I φ̈ + m g c cos φ)/(m c sin φ)
    task "cart":  x = travel sin ω t,        pole:  the equation above

where c is half the pole's length and φ its angle from the horizontal. Track and pin are passive and
react to the motor. With the task "pole" the free motion of the cart neither decays nor grows; with
the task "cart" the free motion of an upright pole is unstable.

There is one actuator for two degrees of freedom: the error of the prescribed coordinate decays at
the given rate, and the other coordinate follows its zero dynamics. For the task "cart" with `pose`
"upright", `zwang.servo.zero_dynamics` shows that the pole falls for all gains. Exact: the
prescribed coordinate in closed form, the free one from its equation by DOP853 at 1e-13. Source:
textbook. Units: m, kg, s.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from scipy.integrate import solve_ivp

from zwang.bodies import Body, PlanarBodies
from zwang.dynamics.model import Model
from zwang.equations.constraint import Holonomic
from zwang.errors import ModelError
from zwang.gallery.drawing import Linkage
from zwang.gallery.example import Example
from zwang.gallery.index.entry import GRAVITY, RATE, Entry, Setting
from zwang.gallery.servo.checks import not_negative, one_of, positive
from zwang.gallery.servo.drawing import controls, over_time
from zwang.gallery.servo.tracking import decay
from zwang.scene import array_namespace
from zwang.servo import Servo

ENTRY = Entry(
    "cart-pole-track",
    "a cart with a pole whose motor prescribes the cart's path or the pole's angle",
    5.0,
    {
        "cart_mass": Setting(1.0, "mass of the cart", "kg"),
        "pole_mass": Setting(0.3, "mass of the pole, uniform", "kg"),
        "pole_length": Setting(1.0, "length of the pole", "m"),
        "gravity": GRAVITY,
        "task": Setting("pole", "what is prescribed: pole or cart"),
        "pose": Setting("upright", "pole upright or hanging; with task cart, upright is unstable"),
        "lean": Setting(20.0, "amplitude of the pole's angle, for pole", "deg"),
        "travel": Setting(0.5, "amplitude of the cart's path, for cart", "m"),
        "frequency": Setting(3.0, "angular frequency", "rad/s"),
        "rate": RATE,
        "offset": Setting(0.0, "start error of what is prescribed", "deg or m"),
    },
    "textbook",
    ("servo", "underactuated", "zero dynamics", "plane", "exact"),
)

NAME = "cart-pole-track"
CART_INERTIA = 1.0
"""Moment of inertia of the cart [kg m²], without effect because the track prevents rotation."""

ASKED = "asked for"


def build(
    *, cart_mass, pole_mass, pole_length, gravity, task, pose, lean, travel, frequency, rate, offset
) -> Example:
    """The model; `offset` is the initial error of the prescribed coordinate [deg or m]."""
    positive(
        NAME, cart_mass=cart_mass, pole_mass=pole_mass, pole_length=pole_length, frequency=frequency
    )
    not_negative(NAME, rate=rate)
    one_of(NAME, ("pole", "cart"), task=task)
    one_of(NAME, ("upright", "hanging"), pose=pose)
    if task == "pole" and not abs(lean) + abs(offset) < 90:
        raise ModelError(
            f"{NAME}: the pole is to lean up to {abs(lean) + abs(offset):g}°, lean and offset "
            "together, expected less than 90°: a level pole is beyond the cart's reach."
        )
    center = pole_length / 2
    inertia = pole_mass * pole_length**2 / 3
    rest = np.pi / 2 if pose == "upright" else -np.pi / 2
    swing, off = (np.radians(lean), np.radians(offset)) if task == "pole" else (travel, offset)

    def prescribed(t):
        """The prescribed coordinate with its rate and acceleration, shape (3, …), from an initial
        error with rate zero.
        """
        path = swing * np.stack(
            [
                np.sin(frequency * t),
                frequency * np.cos(frequency * t),
                -(frequency**2) * np.sin(frequency * t),
            ]
        )
        return path + decay(rate, (off, 0.0), t)

    def cart_acceleration(t):
        angle, _, turning = prescribed(t) + np.array([rest, 0.0, 0.0]).reshape(3, *[1] * np.ndim(t))
        pull = pole_mass * center
        return (inertia * turning + pull * gravity * np.cos(angle)) / (pull * np.sin(angle))

    def pole_acceleration(t, angle):
        return (
            pole_mass
            * center
            * (prescribed(t)[2] * np.sin(angle) - gravity * np.cos(angle))
            / inertia
        )

    if task == "pole":
        # the initial velocity for which the cart returns after each period
        speed = _speed_without_drift(swing, frequency, rest, inertia, pole_mass * center, gravity)
        free = lambda t: _integrated(lambda t, x: cart_acceleration(t), 0.0, speed, t)
        place = lambda t: (free(t), rest + prescribed(t)[0])
        rates = speed, prescribed(np.asarray(0.0))[1]
    else:
        # the free motion has no closed form; a separate integrator computes it far more accurately
        # than the run
        free = lambda t: _integrated(pole_acceleration, rest, 0.0, t)
        place = lambda t: (prescribed(t)[0], free(t))
        rates = prescribed(np.asarray(0.0))[1], 0.0

    return Example(
        _closed_loop(
            cart_mass, pole_mass, pole_length, gravity, task, rest, swing, frequency, rate
        ),
        q0=_pose(*place(np.zeros(1)), center)[:, 0],
        v0=_motion(place(np.zeros(1))[1][0], *rates, center),
        duration=5.0,
        description=(
            f"A cart with a pole, {pose} at first; the motor of the cart prescribes the "
            + (
                "angle of the pole, and the cart goes where it must."
                if task == "pole"
                else "path of the cart, and the pole swings."
            )
        ),
        figures=_figures(task, swing, frequency, rest),
        exact=lambda t: dict(
            zip(_names(), _pose(*place(np.asarray(t, float)), center), strict=True)
        ),
    )


def _figures(task, swing, frequency, rest) -> dict:
    """The linkage, both coordinates with the prescribed one, and the force."""

    def asked(run, what):
        """The prescribed values, if `what` is prescribed, in the unit of the figure."""
        path = swing * np.sin(frequency * run.t)
        return {} if task != what else {ASKED: path if what == "cart" else np.degrees(rest + path)}

    return {
        "Cart and pole": Linkage(
            lambda q: array_namespace(q).stack([q[:2], q[:2] + 2 * (q[3:5] - q[:2])])[None]
        ),
        "Position of the cart": over_time(
            "position [m]",
            lambda run: {"cart": run.q[:, 0], **asked(run, "cart")},
            dashed=[ASKED],
        ),
        "Angle of the pole": over_time(
            "angle from the horizontal [deg]",
            lambda run: {"pole": np.degrees(run.q[:, 5]), **asked(run, "pole")},
            dashed=[ASKED],
        ),
        "Force of the motor": controls("force [N]"),
    }


def _closed_loop(
    cart_mass, pole_mass, pole_length, gravity, task, rest, swing, frequency, rate
) -> Model:
    bodies = PlanarBodies(
        [
            Body("cart", cart_mass, CART_INERTIA),
            Body("pole", pole_mass, pole_mass * pole_length**2 / 12),
        ],
        gravity=(0.0, -gravity),
    )

    def lower_end(q, t, p):
        return bodies.point(q, "pole", jnp.stack([-p["length"] / 2, 0.0])) - bodies.point(q, "cart")

    prescribed = 5 if task == "pole" else 0
    origin = rest if task == "pole" else 0.0
    passive = [Holonomic(lambda q, t, p: q[1:3], name="track"), Holonomic(lower_end, name="pin")]
    wanted = Holonomic(
        lambda q, t, p: q[prescribed] - origin - p["swing"] * jnp.sin(p["frequency"] * t), name=task
    )
    params = {**bodies.params, "length": pole_length, "swing": swing, "frequency": frequency}
    servo = Servo(
        [wanted], np.eye(6)[:, :1], actuators=["motor"], actuator_units=["N"], gains=rate or None
    )
    return Model(bodies.system, passive, params, servo=servo, name=NAME)


def _names() -> list[str]:
    return [f"{body}.{c}" for body in ("cart", "pole") for c in ("x", "y", "angle")]


def _pose(x, angle, center):
    """All coordinates, shape (6, samples)."""
    return np.stack([x, 0 * x, 0 * x, x + center * np.cos(angle), center * np.sin(angle), angle])


def _motion(angle, speed, spin, center):
    """All velocities, shape (6,)."""
    return np.array(
        [
            speed,
            0.0,
            0.0,
            speed - center * spin * np.sin(angle),
            center * spin * np.cos(angle),
            spin,
        ]
    )


def _integrated(acceleration, start, rate, t):
    """x(t) of `ẍ = acceleration(t, x)`, by DOP853 at 1e-13."""
    end = max(float(np.max(t)), 1e-9)
    slope = lambda t, y: [y[1], acceleration(np.asarray(t), y[0])]
    return solve_ivp(
        slope,
        (0.0, end),
        [start, rate],
        method="DOP853",
        rtol=1e-13,
        atol=1e-13,
        t_eval=np.atleast_1d(t),
    ).y[0]


def _speed_without_drift(swing, frequency, rest, inertia, pull, gravity) -> float:
    """Initial speed of the cart with which it returns after a period of the pole, without an
    initial error.
    """
    period = 2 * np.pi / frequency
    # the integrand is smooth and periodic: 64 points are exact to round-off
    nodes, weights = np.polynomial.legendre.leggauss(64)
    t = (nodes + 1) * period / 2
    angle, turning = (
        rest + swing * np.sin(frequency * t),
        -(frequency**2) * swing * np.sin(frequency * t),
    )
    acceleration = (inertia * turning + pull * gravity * np.cos(angle)) / (pull * np.sin(angle))
    return -float(np.sum(weights * (period - t) * acceleration)) / 2
