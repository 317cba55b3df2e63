"""Searches for a balance of forces: downhill to a minimum of the potential, or to a zero nearby."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from zwang.analysis.balance_problem import Point, Problem
from zwang.thresholds import DERIVED, LAST_DIGIT

SEARCH_STEPS = 200
"""Most steps of a search."""
BALANCED = 1e-11
"""Largest unbalanced force, relative to the forces that there are, of an equilibrium."""


def has_potential(at: Point) -> bool:
    """Whether the stiffness is symmetric, as that of a potential is."""
    K = at.stiffness
    # largest part of the stiffness that is not symmetric, if forces have a potential
    return K.shape[0] == K.shape[1] and bool(
        np.linalg.norm(K - K.T) <= DERIVED * max(np.linalg.norm(K), 1e-300)
    )


def nearest(problem: Problem, at: Point, free: Iterable[str]) -> Point:
    """Newton steps of least length in the unknowns that are free, each shortened until the residual
    decreases.

    Args:
        free: which of "y", "gamma" and "mu" may change.
    """
    for _ in range(SEARCH_STEPS):
        r, J = problem.residual(at), problem.jacobian(at)
        # a singular configuration has more directions y than its neighbors
        sizes = [at.Y.shape[1], len(at.gamma), len(at.mu)]
        changes = np.repeat([x in free for x in ("y", "gamma", "mu")], sizes)
        size = float(np.linalg.norm(r))
        # unbalanced force that no step makes less
        if size < LAST_DIGIT:
            return at
        step = np.zeros(J.shape[1])
        step[changes] = np.linalg.lstsq(J[:, changes], -r, rcond=1e-9)[0]
        step *= problem.longest(at, step)
        better = _shorter(problem, at, step, size)
        if better is None:
            return at
        at, before = better, size
        if np.linalg.norm(problem.residual(at)) > 0.5 * before and size < BALANCED:
            return at
    return at


def _shorter(problem: Problem, at: Point, step: np.ndarray, size: float) -> Point | None:
    """The first of halved steps whose residual is smaller; None if none is."""
    for _ in range(12):
        trial = problem.moved(at, step)
        if trial is not None and np.linalg.norm(problem.residual(trial)) < size:
            return trial
        step = 0.5 * step
    return None


def minimum(problem: Problem, at: Point) -> Point:
    """Steps downhill, by Newton's method with the absolute values of the curvatures, so that every
    step does positive work; away from a saddle along its steepest way down.

    The potential itself need not be known: a step is kept if the mean of the forces before and
    after does work on it.
    """
    for _ in range(SEARCH_STEPS):
        push, K = -at.gradient, at.stiffness
        curvature, U = np.linalg.eigh(0.5 * (K + K.T))
        scale = np.max(np.abs(curvature), initial=0.0)
        small = np.linalg.norm(push) <= BALANCED * problem.scale
        if small and (not scale or curvature[0] > -1e-9 * scale):
            return nearest(problem, at, ("y", "gamma", "mu"))
        if small:  # balanced on a saddle
            step = U[:, 0] / max(np.max(np.abs(at.local.N @ at.Y @ U[:, 0])), 1e-300)
            at = problem.moved(at, 0.05 * step) or at
            continue
        step = U @ ((U.T @ push) / np.maximum(np.abs(curvature), 1e-6 * scale or 1.0))
        step *= problem.longest(at, step)
        for _ in range(25):
            trial = problem.moved(at, step)
            if trial is not None and _descends(problem, at, trial, step):
                break
            step = 0.5 * step
        else:
            return at
        at = trial
    return at


def _descends(problem: Problem, at: Point, trial: Point, step: np.ndarray) -> bool:
    """Whether the forces do work on a step, by the trapezoidal rule, or are all but balanced
    after.
    """
    along = at.Y @ step
    arrived = trial.Y.T @ (trial.metric @ along)
    first = -at.gradient @ step
    work = 0.5 * (first - trial.gradient @ arrived)
    left, before = np.linalg.norm(trial.gradient), np.linalg.norm(at.gradient)
    balanced = left < 1e-9 * problem.scale or (left < 0.5 * before and work > 0)
    return bool(work > 0.1 * first or balanced)
