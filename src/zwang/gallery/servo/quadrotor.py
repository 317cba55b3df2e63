"""A quadrotor that flies a figure eight, or a loop with a flip; its thrust is a state of the
controller.

    m p̈ = F z_b − m g e_z,   J ω̇ + ω × J ω = τ,   F and τ from four rotors
    place: p = path(t)                              servo, relative degree 4 behind two integrators
    heading: y_b · (e_y × (p̈_path + g e_z)) = 0     servo, relative degree 2
    exact:  F z_b = m (p̈ + g e_z),  x_b ⊥ e_y

Position and heading are flat outputs. The sum of the rotor forces appears in all three
accelerations, and their differences in none. With two integrators before the sum, the four rotors
can meet all four rows, from rest to rest. In the loop the thrust rotates by a whole turn and never
vanishes, because the downward acceleration at the top exceeds gravity.

Source: Mellinger and Kumar (2011), Minimum snap trajectory generation and control for quadrotors,
    IEEE Int. Conf. Robotics and Automation, 2520-2525 (flat outputs); Isidori (1995), Nonlinear
    Control Systems, section 5.4 (dynamic extension). Units: m, kg, s.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from zwang.bodies import Body, RigidBodies, Shape
from zwang.dynamics.model import Model
from zwang.equations.constraint import Holonomic
from zwang.errors import ModelError
from zwang.gallery.drawing import paths
from zwang.gallery.example import Example
from zwang.gallery.index.entry import Entry, Setting
from zwang.gallery.servo.checks import lengths, one_of, positive
from zwang.gallery.servo.crane import SMOOTH
from zwang.gallery.servo.drawing import controls
from zwang.scene import bodies_scene
from zwang.servo import Servo
from zwang.servo.extended_servo import extended_model
from zwang.servo.input_chain import Chains, combined

ENTRY = Entry(
    "quadrotor",
    "four rotors fly a figure eight or a loop: thrust becomes a state of the controller",
    9.0,
    {
        "path": Setting("eight", "what it flies: eight, or flip, a loop in which it turns over"),
        "size": Setting(1.0, "half width of the eight, or radius of the loop", "m"),
        "travel_time": Setting(8.0, "how long it takes; 2.4 s are enough for the loop", "s"),
        "mass": Setting(1.2, "mass", "kg"),
        "inertia": Setting((0.012, 0.012, 0.022), "principal moments of inertia", "kg m²"),
        "arm": Setting(0.2, "distance of the rotors from the middle", "m"),
        "drag": Setting(0.02, "torque of a rotor over its force", "m"),
        "rate": Setting(4.0, "rate at which errors decay, all poles at -rate", "1/s"),
    },
    "Mellinger and Kumar (2011); Isidori (1995)",
    ("servo", "underactuated", "flat", "relative degree", "space", "quaternion", "exact"),
)

NAME = "quadrotor"
ROTORS = ("front", "left", "back", "right")
GRAVITY = 9.81
PATHS = {"eight": (0.5, 0.25), "flip": (0.0, 1.0)}
"""Lateral swing and climb of each path at size 1: (sin a, swing sin 2a, climb (1 − cos a)), where a
goes once around.
"""


def build(*, path, size, travel_time, mass, inertia, arm, drag, rate) -> Example:
    """The model, started at rest on the path."""
    one_of(NAME, tuple(PATHS), path=path)
    lengths(NAME, 3, inertia=inertia)
    positive(NAME, size=size, travel_time=travel_time, mass=mass, inertia=inertia, arm=arm)
    positive(NAME, drag=drag, rate=rate)
    bodies = RigidBodies([Body("drone", mass, tuple(inertia))], gravity=(0.0, 0.0, -GRAVITY))
    places, lift = _exactly(path, size, travel_time)
    along = _turn(lift)
    if np.min(np.linalg.norm(lift, axis=1)) < 0.05 * GRAVITY:
        raise ModelError(
            f"{NAME}: on this path the craft falls freely for a moment, and without thrust it "
            "cannot be steered; change travel_time or size."
        )
    swing, climb = PATHS[path]
    given = {"size": size, "swing": swing, "climb": climb, "travel_time": travel_time}
    params = {**bodies.params, **given, "arm": arm, "drag": drag}
    rows = [
        Holonomic(lambda q, t, p, i=i: bodies.position(q, 0)[i] - _place(t, p)[i], name=n, unit="m")
        for i, n in enumerate("xyz")
    ]

    def turned(q, t, p):
        lift = _acceleration(t, p) - p["gravity"]
        ahead = jnp.stack([lift[2], jnp.zeros(()), -lift[0]])
        return bodies.rotation(q, 0)[:, 1] @ ahead / GRAVITY

    servo = Servo(
        [*rows, Holonomic(turned, name="heading", unit="rad")],
        lambda q, t, p: _rotors(bodies, q, p),
        actuators=ROTORS,
        actuator_units=["N"] * 4,
    )
    model = Model(bodies.system, [], params, name=NAME)
    # the result of zwang.servo.with_found_degrees, stated here because the search takes several
    # seconds
    chains = Chains(model.system, (0,) * 4, ROTORS, ("N",) * 4)
    chains = combined(chains, np.full((4, 1), 0.5))
    chains = Chains(chains.system, (2, 0, 0, 0), chains.names, chains.units, chains.combination)
    degrees = {"x": 4, "y": 4, "z": 4, "heading": 2}
    closed = extended_model(model, servo, chains, gains=rate, degrees=degrees)
    hover = np.r_[places(np.zeros(1))[:, 0], 1.0, 0.0, 0.0, 0.0]
    weight = np.full(4, 0.25 * mass * GRAVITY)
    q0, v0 = chains.state(hover, np.zeros(6), weight, 0.0, params)
    names = model.system.coordinates

    def exact(t):
        found, lift = _exactly(path, size, travel_time, np.asarray(t, float))
        angle = lambda t: np.interp(t, np.linspace(0.0, travel_time, len(along)), along)
        thrust = mass * np.linalg.norm(lift, axis=1)
        return {
            **dict(zip(names, np.concatenate([found(t), _attitude(lift, angle(t))]), strict=True)),
            chains.names[0]: thrust,
        }

    named = "an eight" if path == "eight" else f"a {path}"
    flown = places(np.linspace(0.0, travel_time, 400))
    return Example(
        closed,
        q0,
        v0,
        duration=9.0,
        description=(
            f"Four rotors fly along a path in the form of {named} of {size:g} m in "
            f"{travel_time:g} s, from rest to rest."
        ),
        exact=exact,
        figures={
            "Path from the side": paths(
                lambda q: [q[:, [0, 2]].T, flown[[0, 2]]], ["flown", "asked for"]
            ),
            "Rotor forces": controls("force [N]"),
        },
        scene=bodies_scene(
            {"drone": (Shape("box", (2 * arm, 2 * arm, 0.1 * arm)),)},
            {"nose": ("drone", (arm, 0.0, 0.0))},
            traces=("nose",),
        ),
    )


def _rotors(bodies: RigidBodies, q, p):
    """B: each rotor exerts a force along the body's z axis, and a drag torque about it with
    alternating sign.
    """
    up, arm, drag = bodies.rotation(q, 0)[:, 2], p["arm"], p["drag"]
    none = jnp.zeros(())
    torques = ((none, -arm, drag), (arm, none, -drag), (none, arm, drag), (-arm, none, -drag))
    return jnp.stack([jnp.concatenate([up, jnp.stack(x)]) for x in torques], axis=1)


def _place(t, p):
    s = jnp.polyval(jnp.asarray(SMOOTH), jnp.clip(t / p["travel_time"], 0.0, 1.0))
    a = 2 * jnp.pi * s
    shape = jnp.sin(a), p["swing"] * jnp.sin(2 * a), p["climb"] * (1 - jnp.cos(a))
    return p["size"] * jnp.stack(shape)


def _acceleration(t, p):
    place, one = lambda t: _place(t, p), jnp.ones_like(t)
    rate = lambda t: jax.jvp(place, (t,), (one,))[1]
    return jax.jvp(rate, (t,), (one,))[1]


def _exactly(path: str, size: float, travel_time: float, t=None):
    """Position as a function of time, shape (3, …), and p̈ + g e_z at given times, by default along
    the whole path, shape (…, 3).
    """
    t = np.linspace(0.0, travel_time, 2000) if t is None else np.atleast_1d(t)
    swing, climb = PATHS[path]
    share, turn = lambda t: np.clip(t / travel_time, 0.0, 1.0), 2 * np.pi

    def places(t):
        a = turn * np.polyval(SMOOTH, share(t))
        return size * np.stack([np.sin(a), swing * np.sin(2 * a), climb * (1 - np.cos(a))])

    a, rate, bent = (
        turn * np.polyval(np.polyder(SMOOTH, k), share(t)) / travel_time**k for k in range(3)
    )
    first = np.stack([np.cos(a), 2 * swing * np.cos(2 * a), climb * np.sin(a)])
    second = np.stack([-np.sin(a), -4 * swing * np.sin(2 * a), climb * np.cos(a)])
    return places, size * (second * rate**2 + first * bent).T + np.array([0.0, 0.0, GRAVITY])


def _turn(lift: np.ndarray) -> np.ndarray:
    """Angle of the thrust about y [rad], without jumps."""
    return np.unwrap(np.arctan2(lift[:, 0], lift[:, 2]))


def _attitude(lift: np.ndarray, near: np.ndarray) -> np.ndarray:
    """Quaternion with z_b along the thrust and x_b across e_y, shape (4, samples).

    It is a rotation about y by θ, which equals the angle `near` up to whole turns, followed by a
    rotation about the body's x axis by ρ.
    """
    theta = np.arctan2(lift[:, 0], lift[:, 2])
    theta = theta + 2 * np.pi * np.round((near - theta) / (2 * np.pi))
    rho = -np.arctan2(lift[:, 1], np.hypot(lift[:, 0], lift[:, 2]))
    c, s, cr, sr = np.cos(theta / 2), np.sin(theta / 2), np.cos(rho / 2), np.sin(rho / 2)
    return np.stack([c * cr, c * sr, s * cr, -s * sr])
