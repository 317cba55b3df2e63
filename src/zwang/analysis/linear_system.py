"""Linear systems `ẋ = A x + B u, y = C x + D u` with names: poles, zeros, controllability, other
formats.
"""

from __future__ import annotations

import dataclasses
import importlib
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.linalg

from zwang.algebra.decomposition import Decomposition, outside, pivots
from zwang.algebra.spectrum import eigenvalues
from zwang.analysis.constrained_state import ConstrainedState
from zwang.analysis.inputs import Inputs
from zwang.analysis.local_equations import Variation
from zwang.errors import ModelError
from zwang.inputs.text import counted
from zwang.objects.extras import require
from zwang.thresholds import AGREEMENT, ROOT_OF_ROUND_OFF

if TYPE_CHECKING:
    import scipy.signal
    import xarray as xr

    from zwang.analysis.time_varying import TimeVaryingLinearization


@dataclasses.dataclass(frozen=True, eq=False)
class LinearSystem:
    """A linear system with constant coefficients.

    Attributes:
        A, B, C, D: shapes (n, n), (n, nu), (ny, n), (ny, nu).
        states, inputs, outputs: names.
    """

    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    D: np.ndarray
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    @property
    def poles(self) -> np.ndarray:
        """Eigenvalues of A [1/s], the largest real part first, shape (n,)."""
        return eigenvalues(self.A)

    def zeros(self) -> np.ndarray:
        """Invariant zeros [1/s]: values s at which `[A − s I, B; C, D]` loses rank, for equal
        numbers of inputs and outputs.

        Raises:
            ModelError: if there are more outputs than inputs or the reverse.
        """
        n, nu, ny = len(self.A), len(self.inputs), len(self.outputs)
        if nu != ny or not nu:
            raise ModelError(
                f"zeros: the system has {nu} inputs and {ny} outputs, expected as many of both; "
                "choose them by inputs= and outputs= of zw.analysis.linearize."
            )
        pencil = np.block([[self.A, self.B], [self.C, self.D]])
        descriptor = np.asarray(scipy.linalg.block_diag(np.eye(n), np.zeros((ny, nu))))
        found = eigenvalues(pencil, descriptor)
        size = max(np.max(np.abs(self.poles), initial=0.0), 1.0)
        # zeros at infinity appear as large numbers of about one over the square root of round-off
        return found[np.isfinite(found) & (np.abs(found) * ROOT_OF_ROUND_OFF < size)]

    @property
    def reachable(self) -> np.ndarray:
        """An orthonormal basis of the reachable states, shape (n, rank)."""
        return _krylov(self.A, self.B)

    @property
    def observable(self) -> np.ndarray:
        """An orthonormal basis of the observable states, shape (n, rank)."""
        return _krylov(self.A.T, self.C.T)

    def controllability(self) -> Reach:
        """The controllable states, and the names of those that are not controllable."""
        return _reach("controllable", self.reachable, self.states)

    def observability(self) -> Reach:
        """The observable states, and the names of those that are not observable."""
        return _reach("observable", self.observable, self.states)

    def to_scipy(self) -> scipy.signal.StateSpace:
        """The system as a `scipy.signal.StateSpace`.

        Raises:
            ModelError: without inputs or outputs, which SciPy's class does not accept.
        """
        if not self.inputs or not self.outputs:
            raise ModelError(
                "to_scipy: scipy.signal needs at least one input and one output; give inputs= to "
                "zw.analysis.linearize."
            )
        from scipy.signal import StateSpace  # imports for a second, which few need

        return StateSpace(self.A, self.B, self.C, self.D)

    def to_control(self) -> Any:
        """The system as a `control.StateSpace` of python-control, with the names of states, inputs
        and outputs.

        Raises:
            ModelError: if python-control is not installed.
        """
        require("control", "control", "to_control")
        control = importlib.import_module("control")
        # python-control reads a dot in a name as subsystem.signal
        plain = lambda names: [name.replace(".", "_") for name in names]
        return control.ss(
            self.A,
            self.B,
            self.C,
            self.D,
            states=plain(self.states),
            inputs=plain(self.inputs),
            outputs=plain(self.outputs),
        )

    def _variables(self) -> xr.Dataset:
        unit = {"units": "1/s"}
        return matrices(self).assign(
            eigenvalues_real=("eigenvalue", np.real(self.poles), unit),
            eigenvalues_imaginary=("eigenvalue", np.imag(self.poles), unit),
        )


def matrices(system: LinearSystem | TimeVaryingLinearization, *along: str) -> xr.Dataset:
    """A, B, C and D with the names of states, inputs and outputs, with an optional leading axis."""
    import xarray as xr

    axes = {
        "A": ("state", "state_"),
        "B": ("state", "input"),
        "C": ("output", "state_"),
        "D": ("output", "input"),
    }
    data = {x: ((*along, *own), getattr(system, x)) for x, own in axes.items()}
    names = {"state": system.states, "state_": system.states}
    names |= {"input": system.inputs, "output": system.outputs}
    return xr.Dataset(data, {axis: list(x) for axis, x in names.items() if x})


@dataclasses.dataclass(frozen=True)
class Reach:
    """The controllable or observable states.

    Attributes:
        what: "controllable" or "observable".
        rank, n: dimension of their space, and number of all states.
        missing: names of the states that describe the complement best.
        directions: orthonormal basis of the complement, in columns, shape (n, n − rank).
    """

    what: str
    rank: int
    n: int
    missing: tuple[str, ...]
    directions: np.ndarray = dataclasses.field(repr=False)

    def __bool__(self) -> bool:
        return self.rank == self.n

    def __str__(self) -> str:
        if self:
            return f"{self.what}: all {self.n} states"
        return f"{self.what}: {self.rank} of {self.n} states; not {', '.join(self.missing)}"

    __repr__ = __str__


def _reach(what: str, kept: np.ndarray, states: tuple[str, ...]) -> Reach:
    n, rank = kept.shape
    rest = Decomposition(kept).left_kernel
    return Reach(what, rank, n, tuple(states[i] for i in pivots(rest.T)), rest)


def _krylov(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Orthonormal basis of span{B, A B, A² B …}. Each power is orthogonalized before the next,
    which avoids the overflow of the controllability matrix.
    """
    # time is scaled so that A and B have entries of size one
    A = A / max(np.linalg.norm(A, 2) if A.size else 0.0, 1e-300)
    kept, new = np.zeros((len(A), 0)), B / max(np.max(np.abs(B), initial=0.0), 1e-300)
    while new.shape[1] and kept.shape[1] < len(A):
        # AGREEMENT: shortest direction, relative to the entries of A and B, that counts as reached
        new = Decomposition(outside(new.T, kept.T).T, AGREEMENT, beside=1.0).range
        kept = np.hstack([kept, new])
        new = A @ new
    return kept


class Descriptor(NamedTuple):
    """`E ẋ = A x + B u` with x = (ξ, δv, δλ): the linear equations including constraints.

    Attributes:
        E, A, B: shapes (2 nv + m, 2 nv + m) twice and (2 nv + m, nu).
    """

    E: np.ndarray
    A: np.ndarray
    B: np.ndarray

    def __repr__(self) -> str:
        unknowns, inputs = counted(len(self.A), "unknown"), counted(self.B.shape[1], "input")
        return f"Descriptor(E ẋ = A x + B u of {unknowns} and {inputs})"


def descriptor(here: ConstrainedState, d: Variation, acting: Inputs) -> Descriptor:
    """The rows of kinematics, dynamics and constraints without elimination."""
    system, rows = here.dynamics.system, here.dynamics.constraints
    nv, m = system.nv, rows.m
    nonholonomic = np.isin(rows.velocity_rows, rows.nonholonomic_rows)
    outright = rows.outright_rows
    zero = np.zeros((nv, m))
    E = np.zeros((2 * nv + m, 2 * nv + m))
    E[:nv, :nv], E[nv : 2 * nv, nv : 2 * nv] = np.eye(nv), here.local.M
    A = np.zeros_like(E)
    A[:nv] = np.hstack([d.kinematic[:, : 2 * nv], zero])
    A[nv : 2 * nv] = np.hstack(
        [
            -d.dynamic[:, : 2 * nv] - here.local.M @ d.generator[:, : 2 * nv],
            here.local.A.T + here.local.pull,
        ]
    )
    A[2 * nv + rows.position_rows, : 2 * nv] = d.phi[:, : 2 * nv]
    A[2 * nv + rows.nonholonomic_rows, : 2 * nv] = d.psi[nonholonomic, : 2 * nv]
    # constraints at the level of accelerations have no residual that could be differentiated
    E[2 * nv + outright, nv : 2 * nv] = here.local.A[outright]
    A[2 * nv + outright, : 2 * nv] = -d.rate[outright, : 2 * nv]
    B = np.zeros((2 * nv + m, len(acting.names)))
    B[nv : 2 * nv] = np.hstack([-d.dynamic_input, acting.matrix_at(here)])
    return Descriptor(E, A, B)
