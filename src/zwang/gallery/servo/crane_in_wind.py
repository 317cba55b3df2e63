"""A crane in a wind that nobody measures: a Kalman filter estimates velocities and wind from the
places of cart and bob, and the cart's control cancels the effect of the wind.

    (x_b − x_c)² + y_b² = l²                                       passive: the rope
    x_c = path(t)                                                  servo, relative degree 2
    forces c (wind − ẋ_c) on the cart and c (wind − ẋ_b, −ẏ_b) on the bob; the wind is unknown

The controller samples, measures x_c and x_b with noise, and assumes no wind. The filter's estimate
stays on the constraint of the rope. Without it the cart would come to rest at the distance

    c wind (1 + sin² θ)/(m_c k²)        tan θ = c wind/(m_b g), k: rate of the gains

from its path, since the rope that hangs at the angle θ pulls by c wind, of which a controller that
sees θ but no wind expects c wind cos² θ.

The crane is a textbook model; the filter is that of `zw.Plant.kalman_filter`. Units: m, kg, s.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from zwang.dynamics.model import Model
from zwang.equations.constraint import Holonomic
from zwang.equations.system import System
from zwang.gallery.drawing import Linkage
from zwang.gallery.example import Example
from zwang.gallery.index.entry import GRAVITY, Entry, Setting
from zwang.gallery.servo.checks import not_negative, positive
from zwang.gallery.servo.crane import SMOOTH
from zwang.gallery.servo.drawing import controls, over_time
from zwang.learning.plant import Plant
from zwang.scene import array_namespace
from zwang.servo import Loop, Servo

ENTRY = Entry(
    "crane-in-wind",
    "a crane whose controller measures places only and estimates the wind by a Kalman filter",
    8.0,
    {
        "cart_mass": Setting(2.0, "mass of the cart", "kg"),
        "bob_mass": Setting(1.0, "mass of the bob", "kg"),
        "rope": Setting(1.0, "length of the rope", "m"),
        "drag": Setting(0.8, "c: drag of cart and bob in the air", "N s/m"),
        "wind": Setting(3.0, "speed of the wind", "m/s"),
        "travel": Setting(1.0, "how far the cart goes", "m"),
        "travel_time": Setting(3.0, "how long it takes", "s"),
        "rate": Setting(3.0, "k, the rate of errors", "1/s"),
        "noise": Setting(0.002, "standard deviation of the measured places", "m"),
        "sample_time": Setting(0.02, "of the controller", "s"),
        "gravity": GRAVITY,
    },
    "textbook; Orsino (2017) and Julier and Uhlmann (2004) for the filter",
    ("servo", "underactuated", "uncertain", "estimation", "sampled", "plane"),
)

NAME = "crane-in-wind"
SPREAD = np.array([4.0, 0.2])
"""Standard deviation of the wind at the start [m/s], and of its change in a second."""


def build(
    *,
    cart_mass,
    bob_mass,
    rope,
    drag,
    wind,
    travel,
    travel_time,
    rate,
    noise,
    sample_time,
    gravity,
) -> Example:
    """The model, started at rest with the rope vertical, and the loop of its controller."""
    positive(NAME, cart_mass=cart_mass, bob_mass=bob_mass, rope=rope, travel_time=travel_time)
    positive(NAME, rate=rate, noise=noise, sample_time=sample_time)
    not_negative(NAME, drag=drag)

    def path(t, p=None):
        xp, p = (jnp, p) if p else (np, {"travel": travel, "travel_time": travel_time})
        share = xp.polyval(xp.asarray(SMOOTH), xp.clip(t / p["travel_time"], 0.0, 1.0))
        return p["travel"] * share

    system, hangs = _crane()
    place = Holonomic(lambda q, t, p: q[0] - path(t, p), name="place", unit="m")
    servo = Servo(
        [place],
        np.eye(3)[:, :1],
        actuators=["motor"],
        actuator_units=["N"],
        gains=rate,
    )
    params = {"cart_mass": cart_mass, "bob_mass": bob_mass, "rope": rope, "drag": drag}
    params |= {"wind": wind, "gravity": gravity, "travel": travel, "travel_time": travel_time}
    q0, v0 = np.array([0.0, 0.0, -rope]), np.zeros(3)
    model = Model(system, [hangs], params, servo=servo, name=NAME)
    still = Model(system, [hangs], {**params, "wind": 0.0}, servo=servo, name=NAME)
    observer = Plant(still, q0=q0, v0=v0, step=sample_time).kalman_filter(
        ["cart.x", "bob.x"],
        noise,
        unknown={"wind": SPREAD},
        force_noise=0.05,
        spread_q=2 * noise,
        spread_v=0.05,
    )

    def drawn(q):
        xp = array_namespace(q)
        cart, wide = xp.stack([q[0], 0 * q[0]]), np.array([0.15 * rope, 0.0])
        bar = lambda a, b: xp.stack([a, b])
        return xp.stack([bar(cart - wide, cart + wide), bar(cart, q[1:])])

    return Example(
        model,
        q0,
        v0,
        duration=8.0,
        rtol=1e-8,
        description=f"A cart carries a bob along its path in a wind of {wind:g} m/s, which is "
        "estimated.",
        figures={
            "Error": over_time("error of the cart [m]", lambda r: {"": r.q[:, 0] - path(r.t)}),
            "Places": over_time(
                "place [m]",
                lambda r: {"cart": r.q[:, 0], "bob": r.q[:, 1], "asked for": path(r.t)},
                dashed=["asked for"],
            ),
            "Push": controls("force [N]"),
            "Crane": Linkage(drawn),
        },
        simulate={"loop": Loop(sample_time=sample_time, model=still, observer=observer)},
    )


def _crane() -> tuple[System, Holonomic]:
    """Cart and bob in the wind, and the rope between them."""

    def force(q, v, t, p):
        blown = p["drag"] * (p["wind"] * jnp.array([1.0, 1.0, 0.0]) - v)
        return blown - p["bob_mass"] * p["gravity"] * jnp.array([0.0, 0.0, 1.0])

    def rope(q, t, p):
        return 0.5 * ((q[1] - q[0]) ** 2 + q[2] ** 2 - p["rope"] ** 2) / p["rope"]

    system = System(
        3,
        lambda q, t, p: jnp.stack([p["cart_mass"], p["bob_mass"], p["bob_mass"]]),
        force,
        potential=lambda q, t, p: p["bob_mass"] * p["gravity"] * q[2],
        coordinates=["cart.x", "bob.x", "bob.y"],
        units=["m"] * 3,
    )
    return system, Holonomic(rope, name="rope", unit="m")
