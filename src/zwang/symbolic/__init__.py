"""Closed forms: conversion of models to and from SymPy, and the equation of motion as formulas.

| function | result |
|---|---|
| `equations(model)` | M, F, φ, ψ, A, b of a model as SymPy matrices |
| `derive(model)` | v̇, Q_c, u in closed form, printed as programs that are executed and compared |
| `from_lagrangian(L, q)` | a model from a Lagrangian and constraints in SymPy |
| `from_mechanics(method)` | a model from `sympy.physics.mechanics` |
| `weighted_pseudoinverse(A, M)` | A⊕ of any rank in closed form |

It needs the extra `symbolic` (SymPy).
"""

from __future__ import annotations

from zwang.objects.extras import require

try:
    import sympy as _sympy  # noqa: F401
except ImportError:
    require("sympy", "symbolic", "a closed form")
    raise

from zwang.symbolic.derivation import Derivation as Derivation
from zwang.symbolic.derivation import derive as derive
from zwang.symbolic.equations import SymbolicEquations as SymbolicEquations
from zwang.symbolic.equations import symbolic_equations as equations  # noqa: F401
from zwang.symbolic.lagrangian import from_lagrangian as from_lagrangian
from zwang.symbolic.mechanics import from_mechanics as from_mechanics
from zwang.symbolic.pseudoinverse import weighted_pseudoinverse as weighted_pseudoinverse
