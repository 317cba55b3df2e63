"""A thin disk that rolls on a plane without slip.

    contact:  z = r √(1 − d_z²),  d the disk's axis in space        holonomic
    rolling:  ṗ + ω × ρ = 0 horizontally,  ρ from the center to the contact point     nonholonomic
    steady motion, tilt β from upright (θ = 90° − β), precession Ω:
        ω₃ = (J₁ Ω² sin θ cos θ − m g r cos θ)/((J₃ + m r²) Ω sin θ),  the center on a circle of
        radius r |ω₃/Ω|

Six velocities and three rows. Source: Neimark and Fufaev (1972), Dynamics of Nonholonomic Systems,
chapter II. Units: m, kg, s.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from zwang.bodies import Body, RigidBodies, Shape
from zwang.bodies.rotation import from_axis_angle, product, rotation_matrix
from zwang.dynamics.model import Model
from zwang.equations.constraint import Holonomic, Nonholonomic
from zwang.errors import ModelError
from zwang.gallery.drawing import one, paths
from zwang.gallery.example import Example
from zwang.gallery.index.entry import GRAVITY, Entry, Setting
from zwang.plots import Curve
from zwang.scene import Mark, bodies_scene

ENTRY = Entry(
    "rolling-disk",
    "a thin disk rolls in a circle without slipping",
    10.0,
    {
        "radius": Setting(0.5, "radius", "m"),
        "mass": Setting(1.0, "mass", "kg"),
        "tilt": Setting(20.0, "tilt from upright", "deg"),
        "precession": Setting(1.5, "rate at which it turns round", "rad/s"),
        "wobble": Setting(
            0.0, "rate of tilting at the start; 0 for the exact, steady motion", "rad/s"
        ),
        "gravity": GRAVITY,
    },
    "textbook: Neimark and Fufaev, chapter II",
    ("space", "quaternion", "nonholonomic", "exact"),
)

UP = np.array([0.0, 0.0, 1.0])


def build(*, radius, mass, tilt, precession, wobble, gravity) -> Example:
    """The model in steady motion with a disturbance `wobble` of the rate of tilt [rad/s]."""
    if precession == 0 or abs(tilt) >= 90:
        raise ModelError(
            f"rolling-disk got tilt = {tilt}° and precession = {precession} rad/s; expected "
            "below 90° and not 0."
        )
    diametral, axial = mass * radius**2 / 4, mass * radius**2 / 2
    bodies = RigidBodies(
        [Body("disk", mass, (diametral, diametral, axial))], gravity=(0.0, 0.0, -gravity)
    )

    def to_contact(q, p):
        axis = bodies.direction(q, "disk", UP)
        return -p["radius"] * (UP - axis[2] * axis) / jnp.sqrt(axis[:2] @ axis[:2])

    def slip(q, v, t, p):
        return v[:2] + jnp.cross(bodies.angular_velocity(q, v, "disk"), to_contact(q, p))[:2]

    contact = Holonomic(lambda q, t, p: q[2] + to_contact(q, p)[2], name="contact")
    model = Model(
        bodies.system,
        [contact, Nonholonomic(slip, name="rolling")],
        {**bodies.params, "radius": radius},
        name="rolling-disk",
    )
    slant = np.radians(90 - tilt)
    spin = steady_spin(mass, radius, slant, precession, gravity)
    exact = _steady(radius, slant, precession, spin)
    q0 = np.concatenate([exact(np.zeros(1))[name] for name in model.system.coordinates])
    # in body axes: the tilt is a rotation about the first axis, which is horizontal
    turning = np.array([wobble, precession * np.sin(slant), spin])
    forward = radius * (
        wobble * np.array([0.0, -np.sin(slant), np.cos(slant)]) - spin * np.array([1.0, 0.0, 0.0])
    )
    return Example(
        model,
        q0,
        v0=np.r_[forward, turning],
        duration=10.0,
        description=f"A disk rolls without slipping, tilted by {tilt:g}° and turning round at "
        f"{precession:g} rad/s.",
        figures={
            "Track": paths(lambda q: _tracks(q, radius), ["contact point", "center"]),
            "Height of the center": _height,
        },
        exact=exact if wobble == 0 else None,
        scene=bodies_scene(
            {"disk": (Shape("cylinder", (radius, 0.05 * radius)),)},
            {"rim": ("disk", (radius, 0.0, 0.0))},
            traces=("disk", "rim"),
            joints=(Mark("contact", "disk", "none", constraints=("contact", "rolling")),),
        ),
    )


def steady_spin(mass, radius, slant, precession, gravity) -> float:
    """ω₃ [rad/s] of steady motion, `slant` θ [rad] between axis and vertical."""
    s, c = np.sin(slant), np.cos(slant)
    diametral, axial = mass * radius**2 / 4, mass * radius**2 / 2
    weight = mass * gravity * radius * c
    return (diametral * precession**2 * s * c - weight) / (
        (axial + mass * radius**2) * precession * s
    )


def _steady(radius, slant, precession, spin):
    """t → coordinates: the attitude rotates about the vertical at Ω and about the disk's axis at ω₃
    − Ω cos θ.
    """
    names = ("disk.qw", "disk.qx", "disk.qy", "disk.qz")
    # the center of a steadily rolling disk moves on this circle
    circle = radius * spin / precession
    tilted = from_axis_angle([1.0, 0.0, 0.0], slant)

    def exact(t):
        round_, own = (
            precession * np.asarray(t),
            (spin - precession * np.cos(slant)) * np.asarray(t),
        )
        q = product(product(from_axis_angle(UP, round_), tilted), from_axis_angle(UP, own))
        place = {
            "disk.x": -circle * np.sin(round_),
            "disk.y": circle * np.cos(round_),
            "disk.z": radius * np.sin(slant) + 0 * round_,
        }
        return place | dict(zip(names, np.asarray(q).T, strict=True))

    return exact


def _tracks(q, radius):
    """Contact point and center on the plane over time, shape (2, 2, samples)."""
    axis = np.asarray(rotation_matrix(q[:, 3:]))[:, :, 2]
    arm = radius * axis[:, 2] / np.sqrt(1 - axis[:, 2] ** 2)
    contact = q[:, :2] + arm[:, None] * axis[:, :2]
    return [contact.T, q[:, :2].T]


def _height(run):
    return one(
        [Curve(run.t, run.q[:, 2])], "time [s]", "height of the center [m]", limits=(0, None)
    )
