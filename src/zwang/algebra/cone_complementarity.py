"""Coulomb friction: normal forces and friction forces within disks, by Newton's method.

    w = D z + c,    0 ≤ w_n ⊥ z_n ≥ 0,    |z_t| ≤ R,    z_t = −R w_t/|w_t| where w_t is not zero

R is a multiple of normal forces, or given. Each block is the zero of a natural map,

    z_n − max(z_n − ρ w_n, 0),    z_t − P(z_t − ρ w_t),

where P is the projection onto the disk whose R is computed with max(z_n − ρ w_n, 0). Newton's
method on this map converges to round-off if it converges. It may cycle from a distant start: sweeps
over the blocks then give the next start, and ρ is varied. Rows may be dependent; one of the
solutions z is found. Because w_t does not follow from a potential, there may be several solutions
w, or none.

The text is traced: runs call it as native code (`frictional`), and pages and C contain it.

Reference: Alart and Curnier (1991), Comput. Methods Appl. Mech. Eng. 92, 353-375; Acary, Brémond
and Huber (2018), in Advanced Topics in Nonsmooth Dynamics, Springer, 375-457 (methods compared).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from zwang.algebra.lapack import LU
from zwang.compile import program
from zwang.compile.hints import shared_code
from zwang.thresholds import ROUND_OFF, SOLUTION_ERROR


class Disk(NamedTuple):
    """Admissible force of one or two tangents: |z| ≤ share · normal force + fixed.

    Attributes:
        rows: indices of its components among all forces.
        owner: index of the normal force; −1 if there is none.
        share, fixed: coefficients of the radius.
    """

    rows: np.ndarray
    owner: int
    share: float
    fixed: float = 0.0

    def scaled(self, part: float) -> Disk:
        """A part of it."""
        return self._replace(share=part * self.share, fixed=part * self.fixed)

    def radius(self, forces: np.ndarray) -> float:
        """Return the largest force [N, N·m …], given all others."""
        return float(self.fixed + (self.share * forces[self.owner] if self.owner >= 0 else 0.0))


class CoulombProblem(NamedTuple):
    """Normal forces, then friction forces within disks; rows are of about unit length.

    Attributes:
        D: shape (n, n); c: shape (n,).
        pushes: which of the normal forces may be other than zero.
        rubs: which disks may be other than a point.
        share, fixed: radius `share @ normal forces + fixed` of each disk, shapes (disks, pushes)
            and (disks,).
        starts: number of starts of Newton's method, with sweeps between them; most problems need
            one.
        scales: ρ of successive starts, relative to that of a single block.
        sweeps: number of sweeps over all blocks before a start.
        steps: maximum number of Newton steps from a start.
        lengths: fractions of a Newton step that are tried; the best is taken, even if it increases
            the residual.
        remembered: number of last residuals, the largest of which a step must reduce by a tenth.
        damping: term added to the diagonal of the Newton matrix, which dependent rows make
            singular; it changes only the component of the step along these rows.
    """

    starts, sweeps, steps, remembered = 28, 20, 40, 3
    scales = (1.0, 0.1, 10.0, 0.3, 3.0, 0.03, 30.0)
    lengths = (1.0, 0.5, 0.25, 0.1, 0.03)
    damping = 1e-10

    D: Float[Array, "n n"]
    c: Float[Array, " n"]
    pushes: Bool[Array, " pushes"]
    rubs: Bool[Array, " disks"]
    share: Float[Array, "disks pushes"]
    fixed: Float[Array, " disks"]

    @property
    def rho(self) -> Float[Array, " n"]:
        """1 over the diagonal, and over the largest eigenvalue of the block of a disk."""
        n, disks, D = len(self.pushes), len(self.rubs), self.D
        size = jnp.diagonal(D)
        if len(self.c) > n + disks:
            x, y = np.arange(n, len(self.c)).reshape(disks, 2).T
            middle, apart = (D[x, x] + D[y, y]) / 2, (D[x, x] - D[y, y]) / 2
            size = size.at[n:].set(jnp.repeat(middle + jnp.sqrt(apart**2 + D[x, y] ** 2), 2))
        return 1 / jnp.where(size > self.damping, size, 1.0)

    def linearized(self, z: Float[Array, " n"], rho: Float[Array, " n"]) -> tuple:
        """Return the map and an element of its generalized Jacobian."""
        n, disks = len(self.pushes), len(self.rubs)
        at, eye = self.mapped(z, rho), jnp.eye(len(z))
        moved = rho[:, None] * self.D
        J = jnp.where(at.acts[:, None], moved[:n], eye[:n])
        if len(z) == n:
            return at.F, J
        grown = jnp.where(at.acts, self.share, 0.0) @ (eye[:n] - moved[:n])
        own, fixed = (x[n:].reshape(disks, -1, len(z)) for x in (moved, eye))
        across = fixed - own
        along = jnp.sum(at.along[:, :, None] * across, axis=1)
        across = across - at.along[:, :, None] * along[:, None, :]
        out = fixed - at.part[:, None, None] * across - at.along[:, :, None] * grown[:, None, :]
        J_disks = jnp.where(at.inside[:, None, None], own, out)
        return at.F, jnp.concatenate([J, J_disks.reshape(-1, len(z))])

    def mapped(self, z: Float[Array, " n"], rho: Float[Array, " n"]) -> _Mapped:
        """Return the map at z."""
        n = len(self.pushes)
        w = self.D @ z + self.c
        ahead = z - rho * w
        acts = self.pushes & (ahead[:n] > 0)
        first = jnp.where(acts, rho[:n] * w[:n], z[:n])
        if len(z) == n:
            return _Mapped(first, acts, *3 * (jnp.zeros(0),))
        radius = self.share @ jnp.where(acts, ahead[:n], 0.0) + self.fixed
        y = ahead[n:].reshape(len(self.rubs), -1)
        size = jnp.sqrt(jnp.sum(y * y, axis=1))
        inside, known = self.rubs & (size <= radius), self.rubs & (size > 0)
        length = jnp.where(known, size, 1.0)
        along = jnp.where(known[:, None], y, 0.0) / length[:, None]
        part = jnp.where(known, radius / length, 0.0)
        within = (z - ahead)[n:].reshape(y.shape)
        out = z[n:].reshape(y.shape) - part[:, None] * y
        disks = jnp.where(inside[:, None], within, out).reshape(-1)
        return _Mapped(jnp.concatenate([first, disks]), acts, inside, along, part)

    def swept(self, z: Float[Array, " n"], rho) -> Float[Array, " n"]:
        """Return z after sweeps in which each block is projected in turn, given all others."""
        n, disks = len(self.pushes), len(self.rubs)
        wide = (len(z) - n) // max(disks, 1)

        def push(i, z):
            y = z[i] - rho[i] * (self.D[i] @ z + self.c[i])
            return z.at[i].set(jnp.where(self.pushes[i], jnp.maximum(y, 0.0), 0.0))

        def rub(k, z):
            begin = n + k * wide
            own = lambda x: jax.lax.dynamic_slice_in_dim(x, begin, wide)
            y = own(z) - own(rho) * (own(self.D) @ z + own(self.c))
            radius = self.share[k] @ z[:n] + self.fixed[k]
            radius = jnp.where(self.rubs[k], jnp.maximum(radius, 0.0), 0.0)
            size = jnp.sqrt(jnp.sum(y * y))
            y = jnp.where(size <= radius, y, y * (radius / jnp.where(size > 0, size, 1.0)))
            return jax.lax.dynamic_update_slice_in_dim(z, y, begin, 0)

        def sweep(_, z):
            z = jax.lax.fori_loop(0, n, push, z) if n else z
            return jax.lax.fori_loop(0, disks, rub, z) if disks else z

        return jax.lax.fori_loop(0, self.sweeps, sweep, z)


class _Mapped(NamedTuple):
    """The natural map F at one point.

    Attributes:
        acts: which normal forces are positive.
        inside: which friction forces are within their disks.
        along, part: of each disk, direction of the point that is projected, and R over its length.
    """

    F: Array
    acts: Array
    inside: Array
    along: Array
    part: Array


@shared_code
def solved(problem: CoulombProblem) -> tuple[Float[Array, " n"], Bool[Array, ""]]:
    """Return z of Coulomb's problem, and whether it is within `SOLUTION_ERROR` of the terms."""
    size = jnp.max(jnp.abs(problem.c), initial=0.0)
    unit = jnp.where(size > 0, size, 1.0)
    given = problem._replace(c=problem.c / unit, fixed=problem.fixed / unit)
    rho, zero = given.rho, jnp.zeros(len(problem.c))
    scales = jnp.array(problem.scales)

    def good(least, found):
        return least <= SOLUTION_ERROR + ROUND_OFF * jnp.max(jnp.abs(found), initial=0.0)

    def going(carry):
        k, _, _, found, least = carry
        return (k < problem.starts) & ~good(least, found)

    def once(carry):
        # alternate between the end of the last start and sweeps without Newton steps, which
        # converge slowly
        k, seed, x, found, least = carry
        again = k % 2 == 1
        start = given.swept(jnp.where(again, x, seed), rho)
        x, left = _newton(given, start, scales[k % len(problem.scales)], rho)
        better = left < least
        keep = jnp.where(better, x, found), jnp.where(better, left, least)
        return k + 1, jnp.where(again, seed, start), x, *keep

    start = jnp.asarray(0), zero, zero, zero, jnp.asarray(jnp.inf)
    _, _, _, found, least = jax.lax.while_loop(going, once, start)
    # the error relative to forces that are large compared with c
    fine = good(least, found) | (least <= SOLUTION_ERROR * jnp.max(jnp.abs(found), initial=0.0))
    return unit * jnp.where(size > 0, found, 0.0), fine | (size == 0)


def _newton(problem: CoulombProblem, z, scale, rho):
    """Return the best point of Newton's method from z, and the largest entry of the map with ρ of
    the single blocks at this point.
    """
    lengths, eye = jnp.array(problem.lengths), jnp.eye(len(z))
    norm = lambda F: jnp.sqrt(F @ F)

    def going(carry):
        turn, ended, *_ = carry
        return (turn < problem.steps) & ~ended

    def once(carry):
        turn, _, z, recent, least, best, best_size = carry
        of_z = lambda x: problem.mapped(x, scale * rho).F
        F, J = problem.linearized(z, scale * rho)
        step = LU(J + problem.damping * eye).solve(-F)
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

    size = norm(problem.mapped(z, scale * rho).F)
    recent = jnp.full(problem.remembered, -jnp.inf).at[-1].set(size)
    start = jnp.asarray(0), size <= ROUND_OFF, z, recent, size, z, size
    best = jax.lax.while_loop(going, once, start)[5]
    return best, jnp.max(jnp.abs(problem.mapped(best, rho).F), initial=0.0)


_native = program(lambda *parts: solved(CoulombProblem._make(parts)))


def frictional(
    D: np.ndarray, c: np.ndarray, pushes: int, disks: Sequence[Disk]
) -> np.ndarray | None:
    """Return z of the friction problem, or None if no start converges within `SOLUTION_ERROR` of
    the terms.

    Args:
        D: shape (n, n), rows of about unit length.
        c: shape (n,).
        pushes: number of normal forces, which are the first entries of z.
        disks: the disks of the other entries.
    """
    # One program serves four numbers of forces: those added have a unit row each, and are zero.
    n, k = (-(-count // 4) * 4 for count in (pushes, len(disks)))
    wide = max((len(x.rows) for x in disks), default=0)
    places = np.arange(len(c))
    for i, x in enumerate(disks):
        places[x.rows] = n + wide * i + np.arange(len(x.rows))
    whole, left = np.eye(n + wide * k), np.zeros(n + wide * k)
    whole[np.ix_(places, places)], left[places] = D, c
    share, fixed = np.zeros((k, n)), np.zeros(k)
    for i, x in enumerate(disks):
        fixed[i] = x.fixed
        if x.owner >= 0:
            share[i, x.owner] = x.share
    acts = np.arange(n) < pushes, np.arange(k) < len(disks)
    z, found = _native(whole, left, *acts, share, fixed)
    return np.asarray(z)[places] if found else None
