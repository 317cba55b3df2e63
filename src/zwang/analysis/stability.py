"""Stability of an equilibrium or a steady motion: the verdict whether small deviations stay small.

Eigenvalues of the linear equations decide where their real parts differ from zero by more than
their round-off. On the imaginary axis

- an equilibrium at a strict minimum of the potential is stable if no force supplies energy
  (Lagrange and Dirichlet); in directions in which the Hessian vanishes, the potential is evaluated
  at a distance;
- a family of equilibria to which all other deviations return is stable, even if forces supply
  energy meanwhile;
- a multiple eigenvalue with fewer eigenvectors lets deviations grow with time;
- in all other cases, such as gyroscopic stability and steady motions, the linear equations decide.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from zwang.algebra.decomposition import Decomposition
from zwang.algebra.spectrum import (
    balanced,
    coupling,
    eigenvalues,
    eigenvectors,
    principal,
    spectral_radius,
)
from zwang.analysis.aside import (
    DISTANCES_ASIDE,
    aside,
    beyond,
    curvature_aside,
    loses_rank,
    power,
    resistance,
)
from zwang.analysis.constrained_state import ConstrainedState
from zwang.thresholds import AGREEMENT, ALIKE, ALL_BUT_ZERO, DERIVED, FACTOR_ROUND_OFF

if TYPE_CHECKING:
    from zwang.analysis.linearize import Linearization

FREQUENCY_FLOOR = 1e-12
"""Rate [1/s] assigned to a system without any stiffness or damping."""

MOVING = (
    "undecided: eigenvalues at one state of a motion do not decide how deviations grow; those of "
    "zw.analysis.linearize(model, run.q, run.v, t=run.t).transition() over a period do"
)
LOADED = "undecided: forces change with time and balance at this instant only"
SINGULAR = (
    "undecided: rows lose rank here, so that branches of motion may meet and no linear equations "
    "hold; zw.analysis.branches lists them"
)


class Verdict(NamedTuple):
    """The verdict: `stable` is True if small deviations stay small and None if this is undecided;
    `words` states it in words.
    """

    stable: bool | None
    words: str


STABLE, UNSTABLE = Verdict(True, "stable"), Verdict(False, "unstable")


def judged(linear: Linearization) -> Verdict:
    """The verdict on the state of a linearization."""
    if linear.kind == "moving state":
        return Verdict(None, MOVING)
    if linear.loads_change:
        return Verdict(None, LOADED)
    if not len(linear.A):
        return STABLE
    if loses_rank(linear.here):
        return Verdict(None, SINGULAR)
    error = _round_off(linear)
    if linear.kind == "steady motion":
        R = linear.across
        return _by_eigenvalues(R.T @ linear.A @ R, np.abs(R).T @ error @ np.abs(R))
    nv = linear.here.dynamics.system.nv
    n = linear.here.tangent.W.shape[1]
    A, K = linear.A, -linear.A[n:, :n]
    symmetric = np.linalg.norm(K - K.T) <= DERIVED * np.linalg.norm(K) + np.max(error[n:, :n])
    if len(A) != 2 * n or not symmetric or not nv:
        found = _by_eigenvalues(A, error)
        return _free(linear) if found.stable is None and _drifts(linear) else found
    return _by_potential(linear, A, 0.5 * (K + K.T), error)


def _by_potential(linear: Linearization, A, K, error) -> Verdict:
    """The verdict at an equilibrium of forces that have a potential at rest."""
    n, here = len(K), linear.here
    curvature, V = principal(K)
    allowed = np.einsum("ik,ij,jk->k", np.abs(V), error[n:, :n], np.abs(V))
    seen = np.abs(curvature) > allowed
    for i in range(n):  # relative to the curvature at a distance in the same direction
        if abs(curvature[i]) <= 1e-3 * np.max(np.abs(curvature)) or n == 1:
            seen[i] &= abs(curvature[i]) > DERIVED * curvature_aside(here, V[:, i])
    A = A.copy()
    A[n:, :n] = -(V[:, seen] * curvature[seen]) @ V[:, seen].T
    # velocities divided by the largest rate, so that they have the size of positions
    unit = np.concatenate([np.ones(n), np.full(n, _rate(A))])
    A, error = (x * unit / unit[:, None] for x in (A, error))
    linearly = _by_eigenvalues(A, error)
    if linearly is UNSTABLE or (
        seen.all()
        and np.max(np.real(eigenvalues(A))) < 0
        and linearly is STABLE
        and not _staying(A, error)
    ):
        return linearly
    lowest = "flat" if seen.all() else beyond(here, V[:, ~seen], V[:, seen], curvature[seen])
    if lowest == "level" and _staying(A, error) == n - int(np.sum(seen)):
        return _free(linear, stays=True)
    fed = power(here)
    if np.min(curvature[seen], initial=1.0) < 0:
        if linearly.stable is None:
            return linearly
        # gyroscopic forces stabilize a maximum of the potential only without dissipation
        still = linearly.stable and max(abs(fed[0]), abs(fed[1])) <= AGREEMENT
        words = "undecided: only gyroscopic forces stabilize it, and other forces do work"
        return linearly if still else Verdict(None, words)
    if lowest == "falls":
        words = "undecided: the potential falls in a direction without stiffness"
        gyroscopic = np.linalg.norm(A[n:, n:] - A[n:, n:].T) > ALL_BUT_ZERO * _rate(A)
        return Verdict(None, words) if gyroscopic else UNSTABLE
    if fed[1] > AGREEMENT:
        return Verdict(
            None,
            "undecided: to first order no force does work, but at higher order forces "
            "feed energy in",
        )
    if seen.all() or lowest == "rises":
        return STABLE
    if not linearly.stable and _braked_aside(linear, V[:, ~seen]):
        return Verdict(
            None, "undecided: no restoring force; damping at a distance may stop the drift"
        )
    return _free(linear, bool(linearly.stable))


def _free(linear: Linearization, stays: bool = False) -> Verdict:
    """The verdict for coordinates without a restoring force: they drift after a push unless a force
    brakes them.
    """
    names = [name for x in linear.modes().members if x.kind == "free" for name in x.names]
    what = ", ".join(dict.fromkeys(names)) or "some coordinates"
    return Verdict(stays, f"neutral: nothing brings {what} back")


def _drifts(linear: Linearization) -> bool:
    """True if free modes are the undecided eigenvalues, as for rolling bodies at rest."""
    zero = [x for x in linear.modes().members if x.kind == "free"]
    return bool(zero) and bool(np.all(_push_aside(linear)))


def _push_aside(linear: Linearization) -> list[bool]:
    """For each direction without force, True if forces still balance at a distance along it."""
    A, n = linear.A, linear.here.tangent.Y.shape[1]
    still = A[n:, :n]
    flat = []
    for u in Decomposition(still, ALL_BUT_ZERO, beside=_rate(A)).kernel.T:
        there = aside(linear.here, linear.here.tangent.Y @ u, DISTANCES_ASIDE[1])
        size = 1.0 if there is None else np.linalg.norm(there.local.F) + np.linalg.norm(there.w)
        flat.append(
            there is None or np.max(np.abs(there.w), initial=0) <= AGREEMENT * (size + 1e-30)
        )
    return flat


def _braked_aside(linear: Linearization, free: np.ndarray) -> bool:
    """True if a damping force that vanishes here acts at a distance on motions along directions
    without resistance here. Only damping that is linear in the velocity counts, because other
    damping does not stop a drift.
    """
    n, here = len(free), linear.here
    resisted = linear.A[n:, n:] @ free
    unbraked = Decomposition(resisted, ALL_BUT_ZERO, beside=_rate(linear.A)).kernel
    for u in (free @ unbraked).T:
        for along in (here.tangent.Y @ u, -here.tangent.Y @ u):
            there = aside(here, along, DISTANCES_ASIDE[0])
            if there is None:
                continue
            # damping that is linear in the velocity has the same coefficient at both speeds
            small, large = (resistance(here, there, along, x) for x in (1e-5, 1e-4))
            if small < 0 and abs(small) > 0.5 * abs(large):
                return True
    return False


def _rate(A: np.ndarray) -> float:
    """The size of eigenvalues [1/s]."""
    return max(spectral_radius(A), FREQUENCY_FLOOR)


def _by_eigenvalues(A: np.ndarray, error: np.ndarray) -> Verdict:
    """The verdict of the linear equations, given an error bound of each entry of A."""
    if not len(A):
        return STABLE
    values, margin = _with_margins(A, error)
    if np.any(np.real(values) > margin):
        return UNSTABLE
    rate, critical = _rate(A), values[np.real(values) >= -margin]
    # time is scaled so that positions and velocities have the same size
    even = balanced(A)
    S = even / max(rate, np.max(np.abs(even)))
    while len(critical):
        near = np.abs(critical - critical[0]) <= ALIKE * rate
        if np.sum(near) > 1 and _coupled(S, critical[0], rate):
            words = (
                "undecided: a multiple eigenvalue on the imaginary axis, where higher orders decide"
            )
            return Verdict(None, words)
        critical = critical[~near]
    return STABLE


def _with_margins(A: np.ndarray, error: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues, and error bounds of their real parts."""
    values, left, right = eigenvectors(A)
    overlap = np.abs(np.einsum("ik,ik->k", left.conj(), right))
    off = np.einsum("ik,ij,jk->k", np.abs(left), error, np.abs(right))
    rate = max(float(np.max(np.abs(values))), FREQUENCY_FLOOR)
    own = off / np.maximum(overlap, 1e-300)
    return values, np.clip(own, AGREEMENT * rate, ALIKE * rate)


def _staying(A: np.ndarray, error: np.ndarray) -> int:
    """Number of eigenvalues that do not certainly decay. It equals the dimension of a family of
    equilibria if all other deviations return to the family.
    """
    values, margin = _with_margins(A, error)
    return int(np.sum(np.real(values) >= -margin))


def _coupled(S: np.ndarray, value: complex, rate: float) -> bool:
    """True if coinciding eigenvalues share eigenvectors, so that deviations grow with time."""
    size = rate / max(spectral_radius(S), 1e-300)
    near = lambda x: abs(x - value / size) <= ALIKE * rate / size
    return coupling(S, near) > ALL_BUT_ZERO


def _round_off(linear: Linearization) -> np.ndarray:
    """Round-off of each entry of A, from the terms of its sum and the accuracy of the symmetry."""
    here, field = linear.here, linear.along
    d = here.varied(field)
    forces = ConstrainedState(
        here.dynamics, here.state, here.local, here.w, 0 * here.multipliers
    ).varied(field)
    terms = np.abs(forces.dynamic) + np.abs(d.dynamic - forces.dynamic)
    free, nv = np.abs(here.free), here.dynamics.system.nv
    turned = np.abs(here.all_rows.correct(d.rate)) + free @ (np.abs(here.unpushed.T) @ terms)
    sizes = np.vstack([np.abs(d.kinematic), turned + np.abs(d.generator)])[:, : 2 * nv]
    entries = np.abs(linear.project) @ sizes @ np.abs(linear.basis)
    return (FACTOR_ROUND_OFF + linear.defect + linear.unexplained) * entries
