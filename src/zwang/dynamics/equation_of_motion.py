"""The equation of motion of one model at any state: M, F, A, b → v̇, by
`algebra/gauss.py`.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Protocol

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, PyTree

from zwang.algebra.elimination.matrix import SparseMatrix
from zwang.algebra.gauss import Gauss, constrained_acceleration
from zwang.algebra.judgement import row_scale, typical_units
from zwang.algebra.mass_matrix import (
    AbstractMass,
    DenseMass,
    Matrix,
    augmentation,
    augmented_mass,
    factor_mass,
)
from zwang.algebra.pseudoinverse import AbstractPseudoinverse
from zwang.algebra.reaction import Reaction, acting_reaction
from zwang.compile.hints import over_rows
from zwang.dynamics import functions
from zwang.dynamics.matrix_structure import DENSE, AbstractStructure, linearized
from zwang.equations.constraint import Constraints
from zwang.equations.constraint.level import Cone
from zwang.equations.state import State
from zwang.equations.system import System
from zwang.objects.record import Record, field, replace


class Scales(Record):
    """What "small" means for one model, free of units; measured once at the start of a run
    (`zwang.dynamics.scales.measure`).

    Attributes:
        row_length: typical length of each row in the metric of M⁻¹, shape (m,); 0 of a row that is
            nothing but round-off.
        curvature: typical curvature of the constraints, 1/length in the mass metric
            [1/(m √kg) …]; 0 if all of them are linear. A state that is off by φ has false singular
            values of the size `φ / row_length · curvature`.
        inverse_length: what makes a violation dimensionless [1/(m √kg) …]: the curvature, which
            makes an angle of it, or, of linear constraints, 1/(extent of the motion).
    """

    row_length: Float[Array, " m"]
    curvature: Float[Array, ""]
    inverse_length: Float[Array, ""]


class Equation(Record):
    """Everything that the kernel needs at one state.

    Attributes:
        state: the state.
        gauss: factored mass and rows of A.
        b: right-hand side of `A v̇ = b`, stabilization included, shape (m,).
        force: F [N, N·m …], shape (nv,), with the actuators' and, for a singular mass, `AᵀDb`.
        given_b, given_force: b and F as the model's functions give them.
        choice: what a control law chose at the state, or None without one.
    """

    state: State
    gauss: Gauss
    b: Float[Array, " m"]
    force: Float[Array, " nv"]
    given_b: Float[Array, " m"]
    given_force: Float[Array, " nv"]
    choice: Choice | None = None

    @property
    def mass(self) -> AbstractMass:
        """The factored mass matrix."""
        return self.gauss.mass

    @property
    def free_acceleration(self) -> Float[Array, " nv"]:
        return self.mass.solve(self.force)

    @property
    def multipliers(self) -> Float[Array, " m"]:
        """λ of ideal constraints, of least norm in rows of unit length."""
        return self.gauss.multipliers(self.b - self.gauss.A @ self.free_acceleration)


class EquationSolver(Protocol):
    """What an `AbstractFormulation` is to the equation of motion."""

    @property
    def singular_mass(self) -> bool:
        """Whether M may be singular."""
        raise NotImplementedError

    def acceleration(self, M, F, A, b, pseudoinverse) -> Float[Array, " nv"]:
        """v̇."""
        raise NotImplementedError


class Choice(Protocol):
    """What a control law chose at a state, a pytree."""

    @property
    def u(self) -> Float[Array, " nu"]:
        """The control."""
        raise NotImplementedError

    @property
    def actuator_force(self) -> Float[Array, " nv"]:
        """`B u`."""
        raise NotImplementedError


class Actuation(Protocol):
    """What an `AbstractControlLaw` is to the equation of motion."""

    def choose(self, passive: Dynamics, eq: Equation) -> Choice:
        """The control at a state of the passive system."""
        raise NotImplementedError


class Dynamics(Record):
    """One model, ready to be evaluated: the functions with their parameters and the method
    that computes A⊕.

    Attributes:
        system, constraints: the model's.
        p: parameters, a pytree of arrays.
        pseudoinverse: method for A⊕.
        formulation: an `AbstractFormulation`, or None for the kernel.
        scales: `Scales` of the run, or None for the rows' lengths at each state.
        singular_mass: whether M may be singular; then M + AᵀDA takes its place, which changes
            nothing on `A v̇ = b`.
        law: an `AbstractControlLaw` whose actuators act on the system, or None.
        structure: whether A is an array, or where it has entries if they alone are kept.
        parts: for a placement, the motion without its last constraints, whose evaluation is or
            will be compiled anyway, and these constraints (`zwang.dynamics.evaluation.evaluate`).
        stepped: whether steps may be taken (`standing`).
    """

    system: System
    constraints: Constraints
    p: PyTree
    pseudoinverse: AbstractPseudoinverse
    formulation: EquationSolver | None = None
    scales: Scales | None = None
    singular_mass: bool = field(static=True, default=False)
    law: Actuation | None = None
    structure: AbstractStructure = DENSE
    parts: tuple[Dynamics, Constraints] | None = None
    stepped: bool = field(static=True, default=True)

    @property
    def passive(self) -> Dynamics:
        """The same without control."""
        return replace(self, law=None)

    @property
    def standing(self) -> Dynamics:
        """The same without control, for states only, never for steps: the model's functions are
        compiled without the linear algebra of a stage, in half the time.
        """
        return replace(self, law=None, stepped=False)

    def with_rows(self, on: ArrayLike | None, **changes: object) -> Dynamics:
        """The same with some rows switched on, and with other fields of the constraints."""
        return replace(self, constraints=replace(self.constraints, on=on, **changes))

    # --- residuals

    def position_residual(self, s: State) -> Float[Array, " holonomic"]:
        """`φ(q, t)`."""
        return functions.position_residual(self.constraints, s.q, s.t, self.p)

    def velocity_residual(self, s: State) -> Float[Array, " rows"]:
        """`ψ(q, v, t)`."""
        return functions.velocity_residual(self.constraints, s.q, s.v, s.t, self.p)

    def residuals(self, s: State) -> tuple[Float[Array, " holonomic"], Float[Array, " rows"]]:
        """φ and ψ."""
        return functions.residuals(self.constraints, s.q, s.v, s.t, self.p)

    def violation(self, phi: Float[Array, " holonomic"]) -> Float[Array, ""]:
        """Size of a position residual, dimensionless: ‖φ / row length‖ ·
        `Scales.inverse_length`.
        """
        return self.inverse_length * self.distance(phi)

    @property
    def inverse_length(self) -> Float[Array, ""]:
        """What makes a violation dimensionless (`Scales.inverse_length`)."""
        assert self.scales is not None
        return self.scales.inverse_length

    def uncertainty(self, phi: Float[Array, " holonomic"]) -> Float[Array, ""]:
        """Size of the false singular values of a state that is off its constraints by φ: ‖φ / row
        length‖ · curvature. Linear constraints have none.
        """
        assert self.scales is not None
        return self.scales.curvature * self.distance(phi)

    def distance(self, phi: Float[Array, " holonomic"]) -> Float[Array, ""]:
        """Size of a position residual in the mass metric, ‖φ / row length‖."""
        assert self.scales is not None
        # a row that is absent must stay at zero, too
        unit = typical_units(jnp, self.scales.row_length)
        scaled = unit[self.constraints.position_rows] * phi
        return jnp.sqrt(jnp.sum(scaled**2))

    def move(self, s: State, dq: Float[Array, " nv"]) -> Float[Array, " nq"]:
        """`q ⊕ dq`."""
        return self.system.move(s.q, dq, s.t, self.p)

    # --- matrices

    def matrix(self, s: State) -> Float[Array, "m nv"]:
        """A; a `SparseMatrix`, which multiplies alike, if the model's structure is known."""
        return self.linearized(s)[0]

    def linearized(self, s: State) -> tuple[Any, Float[Array, " holonomic"], Float[Array, " rows"]]:
        """A, φ and ψ."""
        return linearized(self.structure, self.constraints, s, self.p)

    def rhs(self, s: State) -> Float[Array, " m"]:
        """b."""
        return functions.rhs(self.constraints, s.q, s.v, s.t, self.p)

    def mass_as_given(self, s: State) -> AbstractMass:
        """M, factored, as the model's function gives it."""
        return factor_mass(functions.mass_matrix(self.system, s.q, s.t, self.p))

    def mass(self, s: State, A: Float[Array, "m nv"]) -> AbstractMass:
        """M, factored; M + AᵀDA if M may be singular."""
        mass = self.mass_as_given(s)
        # `equation` adds AᵀDb to F
        return DenseMass(augmented_mass(jnp, mass.dense(), A)) if self.singular_mass else mass

    def by_own_lengths(self, s: State) -> Dynamics:
        """The dynamics with rows divided by their lengths at a state in place of typical ones."""
        assert self.scales is not None
        A = self.matrix(s)
        length = self.mass(s, A).row_lengths(A)
        present = row_scale(jnp, length, self.scales.row_length) > 0
        own = dataclasses.replace(self.scales, row_length=jnp.where(present, length, 0.0))
        return dataclasses.replace(self, scales=own)

    def gauss(
        self,
        mass: AbstractMass,
        A: Matrix,
        rows: np.ndarray | None = None,
        violation=None,
    ) -> Gauss:
        """Gauss's problem with all rows, or with some; with a rank decision no finer than the
        violation of the state allows, if given.
        """
        # ε off its constraints a state has false singular values of size ε, which must not be
        # inverted
        method = self.pseudoinverse if violation is None else self.pseudoinverse.relaxed(violation)
        length = None if self.scales is None else self.scales.row_length
        if rows is not None and len(rows) < len(A):
            A, length = A[rows], None if length is None else length[rows]
        # as functions: the sparse operator knows its entries and never asks for the pattern
        whole = lambda: self.constraints.pattern
        pattern = whole if rows is None else lambda: self.constraints.pattern[rows]
        return self.structure.gauss(mass, A, method, length, pattern)

    def gauss_at(self, s: State, rows: np.ndarray | None = None) -> Gauss:
        """Gauss's problem at a state, with all rows or with some."""
        A = self.matrix(s)
        return self.gauss(self.mass(s, A), A, rows)

    def equation(
        self,
        s: State,
        gauss: Gauss,
        stabilization: Float[Array, " m"] | float = 0.0,
    ) -> Equation:
        """F and b at a state whose A⊕ is known, with `b + stabilization` in place of b (Baumgarte);
        with a control law, F contains the force of its actuators.
        """
        given, A = self.rhs(s), gauss.A
        b = given + stabilization
        force = applied = functions.force(self.system, s.q, s.v, s.t, self.p)
        if self.singular_mass:
            assert not isinstance(A, SparseMatrix)
            D = augmentation(jnp, self.mass_as_given(s).dense(), A)
            force = force + A.T @ (D * b)
        eq = Equation(s, gauss, b, force, given, applied)
        if self.law is None:
            return eq
        # the law is shown the passive system: its own force is none that it reacts to
        choice = self.law.choose(self.passive, eq)
        return dataclasses.replace(eq, force=force + choice.actuator_force, choice=choice)

    def applied_force(self, s: State) -> Float[Array, " nv"]:
        """F with the force of the actuators."""
        force = functions.force(self.system, s.q, s.v, s.t, self.p)
        if self.law is None:
            return force
        return force + self.law.choose(self.passive, self.passive.equation_at(s)).actuator_force

    def equation_at(self, s: State, stabilization: Float[Array, " m"] | float = 0.0) -> Equation:
        """`equation`, with A⊕ computed at the same state."""
        return self.equation(s, self.gauss_at(s), stabilization)

    # --- the equation of motion

    def acceleration(self, eq: Equation) -> Float[Array, " nv"]:
        """`v̇`."""
        nonideal = self.nonideal_force(eq)
        if self.formulation is not None:
            # formulations know of ideal constraints alone, so that c is applied along the tangent
            force = (
                eq.force
                if nonideal is None
                else eq.force + eq.mass.apply(eq.gauss.mobility(nonideal))
            )
            return self.formulation.acceleration(
                eq.mass.dense(), force, eq.gauss.A, eq.b, self.pseudoinverse
            )
        return constrained_acceleration(eq.free_acceleration, eq.gauss, eq.b, nonideal)

    def residual(self, eq: Equation, acceleration: Float[Array, " nv"]) -> Float[Array, ""]:
        """Largest entry of `A v̇ − b`, rows at unit length, relative to the accelerations in it: a
        = M⁻¹F, v̇, b, and what turning at the present speed takes.

        A cheap bound for every stage of a run; `zwang.algebra.judgement` judges what it finds
        suspicious.
        """
        if not self.constraints.m:
            return jnp.zeros(())
        gauss, mass, v = eq.gauss, eq.mass, eq.state.v
        unit = gauss.units()
        free = jnp.sqrt(jnp.abs(eq.free_acceleration @ eq.force))  # ‖a‖ in the mass metric
        size = mass.size(acceleration)
        turning = 0.0 if self.scales is None else self.scales.curvature * (v @ mass.apply(v))
        left = jnp.max(jnp.abs(unit * (gauss.A @ acceleration - eq.b)))
        terms = free + size + jnp.max(jnp.abs(unit * eq.b)) + turning
        # at rest without forces both are zero, which is no residual
        return jnp.where(left > 0, left / jnp.where(terms > 0, terms, left), 0.0)

    @property
    def rough(self) -> bool:
        """Whether a constraint is nonideal, or may slide."""
        return any(
            c.nonideal is not None or c.level.cone is Cone.RUBS for c in self.constraints.members
        )

    def nonideal_force(self, eq: Equation) -> Float[Array, " nv"] | None:
        """c, the sum of the constraints' impressed forces [N, N·m …], or None if all are ideal; NaN
        where friction leaves no or two constraint forces.
        """
        if not self.rough:
            return None
        reaction = self.reaction(eq, eq.multipliers)
        force = self._impressed(eq, reaction.multipliers)
        return jnp.where(reaction.unique, force, jnp.nan)

    def reaction(self, eq: Equation, ideal: Float[Array, " m"]) -> Reaction:
        """λ that acts beside the nonideal forces, which may depend on it; `ideal` are the
        multipliers without them.
        """
        gauss, slices = eq.gauss, self.constraints.row_slices
        parts = [
            slices[part]
            for c in self.constraints.members
            if c.nonideal is not None
            for part in c.parts
        ]
        loaded = [x.loaded for x in self.constraints.frictions if x.loaded is not None]
        parts += [x for k, x in enumerate(loaded) if x not in [*parts, *loaded[:k]]]

        def reaction(c):
            return ideal - gauss.multipliers(gauss.A @ eq.mass.solve(c))

        def gains(rows):
            # A⊕ = M⁻¹Aᵀ(A M⁻¹Aᵀ)⁺
            return over_rows(gauss.correct_any)(jnp.eye(len(ideal))[rows])

        # once, and not at each step of the iteration and for each of its derivatives
        pulls = self.constraints.sliding_pulls(eq.state.q, eq.state.v, eq.state.t, self.p)
        impressed = lambda x: self._impressed(eq, x, pulls)
        return acting_reaction(ideal, gains, reaction, impressed, parts)

    def _impressed(self, eq: Equation, multipliers, pulls=None) -> Float[Array, " nv"]:
        forces = self.nonideal_forces(eq, multipliers, pulls)
        return sum(forces.values(), jnp.zeros_like(eq.force))

    def nonideal_forces(
        self, eq: Equation, multipliers: Float[Array, " m"], pulls: dict[str, Array] | None = None
    ) -> dict[str, Float[Array, " nv"]]:
        """c of each part of the nonideal constraints, which may depend on the forces `Aᵢᵀ λᵢ` of
        the parts of the same constraint; `pulls` are `Constraints.sliding_pulls`, if known.
        """
        s, constraints, forces = eq.state, self.constraints, {}
        rows, on = constraints.row_slices, constraints.on
        for c in constraints.members:
            if c.nonideal is not None:
                impressed = c.impressed(
                    s.q, s.v, s.t, self.p, constraints.ideal_forces(c, eq.gauss.A, multipliers)
                )
                forces |= dict(zip(c.parts, impressed, strict=True))
        # a constraint that is switched off exerts no friction either
        if on is not None:
            forces = {
                part: jnp.where(jnp.any(on[rows[part]]), c, 0.0) for part, c in forces.items()
            }
        return forces | self.sliding_forces(s, multipliers, pulls)

    def sliding_forces(
        self, s: State, multipliers: Float[Array, " m"], pulls: dict[str, Array] | None = None
    ) -> dict[str, Float[Array, " nv"]]:
        """Force of each dry friction that slides or gives all it may, by name."""
        if pulls is None:
            pulls = self.constraints.sliding_pulls(s.q, s.v, s.t, self.p)
        loads = {x.law.name: x.load(self.p, multipliers) for x in self.constraints.frictions}
        return {name: loads[name] * pull for name, pull in pulls.items()}

    def missed(self, s: State) -> Float[Array, ""]:
        """Relative part of `A w` that lies outside the known structure, along a random w; 0 if A is
        dense.
        """
        return self.structure.missed(self.constraints, s, self.p)


def centripetal_terms(
    gauss: Gauss, v: Float[Array, " nv"], scales: Scales | None
) -> Float[Array, " m"] | float:
    """Size of the terms inside b of each row, `length · curvature · speed²`, shape (m,); 0 where no
    curvature was measured.
    """
    if scales is None:
        return 0.0
    return scales.row_length * scales.curvature * (v @ gauss.mass.apply(v))
