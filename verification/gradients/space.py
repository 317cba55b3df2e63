"""Cases in space: rolling without slipping, and quaternions."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from verification.gradients.case import Case
from zwang import gallery

G = 9.81


def cases() -> list[Case]:
    return [rolling_disk(), turntable(), spherical_pendulum()]


def rolling_disk() -> Case:
    """A disk of moments A, A, C by the tilt θ of its axis, precession φ and spin ω₃:

        (A + m r²) θ̈ = A φ̇² sin θ cos θ − (C + m r²) ω₃ φ̇ sin θ − m g r cos θ
        A (φ̈ sin θ + 2 φ̇ θ̇ cos θ) = C ω₃ θ̇,   (C + m r²) ω̇₃ = m r² φ̇ θ̇ sin θ

    Source: Neimark and Fufaev (1972), chapter II.
    """
    example = gallery.load("rolling-disk", wobble=0.5)
    slant, turning = np.radians(70.0), 1.5
    spin, wobble = float(example.v0[5]), float(example.v0[3])

    def start(x):
        r = x["radius"]
        q = jnp.asarray(example.q0).at[2].set(r * np.sin(slant))
        return q, jnp.asarray(example.v0).at[:3].multiply(r / 0.5)

    def rate(t, y, x):
        r, m, A, C = x["radius"], 1.0, x["across"], x["axial"]
        tilt, dt, dp, w = y
        s, c = np.sin(tilt), np.cos(tilt)
        falls = A * dp**2 * s * c - (C + m * r * r) * w * dp * s - m * G * r * c
        return [
            dt,
            falls / (A + m * r * r),
            (C * w * dt - 2 * A * dp * dt * c) / (A * s),
            m * r * r * dp * dt * s / (C + m * r * r),
        ]

    return Case(
        "rolling disk",
        "rolling rows and a quaternion",
        example.model,
        {"radius": 0.5, "across": 0.0625, "axial": 0.125},
        lambda x: {
            "radius": x["radius"],
            "inertia": jnp.stack([x["across"], x["across"], x["axial"]])[None],
        },
        start,
        2.0,
        lambda q, v: jnp.stack([q[2], v[2], v[5]]),
        rate,
        lambda x: [slant, wobble, turning, spin],
        lambda y, x: np.array(
            [x["radius"] * np.sin(y[0]), x["radius"] * np.cos(y[0]) * y[1], y[3]]
        ),
    )


def turntable() -> Case:
    """v̇ = Ω k/(1 + k) e_z × v of a ball, k = J/(m R²)."""
    example = gallery.load("turntable")

    def start(x):
        rolling = jnp.array([x["rate"] * 0.4 - 0.3, 0.0]) / 0.05
        return jnp.asarray(example.q0), jnp.asarray(example.v0).at[3:5].set(rolling)

    def rate(t, y, x):
        k = x["inertia"] / (0.5 * 0.05**2)
        turning = x["rate"] * k / (1 + k)
        return [y[2], y[3], -turning * y[3], turning * y[2]]

    return Case(
        "ball on a turntable",
        "rolling rows that depend on time",
        example.model,
        {"rate": 2.0, "inertia": 0.4 * 0.5 * 0.05**2},
        lambda x: {"rate": x["rate"], "inertia": x["inertia"] * jnp.ones((1, 3))},
        start,
        3.0,
        lambda q, v: jnp.concatenate([q[:2], v[:2]]),
        rate,
        lambda x: [0.4, 0.0, 0.0, 0.3],
        lambda y, x: y,
    )


def spherical_pendulum() -> Case:
    """The direction u of a rod from its joint, spinning at s about it:

    ü = −|u̇|² u + (m l u × g − C s u̇)/I × u,   I = J + m l²
    """
    example = gallery.load("spherical-pendulum", spin=20.0)
    along, sideways = np.array([np.sin(np.pi / 3), 0.0, -np.cos(np.pi / 3)]), np.array([0, 1.5, 0])

    def start(x):
        l = x["length"]
        q = jnp.asarray(example.q0).at[:3].multiply(l)
        return q, jnp.asarray(example.v0).at[1].multiply(l)

    def rate(t, y, x):
        u, du = y[:3], y[3:]
        l, m, spin = x["length"], 1.0, -20.0
        moment = m * l * np.cross(u, [0.0, 0.0, -G]) - x["axial"] * spin * du
        turned = np.cross(moment / (x["across"] + m * l * l), u)
        return np.concatenate([du, turned - (du @ du) * u])

    return Case(
        "spinning rod on a ball joint",
        "a quaternion",
        example.model,
        {"length": 1.0, "across": 0.1, "axial": 0.01},
        lambda x: {
            "length": x["length"],
            "inertia": jnp.stack([x["across"], x["across"], x["axial"]])[None],
        },
        start,
        2.0,
        lambda q, v: jnp.concatenate([q[:3], v[:3]]),
        rate,
        lambda x: np.concatenate([along, sideways]),
        lambda y, x: x["length"] * y,
    )
