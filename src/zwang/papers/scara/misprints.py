"""Misprinted equations, as printed and as corrected; the errors of both are measured against an
independent value.

All equations are evaluated at one state, with the chain's exponentials and adjoints. The true value
is the closed form (34), its derivative, or the Jacobian `g⁻¹ ġ`.
"""

from __future__ import annotations

import jax
import numpy as np
import scipy.linalg

from zwang.bodies.screws import adjoint, bracket, exponential
from zwang.papers.misprint import Misprint, largest
from zwang.papers.scara import robot

Q, V = np.array([0.3, -0.8, 0.5, 0.1]), np.array([0.7, -0.4, 0.2, 0.3])
"""An arbitrary state without special angles."""


class Screws:
    """The paper's quantities at one state, as NumPy arrays; links and joints are numbered from
    0.
    """

    def __init__(self, q: np.ndarray):
        arm = robot.chain()
        self.xi, self.n, p = arm.params["twist"], len(q), arm.params
        self.steps = np.asarray(jax.jit(exponential)(self.xi, q))
        self.home = np.tile(np.eye(4), (self.n, 1, 1))
        self.home[:, :3, 3] = p["center"]
        self.inertia = [
            scipy.linalg.block_diag(m * np.eye(3), I)
            for m, I in zip(p["mass"], p["inertia"], strict=True)
        ]
        self._adjoint = jax.jit(adjoint)
        self._bracket = jax.jit(bracket)

    def product(self, first: int, last: int) -> np.ndarray:
        """e^(ξ̂ q) of the joints from `first` to `last`; the identity if there are none."""
        return np.linalg.multi_dot([np.eye(4), np.eye(4), *self.steps[first : last + 1]])

    def Ad(self, g: np.ndarray) -> np.ndarray:
        return np.asarray(self._adjoint(g))

    def back(self, g: np.ndarray) -> np.ndarray:
        """Ad_g⁻¹."""
        return np.linalg.inv(self.Ad(g))

    def A(self, i: int, j: int, start: int = 1) -> np.ndarray:
        """A_ij of eq. (25), with its product starting at joint j + `start`."""
        return np.zeros((6, 6)) if i < j else self.back(self.product(j + start, i))

    def bracket(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.asarray(self._bracket(a, b))

    def reflected(self) -> list[np.ndarray]:
        """M'_l of the corrected eq. (26)."""
        back = [self.back(g) for g in self.home]
        return [b.T @ M @ b for b, M in zip(back, self.inertia, strict=True)]

    def mass_matrix(self, reflected, start: int = 1) -> np.ndarray:
        """M of eq. (27)."""
        n, xi = self.n, self.xi
        M = np.zeros((n, n))
        for i, j in np.ndindex(n, n):
            for l in range(max(i, j), n):
                M[i, j] += (
                    xi[i] @ self.A(l, i, start).T @ reflected[l] @ self.A(l, j, start) @ xi[j]
                )
        return M

    def mass_slopes(self, *, as_printed: bool) -> np.ndarray:
        """∂M_ij/∂q_k from eq. (30): the first bracket contains A_ki, printed as A_li."""
        n, xi, reflected = self.n, self.xi, self.reflected()
        A = np.array([[self.A(i, j) for j in range(n)] for i in range(n)])
        slopes = np.zeros((n, n, n))
        for i, j, k in np.ndindex(n, n, n):
            second = self.bracket(A[k, j] @ xi[j], xi[k])
            for l in range(max(i, j), n):
                first = self.bracket((A[l, i] if as_printed else A[k, i]) @ xi[i], xi[k])
                slopes[i, j, k] += first @ A[l, k].T @ reflected[l] @ A[l, j] @ xi[j]
                slopes[i, j, k] += xi[i] @ A[l, i].T @ reflected[l] @ A[l, k] @ second
        return slopes

    def jacobians(self) -> dict[str, np.ndarray]:
        """The body Jacobian of the last link by eq. (17) and (24), as corrected and as printed."""
        last = self.n - 1
        place = self.product(0, last) @ self.home[last]
        columns = {
            "(17)": lambda j: self.back(self.product(j, last) @ self.home[last]),
            "(17) printed": lambda j: self.back(place),
            "(24)": lambda j: self.back(self.home[last]) @ self.A(last, j),
            "(24) printed": lambda j: self.back(place) @ self.A(last, j),
        }
        return {
            name: np.stack([column(j) @ self.xi[j] for j in range(self.n)], axis=1)
            for name, column in columns.items()
        }


def accelerations() -> dict[str, np.ndarray]:
    """q̈ by eq. (8) with M^(1/2), and with M^(−1/2) as printed; by (9), (10) and (53) without
    gains.
    """
    p = robot.numbers()
    M, F = robot.mass_matrix(Q, p), robot.forces(Q, V, p)
    A, b = robot.equation(Q, V, 0.0, p)
    size, axes = np.linalg.eigh(M)
    root, inverse_root = axes * np.sqrt(size) @ axes.T, axes / np.sqrt(size) @ axes.T
    B = A @ inverse_root
    missing = np.linalg.pinv(B) @ (b - A @ np.linalg.solve(M, F))
    whole = np.linalg.solve(np.block([[M, -A.T], [A, np.zeros((4, 4))]]), np.concatenate([F, b]))
    return {
        "(8)": np.linalg.solve(M, F + root @ missing),
        "(8) printed": np.linalg.solve(M, F + inverse_root @ missing),
        "(9)": np.linalg.solve(M, F)
        + inverse_root @ np.linalg.pinv(B) @ (b - B @ inverse_root @ F),
        "(10)": whole[:4],
    }


def misprints() -> list[Misprint]:
    """All misprints that a number can show, in the paper's order."""
    p, screws = robot.numbers(), Screws(Q)
    A, b = robot.equation(Q, V, 0.0, p)
    found = accelerations()
    arm = robot.chain()
    jacobian = np.asarray(jax.jit(lambda q: arm.body_jacobian(q, -1, arm.params))(Q))
    by = screws.jacobians()
    M, slopes = robot.mass_matrix(Q, p), robot.mass_slopes(Q, p)
    place = [screws.product(0, l) @ screws.home[l] for l in range(4)]
    reflected = [
        screws.Ad(g).T @ I @ screws.back(g) for g, I in zip(place, screws.inertia, strict=True)
    ]
    rotation, printed_rotation = _rotation(Q[0] + Q[1] + Q[2]), _rotation(Q[0] + Q[1] + Q[2])
    printed_rotation[0, 0] = np.cos(Q[0] + Q[1] + Q[3])
    tool = np.asarray(jax.jit(lambda q: arm.tool(q, arm.params))(Q))[:3, :3]
    return [
        Misprint(
            "(8)",
            "the equation of motion keeps A q̈ = b",
            "M^(−1/2) B⁺(…)",
            "M^(1/2) B⁺(…)",
            largest(A @ found["(8) printed"] - b),
            largest(A @ found["(8)"] - b),
        ),
        Misprint(
            "(17)",
            "body Jacobian of the last link",
            "ξ_j† with e^(ξ̂₁q₁) … e^(ξ̂ᵢqᵢ)",
            "the product begins at joint j",
            largest(by["(17) printed"] - jacobian),
            largest(by["(17)"] - jacobian),
        ),
        Misprint(
            "(24)",
            "the same by A_ij",
            "Ad⁻¹ of g(q)",
            "Ad⁻¹ of g(0)",
            largest(by["(24) printed"] - jacobian),
            largest(by["(24)"] - jacobian),
        ),
        Misprint(
            "(26)",
            "reflected inertia, by the M of (27) that it gives",
            "Adᵀ of g(q), Ad⁻¹ of g(q)",
            "both of g⁻¹(0)",
            largest(screws.mass_matrix(reflected) - M),
            largest(screws.mass_matrix(screws.reflected()) - M),
        ),
        Misprint(
            "after (30)",
            "∂M/∂q",
            "first bracket [A_li ξᵢ, ξ_k]",
            "[A_ki ξᵢ, ξ_k]",
            largest(screws.mass_slopes(as_printed=True) - slopes),
            largest(screws.mass_slopes(as_printed=False) - slopes),
        ),
        Misprint(
            "(43)",
            "rotation of the tool",
            "c₁₂₄",
            "c₁₂₃; q₄ is a length",
            largest(printed_rotation - tool),
            largest(rotation - tool),
        ),
    ]


def _rotation(angle: float) -> np.ndarray:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
