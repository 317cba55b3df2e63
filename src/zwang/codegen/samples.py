"""Random states of a model, and the results of the numeric model there, with which every formula
and every program is compared before it is returned.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from zwang.algebra.decomposition import singular_values
from zwang.algebra.pseudoinverse import SVD
from zwang.algebra.rank import PLACED
from zwang.codegen.functions import SUCCESS, ModelFunctions
from zwang.codegen.names import parameters, with_parameters
from zwang.compile import Many
from zwang.dynamics import functions
from zwang.dynamics.model import Model
from zwang.dynamics.motion import motion
from zwang.errors import ModelError
from zwang.inputs.arrays import vector
from zwang.servo.control import control
from zwang.thresholds import ALL_BUT_ZERO, DERIVED

SPREAD = 0.2
"""Standard deviation of random displacements from the start [unit of v · s]."""
REGULAR = 1e-2
"""Smallest singular value, relative to the largest one, of states at which redundant rows are
compared: next to a loss of rank the result has no correct digits."""
LEAST_SWEPT = 1e-4
"""Smallest singular value along which code without a rank decision satisfies rows: its sweeps (μ =
1e-10, four of them) leave 1e-8 of the residual along 1e-4, and all of it along 1e-6."""


class Reference(NamedTuple):
    """Results of the numeric model at each state, shapes (states, …); u is empty without a servo,
    and `applied` is F with the force of the actuators.
    """

    acceleration: np.ndarray
    constraint_force: np.ndarray
    free_acceleration: np.ndarray
    applied: np.ndarray
    u: np.ndarray


@dataclasses.dataclass(frozen=True)
class Samples:
    """States with parameters.

    Attributes:
        model: the model.
        start: q0 and v0 around which they are drawn.
        q, v, t, p: shapes (states, nq), (states, nv), (states,), (states, np).
        projected: whether the states are on the constraints, as redundant rows require.
    """

    model: Model
    start: tuple[np.ndarray, np.ndarray]
    q: np.ndarray
    v: np.ndarray
    t: np.ndarray
    p: np.ndarray
    projected: bool

    def reference(self) -> Reference:
        """Return the results of `zw.motion` and `zw.control` at the states."""
        return self._reference

    @cached_property
    def _reference(self) -> Reference:
        model = self.model

        def at(q, v, t, p):
            params = with_parameters(model, p)
            F = functions.force(model.system, q, v, t, model.parameters(params))
            if model.servo is not None:  # its result contains that of a motion
                found = control(model, q=q, v=v, t=t, params=params, throw=False)
                both = found.acceleration, found.passive_force, found.acceleration
                return (*both, F + found.actuator_force, found.u)
            found = motion(model, q, v, t, params=params, throw=False)
            forces = found.acceleration, found.constraint_force, found.free_acceleration
            return (*forces, F, jnp.zeros(0))

        return Reference(*map(np.asarray, _at_states(at, self.q, self.v, self.t, self.p)))

    def error(self, found: np.ndarray, expected: np.ndarray, terms: np.ndarray) -> float:
        """Return the largest difference over all states, relative to the largest entry of a state's
        result and of its terms.
        """
        size = np.maximum(np.abs(expected).max(axis=1, initial=0.0), terms)
        off = np.abs(found - expected).max(axis=1, initial=0.0)
        return float(np.max(off / np.where(size > 0, size, 1.0), initial=0.0))


def samples(model: Model, q0=None, v0=None, count: int = 1000, seed: int = 0) -> Samples:
    """Draw random states around a start, with parameters that vary by up to a tenth.

    If rows of A are dependent, the states are projected onto their constraints, with the model's
    own parameters, because such rows contradict each other elsewhere. States next to a loss of rank
    are then omitted.

    Raises:
        ModelError: if q0 or v0 does not fit the model, or no such state is found.
    """
    system, m = model.system, model.constraints.m
    q0 = np.ones(system.nq) if q0 is None else np.asarray(vector(q0, system.nq, "q0"))
    v0 = np.zeros(system.nv) if v0 is None else np.asarray(vector(v0, system.nv, "v0"))
    own = _own(model)

    def drawn(count: int):
        rng = np.random.default_rng(seed)
        w = SPREAD * rng.standard_normal((count, system.nv))
        v = v0 + 2 * SPREAD * rng.standard_normal((count, system.nv))
        t = rng.uniform(0.0, 1.0, count)
        # relative changes, so that masses and lengths stay positive
        p = own * (1 + rng.uniform(-0.1, 0.1, (count, len(own))))
        moved = lambda w, t, p: system.move(jnp.asarray(q0), w, t, _whole(model, p))
        return _at_states(moved, w, t, p), v, t, p

    # off the constraints first, where independent rows determine the result
    q, v, t, p = drawn(count)
    free = Samples(model, (q0, v0), q, v, t, p, False)
    if not m:
        return free
    # Rows may also be dependent on the constraints and nowhere else. Off the constraints redundant
    # rows contradict each other, and two methods need not agree.
    met = _on_constraints(free, own)
    rank, _ = _ranks(met if len(met.q) else free)
    if rank == m:
        return free
    # more than needed, because states near a loss of rank are dropped, and those too far from the
    # constraints
    on = _on_constraints(Samples(model, (q0, v0), *drawn(4 * count), False), own)
    kept = np.flatnonzero(_ranks(on)[1] > REGULAR)[:count] if len(on.q) else np.zeros(0, int)
    if not len(kept):
        raise ModelError(
            f"{model.name}: no random state around the start is on the constraints and away from a "
            "loss of rank; give a q0 where the constraints keep their rank."
        )
    return Samples(model, (q0, v0), on.q[kept], on.v[kept], on.t[kept], on.p[kept], True)


def _on_constraints(given: Samples, own: np.ndarray) -> Samples:
    """Return the states projected onto the constraints, with the model's own parameters, without
    those whose projection fails.
    """
    p = np.broadcast_to(own, given.p.shape).copy()
    # the rows may be dependent
    project = ModelFunctions(given.model, SVD(DERIVED)).project
    q, v, code = _at_states(project, given.q, given.v, given.t, p)
    met = np.flatnonzero(code == SUCCESS)
    return dataclasses.replace(given, q=q[met], v=v[met], t=given.t[met], p=p[met], projected=True)


def _own(model: Model) -> np.ndarray:
    """Return the model's own parameters."""
    return np.array([x for _, x in parameters(model)])


def _whole(model: Model, p):
    """Return parameters in the form that functions receive, from those of a state."""
    return model.parameters(with_parameters(model, p))


def _at_states(function: Callable, *arrays: np.ndarray):
    """Evaluate a function of one state at each of them."""
    return Many(function, (0,) * len(arrays), arrays)(*arrays)


def _ranks(given: Samples) -> tuple[int, np.ndarray]:
    """Return the rank of A at most of the states, and at each state of that rank its smallest
    singular value relative to the largest; 0 at the others.
    """
    sigma = singular_values(_unit(matrices(given)))
    sigma = sigma / np.maximum(sigma[:, :1], 1e-300)
    ranks = np.sum(sigma > ALL_BUT_ZERO, axis=1)
    rank = int(np.median(ranks))
    return rank, np.where(ranks == rank, sigma[:, max(rank, 1) - 1], 0.0)


def refuse_nearly_parallel(model: Model, given: Samples) -> None:
    """Refuse rows that are nearly parallel at most states on the constraints, for code without a
    rank decision.

    Raises:
        ModelError: with their smallest singular value.
    """
    if not model.constraints.m:
        return
    if not given.projected:
        given = _on_constraints(given, _own(model))
    if not len(given.q):
        return
    sigma = singular_values(_unit(matrices(given)))
    sigma = sigma / np.maximum(sigma[:, :1], 1e-300)
    least = np.min(sigma, axis=1, where=sigma > PLACED, initial=1.0)
    if (usual := float(np.median(least))) < LEAST_SWEPT:
        raise ModelError(
            f"{given.model.name}: rows of the constraints are nearly parallel (singular value "
            f"{usual:.1e}); generated code, which makes no rank decision, satisfies rows only "
            f"with singular values above {LEAST_SWEPT:.0e}: state constraints whose rows are "
            "farther apart, or leave one of them out."
        )


def _unit(A: np.ndarray) -> np.ndarray:
    """Return rows at unit length."""
    length = np.linalg.norm(A, axis=2, keepdims=True)
    return A / np.where(length > 0, length, 1.0)


def matrices(given: Samples) -> np.ndarray:
    """Return A at each state, shape (states, m, nv)."""
    model = given.model
    at = lambda q, v, t, p: model.constraints.matrix(q, v, t, _whole(model, p))
    return _at_states(at, given.q, given.v, given.t, given.p)
