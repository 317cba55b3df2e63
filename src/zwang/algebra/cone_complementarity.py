"""Coulomb friction: normal forces and friction forces within disks, by Newton's method.

    w = D z + c,    0 ≤ w_n ⊥ z_n ≥ 0,    |z_t| ≤ R,    z_t = −R w_t/|w_t| where w_t is not zero

R is a multiple of a normal force, or given. Each block is the zero of a natural map,

    z_n − max(z_n − ρ w_n, 0),    z_t − P(z_t − ρ w_t),

where P is the projection onto the disk whose R is computed with max(z_n − ρ w_n, 0). Newton's
method on this map converges to round-off if it converges. It may cycle from a distant start: sweeps
over the blocks then give the next start, and ρ is varied. Rows may be dependent; one of the
solutions z is found. Because w_t does not follow from a potential, there may be several solutions
w, or none.

Reference: Alart and Curnier (1991), Comput. Methods Appl. Mech. Eng. 92, 353-375; Acary, Brémond
and Huber (2018), in Advanced Topics in Nonsmooth Dynamics, Springer, 375-457 (methods compared).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

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
    size = np.max(np.abs(c), initial=0.0)
    if size == 0:
        return np.zeros(len(c))
    scaled = [x._replace(fixed=x.fixed / size) for x in disks]
    map_ = NaturalMap(D, c / size, pushes, scaled)
    found, least, seed = np.zeros(len(c)), np.inf, np.zeros(len(c))
    x = seed
    for k in range(map_.starts):
        # alternate between the end of the last start and sweeps without Newton steps, which
        # converge slowly
        if k % 2:
            start = map_.swept(x)
        else:
            start = seed = map_.swept(seed)
        x, left = map_.newton(start, map_.scales[k % len(map_.scales)])
        if left < least:
            found, least = x, left
        # the round-off of D z
        if least <= SOLUTION_ERROR + ROUND_OFF * np.max(np.abs(found)):
            return size * found
    # the error relative to forces that are large compared with c
    return size * found if least <= SOLUTION_ERROR * np.max(np.abs(found)) else None


class NaturalMap:
    """Natural map whose zero solves the problem, with c scaled to size one.

    Attributes:
        starts: number of starts of Newton's method, with sweeps between them; most problems need
            one.
        scales: ρ of successive starts, relative to that of a single block.
        sweeps: number of sweeps over all blocks before a start.
        steps: maximum number of Newton steps from one start.
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

    def __init__(self, D: np.ndarray, c: np.ndarray, pushes: int, disks: Sequence[Disk]):
        self.D, self.c, self.n, self.disks = D, c, pushes, disks
        diagonal = np.diag(D)
        self.rho = 1 / np.where(diagonal > self.damping, diagonal, 1.0)
        for disk in disks:
            block = D[np.ix_(disk.rows, disk.rows)]
            largest = np.linalg.norm(block, 2)
            self.rho[disk.rows] = 1 / largest if largest > self.damping else 1.0

    def residual(self, z: np.ndarray, scale: float) -> np.ndarray:
        """Return the map at z with `scale` times ρ."""
        return self._evaluated(z, scale, None)

    def linearized(self, z: np.ndarray, scale: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the map and an element of its generalized Jacobian."""
        J = np.zeros_like(self.D)
        return self._evaluated(z, scale, J), J

    def _evaluated(self, z, scale: float, J) -> np.ndarray:
        D, n, rho = self.D, self.n, scale * self.rho
        w = D @ z + self.c
        ahead, F = z - rho * w, np.empty(len(z))
        acts = ahead[:n] > 0
        F[:n] = np.where(acts, rho[:n] * w[:n], z[:n])
        if J is not None:
            J[:n] = np.where(acts[:, None], rho[:n, None] * D[:n], np.eye(n, len(z)))
        for own, owner, share, fixed in self.disks:
            acting = owner >= 0 and acts[owner]
            radius = fixed + (share * ahead[owner] if acting else 0.0)
            y, r = ahead[own], rho[own[0]]
            if (size := np.linalg.norm(y)) <= radius:
                F[own] = r * w[own]
                if J is not None:
                    J[own] = r * D[own]
                continue
            along = y / size
            F[own] = z[own] - radius * along
            if J is not None:
                turned = -(radius / size) * (np.eye(len(own)) - np.outer(along, along))
                J[own] = -r * turned @ D[own]
                J[np.ix_(own, own)] += np.eye(len(own)) + turned
                if acting:
                    J[own] += share * rho[owner] * np.outer(along, D[owner])
                    J[own, owner] -= share * along
        return F

    def swept(self, z: np.ndarray) -> np.ndarray:
        """Return z after sweeps in which each block is projected in turn, given all others."""
        D, rho, z = self.D, self.rho, z.copy()
        w = D @ z + self.c
        blocks = [(np.array([i]), None) for i in range(self.n)] + [(x.rows, x) for x in self.disks]
        for _ in range(self.sweeps):
            for own, disk in blocks:
                y = z[own] - rho[own[0]] * w[own]
                if disk is None:
                    y = np.maximum(y, 0.0)
                else:
                    radius, size = disk.radius(z), np.linalg.norm(y)
                    y = y if size <= radius else y * (radius / size)
                w += D[:, own] @ (y - z[own])
                z[own] = y
        return z

    def newton(self, z: np.ndarray, scale: float) -> tuple[np.ndarray, float]:
        """Return the best point of Newton's method from z, and the largest entry of its map."""
        F, J = self.linearized(z, scale)
        sizes = [np.linalg.norm(F)]
        best = z, F
        for _ in range(self.steps):
            small = sizes[-1] <= SOLUTION_ERROR and sizes[-1] > 0.5 * min(
                sizes[:-1], default=np.inf
            )
            if small or sizes[-1] <= ROUND_OFF:
                break
            try:
                step = np.linalg.solve(J + self.damping * np.eye(len(z)), -F)
            except np.linalg.LinAlgError:
                step = np.linalg.lstsq(J, -F, rcond=None)[0]
            tried = []
            for part in self.lengths:
                size = np.linalg.norm(self.residual(z + part * step, scale))
                tried.append((size, part))
                if size < 0.9 * max(sizes[-self.remembered :]):
                    break
            if not np.isfinite(min(tried)[0]):
                break
            z = z + min(tried)[1] * step
            F, J = self.linearized(z, scale)
            sizes.append(np.linalg.norm(F))
            if sizes[-1] < np.linalg.norm(best[1]):
                best = z, F
        # the residual with ρ of the single blocks
        return best[0], float(np.max(np.abs(self.residual(best[0], 1.0))))
