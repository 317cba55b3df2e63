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
from zwang.dynamics.evaluation import BoundEvaluation, ModelEvaluation, PaddedMethod, Stages, move
from zwang.dynamics.vector_field import ConstrainedVectorField
from zwang.equations.state import State, host_state
from zwang.stepping.explicit import end_of
from zwang.stepping.manifold import Landing

MOST_ENTRIES = 1_000_000
"""Largest m · nv of a constraint matrix that is stepped on the host, as a dense array; at 1000 by
1000 a factorization takes 20 ms, and a run is compiled from its beginning."""
PLACED, MOST_PLACED = 1e-12, 8
"""A violation that is round-off beside the singular values that a state is placed for, and the most
corrections until then."""

EULER = PaddedMethod.of(np.zeros((1, 1)), np.zeros(1))
"""One stage, at the state itself."""


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

    def remember(self, s: State, known: ModelEvaluation) -> None:
        """Take φ, ψ, A and M at a state as they are known."""
        self._known = s.q, s.v, s.t, known

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
        # whether the projection begins at a step's end as it is, coordinates on no manifold
        self._projects_end = flow.drift.projects and flow.dynamics.system.retract is None
        self.evaluation = BoundEvaluation(flow.dynamics, flow.drift)
        self.dynamics = HostDynamics(flow.dynamics, self.evaluation)
        self._held: tuple[bytes, HostVectorField] | None = None
        self._methods: dict[Any, PaddedMethod] = {}

    def with_input(self, held) -> HostVectorField:
        """The motion while a sampler holds its control, or while some switches are on."""
        if self._sampler is None and self._switched is None:
            return self
        # a motion between two changes is bound once, however many steps it takes
        key = np.asarray(held).tobytes()
        if self._held is None or self._held[0] != key:
            self._held = key, HostVectorField(self.flow.with_input(on_device(held)))
        return self._held[1]

    def held_input(self, controller_state) -> np.ndarray:
        """What acts between two changes."""
        if self._switched is not None:
            return np.asarray(controller_state)
        return np.zeros(0) if self._sampler is None else self._sampled.held(controller_state)

    def next_sample_time(self, controller_state) -> float:
        """When the motion changes next [s]."""
        return np.inf if self._sampler is None else self._sampled.next_time(controller_state)

    def update_sample(self, due, t, y, controller_state):
        """The controller state from (t, y) on, if a change is due."""
        if self._sampler is None or not due:
            return controller_state
        return self._sampled.update(t, y, controller_state)

    @cached_property
    def _sampled(self) -> HostSampler:
        return HostSampler(self.flow)

    def split(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """q and v."""
        return y[: self._nq], y[self._nq :]

    def state(self, t, y: np.ndarray) -> State:
        """q, v and t."""
        return host_state(*self.split(y), t)

    def stages(self, method, t, y, h) -> tuple[np.ndarray, float]:
        """Rates at the stages of an explicit method, shape (n, s), and the first one's residual."""
        if (coefficients := self._methods.get(method)) is None:
            own = lambda: PaddedMethod.of(method.matrix, np.asarray(method.c, float))
            coefficients = PaddedMethod.with_end(method) if self._projects_end else own()
            self._methods[method] = coefficients
        found: Stages = self.evaluation.stages(t, y, h, coefficients)
        rates = np.asarray(found.rates)[:, : method.stages]
        if self._projects_end:
            end = self.state(t + h, end_of(method, y, h, rates))
            self.dynamics.remember(end, found.last)
        return rates, np.float64(found.residual)

    def rate(self, t, y: np.ndarray) -> np.ndarray:
        """`ẏ` as the stages of a run compute it."""
        return np.asarray(self.evaluation.stages(t, y, 0.0, EULER).rates)[:, 0]

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


class HostSampler:
    """A sampler's functions, each compiled when it is first called."""

    def __init__(self, flow: ConstrainedVectorField):
        self._flow = flow
        self._programs: dict[str, BoundProgram] = {}

    def held(self, controller_state) -> np.ndarray:
        return self._call("held", _held, (), controller_state)

    def next_time(self, controller_state) -> float:
        return float(self._call("next", _next_time, (), controller_state))

    def update(self, t, y, controller_state):
        return self._call("update", _updated, (np.float64(t), y), controller_state)

    def _call(self, name: str, function, given: tuple, controller_state) -> Any:
        import jax

        leaves, tree = jax.tree_util.tree_flatten(controller_state)
        arrays = (*given, *(np.asarray(x) for x in leaves))
        if name not in self._programs:
            self._programs[name] = BoundProgram(_Flattened(function, tree), (self._flow,), arrays)
        return jax.tree_util.tree_map(np.asarray, self._programs[name](*arrays))


class _Flattened:
    """A function of a motion, arrays and a controller state, as one of the latter's arrays.

    Args:
        function: `(flow, *arrays, controller_state)` → a pytree.
        tree: the controller state's structure.
    """

    def __init__(self, function: Any, tree: Any):
        self.function, self.tree = function, tree
        self.__name__, self.__qualname__ = function.__name__, function.__qualname__

    def __eq__(self, other) -> bool:
        return (
            isinstance(other, _Flattened)
            and self.function is other.function
            and self.tree == other.tree
        )

    def __hash__(self) -> int:
        return hash((self.function, self.tree))

    def __call__(self, flow, *arrays):
        import jax

        leaves = self.tree.num_leaves
        given, state = arrays[: len(arrays) - leaves], arrays[len(arrays) - leaves :]
        return self.function(flow, *given, jax.tree_util.tree_unflatten(self.tree, list(state)))


def _held(flow: ConstrainedVectorField, controller_state):
    return flow.held_input(controller_state)


def _next_time(flow: ConstrainedVectorField, controller_state):
    return flow.next_sample_time(controller_state)


def _updated(flow: ConstrainedVectorField, t, y, controller_state):
    return flow.update_sample(True, t, y, controller_state)
