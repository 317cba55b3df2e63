"""Random problems in three levels, optionally with one row of the second level dependent on the
first, all solved in one program.
"""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np

from zwang.dynamics.model import Model
from zwang.equations.constraint import AccelerationConstraint
from zwang.equations.system import System
from zwang.hierarchy import enforce

N, ROWS = 7, (2, 2, 1)
PROBLEMS = 200
SEED = 2017


@dataclasses.dataclass(frozen=True)
class Batch:
    """Problems and their solution by the recursion, arrays with a leading axis.

    Attributes:
        M, f, A, b: of each problem, all rows.
        H: A W with W = L⁻ᵀ of M = L Lᵀ.
        acceleration: v̇ of the top level; `levels`: of every level.
        P, G: projector and inverse of Corollary 3.4 in coordinates weighted by the mass; with
            clearances P is (4.18) and G is empty.
        covariance: W P Wᵀ.
    """

    M: np.ndarray
    f: np.ndarray
    A: np.ndarray
    b: np.ndarray
    H: np.ndarray
    acceleration: np.ndarray
    levels: np.ndarray
    P: np.ndarray
    G: np.ndarray
    covariance: np.ndarray


def draw(*, dependent: bool, contradictory: bool = False) -> dict[str, np.ndarray]:
    """M, f, A, b of `PROBLEMS` problems. Dependent rows are consistent unless `contradictory`."""
    random = np.random.default_rng(SEED)
    root = random.standard_normal((PROBLEMS, N, N))
    A = random.standard_normal((PROBLEMS, sum(ROWS), N))
    b = random.standard_normal((PROBLEMS, sum(ROWS)))
    if dependent:
        # a row of the second level that depends on the first
        A[:, 3] = A[:, 0] + A[:, 1]
        b[:, 3] = b[:, 0] + b[:, 1] + contradictory
    return {
        "M": root @ root.transpose(0, 2, 1) + np.eye(N),
        "f": random.standard_normal((PROBLEMS, N)),
        "A": A,
        "b": b,
    }


def model(**options) -> Model:
    """One problem; M, f, A and b are parameters."""
    ends = np.cumsum((0, *ROWS))
    constraints = [
        AccelerationConstraint(
            lambda q, v, t, p, i=i, j=j: p["A"][i:j],
            lambda q, v, t, p, i=i, j=j: p["b"][i:j],
            name=f"level {r}",
        )
        for r, (i, j) in enumerate(zip(ends, ends[1:], strict=False), start=1)
    ]
    system = System(N, lambda q, t, p: p["M"], lambda q, v, t, p: p["f"])
    empty = {
        "M": np.eye(N),
        "f": np.zeros(N),
        "A": np.zeros((sum(ROWS), N)),
        "b": np.zeros(sum(ROWS)),
    }
    return Model(system, constraints, empty, name="random problem", **options)


def solved(problems: dict[str, np.ndarray], clearance: float | None = None) -> Batch:
    """All problems solved by the recursion, one level after the other, with the same clearance r I
    for every row, or none.
    """
    one, rest = model(), jnp.zeros(N)

    def solve(p, r):
        noise = None if clearance is None else {f"level {i}": r for i in (1, 2, 3)}
        top = enforce(one, rest, rest, params=p, clearance=noise)
        G = jnp.zeros((N, 0)) if clearance is not None else top.inverse
        return (
            top.acceleration,
            jnp.stack([level.acceleration for level in top.levels]),
            top.projector,
            G,
            top.covariance,
        )

    # one program for all problems, which compiles once for each shape
    found = jax.jit(jax.vmap(solve, in_axes=(0, None)))(
        problems, 0.0 if clearance is None else clearance
    )
    W = np.linalg.inv(np.linalg.cholesky(problems["M"])).transpose(0, 2, 1)
    return Batch(
        **problems,
        H=problems["A"] @ W,
        **dict(
            zip(
                ("acceleration", "levels", "P", "G", "covariance"),
                map(np.asarray, found),
                strict=True,
            )
        ),
    )


def one_shot(x: Batch, rows: slice = slice(None)) -> np.ndarray:
    """`v̇ = a + A⊕ (b − A a)` of some rows at once, by NumPy's pseudoinverse, shape (problems,
    n).
    """
    W = np.linalg.inv(np.linalg.cholesky(x.M)).transpose(0, 2, 1)
    a = np.linalg.solve(x.M, x.f[:, :, None])
    A = x.A[:, rows]
    return (a + W @ np.linalg.pinv(A @ W, rcond=1e-10) @ (x.b[:, rows, None] - A @ a))[:, :, 0]


def kalman(x: Batch, clearance: float) -> tuple[np.ndarray, np.ndarray]:
    """The textbook Kalman filter of a static state: state v̇ with prior mean M⁻¹f and covariance
    M⁻¹; each row is a measurement.

    Returns mean and covariance after all rows. It is independent of the recursion: it processes row
    by row, without weights and without a pseudoinverse.
    """
    mean, P = np.linalg.solve(x.M, x.f[:, :, None])[:, :, 0], np.linalg.inv(x.M)
    for i in range(x.A.shape[1]):
        h = x.A[:, i]
        Ph = np.einsum("kij,kj->ki", P, h)
        # one measurement at a time, so that the filter inverts numbers, not matrices
        S = np.einsum("ki,ki->k", h, Ph) + clearance
        gain = Ph / S[:, None]
        mean = mean + gain * (x.b[:, i] - np.einsum("ki,ki->k", h, mean))[:, None]
        P = P - gain[:, :, None] * Ph[:, None]
    return mean, P
