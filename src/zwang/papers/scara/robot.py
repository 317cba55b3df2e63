"""The robot in three forms: as a chain of screws, eq. (12)-(33), in the paper's closed form, eq.
(34)-(36), and on its path, eq. (47)-(54).

The closed forms are written in NumPy, term by term as printed, independently of the library.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping

import numpy as np
import scipy.linalg

import zwang.gallery
from zwang.bodies import Link, OpenChain, prismatic, revolute
from zwang.dynamics.model import Model
from zwang.equations.constraint import Holonomic
from zwang.gallery import Example
from zwang.servo import Servo

Params = Mapping[str, np.ndarray]
Z = (0.0, 0.0, 1.0)


@functools.cache
def member() -> Example:
    """The gallery's robot with the paper's parameters and gains, and with its printed initial
    velocities.
    """
    return zwang.gallery.load("scara")


@functools.cache
def numbers() -> Params:
    """Masses, lengths and inertias of the paper, and its path."""
    return {name: np.asarray(value) for name, value in member().model.params.items()}


@functools.cache
def chain() -> OpenChain:
    """The robot in terms of its joint twists, eq. (32), (33). Only inertias about the vertical have
    an effect; the others are set equal to them.
    """
    p = numbers()
    (l1, l2), (r1, r2) = p["length"], p["center"]
    joints = [revolute(Z), revolute(Z, (0, l1, 0)), revolute(Z, (0, l1 + l2, 0)), prismatic(Z)]
    centers = [r1, l1 + r2, l1 + l2, l1 + l2]
    parts = enumerate(zip(joints, p["mass"], centers, p["inertia"], strict=True), start=1)
    return OpenChain(
        [Link(f"q{i}", joint, m, (0.0, y, 0.0), (I, I, I)) for i, (joint, m, y, I) in parts],
        tool=(0.0, l1 + l2, 0.0),
        gravity=(0.0, 0.0, -float(p["gravity"])),
    )


@functools.cache
def passive() -> Model:
    """The gallery's robot with its path as a passive constraint, which permits projection, in place
    of a servo constraint.
    """
    model = member().model
    assert isinstance(model.servo, Servo)
    return Model(
        model.passive.system,
        list(model.servo.constraints),
        model.params,
        name="scara, path as a constraint",
    )


@functools.cache
def constrained() -> Model:
    """The chain of screws with eq. (47) on its tool, eq. (38)."""
    import jax.numpy as jnp

    arm, p = chain(), numbers()
    radius, middle, frequency, climb = (
        float(p[name]) for name in ("radius", "middle", "frequency", "climb")
    )

    def helix(q, t, p):
        x, y, z = arm.tool(q, p)[:3, 3]
        phase = frequency * t
        return jnp.stack(
            [
                x - radius * jnp.sin(phase),
                y - middle - radius * jnp.cos(phase),
                q[0] + q[1] + q[2],
                z - climb * t,
            ]
        )

    return Model(arm.system, [Holonomic(helix, name="helix")], arm.params, name="scara chain")


# --- closed forms, as printed


def constants(p: Params) -> tuple[float, float, float, float]:
    """α, β, γ, δ of eq. (34)."""
    (m1, m2, m3, m4), (l1, l2), (r1, r2), I = p["mass"], p["length"], p["center"], p["inertia"]
    alpha = I[0] + r1**2 * m1 + l1**2 * m2 + l1**2 * m3 + l1**2 * m4
    beta = I[1] + I[2] + I[3] + l2**2 * m3 + l2**2 * m4 + m2 * r2**2
    return alpha, beta, l1 * l2 * m3 + l1 * l2 * m4 + l1 * m2 * r2, I[2] + I[3]


def mass_matrix(q, p: Params) -> np.ndarray:
    """M of eq. (34)."""
    (alpha, beta, gamma, delta), c = constants(p), np.cos(q[1])
    rows = [
        [alpha + beta + 2 * gamma * c, beta + gamma * c, delta],
        [beta + gamma * c, beta, delta],
        [delta, delta, delta],
    ]
    return np.asarray(scipy.linalg.block_diag(rows, p["mass"][3]))


def mass_slopes(q, p: Params) -> np.ndarray:
    """∂M_ij/∂q_k of eq. (34), which depends only on q₂."""
    slopes = np.zeros((4, 4, 4))
    slopes[:2, :2, 1] = -constants(p)[2] * np.sin(q[1]) * np.array([[2, 1], [1, 0]])
    return slopes


def coriolis(q, v, p: Params) -> np.ndarray:
    """C of eq. (35)."""
    h, C = constants(p)[2] * np.sin(q[1]), np.zeros((4, 4))
    C[:2, :2] = [[-h * v[1], -h * (v[0] + v[1])], [h * v[0], 0]]
    return C


def forces(q, v, p: Params) -> np.ndarray:
    """`Q = −C q̇ − G`, eq. (11), (36)."""
    return -coriolis(q, v, p) @ v - np.array([0, 0, 0, p["mass"][3] * p["gravity"]])


def errors(q, v, t, p: Params) -> tuple[np.ndarray, np.ndarray]:
    """Φ of eq. (48) and its rate, shape (4, …)."""
    (l1, l2), w, R = p["length"], p["frequency"], p["radius"]
    s1, c1, s12, c12 = np.sin(q[0]), np.cos(q[0]), np.sin(q[0] + q[1]), np.cos(q[0] + q[1])
    turn = v[0] + v[1]
    place = [
        -l1 * s1 - l2 * s12 - R * np.sin(w * t),
        l1 * c1 + l2 * c12 - p["middle"] - R * np.cos(w * t),
    ]
    rate = [
        -l1 * c1 * v[0] - l2 * c12 * turn - R * w * np.cos(w * t),
        -l1 * s1 * v[0] - l2 * s12 * turn + R * w * np.sin(w * t),
    ]
    return (
        np.stack([*place, q[0] + q[1] + q[2], q[3] - p["climb"] * t]),
        np.stack([*rate, v[0] + v[1] + v[2], v[3] - p["climb"] + 0 * t]),
    )


def equation(q, v, t, p: Params) -> tuple[np.ndarray, np.ndarray]:
    """A and b of eq. (49)."""
    (l1, l2), w, R = p["length"], p["frequency"], p["radius"]
    s1, c1, s12, c12 = np.sin(q[0]), np.cos(q[0]), np.sin(q[0] + q[1]), np.cos(q[0] + q[1])
    A = np.array(
        [
            [-l1 * c1 - l2 * c12, -l2 * c12, 0, 0],
            [-l1 * s1 - l2 * s12, -l2 * s12, 0, 0],
            [1, 1, 1, 0],
            [0, 0, 0, 1],
        ]
    )
    turn = v[0] + v[1]
    x = -(v[0] ** 2) * l1 * s1 - turn**2 * l2 * s12 - R * w**2 * np.sin(w * t)
    y = v[0] ** 2 * l1 * c1 + turn**2 * l2 * c12 - R * w**2 * np.cos(w * t)
    return A, np.array([x, y, 0.0, 0.0])
