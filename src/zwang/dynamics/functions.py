"""The functions of a model at a state: the only ones that call what the user wrote along a motion.

Native programs trace each of them once (`zwang.compile.hints.traced_once`).
"""

from __future__ import annotations

import jax.numpy as jnp

from zwang.compile.hints import traced_once
from zwang.dynamics.matrix_structure import AbstractStructure
from zwang.equations.constraint import Constraints
from zwang.equations.state import State
from zwang.equations.system import System


@traced_once
def position_residual(constraints: Constraints, q, t, p):
    return constraints.position_residual(q, t, p)


@traced_once
def velocity_residual(constraints: Constraints, q, v, t, p):
    return constraints.velocity_residual(q, v, t, p)


@traced_once
def residuals(constraints: Constraints, q, v, t, p):
    return constraints.residuals(q, v, t, p)


@traced_once
def rhs(constraints: Constraints, q, v, t, p):
    return constraints.rhs(q, v, t, p)


@traced_once
def linearized(structure: AbstractStructure, constraints: Constraints, s: State, p):
    return structure.linearized(constraints, s, p)


def matrix(structure: AbstractStructure, constraints: Constraints, s: State, p):
    # A alone would be another trace, which takes longer than to leave φ and ψ out of the code
    return linearized(structure, constraints, s, p)[0]


@traced_once
def mass_matrix(system: System, q, v, t, p):
    return jnp.asarray(system.mass_matrix(q, t, p), dtype=v.dtype)


@traced_once
def force(system: System, q, v, t, p):
    return jnp.asarray(system.force(q, v, t, p), dtype=v.dtype)
