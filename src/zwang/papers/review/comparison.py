"""Section 6: the Udwadia-Kalaba equation compared with those of Newton and Euler, Lagrange, and
Kane, for a rigid body of particles, a bead on a rotating hoop, and a sleigh.
"""

from __future__ import annotations

import functools
import itertools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from zwang.dynamics.model import Model
from zwang.dynamics.motion import motion
from zwang.equations.constraint import Holonomic, Nonholonomic
from zwang.equations.system import System
from zwang.papers.claim import Claim, Part, Verdict, compared
from zwang.papers.misprint import largest, short

EQUAL = 1e-11
"""Largest difference that counts as equal, for accelerations of order ten from matrices with a
condition number of about a hundred.
"""
PARTICLES = 5
MASS, GRAVITY = 1.5, 9.81
SPIN = 3.0
"""Angular velocity of the hoop [rad/s]."""


def reproduced() -> Part:
    """Section 6: the acceleration of each method compared with ours."""
    return Part([*_newton_euler(), *_lagrange(), _kane()])


class Body(NamedTuple):
    """A rigid body and its motion, about one of its points P.

    Attributes:
        mass, center, inertia: m, c relative to P, and the inertia about the center.
        acceleration, omega, alpha: the acceleration of P, and the angular velocity and
            acceleration.
        loads: force and moment about P required for this motion, summed over particles, shape (6,).
    """

    mass: float
    center: np.ndarray
    inertia: np.ndarray
    acceleration: np.ndarray
    omega: np.ndarray
    alpha: np.ndarray
    loads: np.ndarray


def body() -> Body:
    """A body of particles in a general motion, with its loads summed over the particles."""
    m, r, _ = _particles()
    a, omega, alpha = np.array([[0.4, -1.1, 0.7], [0.9, -0.5, 1.3], [-0.6, 0.8, 0.2]])
    each = m[:, None] * (a + np.cross(alpha, r) + np.cross(omega, np.cross(omega, r)))
    center = m @ r / m.sum()
    loads = np.concatenate([each.sum(0), np.cross(r, each).sum(0)])
    return Body(m.sum(), center, _inertia(m, r - center), a, omega, alpha, loads)


def _particles() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Masses, positions relative to P, which is the first particle, and forces of five
    particles.
    """
    random = np.random.default_rng(37)
    r = random.normal(size=(PARTICLES, 3))
    return random.uniform(0.5, 2, PARTICLES), r - r[0], random.normal(size=(PARTICLES, 3))


def _inertia(m, r) -> np.ndarray:
    return np.einsum("k,kij->ij", m, np.sum(r**2, 1)[:, None, None] * np.eye(3)) - (m * r.T) @ r


def _newton_euler() -> list[Claim]:
    """Section 6.1: distances of particles as constraints, compared with the corrected eq. (37)."""
    from zwang.papers.review.misprints import newton_euler

    m, r, forces = _particles()
    pairs = np.array(list(itertools.combinations(range(PARTICLES), 2)))
    lengths = np.linalg.norm(r[pairs[:, 0]] - r[pairs[:, 1]], axis=1)

    def distances(q, t, p):
        x = q.reshape(-1, 3)
        return jnp.sum((x[pairs[:, 0]] - x[pairs[:, 1]]) ** 2, axis=1) - lengths**2

    system = System(
        3 * PARTICLES,
        lambda q, t, p: jnp.repeat(jnp.asarray(m), 3),
        lambda q, v, t, p: jnp.asarray(forces.ravel()),
    )
    omega, start = np.array([0.9, -0.5, 1.3]), np.array([0.2, 0.1, -0.4])
    v = start + np.cross(omega, r)
    answer = motion(Model(system, [Holonomic(distances, name="rigid")]), r.ravel(), v.ravel())
    w = np.asarray(answer.acceleration).reshape(-1, 3)
    center = m @ r / m.sum()
    still = np.zeros(3)
    x = Body(m.sum(), center, _inertia(m, r - center), still, omega, still, np.zeros(6))
    # eq. (37) is linear in a_P and α: its columns one by one
    rest = newton_euler(x, 1.0, turning=True)
    matrix = np.stack(
        [
            newton_euler(x._replace(acceleration=e[:3], alpha=e[3:]), 1.0, turning=True) - rest
            for e in np.eye(6)
        ],
        axis=1,
    )
    loads = np.concatenate([forces.sum(0), np.cross(r, forces).sum(0)])
    a, alpha = np.linalg.solve(matrix, loads - rest).reshape(2, 3)
    off = largest(w - (a + np.cross(alpha, r) + np.cross(omega, np.cross(omega, r))))
    rank = int(np.asarray(answer.rank))
    return [
        Claim(
            "section 6.1, eq. (37)",
            "Newton's and Euler's equations of a rigid body, and ours of its particles",
            "different forms of one motion",
            f"accelerations differ by {short(off)}",
            compared(off < EQUAL),
            f"Eq. (37) without its misprints; {len(pairs)} distances of {PARTICLES} particles, of "
            f"rank {rank}, and forces between them that need not be known.",
        )
    ]


@functools.cache
def _bead() -> tuple[Model, np.ndarray, np.ndarray]:
    """A bead on a rotating hoop in rotating axes, so that T has all terms of eq. (47); the
    constraint of the hoop is given twice.
    """

    def force(q, v, t, p):
        x, y, z = q
        along, across, _ = v
        turned = jnp.stack([2 * SPIN * across + SPIN**2 * x, -2 * SPIN * along + SPIN**2 * y, 0])
        return MASS * turned - jnp.array([0.0, 0.0, MASS * GRAVITY])

    system = System(3, lambda q, t, p: MASS * jnp.ones(3), force)
    rows = lambda q, t, p: jnp.stack([q @ q - 1, q[1], q[1] + 2 * (q @ q - 1)])
    q = np.array([0.6, 0.0, -0.8])
    return Model(system, [Holonomic(rows, name="hoop")]), q, 0.7 * np.array([0.8, 0.0, 0.6])


def kinetic(q, v) -> jax.Array:
    """T of the bead with the parts M, N and P of eq. (47)."""
    carried = SPIN * jnp.stack([-q[1], q[0], 0.0])
    return 0.5 * MASS * (v @ v) + MASS * carried @ v + 0.5 * MASS * carried @ carried


def _lagrange() -> list[Claim]:
    """Section 6.2: multipliers."""
    model, q, v = _bead()
    answer = motion(model, q, v)
    A, b, w = (np.asarray(x) for x in (answer.matrix, answer.rhs, answer.acceleration))
    applied = np.array([0.0, 0.0, -MASS * GRAVITY])
    # d/dt ∂T/∂q̇ − ∂T/∂q − Q by automatic differentiation
    momentum = jax.grad(kinetic, 1)
    rate = jax.jvp(momentum, (jnp.asarray(q), jnp.asarray(v)), (jnp.asarray(v), jnp.asarray(w)))[1]
    force = np.asarray(rate - jax.grad(kinetic)(q, v)) - applied
    F = np.asarray(model.system.force(q, v, 0.0, model.params))
    by_49 = largest(force - (MASS * w - F))
    multipliers = np.linalg.lstsq(A.T, force, rcond=None)[0]
    obeyed = max(largest(A.T @ multipliers - force), largest(A @ w - b))
    null = np.linalg.svd(A.T)[2][-1]
    other = multipliers + null
    same = largest(A.T @ (other - multipliers))
    inverse = np.linalg.pinv(A @ A.T / MASS, rcond=1e-10)
    closed = largest(A.T @ (inverse @ (b - A @ F / MASS)) - force)
    return [
        Claim(
            "section 6.2, eq. (47)-(49)",
            "F of (49) from T = ½q̇ᵀMq̇ + Nq̇ + P, a bead in axes that turn",
            "equal",
            f"differ by {short(by_49)}",
            compared(by_49 < EQUAL),
            "Against d/dt ∂T/∂q̇ − ∂T/∂q − Q by automatic differentiation.",
        ),
        Claim(
            "section 6.2, eq. (46), (48)",
            "our acceleration obeys Lagrange's equations with multipliers",
            "Aᵀλ is our F^c",
            f"missed by {short(obeyed)}",
            compared(obeyed < EQUAL),
        ),
        Claim(
            "section 6.2, second distinction",
            "λ is not unique where rows depend on each other, Aᵀλ is",
            "λ not unique, Aᵀλ unique",
            f"λ that differ by {np.linalg.norm(other - multipliers):g} give Aᵀλ that differ by "
            f"{short(same)}",
            compared(same < EQUAL),
            "Three rows of rank two.",
        ),
        Claim(
            "section 6.2, first distinction",
            "λ has to be solved numerically for each start, where F^c has a closed form",
            "no closed form of λ",
            f"(A M⁻¹Aᵀ)⁺(b − A M⁻¹F) gives Aᵀλ to {short(closed)}",
            compared(closed > EQUAL),
            "A closed form of the same kind as eq. (36): λ is as explicit as F^c, and takes the "
            "same pseudoinverse.",
            Verdict.NOT,
        ),
    ]


def _kane() -> Claim:
    """Section 6.3: a sleigh, with its forward speed and its rate of turn as generalized speeds."""
    m, I, a = 2.0, 0.7, 0.4
    pull = np.array([0.3, -0.8, 0.5])

    def mass(q):
        s, c = jnp.sin(q[2]), jnp.cos(q[2])
        return jnp.array([[m, 0, -m * a * s], [0, m, m * a * c], [-m * a * s, m * a * c, I]])

    def force(q, v, t, p):
        centrifugal = m * a * v[2] ** 2 * jnp.stack([jnp.cos(q[2]), jnp.sin(q[2]), 0.0])
        return pull + centrifugal

    blade = Nonholonomic(
        lambda q, v, t, p: v[1] * jnp.cos(q[2]) - v[0] * jnp.sin(q[2]), name="edge"
    )
    model = Model(System(3, lambda q, t, p: mass(q), force), [blade])
    speeds = lambda q: jnp.stack(
        [jnp.stack([jnp.cos(q[2]), jnp.sin(q[2]), 0.0]), jnp.array([0.0, 0.0, 1.0])], axis=1
    )
    q, u = np.array([0.2, -0.1, 0.9]), np.array([1.3, -0.6])
    W = np.asarray(speeds(q))
    v = W @ u
    W_rate = np.asarray(jax.jvp(speeds, (jnp.asarray(q),), (jnp.asarray(v),))[1])
    M, F = np.asarray(mass(q)), np.asarray(force(q, v, 0.0, None))
    u_rate = np.linalg.solve(W.T @ M @ W, W.T @ (F - M @ W_rate @ u))
    ours = np.asarray(motion(model, q, v).acceleration)
    off = max(largest(ours - W @ u_rate - W_rate @ u), largest(W.T @ (F - M @ ours)))
    return Claim(
        "section 6.3, eq. (50)",
        "Kane's equations F̃_r + F̃_r* = 0 of a sleigh, and ours",
        "one motion",
        f"differ by {short(off)}",
        compared(off < EQUAL),
        "Two generalized speeds, forward and turning, for three coordinates and an edge that is "
        "nonholonomic.",
    )
