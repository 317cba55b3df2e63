"""The functions of a model as expressions: M, F, N, φ, ψ, A, b, and the equations of its servo."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import jax.numpy as jnp
import numpy as np

from zwang.algebra.mass_matrix import dense_mass
from zwang.algebra.pseudoinverse import Proximal
from zwang.codegen.expression import Graph, Node
from zwang.codegen.functions import refuse_unwritable
from zwang.codegen.interpreter import expressions
from zwang.codegen.names import parameters, with_parameters
from zwang.dynamics import functions
from zwang.dynamics.model import Model, refuse_letting_go
from zwang.equations.state import State
from zwang.errors import ModelError
from zwang.objects.record import replace
from zwang.servo import LeastNorm, PaperLeastNorm, Preferred, Servo, WeightedNorm
from zwang.servo.controller import Controller
from zwang.servo.feedback import Feedback


@dataclasses.dataclass(frozen=True)
class ServoEquations:
    """`A v̇ = b` of the servo constraints, with the terms of their gains in b.

    Attributes:
        A, b: shapes (rows, nv) and (rows,).
        B: actuation matrix, shape (nv, nu).
        choice: name of the class of `Servo.null_space`.
        weight: w of `WeightedNorm`, shape (nu,); ones otherwise.
        preferred: s of `Preferred`, shape (nu,); zeros otherwise.
        actuators: names of the actuators.
    """

    A: np.ndarray
    b: np.ndarray
    B: np.ndarray
    choice: str
    weight: np.ndarray
    preferred: np.ndarray
    actuators: tuple[str, ...]

    @property
    def nu(self) -> int:
        """Number of actuators."""
        return self.B.shape[1]


@dataclasses.dataclass(frozen=True)
class Equations:
    """A model as arrays of expressions in its inputs.

    Attributes:
        model: the model.
        graph: of the expressions.
        q, v, w, p, t: inputs: coordinates (nq,), velocities (nv,), a direction of velocities (nv,),
            parameters (np,) and the time; names "q0", "v0", "w0", "p0", "t".
        parameters: name and value of each parameter, in order.
        M, F: mass matrix (nv, nv) and force (nv,).
        rate: `q̇ = N v + n`, shape (nq,).
        along: `N w`; moved: q moved along w on the manifold of coordinates, shape (nq,).
        phi, psi: residuals at position and velocity level.
        A, b: constraint rows, shapes (m, nv) and (m,).
        ideal: inputs "f0" …: ideal forces of the parts of nonideal constraints, one after another.
        nonideal: c as a function of them, shape (nv,), or None if all constraints are ideal.
        potential: potential energy, or None.
        servo: the equations of the model's servo, or None.
    """

    model: Model
    graph: Graph
    q: np.ndarray
    v: np.ndarray
    w: np.ndarray
    p: np.ndarray
    t: Node
    parameters: tuple[tuple[str, float], ...]
    M: np.ndarray
    F: np.ndarray
    rate: np.ndarray
    along: np.ndarray
    moved: np.ndarray
    phi: np.ndarray
    psi: np.ndarray
    A: np.ndarray
    b: np.ndarray
    ideal: np.ndarray
    nonideal: np.ndarray | None
    potential: object
    servo: ServoEquations | None

    @property
    def m(self) -> int:
        """Number of rows of A."""
        return len(self.b)

    @property
    def diagonal(self) -> bool:
        """Whether M is diagonal."""
        off = ~np.eye(len(self.M), dtype=bool)
        return all(not isinstance(x, Node) and x == 0 for x in self.M[off])

    @property
    def position_rows(self) -> np.ndarray:
        """Rows of A that have a φ."""
        return self.model.constraints.position_rows

    @property
    def velocity_rows(self) -> np.ndarray:
        """Rows of A that have a ψ."""
        return self.model.constraints.velocity_rows


def equations(model: Model) -> Equations:
    """Trace a model's functions into expressions.

    Raises:
        ModelError: for an operation that cannot be written as a formula, a mass matrix that the
            model declares singular, limits of actuators, or a control law that is no `zw.Servo`.
    """
    refuse_unwritable(model)
    refuse_letting_go(model)
    model = _with_law_in_force(model)
    graph, trace = Graph(), None
    named = parameters(model)
    nq, nv = model.system.nq, model.system.nv
    inputs = {c: _inputs(graph, c, n) for c, n in (("q", nq), ("v", nv), ("w", nv))}
    p, t = _inputs(graph, "p", len(named)), graph.input("t")
    trace = _Trace(model, graph)
    q, v, w, time = inputs["q"], inputs["v"], inputs["w"], np.asarray(t, object)
    system, constraints = model.system, model.constraints
    M, N, moved, phi = trace(
        lambda p, q, w, t: (
            dense_mass(functions.mass_matrix(system, q, t, p)),
            system.along(q, w, t, p),
            system.move(q, w, t, p),
            constraints.position_residual(q, t, p),
        ),
        p,
        q,
        w,
        time,
    )
    F, rate, psi, A, b = trace(
        lambda p, q, v, t: (
            functions.force(system, q, v, t, p),
            system.rate(q, v, t, p),
            constraints.velocity_residual(q, v, t, p),
            constraints.matrix(q, v, t, p),
            constraints.rhs(q, v, t, p),
        ),
        p,
        q,
        v,
        time,
    )
    ideal, nonideal = _nonideal(trace, p, q, v, time)
    potential = None
    if system.potential is not None:
        energy = system.potential
        value = lambda p, q, t: jnp.asarray(energy(q, t, p))
        potential = trace(value, p, q, time).item()
    return Equations(
        model,
        graph,
        q,
        v,
        w,
        p,
        t,
        named,
        M,
        F,
        rate,
        N,
        moved,
        phi,
        psi,
        A,
        b,
        ideal,
        nonideal,
        potential,
        _servo(trace, p, q, v, time),
    )


class _Trace:
    """Traces functions of `(p, …)`, with the parameters p in the form that the model's functions
    receive.
    """

    def __init__(self, model: Model, graph: Graph):
        self.model, self.graph = model, graph

    def __call__(self, function: Callable, p: np.ndarray, *given: np.ndarray):
        def whole(p, *x):
            return function(self.model.parameters(with_parameters(self.model, p)), *x)

        return expressions(whole, self.graph, p, *given)


def _inputs(graph: Graph, letter: str, count: int) -> np.ndarray:
    out = np.empty(count, object)
    out[:] = [graph.input(f"{letter}{i}") for i in range(count)]
    return out


def _nonideal(trace: _Trace, p, q, v, t):
    """Return inputs for the ideal forces of nonideal constraints, and the sum of the impressed
    forces.
    """
    constraints = trace.model.constraints
    members = [c for c in constraints.members if c.nonideal is not None]
    nv = trace.model.system.nv
    if not members:
        return np.empty((0, nv), object), None
    parts = sum(len(c.parts) for c in members)
    ideal = _inputs(trace.graph, "f", parts * nv).reshape(parts, nv)

    def impressed(p, q, v, t, ideal):
        total, first = jnp.zeros(nv), 0
        for c in members:
            own = ideal[first : first + len(c.parts)]
            total, first = total + c.impressed(q, v, t, p, own).sum(axis=0), first + len(c.parts)
        return total

    return ideal, trace(impressed, p, q, v, t, ideal)


def nonideal_rows(model: Model) -> list[slice]:
    """Return the rows of each part whose ideal force is an input of `Equations.nonideal`, in
    order.
    """
    slices = model.constraints.row_slices
    return [
        slices[part]
        for c in model.constraints.members
        if c.nonideal is not None
        for part in c.parts
    ]


def _with_law_in_force(model: Model) -> Model:
    """The model whose F contains a control law that is a function of the state."""
    law, system = model.servo, model.system
    if not isinstance(law, Feedback):
        return model

    def force(q, v, t, p):
        u = jnp.atleast_1d(jnp.asarray(law.function(q, v, t, p), float))
        return jnp.asarray(system.force(q, v, t, p)) + law.actuation_matrix(q, t, p) @ u

    driven = replace(system, force=force)
    return Model(driven, model.constraints.members, model.params, name=model.name)


CHOICES = (LeastNorm, PaperLeastNorm, Preferred, WeightedNorm)


def _servo(trace: _Trace, p, q, v, t) -> ServoEquations | None:
    model, servo = trace.model, trace.model.servo
    if servo is None:
        return None
    assert isinstance(servo, Servo)
    if not isinstance(servo.null_space, CHOICES):
        raise ModelError(
            f"{model.name}: null_space {type(servo.null_space).__name__} is not known; expected "
            f"one of {', '.join(c.__name__ for c in CHOICES)}."
        )
    dynamics = model.passive.dynamics(pseudoinverse=Proximal())  # dense, as its rows are traced

    def rows(p, q, v, t):
        controller = Controller(dataclasses.replace(dynamics, p=p), servo)
        state = State(q, v, t)
        choice, ones = servo.null_space, jnp.ones(nu)
        weight = choice.weights(nu, state, p) if isinstance(choice, WeightedNorm) else ones
        given = choice.s if isinstance(choice, Preferred) else 0.0
        preferred = given(q, v, t, p) if callable(given) else given
        return (
            controller.rows.matrix(q, v, t, p),
            controller.target(state),
            servo.actuation_matrix(q, t, p),
            jnp.broadcast_to(weight, nu),
            jnp.broadcast_to(jnp.asarray(preferred, float), nu),
        )

    nu = servo.checked(dynamics)
    A, b, B, weight, preferred = trace(rows, p, q, v, t)
    return ServoEquations(
        A, b, B, type(servo.null_space).__name__, weight, preferred, servo.names(nu)
    )
