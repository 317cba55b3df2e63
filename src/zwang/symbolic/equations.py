"""A model's equations as SymPy matrices."""

from __future__ import annotations

import dataclasses

import sympy as sp

from zwang.codegen.equations import Equations, equations
from zwang.dynamics.model import Model
from zwang.inputs.arrays import require_float64
from zwang.symbolic.conversion import Converter, Symbols, symbols


@dataclasses.dataclass(frozen=True)
class SymbolicServo:
    """Servo constraints `A v̇ = b` with their gains in b, and the actuation matrix B.

    `weight` and `preferred` are those of the null-space method that chooses u.
    """

    A: sp.Matrix
    b: sp.Matrix
    B: sp.Matrix
    weight: sp.Matrix
    preferred: sp.Matrix


@dataclasses.dataclass(frozen=True)
class SymbolicEquations:
    """A model's equations as SymPy matrices in the model's names.

    Attributes:
        source: the expressions that they come from.
        symbols: of coordinates, velocities, parameters and time.
        definitions: large common subexpressions, in order; empty for small models.
        M, F: mass matrix (nv, nv) and force (nv, 1).
        rate: `q̇ = N v + n`, shape (nq, 1).
        phi, psi: residuals of the constraints at position and velocity level.
        A, b: constraint rows, shapes (m, nv) and (m, 1).
        potential: potential energy, or None.
        nonideal: impressed force of nonideal constraints from the symbols `ideal`, or None.
        ideal: symbols of their ideal forces, shape (parts, nv).
        servo: the servo constraints, or None.

    Example:
        >>> zw.symbolic.equations(model).M
    """

    source: Equations
    symbols: Symbols
    definitions: tuple[tuple[sp.Symbol, sp.Expr], ...]
    M: sp.Matrix
    F: sp.Matrix
    rate: sp.Matrix
    phi: sp.Matrix
    psi: sp.Matrix
    A: sp.Matrix
    b: sp.Matrix
    potential: sp.Expr | None
    nonideal: sp.Matrix | None
    ideal: sp.Matrix
    servo: SymbolicServo | None

    @property
    def model(self) -> Model:
        """The model."""
        return self.source.model

    @property
    def kinetic(self) -> sp.Expr:
        """Kinetic energy `½ vᵀ M v`."""
        v = sp.Matrix(self.symbols.v)
        return (v.T * self.M * v)[0] / 2

    @property
    def velocity_map(self) -> sp.Matrix:
        """N in `q̇ = N v + n`, shape (nq, nv)."""
        return self.rate.jacobian(sp.Matrix(self.symbols.v))


def symbolic_equations(model: Model) -> SymbolicEquations:
    """M, F, φ, ψ, A and b of a model as SymPy matrices, by tracing its own functions.

    Raises:
        ModelError: for an operation that has no formula, by its name, or a model that cannot be
            expressed by formulas (`zwang.codegen.equations`).
    """
    require_float64()
    found = equations(model)
    named, servo = symbols(found), found.servo
    arrays = [found.M, found.F, found.rate, found.phi, found.psi, found.A, found.b]
    extra = [servo.A, servo.b, servo.B, servo.weight, servo.preferred] if servo else []
    impressed = [] if found.nonideal is None else [found.nonideal]
    potential = [] if found.potential is None else [found.potential]
    ideal = {f"f{i}": sp.Symbol(f"_f{i}", real=True) for i in range(found.ideal.size)}
    # One conversion of everything defines subexpressions common to M, F and A once.
    convert = Converter(
        named.by_input() | ideal,
        [*(x for a in (*arrays, *extra, *impressed) for x in a.flat), *potential],
    )
    shown = [convert.matrix(a) for a in (*arrays, *extra, *impressed)]
    return SymbolicEquations(
        found,
        named,
        tuple(convert.definitions),
        *shown[:7],
        potential=convert(potential[0]) if potential else None,
        nonideal=shown[-1] if impressed else None,
        ideal=sp.Matrix(*found.ideal.shape, list(ideal.values())),
        servo=SymbolicServo(*shown[7:12]) if servo else None,
    )
