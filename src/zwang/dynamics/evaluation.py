"""Functions of a model at one state as one compiled program, for initial states and samples.

(t, y) ↦ φ, ψ, A, b, M, F, and ẏ as in a stage of a run
"""

from __future__ import annotations

import dataclasses
import time
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from zwang.algebra.mass_matrix import Matrix
from zwang.compile import BoundProgram, Many
from zwang.dynamics import functions
from zwang.dynamics.control_law import AbstractControlLaw, Control
from zwang.dynamics.drift import AbstractDrift, Projection
from zwang.dynamics.equation_of_motion import Choice, Dynamics, Equation, Scales
from zwang.equations.constraint import Constraints
from zwang.equations.state import State
from zwang.equations.system import System
from zwang.inputs.arrays import host_array
from zwang.objects.recent import Recent


class ModelEvaluation(NamedTuple):
    """Values of the functions of a model at one state.

    Attributes:
        phi, psi: position and velocity residuals, shapes (holonomic,) and (rows,).
        A: constraint matrix, shape (m, nv), or a `SparseMatrix`.
        b: right-hand side of `A v̇ = b`, shape (m,).
        M: mass matrix as the model returns it, shape (nv,), (nv, nv) or (nb, k, k).
        F: applied force without the force of actuators [N, N·m …], shape (nv,).
        actuator_force: force of the actuators, shape (nv,).
        control: u with its diagnosis at a state whose velocity is not projected; zeros at a stage
            that projects the velocity; None without a control law.
    """

    phi: Float[Array, " holonomic"]
    psi: Float[Array, " rows"]
    A: Matrix
    b: Float[Array, " m"]
    M: Float[Array, "..."]
    F: Float[Array, " nv"]
    actuator_force: Float[Array, " nv"]
    control: Control | None = None


class Untreated(NamedTuple):
    """Evaluation of a state without projection, on its constraints or off them.

    Attributes:
        rate: ẏ as in a stage of a run, shape (n,).
        residual: residual of `A v̇ = b` (`Dynamics.residual`).
        at: functions of the model.
    """

    rate: Float[Array, " n"]
    residual: Float[Array, ""]
    at: ModelEvaluation


def untreated(dynamics: Dynamics, drift: AbstractDrift, t, y) -> Untreated:
    """Evaluate a model at a state whose velocity is not projected."""
    rate = drift.rate(dynamics, _state(dynamics, t, y), False)
    at = _functions_of(dynamics, rate.phi, rate.psi, rate.equation)
    residual = dynamics.residual(rate.equation, rate.v)
    return Untreated(jnp.concatenate([rate.q, rate.v]), residual, at)


def functions_at(dynamics: Dynamics, drift: AbstractDrift, t, y) -> ModelEvaluation:
    """Evaluate the functions of the model without a rate."""
    return _functions_of(dynamics, *drift.equation(dynamics, _state(dynamics, t, y), False))


def _state(dynamics: Dynamics, t, y) -> State:
    nq = dynamics.system.nq
    return State(y[:nq], y[nq:], t)


def _functions_of(dynamics: Dynamics, phi, psi, eq: Equation) -> ModelEvaluation:
    M = eq.mass.given
    if dynamics.singular_mass:  # what was factored is the augmented matrix
        M = dynamics.mass_as_given(eq.state).given
    return ModelEvaluation(
        phi,
        psi,
        eq.gauss.A,
        eq.given_b,
        M,
        eq.given_force,
        jnp.zeros_like(eq.force) if eq.choice is None else eq.choice.actuator_force,
        None if eq.choice is None else _diagnosed(dynamics, eq.choice),
    )


def _diagnosed(dynamics: Dynamics, choice: Choice) -> Control:
    """Return the control with its diagnosis, every part in the type of a blank control."""
    passive, law = dynamics.passive, dynamics.law
    assert isinstance(law, AbstractControlLaw)
    found = law.diagnose(passive, choice)
    as_type = lambda x, like: jnp.asarray(x, like.dtype)
    return jax.tree_util.tree_map(as_type, found, law.blank(passive))


def rate_at(dynamics: Dynamics, drift: AbstractDrift, t, y) -> Float[Array, " n"]:
    """Return ẏ as in a stage of a run, with the velocity projected onto the constraints."""
    rate = drift.rate(dynamics, _state(dynamics, t, y))
    return jnp.concatenate([rate.q, rate.v])


class _Remembered:
    """Evaluation that caches the last states, because measuring, placing and checking an initial
    state evaluate the same few states.

    Args:
        bound: the compiled functions of t and y, for one state and for many.
    """

    def __init__(self, bound: BoundProgram | BoundParts):
        self.bound, self._known = bound, Recent[ModelEvaluation](most=4)

    def __call__(self, t: float, y: np.ndarray) -> ModelEvaluation:
        key = t, y.tobytes()
        if (known := self._known.get(key)) is None:
            known = self.bound(np.float64(t), y)
            self._known.put(key, known)
        return known


def _functions(system: System, constraints: Constraints, p, t, y) -> ModelEvaluation:
    """Evaluate the functions of the model without actuators, stages and their linear algebra, for
    dynamics that are never stepped.
    """
    q, v = y[: system.nq], y[system.nq :]
    phi, psi, A, b = _rows(constraints, p, t, y)
    M, F = functions.mass_matrix(system, q, t, p), functions.force(system, q, v, t, p)
    return ModelEvaluation(phi, psi, A, b, M, F, jnp.zeros_like(F))


class BoundParts:
    """Evaluation in two parts: the dynamics without the last constraints, which are compiled for
    runs in any case, and a program of these constraints (`Dynamics.parts`).
    """

    def __init__(self, dynamics: Dynamics, drift: AbstractDrift):
        assert dynamics.parts is not None
        base, further = dynamics.parts
        self._base = _bound(base, drift)
        self._further = BoundProgram(_rows, (further, dynamics.p), _example(dynamics))

    def __call__(self, t: float, y: np.ndarray) -> ModelEvaluation:
        """Evaluate the functions of the model at one state."""
        return _joined(self._base(t, y), self._further(t, y), 0)

    def members(self, t: np.ndarray, y: np.ndarray) -> ModelEvaluation:
        """Evaluate the functions of the model at many states, along a leading axis."""
        return _joined(self._base.bound.members(t, y), self._further.members(t, y), 1)


def _example(dynamics: Dynamics) -> tuple[np.ndarray, np.ndarray]:
    """Return a time and a state of the right shapes."""
    return np.zeros(()), np.zeros(dynamics.system.nq + dynamics.system.nv)


def _joined(known: ModelEvaluation, more: tuple, axis: int) -> ModelEvaluation:
    """Append φ, ψ, A and b of further constraints to an evaluation."""
    phi, psi, A, b = (np.concatenate(x, axis) for x in zip(known[:4], more, strict=True))
    return known._replace(phi=phi, psi=psi, A=A, b=b)


@dataclasses.dataclass(frozen=True)
class EvaluationSize:
    """Size of the evaluation of a model as native code.

    Attributes:
        instructions: number of instructions of one acceleration, including the projection onto the
            constraints.
        seconds: time of compilation.
        call: time of one evaluation [s].
        engine: the engine that compiled it.
    """

    instructions: int
    seconds: float
    call: float
    engine: str

    def __str__(self) -> str:
        return (
            f"{self.instructions} instructions, made in {self.seconds:.2f} s, "
            f"{self.call * 1e6:.2f} µs each ({self.engine})"
        )


TIMED = 1000
"""Number of evaluations over which the time of one is averaged."""


def evaluation_size(dynamics: Dynamics, s: State) -> EvaluationSize:
    """Measure the evaluation of a model at a state: the acceleration of a stage of a run."""
    fixed = with_scales(dynamics), Projection()
    y, t = np.concatenate([np.asarray(s.q), np.asarray(s.v)]), np.float64(s.t)
    program = Many(rate_at, (None, None, 0, 0), (*fixed, np.array([t]), y[None]))
    members = np.full(TIMED, t), np.tile(y, (TIMED, 1))
    program(*fixed, *members)
    begun = time.perf_counter()
    program(*fixed, *members)
    call = (time.perf_counter() - begun) / TIMED
    return EvaluationSize(program.instructions, program.seconds, call, program.engine)


def with_scales(dynamics: Dynamics) -> Dynamics:
    """Return the dynamics with scales of one if none are measured yet, so that the program is the
    same.
    """
    if dynamics.scales is not None:
        return dynamics
    one = host_array(1.0)
    unit = Scales(host_array(np.ones(dynamics.constraints.m)), one, one)
    return dataclasses.replace(dynamics, scales=unit)


PROJECTION = Projection()
"""One object for all evaluations without a drift, because the cache compares identities."""
_BOUND: Recent[tuple[Dynamics, AbstractDrift, _Remembered]] = Recent(most=8)
"""Cache by the identities of the dynamics and the drift, which are kept alive for this reason."""
_MOVES: Recent[tuple[System, PyTree, BoundProgram]] = Recent(most=8)
"""Cache of bound `move` by the identities of the system and its parameters."""


def evaluate(dynamics: Dynamics, s: State, drift: AbstractDrift | None = None) -> ModelEvaluation:
    """Evaluate the functions of a model at one state on the host.

    The compiled evaluation is that of a run with `Projection`, so it is not compiled again.
    """
    q, v, t = np.asarray(s.q), np.asarray(s.v), np.float64(s.t)
    at = _bound(dynamics, PROJECTION if drift is None else drift)
    return at(float(t), np.concatenate([q, v]))


def evaluate_along(dynamics: Dynamics, s: State, velocities: np.ndarray) -> ModelEvaluation:
    """Evaluate the functions of a model on the host at one configuration for each of many
    velocities (k, nv), along a leading axis.
    """
    number = len(velocities)
    y = np.hstack([np.tile(np.asarray(s.q, float), (number, 1)), velocities])
    t = np.full(number, float(s.t))
    return _bound(dynamics, PROJECTION).bound.members(t, y)


def _bound(dynamics: Dynamics, drift: AbstractDrift) -> _Remembered:
    """Return the compiled evaluation of the dynamics from a cache: an initial state needs it two
    dozen times, and binding its numbers takes ten times as long as a call.
    """
    key = id(dynamics), id(drift)
    known = _BOUND.get(key)
    if known is None or known[0] is not dynamics or known[1] is not drift:
        if dynamics.parts is not None:
            bound = BoundParts(dynamics, drift)
        elif not dynamics.stepped and not dynamics.structure.sparse:
            given = dynamics.system, dynamics.constraints, dynamics.p
            bound = BoundProgram(_functions, given, _example(dynamics))
        else:
            given = with_scales(dynamics), drift
            bound = BoundProgram(functions_at, given, _example(dynamics))
        known = dynamics, drift, _Remembered(bound)
        _BOUND.put(key, known)
    return known[2]


def residuals(constraints: Constraints, s: State, p: PyTree) -> tuple[np.ndarray, np.ndarray]:
    """Return the sizes |φ| and |ψ| of the residuals of all rows at a state, on the host, shapes
    (m,), 0 for a row without one.
    """
    given = np.asarray(s.q, float), np.asarray(s.v, float), np.float64(s.t)
    found = BoundProgram(_residuals, (constraints, p), given)(*given)
    phi, psi = constraints.by_row(*found)
    return np.abs(phi), np.abs(psi)


def _residuals(constraints: Constraints, p, q, v, t):
    return constraints.position_residual(q, t, p), constraints.velocity_residual(q, v, t, p)


def _rows(constraints: Constraints, p, t, y):
    """Return φ, ψ, A and b of some constraints."""
    q, v = y[: constraints.system.nq], y[constraints.system.nq :]
    A, phi, psi = constraints.linearized(q, v, t, p)
    return phi, psi, A, constraints.rhs(q, v, t, p)


def moved(dynamics: Dynamics, q, dq, t) -> np.ndarray:
    """Return `q ⊕ dq` on the host."""
    system, q, dq = dynamics.system, np.asarray(q), np.asarray(dq)
    # if velocities are the rates of coordinates, a sum needs no compiled program
    if system.velocity_map is None and system.retract is None:
        return q + dq
    given, key = (q, dq, np.float64(t)), (id(system), id(dynamics.p))
    known = _MOVES.get(key)
    if known is None or known[0] is not system or known[1] is not dynamics.p:
        bound = BoundProgram(move, (system, dynamics.p), given)
        _MOVES.put(key, known := (system, dynamics.p, bound))
    return np.asarray(known[2](*given))


def move(system: System, p, q, dq, t):
    return system.move(q, dq, t, p)
