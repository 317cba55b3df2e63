"""Constraints of planar mechanisms as quadratic equations, from which `homotopy.py` finds all
configurations.

With z = (coordinates other than angles, cos θ, sin θ), hinges are linear rows of z, sliding joints
and distances are quadratic rows, and `cos² θ + sin² θ = 1` for each angle. The coefficients are
fitted to values of φ at random points and verified at others. A model with rows of another kind is
treated by random starts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from zwang.algebra.decomposition import Decomposition
from zwang.algebra.rank import PLACED
from zwang.analysis.homotopy import solutions
from zwang.analysis.subject import Quantity
from zwang.dynamics.equation_of_motion import Dynamics
from zwang.thresholds import AGREEMENT, DERIVED, RESOLVED, ROOT_OF_ROUND_OFF, SOLUTION_ERROR

MOST_LOOP_UNKNOWNS, MOST_EQUATIONS = 40, 10
"""Largest size of z, and largest number of unknowns after elimination of linear rows, 2¹⁰ paths;
larger problems use random starts.
"""


class Found(NamedTuple):
    """Configurations from all solutions of the equations.

    Attributes:
        q: the real configurations, shape (n, nq).
        solutions: number of solutions, including complex ones.
        paths, failed: of the homotopy.
    """

    q: np.ndarray
    solutions: int
    paths: int
    failed: int


class _Input(NamedTuple):
    """θᵢ = value, or θᵢ − θⱼ = value."""

    i: int
    j: int | None
    value: float


def all_configurations(
    dynamics: Dynamics,
    inputs: tuple[tuple[Quantity, float], ...],
    q: np.ndarray,
    t: float,
    spread: float,
) -> Found | None:
    """All configurations at given inputs, or None if the rows are not quadratic or too many, or if
    their solutions are not isolated.

    Args:
        dynamics: the model without its inputs.
        inputs: quantities with their given values.
        q: a configuration nearby, for the scale of coordinates other than angles.
        t: time [s].
        spread: size of the region in which rows are evaluated [unit of coordinates].
    """
    system = dynamics.system
    if system.velocity_map is not None or system.retract is not None:
        return None
    angle = np.array([u == "rad" for u in system.units], bool)
    size = system.nq + int(angle.sum())
    if size > MOST_LOOP_UNKNOWNS:
        return None
    rows, places = residuals(dynamics, inputs, t), _places(angle, q, spread)
    held, rest = _angle_rows(rows, len(inputs), angle, places)
    # forms are fitted to values, so rows of every joint are suitable if they are quadratic
    forms = _fitted(lambda q: rows(q)[rest], angle, places)
    if forms is None:
        return None
    linear, quadratic = _sorted(np.concatenate([forms, _angle_forms(held, angle)]))
    point, along = _affine(linear)
    if point is None:
        return Found(np.zeros((0, system.nq)), 0, 0, 0)
    reduced = _substituted(quadratic, point, along)
    square = square_system(reduced, along.shape[1])
    if square is None:
        return None
    # random combinations have additional solutions, which the check of all rows below removes
    answer = solutions(square)
    off = lambda w: _values(reduced, w) / np.max(np.abs(reduced), axis=(1, 2))
    w = [x for x in answer.w if np.max(np.abs(off(x)), initial=0) < DERIVED * (1 + np.abs(x @ x))]
    beside = lambda x: np.max(np.abs(x.imag), initial=0.0) / (1 + np.abs(x).max())
    real = [x.real for x in w if beside(x) < ROOT_OF_ROUND_OFF]
    if not along.shape[1]:  # linear rows alone determine z
        real = [np.zeros(0)] if np.all(np.abs(reduced) < AGREEMENT) else []
        w = real
    places = np.array([_coordinates(point + along @ x, angle, held, q) for x in real])
    return Found(places.reshape(-1, system.nq), len(w), answer.paths, answer.failed)


def _z(q: np.ndarray, angle: np.ndarray) -> np.ndarray:
    """(coordinates other than angles, cos, sin), for one q or many."""
    return np.concatenate([q[..., ~angle], np.cos(q[..., angle]), np.sin(q[..., angle])], axis=-1)


def _coordinates(z: np.ndarray, angle: np.ndarray, held: list[_Input], q) -> np.ndarray:
    rest, k = int((~angle).sum()), int(angle.sum())
    found = np.array(q, float)
    found[~angle] = z[:rest]
    found[angle] = np.arctan2(z[rest + k :], z[rest : rest + k])
    for x in held:  # choose the whole turn of the given input
        found[x.i] = x.value + (0.0 if x.j is None else found[x.j])
    return found


def residuals(dynamics: Dynamics, inputs, t) -> Callable:
    """φ, and the difference between each input and its given value, as a function of q."""
    p = dynamics.p

    def rows(q):
        more = [jnp.reshape(f.value(q, t, p) - value, (1,)) for f, value in inputs]
        return jnp.concatenate([dynamics.constraints.position_residual(q, t, p), *more])

    return rows


def _places(angle: np.ndarray, q, spread: float) -> np.ndarray:
    """Random points at which rows are evaluated, three quarters for the fit and one for its
    verification.
    """
    random, nz = np.random.default_rng(1779), len(angle) + int(angle.sum())
    count = (nz + 1) * (nz + 2) + 40
    # more points than monomials, so that the remainder of the fit can be checked
    places = q + spread * random.uniform(-1, 1, (count, len(angle)))
    places[:, angle] = random.uniform(-np.pi, np.pi, (count, int(angle.sum())))
    return places


def _angle_rows(rows: Callable, inputs: int, angle, places) -> tuple[list[_Input], np.ndarray]:
    """Rows that prescribe an angle or the difference of two angles (from slides and inputs), those
    of the inputs first, and the indices of all other rows.
    """
    both = jax.jit(jax.vmap(lambda q: (rows(q), jax.jacfwd(rows)(q))))
    value, A = (np.asarray(x) for x in both(places[:6]))
    held, rest = [], []
    for k in np.roll(np.arange(value.shape[1]), inputs):
        size = np.max(np.abs(A[0, k]), initial=0.0)
        slope = A[0, k] / (size if size else 1.0)
        # coefficients below this fraction of the largest are zero
        own = np.flatnonzero(np.abs(slope) > AGREEMENT)
        steady = np.allclose(A[:, k], A[0, k], atol=SOLUTION_ERROR * (1 + size))
        ones = len(own) in (1, 2) and np.allclose(np.abs(slope[own]), 1.0)
        opposed = len(own) == 1 or (len(own) == 2 and slope[own[0]] * slope[own[1]] < 0)
        # the remainder after the linear part must be constant up to whole turns
        base = value[:, k] / (size if size else 1.0) - places[:6] @ slope
        known = np.allclose(np.exp(1j * base), np.exp(1j * base[0]), atol=AGREEMENT)
        if not (steady and ones and opposed and known and np.all(angle[own])):
            rest.append(k)
            continue
        # normalize the coefficient of the prescribed coordinate to +1
        sign = slope[own[0]]
        j = int(own[1]) if len(own) == 2 else None
        held.append(_Input(int(own[0]), j, float(-base[0] * sign)))
    return held, np.sort(np.array(rest, int))


def _turned_back(value: np.ndarray, places: np.ndarray, angle: np.ndarray) -> np.ndarray:
    """Rows stated in body-fixed axes, transformed to fixed axes. The two rows of a hinge are
    quadratic in body-fixed axes and linear in fixed axes.
    """
    linear = np.concatenate([np.ones((len(places), 1)), _z(places, angle)], axis=1)
    half, found, k = len(places) * 3 // 4, value.copy(), 0
    fitted = Decomposition(linear[:half], PLACED)

    def fits(r: np.ndarray) -> bool:
        coefficient = fitted.solve(r[:half])
        off = np.abs(linear[half:] @ coefficient - r[half:])
        # largest relative error of a row at points that were not used for the fit
        return bool(np.max(off) < ROOT_OF_ROUND_OFF * max(np.max(np.abs(r)), 1e-300))

    while k + 1 < value.shape[1]:
        pair = value[:, k : k + 2]
        if fits(pair):
            k += 2
            continue
        for i in np.flatnonzero(angle):
            c, s = np.cos(places[:, i]), np.sin(places[:, i])
            turned = np.column_stack(
                [c * pair[:, 0] - s * pair[:, 1], s * pair[:, 0] + c * pair[:, 1]]
            )
            if fits(turned):
                found[:, k : k + 2] = turned
                k += 1
                break
        k += 1
    return found


def _monomials(z: np.ndarray, angles: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Products of (1, z) at many points, and the indices of their factors, without sin² θ = 1 −
    cos² θ.
    """
    full = np.concatenate([np.ones((len(z), 1)), z], axis=1)
    i, j = np.triu_indices(full.shape[1])
    kept = (i != j) | (i < full.shape[1] - angles)
    i, j = i[kept], j[kept]
    return full[:, i] * full[:, j], i, j


def _fitted(rows: Callable, angle, places) -> np.ndarray | None:
    """Symmetric forms of (1, z) of rows, or None if they are not quadratic."""
    nz = len(angle) + int(angle.sum())
    value = np.asarray(jax.jit(jax.vmap(rows))(places))
    if not np.all(np.isfinite(value)):
        return None
    products, i, j = _monomials(_z(places, angle), int(angle.sum()))
    coefficient = coefficients(products, _turned_back(value, places, angle))
    if coefficient is None:
        return None
    forms = np.zeros((value.shape[1], nz + 1, nz + 1))
    forms[:, i, j] = coefficient.T / 2
    # half of each product on both sides of the diagonal; a square gets its full coefficient
    return forms + forms.transpose(0, 2, 1)


def coefficients(products: np.ndarray, value: np.ndarray) -> np.ndarray | None:
    """Coefficients of rows as sums of products, shape (products, rows), fitted to values at random
    points; or of their squares, as for distances: Q with φ² = Q − 2 c φ, which vanishes with φ.
    None if neither fits at the points kept for verification.
    """
    half = len(products) * 3 // 4
    found = np.zeros((products.shape[1], value.shape[1]))
    for k, r in enumerate(value.T):
        for basis, target in ((products, r), (np.column_stack([products, r]), r * r)):
            sums = Decomposition(basis[:half], PLACED).solve(target[:half])
            error = np.max(np.abs(basis[half:] @ sums - target[half:]))
            if error <= ROOT_OF_ROUND_OFF * np.max(np.abs(target)):
                found[:, k] = sums[: products.shape[1]]
                break
        else:
            return None
    # coefficients of round-off would increase the rank and thereby the number of paths
    found[np.abs(found) < AGREEMENT * np.max(np.abs(found), axis=0)] = 0.0
    return found


def _angle_forms(held: list[_Input], angle: np.ndarray) -> np.ndarray:
    """`cos² + sin² − 1` of each angle, and rows of the prescribed angles, linear in cosines and
    sines.
    """
    rest, k = int((~angle).sum()), int(angle.sum())
    cos = {int(i): 1 + rest + n for n, i in enumerate(np.flatnonzero(angle))}
    entries = [{(c, c): 1.0, (c + k, c + k): 1.0, (0, 0): -1.0} for c in cos.values()]
    for x in held:
        c, s, own = np.cos(x.value), np.sin(x.value), cos[x.i]
        # (cos, sin) equals that of the other angle, or of zero, rotated by the value
        first, second = {(0, own): 1.0}, {(0, own + k): 1.0}
        if x.j is None:
            first[0, 0], second[0, 0] = -c, -s
        else:
            a, b = cos[x.j], cos[x.j] + k
            first |= {(0, a): -c, (0, b): s}
            second |= {(0, a): -s, (0, b): -c}
        entries += [first, second]
    forms = np.zeros((len(entries), 1 + rest + 2 * k, 1 + rest + 2 * k))
    for form, given in zip(forms, entries, strict=True):
        for place, value in given.items():
            form[place] += value / 2
    return forms + forms.transpose(0, 2, 1)


def _sorted(forms: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Linear forms, and quadratic forms."""
    size = np.max(np.abs(forms), axis=(1, 2))
    bent = np.max(np.abs(forms[:, 1:, 1:]), axis=(1, 2)) > AGREEMENT * size
    return forms[~bent & (size > 0)], forms[bent]


def _affine(linear: np.ndarray) -> tuple[np.ndarray | None, np.ndarray]:
    """z = point + along w from linear rows; None if they contradict each other."""
    n = linear.shape[1] - 1
    if not len(linear):
        return np.zeros(n), np.eye(n)
    A, r = 2 * linear[:, 0, 1:], -linear[:, 0, 0]
    # closed loops have redundant rows, so the rank decides and not the number of rows
    split = Decomposition(A, PLACED)
    point = split.solve(r)
    if np.max(np.abs(A @ point - r)) > ROOT_OF_ROUND_OFF * (1 + np.max(np.abs(r))):
        return None, split.kernel
    return point, split.kernel


def _substituted(forms: np.ndarray, point: np.ndarray, along: np.ndarray) -> np.ndarray:
    """Forms of (1, w) that do not vanish."""
    change = np.zeros((len(point) + 1, along.shape[1] + 1))
    change[0, 0], change[1:, 0], change[1:, 1:] = 1.0, point, along
    found = np.einsum("ab,iac,cd->ibd", change, forms, change, optimize=True)
    return found[np.max(np.abs(found), axis=(1, 2), initial=0.0) > RESOLVED]


def square_system(forms: np.ndarray, k: int) -> np.ndarray | None:
    """As many forms as unknowns: random combinations if there are more forms."""
    if k > MOST_EQUATIONS:
        return None
    upper = np.triu_indices(k + 1)
    flat = forms[:, upper[0], upper[1]]
    rank = Decomposition(flat, PLACED).rank
    if rank < k:
        return None
    if rank > k or len(forms) > k:
        # the homotopy needs a square system; additional solutions are removed later
        mix = np.random.default_rng(1841).standard_normal((k, len(forms)))
        forms = np.einsum("ki,iab->kab", mix, forms)
    return forms


def _values(forms: np.ndarray, w: np.ndarray) -> np.ndarray:
    full = np.concatenate([[1.0], w])
    return np.einsum("iab,a,b->i", forms, full, full)
