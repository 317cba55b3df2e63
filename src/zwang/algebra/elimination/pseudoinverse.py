"""C⁺ of a sparse matrix by proximal sweeps on one sparse factor.

The equations are those of `Proximal`; nothing is larger than the entries and their factor. With
`Q = C Cᵀ` and `λ = Q⁺ r`, the derivative is that of the linear system,

    dλ = Q⁺ (dr − dQ λ),

with Q⁺ between two projections onto the range of Q: if rows are dependent, the two terms of the
right-hand side need not be in this range individually; only their sum over all changes by a
parameter is.
"""

from __future__ import annotations

import dataclasses
from typing import Any, cast

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from zwang.algebra.elimination.elimination import Plan
from zwang.algebra.elimination.factor import Factor, factor
from zwang.algebra.elimination.gather import scattered, taken
from zwang.algebra.elimination.matrix import SparseMatrix
from zwang.algebra.pseudoinverse.certificate import (
    Certified,
    certified_gradients,
    least_singular_value,
)
from zwang.algebra.pseudoinverse.proximal import LEAST_ROW, Proximal
from zwang.compile.derivative import CustomDerivative
from zwang.objects.record import Record, field, replace
from zwang.thresholds import FACTOR_ROUND_OFF, LAST_DIGIT, ROUND_OFF

MOST_SWEEPS = 12
"""Maximum number of sweeps of the second correction, which end by their residual: a long lift,
whose smallest singular value is 2e-5 at 300 stages, takes eight; three sweeps left an error of 1e-4
in its acceleration.
"""
PIVOT = 1e-9
"""Pivots above this count in the rank: a row is independent if its distance from those eliminated
before it exceeds the square root of this, 3e-5 of its length.
"""


class SparsePseudoinverse(Record):
    """C⁺ of one sparse matrix, factored once and applied to many right-hand sides, as
    `Pseudoinverse` is of an array.

    Args:
        plan: plan of the summation and elimination of `C Cᵀ`.
        method: damping and number of sweeps.
        C: rows of about unit length.
    """

    C: SparseMatrix
    sweeps: _Sweeps

    def __init__(self, plan: Plan, method: Proximal, C: SparseMatrix):
        self.C, self.sweeps = C, _Sweeps.of(plan, jax.lax.stop_gradient(C), method)

    def solve(self, r: Float[Array, " m"]) -> Float[Array, " nv"]:
        """`C⁺ r`."""
        return _solve(self.sweeps, self.C, r)[1]

    def solve_any(self, r: Float[Array, " m"]) -> Float[Array, " nv"]:
        """`C⁺ r` for r in the range of C or not."""
        return self.solve(_project(self.sweeps, self.C, r))

    def estimate(self, r: Float[Array, " m"]) -> Float[Array, " nv"]:
        """`C⁺ r` by one sweep."""
        return _solve(dataclasses.replace(self.sweeps, count=1), self.C, r)[1]

    def refine(self, r, size: Float[Array, ""], estimated: bool = False) -> Float[Array, " nv"]:
        """`C⁺ r` by sweeps until the residual is `ROUND_OFF` of a size."""
        # largest residual of rows at unit length after the sweeps, relative to the length of the
        # velocity or acceleration that they correct: its round-off in a few tens of rows
        sweeps = dataclasses.replace(self.sweeps, count=MOST_SWEEPS, enough=ROUND_OFF * size)
        return _solve(sweeps, self.C, r)[1]

    def multipliers(self, r: Float[Array, " m"]) -> Float[Array, " m"]:
        """λ of least norm with `Cᵀ λ = C⁺ r`."""
        return _project(self.sweeps, self.C, _solve(self.sweeps, self.C, r)[0])

    def certified(self, r: Float[Array, " m"], terms: Float[Array, " m"]) -> Certified:
        """`C⁺ r` and multipliers, solved to the round-off of r's `terms`, with their quality."""
        found = _certified(self.sweeps, self.C, r, terms)
        multipliers = _project(self.sweeps, self.C, found.multipliers)
        return replace(found, multipliers=multipliers)

    def least_singular_value(self) -> Float[Array, ""]:
        """Smallest singular value of C that is not a redundancy."""
        return least_singular_value(jax.lax.stop_gradient(self.C), self.sweeps.precondition)

    def rank(self) -> Int[Array, ""]:
        """Rank of C by the pivots of a factor of its own (`PIVOT`)."""
        # μ of the factor whose pivots decide the rank, rows at unit length: a row that depends on k
        # others has the pivot (k + 1) μ at most
        pivots = factor(
            self.sweeps.plan, self.sweeps.C.data, jnp.asarray(FACTOR_ROUND_OFF)
        ).pivots()
        # rows that are not selected have no pivot, padding has 1
        return self.C.layout.shape[0] - jnp.sum(~(pivots > PIVOT))

    def log_det(self) -> Float[Array, ""]:
        """Return `log det (C Cᵀ + μ I)`, which has a minimum where the rank drops."""
        return jnp.sum(jnp.log(self.sweeps.factor.pivots()))


class _Sweeps(Record):
    """Proximal sweeps for `C Cᵀ λ = r` on one factor of `C Cᵀ + μ I`, as in `Proximal`; rows in the
    order of elimination.

    There are at most `count` sweeps. They end when the residual is at most `enough`, or at most
    `LAST_DIGIT` of r.
    """

    C: SparseMatrix
    plan: Plan
    factor: Factor
    mu: Float[Array, ""]
    rows: Int[Array, " some"] | None
    count: int = field(static=True)
    enough: Float[Array, ""] | float = 0.0

    @classmethod
    def of(cls, plan: Plan, C: SparseMatrix, method: Proximal) -> _Sweeps:
        # scattered, and therefore computed once: if C were rounded differently in its factor and in
        # its products, dependent rows would become independent
        data = C.data if C.rows is None else C.data * C.everywhere(jnp.ones(len(C.rows)))
        ordered = SparseMatrix(plan.elimination.ordered(data), plan.layout)
        mu = method.damping * jnp.max(ordered.row_lengths() ** 2, initial=LEAST_ROW)
        return cls(ordered, plan, factor(plan, ordered.data, mu), mu, C.rows, method.sweeps)

    def solve(self, r: Float[Array, " m"]) -> tuple[Float[Array, " m"], Float[Array, " nv"]]:
        """Return λ and `y = Cᵀλ` by `λ ← λ + (C Cᵀ + μ I)⁻¹ (r − C y)`. The loop carries y, because
        otherwise each of its uses would compute it again.
        """
        r = self._ordered(r)
        # sweeps end when the residual is the round-off of r. Away from singular configurations this
        # takes two sweeps (40 four-bar loops: 2.5e-10 after one, 2.5e-16 after two)
        small = jnp.maximum(LAST_DIGIT**2 * jnp.sum(r**2), self.enough**2)

        def sweep(carry):
            x, _, missing, k = carry
            x = x + self.factor.solve(missing)
            y = self.C.T @ x
            return x, y, r - self.C @ y, k + 1

        def unfinished(carry):
            missing, k = carry[2:]
            # NaN continues until `count` and appears in the result
            return (k == 0) | ((k < self.count) & ~(jnp.sum(missing**2) <= small))

        start = (jnp.zeros_like(r), jnp.zeros(self.C.shape[1]), r, 0)
        x, y, _, _ = jax.lax.while_loop(unfinished, sweep, start)
        return self._given(x), y

    def precondition(self, y: Float[Array, " m"]) -> Float[Array, " m"]:
        """`(C Cᵀ + μ I)⁻¹ y`."""
        return self._given(self.factor.solve(self._ordered(y)))

    def project(self, x: Float[Array, " m"]) -> Float[Array, " m"]:
        """x without its part in the null space of Cᵀ."""
        return x - self.null(x)

    def null(self, x: Float[Array, " m"], power: int = 2) -> Float[Array, " m"]:
        """Return `(μ (C Cᵀ + μ I)⁻¹)^power x`: the part of x in the null space of Cᵀ, and the
        fraction `(μ/(σ²+μ))^power` of its part along a singular value σ, which derivatives would
        divide by σ.
        """
        x = self._ordered(x)
        for _ in range(power):
            x = self.mu * self.factor.solve(x)
        return self._given(x)

    def _ordered(self, x):
        order = self.plan.elimination
        return scattered(
            x, order.place if self.rows is None else order.place[self.rows], len(order.padding)
        )

    def _given(self, x):
        place = self.plan.elimination.place
        return taken(x, place if self.rows is None else place[self.rows])


@CustomDerivative
def _solve(sweeps: _Sweeps, C: SparseMatrix, r: Array) -> tuple[Array, Array]:
    """`λ = (C Cᵀ)⁺ r` for r in the range of C, and `Cᵀλ = C⁺ r`."""
    return sweeps.solve(r)


@_solve.def_jvp
def _solve_jvp(primals, tangents):
    sweeps, C, r = primals
    _, dC, dr = tangents
    x, y = _solve(sweeps, C, r)
    # x is corrected once more, because its residual would be divided by a singular value
    closer = x if dC is None else x + _between(sweeps, C, r - C @ y)
    return (x, y), _solve_change(sweeps, C, closer, dC, dr)


def _solve_change(sweeps: _Sweeps, C: SparseMatrix, x: Array, dC, dr) -> tuple[Array, Array]:
    """Return the changes of x = λ = `(C Cᵀ)⁺ r` and of `Cᵀλ` that changes of C and r cause."""
    forcing = jnp.zeros_like(x) if dr is None else dr
    data = None if dC is None else dC.data
    if data is not None:
        forcing = forcing - _gram_change(C, data, x)
    dx = _between(sweeps, C, forcing)
    dy = C.T @ dx
    return dx, dy if data is None else dy + _with(C, data).T @ x


@CustomDerivative
def _certified(sweeps: _Sweeps, C: SparseMatrix, r: Array, terms: Array) -> Certified:
    """`_solve` by conjugate gradients. The derivative is that of the linear system: differentiating
    each iteration would cost more, and lose accuracy where the iterations stagnate.
    """
    return certified_gradients(C, r, terms, sweeps.precondition)


@_certified.def_jvp
def _certified_jvp(primals, tangents):
    sweeps, C, r, _ = primals
    _, dC, dr, _ = tangents
    found = _certified(*primals)
    dx, dy = _solve_change(sweeps, C, found.multipliers, dC, dr)
    return found, Certified(dy, dx, jnp.zeros_like(found.quality), cast(Any, None))


def _between(sweeps: _Sweeps, C: SparseMatrix, r: Array) -> Array:
    """`(C Cᵀ)⁺ r` for any r, linear in r and differentiable in C to any order."""
    # projected on both sides, as neither dr nor dQ λ need be in the range of Q individually
    swept = dataclasses.replace(sweeps, count=MOST_SWEEPS, enough=0.0)

    def inside(_, r):
        x = swept.solve(r - sweeps.null(r, 4))[0]
        return x - sweeps.null(x, 4)

    return jax.lax.custom_linear_solve(lambda x: C @ (C.T @ x), r, inside, symmetric=True)


@CustomDerivative
def _project(sweeps: _Sweeps, C: SparseMatrix, x: Array) -> Array:
    """x without its part in the null space of Cᵀ."""
    return sweeps.project(x)


@_project.def_jvp
def _project_jvp(primals, tangents):
    """With `P = Q Q⁺`: `dP x = (I − P) dQ Q⁺ x + Q⁺ dQ (I − P) x`. The second term contains only
    the component of the null space that `dCᵀ` does not map to zero.
    """
    sweeps, C, x = primals
    _, dC, dx = tangents
    y = _project(sweeps, C, x)
    change = jnp.zeros_like(x) if dx is None else dx - sweeps.null(dx, 4)
    data = None if dC is None else dC.data
    if data is not None:
        along = sweeps.null(_gram_change(C, data, _between(sweeps, C, x)), 4)
        left = _gram_change(C, data, sweeps.null(x - y))
        change = change + along + _between(sweeps, C, left)
    return y, change


def _gram_change(C: SparseMatrix, data: Array, x: Array) -> Array:
    """`d(C Cᵀ) x` for a change of C's entries."""
    return jax.jvp(
        lambda entries: _with(C, entries) @ (_with(C, entries).T @ x), (C.data,), (data,)
    )[1]


def _with(C: SparseMatrix, data: Array) -> SparseMatrix:
    return SparseMatrix(data, C.layout, C.rows)
