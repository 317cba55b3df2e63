"""Natural coordinates, after García de Jalón: a linkage as the points of its hinges, in which A02
was first solved.

Bodies share the points of their hinges: those on the ground are known, every other one is two
unknowns x, y. Two points p₁ and p₂ carry a body, the two farthest apart. With the plane as complex
numbers, all that is fixed in the body is linear in them:

    r = p₁ + c (p₂ − p₁),   c = (s − s₁) / (s₂ − s₁),   exp(iθ) = (p₂ − p₁) / (s₂ − s₁),

where s is a place in the body's axes, from its center of mass. So M is constant, and so is the
generalized force of a weight. Rows:

    |p₂ − p₁|² − |s₂ − s₁|² = 0   for each body,
    r − p = 0   for each further point p of a body (two linear rows).
"""

from __future__ import annotations

from functools import cached_property
from itertools import combinations

import numpy as np

from benchmarks.peers.equations import Equations
from benchmarks.peers.peer import turned
from benchmarks.peers.problems import GROUND, Linkage

SAME = 1e-9
"""Places in a body that are no farther apart [m] are one."""
QUARTER = np.array([[0.0, -1.0], [1.0, 0.0]])
"""A quarter turn, or i."""


class PointEquations(Equations):
    """Coordinates: x, y of each point that is not on the ground.

    Attributes:
        known: places of the points on the ground, shape (known points, 2) [m]; they are numbered
            after the unknown ones.
        first, second: numbers of p₁ and p₂ of each body, shape (bodies,).
        along: s₂ − s₁ of each body, complex [m].
        square: |s₂ − s₁|² of each body [m²].
        linear, constant: the linear rows, linear q + constant = 0.
        driven: bodies with motors.
    """

    def __init__(self, x: Linkage):
        self.problem, bodies = x, range(len(x.mass))
        points = points_of(x)
        points = [p for p in points if GROUND not in p] + [p for p in points if GROUND in p]
        unknown = sum(GROUND not in p for p in points)
        ground = np.array([p[GROUND] for p in points[unknown:]])
        self.known, self.n = _plane(ground), 2 * unknown
        on = [[(i, p[body]) for i, p in enumerate(points) if body in p] for body in bodies]
        pairs = [
            max(combinations(at, 2), key=lambda pair: abs(pair[1][1] - pair[0][1])) for at in on
        ]
        self.first, self.second = (np.array([pair[k][0] for pair in pairs]) for k in (0, 1))
        start, end = (np.array([pair[k][1] for pair in pairs]) for k in (0, 1))
        self.along, self.square = end - start, np.abs(end - start) ** 2
        # Rows over all points: p₂ − p₁, centers of mass, and r − p of further points; known points
        # add a constant to each.
        unit = np.eye(len(points))
        difference = unit[self.second] - unit[self.first]
        row = lambda body, s: (
            unit[self.first[body]] + (s - start[body]) / self.along[body] * difference[body]
        )
        further = [
            row(b, s) - unit[i]
            for b in bodies
            for i, s in on[b]
            if i not in (self.first[b], self.second[b])
        ]
        split = lambda rows: (rows[:, :unknown], rows[:, unknown:] @ ground)
        self.difference, apart = split(difference)
        self.center, self.center_known = split(np.array([row(body, 0.0) for body in bodies]))
        linear, constant = split(np.array(further).reshape(-1, len(points)))
        self.difference_known, self.linear, self.constant = (
            _plane(apart),
            _real(linear),
            _plane(constant).ravel(),
        )
        self.m = len(bodies) + len(self.linear)
        self.weight = _plane(self.center.conj().T @ (-1j * x.gravity * x.mass)).ravel()
        self.level = x.gravity * float(
            x.mass @ self.center_known.imag
        )  # potential of what hangs on known points
        self.driven = np.array(sorted({body for body, *_ in x.sines}), int)
        self.driving, self.driving_known = (
            self.difference[self.driven],
            self.difference_known[self.driven],
        )
        b, s = (
            np.array(y)
            for y in zip(*(next(iter(p.items())) for p in points[:unknown]), strict=True)
        )  # a body on each point
        arm = np.exp(1j * x.pose[b, 2]) * s
        self.q0 = (x.pose[b, :2] + _plane(arm)).ravel()
        self.v0 = (x.rate[b, :2] + _plane(1j * x.rate[b, 2] * arm)).ravel()

    @cached_property
    def M(self):
        """Of the energy m |ċ|² / 2 + I |d exp(iθ)/dt|² / 2 of each body with its center of mass c;
        known points stand still.
        """
        x, C, D = self.problem, self.center, self.difference
        M = _real(
            C.conj().T @ (x.mass[:, None] * C) + D.T @ ((x.inertia / self.square)[:, None] * D)
        )
        if not np.all(np.diag(M) > 0):
            raise ValueError(f"a point of {x.key} carries no body, so that it would have no mass")
        return M

    def apart(self, q):
        """p₂ − p₁ of each body, shape (bodies, 2)."""
        return self.difference @ q.reshape(-1, 2) + self.difference_known

    def force(self, t, q, v):
        """A torque τ is a pair of forces ±τ i (p₂ − p₁) / L², from its power τ ω with ω = (p₂ − p₁)
        × (v₂ − v₁) / L².
        """
        if not self.problem.sines:
            return self.weight
        pull = self._torque(t)[:, None] * (
            (self.driving @ q.reshape(-1, 2) + self.driving_known) @ QUARTER.T
        )
        return self.weight + (self.driving.T @ pull).ravel()

    def force_slope(self, t, q):
        if not self.problem.sines:
            return 0.0
        return np.kron(self.driving.T @ (self._torque(t)[:, None] * self.driving), QUARTER)

    def _torque(self, t):
        """τ / L² of the driven bodies."""
        return self.problem.torque(t)[self.driven] / self.square[self.driven]

    def phi(self, q):
        return np.concatenate(
            [np.sum(self.apart(q) ** 2, axis=1) - self.square, self.linear @ q + self.constant]
        )

    def A(self, q):
        return np.concatenate([self._lengths(self.apart(q)), self.linear])

    def _lengths(self, d):
        return (2 * self.difference[:, :, None] * d[:, None, :]).reshape(-1, self.n)

    def b(self, q, v):
        w = self.difference @ v.reshape(-1, 2)
        return np.concatenate([-2 * np.sum(w * w, axis=1), np.zeros(len(self.linear))])

    def curvature(self, q, multipliers):
        out = np.zeros((self.n, self.n))
        out[::2, ::2] = out[1::2, 1::2] = (
            2 * self.difference.T @ (multipliers[: len(self.square), None] * self.difference)
        )
        return out

    def slope(self, q, v):
        return np.concatenate([self._lengths(self.difference @ v.reshape(-1, 2)), 0 * self.linear])

    def potential(self, q):
        return self.level - float(self.weight @ q)

    def bodies(self, q, v):
        poses, rates = self.poses(q, v)
        return turned(poses.reshape(len(q), -1, 3), self.problem.pose).reshape(len(q), -1), rates

    def poses(self, q, v, numpy=np):
        at = lambda C, x: (x @ _real(C).T).reshape(len(x), -1, 2)
        d, turning = at(self.difference, q) + self.difference_known, at(self.difference, v)
        (x, y), (a, b) = numpy.moveaxis(d, -1, 0), _plane(self.along).T
        angle = numpy.arctan2(y * a - x * b, x * a + y * b)
        rate = (x * turning[..., 1] - y * turning[..., 0]) / (x**2 + y**2)
        join = lambda place, last: numpy.concatenate([place, last[..., None]], axis=-1).reshape(
            len(q), -1
        )
        return join(at(self.center, q) + _plane(self.center_known), angle), join(
            at(self.center, v), rate
        )


def points_of(x: Linkage) -> list[dict[int, complex]]:
    """The points of a linkage: for each, the bodies that have it in common, and where it is in
    their axes.

    A body on one hinge only has a second point opposite its center of mass, or at its radius of
    gyration if the hinge is there.
    """
    points: list[dict[int, complex]] = []
    for pin in x.pins:
        new = {pin.first: complex(*pin.at_first), pin.second: complex(*pin.at_second)}
        same = [
            p
            for p in points
            if any(body in p and abs(p[body] - at) < SAME for body, at in new.items())
        ]
        if same:  # a hinge of three bodies is two pins
            for p in (*same[1:], new):
                same[0].update(p)
            points = [p for p in points if not any(p is other for other in same[1:])]
        else:
            points.append(new)
    for body in range(len(x.mass)):
        at = [p[body] for p in points if body in p]
        if len(at) == 1:
            points.append(
                {
                    body: -at[0]
                    if abs(at[0]) > SAME
                    else complex(np.sqrt(x.inertia[body] / x.mass[body]))
                }
            )
    return points


def _plane(z) -> np.ndarray:
    """Complex numbers as x, y in a last axis."""
    return np.stack([np.real(z), np.imag(z)], axis=-1)


def _real(X: np.ndarray) -> np.ndarray:
    """A complex matrix as the real one that does the same to x, y in turn."""
    return np.kron(X.real, np.eye(2)) + np.kron(X.imag, QUARTER)
