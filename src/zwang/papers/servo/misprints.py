"""Misprinted equations with their errors: at a state of the coordinated robots with unequal links,
for two masses on a spring, or for random numbers if the equation holds for any system.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg

import zwang.gallery
from zwang.dynamics.motion import motion
from zwang.papers.misprint import Misprint, apart, largest
from zwang.papers.servo.chain import SPREAD, appendix, by_jacobians, servo_matrix

THETA = np.array([0.3, -0.8, 1.2, 2.0, -0.4])
RATE = np.array([0.5, -0.2, 0.9, 0.1, -0.7])
"""Rates of an arbitrary state of the robots."""
BASE = 1.0
"""Length l of eq. (64) [m]."""


def misprints() -> list[Misprint]:
    """All misprints that a number can show, in the paper's order."""
    return [
        _constraint(),
        *_differentiated(),
        *_solutions(),
        _stabilized(),
        _mass_of_spring(),
        *_robots(),
    ]


def _constraint() -> Misprint:
    """Eq. (5), for the hinge of eq. (62)."""
    example = zwang.gallery.load("coordinated-robots")
    model = example.model.passive
    answer = motion(model, example.q0, 0.1 * RATE, throw=False)
    A, b = np.asarray(answer.matrix), np.asarray(answer.rhs)
    return Misprint(
        "eq. (5)",
        "constraints in matrix form",
        "Â = b̂",
        "Â q̈ = b̂",
        apart(A, b),
        apart(A @ np.asarray(answer.acceleration), b),
    )


def _row(q, t):
    """A_li and A_l of eq. (18): two constraints on three velocities."""
    A = jnp.stack(
        [
            jnp.stack([jnp.sin(q[1]), q[2] * t, jnp.cos(q[0])]),
            jnp.stack([q[1] * q[2], jnp.exp(-q[0]), t + q[1] ** 2]),
        ]
    )
    return A, jnp.stack([q[0] * q[1] - t, jnp.sin(q[2] + t)])


def _differentiated() -> list[Misprint]:
    """Eq. (19)-(21), along an arbitrary curve q(t)."""
    t, n = 0.4, 3
    path = lambda t: jnp.stack([jnp.sin(t), t**2 + 0.3, jnp.cos(2 * t)])
    rate, second = jax.jacfwd(path), jax.jacfwd(jax.jacfwd(path))
    q, v, w = (np.asarray(f(t)) for f in (path, rate, second))

    def relation(t):
        A, c = _row(path(t), t)
        return A @ rate(t) + c

    A, _ = (np.asarray(x) for x in _row(q, t))
    (A_q, c_q), (A_t, c_t) = jax.jacfwd(_row, 0)(q, t), jax.jacfwd(_row, 1)(q, t)
    A_rate, c_rate = A_q @ v + A_t, c_q @ v + c_t
    # the printed sums run over i and leave k undefined; the best k is used
    printed = [
        largest(sum(A_q[:, i, k] for i in range(n)) * v[k] + A_t[:, 0] - A_rate[:, 0])
        for k in range(n)
    ]
    printed_c = [largest(n * c_q[:, k] * v[k] + c_t - c_rate) for k in range(n)]
    balance = lambda t: jnp.diag(jnp.array([1.0, 2.0, 3.0])) @ second(t) - path(t)
    along = jax.jvp(_row, (jnp.asarray(q), t), (jnp.asarray(v), 1.0))[1]
    found = A_rate @ v + A @ w + c_rate
    return [
        Misprint(
            "eq. (19), its text",
            "second-order form of the constraints",
            "equation (6) differentiated",
            "equation (18) differentiated; (6) is the equation of motion, with one row for each "
            "coordinate",
            apart(jax.jacfwd(balance)(t), found),
            apart(jax.jacfwd(relation)(t), found),
        ),
        Misprint(
            "eq. (20)",
            "dA_li/dt",
            "Σᵢ ∂A_li/∂q_k q̇_k",
            "the sum over k; i is taken. In (22) b_i is b_l for the same reason",
            min(printed),
            apart(along[0], A_rate),
        ),
        Misprint(
            "eq. (21)",
            "dA_l/dt",
            "Σᵢ ∂A_l/∂q_k q̇_k",
            "the sum over k",
            min(printed_c),
            apart(along[1], c_rate),
        ),
    ]


def _solutions() -> list[Misprint]:
    """Eq. (28)-(30) for a matrix C of two rows, and (35) for the robots."""
    random = np.random.default_rng(28)
    C, b, a, c = (random.normal(size=shape) for shape in ((2, 5), 2, 5, 5))
    plus = np.linalg.pinv(C)
    free = np.eye(5) - plus @ C
    force = lambda r: plus @ (b - C @ a) + free @ r
    least = np.linalg.norm(force(np.linalg.lstsq(free, -force(0 * a), rcond=1e-12)[0]))
    B, A, M, right = servo_matrix(THETA, RATE)
    bare = np.linalg.inv(scipy.linalg.sqrtm(M))
    CB = A @ bare @ bare @ B
    plus_u = np.linalg.pinv(CB)
    rest = np.eye(6) - plus_u @ CB
    s = random.normal(size=6)
    return [
        Misprint(
            "eq. (28), (29)",
            "ẍ of (28) is a + F_s of (29)",
            "one arbitrary vector, c, in both; r in the text of (29)",
            "c in (28), r in (29), with c = a + r",
            apart(plus @ b + free @ c, a + force(c)),
            apart(plus @ b + free @ (a + c), a + force(c)),
        ),
        Misprint(
            "eq. (30)",
            "the least ‖F_s‖ over r",
            "min ‖F_s‖ = C⁺(b − C a), a number and a vector",
            "the force of that length: arg min, and ‖C⁺(b − C a)‖ for the least",
            apart(least, force(0 * a)),
            apart(least, np.linalg.norm(force(0 * a))),
        ),
        Misprint(
            "eq. (35)",
            "all u with C B̄ u = b̄, of three relations and six torques",
            "s ∈ Rᵐ",
            "s ∈ Rᵖ, one entry for each control",
            float("inf") if rest.shape[1] != len(A) else 0.0,
            apart(CB @ (plus_u @ right + rest @ s), right),
        ),
    ]


def _stabilized() -> Misprint:
    """Section III.B: the constraint must decay, not its second derivative."""
    rate, start, times = 2.0, np.array([0.3, 0.1, -0.2, 0.4]), np.linspace(0, 10, 21)
    decay = np.array([[0, 1], [-(rate**2), -2 * rate]])
    # y of ÿ + 2αẏ + β²y = 0 as the error itself, and as its second derivative
    itself = scipy.linalg.expm(decay * times[-1]) @ start[:2]
    second = scipy.linalg.block_diag(np.array([[0, 1], [0, 0]]), decay)
    second[1, 2] = 1.0
    printed = scipy.linalg.expm(second * times[-1]) @ start
    exact = np.exp(-rate * times[-1]) * (start[0] + (start[1] + rate * start[0]) * times[-1])
    return Misprint(
        "section III.B",
        "the error of a constraint decays under φ̈ + 2αφ̇ + β²φ = 0",
        "φ = A q̈ − b",
        "φ is the constraint itself, A q̈ − b its second derivative",
        abs(float(printed[0]) - exact),
        abs(float(itself[0]) - exact),
    )


def _mass_of_spring() -> Misprint:
    """Eq. (39) against (37), (38)."""
    m1, m2, k, l, F = 1.0, 2.0, 10.0, 1.0, 0.7
    x = np.array([0.4, 2.9])
    pull = k * (x[1] - x[0] - l)
    force = np.array([pull + F, -pull])
    lagrange = np.array([(pull + F) / m1, -pull / m2])
    return Misprint(
        "eq. (39)",
        "mass matrix of the two masses, by the accelerations of (37), (38)",
        "M = diag(m₁, x₂)",
        "M = diag(m₁, m₂)",
        apart(force / [m1, x[1]], lagrange),
        apart(force / [m1, m2], lagrange),
    )


def _robots() -> list[Misprint]:
    """Eq. (51), (58), (59), (64), (A1), for which unequal links show the misprints."""
    M, _, _ = appendix(THETA, RATE, **_numbers())
    half = SPREAD["length"] / 2
    center = lambda theta: half * jnp.stack([jnp.cos(theta), jnp.sin(theta)])
    velocity = jax.jvp(center, (THETA[0],), (RATE[0],))[1]
    c, s = np.cos(THETA[0]), np.sin(THETA[0])
    lift = lambda t: BASE / 2 * (1 - jnp.cos(t))
    t = 0.3
    return [
        Misprint(
            "eq. (51), its text",
            "M of (49), by Jacobians with columns that are zero",
            "for j ≥ i",
            "for j > i: link i turns about joint i",
            apart(by_jacobians(THETA, own=False), M),
            apart(by_jacobians(THETA), M),
        ),
        Misprint(
            "eq. (58)",
            "velocity of the first link, and J_L1⁽¹⁾",
            "(l₁/2) sin θ₁",
            "−(l₁/2) sin θ₁, the derivative of (57)",
            apart(half * np.array([s, c]) * RATE[0], velocity),
            apart(half * np.array([-s, c]) * RATE[0], velocity),
        ),
        Misprint(
            "eq. (59)",
            "angular velocities",
            "ω = [1 0 0 0 0] q …",
            "q̇ for q",
            apart(np.eye(5) @ THETA, RATE),
            apart(np.eye(5) @ RATE, RATE),
        ),
        Misprint(
            "eq. (64)",
            "its third line",
            "ẏ₃ = (l/2) cos t, θ̇₃ = 0",
            "ÿ₃ and θ̈₃",
            apart(jax.grad(lift)(t), BASE / 2 * np.cos(t)),
            apart(jax.grad(jax.grad(lift))(t), BASE / 2 * np.cos(t)),
        ),
        Misprint(
            "eq. (A1)",
            "M of (49), by the Jacobians printed",
            "J_L3⁽⁴⁾ = J_L3⁽⁵⁾ = J_L2⁽⁵⁾",
            "without J_L2⁽⁵⁾, which the line above it gives",
            apart(by_jacobians(THETA, stray=True), M),
            apart(by_jacobians(THETA), M),
        ),
    ]


def _numbers() -> dict:
    return {"m": SPREAD["mass"], "inertia": SPREAD["inertia"], "l": SPREAD["length"], "g": 9.8}
