"""NumPy and SciPy as people write the Udwadia-Kalaba equation today: analytic A and b, `pinv(A
M^-1/2)`, Baumgarte's stabilization.
"""

from __future__ import annotations

import numpy as np

from benchmarks.peers.equations import equations
from benchmarks.peers.peer import STEPS, Outcome, Peer, steps, timed
from benchmarks.peers.problems import SAMPLES, Problem, instants

RCOND = 1e-10
"""Singular values below this part of the largest are dropped; 1e-2 costs four digits on A02, 1e-15
gives giant forces.
"""


def acceleration(problem: Problem, frequency: float, points: bool = False):
    """(t, q, v) → v̇ with critically damped stabilization at `frequency` [rad/s]."""
    e = equations(problem, points)
    values, vectors = np.linalg.eigh(e.M)
    diagonal = np.count_nonzero(e.M - np.diag(np.diag(e.M))) == 0
    W = np.diag(e.M) ** -0.5 if diagonal else vectors @ np.diag(values**-0.5) @ vectors.T
    inverse = None if diagonal else np.linalg.inv(e.M)

    def of(t, q, v):
        A = e.A(q)
        F = e.force(t, q, v)
        a = F * W * W if inverse is None else inverse @ F
        b = e.b(q, v) - 2 * frequency * (A @ v) - frequency**2 * e.phi(q)
        if inverse is None:
            return a + W * (np.linalg.pinv(A * W, rcond=RCOND) @ (b - A @ a))
        return a + W @ (np.linalg.pinv(A @ W, rcond=RCOND) @ (b - A @ a))

    return e, of


class Dop853(Peer):
    key, title = "numpy-dop853", "NumPy by hand, DOP853"
    how = (
        "pinv(A M^-1/2) with rcond 1e-10, SciPy's adaptive DOP853, Baumgarte's stabilization at "
        "20 rad/s"
    )
    knob = "rtol"
    frequency = 20.0

    def settings(self, problem):
        return (1e-4, 1e-6, 1e-8, 1e-10)

    def prepare(self, problem, setting):
        from scipy.integrate import solve_ivp

        e, f = acceleration(problem, self.frequency, self.points)

        def rhs(t, y):
            return np.concatenate([y[e.n :], f(t, y[: e.n], y[e.n :])])

        def go():
            start = np.concatenate([e.q0, e.v0])
            out = solve_ivp(
                rhs,
                (0, problem.duration),
                start,
                "DOP853",
                instants(problem),
                rtol=setting,
                atol=setting,
            )
            if not out.success:
                raise RuntimeError(out.message)
            return Outcome(*e.bodies(out.y.T[:, : e.n], out.y.T[:, e.n :]))

        return go


class Dop853Points(Dop853):
    key, title, points = "numpy-dop853-points", "NumPy by hand, natural coordinates", True
    how = f"the linkage in natural coordinates; {Dop853.how}"


class Rk4(Peer):
    key, title = "numpy-rk4", "NumPy by hand, RK4"
    how = (
        "the same right-hand side, Runge-Kutta of order 4 with a fixed step, Baumgarte's "
        "stabilization at 100 rad/s"
    )
    knob = "step [s]"
    frequency = 100.0

    def settings(self, problem):
        return STEPS

    def evaluation(self, problem):
        e, f = acceleration(problem, 0.0)
        return "acceleration", timed(lambda: f(0.0, e.q0, e.v0))

    def prepare(self, problem, setting):
        e, f = acceleration(problem, self.frequency)
        count, h = steps(problem, setting)
        return lambda: runge_kutta_4(f, e.q0, e.v0, h, count)


def runge_kutta_4(f, q, v, h: float, count: int) -> Outcome:
    """Coordinates with q̇ = v, `count` steps between samples."""
    seen, t = [(q, v)], 0.0
    for _ in range(SAMPLES):
        for _ in range(count):
            k1 = f(t, q, v)
            q2, v2 = q + h / 2 * v, v + h / 2 * k1
            k2 = f(t + h / 2, q2, v2)
            q3, v3 = q + h / 2 * v2, v + h / 2 * k2
            k3 = f(t + h / 2, q3, v3)
            q4, v4 = q + h * v3, v + h * k3
            k4 = f(t + h, q4, v4)
            q, v = q + h / 6 * (v + 2 * v2 + 2 * v3 + v4), v + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
            t += h
        seen.append((q, v))
    return Outcome(*(np.array(x) for x in zip(*seen, strict=True)))
