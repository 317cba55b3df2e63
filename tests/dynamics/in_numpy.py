"""A model with NumPy functions, for tests of the surrounding code; nothing is compiled."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from zwang.algebra.pseudoinverse import Proximal
from zwang.dynamics import (
    consistency,
    initial_conditions,
    number_range,
    placement,
    scales,
)
from zwang.dynamics.equation_of_motion import Scales
from zwang.dynamics.evaluation import ModelEvaluation
from zwang.dynamics.matrix_structure import DENSE, AbstractStructure
from zwang.equations.constraint import Constraints
from zwang.equations.constraint.level import ACCELERATION, POSITION, VELOCITY
from zwang.equations.state import State, host_state
from zwang.objects.record import Record, field


@dataclasses.dataclass(frozen=True)
class Rows:
    """One constraint.

    Attributes:
        level: "position", "velocity" or "acceleration", which becomes the level of that name.
        size: its number of rows.
        residual: (q, v, t) → φ or ψ, shape (size,); zero of an acceleration constraint.
        A: (q, v, t) → shape (size, nv).
        b: (q, v, t) → shape (size,).
        rate: ψ = φ̇ of a position constraint, (q, v, t) → shape (size,); A v unless given.
        nonideal: a nonideal force; only whether there is one is asked.
    """

    level: Any
    size: int
    A: Callable
    residual: Callable = lambda q, v, t: np.zeros(1)
    b: Callable = lambda q, v, t: np.zeros(1)
    rate: Callable | None = None
    nonideal: Callable | None = None

    def __post_init__(self):
        named = {str(x): x for x in (POSITION, VELOCITY, ACCELERATION)}
        object.__setattr__(self, "level", named.get(self.level, self.level))

    def speed(self, q, v, t) -> np.ndarray:
        if self.level.has_phi:
            return self.A(q, v, t) @ v if self.rate is None else self.rate(q, v, t)
        return self.residual(q, v, t)


class Dynamics(Record):
    """What starts and judgements ask of `zwang.dynamics.equation_of_motion.Dynamics`."""

    given: InNumPy = field(static=True)
    constraints: Switched
    scales: Scales | None = None
    singular_mass: bool = field(static=True, default=False)
    p: Any = None
    formulation: Any = None
    pseudoinverse: Any = Proximal()
    structure: AbstractStructure = DENSE
    parts: Any = None
    rough: bool = False

    @property
    def system(self):
        return self.given.system

    @property
    def passive(self):
        return self


class Switched(Record):
    """What is asked of `zwang.equations.constraint.Constraints`."""

    given: InNumPy = field(static=True)
    on: np.ndarray | None = None

    m = property(lambda self: sum(rows.size for rows in self.given.rows.values()))
    row_slices = property(lambda self: self.given.slices)
    owner, worst, by_row = Constraints.owner, Constraints.worst, Constraints.by_row
    loose, frictions = (), ()
    one_sided_rows = outright_rows = np.zeros(0, int)
    position_rows = property(lambda self: self.given.numbers("position"))
    velocity_rows = property(lambda self: self.given.numbers("position", "velocity"))
    owners = property(lambda self: self.given.rows)
    pattern = property(lambda self: self.given.pattern)

    def position_residual(self, q, t, p):
        return self.given.stacked("residual", q, np.zeros(self.given.nv), t, "position")

    def velocity_residual(self, q, v, t, p):
        return self.given.stacked("speed", q, v, t, "position", "velocity")


class InNumPy:
    """A model of nv velocities that are the rates of its coordinates.

    Args:
        rows: constraints by name.
        M: mass matrix as a model may give it, or (q, t) → it.
        F: force, or (q, v, t) → it.
        pattern: which entries of A a row can have; all unless given.
    """

    name = "model"
    params = None
    servo = None
    layout = None

    def __init__(self, nv: int, rows: dict[str, Rows], M=None, F=None, pattern=None):
        self.nv, self.rows, self.asked, self.moved_at = nv, rows, 0, []
        self.M = M if callable(M) else (lambda q, t: np.ones(nv) if M is None else np.asarray(M))
        self.F = F if callable(F) else (lambda q, v, t: np.zeros(nv) if F is None else F)
        self.constraints = Switched(self)
        self.pattern = np.ones((self.constraints.m, nv), bool) if pattern is None else pattern
        velocities = tuple(f"v{i}" for i in range(nv))
        self.system = types.SimpleNamespace(
            nq=nv,
            nv=nv,
            coordinates=tuple(f"q{i}" for i in range(nv)),
            velocities=velocities,
            move=self._move,
        )

    def _move(self, q, dq, t, p):
        self.moved_at.append(float(t))
        return _moved(q, dq)

    @property
    def slices(self) -> dict[str, slice]:
        ends = np.cumsum([0, *(rows.size for rows in self.rows.values())])
        starts = zip(self.rows, ends[:-1], ends[1:], strict=True)
        return {name: slice(int(i), int(j)) for name, i, j in starts}

    def numbers(self, *levels: str) -> np.ndarray:
        slices = self.slices
        own = [
            np.arange(s.start, s.stop)
            for n, s in slices.items()
            if str(self.rows[n].level) in levels
        ]
        return np.concatenate([np.zeros(0, int), *own])

    def stacked(self, what: str, q, v, t, *levels: str) -> np.ndarray:
        own = [r for r in self.rows.values() if not levels or str(r.level) in levels]
        return np.concatenate([np.zeros(0), *(getattr(r, what)(q, v, t) for r in own)])

    def state(self, q, v, t=0.0) -> State:
        return host_state(np.asarray(q, float), np.asarray(v, float), t)

    def dynamics(self, params=None, pseudoinverse=None, **changes) -> Dynamics:
        return Dynamics(self, self.constraints, **changes)

    def evaluate(self, dynamics: Dynamics, s: State, drift=None) -> ModelEvaluation:
        self.asked += 1
        q, v, t = np.asarray(s.q), np.asarray(s.v), float(s.t)
        A = [np.zeros((0, self.nv)), *(rows.A(q, v, t) for rows in self.rows.values())]
        A, b = np.concatenate(A), self.stacked("b", q, v, t)
        on = dynamics.constraints.on
        if on is not None:
            A, b = A * on[:, None], b * on
        phi = self.stacked("residual", q, v, t, "position")
        psi = self.stacked("speed", q, v, t, "position", "velocity")
        return ModelEvaluation(phi, psi, A, b, self.M(q, t), self.F(q, v, t), np.zeros(self.nv))


def _moved(q, dq) -> np.ndarray:
    """q + dq; coordinates beyond the velocities stay."""
    moved = np.array(q, float)
    moved[: len(dq)] += dq
    return moved


def in_numpy(monkeypatch, *further) -> None:
    """Let starts, judgements and further modules evaluate such models, and no others."""
    for module in (placement, scales, consistency, initial_conditions, number_range, *further):
        monkeypatch.setattr(module, "evaluate", lambda d, s, drift=None: d.given.evaluate(d, s))
    for module in (scales, consistency):
        monkeypatch.setattr(module, "evaluate_along", _evaluate_along)
    monkeypatch.setattr(initial_conditions, "residuals", _residuals)
    # which solves for a velocity by compiled forms
    monkeypatch.setattr(initial_conditions, "between_branches", lambda *given: "")
    move = lambda dynamics, q, dq, t: dynamics.system.move(q, dq, t, None)
    for module in (placement, scales, consistency, number_range):
        monkeypatch.setattr(module, "moved", move)


def _evaluate_along(dynamics: Dynamics, s: State, velocities: np.ndarray) -> ModelEvaluation:
    found = [dynamics.given.evaluate(dynamics, State(s.q, v, s.t)) for v in velocities]
    return ModelEvaluation(*(np.stack(x) for x in zip(*found, strict=True)))


def _residuals(constraints, s, p) -> tuple[np.ndarray, np.ndarray]:
    phi, psi = np.zeros((2, constraints.m))
    phi[constraints.position_rows] = abs(constraints.position_residual(s.q, s.t, p))
    psi[constraints.velocity_rows] = abs(constraints.velocity_residual(s.q, s.v, s.t, p))
    return phi, psi


def circle(length: float = 1.0) -> Rows:
    """q ∙ q = length²."""
    return Rows(
        "position",
        1,
        A=lambda q, v, t: 2 * q[None],
        residual=lambda q, v, t: np.array([q @ q - length**2]),
        b=lambda q, v, t: np.array([-2 * v @ v]),
    )


def line(*row: float, level: str = "position", phi=None, b=None, psi=None) -> Rows:
    """One row of numbers, with residual `row ∙ q` (`row ∙ v` for velocities) unless given."""
    a = np.array(row)
    moving = level == "velocity"
    usual = (lambda q, v, t: a @ v) if moving else (lambda q, v, t: a @ q)
    f = (psi if moving else phi) or usual
    one = lambda g: lambda q, v, t: np.array([g(q, v, t)])
    return Rows(
        level,
        1,
        A=lambda q, v, t: a[None],
        residual=one(f),
        b=one(b or (lambda q, v, t: 0.0)),
        rate=None if psi is None or moving else one(psi),
    )
