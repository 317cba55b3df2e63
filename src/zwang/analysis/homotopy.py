"""All complex solutions of quadratic equations, by following paths from the solutions of simple
equations.

    H(w, τ) = γ (1 − τ) (wᵢ² − w₀²) + τ wᵀ Pᵢ w,    aᵀ w = 1,    τ: 0 → 1

With random complex γ and a, no two paths meet before τ = 1 with probability one, and every isolated
solution is the end of a path (Bézout's bound, 2ᵏ paths for k equations). w₀ makes the equations
homogeneous, so that a solution at infinity is an ordinary point with w₀ = 0.

Reference: Sommese and Wampler (2005), The Numerical Solution of Systems of Polynomials, chapters 2,
7 and 8.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from zwang.algebra.decomposition import conditioning, solve_square
from zwang.algebra.rank import PLACED
from zwang.thresholds import DERIVED

END, SINGULAR_END = 20.0, 7.0
"""Paths are followed to `1 − τ = e^{−END}`, 2e-9, before Newton's iteration continues. A path that
stops beyond `SINGULAR_END`, 1e-3, goes to infinity or to a solution that is not isolated.
"""


class Solutions(NamedTuple):
    """The solutions, and the number of paths by outcome.

    Attributes:
        w: isolated finite solutions, shape (n, k), complex.
        paths: number of paths that were followed.
        infinite: number of paths that end at infinity or at solutions that are not isolated.
        failed: number of paths that could not be followed to their ends.
    """

    w: np.ndarray
    paths: int
    infinite: int
    failed: int


def solutions(forms: np.ndarray) -> Solutions:
    """All isolated solutions of `(1, w)ᵀ Pᵢ (1, w) = 0`.

    Args:
        forms: symmetric matrices P, real, shape (k, k + 1, k + 1).
    """
    k = len(forms)
    size = np.max(np.abs(forms), axis=(1, 2), keepdims=True)
    # scale the rows, so that rows in metres and in radians have equal weight in norms
    forms = forms / np.where(size > 0, size, 1.0)
    # largest correction after a prediction, relative to w; close paths need a smaller one
    tolerance, found = 1e-6, None
    # paths meet with probability zero, so another γ and smaller steps separate them: if paths fail
    # or meet, all are followed again with a tenfold smaller tolerance
    for attempt in range(3):
        found = _followed(forms, np.random.default_rng(attempt), tolerance)
        # if two paths end at one point, a step has jumped from one path to the other
        if not found.failed and not _meet(found.w):
            break
        tolerance *= 0.1
    assert found is not None
    if _meet(found.w):  # at least one path was left for another at every attempt
        kept = [i for i, x in enumerate(found.w) if not np.any(_near(found.w[:i], x))]
        lost = len(found.w) - len(kept)
        return Solutions(found.w[kept], 2**k, found.infinite, found.failed + lost)
    return found


def _near(w: np.ndarray, x: np.ndarray) -> np.ndarray:
    # relative distance below which two ends are the same solution
    return np.max(np.abs(w - x), axis=-1, initial=0.0) < DERIVED * (
        1 + np.max(np.abs(x), initial=0.0)
    )


def _meet(w: np.ndarray) -> bool:
    """True if two paths ended at one isolated solution, which is not possible without an error."""
    return any(np.any(_near(w[:i], x)) for i, x in enumerate(w))


def _followed(forms: np.ndarray, random, tolerance: float) -> Solutions:
    k = len(forms)
    unit = lambda *shape: np.exp(2j * np.pi * random.random(shape))
    # random complex γ keep all paths free of singular points for τ < 1, in contrast to real γ
    patch, gamma = unit(k + 1), unit(k)
    signs = np.array(np.meshgrid(*[[1.0, -1.0]] * k, indexing="ij")).reshape(k, -1).T
    w = np.concatenate([np.ones((len(signs), 1)), signs], axis=1).astype(complex)
    # on this patch of projective space, paths to infinity stay bounded and have an end as well
    w = w / (w @ patch)[:, None]
    start = np.zeros((k, k + 1, k + 1))
    start[:, 0, 0] = -1.0
    start[np.arange(k), np.arange(1, k + 1), np.arange(1, k + 1)] = 1.0

    def system(w, left):
        """Values and Jacobians of H and aᵀ w − 1, and the derivative by τ, at 1 − τ = left."""
        old, new = (np.einsum("iab,nb->nia", P, w) for P in (gamma[:, None, None] * start, forms))
        mixed = left[:, None, None] * old + (1 - left)[:, None, None] * new
        H = np.concatenate([np.einsum("nia,na->ni", mixed, w), (w @ patch - 1)[:, None]], axis=1)
        # the patch is the last equation, which makes the Jacobian square
        lower = np.broadcast_to(patch, (len(w), 1, k + 1))
        by_tau = np.einsum("nia,na->ni", new - old, w)
        pad = np.zeros((len(w), 1))
        return H, np.concatenate([2 * mixed, lower], axis=1), np.hstack([by_tau, pad])

    w, reached = _tracked(system, w, tolerance)
    ends, infinite, failed = [], 0, 0
    for x, s in zip(w, reached, strict=True):
        end = _finished(system, x) if s > SINGULAR_END else None
        if end is not None:
            ends.append(end)
        elif s > SINGULAR_END:
            infinite += 1
        else:
            failed += 1
    return Solutions(np.array(ends, complex).reshape(-1, k), len(signs), infinite, failed)


def _tracked(system, w: np.ndarray, tolerance: float) -> tuple[np.ndarray, np.ndarray]:
    """The last points of all paths, and their `s = −log(1 − τ)`."""
    n = len(w)

    def rate(w, s):
        left = np.exp(-s)
        _, J, by_tau = system(w, left)
        return -_solve(J, by_tau) * left[:, None]

    w, s, h, alive = w.copy(), np.zeros(n), np.full(n, 0.02), np.ones(n, bool)
    # largest number of steps of a path
    for _ in range(3_000):
        i = np.flatnonzero(alive & (s < END))
        if not len(i):
            break
        # all paths advance in one batch of arrays, each with its own step length
        step = np.minimum(h[i], END - s[i])
        k1 = rate(w[i], s[i])
        k2 = rate(w[i] + step[:, None] / 2 * k1, s[i] + step / 2)
        k3 = rate(w[i] + step[:, None] / 2 * k2, s[i] + step / 2)
        k4 = rate(w[i] + step[:, None] * k3, s[i] + step)
        there = w[i] + step[:, None] / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        corrections = []
        # Newton's corrections at the new s: the first estimates the error of the prediction, the
        # last shows whether they converge
        for _ in range(3):
            H, J, _ = system(there, np.exp(-(s[i] + step)))
            change = _solve(J, H)
            there = there - change
            corrections.append(np.linalg.norm(change, axis=1) / np.linalg.norm(there, axis=1))
        first, off = corrections[0], corrections[-1]
        good = np.isfinite(off) & (first < tolerance) & (off < 1e-2 * tolerance)
        w[i[good]], s[i[good]] = there[good], (s[i] + step)[good]
        h[i] = np.where(good, np.minimum(1.5 * step, 1.0), 0.5 * step)
        # a path that needs such small steps of `−log(1 − τ)` approaches a singular end; it stops
        # here
        alive[i[h[i] < 1e-5]] = False
    return w, s


def _solve(J: np.ndarray, r: np.ndarray) -> np.ndarray:
    """`J⁻¹ r` for each path; NaN where J is singular."""
    return solve_square(J, r[..., None])[..., 0]


def _finished(system, x: np.ndarray) -> np.ndarray | None:
    """The isolated finite solution at the end of a path, or None."""
    w, none = x[None], np.zeros(1)
    # τ = 1 is reached only in the limit s → ∞, so Newton's iteration refines the end there
    for _ in range(8):
        H, J, _ = system(w, none)
        change = _solve(J, H)
        if not np.all(np.isfinite(change)):
            return None
        w = w - change
    _, J, _ = system(w, none)
    moved = np.linalg.norm(w[0] - x) / np.linalg.norm(x)
    end = w[0] / np.linalg.norm(w[0])
    # a singular end is a multiple solution or part of a continuum, and a large move leads to
    # another path; a small `|w₀| / |w|` is a solution at infinity
    if conditioning(J[0]) < PLACED or moved > 1e-3 or abs(end[0]) < DERIVED:
        return None
    return end[1:] / end[0]
