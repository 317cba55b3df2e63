"""Constraints of one body in space as quadratic equations, from which `homotopy.py` finds all
postures, for example of a platform on six legs.

Let x be the body's quaternion, r its position, and X = (x, y), y = ½ (0, r) ∘ x, Study's
parameters. Then |x|² R, |x|² r, |x|² R r and |x|² |r|² are quadratic forms of X if Study's
condition x · y = 0 holds. The rows of hinges and axes, and squared distances of body points from
fixed points, are also quadratic forms if they are multiplied by |x|². Six such rows and the
condition have at most 2⁷ common zeros in projective space; for six legs, 40 of them are postures
and all others have x = 0. The forms are fitted to values of φ at random postures and verified at
others.

Reference: Husty (1996), An algorithm for solving the direct kinematics of general Stewart-Gough
platforms, Mech. Mach. Theory 31, 365-379.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from zwang.algebra.decomposition import nearest_rotation
from zwang.analysis.homotopy import solutions
from zwang.analysis.quadratic_loops import Found, coefficients, residuals, square_system
from zwang.analysis.subject import Quantity
from zwang.bodies.rotation import conjugate, product
from zwang.dynamics.equation_of_motion import Dynamics
from zwang.thresholds import DERIVED, ROOT_OF_ROUND_OFF, SOLUTION_ERROR

POSTURES = 160
"""Number of random postures at which rows are evaluated; a form of eight parameters has 36
coefficients.
"""


def all_postures(
    dynamics: Dynamics,
    inputs: tuple[tuple[Quantity, float], ...],
    q: np.ndarray,
    t: float,
    spread: float,
) -> Found | None:
    """All postures of one body in space, or None if the model has other bodies, its rows are not
    quadratic forms, or solutions are not isolated. The arguments are those of `all_configurations`.
    """
    random = np.random.default_rng(1891)
    x = random.standard_normal((POSTURES, 4))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    if not _is_one_body(dynamics, x[0]):
        return None
    r = q[:3] + spread * random.uniform(-1, 1, (POSTURES, 3))
    rows = residuals(dynamics, inputs, t)
    value = np.asarray(jax.jit(jax.vmap(rows))(np.hstack([r, x])))
    if not value.shape[1] or not np.all(np.isfinite(value)):
        return None
    place = product(jnp.asarray(np.pad(r, ((0, 0), (1, 0)))), jnp.asarray(x))
    X = np.hstack([x, 0.5 / spread * np.asarray(place)])
    i, j = np.triu_indices(8)
    found = coefficients(X[:, i] * X[:, j], value)
    if found is None:
        return None
    forms = np.zeros((value.shape[1] + 1, 8, 8))
    forms[:-1, i, j] = found.T / 2
    forms[-1, :4, 4:] = 0.5 * np.eye(4)  # Study's condition
    forms = forms + forms.transpose(0, 2, 1)
    forms /= np.max(np.abs(forms), axis=(1, 2), keepdims=True)
    # in random axes no solution is at infinity because of its first parameter
    axes = nearest_rotation(random.standard_normal((8, 8)))
    turned = np.einsum("ab,iac,cd->ibd", axes, forms, axes)
    square = square_system(turned, 7)
    if square is None:
        return None
    answer = solutions(square)
    kept = []
    for w in answer.w:
        X = axes @ np.append(1.0, w)
        X /= X[np.argmax(np.abs(X))]
        off = np.max(np.abs(np.einsum("iab,a,b->i", forms, X, X)))
        # a solution with |x · x| below this fraction of |X|² has x = 0, which is not a rotation
        if off < DERIVED and abs(X[:4] @ X[:4]) > DERIVED * np.linalg.norm(X) ** 2:
            kept.append(X)
    real = [X.real for X in kept if np.max(np.abs(X.imag)) < ROOT_OF_ROUND_OFF]
    real = np.array(real).reshape(-1, 8)
    return Found(_postures(real, spread), len(kept), answer.paths, answer.failed)


def _is_one_body(dynamics: Dynamics, x: np.ndarray) -> bool:
    """True if the coordinates are a position and a quaternion of unit length."""
    system = dynamics.system
    if (system.nq, system.nv) != (7, 6) or system.velocity_map is None:
        return False
    at = lambda size: jnp.asarray(np.append([0.3, -0.2, 0.1], size * x))
    moved = [system.move(at(size), jnp.zeros(6), 0.0, dynamics.p) for size in (1.0, 2.0)]
    return all(np.allclose(q, at(1.0), atol=SOLUTION_ERROR) for q in moved)


def _postures(X: np.ndarray, spread: float) -> np.ndarray:
    """(r, x) of real parameters, shape (n, 7): r = 2 y ∘ x̄ / |x|²."""
    size = np.linalg.norm(X[:, :4], axis=1, keepdims=True)
    x, y = X[:, :4] / size, spread * X[:, 4:] / size
    return np.hstack([2 * np.asarray(product(jnp.asarray(y), conjugate(jnp.asarray(x))))[:, 1:], x])
