"""Comparison of eight principles of mechanics for one acceleration.

| method | unknowns | equations | fails at |
|---|---|---|---|
| Newton-Euler | n + m | `[M −Aᵀ; A 0] [v̇; λ] = [F; b]` | redundant rows, rank loss |
| Lagrange multipliers | m | `(A M⁻¹Aᵀ) λ = b − A a` | redundant rows, rank loss, singular M |
| Gauss | n | `min ½ (v̇ − a)ᵀ M (v̇ − a)` with `A v̇ = b` | redundant rows, singular M |
| Appell-Gibbs | n − r | `∂S/∂π̈ = 0`, `S = ½ v̇ᵀ M v̇ − Fᵀ v̇` | π that become dependent |
| Maggi | n | `[Γᵀ M; A] v̇ = [Γᵀ F; b]` | the same |
| Kane | n − r | `Γᵀ M Γ u̇ = Γᵀ (F − M c)`, `v̇ = Γ u̇ + c` | the same |
| null space | n − r | `R Rᵀ (M v̇ − F) = 0`, orthonormal R | nothing; a decision of rank |
| Udwadia-Kalaba | none | `v̇ = a + A⊕ (b − A a)` | nothing; singular M needs its form |

Γ follows from the choice of r dependent velocities, the first ones of column pivoting.
Reference: review of the Udwadia-Kalaba approach, section 6.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg

from zwang.algebra.mass_matrix import dense_mass
from zwang.algebra.pseudoinverse import Proximal
from zwang.algebra.rank import DEPENDENT_ROWS, rank_of
from zwang.dynamics.evaluation import evaluate
from zwang.dynamics.model import Model
from zwang.dynamics.motion import motion
from zwang.errors import ModelError
from zwang.inputs.arguments import instance
from zwang.inputs.call import misfits_named


@dataclasses.dataclass(frozen=True)
class Principle:
    """One method at one state.

    Attributes:
        name: of the method.
        acceleration: v̇, shape (nv,); None if it fails.
        unknowns: numbers that it solves for.
        operations: multiplications and additions of its linear algebra, in leading order.
        failure: reason why it gives no acceleration; empty otherwise.
    """

    name: str
    acceleration: np.ndarray | None
    unknowns: int
    operations: int
    failure: str = ""


@dataclasses.dataclass(frozen=True)
class SideBySide:
    """The methods of the table above at one state.

    Attributes:
        principles: one for each, in the order of the table.
        rank: rank of A.
    """

    principles: tuple[Principle, ...]
    rank: int

    def difference(self) -> float:
        """Largest of `differences`."""
        return max(self.differences().values())

    def differences(self) -> dict[str, float]:
        """By method, the largest difference from the acceleration of Udwadia and Kalaba, relative
        to its largest entry, for methods that give an acceleration.
        """
        reference = self.principles[-1].acceleration
        assert reference is not None
        size = np.abs(reference).max(initial=0.0) or 1.0
        return {
            x.name: float(np.abs(x.acceleration - reference).max(initial=0.0)) / size
            for x in self.principles
            if x.acceleration is not None
        }

    def __str__(self) -> str:
        off = self.differences()
        rows = [
            f"{x.name:22s}{x.unknowns:9d}{x.operations:12d}  "
            + (x.failure or f"differs by {off[x.name]:.1e}")
            for x in self.principles
        ]
        return "\n".join([f"{'method':22s}{'unknowns':>9s}{'operations':>12s}", *rows])

    __repr__ = __str__


@dataclasses.dataclass(frozen=True)
class _Problem:
    """M, F, A, b as arrays, and the split into dependent and independent velocities."""

    M: np.ndarray
    F: np.ndarray
    A: np.ndarray
    b: np.ndarray
    rank: int
    order: np.ndarray

    @property
    def free(self) -> np.ndarray:
        """M⁻¹ F."""
        return scipy.linalg.solve(self.M, self.F, assume_a="pos")

    def split(self) -> tuple[np.ndarray, np.ndarray]:
        """Γ and c with `v̇ = Γ s + c` for any s, from the rows and columns chosen by pivoting."""
        n, r = len(self.F), self.rank
        dependent, chosen = self.order[:r], self.order[r:]
        # independent rows are also chosen by pivoting, because redundant rows would make the block
        # below singular
        rows = _pivoted(self.A.T)[1][:r] if r else np.zeros(0, int)
        A = self.A[rows]
        G, c = np.zeros((n, n - r)), np.zeros(n)
        G[chosen] = np.eye(n - r)
        if r:
            G[dependent] = -np.linalg.solve(A[:, dependent], A[:, chosen])
            c[dependent] = np.linalg.solve(A[:, dependent], self.b[rows])
        return G, c


def _pivoted(A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """R of the QR factorization with column pivoting, and the order of the columns."""
    found = scipy.linalg.qr(A, mode="r", pivoting=True)
    return np.asarray(found[0]), np.asarray(found[-1])


def _independent(problem: _Problem) -> None:
    if problem.rank < len(problem.b):
        raise ModelError(f"{len(problem.b)} rows of rank {problem.rank}: singular")


def _newton_euler(x: _Problem) -> np.ndarray:
    _independent(x)
    n, m = len(x.F), len(x.b)
    K = np.block([[x.M, -x.A.T], [x.A, np.zeros((m, m))]])
    return np.linalg.solve(K, np.concatenate([x.F, x.b]))[:n]


def _lagrange(x: _Problem) -> np.ndarray:
    _independent(x)
    spread = scipy.linalg.solve(x.M, x.A.T, assume_a="pos")
    multipliers = np.linalg.solve(x.A @ spread, x.b - x.A @ x.free)
    return x.free + spread @ multipliers


def _gauss(x: _Problem) -> np.ndarray:
    """By LAPACK's least squares with equality constraints."""
    _independent(x)
    if not len(x.b):
        return x.free
    L = np.linalg.cholesky(x.M)
    (dgglse,) = scipy.linalg.get_lapack_funcs(("gglse",), (x.M,))
    solution, _ = dgglse(L.T, x.A, L.T @ x.free, x.b)[-2:]
    return solution


def _appell(x: _Problem) -> np.ndarray:
    """By the derivatives of Gibbs' function of the independent accelerations."""
    G, c = x.split()

    def gibbs(s):
        a = G @ s + c
        return 0.5 * a @ x.M @ a - x.F @ a

    zero = jnp.zeros(G.shape[1])
    s = np.linalg.solve(np.asarray(jax.hessian(gibbs)(zero)), -np.asarray(jax.grad(gibbs)(zero)))
    return G @ s + c


def _maggi(x: _Problem) -> np.ndarray:
    _independent(x)
    G, _ = x.split()
    return np.linalg.solve(np.vstack([G.T @ x.M, x.A]), np.concatenate([G.T @ x.F, x.b]))


def _kane(x: _Problem) -> np.ndarray:
    G, c = x.split()
    return G @ np.linalg.solve(G.T @ x.M @ G, G.T @ (x.F - x.M @ c)) + c


def _null_space(x: _Problem) -> np.ndarray:
    _, _, Vt = np.linalg.svd(x.A, full_matrices=True)
    R = Vt[x.rank :].T
    c = np.linalg.lstsq(x.A, x.b, rcond=DEPENDENT_ROWS)[0]
    return R @ np.linalg.solve(R.T @ x.M @ R, R.T @ (x.F - x.M @ c)) + c


METHODS: dict[str, tuple[Callable, Callable[[int, int, int], int], Callable]] = {
    "Newton-Euler": (_newton_euler, lambda n, m, r: n + m, lambda n, m, r: 2 * (n + m) ** 3 // 3),
    "Lagrange multipliers": (
        _lagrange,
        lambda n, m, r: m,
        lambda n, m, r: n**3 // 3 + 4 * n * n * m + 2 * m**3 // 3,
    ),
    "Gauss": (_gauss, lambda n, m, r: n, lambda n, m, r: n**3 // 3 + 4 * n * n * (n + m) // 3),
    "Appell-Gibbs": (
        _appell,
        lambda n, m, r: n - r,
        lambda n, m, r: 4 * n * n * (n - r) + 2 * r**3 // 3,
    ),
    "Maggi": (
        _maggi,
        lambda n, m, r: n,
        lambda n, m, r: 2 * n * n * (n - r) + 2 * (n**3 + r**3) // 3,
    ),
    "Kane": (_kane, lambda n, m, r: n - r, lambda n, m, r: 4 * n * n * (n - r) + 2 * r**3 // 3),
    "null space": (
        _null_space,
        lambda n, m, r: n - r,
        lambda n, m, r: 12 * n**3 + 4 * n * n * (n - r),
    ),
}
"""Name → method, unknowns and operations from n, m and the rank."""


@misfits_named
def side_by_side(model: Model, q, v, t=0.0, *, params=None) -> SideBySide:
    """The acceleration of a model at one state by eight principles of mechanics.

    Args:
        model: a model without a servo and with ideal constraints.
        q, v, t, params: as in `zw.motion`.

    Returns:
        A `SideBySide`: `.principles`, `.difference()`; printed as a table.

    Raises:
        ModelError: for a model with a servo or nonideal constraints.

    Reference: review of the Udwadia-Kalaba approach, section 6; Papastavridis (2002), Analytical
        Mechanics, for Maggi's and Appell's equations.

    Example:
        >>> print(side_by_side(model, q=[1.0, 0.0], v=[0.0, 2.0]))
    """
    instance(model, Model, "side_by_side: model", "a zw.Model")
    # the principles of textbooks assume ideal constraints
    if model.servo is not None or any(c.nonideal for c in model.constraints.members):
        raise ModelError(
            f"{model.name}: side_by_side compares ideal constraints without a servo; take "
            "model.passive, or leave nonideal= out."
        )
    answer, state = motion(model, q, v, t, params=params), model.state(q, v, t)
    at = evaluate(model.dynamics(params, Proximal()), state)
    M, F, A, b = dense_mass(np.asarray(at.M)), *(np.asarray(x) for x in (at.F, at.A, at.b))
    rank, order = 0, np.arange(len(F))
    if len(b):
        R, order = _pivoted(A)
        pivots = np.abs(np.diag(R))
        rank = rank_of(pivots)
    problem, sizes = _Problem(M, F, A, b, rank, order), (len(F), len(b), rank)
    found = [
        _tried(name, method, problem, unknowns(*sizes), operations(*sizes))
        for name, (method, unknowns, operations) in METHODS.items()
    ]
    n, m, _ = sizes
    cost = n**3 // 3 + n * n * m + m * m * n + m**3 // 3 + 6 * m * m
    found.append(Principle("Udwadia-Kalaba", np.asarray(answer.acceleration), 0, cost))
    return SideBySide(tuple(found), rank)


def _tried(name: str, method: Callable, problem: _Problem, unknowns: int, cost: int) -> Principle:
    try:
        return Principle(name, method(problem), unknowns, cost)
    except (ModelError, np.linalg.LinAlgError) as error:
        return Principle(name, None, unknowns, cost, str(error))
