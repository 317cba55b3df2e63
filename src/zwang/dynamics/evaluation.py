"""One compiled evaluation of a model, which serves starts, stages, steps and samples alike.

    (t, y, h) ↦ rates k₁ … kₛ of an explicit step, and φ, ψ, A, b, M, F at its last stage

It is a loop over the stages, so that the model's functions appear in the program once; the number
of stages is traced, so that a single state is a step of one stage. Nothing else of a model has to
be compiled before it moves: all that follows is linear algebra on the host (`zwang.dynamics.host`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from zwang.compile import BoundProgram, ProgramSize, program_size
from zwang.compile.recent import Recent
from zwang.dynamics.control_law import AbstractControlLaw, Control
from zwang.dynamics.drift import AbstractDrift, Projection
from zwang.dynamics.equation_of_motion import Choice, Dynamics, Scales
from zwang.equations.constraint import Constraints
from zwang.equations.state import State
from zwang.equations.system import System
from zwang.stepping.tableau import Tableau

STAGES = 14
"""Stages that the program has room for: those of the default integrator, and the end of its step;
a larger number compiles another program."""
ONE = np.float64(1.0)
"""A count, or True, as a number: numbers of one type go to a compiled program in one array."""


class ModelEvaluation(NamedTuple):
    """A model's functions at one state, as they are.

    Attributes:
        phi, psi: position and velocity residuals, shapes (holonomic,) and (rows,).
        A: constraint matrix, shape (m, nv), or a `SparseMatrix`.
        b: right-hand side of `A v̇ = b`, shape (m,).
        M: mass matrix as it is given, shape (nv,), (nv, nv) or (nb, k, k).
        F: applied force without that of actuators [N, N·m …], shape (nv,).
        actuator_force: force of the actuators, shape (nv,).
        control: u with its diagnosis, at a state whose velocity is taken as it is; zeros at a stage
            that brings it onto the constraints; None without a control law.
    """

    phi: Float[Array, " holonomic"]
    psi: Float[Array, " rows"]
    A: Float[Array, "m nv"]
    b: Float[Array, " m"]
    M: Float[Array, "..."]
    F: Float[Array, " nv"]
    actuator_force: Float[Array, " nv"]
    control: Control | None = None


class Stages(NamedTuple):
    """The stages of an explicit step.

    Attributes:
        rates: ẏ at each stage, shape (n, stages).
        residual: of `A v̇ = b` at the first stage (`Dynamics.residual`).
        last: the model's functions at the last stage.
    """

    rates: Float[Array, "n stages"]
    residual: Float[Array, ""]
    last: ModelEvaluation


def stages_of(
    dynamics: Dynamics, drift: AbstractDrift, t, y, h, a, c, count, treated=True
) -> Stages:
    """Evaluate the stages of an explicit step, one after another.

    Args:
        dynamics, drift: the motion.
        t, y, h: time [s], (q, v) of shape (n,), and step [s].
        a, c: coefficients of the method, shapes (s, s) and (s,).
        count: how many of the s stages there are, a number of any type.
        treated: whether a stage's velocity is brought onto the constraints (`AbstractDrift.rate`):
            True, False or a number above zero or not.
    """
    nq = dynamics.system.nq
    treated = treated if isinstance(treated, bool) else treated > 0

    def evaluated(rates, i):
        z = y + h * (rates @ a[i])
        rate = drift.rate(dynamics, State(z[:nq], z[nq:], t + c[i] * h), treated)
        eq = rate.equation
        M = eq.mass.given
        if dynamics.singular_mass:  # what was factored is the augmented matrix
            s = eq.state
            M = jnp.asarray(dynamics.system.mass_matrix(s.q, s.t, dynamics.p), y.dtype)
        at = ModelEvaluation(
            rate.phi,
            rate.psi,
            eq.weighted.A,
            eq.given_b,
            M,
            eq.given_force,
            jnp.zeros_like(eq.force) if eq.choice is None else eq.choice.actuator_force,
            None if eq.choice is None else _diagnosed(dynamics, eq.choice, treated),
        )
        return jnp.concatenate([rate.q, rate.v]), rate.residual, at

    # the small arrays are carried as one vector: outside of the loop, where a call of few stages
    # spends its time, each array is one or two operations of the compiled program
    nothing = _nothing(dynamics, y)
    small, of_small = ravel_pytree(nothing._replace(A=None))

    def stage(i, carry):
        rates, first, *_ = carry
        rate, residual, at = evaluated(rates, i)
        rates, first = rates.at[:, i].set(rate), jnp.where(i == 0, residual, first)
        return rates, first, at.A, ravel_pytree(at._replace(A=None))[0]

    # a loop, and not a scan: the number of stages is traced, so that one state is one stage
    start = jnp.zeros((len(y), len(c))), jnp.zeros(()), nothing.A, small
    rates, first, A, small = jax.lax.fori_loop(0, jnp.asarray(count, int), stage, start)
    return Stages(rates, first, of_small(small)._replace(A=A))


def _diagnosed(dynamics: Dynamics, choice: Choice, treated) -> Control:
    """The control's diagnosis, which samples and starts ask for and stages do not."""
    passive, law = dynamics.passive, dynamics.law
    assert isinstance(law, AbstractControlLaw)
    none = law.blank(passive)

    def diagnosis():
        found = law.diagnose(passive, choice)
        return jax.tree_util.tree_map(lambda x, like: jnp.asarray(x, like.dtype), found, none)

    return jax.lax.cond(treated, lambda: none, diagnosis)


def _nothing(dynamics: Dynamics, y) -> ModelEvaluation:
    """An evaluation before the first one: zeros, whose shapes are found without tracing the
    constraints once more.
    """
    c, system, p = dynamics.constraints, dynamics.system, dynamics.p
    mass = lambda q, t: jnp.asarray(system.mass_matrix(q, t, p), y.dtype)
    M = jax.eval_shape(mass, y[: system.nq], jnp.zeros(()))
    A = jax.ShapeDtypeStruct((c.m, system.nv), y.dtype)
    if dynamics.structure.sparse:
        s = State(y[: system.nq], y[system.nq :], jnp.zeros(()))
        A = jax.eval_shape(lambda: dynamics.matrix(s))
    zeros = lambda shape: jax.tree_util.tree_map(lambda x: jnp.zeros(x.shape, x.dtype), shape)
    vector, phi, psi = jnp.zeros(system.nv), len(c.position_rows), len(c.velocity_rows)
    law = dynamics.law
    control = law.blank(dynamics.passive) if isinstance(law, AbstractControlLaw) else None
    rows = jnp.zeros(phi), jnp.zeros(psi), zeros(A), jnp.zeros(c.m)
    return ModelEvaluation(*rows, zeros(M), vector, vector, control)


class _Remembered:
    """An evaluation that remembers the last states: a start is measured, placed and judged at the
    same few.

    Args:
        at: `(t, y)` → the model's functions at one state.
    """

    def __init__(self, at: Callable[[Any, Any], ModelEvaluation]):
        self._at, self._known = at, Recent[ModelEvaluation](most=4)

    def __call__(self, t: Any, y: Any) -> ModelEvaluation:
        key = float(t), y.tobytes()
        if (known := self._known.get(key)) is None:
            known = self._at(t, y)
            self._known.put(key, known)
        return known


class BoundFunctions:
    """The compiled functions of a motion that is never stepped, with its numbers: without stages
    and their linear algebra.
    """

    def __init__(self, dynamics: Dynamics):
        system, self._nq = dynamics.system, dynamics.system.nq
        example = np.zeros(system.nq), np.zeros(system.nv), np.zeros(())
        self._call = BoundProgram(_functions, (system, dynamics.constraints, dynamics.p), example)

    def at(self, t: Any, y: Any) -> ModelEvaluation:
        """The model's functions at one state."""
        return self._call(y[: self._nq], y[self._nq :], np.float64(t))


def _functions(system: System, constraints: Constraints, p, q, v, t) -> ModelEvaluation:
    """The model's functions as they are written, without actuators."""
    phi, psi, A, b = _rows(constraints, p, q, v, t)
    M = jnp.asarray(system.mass_matrix(q, t, p), q.dtype)
    F = jnp.asarray(system.force(q, v, t, p), q.dtype)
    return ModelEvaluation(phi, psi, A, b, M, F, jnp.zeros_like(F))


class BoundEvaluation:
    """The compiled evaluation of one motion, with its numbers.

    Args:
        dynamics, drift: the motion.
    """

    def __init__(self, dynamics: Dynamics, drift: AbstractDrift):
        n = dynamics.system.nq + dynamics.system.nv
        zero, self._single = np.zeros(()), (np.zeros((STAGES, STAGES)), np.zeros(STAGES))
        # one signature for starts, stages and samples, so that one compiled program serves them all
        example = (zero, np.zeros(n), zero, *self._single, zero, zero)
        self._call = BoundProgram(stages_of, (with_scales(dynamics), drift), example)

    @property
    def key(self) -> Any:
        """What the compiled program depends on."""
        return self._call.key

    @property
    def seconds(self) -> float:
        """How long it took to compile, in this process or in another one."""
        return self._call.seconds

    def stages(self, t: Any, y: Any, h: Any, method: PaddedMethod) -> Stages:
        """The stages of a step."""
        return self._call(
            np.float64(t), y, np.float64(h), method.a, method.c, np.float64(method.count), ONE
        )

    def untreated(self, t: Any, y: Any) -> Stages:
        """The rate and the model's functions at one state as it is, off its constraints or not."""
        zero = np.float64(0.0)
        return self._call(np.float64(t), y, zero, *self._single, ONE, zero)

    def at(self, t: Any, y: Any) -> ModelEvaluation:
        """The model's functions at one state."""
        return self.untreated(t, y).last


@dataclasses.dataclass(frozen=True)
class PaddedMethod:
    """Coefficients of an explicit method in arrays of at least `STAGES` stages.

    Attributes:
        a, c: shapes (s, s) and (s,), zero beyond the stages that are wanted.
        count: how many stages are wanted.
    """

    a: np.ndarray
    c: np.ndarray
    count: int

    @classmethod
    def of(cls, a: np.ndarray, c: np.ndarray) -> PaddedMethod:
        """A method's own coefficients, padded."""
        count, size = len(c), max(len(c), STAGES)
        padded = np.zeros((size, size)), np.zeros(size)
        padded[0][:count, :count], padded[1][:count] = a, c
        return cls(*padded, count)

    @classmethod
    def with_end(cls, method: Tableau) -> PaddedMethod:
        """A method whose last stage is the end of its step, one more than its own if need be: there
        the model's functions come with the stages, and take no call of their own.
        """
        a, c, b = method.matrix, np.asarray(method.c, float), np.asarray(method.b)
        if np.array_equal(a[-1], b) and c[-1] == 1:
            return cls.of(a, c)
        wider = np.pad(a, ((0, 1), (0, 1)))
        wider[-1, :-1] = b
        return cls.of(wider, np.append(c, 1.0))


def evaluation_size(dynamics: Dynamics, s: State) -> ProgramSize:
    """How large the compiled evaluation of a model is, and how long it takes to make."""
    prepared, drift = with_scales(dynamics), Projection()
    arrays, rest = eqx.partition((prepared, drift), eqx.is_array)

    def called(arrays, t, y, a, c):
        dynamics, drift = eqx.combine(arrays, rest)
        return stages_of(dynamics, drift, t, y, t, a, c, 1, False)

    y = np.concatenate([np.asarray(s.q), np.asarray(s.v)])
    single = np.zeros((STAGES, STAGES)), np.zeros(STAGES)
    return program_size(called, arrays, np.float64(s.t), y, *single)


def with_scales(dynamics: Dynamics) -> Dynamics:
    """The dynamics with scales of one where none are measured yet, so that it is the same
    program.
    """
    if dynamics.scales is not None:
        return dynamics
    one: Any = np.float64(1.0)
    ones: Any = np.ones(dynamics.constraints.m)
    unit = Scales(ones, one, one)
    return dataclasses.replace(dynamics, scales=unit)


PROJECTION = Projection()
"""One object, so that evaluations without a drift of their own are known by it."""
_BOUND: Recent[tuple[Dynamics, AbstractDrift, _Remembered]] = Recent(most=8)
"""By the identities of the motion and its drift, which are kept so that these stay theirs."""


def evaluate(dynamics: Dynamics, s: State, drift: AbstractDrift | None = None) -> ModelEvaluation:
    """A model's functions at one state, on the host.

    The compiled evaluation is that of a run with `Projection`, which is not compiled again.
    """
    q, v, t = np.asarray(s.q), np.asarray(s.v), np.float64(s.t)
    if dynamics.parts is not None:
        base, further = dynamics.parts
        # the evaluation of the base model is compiled for its runs anyway; only further rows are
        # new
        known = evaluate(base, s, drift)
        more = BoundProgram(_rows, (further, base.p), (q, v, t))(q, v, t)
        phi, psi, A, b = (np.concatenate(x) for x in zip(known[:4], more, strict=True))
        return known._replace(phi=phi, psi=psi, A=A, b=b)
    at = _bound(dynamics, PROJECTION if drift is None else drift)
    return at(float(t), np.concatenate([q, v]))


def _bound(dynamics: Dynamics, drift: AbstractDrift) -> _Remembered:
    """The compiled evaluation of a motion; a start asks for it two dozen times, and to bind its
    numbers takes ten times as long as a call.
    """
    key = id(dynamics), id(drift)
    known = _BOUND.get(key)
    if known is None or known[0] is not dynamics or known[1] is not drift:
        alone = not dynamics.stepped and not dynamics.structure.sparse
        bound = BoundFunctions(dynamics) if alone else BoundEvaluation(dynamics, drift)
        known = dynamics, drift, _Remembered(bound.at)
        _BOUND.put(key, known)
    return known[2]


def _rows(constraints: Constraints, p, q, v, t):
    """φ, ψ, A and b of some constraints."""
    A, phi, psi = constraints.linearized(q, v, t, p)
    return phi, psi, A, constraints.rhs(q, v, t, p)


def moved(dynamics: Dynamics, q, dq, t) -> Any:
    """`q ⊕ dq` on the host."""
    system, q, dq = dynamics.system, np.asarray(q), np.asarray(dq)
    # where velocities are the rates of coordinates, a sum needs no program
    if system.velocity_map is None and system.retract is None:
        return q + dq
    given = q, dq, np.float64(t)
    return np.asarray(BoundProgram(move, (system, dynamics.p), given)(*given))


def move(system: System, p, q, dq, t):
    return system.move(q, dq, t, p)
