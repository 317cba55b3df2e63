"""What is known at the samples of a run, on the host: one compiled evaluation per sample, and
linear algebra over all samples at once.

The equations are those of `zwang.simulation.results.observe` and `zwang.dynamics.motion.motion_of`;
a singular value decomposition of the rows takes the place of their iterations.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from zwang.algebra.judgement import (
    CONSISTENT,
    OFF_MANIFOLD,
    UNCERTAIN,
    relative_error,
    relative_residual,
    round_off_force,
    row_scale,
    units_of,
)
from zwang.algebra.pseudoinverse.certificate import NULL_DIRECTION, SOLVED_ROUND_OFF
from zwang.compile import BoundProgram
from zwang.dynamics.control_law import Control
from zwang.dynamics.equation_of_motion import Dynamics
from zwang.dynamics.host import HostVectorField, dense, has_host
from zwang.dynamics.motion import Motion
from zwang.dynamics.vector_field import ConstrainedVectorField
from zwang.equations.system import System
from zwang.errors import Result
from zwang.simulation.results.observe import Observation

LEAST_SIGMA = 1e-5
"""Singular values count as at least this where the accuracy of an acceleration is estimated, as
they do in a compiled motion, whose estimate ends at the root of its damping."""


def observes(flow: ConstrainedVectorField) -> bool:
    """Whether the samples of a run can be computed on the host: without nonideal forces, another
    formulation, a singular mass or a term added to b.
    """
    dynamics, drift = flow.dynamics, flow.drift
    plain = dynamics.formulation is None and not dynamics.singular_mass
    ideal = all(c.nonideal is None for c in dynamics.constraints.members)
    return plain and ideal and drift.stabilization is None and has_host(flow)


@dataclasses.dataclass(frozen=True)
class Samples:
    """The model's functions at every sample, each with a leading axis of samples.

    Attributes:
        phi, psi, A, b, M, F, actuator_force, control: as in `ModelEvaluation`.
        rate: v̇ as a stage of the run computes it; None where there is no run.
    """

    phi: np.ndarray
    psi: np.ndarray
    A: np.ndarray
    b: np.ndarray
    M: np.ndarray
    F: np.ndarray
    actuator_force: np.ndarray
    rate: np.ndarray | None
    control: Control | None = None

    @classmethod
    def of(cls, flow: HostVectorField, t, q, v, applied) -> Samples:
        """Evaluate the model at each sample."""
        found, controls, nq = [], [], q.shape[1]
        for i in range(len(t)):
            evaluation = flow.with_input(applied[i]).evaluation
            at = evaluation.untreated(t[i], np.concatenate([q[i], v[i]]))
            last = at.at
            parts = last.phi, last.psi, dense(last.A), last.b, last.M, last.F, last.actuator_force
            found.append([*(np.asarray(x) for x in parts), np.asarray(at.rate)[nq:]])
            controls.append(last.control)
        control = jax.tree_util.tree_map(lambda *x: np.stack(x), *controls)
        phi, psi, A, b, M, F, actuator_force, rate = (np.stack(x) for x in zip(*found, strict=True))
        return cls(phi, psi, A, b, M, F, actuator_force, rate, control)


class Metric:
    """M = L Lᵀ at every sample, from its diagonal (k, nv), dense (k, nv, nv) or in blocks
    (k, nb, s, s).
    """

    def __init__(self, M: np.ndarray):
        self.M = M[:, None] if M.ndim == 3 else M
        with np.errstate(invalid="ignore", divide="ignore"):
            if M.ndim == 2:
                self.root = 1 / np.sqrt(M)
                return
            try:
                self.root = np.linalg.inv(np.linalg.cholesky(self.M))
            except np.linalg.LinAlgError:
                self.root = np.full_like(self.M, np.nan)

    @property
    def positive(self) -> np.ndarray:
        """Whether M is positive definite, at each sample."""
        return np.all(np.isfinite(self.root.reshape(len(self.root), -1)), axis=1)

    def _blocks(self, matrix: np.ndarray, x: np.ndarray) -> np.ndarray:
        """A matrix of blocks times vectors (k, nv)."""
        k, nb, s, _ = matrix.shape
        return (matrix @ x.reshape(k, nb, s, 1)).reshape(x.shape)

    def weigh(self, A: np.ndarray) -> np.ndarray:
        """`A W`, shape (k, m, nv)."""
        if self.root.ndim == 2:
            return A * self.root[:, None]
        k, nb, s, _ = self.root.shape
        rows = A.reshape(k, -1, nb, s).transpose(0, 2, 1, 3)
        turned = rows @ self.root.transpose(0, 1, 3, 2)
        return turned.transpose(0, 2, 1, 3).reshape(A.shape)

    def unweigh(self, y: np.ndarray) -> np.ndarray:
        """`W y`."""
        if self.root.ndim == 2:
            return self.root * y
        return self._blocks(self.root.transpose(0, 1, 3, 2), y)

    def apply(self, x: np.ndarray) -> np.ndarray:
        """`M x`."""
        return self.M * x if self.root.ndim == 2 else self._blocks(self.M, x)

    def magnitude(self, x: np.ndarray) -> np.ndarray:
        """`|M| |x|`."""
        M, x = np.abs(self.M), np.abs(x)
        return M * x if self.root.ndim == 2 else self._blocks(M, x)

    def diagonal(self) -> np.ndarray:
        """Diagonal of M at every sample, shape (k, nv)."""
        if self.root.ndim == 2:
            return self.M
        return np.einsum("kbii->kbi", self.M).reshape(len(self.M), -1)

    def solve(self, f: np.ndarray) -> np.ndarray:
        """`M⁻¹ f`."""
        if self.root.ndim == 2:
            return self.root * self.root * f
        return self.unweigh(self._blocks(self.root, f))

    def size(self, x: np.ndarray) -> np.ndarray:
        """Length of each vector in the mass metric."""
        return np.sqrt(np.abs(np.sum(x * self.apply(x), axis=1)))


def observe_on_host(
    flow: ConstrainedVectorField, t: np.ndarray, q: np.ndarray, v: np.ndarray, applied: np.ndarray
) -> Observation:
    """Every instant of a run (`zwang.simulation.results.observe.observe`)."""
    dynamics = flow.dynamics
    c, system, scales = dynamics.constraints, dynamics.system, dynamics.scales
    assert scales is not None
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        at = Samples.of(HostVectorField(flow), t, q, v, applied)
        metric = Metric(at.M)
        phi, psi = np.zeros((len(t), c.m)), np.zeros((len(t), c.m))
        phi[:, c.position_rows], psi[:, c.velocity_rows] = at.phi, at.psi
        motion = motion_at(dynamics, at, metric, q, v, phi, psi)
        energies = energies_of(system, dynamics.p, q[0], v[0])
        found = [energies(q[i], v[i], np.float64(t[i])) for i in range(len(t))]
        kinetic, potential, drift = (np.array([float(x[i]) for x in found]) for i in range(3))
        # the last velocities may be states of a controller, on which forces do no work
        moving = v.copy()
        if system.controller_states:
            moving[:, -system.controller_states :] = 0.0
        power = lambda force: np.sum(moving * force, axis=1)
        none, control = np.zeros(len(t)), at.control
        unit = row_scale(np, np.asarray(scales.row_length)) * float(scales.inverse_length)
        observed: dict[str, Any] = {
            "motion": motion,
            "phi": phi,
            "psi": psi,
            "relative": phi * unit,
            "kinetic": kinetic,
            "potential": potential,
            "applied_power": power(at.F) + drift,
            "constraint_power": power(motion.ideal_force),
            "nonideal_power": none,
            "control_power": none if control is None else power(control.actuator_force),
            "control": control,
        }
        return Observation(**observed)


def energies_of(system: System, p, q: np.ndarray, v: np.ndarray) -> BoundProgram:
    """The program for a system's energies with given parameters; q and v are an example."""
    return BoundProgram(_energies, (system, p), (q, v, np.zeros(())))


def _energies(system: System, p, q, v, t):
    """Kinetic and potential energy, and the rate of their sum at fixed v."""
    along = (system.rate(q, v, t, p), jnp.ones_like(t))
    drift = jax.jvp(lambda q, t: sum(system.energy(q, v, t, p)), (q, t), along)[1]
    return (*system.energy(q, v, t, p), drift)


def motion_at(
    dynamics: Dynamics, at: Samples, metric: Metric, q: np.ndarray, v: np.ndarray, phi, psi
) -> Motion:
    """The motion at every sample, on the constraints, solved to round-off."""
    A, b, k = at.A, at.b, len(q)
    free = metric.solve(at.F + at.actuator_force)
    C = metric.weigh(A)
    length = np.linalg.norm(C, axis=2)
    scale = np.stack([row_scale(np, x) for x in length])
    finite = np.all(np.isfinite(C), axis=(1, 2))
    U, sigma, Vt = np.linalg.svd(
        np.where(finite[:, None, None], scale[:, :, None] * C, 0.0), full_matrices=False
    )
    kept = sigma > NULL_DIRECTION
    inverse = np.where(kept, 1 / np.where(kept, sigma, 1.0), 0.0)

    def solved(r):  # A⊕ r and its multipliers of least norm, rows at unit length
        along = inverse * np.einsum("kmi,km->ki", U, scale * r)
        solution = metric.unweigh(np.einsum("kin,ki->kn", Vt, along))
        return solution, scale * np.einsum("kmi,ki->km", U, inverse * along)

    product = lambda M, x: np.einsum("kmn,kn->km", M, x)
    first, multipliers = solved(b - product(A, free))
    acceleration = free + first
    # once more, as a may exceed v̇ a million times and its round-off with it
    second, more = solved(b - product(A, acceleration))
    acceleration, multipliers = acceleration + second, multipliers + more

    scales = dynamics.scales
    assert scales is not None
    turning = float(scales.curvature) * metric.size(v) ** 2
    centripetal = np.asarray(scales.row_length) * turning[:, None]
    left = product(A, acceleration) - b
    terms = np.abs(b) + centripetal + product(np.abs(A), np.abs(free) + np.abs(acceleration))
    unit = _units(scale)
    residual = _relative(left, terms, unit)
    noise = np.abs(b) + centripetal + product(np.abs(A), np.abs(acceleration))
    error = np.linalg.norm(np.maximum(np.abs(unit * left), SOLVED_ROUND_OFF * unit * noise), axis=1)
    accuracy = _accuracy(error, np.where(kept, sigma, np.inf), metric, free, acceleration, at.rate)
    ideal = np.einsum("kmn,km->kn", A, multipliers)
    if metric.root.ndim > 2:
        apart = _carried_by_mass(at, metric, acceleration, multipliers)
        apart -= solved(product(A, apart))[0]
        root = np.sqrt(np.abs(metric.diagonal()))
        sizes = (np.linalg.norm(root * x, axis=1) for x in (apart, acceleration, free))
        accuracy = np.maximum(accuracy, relative_error(np, *sizes))
    slip = np.linalg.norm(unit * psi, axis=1)
    violation = np.maximum(
        float(scales.inverse_length) * np.linalg.norm(unit * phi, axis=1),
        _over(slip, metric.size(v)),
    )
    allowed = CONSISTENT + np.minimum(OFF_MANIFOLD * violation, UNCERTAIN)
    result = np.where(residual <= allowed, Result.SUCCESS, Result.INCONSISTENT)
    result = np.where(np.all(np.isfinite(acceleration), axis=1), result, Result.NON_FINITE)
    result = np.where(metric.positive, result, Result.SINGULAR_MASS)
    longest = np.max(np.where(scale > 0, 1.0, 0.0), axis=1, initial=0.0)[:, None]
    method: Any = dynamics.pseudoinverse  # `has_host`: a `Proximal`
    above = sigma > method.rank_threshold * longest
    slices = dynamics.constraints.row_slices
    by_constraint = {
        name: np.einsum("kmn,km->kn", A[:, rows], multipliers[:, rows])
        for name, rows in slices.items()
    }
    found: dict[str, Any] = {
        "acceleration": acceleration,
        "free_acceleration": free,
        "constraint_force": ideal,
        "ideal_force": ideal,
        "nonideal_force": np.zeros_like(ideal),
        "by_constraint": by_constraint,
        "multipliers": multipliers,
        "matrix": np.zeros((k, 0, 0)),  # rows of many samples are not kept
        "rhs": b,
        "rank": np.sum(above, axis=1),
        "residual": residual,
        "accuracy": accuracy,
        "mass_is_positive": metric.positive,
        "result": result,
    }
    return Motion(**found)


def _carried_by_mass(
    at: Samples, metric: Metric, acceleration: np.ndarray, multipliers: np.ndarray
) -> np.ndarray:
    """What the round-off of `M v̇ = F + Aᵀλ` accelerates, shape (k, nv), as in
    `zwang.algebra.kernel.mass_error`.
    """
    force, A = at.F + at.actuator_force, at.A
    left = force - metric.apply(acceleration) + np.einsum("kmn,km->kn", A, multipliers)
    terms = np.einsum("kmn,km->kn", np.abs(A), np.abs(multipliers))
    terms += np.abs(force) + metric.magnitude(acceleration)
    return metric.solve(round_off_force(left, terms))


def _accuracy(
    error: np.ndarray,
    sigma: np.ndarray,
    metric: Metric,
    free: np.ndarray,
    acceleration: np.ndarray,
    rate: np.ndarray | None,
) -> np.ndarray:
    """Relative error of v̇ at every sample: that of `A v̇ = b` over the smallest singular value, or
    how far v̇ is from the one that the run has used.

    Args:
        error: norm of the residual of `A v̇ = b`, or of its round-off, shape (k,).
        sigma: singular values, inf for those that are zero, shape (k, ·).
        metric: the mass metric.
        free, acceleration, rate: a, v̇, and v̇ as a stage of the run computes it, shapes (k, nv);
            None where there is no run.
    """
    least = np.min(sigma, axis=1, initial=np.inf)
    least = np.maximum(np.where(np.isfinite(least), least, 1.0), LEAST_SIGMA)
    size, free_size = metric.size(acceleration), metric.size(free)
    accuracy = relative_error(np, error / least, size, free_size)
    if rate is None or not sigma.shape[1]:
        return accuracy
    apart = metric.size(rate - acceleration)
    return np.maximum(accuracy, relative_error(np, apart, size, free_size))


def _over(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """`part / max(whole, part)`, and 0 where there is no part."""
    beside = np.maximum(whole, part)
    return np.where(part > 0, part / np.where(beside > 0, beside, 1.0), 0.0)


def _units(scale: np.ndarray) -> np.ndarray:
    """`zwang.algebra.judgement.units_of`, sample by sample."""
    return np.stack([units_of(np, x) for x in scale])


def _relative(residual: np.ndarray, terms: np.ndarray, unit: np.ndarray) -> np.ndarray:
    """`zwang.algebra.judgement.relative_residual`, sample by sample."""
    each = zip(residual, terms, unit, strict=True)
    return np.array([float(relative_residual(np, *x)) for x in each])
