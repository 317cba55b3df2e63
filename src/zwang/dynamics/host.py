"""A model's motion on the host: its functions by one compiled evaluation, everything else by NumPy.

`HostDynamics` and `HostVectorField` answer what `Dynamics` and `ConstrainedVectorField` answer to a
drift treatment and to the step loop, so that a run can begin before its loop is compiled.
"""

from __future__ import annotations

import dataclasses
from functools import cached_property, partial
from typing import Any, cast

import numpy as np

from zwang.algebra.elimination.matrix import SparseMatrix
from zwang.algebra.judgement import row_units
from zwang.algebra.operator.host import HostMass, HostOperator, RowScale
from zwang.algebra.pseudoinverse import Proximal
from zwang.arithmetic import on_host
from zwang.arrays import on_device
from zwang.compile import BoundProgram
from zwang.dynamics.drift.base import renormalized
from zwang.dynamics.equation_of_motion import Dynamics
from zwang.dynamics.evaluation import BoundEvaluation, ModelEvaluation, move
from zwang.dynamics.vector_field import ConstrainedVectorField
from zwang.equations.state import State, host_state
from zwang.stepping.manifold import Landing

MOST_ENTRIES = 1_000_000
"""Largest m · nv of a constraint matrix that is stepped on the host, as a dense array; at 1000 by
1000 a factorization takes 20 ms, and a run is compiled from its beginning."""
PLACED, MOST_PLACED = 1e-12, 8
"""A violation that is round-off beside the singular values that a state is placed for, and the most
corrections until then."""


def has_host(flow: ConstrainedVectorField) -> bool:
    """Whether a motion can be stepped on the host: with `Proximal`, of a size that is dense."""
    dynamics = flow.dynamics
    small = dynamics.constraints.m * dynamics.system.nv <= MOST_ENTRIES
    return small and type(dynamics.pseudoinverse) is Proximal


@dataclasses.dataclass(frozen=True)
class HostConstraints:
    """Which rows of A are held at which level."""

    m: int
    position_rows: np.ndarray
    velocity_rows: np.ndarray


class HostDynamics:
    """The equation of motion at one state after another, on the host.

    Args:
        dynamics: the equation of motion, with its scales measured.
        evaluation: its compiled evaluation.
    """

    def __init__(self, dynamics: Dynamics, evaluation: BoundEvaluation):
        c, scales = dynamics.constraints, dynamics.scales
        assert scales is not None
        self.system, self.p = dynamics.system, dynamics.p
        self.constraints = HostConstraints(c.m, c.position_rows, c.velocity_rows)
        self.row_length = np.asarray(scales.row_length)
        self._row_scale = RowScale(self.row_length)
        self._scales_of_some: dict[bytes, RowScale] = {}
        self.inverse_length = np.float64(scales.inverse_length)
        self._dynamics, self._evaluation = dynamics, evaluation
        assert isinstance(dynamics.pseudoinverse, Proximal), "see `has_host`"
        self._method = dynamics.pseudoinverse
        self.rows_by_place = len(c.position_rows) == c.m
        self._unit = row_units(np, self.row_length)[c.position_rows]
        self._known: tuple[Any, Any, Any, ModelEvaluation] | None = None
        self._mass: HostMass | None = None

    @cached_property
    def _move(self) -> BoundProgram | None:
        system = self.system
        if system.velocity_map is None and system.retract is None:
            return None
        example = (np.zeros(system.nq), np.zeros(system.nv), np.zeros(()))
        return BoundProgram(move, (system, self.p), example)

    def at(self, s: State) -> ModelEvaluation:
        """The model's functions at a state; those of the last state are remembered."""
        # a comparison takes a hundredth of an evaluation
        known = self._known
        if known is None or not (_same(known[0], s.q) and _same(known[1], s.v) and known[2] == s.t):
            found = self._evaluation.at(s.t, np.concatenate([s.q, s.v]))
            self._known = known = s.q, s.v, s.t, found
        return known[3]

    def _at_place(self, s: State) -> ModelEvaluation:
        """The model's functions at a state whose velocity may differ, where that is the same."""
        known = self._known
        if self.rows_by_place and known is not None and _same(known[0], s.q) and known[2] == s.t:
            return known[3]
        return self.at(s)

    def position_residual(self, s: State) -> np.ndarray:
        """`φ(q, t)`."""
        return np.asarray(self.at(s).phi)

    def velocity_residual(self, s: State) -> np.ndarray:
        """`ψ(q, v, t)`."""
        return np.asarray(self.at(s).psi)

    def matrix(self, s: State) -> np.ndarray:
        """A; of holonomic constraints it does not depend on v."""
        return dense(self._at_place(s).A)

    def residuals(self, s: State) -> tuple[np.ndarray, np.ndarray]:
        """φ and ψ."""
        return self.position_residual(s), self.velocity_residual(s)

    def linearized(self, s: State) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """A, φ and ψ."""
        return self.matrix(s), *self.residuals(s)

    def mass(self, s: State, A: np.ndarray) -> HostMass:
        """M, factored; M + AᵀDA if M may be singular."""
        M = np.asarray(self._at_place(s).M)
        if self._dynamics.singular_mass:
            M = augmented_mass(M, A)
        # most mass matrices are constant, and their factor is what a step would spend its time on
        if self._mass is None or not np.array_equal(M, self._mass.given):
            self._mass = HostMass(M)
        return self._mass

    def weighted(self, mass: HostMass, A: np.ndarray, rows=None) -> HostOperator:
        """A⊕ of all rows, or of some."""
        if rows is None or len(rows) == len(A):
            return HostOperator(mass, A, self._method, self._row_scale)
        if (scale := self._scales_of_some.get(key := rows.tobytes())) is None:
            scale = self._scales_of_some[key] = RowScale(self.row_length[rows])
        return HostOperator(mass, A[rows], self._method, scale)

    def violation(self, phi: np.ndarray) -> np.float64:
        """Size of a position residual, dimensionless (`Dynamics.violation`)."""
        scaled = self._unit * phi
        return self.inverse_length * np.sqrt(scaled @ scaled)

    def move(self, s: State, dq: np.ndarray) -> np.ndarray:
        """`q ⊕ dq`."""
        # a sum needs no program
        if self._move is None:
            return np.asarray(s.q) + dq
        return np.asarray(self._move(s.q, dq, np.float64(s.t)))


def _same(x: Any, y: Any) -> bool:
    """Whether two arrays hold the same numbers; arrays are never changed once they are states."""
    return x is y or bool((x == y).all())


def dense(A: Any) -> np.ndarray:
    """A as an array, also where it is known by its entries."""
    return np.asarray(A.todense() if isinstance(A, SparseMatrix) else A)


def augmented_mass(M: np.ndarray, A: np.ndarray) -> np.ndarray:
    """`M + AᵀDA` (`zwang.dynamics.equation_of_motion.augmentation`)."""
    from zwang.dynamics.drift.metric import dense_mass
    from zwang.dynamics.equation_of_motion import augmentation

    M = dense_mass(M)
    with on_host():
        weight: Any = augmentation(cast(Any, M), cast(Any, A))
        return M + A.T @ (weight[:, None] * A)


class HostVectorField:
    """`ẏ = f(t, y)` with its constraint manifold, on the host.

    Args:
        flow: the motion, as it is compiled.
    """

    def __init__(self, flow: ConstrainedVectorField):
        # looked up once: an attribute of an Equinox module takes as long as a sum of ten numbers,
        # and a method of one thirty times as long
        self.flow, self.target = flow, np.float64(flow.target)
        self._sampler, self._switched = flow.sampler, flow.switched
        self._nq = flow.dynamics.system.nq
        self.moves_by_velocity = flow.moves_by_velocity
        self._project = partial(type(flow.drift).project_step, flow.drift)
        self.evaluation = BoundEvaluation(flow.dynamics, flow.drift)
        self.dynamics = HostDynamics(flow.dynamics, self.evaluation)
        self._held: tuple[bytes, HostVectorField] | None = None

    def with_input(self, held) -> HostVectorField:
        """The motion while a sampler holds its control, or while some switches are on."""
        if self._sampler is None and self._switched is None:
            return self
        # a motion between two changes is bound once, however many steps it takes
        key = np.asarray(held).tobytes()
        if self._held is None or self._held[0] != key:
            self._held = key, HostVectorField(self.flow.with_input(on_device(held)))
        return self._held[1]

    def split(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """q and v."""
        return y[: self._nq], y[self._nq :]

    def state(self, t, y: np.ndarray) -> State:
        """q, v and t."""
        return host_state(*self.split(y), t)

    def rate(self, t, y: np.ndarray) -> np.ndarray:
        """`ẏ` as the stages of a run compute it."""
        return np.asarray(self.evaluation.rate(t, y))

    def placed(self, t, y: np.ndarray) -> State:
        """A state near the constraints with its place on them, its velocity as it is where rows do
        not depend on it: two evaluations, where a step's projection takes four.
        """
        if not (self.dynamics.rows_by_place and self.flow.drift.projects):
            return self.state(t, np.asarray(self.project_step(t, y, np.zeros_like(y)).y))
        dynamics: Any = self.dynamics
        s = renormalized(dynamics, self.state(t, y))
        for _ in range(MOST_PLACED):
            phi = dynamics.position_residual(s)
            if not dynamics.violation(phi) > PLACED:
                break
            A = dynamics.matrix(s)
            correct = dynamics.weighted(dynamics.mass(s, A), A).correct
            s = State(dynamics.move(s, -correct(phi)), s.v, s.t)
        return s

    def project_step(self, t, y, error) -> Landing:
        """The step after the drift treatment."""
        with on_host():
            # the same text as when it is compiled, with the host's dynamics and numbers
            dynamics, target = cast(Any, self.dynamics), cast(Any, self.target)
            state, errors = self.state(t, y), self.split(error)
            landed = self._project(dynamics, state, errors, target)
        joined: Any = np.concatenate([landed.state.q, landed.state.v])
        return Landing(
            joined,
            cast(Any, np.concatenate(landed.error)),
            landed.violation,
            landed.slip,
            landed.creep,
            landed.converged,
            landed.log_det,
        )
