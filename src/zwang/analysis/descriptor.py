"""The linear equations before the constraints are solved."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from zwang.analysis.constrained_state import ConstrainedState
from zwang.analysis.inputs import Inputs
from zwang.analysis.local_equations import Variation
from zwang.inputs.text import counted


class Descriptor(NamedTuple):
    """`E ẋ = A x + B u` with x = (ξ, δv, δλ): the equations before the constraints are solved.

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
    """Kinematics, dynamics and constraints as they are, one row for each."""
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
    # constraints at the level of accelerations have no residual of their own to differentiate
    E[2 * nv + outright, nv : 2 * nv] = here.local.A[outright]
    A[2 * nv + outright, : 2 * nv] = -d.rate[outright, : 2 * nv]
    B = np.zeros((2 * nv + m, len(acting.names)))
    B[nv : 2 * nv] = np.hstack([-d.dynamic_input, acting.matrix(here)])
    return Descriptor(E, A, B)
