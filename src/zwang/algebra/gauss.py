"""Gauss's problem: the weighted pseudoinverse A⊕ and the equations that use it.

With M = L Lᵀ, W = L⁻ᵀ and C = A W, the weighted pseudoinverse is

    A⊕ = W C⁺

It maps a residual to the change of acceleration that removes it and is smallest in the mass metric.
The equations of motion are then:


    v̇    = a + A⊕ (b − A a),  a = M⁻¹F    constrained acceleration
    Q_c  = M A⊕ (b − A a) = Aᵀλ           ideal constraint force
    Q_n  = M (I − A⊕A) M⁻¹ c              nonideal part
    v   ← v − A⊕ ψ,   q ← q ⊖ A⊕ φ        velocity and position projection

Rows are divided by a length before C⁺ is computed, so that the decision which numbers are small
does not depend on units or row factors. A row that is round-off (`zwang.algebra.judgement.ABSENT`)
is omitted.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from zwang.algebra import judgement
from zwang.algebra.cholesky import SMALL
from zwang.algebra.elimination.elimination import Plan
from zwang.algebra.elimination.matrix import SparseMatrix
from zwang.algebra.elimination.pseudoinverse import SparsePseudoinverse
from zwang.algebra.judgement import (
    relative_error,
    relative_residual,
    round_off_force,
    units_of,
)
from zwang.algebra.lapack import singular_values
from zwang.algebra.mass_matrix import AbstractMass, DiagonalMass, Matrix, row_lengths
from zwang.algebra.pseudoinverse import AbstractPseudoinverse, Proximal, Pseudoinverse
from zwang.algebra.pseudoinverse.certificate import (
    SOLVED_ROUND_OFF,
    Certified,
    image,
    term_sizes,
)
from zwang.compile.hints import traced_once
from zwang.objects.record import Record


class Gauss(Record):
    """Gauss's problem at one state, `min ½ ‖v̇ − a‖²_M` subject to `A v̇ = b`. The mass matrix and
    the rows of A are factored once and used for many right-hand sides.

    Args:
        mass: factored mass matrix.
        A: constraint matrix, shape (m, nv), an array or a `SparseMatrix`; rows may be dependent.
        method: method for `C⁺`; a `SparseMatrix` needs `Proximal`, whose sweeps it uses.
        row_length: typical length of each row [unit of the row / √(kg m²) …], shape (m,). A run
            passes it, so that a vanishing row is not magnified; by default rows are divided by
            their present length in the metric of M⁻¹.
        plan: order of elimination of the rows of a `SparseMatrix`.

    Attributes:
        scale: factor that gives each row unit length, shape (m,), 0 for an absent row.
        C: pseudoinverse of `rows`.
    """

    mass: AbstractMass
    A: Matrix
    scale: Float[Array, " m"]
    C: Pseudoinverse | SparsePseudoinverse

    def __init__(
        self,
        mass: AbstractMass,
        A: Matrix,
        method: AbstractPseudoinverse,
        row_length: Float[Array, " m"] | None = None,
        plan: Plan | None = None,
    ):
        self.mass, self.A = mass, A
        C = mass.weigh(A)
        self.scale = scale_of(row_length, row_lengths(C))
        if isinstance(C, SparseMatrix):
            assert plan is not None and isinstance(method, Proximal)
            self.C = SparsePseudoinverse(plan, method, C.scaled(self.scale))
        else:
            self.C = Pseudoinverse(method, self.scale[:, None] * C)

    @property
    def rows(self) -> Matrix:
        """`scale A W`: rows of unit length in the metric of M⁻¹; absent rows are zero."""
        return self.C.C

    def correct(self, r: Float[Array, " m"]) -> Float[Array, " nv"]:
        """Return `A⊕ r`, the change x of acceleration (velocity, position) with `A x = r` that is
        smallest in the mass metric.
        """
        return _corrected(self, r)

    def correct_any(self, r: Float[Array, " m"]) -> Float[Array, " nv"]:
        """Return `A⊕ r` for any r, including r outside the range of A, such as a unit vector if
        rows are dependent.
        """
        return self.mass.unweigh(self.C.solve_any(self.scale * r))

    def columns(self, R: Float[Array, "m k"]) -> Float[Array, "k nv"]:
        """Apply `A⊕` to each column of R."""
        return jax.vmap(self.correct, in_axes=1)(R)

    def estimate(self, r: Float[Array, " m"]) -> Float[Array, " nv"]:
        """Return an estimate of `A⊕ r` that `refine` corrects."""
        if len(r) <= SMALL and isinstance(self.C, Pseudoinverse):
            return self.correct(r)
        return self.mass.unweigh(self.C.estimate(self.scale * r))

    def refine(
        self, r: Float[Array, " m"], x: Float[Array, " nv"], estimated: bool = False
    ) -> Float[Array, " nv"]:
        """Return `A⊕ r` for the residual r of x, to an accuracy of the round-off of x.

        Args:
            estimated: whether r is the residual of an `estimate`, which needs more sweeps.
        """
        if len(r) <= SMALL and isinstance(self.C, Pseudoinverse):
            return self.correct(r)
        # the size of x in the mass metric, in which the residual of rows at unit length is measured
        return self.mass.unweigh(self.C.refine(self.scale * r, self.mass.size(x), estimated))

    def certified(self, r: Float[Array, " m"], terms: Float[Array, " m"]) -> Certified:
        """Return `A⊕ r` and the multipliers of least norm, solved to the round-off of the `terms`
        of r, with the quality that was reached; for states on their constraints.
        """
        found = self.C.certified(self.scale * r, self.scale * terms)
        return Certified(
            self.mass.unweigh(found.solution),
            self.scale * found.multipliers,
            found.quality,
            found.iterations,
        )

    def least_singular_value(self) -> Float[Array, ""]:
        """Return the smallest singular value of the rows at unit length, apart from those of
        redundant rows (`zwang.algebra.pseudoinverse.certificate.least_singular_value`).
        """
        return self.C.least_singular_value()

    def singular_values(self) -> Float[Array, " k"]:
        """Return the singular values of the rows at unit length, the largest first; zeros if an
        entry is not finite.
        """
        # LAPACK may not return if an entry is not finite
        rows = self.rows
        assert not isinstance(rows, SparseMatrix)
        return singular_values(jnp.where(jnp.all(jnp.isfinite(rows)), rows, 0.0))

    def units(self) -> Float[Array, " m"]:
        """Return the factors that make all rows comparable, including absent rows
        (`zwang.algebra.judgement.row_units`).
        """
        return units_of(jnp, self.scale)

    def tangent(self, w: Float[Array, " nv"]) -> Float[Array, " nv"]:
        """Return `(I − A⊕A) w`, the component of w that the constraints allow."""
        return w - self.correct(self.A @ w)

    def mobility(self, f: Float[Array, " nv"]) -> Float[Array, " nv"]:
        """Return `(I − A⊕A) M⁻¹ f`, the acceleration that the force f causes on the constraints."""
        return self.tangent(self.mass.solve(f))

    def multipliers(self, r: Float[Array, " m"]) -> Float[Array, " m"]:
        """Return λ with `M A⊕ r = Aᵀ λ`, of least norm for rows of unit length, and therefore
        independent of units.
        """
        return self.scale * self.C.multipliers(self.scale * r)

    def log_det(self) -> Float[Array, ""]:
        """Return `log det (C Cᵀ + μ I)` of the scaled rows, which is smooth and about 23 lower for
        every rank that is lost.
        """
        return self.C.log_det()

    def rank(self) -> Int[Array, ""]:
        """Return the rank of A by the threshold of the method, with rows of unit length."""
        return self.C.rank()


@traced_once
def _corrected(gauss: Gauss, r: Float[Array, " m"]) -> Float[Array, " nv"]:
    return gauss.mass.unweigh(gauss.C.solve(gauss.scale * r))


def scale_of(typical: Float[Array, " m"] | None, present: Float[Array, " m"]) -> Float[Array, " m"]:
    """Return the factor of each row; the choice of a typical length is not differentiated."""
    if typical is None:
        return judgement.row_scale(jnp, present)
    return judgement.held_scale(jnp, typical, jax.lax.stop_gradient(present))


def constrained_acceleration(
    free: Float[Array, " nv"], gauss: Gauss, b: Float[Array, " m"], nonideal=None
):
    """Return `v̇ = a + A⊕ (b − A a)`, plus `(I − A⊕A) M⁻¹ c` with a nonideal force c.

    Args:
        free: free acceleration a = M⁻¹F [unit of v per s], shape (nv,).
        gauss: the rows of A.
        b: right-hand side of `A v̇ = b`, shape (m,).
        nonideal: c [N, N·m …], shape (nv,), or None.

    For many rows the residual is corrected twice: the smallest singular values decrease with the
    number of rows, a may be a million times as large as v̇, and the first correction leaves the
    round-off of a (a lift of 100 stages: an error of 8e-7 of v̇ with one correction, 3e-14 with
    two).

    Reference: Udwadia and Kalaba (1992), Proc. R. Soc. Lond. A 439, 407-410; nonideal part: servo
        paper, eq. (12).
    """
    if len(b) <= SMALL:
        acceleration = free + gauss.correct(b - gauss.A @ free)
    else:
        acceleration = free + gauss.estimate(b - gauss.A @ free)
        left = b - gauss.A @ acceleration
        acceleration = acceleration + gauss.refine(left, acceleration, estimated=True)
    return acceleration if nonideal is None else acceleration + gauss.mobility(nonideal)


class CertifiedAcceleration(Record):
    """Acceleration `v̇ = a + A⊕ (b − A a)` with its certificate.

    Attributes:
        acceleration: v̇, shape (nv,).
        multipliers: λ, shape (m,), of least norm for rows of unit length.
        residual: largest entry of `|A v̇ − b|` relative to its terms (`zwang.algebra.judgement`).
        accuracy: estimate of the relative error of v̇, the larger of two numbers. The first is the
            remaining residual, or its round-off, divided by the smallest singular value, in the
            mass metric. The second is the acceleration that the round-off of `M v̇ = F + Aᵀλ`
            causes, in the metric of M's diagonal.
    """

    acceleration: Float[Array, " nv"]
    multipliers: Float[Array, " m"]
    residual: Float[Array, ""]
    accuracy: Float[Array, ""]


def certified_acceleration(
    force: Float[Array, " nv"],
    gauss: Gauss,
    b: Float[Array, " m"],
    centripetal: Float[Array, " m"] | float,
) -> CertifiedAcceleration:
    """Compute the acceleration of a state on its constraints to round-off.

    The residual is corrected twice, because a may be a million times as large as v̇, and the first
    correction leaves the round-off of a.

    Args:
        force: F, shape (nv,).
        gauss: the rows of A.
        b: right-hand side, shape (m,).
        centripetal: size of the terms of which b is the sum, shape (m,), if known.
    """
    A, terms, free = gauss.A, jnp.abs(b) + centripetal, gauss.mass.solve(force)

    def corrected(found: tuple) -> tuple:
        acceleration, multipliers = found
        size = terms + term_sizes(A, acceleration)
        more = gauss.certified(b - image(A, acceleration), size)
        return acceleration + more.solution, multipliers + more.multipliers

    # a loop, because the code for two corrections would be twice as long
    again = lambda _, found: corrected(found)
    acceleration, multipliers = jax.lax.fori_loop(0, 2, again, (free, jnp.zeros_like(terms)))
    # an absent row is the round-off of others: an acceleration along it is no residual
    met, size = image(A, acceleration), term_sizes(A, acceleration)
    left = jnp.where((gauss.scale > 0) | ~jnp.isfinite(met), met, 0.0) - b
    unit = gauss.units()
    residual = relative_residual(jnp, left, terms + term_sizes(A, free) + size, unit)
    noise = SOLVED_ROUND_OFF * unit * (terms + size)
    error = jnp.linalg.norm(jnp.maximum(jnp.abs(unit * left), noise))
    sigma = gauss.least_singular_value()
    reach = jnp.where(sigma > 0, error / jnp.where(sigma > 0, sigma, 1.0), 0.0)
    sizes = gauss.mass.size(acceleration), gauss.mass.size(free)
    accuracy = relative_error(jnp, reach, *sizes)
    # the estimate is not differentiated: a norm has no derivative at zero
    by_mass = jax.lax.stop_gradient(mass_error(force, gauss, free, acceleration, multipliers))
    return CertifiedAcceleration(
        acceleration, multipliers, residual, jnp.maximum(accuracy, by_mass)
    )


def mass_error(force, gauss: Gauss, free, acceleration, multipliers) -> Float[Array, ""] | float:
    """Estimate the relative error of v̇ along the tangent that the condition of M causes, in the
    metric of M's diagonal; zero for a diagonal M, by whose entries forces are divided one by one.
    """
    mass, A = gauss.mass, gauss.A
    if isinstance(mass, DiagonalMass):
        return 0.0
    left = force - mass.apply(acceleration) + A.T @ multipliers
    terms = jnp.abs(force) + mass.magnitude(acceleration) + abs(A).T @ jnp.abs(multipliers)
    apart = gauss.mobility(round_off_force(left, terms))
    root = jnp.sqrt(jnp.abs(mass.diag()))
    size = lambda w: jnp.linalg.norm(root * w)
    return relative_error(jnp, size(apart), size(acceleration), size(free))
