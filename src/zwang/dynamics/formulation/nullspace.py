"""Equation with forces projected onto the null space of A."""

from __future__ import annotations

from typing import ClassVar

import jax
import jax.numpy as jnp

from zwang.algebra.pseudoinverse import SVD, Pseudoinverse
from zwang.algebra.pseudoinverse.pivoted_qr import pivoted_qr, qr_flops
from zwang.dynamics.formulation.base import AbstractFormulation, null_projector
from zwang.thresholds import ALL_BUT_ZERO


class Nullspace(AbstractFormulation):
    """`[SᵀM; A] v̇ = [SᵀF; b]`, the columns of S a basis of the null space of A (recursive paper,
    eq. 3.4).

    S is orthonormal, from a QR factorization with pivoting of `I − A⁺A`, and depends on the rank of
    A that the pseudoinverse finds. It has n columns, of which those after the (n − rank)-th are
    zero, so that shapes do not depend on the rank. The pseudoinverse of the stacked matrix, (n + m)
    × n, is used. With S = `I − A⁺A` the equation would be `UdwadiaPhohomsiri`.

    M may be singular if [M; A] has full column rank. The result depends on units: the stacked
    matrix contains rows of SᵀM [kg, kg·m² …] and of A under one rank threshold, and S is not
    orthonormal in a metric, so that in mixed units round-off can reach order one.

    Reference: Orsino, recursive modular modelling of lumped-parameter systems, Proc. R. Soc. A,
        section 3.
    """

    equation: ClassVar[str] = "recursive (3.4)"
    singular_mass: ClassVar[bool] = True
    redundant_constraints: ClassVar[bool] = True

    def acceleration(self, M, F, A, b, pseudoinverse):
        E = null_projector(Pseudoinverse(pseudoinverse, A))
        # the projector onto the null space has singular values 0 and 1; a threshold between
        # round-off and 1 separates them
        basis = pivoted_qr(jax.lax.stop_gradient(E), ALL_BUT_ZERO)
        # multiplying by E does not change the basis but gives its derivative: a rotation of the
        # basis within the null space has no effect
        S = E @ (
            basis.Q * (basis.keep & (jnp.trace(E) > 0.5))
        )  # without freedom E is round-off, trace and all
        stacked = Pseudoinverse(pseudoinverse, jnp.concatenate([S.T @ M, A]))
        return stacked.solve(jnp.concatenate([S.T @ F, b]))

    def operations(self, m, n):
        """Count the operations by the rules of the pseudoinverse paper, which has no table for this
        equation; QR with Q takes `8n³/3`.
        """
        return {
            "A⁺": SVD().flops(m, n),
            "A⁺A": 2 * m * n * n,
            "I − A⁺A": n,
            "S": 2 * qr_flops(n, n, n),
            "SᵀM": 2 * n**3,
            "SᵀF": 2 * n * n,
            "[SᵀM; A]⁺": SVD().flops(n + m, n),
            "v̇": 2 * (n + m) * n,
        }
