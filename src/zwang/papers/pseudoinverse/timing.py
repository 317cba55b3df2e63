"""The equations of Tables 1-6 for the linkage: their agreement and their times."""

from __future__ import annotations

import dataclasses
import functools
import time
from collections.abc import Callable, Mapping

import jax
import jax.numpy as jnp
import numpy as np

from zwang.algebra.pseudoinverse import SVD, AbstractPseudoinverse, Proximal
from zwang.papers.claim import Claim, Grid, Verdict, compared
from zwang.papers.pseudoinverse.counts import EQUATIONS
from zwang.papers.pseudoinverse.linkage import METHODS, linkage

THRESHOLD = 1e-10
"""Rank threshold of the timed pseudoinverses; the true singular values are above 0.2 of the
largest, or zero.
"""
AGREE = 1e-11
"""Accelerations that differ by at most this count as equal [m/s², rad/s²]: round-off of values of
order ten, multiplied by the squared condition number of order ten in (35).
"""
REPEATS, TRIES = 200, 11
"""Number of evaluations in one compiled loop, and number of loops."""


def claims_and_grid() -> tuple[list[Claim], Grid]:
    """The agreement of the equations, and the table of their times."""
    measured, accelerations = _measured()
    worst = max(float(np.max(np.abs(a - accelerations[0]))) for a in accelerations)
    agreement = Claim(
        "eq. (31), (35), (41), (43)",
        "the equations agree, with every pseudoinverse, on the redundant linkage",
        "equal",
        f"differ by at most {worst:.0e} m/s²",
        compared(worst <= AGREE),
    )
    return [*blocks(), agreement, _cheapest(measured)], _times(measured)


@functools.cache
def equation_at_start() -> tuple[np.ndarray, ...]:
    """M (12, 12), F, A and b of the linkage at its start."""
    example = linkage()
    dynamics, s = example.model.dynamics(), example.model.state(example.q0, example.v0)
    M = np.diag(np.asarray(dynamics.system.mass_matrix(s.q, s.t, dynamics.p)))
    F = np.asarray(dynamics.system.force(s.q, s.v, s.t, dynamics.p))
    return M, F, np.asarray(dynamics.matrix(s)), np.asarray(dynamics.rhs(s))


def blocks() -> list[Claim]:
    """The pseudoinverses of the block Lagrange matrix, by NumPy only."""
    M, _, A, _ = equation_at_start()
    n = len(M)
    whole = np.linalg.pinv(np.block([[M, A.T], [A, np.zeros((n, n))]]), rcond=1e-12)
    inverse = np.linalg.inv(M)
    Q = np.linalg.pinv(A @ inverse @ A.T, rcond=1e-12)
    H = inverse @ A.T @ Q
    by_33 = np.block([[inverse - H @ A @ inverse, H], [H.T, -Q]])
    P = np.linalg.pinv(A, rcond=1e-12)
    E = np.eye(n) - P @ A
    Q, R = np.linalg.pinv(E @ M @ E, rcond=1e-12), M @ P
    stacked = np.concatenate([np.eye(n), -R.T])
    by_40 = np.block([[np.zeros((n, n)), P], [P.T, -P.T @ R]]) + stacked @ Q @ stacked.T
    errors = {
        "(33)": float(np.abs(by_33 - whole).max()),
        "(40)": float(np.abs(by_40 - whole).max()),
    }
    return [
        Claim(
            f"eq. {name}",
            "the blocks are the pseudoinverse of the Lagrange matrix",
            "equal",
            f"differ by {error:.0e}",
            compared(error <= 1e-12 * np.abs(whole).max()),
            "12 rows of rank 11.",
        )
        for name, error in errors.items()
    ]


@dataclasses.dataclass(frozen=True)
class Timed:
    """A timed function: its operations, and the time of an evaluation in each try [s]."""

    flops: float
    tries: np.ndarray

    @property
    def usual(self) -> float:
        return float(np.median(self.tries))

    @property
    def spread(self) -> str:
        """Lowest and highest [µs]."""
        return f"{1e6 * self.tries.min():.1f} … {1e6 * self.tries.max():.1f}"


def _measured() -> tuple[dict[str, Timed], list[np.ndarray]]:
    """Times by name, and the computed accelerations."""
    M, F, A, b = map(jnp.asarray, equation_at_start())
    m, n = A.shape
    programs, accelerations = {}, []
    for equation, counted in EQUATIONS.items():
        program = _repeated(
            lambda b, part=counted.formulation(): part.acceleration(
                M, F, A + 0 * b[:, None], b, SVD(threshold=THRESHOLD)
            )
        )
        accelerations.append(np.asarray(program(b, 1)))
        programs[f"eq. {equation}, SVD"] = (counted.formulation().flops(m, n), program, b)
    # rows in the metric of M⁻¹, of which the paper takes the pseudoinverse
    C = A / jnp.sqrt(jnp.diag(M))
    methods: dict[str, AbstractPseudoinverse] = {
        name: kind(threshold=THRESHOLD) for name, kind in METHODS.items()
    }
    a = F / jnp.diag(M)
    for name, method in {**methods, "zwang's default, proximal": Proximal()}.items():
        program = _repeated(lambda r, method=method: method.factor(C + 0 * r[:, None]).solve(r))
        accelerations.append(a + np.asarray(program(b - A @ a, 1)) / np.sqrt(jnp.diag(M)))
        programs[f"D⁺ r, {name}"] = (method.flops(m, n), program, b - A @ a)
    # alternating, so that a temporary disturbance of the machine affects all of them
    tries = [[_time(program, r) for _, program, r in programs.values()] for _ in range(TRIES)]
    return {
        name: Timed(flops, seconds)
        for (name, (flops, _, _)), seconds in zip(
            programs.items(), np.transpose(tries), strict=True
        )
    }, accelerations


def _repeated(function: Callable) -> Callable:
    """A program `(r, times) → function(r)` that repeats the evaluation. Everything that is factored
    must depend on r; otherwise the compiler moves it out of the loop.
    """

    def again(_, carry):
        r, x = carry
        x = function(r + 0 * jnp.sum(x))  # depends on the last result: none is removed
        return r, x

    @jax.jit
    def program(r, times):
        return jax.lax.fori_loop(0, times, again, (r, jnp.zeros_like(r)))[1]

    return program


def _time(program: Callable, r) -> float:
    """Time of one evaluation [s]."""
    began = time.perf_counter()
    jax.block_until_ready(program(r, REPEATS))
    return (time.perf_counter() - began) / REPEATS


def _times(measured: Mapping[str, Timed]) -> Grid:
    # relative to the fastest, because machines differ
    unit = min(x.usual for x in measured.values())
    rows = [
        [name, f"{x.flops:,.0f}", f"{1e6 * x.usual:.1f}", x.spread, f"{x.usual / unit:.1f}"]
        for name, x in measured.items()
    ]
    return Grid(
        "Tables 1-6 measured: time beside operations, m = n = 12",
        ("what", "operations", "time [µs]", "lowest … highest [µs]", "relative"),
        rows,
        f"Compiled, one core, the five-bar linkage at its start; median and ends of {TRIES} tries "
        f"of {REPEATS} evaluations. Equations with M as a full matrix and SVD, as the tables "
        "count; then the pseudoinverse of D alone, factored and applied once. At this size calls "
        "and memory count more than arithmetic.",
    )


def _cheapest(measured: Mapping[str, Timed]) -> Claim:
    """The conclusion that Gram-Schmidt is usually the cheapest of the five."""
    times = {name: measured[f"D⁺ r, {name}"] for name in METHODS}
    ours = ", ".join(
        f"{name} {1e6 * x.usual:.0f} ({x.spread}) µs"
        for name, x in sorted(times.items(), key=lambda pair: pair[1].usual)
    )
    fastest = min(times, key=lambda name: times[name].usual) == "LS-Modified GS"
    return Claim(
        "Conclusions",
        "the pseudoinverse by Gram-Schmidt is less expensive than by SVD, Greville or Householder",
        "about half the arithmetic",
        ours,
        compared(fastest),
        "Re-orthogonalized, as it must be near rank loss, it does more arithmetic than any "
        "other here (23 n³, SVD 21 n³). The paper's Tables 7-12 say the same: its Gram-Schmidt "
        "runs take five times the time of Householder.",
        Verdict.NOT,
    )
