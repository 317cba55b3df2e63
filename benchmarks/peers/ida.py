"""IDA of SUNDIALS, through scikit-sundae, on the equations of motion stabilized after Gear, Gupta
and Leimkuhler (index 2).

    q̇ = v − Aᵀ μ,   M v̇ = F − Aᵀ λ,   φ(q) = ε μ,   A v = ε λ

ε = 0 where rows are independent. Redundant rows and singular configurations make Newton's matrix
singular, so that ε = 1e-10 there. The Jacobian is given by hand.
"""

from __future__ import annotations

import numpy as np

from benchmarks.peers.equations import equations
from benchmarks.peers.peer import Outcome, Peer
from benchmarks.peers.problems import instants

EPSILON = 1e-10
"""Compliance of the constraints where Newton's matrix would be singular: moves a pin by 1e-10 m for
a multiplier μ of one.
"""
UNTESTED = 1e8
"""Absolute tolerance of multipliers, which keeps them out of the error test, as usual for index 2.
"""
DENSE = 300
"""Unknowns from which on SuperLU takes over."""


class Ida(Peer):
    key, title, package, module = "ida", "IDA (SUNDIALS)", "scikit-sundae", "sksundae"
    how = (
        "index 2 after Gear, Gupta and Leimkuhler, Jacobian by hand, residual in NumPy, ε = "
        "1e-10 where rows may be dependent"
    )
    knob = "rtol"

    def settings(self, problem):
        return (1e-4, 1e-6, 1e-8, 1e-10)

    def prepare(self, problem, setting):
        from scipy import sparse
        from sksundae.ida import IDA

        e = equations(problem, self.points)
        n, m = e.n, e.m
        size = 2 * (n + m)
        epsilon = EPSILON if problem.redundant or problem.key.startswith("a02") else 0.0
        q_, v_, mu_, lam_ = (
            slice(0, n),
            slice(n, 2 * n),
            slice(2 * n, 2 * n + m),
            slice(2 * n + m, size),
        )

        def residual(t, y, yp, out):
            A = e.A(y[q_])
            out[q_] = yp[q_] - y[v_] + y[mu_] @ A
            out[v_] = e.M @ yp[v_] - e.force(t, y[q_], y[v_]) + y[lam_] @ A
            out[mu_] = e.phi(y[q_]) - epsilon * y[mu_]
            out[lam_] = A @ y[v_] - epsilon * y[lam_]

        def jacobian(t, y, cj):
            J, A = np.zeros((size, size)), e.A(y[q_])
            J[q_, q_] = cj * np.eye(n) + e.curvature(y[q_], y[mu_])
            J[q_, v_], J[q_, mu_] = -np.eye(n), A.T
            J[v_, q_], J[v_, v_], J[v_, lam_] = (
                e.curvature(y[q_], y[lam_]) - e.force_slope(t, y[q_]),
                cj * e.M,
                A.T,
            )
            J[mu_, q_], J[mu_, mu_] = A, -epsilon * np.eye(m)
            J[lam_, q_], J[lam_, v_], J[lam_, lam_] = e.slope(y[q_], y[v_]), A, -epsilon * np.eye(m)
            return J

        y0, yp0 = _start(e)
        options: dict = {"linsolver": "dense"}
        if size <= DENSE:

            def jacfn(t, y, yp, res, cj, JJ):
                JJ[:] = jacobian(t, y, cj)
        else:
            rng = np.random.default_rng(0)
            at = np.concatenate([e.q0 + rng.normal(size=n), rng.normal(size=n + 2 * m)])
            pattern = sparse.csc_matrix(
                (np.abs(jacobian(rng.normal(), at, 1.0)) + np.eye(size)) != 0
            )
            rows, columns = pattern.indices, np.repeat(np.arange(size), np.diff(pattern.indptr))
            options = {"linsolver": "sparse", "sparsity": pattern.astype(float)}

            def jacfn(t, y, yp, res, cj, JJ):
                JJ[:] = jacobian(t, y, cj)[rows, columns]

        atol = np.full(size, setting)
        atol[2 * n :] = UNTESTED
        times = instants(problem)

        def go():
            solver = IDA(
                residual,
                jacfn=jacfn,
                rtol=setting,
                atol=atol,
                algebraic_idx=np.arange(2 * n, size),
                max_num_steps=100_000,
                **options,
            )
            out = solver.solve(times, y0, yp0)
            if not out.success or len(out.t) < len(times):
                raise RuntimeError(f"IDA stopped at t = {out.t[-1]:.4g} s: {out.message}")
            self.steps = int(getattr(out, "nfev", 0))
            return Outcome(*e.bodies(out.y[:, :n], out.y[:, n : 2 * n]))

        return go

    def extra(self, problem, setting):
        return {"residuals": self.steps}


class IdaPoints(Ida):
    key, title, points = "ida-points", "IDA, natural coordinates", True
    how = f"the linkage in natural coordinates; {Ida.how}"


def _start(e) -> tuple[np.ndarray, np.ndarray]:
    """Consistent y and ẏ: acceleration and multipliers of the start, μ = 0."""
    A, F = e.A(e.q0), e.force(0.0, e.q0, e.v0)
    inverse = np.linalg.inv(e.M)
    lam = np.linalg.lstsq(A @ inverse @ A.T, A @ inverse @ F - e.b(e.q0, e.v0), rcond=1e-10)[0]
    zero = np.zeros(e.m)
    return np.concatenate([e.q0, e.v0, zero, lam]), np.concatenate(
        [e.v0, inverse @ (F - A.T @ lam), zero, zero]
    )
