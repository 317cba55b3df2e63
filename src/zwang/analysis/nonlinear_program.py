"""Nonlinear programs with sparse derivatives, solved by IPOPT through CasADi.

    minimize f(w)  subject to  lower ≤ g(w) ≤ upper,  lowest ≤ w ≤ highest

Source: Wächter and Biegler (2006), On the implementation of an interior-point filter line-search
    algorithm for large-scale nonlinear programming, Mathematical Programming 106, 25-57.
"""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Callable

import numpy as np

from zwang.objects.extras import require
from zwang.objects.reporting import report
from zwang.thresholds import ALL_BUT_ZERO

ENDED = {"Solve_Succeeded": "optimal", "Solved_To_Acceptable_Level": "optimal, less exactly"}
"""Status of IPOPT for a solution → words of a result."""
UNFINISHED = {
    "User_Requested_Stop": "stopped",
    "Maximum_Iterations_Exceeded": "not optimal yet",
}
"""Status of IPOPT for a point that is not a solution yet."""


@dataclasses.dataclass(frozen=True)
class Pattern:
    """The sparsity pattern of a matrix, compressed by columns. Several values for one entry are
    summed.

    Attributes:
        shape: of the matrix.
        columns: index of the first entry of each column, shape (columns + 1,).
        rows: row of each entry.
        entry: index of the entry to which each given value contributes.
    """

    shape: tuple[int, int]
    columns: np.ndarray
    rows: np.ndarray
    entry: np.ndarray

    @classmethod
    def of(cls, shape: tuple[int, int], rows: np.ndarray, columns: np.ndarray) -> Pattern:
        """The pattern of values at these rows and columns."""
        at, entry = np.unique(columns * shape[0] + rows, return_inverse=True)
        begins = np.searchsorted(at, np.arange(shape[1] + 1) * shape[0])
        return cls(shape, begins, at % shape[0], entry)

    @property
    def places(self) -> tuple[np.ndarray, np.ndarray]:
        """Row and column of each given value."""
        columns = np.repeat(np.arange(self.shape[1]), np.diff(self.columns))
        return self.rows[self.entry], columns[self.entry]

    def values(self, given: np.ndarray) -> np.ndarray:
        """The entries, computed from the given values."""
        return np.bincount(self.entry, given, len(self.rows))


@dataclasses.dataclass(frozen=True)
class NonlinearProgram:
    """A nonlinear program, given by functions of w, shape (n,).

    Attributes:
        objective, gradient: f and its gradient, shape (n,).
        constraints, jacobian: g, shape (m,), and the values for `jacobian_pattern`.
        hessian: (w, σ, λ) → the values of σ ∇²f + Σ λ ∇²g for `hessian_pattern`, on and above the
            diagonal.
        jacobian_pattern, hessian_pattern: sparsity patterns of these matrices.
        lower, upper, lowest, highest: limits of g and w.
    """

    objective: Callable[[np.ndarray], float]
    gradient: Callable[[np.ndarray], np.ndarray]
    constraints: Callable[[np.ndarray], np.ndarray]
    jacobian: Callable[[np.ndarray], np.ndarray]
    hessian: Callable[[np.ndarray, float, np.ndarray], np.ndarray]
    jacobian_pattern: Pattern
    hessian_pattern: Pattern
    lower: np.ndarray
    upper: np.ndarray
    lowest: np.ndarray
    highest: np.ndarray

    def missed(self, w: np.ndarray) -> np.ndarray:
        """Violation of each constraint, shape (m,)."""
        return self.beyond(self.constraints(w))

    def beyond(self, g: np.ndarray) -> np.ndarray:
        """Distance of values of g from their admissible intervals."""
        return np.maximum(0.0, np.maximum(self.lower - g, g - self.upper))


@dataclasses.dataclass(frozen=True)
class Optimum:
    """The result of the solver.

    Attributes:
        w: the point.
        status: IPOPT's status.
        history: objective and largest violation by iteration, shape (iterations, 2).
    """

    w: np.ndarray
    status: str
    history: np.ndarray

    @property
    def found(self) -> bool:
        """True if w is a solution."""
        return self.status in ENDED


def solved(
    program: NonlinearProgram,
    w: np.ndarray,
    *,
    near: bool = False,
    tolerance: float,
    most_iterations: int,
) -> Optimum:
    """The solution that IPOPT finds from an initial point, or its last point. Ctrl-C ends the
    search after the current iteration.

    Args:
        program: the program.
        w: the initial point.
        near: True if this is near a solution, so that it is not moved away from its limits.
        tolerance: of the scaled optimality conditions.
        most_iterations: largest number of iterations.
    """
    require("casadi", "optimal", "optimal control")
    ca = importlib.import_module("casadi")
    watch = _Watch(program)
    n, m = len(w), len(program.lower)
    sparsity = lambda x: ca.Sparsity(*x.shape, x.columns.tolist(), x.rows.tolist())
    J, H = sparsity(program.jacobian_pattern), sparsity(program.hessian_pattern)
    dense, one = ca.Sparsity.dense, ca.Sparsity.dense(1, 1)
    inner = lambda p: lambda w, _: p(w)
    f, g = inner(program.objective), inner(program.constraints)
    slope = lambda w, _: program.jacobian_pattern.values(program.jacobian(w))
    curved = lambda w, _, s, y: program.hessian_pattern.values(program.hessian(w, float(s[0]), y))
    given, none = dense(n, 1), ca.Sparsity(0, 0)
    made = lambda name, ins, outs, functions: _callback(ca, watch, name, ins, outs, functions)
    oracle = [made("f", [given, none], [one], [f]), made("g", [given, none], [dense(m, 1)], [g])]
    options = {
        "grad_f": made("grad_f", [given, none], [one, dense(n, 1)], [f, inner(program.gradient)]),
        "jac_g": made("jac_g", [given, none], [dense(m, 1), J], [g, slope]),
        "hess_lag": made("hess_lag", [given, none, one, dense(m, 1)], [H], [curved]),
        "iteration_callback": _iterations(ca, watch, n, m),
        "print_time": False,
        "no_nlp_grad": True,
        # a step from a distant state may overflow; the solver then shortens it
        "show_eval_warnings": False,
        "ipopt.print_level": 0,
        "ipopt.sb": "yes",
        "ipopt.tol": tolerance,
        "ipopt.constr_viol_tol": tolerance,
        "ipopt.max_iter": most_iterations,
        # a swing-up from a straight line: 5 of 5 problems are solved; with 0.1, the default, 3 of 5
        "ipopt.mu_init": 1.0,
        # limits are satisfied exactly, and not only up to 1e-8
        "ipopt.bound_relax_factor": 0.0,
    }
    start = {"x0": w, "lbx": program.lowest, "ubx": program.highest}
    start |= {"lbg": program.lower, "ubg": program.upper}
    if near:
        # the initial multipliers are those of least squares
        pushed = ("bound_push", "bound_frac", "slack_bound_push", "slack_bound_frac", "mu_init")
        options |= {f"ipopt.{x}": ALL_BUT_ZERO for x in pushed}
    x = ca.MX.sym("x", n)
    problem = {"x": x, "f": oracle[0](x, ca.MX(0, 0)), "g": oracle[1](x, ca.MX(0, 0))}
    try:
        solver = ca.nlpsol("solver", "ipopt", problem, options)
        answer, status = solver(**start), solver.stats()["return_status"]
        w = np.asarray(answer["x"]).ravel()
    except KeyboardInterrupt:
        w, status = watch.last, "User_Requested_Stop"
    if watch.failed is not None:
        raise watch.failed
    return Optimum(w, status, np.array(watch.history).reshape(-1, 2))


class _Watch:
    """The history of the iterations, and an error that was raised in a function."""

    def __init__(self, program: NonlinearProgram):
        self.program = program
        self.history: list[tuple[float, float]] = []
        self.last = np.zeros(len(program.lowest))
        self.stop = False
        self.failed: Exception | None = None

    def iterated(self, w: np.ndarray, f: float, g: np.ndarray) -> None:
        """Record an iteration."""
        largest = float(np.max(self.program.beyond(g), initial=0.0))
        self.history.append((f, largest))
        self.last = w
        report(f"iteration {len(self.history)}: cost {f:.6g}, largest violation {largest:.1e}")


def _callback(ca, watch: _Watch, name: str, ins: list, outs: list, functions: list):
    """A CasADi function with one output for each NumPy function."""

    class Evaluated(ca.Callback):
        def __init__(self):
            ca.Callback.__init__(self)
            self.construct(name, {})

        def get_n_in(self):
            return len(ins)

        def get_n_out(self):
            return len(outs)

        def get_sparsity_in(self, i):
            return ins[i]

        def get_sparsity_out(self, i):
            return outs[i]

        def eval(self, given):
            arrays = [np.asarray(x).ravel() for x in given]
            try:
                found = [np.atleast_1d(f(*arrays)) for f in functions]
            except KeyboardInterrupt:
                watch.stop = True
                found = [f(*arrays) for f in functions]
            except Exception as error:  # keep its own message in place of CasADi's
                watch.failed, watch.stop = error, True
                found = [np.full(x.nnz(), np.nan) for x in outs]
            return [ca.DM(s, np.ravel(x)) for s, x in zip(outs, found, strict=True)]

    return Evaluated()


def _iterations(ca, watch: _Watch, n: int, m: int):
    """The callback that CasADi calls after each iteration."""

    class Iterated(ca.Callback):
        def __init__(self):
            ca.Callback.__init__(self)
            self.construct("iterated", {})

        def get_n_in(self):
            return ca.nlpsol_n_out()

        def get_n_out(self):
            return 1

        def get_sparsity_in(self, i):
            size = {"x": n, "lam_x": n, "f": 1, "g": m, "lam_g": m}.get(ca.nlpsol_out(i), 0)
            return ca.Sparsity.dense(size, 1) if size else ca.Sparsity(0, 0)

        def eval(self, given):
            at = {ca.nlpsol_out(i): np.asarray(x).ravel() for i, x in enumerate(given)}
            try:
                watch.iterated(at["x"], float(at["f"][0]), at["g"])
            except KeyboardInterrupt:
                watch.stop = True
            return [1.0 if watch.stop else 0.0]

    return Iterated()
