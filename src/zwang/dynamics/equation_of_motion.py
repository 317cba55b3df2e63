"""Equation of motion of one model at any state: v̇ from M, F, A and b by `algebra/gauss.py`."""

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
    """Scales of one model that make the meaning of "small" independent of units; measured once at
    the start of a run (`zwang.dynamics.scales.measure`).

    Attributes:
        row_length: typical length of each row in the metric of M⁻¹, shape (m,); 0 for a row that is
            only round-off.
        curvature: typical curvature of the constraints, 1/length in the mass metric [1/(m √kg) …];
            0 if all of them are linear. A state that is off its constraints by φ has spurious
            singular values of the size `φ / row_length · curvature`.
        inverse_length: factor that makes a violation dimensionless [1/(m √kg) …]: the curvature,
            which converts it to an angle, or 1/(extent of the motion) for linear constraints.
    """

    row_length: Float[Array, " m"]
    curvature: Float[Array, ""]
    inverse_length: Float[Array, ""]


class Equation(Record):
    """Operands of the equation of motion at one state.

    Attributes:
        state: the state.
        gauss: factored mass and rows of A.
        b: right-hand side of `A v̇ = b` including stabilization, shape (m,).
        force: F [N, N·m …], shape (nv,), including the force of actuators and, for a singular mass,
            `AᵀDb`.
        given_b, given_force: b and F as the functions of the model return them.
        choice: the choice of a control law at the state, or None without a law.
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
        """λ of ideal constraints, of least norm for rows of unit length."""
        return self.gauss.multipliers(self.b - self.gauss.A @ self.free_acceleration)


class EquationSolver(Protocol):
    """Protocol of an `AbstractFormulation`, which is in a higher layer."""

    @property
    def singular_mass(self) -> bool:
        """True if M may be singular."""
        raise NotImplementedError

    def acceleration(self, M, F, A, b, pseudoinverse) -> Float[Array, " nv"]:
        """v̇."""
        raise NotImplementedError


class Choice(Protocol):
    """Choice of a control law at a state, a pytree."""

    @property
    def u(self) -> Float[Array, " nu"]:
        """The control."""
        raise NotImplementedError

    @property
    def actuator_force(self) -> Float[Array, " nv"]:
        """`B u`."""
        raise NotImplementedError


class Actuation(Protocol):
    """Protocol of an `AbstractControlLaw`, which is in a higher layer."""

    def choose(self, passive: Dynamics, eq: Equation) -> Choice:
        """Return the control at a state of the passive system."""
        raise NotImplementedError


class Dynamics(Record):
    """Functions of one model with their parameters and the method that computes A⊕.

    Attributes:
        system, constraints: those of the model.
        p: parameters, a pytree of arrays.
        pseudoinverse: method for A⊕.
        formulation: an `AbstractFormulation`, or None for `zwang.algebra.gauss`.
        scales: `Scales` of the run, or None to use the lengths of the rows at each state.
        singular_mass: whether M may be singular; then M + AᵀDA replaces M, which does not change
            the motion with `A v̇ = b`.
        law: an `AbstractControlLaw` whose actuators act on the system, or None.
        structure: dense for an array A, otherwise the positions of the entries of a sparse A.
        parts: for a placement, the dynamics without the last constraints, whose evaluation is
            compiled in any case, and these constraints (`zwang.dynamics.evaluation.evaluate`).
        stepped: whether steps are computed; False in `standing`.
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
        """The dynamics without control."""
        return replace(self, law=None)

    @property
    def standing(self) -> Dynamics:
        """The dynamics without control, for the evaluation of states and not for steps: the
        functions of the model are compiled without the linear algebra of a stage, in half the time.
        """
        return replace(self, law=None, stepped=False)

    def with_rows(self, on: ArrayLike | None, **changes: object) -> Dynamics:
        """Return the dynamics with some rows switched on and other fields of the constraints
        changed.
        """
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
        """Return the dimensionless size of φ, ‖φ / row length‖ · `Scales.inverse_length`."""
        return self.inverse_length * self.distance(phi)

    @property
    def inverse_length(self) -> Float[Array, ""]:
        """Factor that makes a violation dimensionless (`Scales.inverse_length`)."""
        assert self.scales is not None
        return self.scales.inverse_length

    def uncertainty(self, phi: Float[Array, " holonomic"]) -> Float[Array, ""]:
        """Return the size of the spurious singular values caused by φ, ‖φ / row length‖ ·
        curvature.
        """
        assert self.scales is not None
        return self.scales.curvature * self.distance(phi)

    def distance(self, phi: Float[Array, " holonomic"]) -> Float[Array, ""]:
        """Return the size of a position residual in the mass metric, ‖φ / row length‖."""
        assert self.scales is not None
        # the residual of an absent row must stay at zero as well
        unit = typical_units(jnp, self.scales.row_length)
        scaled = unit[self.constraints.position_rows] * phi
        return jnp.sqrt(jnp.sum(scaled**2))

    def move(self, s: State, dq: Float[Array, " nv"]) -> Float[Array, " nq"]:
        """`q ⊕ dq`."""
        return self.system.move(s.q, dq, s.t, self.p)

    # --- matrices

    def matrix(self, s: State) -> Float[Array, "m nv"]:
        """Return A, as an array or as a `SparseMatrix` with the same products."""
        return self.linearized(s)[0]

    def linearized(self, s: State) -> tuple[Any, Float[Array, " holonomic"], Float[Array, " rows"]]:
        """A, φ and ψ."""
        return linearized(self.structure, self.constraints, s, self.p)

    def rhs(self, s: State) -> Float[Array, " m"]:
        """b."""
        return functions.rhs(self.constraints, s.q, s.v, s.t, self.p)

    def mass_as_given(self, s: State) -> AbstractMass:
        """Return the factored M of the function of the model."""
        return factor_mass(functions.mass_matrix(self.system, s.q, s.t, self.p))

    def mass(self, s: State, A: Float[Array, "m nv"]) -> AbstractMass:
        """Return the factored M, or M + AᵀDA if M may be singular."""
        mass = self.mass_as_given(s)
        # `equation` adds AᵀDb to F
        return DenseMass(augmented_mass(jnp, mass.dense(), A)) if self.singular_mass else mass

    def by_own_lengths(self, s: State) -> Dynamics:
        """Return the dynamics with rows divided by their lengths at a state instead of typical
        lengths.
        """
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
        """Return Gauss's problem with all rows or with some. If the violation of the state is
        given, the threshold of a rank decision is not smaller than it.
        """
        # off its constraints by ε a state has spurious singular values of size ε, which must not
        # be inverted
        method = self.pseudoinverse if violation is None else self.pseudoinverse.relaxed(violation)
        length = None if self.scales is None else self.scales.row_length
        if rows is not None and len(rows) < len(A):
            A, length = A[rows], None if length is None else length[rows]
        # functions, because the sparse operator has its entries and never needs the pattern
        whole = lambda: self.constraints.pattern
        pattern = whole if rows is None else lambda: self.constraints.pattern[rows]
        return self.structure.gauss(mass, A, method, length, pattern)

    def gauss_at(self, s: State) -> Gauss:
        """Return Gauss's problem at a state, with all rows."""
        A = self.matrix(s)
        return self.gauss(self.mass(s, A), A)

    def equation(
        self,
        s: State,
        gauss: Gauss,
        stabilization: Float[Array, " m"] | float = 0.0,
    ) -> Equation:
        """Return F and b at a state whose A⊕ is known, with `b + stabilization` in place of b
        (Baumgarte). With a control law, F includes the force of its actuators.
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
        # the law receives the passive system, because it must not react to its own force
        choice = self.law.choose(self.passive, eq)
        return dataclasses.replace(eq, force=force + choice.actuator_force, choice=choice)

    def applied_force(self, s: State) -> Float[Array, " nv"]:
        """Return F including the force of the actuators."""
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
            # formulations treat ideal constraints only, so c is applied along the tangent
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
        """Return the largest entry of `A v̇ − b` for rows at unit length, relative to the
        accelerations in it: a = M⁻¹F, v̇, b, and the centripetal acceleration at the present speed.

        It is a cheap bound for every stage of a run; `zwang.algebra.judgement` examines suspicious
        values.
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
        # at rest without forces both are zero, and the residual is zero
        return jnp.where(left > 0, left / jnp.where(terms > 0, terms, left), 0.0)

    @property
    def rough(self) -> bool:
        """True if a constraint is nonideal or may slide."""
        return any(
            c.nonideal is not None or c.level.cone is Cone.RUBS for c in self.constraints.members
        )

    def nonideal_force(self, eq: Equation) -> Float[Array, " nv"] | None:
        """Return c, the sum of the impressed forces of the constraints [N, N·m …], or None if all
        are ideal. It is NaN if the constraint forces with friction do not exist or are not unique.
        """
        if not self.rough:
            return None
        pulls = self.pulls(eq.state)
        reaction = self.reaction(eq, eq.multipliers, pulls)
        force = self._impressed(eq, reaction.multipliers, pulls)
        return jnp.where(reaction.unique, force, jnp.nan)

    def reaction(self, eq: Equation, ideal: Float[Array, " m"], pulls=None) -> Reaction:
        """Return λ in the presence of the nonideal forces, which may depend on λ; `ideal` are the
        multipliers without these forces, and `pulls` those of the frictions, if they are known.
        """
        gauss, slices = eq.gauss, self.constraints.row_slices
        rough = [c for c in self.constraints.members if c.nonideal is not None]
        parts = [slices[part] for c in rough for part in c.parts]
        loaded = [x.loaded for x in self.constraints.frictions if x.loaded is not None]
        parts += [x for k, x in enumerate(loaded) if x not in [*parts, *loaded[:k]]]

        def reaction(c):
            return ideal - gauss.multipliers(gauss.A @ eq.mass.solve(c))

        def gains(rows):
            # A⊕ = M⁻¹Aᵀ(A M⁻¹Aᵀ)⁺, each column from a unit residual that is not a stored row
            unit = lambda row: jnp.asarray(jnp.arange(len(ideal)) == row, ideal.dtype)
            return over_rows(lambda row: gauss.correct_any(unit(row)))(jnp.asarray(rows))

        # computed once, and not at each step of the iteration and for each of its derivatives
        given = self.pulls(eq.state) if pulls is None else pulls
        impressed = lambda x: self._impressed(eq, x, given)
        return acting_reaction(ideal, gains, reaction, impressed, parts)

    def _impressed(self, eq: Equation, multipliers, pulls) -> Float[Array, " nv"]:
        found = sum(self._of_parts(eq, multipliers).values(), jnp.zeros_like(eq.force))
        loads = self.constraints.friction_loads
        return found + loads(self.p, multipliers) @ pulls if len(pulls) else found

    def nonideal_forces(self, eq: Equation, multipliers) -> dict[str, Float[Array, " nv"]]:
        """Return c of each part of the nonideal constraints, which may depend on the forces
        `Aᵢᵀ λᵢ` of the parts of the same constraint, and that of each friction that slides.
        """
        return self._of_parts(eq, multipliers) | self.sliding_forces(eq.state, multipliers)

    def _of_parts(self, eq: Equation, multipliers) -> dict[str, Float[Array, " nv"]]:
        """Return c of each part of the nonideal constraints."""
        s, constraints, forces = eq.state, self.constraints, {}
        rows, on = constraints.row_slices, constraints.on
        for c in constraints.members:
            if c.nonideal is not None:
                impressed = c.impressed(
                    s.q, s.v, s.t, self.p, constraints.ideal_forces(c, eq.gauss.A, multipliers)
                )
                forces |= dict(zip(c.parts, impressed, strict=True))
        # a constraint that is switched off exerts no friction either
        if on is None:
            return forces
        return {part: jnp.where(jnp.any(on[rows[part]]), c, 0.0) for part, c in forces.items()}

    def pulls(self, s: State) -> Float[Array, "frictions nv"]:
        """Return the force per unit of load of each dry friction that slides."""
        return self.constraints.sliding_pulls(s.q, s.v, s.t, self.p)

    def sliding_forces(self, s: State, multipliers) -> dict[str, Float[Array, " nv"]]:
        """Return the force of each dry friction that slides or is at its limit, by name."""
        if not len(pulls := self.pulls(s)):
            return {}
        forces = self.constraints.friction_loads(self.p, multipliers)[:, None] * pulls
        names = [x.law.name for x in self.constraints.frictions]
        return dict(zip(names, forces, strict=True))

    def missed(self, s: State) -> Float[Array, ""]:
        """Return the relative part of `A w` outside the known structure, for a random w."""
        return self.structure.missed(self.constraints, s, self.p)


def centripetal_terms(
    gauss: Gauss, v: Float[Array, " nv"], scales: Scales | None
) -> Float[Array, " m"] | float:
    """Return the size of the terms of which b is the sum in each row,
    `length · curvature · speed²`, shape (m,); 0 if no curvature was measured.
    """
    if scales is None:
        return 0.0
    return scales.row_length * scales.curvature * (v @ gauss.mass.apply(v))
