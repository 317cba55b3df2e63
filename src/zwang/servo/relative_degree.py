"""Relative degree: the number of differentiations until an actuator appears in a servo constraint.

With y the constraint's residual and ẋ = f(x) + g(x) u the passive system with its actuators (f
includes the passive constraints, g = P M⁻¹B in the velocities), the relative degree is the smallest
r with

    L_g L_f^(r−1) y = ∂(L_f^(r−1) y)/∂v · P M⁻¹ B ≠ 0.

It is 2 for a driven position and 1 for a driven velocity, and 4 and 3 if there is a spring between
the motor and the body that it drives.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from zwang.algebra.decomposition import Decomposition
from zwang.compile import program
from zwang.dynamics.equation_of_motion import Dynamics
from zwang.dynamics.model import Model
from zwang.equations.state import State
from zwang.errors import ModelError
from zwang.inputs.arguments import count, host_only
from zwang.inputs.text import counted
from zwang.servo.control import controller, refuse_no_state
from zwang.servo.controller import Controller
from zwang.servo.lie_derivative import differentiated
from zwang.servo.null_space import AUTHORITY_THRESHOLD
from zwang.servo.servo import Servo, degrees_in_words

HIGHEST_DEGREE = 6
"""Relative degree at which the search ends, because every derivative doubles the size of the
program.
"""


@dataclasses.dataclass(frozen=True)
class RelativeDegree:
    """Result of `relative_degree`.

    Attributes:
        degrees: the relative degree of each constraint, or None if the actuators have no authority
            at any degree that was tried.
        authority: by constraint, the authority (see `Control.authority`) at every degree that was
            tried, lowest first.
        rows: number of rows of all constraints together.
        rank: rank of the rows at their degrees (the decoupling matrix); less than `rows` if the
            rows compete for actuators.
        internal: dimension of the zero dynamics, 2 (nv − rank A) − Σ degrees, for holonomic passive
            constraints; None if a degree is missing.
        highest: the highest degree that was tried.
    """

    degrees: dict[str, int | None]
    authority: dict[str, list[float]]
    rows: int
    rank: int | None
    internal: int | None
    highest: int

    def __repr__(self) -> str:
        tried = "; ".join(
            f"authority over {name!r} {', '.join(f'{x:.3g}' for x in found)}"
            for name, found in self.authority.items()
        )
        return f"{self.sentence} ({tried}, lowest degree first)"

    @property
    def sentence(self) -> str:
        """The result in words."""
        without = [name for name, degree in self.degrees.items() if degree is None]
        if without:
            names = ", ".join(map(repr, without))
            return (
                f"no actuator reaches {names}: up to degree {self.highest} none has authority at "
                "this state"
            )
        found, internal = degrees_in_words(self.degrees), self.internal
        if self.rank is not None and self.rank < self.rows:
            return f"{found}, but of {self.rows} rows only {self.rank} can be met together"
        assert internal is not None
        return f"{found}; the zero dynamics have {counted(internal, 'state')}"


@host_only("call it outside of them, with the numbers of one state")
def relative_degree(
    model: Model,
    servo: Servo | None = None,
    q=None,
    v=None,
    t=0.0,
    *,
    params: PyTree = None,
    highest: int = HIGHEST_DEGREE,
) -> RelativeDegree:
    """Relative degree of every servo constraint at a state in general position.

    Args:
        model: the model.
        servo: constraints and actuation, the model's own by default; its gains and `degrees` do
            not matter here.
        q, v, t: the state; at a singular state (a stretched arm) the result holds only for this
            state.
        params: parameters that differ from the model's.
        highest: the highest degree that is tried.

    Raises:
        ModelError: if the rows of one constraint have different degrees: give them as separate
            constraints, or use `with_found_degrees`, which separates them.

    Reference: Isidori (1995), Nonlinear Control Systems, 3rd ed., section 5.1; servo constraints by
        higher differentiation: Blajer and Kołodziejczyk (2004), Multibody System Dynamics 11,
        343-364.
    """
    highest = count(highest, "highest", least=1, most=20)
    bound = controller(model, servo, params)
    refuse_no_state("relative_degree", q, v)
    state = model.state(q, v, t)
    found = decoupling(bound, state, highest)
    degrees, rows = found.degrees, found.rows
    A = np.asarray(bound.dynamics.matrix(state))
    total = sum(len(r) for r in rows)
    if None in degrees.values():
        return RelativeDegree(degrees, found.authority, total, None, None, highest)
    used = sum((degree or 0) * len(r) for degree, r in zip(degrees.values(), rows, strict=True))
    internal = 2 * (model.system.nv - Decomposition(A).rank) - used
    return RelativeDegree(degrees, found.authority, total, found.rank, internal, highest)


class RowDegreeError(ModelError):
    """The rows of one servo constraint have different relative degrees.

    Attributes:
        constraint: name of this constraint.
    """

    def __init__(self, constraint: str, degree: int, reached: np.ndarray):
        self.constraint = constraint
        super().__init__(
            f"servo constraint {constraint!r}: at degree {degree} only rows "
            f"{np.flatnonzero(reached).tolist()} of {len(reached)} have authority; make its rows "
            "constraints of their own, each with its own degree, as zw.servo.with_found_degrees "
            "does."
        )


@dataclasses.dataclass(frozen=True)
class Decoupling:
    """Effect of the actuators on each servo constraint at its relative degree.

    Attributes:
        degrees, authority: as in `RelativeDegree`.
        rows: rows of the decoupling matrix of each constraint that has a degree, at unit length,
            shape (rows, nu).
        inputs: for each constraint that has a degree, a mask of the inputs with authority over it,
            shape (nu,).
    """

    degrees: dict[str, int | None]
    authority: dict[str, list[float]]
    rows: list[np.ndarray]
    inputs: dict[str, np.ndarray]

    @property
    def matrix(self) -> np.ndarray:
        """The decoupling matrix, shape (rows, nu)."""
        return np.concatenate(self.rows) if self.rows else np.zeros((0, 0))

    @property
    def rank(self) -> int:
        return Decomposition(self.matrix, AUTHORITY_THRESHOLD).rank

    @property
    def is_regular(self) -> bool:
        """True if all rows have a degree and can be met together."""
        return None not in self.degrees.values() and self.rank == len(self.matrix)


def decoupling(
    bound: Controller, state: State, highest: int, least: Mapping[str, int] | None = None
) -> Decoupling:
    """Differentiate every servo constraint until an actuator appears in it.

    Args:
        bound: the servo and the system it acts on.
        state: the state at which authority is computed.
        highest: the highest degree that is tried.
        least: by constraint, a degree below which no actuator is known to have authority.
    """
    dynamics, servo = bound.dynamics, bound.servo
    names = [c.name for c in servo.constraints]
    natural = {c.name: c.level.order for c in servo.constraints}
    degrees: dict[str, int | None] = dict.fromkeys(names)
    authority: dict[str, list[float]] = {name: [] for name in names}
    rows: dict[str, np.ndarray] = {}
    inputs: dict[str, np.ndarray] = {}
    tried = {name: max(natural[name], (least or {}).get(name, 0)) for name in names}
    # all constraints still without an actuator are tried at the next degree together, in one
    # program
    while tried:
        for name, (row, cosine) in _reach(dynamics, servo, tuple(tried.items()), state).items():
            degree, cosine = tried.pop(name), np.asarray(cosine)
            authority[name].append(float(np.min(np.max(cosine, axis=1, initial=0.0), initial=1.0)))
            reached = np.any(cosine > AUTHORITY_THRESHOLD, axis=1)
            # rows of one constraint share a degree; rows that differ would need derivatives of u
            if reached.any() and not reached.all():
                raise RowDegreeError(name, degree, reached)
            if reached.any():
                degrees[name], rows[name] = degree, np.asarray(row)
                inputs[name] = np.any(cosine > AUTHORITY_THRESHOLD, axis=0)
            elif natural[name] and degree < highest:
                tried[name] = degree + 1
    in_order = [rows[name] for name in names if name in rows]
    return Decoupling(degrees, authority, in_order, inputs)


@partial(program)
def _reach(dynamics: Dynamics, servo: Servo, tried: tuple[tuple[str, int], ...], s: State):
    """`L_g L_f^(degree−1) y` with rows of unit length, and the cosine between each row and the
    effect of each actuator, both of shape (rows, nu), for every constraint in `tried`, given with
    its degree.
    """
    p, degrees = dynamics.p, dict(tried)
    constraints = [c for c in servo.constraints if c.name in degrees]
    y = differentiated(constraints, dynamics, degrees)
    D = y.matrix(s.q, s.v, s.t, p)
    gauss = dynamics.gauss_at(s)
    B = servo.actuation_matrix(s.q, s.t, p)
    # the acceleration by each actuator including the reactions of passive constraints: an actuator
    # that pushes against a hinge has no authority
    reaction = jax.vmap(gauss.mobility, 1, 1)(B)
    length, width = gauss.mass.row_lengths(D), gauss.mass.row_lengths(B.T)
    row = (D @ reaction) / jnp.where(length > 0, length, 1.0)[:, None]
    cosine = jnp.abs(row) / jnp.where(width > 0, width, 1.0)
    return {name: (row[i], cosine[i]) for name, i in y.row_slices.items()}
