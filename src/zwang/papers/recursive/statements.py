"""Proposition 3.1, Theorem 3.2, variables of order k, and a full covariance R."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg

from zwang.dynamics.higher_order import HigherOrder, Relation
from zwang.dynamics.motion import motion
from zwang.hierarchy import enforce
from zwang.papers.claim import Claim, compared
from zwang.papers.misprint import largest, short
from zwang.papers.recursive.problems import ROWS, N, model

SAME_PROJECTOR = 1e-10
"""Largest difference of projectors that count as equal, for random matrices with a condition number
of at most some thousands.
"""
MATRICES = 100
ORDERS = (2, 3)
"""Orders k of the variables."""


def claims() -> list[Claim]:
    """All claims, in the paper's order."""
    return [_orders(), *_projectors(), _composed(), _covariance()]


# --- operators onto the kernel


def matrices(random, rows: int) -> np.ndarray:
    """A random matrix whose last row depends on the others."""
    A = random.normal(size=(rows, N))
    A[-1] = A[:-1].sum(axis=0)
    return A


def onto_kernel(S: np.ndarray, A: np.ndarray) -> float:
    """The distance between the image of S and the kernel of A, by their orthogonal projectors."""
    return largest(projector(scipy.linalg.orth(S, rcond=1e-9)) - kernel(A))


def projector(Q: np.ndarray) -> np.ndarray:
    """The orthogonal projector onto orthonormal columns."""
    return Q @ Q.T


def kernel(A: np.ndarray) -> np.ndarray:
    """The orthogonal projector onto ker A, by singular vectors."""
    return projector(scipy.linalg.null_space(A, rcond=1e-9))


def operators(random, A: np.ndarray) -> dict[str, np.ndarray]:
    """The operators of Proposition 3.1 (i)-(iv) for A."""
    plus, free = np.linalg.pinv(A, rcond=1e-9), np.eye(A.shape[1])
    any_matrix = random.normal(size=plus.shape)
    one = plus + any_matrix - plus @ A @ any_matrix @ A @ plus
    one_four = plus + any_matrix @ (np.eye(len(A)) - A @ plus)
    # a basis of the kernel that is not orthonormal
    Z = scipy.linalg.null_space(A, rcond=1e-9)
    Z = Z @ random.normal(size=(Z.shape[1], Z.shape[1]))
    rows = orthonormal(A)
    return {
        "(i)": Z,
        "(ii)": free - one @ A,
        "(iii)": free - one_four @ A,
        "(iv)": free - rows.T @ rows,
    }


def orthonormal(A: np.ndarray) -> np.ndarray:
    """The rows of A, orthonormalized one after another, without dependent rows."""
    found = np.zeros((0, A.shape[1]))
    for row in A:
        rest = row
        for _ in range(2):  # twice, to remove round-off
            rest = rest - found.T @ (found @ rest)
        if np.linalg.norm(rest) > 1e-9 * np.linalg.norm(row):
            found = np.vstack([found, rest / np.linalg.norm(rest)])
    return found


def _projectors() -> list[Claim]:
    random = np.random.default_rng(31)
    onto: dict[str, float] = {}
    same, idempotent, oblique = 0.0, 0.0, np.inf
    for k in range(MATRICES):
        A = matrices(random, 2 + k % (N - 2))
        found = operators(random, A)
        for name, S in found.items():
            onto[name] = max(onto.get(name, 0.0), onto_kernel(S, A))
        Y = found["(ii)"]
        idempotent = max(idempotent, largest(Y @ Y - Y) / max(1.0, largest(Y)))
        oblique = min(oblique, largest(Y - Y.T))
        same = max(same, *(largest(found[name] - kernel(A)) for name in ("(iii)", "(iv)")))
    texts = {
        "(i)": ("an orthogonal complement Z is onto ker A", onto["(i)"], ""),
        "(ii)": (
            "I − AᵍA of any {1}-inverse is a projector onto ker A",
            max(onto["(ii)"], idempotent),
            f"Not an orthogonal one: its asymmetry is {short(oblique)} at least.",
        ),
        "(iii), (iv)": (
            "I − AᵍA of any {1,4}-inverse, and I − Â*Â of orthonormal rows Â, are the orthogonal "
            "projector",
            same,
            "",
        ),
    }
    return [
        Claim(
            f"Proposition 3.1 {number}",
            what,
            "that",
            f"off by {short(off)}",
            compared(off < SAME_PROJECTOR),
            f"{MATRICES} matrices with a dependent row. {why}".strip(),
        )
        for number, (what, off, why) in texts.items()
    ]


def _composed() -> Claim:
    """S C for each kind of S and of C."""
    random, worst, count = np.random.default_rng(32), 0.0, 0
    for k in range(MATRICES // 4):
        lower, added = matrices(random, 2), random.normal(size=(2, N))
        if k % 2:
            added[1] = lower[0] - added[0]  # this row depends on the level below
        whole = np.vstack([lower, added])
        for S in operators(random, lower).values():
            for C in operators(random, added @ S).values():
                worst, count = max(worst, onto_kernel(S @ C, whole)), count + 1
    return Claim(
        "Theorem 3.2",
        "S_r onto ker A_r and C onto ker(Ã S_r): S_r C is onto ker A_(r+1)",
        "that",
        f"off by {short(worst)}",
        compared(worst < SAME_PROJECTOR),
        f"{count} pairs: each of the four operators of Proposition 3.1 for S and for C, rows that "
        "depend on the level below among them. The proof shows A S C = 0; that all of the kernel "
        "is reached is measured here.",
    )


# --- a covariance that is a matrix


def _covariance() -> Claim:
    """(4.17), (4.18) with correlated noise within each level."""
    random, worst = np.random.default_rng(417), 0.0
    one, ends = model(), np.cumsum((0, *ROWS))
    for _ in range(10):
        root = random.normal(size=(N, N))
        p = {
            "M": root @ root.T + np.eye(N),
            "f": random.normal(size=N),
            "A": random.normal(size=(sum(ROWS), N)),
            "b": random.normal(size=sum(ROWS)),
        }
        blocks = [random.normal(size=(k, k)) for k in ROWS]
        blocks = [x @ x.T + 0.1 * np.eye(len(x)) for x in blocks]
        noise = {f"level {i}": R for i, R in enumerate(blocks, start=1)}
        top = enforce(one, np.zeros(N), np.zeros(N), params=p, clearance=noise)
        R = np.asarray(scipy.linalg.block_diag(*blocks))
        # the same in one step: the information of all rows together
        stiff = p["M"] + p["A"].T @ np.linalg.solve(R, p["A"])
        right = p["f"] + p["A"].T @ np.linalg.solve(R, p["b"])
        worst = max(
            worst,
            largest(top.acceleration - np.linalg.solve(stiff, right)),
            largest(top.covariance - np.linalg.inv(stiff)),
        )
    sizes = ", ".join(f"{k} × {k}" for k in np.diff(ends))
    return Claim(
        "(4.17), (4.18), matrix R",
        "with a full covariance R of each level: mean and covariance of all rows at once",
        "K R K*, (H̃ P H̃* + R)⁻¹",
        f"differ by {short(worst)}",
        compared(worst < SAME_PROJECTOR),
        f"R of {sizes}; noise of different levels is independent in the recursion.",
    )


# --- variables of order k


def _orders() -> Claim:
    """A point on a circle, with a constraint that is differentiated k times."""
    worst = [_off(k) for k in ORDERS]
    return Claim(
        "section 2, (2.2), order k",
        "a circle in variables of order k: its k-th derivatives obey A q⟨k⟩ = b",
        "A_r q⟨k⟩ = b_r",
        ", ".join(f"k = {k}: {short(x)}" for k, x in zip(ORDERS, worst, strict=True)),
        compared(max(worst) < SAME_PROJECTOR),
        "The derivatives are those of a given motion on the circle, divided by k!; the paper says "
        "that orders above two are possible and computes none.",
    )


def _off(order: int) -> float:
    """Residual of the row for the true k-th derivatives, divided by k!."""
    circle = Relation(lambda x, t, p: x["x"][0] ** 2 + x["y"][0] ** 2 - 1, name="circle")
    one = HigherOrder(
        {"x": order, "y": order},
        mass_matrix=lambda x, t, p: jnp.ones(2),
        force=lambda x, t, p: jnp.zeros(2),
        relations=[circle],
    )
    angle = lambda t: 0.4 + 0.7 * t - 0.3 * t**2 + 0.2 * jnp.sin(t)
    path = lambda t: jnp.stack([jnp.cos(angle(t)), jnp.sin(angle(t))])
    derivatives, at = [], path
    for _ in range(order + 1):
        derivatives.append(np.asarray(at(0.5)))
        at = jax.jacfwd(at)
    jet = np.array(derivatives)
    answer = motion(one, jet[: order - 1].T.ravel(), jet[order - 1])
    off = np.asarray(answer.matrix) @ jet[order] - np.asarray(answer.rhs)
    return largest(off) / math.factorial(order)
