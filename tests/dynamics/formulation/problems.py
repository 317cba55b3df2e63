"""Problems `M, F, A, b` with known accelerations, all of one shape, so that one program per
pseudoinverse solves all of them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

REFERENCE = json.loads((Path(__file__).parent / "reference.json").read_text())
"""Computed apart from this library: closed forms, and 40 digits where there are none."""


class Problem(NamedTuple):
    """M (12, 12), F (12,), A (12, 12), b (12,), and the acceleration (12,) that they determine."""

    M: np.ndarray
    F: np.ndarray
    A: np.ndarray
    b: np.ndarray
    acceleration: np.ndarray


# --- the overconstrained five-bar parallelogram linkage of the pseudoinverse paper
# -------------------------------------

LENGTH, GRAVITY = 1.0, 9.81
MASS = np.array(
    [1.0, 1.0, 0.1] * 3 + [2.0, 2.0, 0.2]
)  # m, m, I of three cranks; m2, m2, I2 of the coupler
PIVOTS, PINS = (
    np.array([0.0, 1.0, 2.0]),
    np.array([-1.0, 0.0, 1.0]),
)  # on the ground; on the coupler from its center


def five_bar_residual(q):
    """φ(q), shape (12,), of q = (x, y, angle) of each crank's center and of the coupler's: crank by
    crank the ground pivot's
    two rows, then the pin's.
    """
    bodies = q.reshape(4, 3)
    cranks, coupler = bodies[:3], bodies[3]
    half = LENGTH / 2 * jnp.stack([jnp.cos(cranks[:, 2]), jnp.sin(cranks[:, 2])], axis=1)
    ground = cranks[:, :2] - half - jnp.stack([PIVOTS, jnp.zeros(3)], axis=1)
    pins = coupler[:2] + jnp.outer(PINS, jnp.stack([jnp.cos(coupler[2]), jnp.sin(coupler[2])]))
    return jnp.concatenate([ground, cranks[:, :2] + half - pins], axis=1).ravel()


@jax.jit
def five_bar_equation(q, v):
    """φ, ψ, A and b at a state, by automatic differentiation."""

    def rate(q):
        return jax.jvp(five_bar_residual, (q,), (v,))[1]

    phi, psi = five_bar_residual(q), rate(q)
    return phi, psi, jax.jacfwd(five_bar_residual)(q), -jax.jvp(rate, (q,), (v,))[1]


def five_bar_state(angle, rate):
    """q and v with the cranks at `angle` [rad], turning at `rate` [rad/s]."""
    direction = np.array([np.cos(angle), np.sin(angle)])
    turned = rate * np.array([-direction[1], direction[0]])
    q = [np.append([pivot, 0] + LENGTH / 2 * direction, angle) for pivot in PIVOTS]
    v = 3 * [np.append(LENGTH / 2 * turned, rate)]
    q.append(np.append([1, 0] + LENGTH * direction, 0))
    v.append(np.append(LENGTH * turned, 0))
    return np.concatenate(q), np.concatenate(v)


FIVE_BAR_FORCE = -GRAVITY * MASS * np.array([0.0, 1.0, 0.0] * 4)


def five_bar_problems() -> dict[str, Problem]:
    """At six states; at angle 0 all bodies lie on one line and the rank of A is 10, elsewhere
    11.
    """
    problems = {}
    for case, known in REFERENCE["five_bar"]["accelerations"].items():
        q, v = five_bar_state(np.deg2rad(known["angle_deg"]), known["rate"])
        _, _, A, b = map(np.asarray, five_bar_equation(q, v))
        problems[f"five-bar {case}"] = Problem(
            np.diag(MASS), FIVE_BAR_FORCE, A, b, np.array(known["acceleration"])
        )
    return problems


# --- other problems
#
# --------------------------------------------------------------------------------------------------


def filled(M, F, A, b, acceleration) -> Problem:
    """A small problem, followed by rows 0 = 0 and by free coordinates of unit mass without
    force.
    """
    (m, n), size = np.shape(A), 12
    whole = np.eye(size)
    whole[:n, :n] = M
    rows = np.zeros((size, size))
    rows[:m, :n] = A
    return Problem(
        whole,
        np.pad(F, (0, size - n)),
        rows,
        np.pad(b, (0, size - m)),
        np.pad(acceleration, (0, size - n)),
    )


def kkt_solution(M, F, A, b):
    """`[M Aᵀ; A 0]⁺ [F; b]` by numpy."""
    m, n = A.shape
    matrix = np.block([[M, A.T], [A, np.zeros((m, m))]])
    return np.linalg.lstsq(matrix, np.concatenate([F, b]), rcond=1e-12)[0][:n]


def solved(M, F, A, b) -> Problem:
    return Problem(M, F, A, b, kkt_solution(M, F, A, b))


def random_mass(random, n, rank):
    """Positive semidefinite, eigenvalues from 1 to 4."""
    vectors = np.linalg.qr(random.standard_normal((n, n)))[0][:, :rank]
    return vectors * random.uniform(1, 4, rank) @ vectors.T


def random_rows(random, m, n, rank):
    """Singular values from 0.5 to 2."""
    left, right = (
        np.linalg.qr(random.standard_normal((size, size)))[0][:, :rank] for size in (m, n)
    )
    return left * random.uniform(0.5, 2, rank) @ right.T


def regular_problems() -> dict[str, Problem]:
    """Positive definite M: random ones, and one of the recursive paper's with a row that is the sum
    of two others.
    """
    random = np.random.default_rng(1)
    problems = {}
    for case, rank in {
        "no free direction": 12,
        "redundant rows": 7,
        "one row twelve times": 1,
        "no constraint": 0,
    }.items():
        A = random_rows(random, 12, 12, rank)
        M, F = random_mass(random, 12, 12), random.standard_normal(12)
        problems[case] = solved(M, F, A, A @ random.standard_normal(12))
    fixed = REFERENCE["orsino"]["fixed_problem"]
    A, b = (np.concatenate([fixed[f"{symbol}{level}"] for level in "123"]) for symbol in "Ab")
    problems["recursive paper"] = filled(fixed["M"], fixed["f"], A, b, fixed["acceleration"])
    return problems


def singular_mass_problems() -> dict[str, Problem]:
    """M of rank 9 and A of rank 9, 7 and 5, [M; A] of full column rank; and one of the recursive
    paper's.
    """
    random = np.random.default_rng(2)
    problems = {}
    for rank in (9, 7, 5):
        A, M = random_rows(random, 12, 12, rank), random_mass(random, 12, 9)
        assert np.linalg.svd(np.vstack([M, A]))[1][-1] > 0.1
        problems[f"M of rank 9, A of rank {rank}"] = solved(
            M, random.standard_normal(12), A, A @ random.standard_normal(12)
        )
    known = REFERENCE["orsino"]["singular_mass"]
    problems["recursive paper"] = filled(
        np.diag(known["M"]), known["f"], known["A"], known["b"], known["acc"]
    )
    return problems
