"""Tangents of motions through a configuration, by second-order analysis.

Where the rows of A lose rank, a direction u of ker A is tangent to a motion only if an acceleration
satisfies `A v̇ = b(u)`, that is

    Lᵀ b(u) = 0       L: a basis of the left null space of A

These are quadratic forms on ker A, whose real zeros are the tangent cone up to second order.

Reference: Müller (2016), Local kinematic analysis of closed-loop linkages: mobility, singularities,
and shakiness, J. Mech. Robot. 8, 041013; Chen (2011), The order of local mobility of mechanisms,
Mech. Mach. Theory 46, 1251-1264.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from zwang.algebra.decomposition import Decomposition, inverse_of_each
from zwang.algebra.mass_matrix import dense_mass
from zwang.algebra.metric import Metric, dense_metric, dense_rows
from zwang.algebra.spectrum import forms_of, zeros_of_form
from zwang.dynamics.equation_of_motion import Dynamics
from zwang.dynamics.evaluation import ModelEvaluation, evaluate, evaluate_along, moved
from zwang.equations.state import host_state
from zwang.thresholds import ALL_BUT_ZERO, LAST_DIGIT, MARGIN, RESOLVED, ROOT_OF_ROUND_OFF

STARTS = 300
"""Number of random directions from which Newton's iteration searches the zeros of the quadratic
forms."""
MOST_TANGENTS = 64
"""Largest number of tangents; more count as a continuum."""
MOST_JUDGED = 600
"""Largest number of velocities of a model for which a run identifies branches, because this takes
factors of full matrices."""


@dataclasses.dataclass(frozen=True)
class TangentCone:
    """The tangents at a configuration.

    Attributes:
        tangents: velocities along them, of kinetic energy ½, shape (n, nv); each stands for
            −tangent as well. Empty if they form a continuum.
        isolated: whether there are finitely many.
        rank: of A.
        mass: M, shape (nv, nv), with the metric of the rows added where M may be singular.
    """

    tangents: np.ndarray
    isolated: bool
    rank: int
    mass: np.ndarray

    def taken(self, v: np.ndarray) -> tuple[int, float]:
        """Return the index of the tangent nearest to a nonzero velocity, and the angle between them
        [rad].
        """
        speed = np.sqrt(v @ self.mass @ v)
        cosine = np.abs(self.tangents @ self.mass @ v) / speed
        best = int(np.argmax(cosine))
        return best, float(np.arccos(min(cosine[best], 1.0)))


def may_branch(dynamics: Dynamics) -> bool:
    """Return whether branches are identified in a model: if its rows are holonomic, always active,
    and not too many.
    """
    constraints = dynamics.constraints
    return (
        constraints.on is None
        and dynamics.system.nv <= MOST_JUDGED
        and all(c.level.has_phi for c in constraints.members)
    )


def tangent_cone(dynamics: Dynamics, q, t) -> TangentCone:
    """Return the tangents of all motions through a configuration of a model with holonomic rows."""
    nv = dynamics.system.nv
    metric, rank, kernel, left = kernels(dynamics, q, t)
    across = metric.W @ np.random.default_rng(1855).standard_normal(nv)
    directions, isolated = zeros_of(_forms(dynamics, q, t, kernel, left, across), nv - rank)
    # in the order of their velocities, because round-off rotates the basis of the kernel
    tangents = sorted((kernel @ u for u in directions), key=_leading)
    return TangentCone(np.array(tangents).reshape(-1, nv), isolated, rank, metric.M)


def kernels(dynamics: Dynamics, q, t) -> tuple[Metric, int, np.ndarray, np.ndarray]:
    """Return the metric, the rank of A, a basis K of its kernel, and L of its left null space."""
    here = evaluated(dynamics, q, np.zeros(dynamics.system.nv), t)
    metric = dense_metric(here.M, here.A if dynamics.singular_mass else None)
    length = _lengths(dynamics, q, t, metric)
    # an absolute threshold: where all rows vanish, none of them counts as long
    split = Decomposition(here.A @ metric.W / length[:, None], ALL_BUT_ZERO, least=1 / MARGIN)
    return metric, split.rank, metric.W @ split.kernel, split.left_kernel / length[:, None]


def _leading(tangent: np.ndarray) -> tuple:
    """Return the sizes of velocities relative to the largest, those of the first coordinates
    first.
    """
    return tuple(np.round(-np.abs(tangent) / np.max(np.abs(tangent)), 3))


def evaluated(dynamics: Dynamics, q, v, t) -> ModelEvaluation:
    """Return the model's functions with A and M as full arrays."""
    at = evaluate(dynamics, host_state(q, v, t))
    return at._replace(A=dense_rows(at.A), M=dense_mass(np.asarray(at.M)))


def _lengths(dynamics: Dynamics, q, t, metric) -> np.ndarray:
    """Return the largest length of each row in the mass metric here and nearby: a row that vanishes
    at the configuration must not be scaled up.
    """
    random, nv = np.random.default_rng(8), dynamics.system.nv
    size = np.zeros(dynamics.constraints.m)
    for scale in (0.0, 0.3, 0.3):
        near = moved(dynamics, q, scale * random.standard_normal(nv), t)
        size = np.maximum(size, metric.lengths(evaluated(dynamics, near, np.zeros(nv), t).A))
    return np.where(size > 0, size, 1.0)


def _forms(
    dynamics: Dynamics, q, t, kernel: np.ndarray, left: np.ndarray, across: np.ndarray
) -> np.ndarray:
    """Return the symmetric matrices of Lᵀ b(K u), shape (forms, k, k), without those that vanish.
    The size of the terms of b is measured along the velocity `across`, which is not in the kernel:
    along the kernel they may all be round-off, as for slides.
    """
    k, nothing = kernel.shape[1], np.zeros(len(kernel))
    rates = lambda w: np.asarray(evaluate_along(dynamics, host_state(q, nothing, t), w).b)
    along = kernel @ np.random.default_rng(1854).standard_normal(k)
    rest, b, beside = rates(np.stack([nothing, along, across]))
    # forms that vanish along a random direction vanish: rows are redundant, and none is singular
    terms = np.maximum(np.abs(b - rest), np.abs(beside - rest))
    if np.all(np.abs(left.T @ (b - rest)) <= RESOLVED * (np.abs(left).T @ terms)):
        return np.zeros((0, k, k))
    matrices = forms_of(lambda w: (rates(w) - rest) @ left, kernel)
    size = np.max(np.abs(matrices), axis=(1, 2), initial=0.0)
    return matrices[size > 1e-9 * max(np.max(size, initial=0.0), 1e-6)]


def zeros_of(forms: np.ndarray, k: int) -> tuple[list[np.ndarray], bool]:
    """Return the unit vectors u with uᵀ Q u = 0 for all forms, one of ±u each, and whether they are
    isolated.
    """
    if k == 0:
        return [], True
    if k == 1:
        return ([np.ones(1)] if not len(forms) else []), True
    if not len(forms):
        return [], False
    forms = forms / np.max(np.abs(forms), axis=(1, 2), keepdims=True)
    if k == 2:  # zeros of the first form at which all others vanish
        units = zeros_of_form(forms[0], double=ROOT_OF_ROUND_OFF)
        small = np.sqrt(ROOT_OF_ROUND_OFF)
        found = [u for u in units if np.max(np.abs(u @ forms @ u)) < small]
    else:
        # with fewer equations than unknowns and independent gradients, zeros form a continuum; few
        # directions suffice to find a regular one
        free = len(forms) + 1 < k
        regular = lambda u: _is_regular(forms, u)
        if free and any(map(regular, _by_newton(forms, k, 8, regular))):
            return [], False
        found = _by_newton(forms, k, STARTS)
    if len(found) > MOST_TANGENTS:
        return [], False
    return found, True


def _is_regular(forms: np.ndarray, u: np.ndarray) -> bool:
    """Return whether the gradients of the forms and of the length are independent at a zero of unit
    length, whose error is the square root of round-off if it is a double one.
    """
    gradients = np.vstack([forms @ u, u])
    return Decomposition(gradients, np.sqrt(ROOT_OF_ROUND_OFF)).rank == len(gradients)


def _by_newton(
    forms: np.ndarray,
    k: int,
    starts: int,
    enough: Callable[[np.ndarray], bool] = lambda u: False,
) -> list[np.ndarray]:
    """Return the zeros to which random directions converge, all at once; the search ends at a zero
    that is `enough`.
    """
    u = np.random.default_rng(2016).standard_normal((starts, k))
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    running = np.arange(starts)
    for _ in range(80):  # a double zero takes some thirty
        at = u[running]
        slope = 2 * np.einsum("fab,nb->nfa", forms, at)
        value = 0.5 * np.einsum("nfa,na->nf", slope, at)
        J = np.concatenate([slope, at[:, None]], axis=1)
        inverse = inverse_of_each(J, 1e-12)
        step = np.einsum("naf,nf->na", inverse[:, :, :-1], value)
        size = np.linalg.norm(step, axis=1)
        at = at - step * np.minimum(1.0, 0.5 / np.maximum(size, 1e-300))[:, None]
        u[running] = at / np.linalg.norm(at, axis=1, keepdims=True)
        # The error of a double zero ends at the square root of round-off, where further steps
        # fluctuate. The limit is the round-off of a quadratic form with entries up to 1 at a unit
        # vector.
        unsolved = np.max(np.abs(value), axis=1) > LAST_DIGIT
        left = (size >= 1e-15) & unsolved
        ended, running = u[running[~left]], running[left]
        if not len(running) or any(map(enough, ended)):
            break
    found: list[np.ndarray] = []
    for x in u:
        # at a double zero the residual is the square of the error
        if np.max(np.abs(x @ forms @ x)) < 1e-13 and all(1 - abs(y @ x) >= 1e-8 for y in found):
            found.append(x)
        if len(found) > MOST_TANGENTS:
            break
    return found
