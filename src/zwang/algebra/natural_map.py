"""Coulomb's problem as one traced text, of arrays whose sizes do not change with what acts.

    w = D z + c,    0 ≤ w_n ⊥ z_n ≥ 0,    |z_t| ≤ R,    z_t = −R w_t/|w_t| where w_t is not zero

It is the method of `zwang.algebra.cone_complementarity`, written in operations of JAX for programs
that decide by themselves what lets go: pages and C.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from zwang.algebra.cone_complementarity import NaturalMap
from zwang.algebra.lapack import LU
from zwang.compile.hints import shared_code
from zwang.thresholds import ROUND_OFF, SOLUTION_ERROR


class CoulombProblem(NamedTuple):
    """Forces that push, then forces that rub within disks; rows are of about unit length.

    Attributes:
        D: shape (n, n); c: shape (n,), of size one.
        pushes: which of the first forces may be other than zero.
        rubs: which disks may be other than a point.
        share, fixed: radius `share @ pushes + fixed` of each disk, shapes (disks, pushes) and
            (disks,).
    """

    D: Float[Array, "n n"]
    c: Float[Array, " n"]
    pushes: Bool[Array, " pushes"]
    rubs: Bool[Array, " disks"]
    share: Float[Array, "disks pushes"]
    fixed: Float[Array, " disks"]

    @property
    def rho(self) -> Float[Array, " n"]:
        """1 over the diagonal; of a disk over the norm of its block, at most."""
        n, disks = len(self.pushes), len(self.rubs)
        blocks = jnp.diagonal(jnp.abs(self.D))
        size = blocks
        if len(self.c) > n:
            own = jnp.sum(blocks[n:].reshape(disks, -1), axis=1)
            size = jnp.concatenate([blocks[:n], jnp.repeat(own, (len(self.c) - n) // disks)])
        return 1 / jnp.where(size > NaturalMap.damping, size, 1.0)

    def residual(self, z: Float[Array, " n"], scale, rho) -> Float[Array, " n"]:
        """The map at z, `scale` times ρ."""
        n, rho = len(self.pushes), scale * rho
        w = self.D @ z + self.c
        ahead = z - rho * w
        acts = self.pushes & (ahead[:n] > 0)
        first = jnp.where(acts, rho[:n] * w[:n], z[:n])
        if len(z) == n:
            return first
        radius = self.share @ jnp.where(acts, ahead[:n], 0.0) + self.fixed
        y = ahead[n:].reshape(len(self.rubs), -1)
        size = jnp.sqrt(jnp.sum(y * y, axis=1))
        inside = self.rubs & (size <= radius)
        part = jnp.where(self.rubs & (size > 0), radius / jnp.where(size > 0, size, 1.0), 0.0)
        within = jnp.where(inside[:, None], (z - ahead)[n:].reshape(y.shape), 0.0)
        out = z[n:].reshape(y.shape) - part[:, None] * y
        return jnp.concatenate([first, jnp.where(inside[:, None], within, out).reshape(-1)])

    def swept(self, z: Float[Array, " n"], rho) -> Float[Array, " n"]:
        """z after sweeps in which each block is projected in turn, given all others."""
        n, disks = len(self.pushes), len(self.rubs)
        wide = (len(z) - n) // max(disks, 1)

        def sweep(_, z):
            for i in range(n):
                y = z[i] - rho[i] * (self.D[i] @ z + self.c[i])
                z = z.at[i].set(jnp.where(self.pushes[i], jnp.maximum(y, 0.0), 0.0))
            for k in range(disks):
                own = slice(n + k * wide, n + (k + 1) * wide)
                y = z[own] - rho[own] * (self.D[own] @ z + self.c[own])
                radius = self.share[k] @ z[:n] + self.fixed[k]
                radius = jnp.where(self.rubs[k], jnp.maximum(radius, 0.0), 0.0)
                size = jnp.sqrt(jnp.sum(y * y))
                y = jnp.where(size <= radius, y, y * (radius / jnp.where(size > 0, size, 1.0)))
                z = z.at[own].set(y)
            return z

        return jax.lax.fori_loop(0, NaturalMap.sweeps, sweep, z)


@shared_code
def solved(problem: CoulombProblem) -> tuple[Float[Array, " n"], Bool[Array, ""]]:
    """z of Coulomb's problem, and whether it is within `SOLUTION_ERROR` of the terms.

    The search is that of `zwang.algebra.cone_complementarity.frictional`.
    """
    size = jnp.max(jnp.abs(problem.c), initial=0.0)
    unit = jnp.where(size > 0, size, 1.0)
    given = problem._replace(c=problem.c / unit, fixed=problem.fixed / unit)
    rho, zero = given.rho, jnp.zeros(len(problem.c))
    scales = jnp.array(NaturalMap.scales)

    def good(least, found):
        return least <= SOLUTION_ERROR + ROUND_OFF * jnp.max(jnp.abs(found), initial=0.0)

    def going(carry):
        k, _, _, found, least = carry
        return (k < NaturalMap.starts) & ~good(least, found)

    def once(carry):
        k, seed, x, found, least = carry
        again = k % 2 == 1
        start = given.swept(jnp.where(again, x, seed), rho)
        x, left = _newton(given, start, scales[k % len(NaturalMap.scales)], rho)
        better = left < least
        keep = jnp.where(better, x, found), jnp.where(better, left, least)
        return k + 1, jnp.where(again, seed, start), x, *keep

    start = jnp.asarray(0), zero, zero, zero, jnp.asarray(jnp.inf)
    _, _, _, found, least = jax.lax.while_loop(going, once, start)
    # of forces that are large beside what they balance
    fine = good(least, found) | (least <= SOLUTION_ERROR * jnp.max(jnp.abs(found), initial=0.0))
    return unit * jnp.where(size > 0, found, 0.0), fine | (size == 0)


def _newton(problem: CoulombProblem, z, scale, rho):
    """The best point of Newton's method from z, and the largest entry of the map there."""
    lengths, eye = jnp.array(NaturalMap.lengths), jnp.eye(len(z))
    norm = lambda F: jnp.sqrt(F @ F)

    def going(carry):
        turn, ended, *_ = carry
        return (turn < NaturalMap.steps) & ~ended

    def once(carry):
        turn, _, z, recent, least, best, best_size = carry
        of_z = lambda x: problem.residual(x, scale, rho)
        F, J = of_z(z), jax.jacfwd(of_z)(z)
        step = LU(J + NaturalMap.damping * eye).solve(-F)
        sizes = jax.lax.map(lambda part: norm(of_z(z + part * step)), lengths)
        enough = sizes < 0.9 * jnp.max(recent)
        which = jnp.where(jnp.any(enough), jnp.argmax(enough), jnp.argmin(sizes))
        size, moved = sizes[which], z + lengths[which] * step
        finite = jnp.isfinite(size)
        z = jnp.where(finite, moved, z)
        better = finite & (size < best_size)
        ended = ~finite | (size <= ROUND_OFF) | ((size <= SOLUTION_ERROR) & (size > 0.5 * least))
        best = jnp.where(better, z, best)
        recent = jnp.append(recent[1:], size)
        return (
            turn + 1,
            ended,
            z,
            recent,
            jnp.minimum(least, size),
            best,
            jnp.minimum(best_size, jnp.where(finite, size, jnp.inf)),
        )

    size = norm(problem.residual(z, scale, rho))
    recent = jnp.full(NaturalMap.remembered, -jnp.inf).at[-1].set(size)
    start = jnp.asarray(0), size <= ROUND_OFF, z, recent, size, z, size
    best = jax.lax.while_loop(going, once, start)[5]
    return best, jnp.max(jnp.abs(problem.residual(best, 1.0, rho)), initial=0.0)
