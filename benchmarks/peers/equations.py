"""M, F, φ, A and b of the problems written out by hand in NumPy, as someone does who knows the
mechanism and has no library.

Two peers stand on them (`handwritten`, `ida`), and all results are judged by them. Coordinates: x,
y, angle of each body of a linkage, x, y alone of a point mass; the far end of each rod of a chain,
where M is constant although it couples neighbors. `points.py` has linkages in natural coordinates.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from benchmarks.peers.problems import GROUND, Linkage, Problem, RodChain


class Equations:
    """M v̇ = F + Aᵀλ,  φ(q) = 0,  A v̇ = b.

    Attributes:
        n, m: coordinates and rows.
        M: mass matrix (n, n), constant.
    """

    n: int
    m: int
    q0: np.ndarray
    v0: np.ndarray

    @property
    def M(self) -> np.ndarray: ...
    def force(self, t, q, v) -> np.ndarray: ...
    def phi(self, q) -> np.ndarray: ...
    def A(self, q) -> np.ndarray: ...
    def b(self, q, v) -> np.ndarray:
        """b = −(dA/dt) v."""
        ...

    def curvature(self, q, multipliers) -> np.ndarray:
        """∂(Aᵀλ)/∂q, shape (n, n)."""
        ...

    def slope(self, q, v) -> np.ndarray:
        """∂(A v)/∂q, shape (m, n)."""
        ...

    def force_slope(self, t, q):
        """∂F/∂q, shape (n, n), or 0."""
        return 0.0

    def potential(self, q) -> float: ...

    def bodies(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Samples (samples, n) in the coordinates that results are judged in."""
        return self.poses(q, v)

    def poses(self, q, v, numpy=np):
        """The same but for full turns of angles, also by `jax.numpy`."""
        return q, v

    def violation(self, q: np.ndarray) -> float:
        """Largest |φ| over samples (samples, n) [m]."""
        return max(float(np.max(np.abs(self.phi(x)))) for x in q)

    def energy(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Energy of each sample [J]."""
        return np.array(
            [0.5 * w @ self.M @ w + self.potential(x) for x, w in zip(q, v, strict=True)]
        )


class LinkageEquations(Equations):
    """Two rows for each pin: r_a + R(θ_a) s_a − r_b − R(θ_b) s_b."""

    def __init__(self, x: Linkage):
        bodies = len(x.mass)
        self.n, self.m = 3 * bodies, 2 * len(x.pins)
        self.problem = x
        self.mass = np.stack([x.mass, x.mass, x.inertia], axis=1).ravel()
        self.weight = np.zeros(self.n)
        self.weight[1::3] = -x.gravity * x.mass
        self.q0, self.v0 = x.pose.ravel().copy(), x.rate.ravel().copy()
        # Ends of pins on bodies, the ground's left out: sign, row pair, body, place in its axes.
        ends = [(1.0, i, p.first, p.at_first) for i, p in enumerate(x.pins)] + [
            (-1.0, i, p.second, p.at_second) for i, p in enumerate(x.pins)
        ]
        self.fixed = np.zeros((len(x.pins), 2))
        for sign, pin, body, at in ends:
            if body == GROUND:
                self.fixed[pin] += sign * np.asarray(at)
        ends = [e for e in ends if e[2] != GROUND]
        self.sign = np.array([e[0] for e in ends])
        self.row, self.body = (np.array([e[k] for e in ends]) for k in (1, 2))
        self.at = np.array([e[3] for e in ends], float)
        # Each pin has at most two ends on bodies, added one after the other: plain indexing is
        # faster than np.add.at.
        self.parts = [np.flatnonzero(self.sign == s) for s in (1.0, -1.0)]

    @cached_property
    def M(self):
        return np.diag(self.mass)

    @cached_property
    def constant(self):
        """Entries of A that do not change; only made for those who take all of A."""
        out = np.zeros((self.m, self.n))
        for k in (0, 1):
            out[2 * self.row + k, 3 * self.body + k] = self.sign
        return out

    def arms(self, q):
        """Arms from the centers to the pins, in space, shape (ends, 2)."""
        a = q[2::3][self.body]
        c, s = np.cos(a), np.sin(a)
        return np.stack(
            [c * self.at[:, 0] - s * self.at[:, 1], s * self.at[:, 0] + c * self.at[:, 1]], axis=1
        )

    def force(self, t, q, v):
        if not self.problem.sines:
            return self.weight
        out = self.weight.copy()
        out[2::3] += self.problem.torque(t)
        return out

    def phi(self, q):
        out, ends = self.fixed.copy(), q.reshape(-1, 3)[self.body, :2] + self.arms(q)
        for part in self.parts:
            out[self.row[part]] += self.sign[part, None] * ends[part]
        return out.ravel()

    def A(self, q):
        arm, out = self.arms(q), self.constant.copy()
        out[2 * self.row, 3 * self.body + 2] = -self.sign * arm[:, 1]
        out[2 * self.row + 1, 3 * self.body + 2] = self.sign * arm[:, 0]
        return out

    def b(self, q, v):
        centripetal = (self.sign * v[2::3][self.body] ** 2)[:, None] * self.arms(q)
        out = np.zeros((self.m // 2, 2))
        for part in self.parts:
            out[self.row[part]] += centripetal[part]
        return out.ravel()

    def curvature(self, q, multipliers):
        diagonal = np.zeros(self.n)
        pull = -self.sign * np.sum(multipliers.reshape(-1, 2)[self.row] * self.arms(q), axis=1)
        np.add.at(diagonal, 3 * self.body + 2, pull)
        return np.diag(diagonal)

    def slope(self, q, v):
        back, out = (
            (-self.sign * v[2::3][self.body])[:, None] * self.arms(q),
            np.zeros((self.m, self.n)),
        )
        out[2 * self.row, 3 * self.body + 2], out[2 * self.row + 1, 3 * self.body + 2] = back.T
        return out

    def potential(self, q):
        return -float(self.weight @ q)


class PendulumEquations(Equations):
    """A point mass: φ = x² + y² − l²."""

    def __init__(self, x: Linkage):
        self.n, self.m, self.mass = 2, 1, np.full(2, x.mass[0])
        self.weight = np.array([0.0, -x.gravity * x.mass[0]])
        self.q0, self.v0 = x.pose[0, :2].copy(), x.rate[0, :2].copy()
        self.square = self.q0 @ self.q0

    @cached_property
    def M(self):
        return np.diag(self.mass)

    def force(self, t, q, v):
        return self.weight

    def phi(self, q):
        return np.array([q @ q - self.square])

    def A(self, q):
        return 2 * q[None]

    def b(self, q, v):
        return np.array([-2 * v @ v])

    def curvature(self, q, multipliers):
        return 2 * multipliers[0] * np.eye(2)

    def slope(self, q, v):
        return 2 * v[None]

    def potential(self, q):
        return -float(self.weight @ q)


class RodChainEquations(Equations):
    """φ_i = |r_i − r_{i−1}|² − l²; each rod has the mass matrix m/6 [2 1; 1 2] between its ends, as
    slender rods do.
    """

    def __init__(self, x: RodChain):
        N = x.rods
        self.n, self.m, self.problem = 3 * N, N, x
        ends = np.zeros((N, N))
        for i in range(N):
            ends[i, i] += x.mass / 3
            if i > 0:
                ends[i - 1, i - 1] += x.mass / 3
                ends[i - 1, i] += x.mass / 6
                ends[i, i - 1] += x.mass / 6
        self.ends = ends
        load = np.full(N, x.mass)
        load[-1] = x.mass / 2
        self.weight = np.stack([0 * load, 0 * load, -x.gravity * load], axis=1).ravel()
        at = x.length * (np.arange(N) + 1.0)
        self.q0 = np.stack([at, 0 * at, 0 * at], axis=1).ravel()
        self.v0 = np.stack([0 * at, x.spin * at, 0 * at], axis=1).ravel()
        self.difference = np.eye(N) - np.eye(N, k=-1)

    @cached_property
    def M(self):
        return np.kron(self.ends, np.eye(3))

    def force(self, t, q, v):
        return self.weight

    def phi(self, q):
        d = self.difference @ q.reshape(-1, 3)
        return np.sum(d * d, axis=1) - self.problem.length**2

    def A(self, q):
        d = self.difference @ q.reshape(-1, 3)
        return (2 * self.difference[:, :, None] * d[:, None, :]).reshape(self.m, self.n)

    def b(self, q, v):
        w = self.difference @ v.reshape(-1, 3)
        return -2 * np.sum(w * w, axis=1)

    def curvature(self, q, multipliers):
        return np.kron(2 * self.difference.T @ (multipliers[:, None] * self.difference), np.eye(3))

    def slope(self, q, v):
        return self.A(v)

    def potential(self, q):
        return -float(self.weight @ q)


def equations(problem: Problem, points: bool = False) -> Equations:
    """The equations of a problem; of a linkage in natural coordinates if `points`."""
    if points:
        from benchmarks.peers.points import PointEquations  # stands on this file

        return PointEquations(problem)
    if isinstance(problem, RodChain):
        return RodChainEquations(problem)
    return PendulumEquations(problem) if problem.point_mass else LinkageEquations(problem)
