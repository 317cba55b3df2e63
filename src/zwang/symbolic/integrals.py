"""First integrals of the equation of motion, found symbolically."""

# pyright: reportArgumentType=false, reportIndexIssue=false, reportAttributeAccessIssue=false
# pyright: reportCallIssue=false
# SymPy's annotations do not declare that a matrix is iterable or what `cse` returns.

from __future__ import annotations

import numpy as np
import sympy as sp

from zwang.symbolic.equations import SymbolicEquations

LONGEST_RATE = 600
"""Number of operations of a rate up to which it is tested for zero."""
TRIALS, VANISHING = 3, 1e-9
"""Number of random substitutions before a proof is tried, and their tolerance for zero."""


def first_integrals(found: SymbolicEquations) -> dict[str, sp.Expr]:
    """Momenta of cyclic coordinates and the energy, if symbols show that they are conserved.

    A momentum `p_k = (M v)_k` is conserved if no constraint acts on `v_k` and `F_k + Ṁ v` vanishes,
    both for every state. The energy `½ vᵀ M v + V` is conserved if its power vanishes and the
    constraints are scleronomic and homogeneous in v, so that they do no work. With nonideal
    constraints or servos nothing is searched.

    Returns:
        Name → expression; `"momentum of x"`, `"energy"`.
    """
    if found.servo is not None or found.nonideal is not None or found.definitions:
        return {}
    v, names = sp.Matrix(found.symbols.v), found.model.system.velocities
    momentum = found.M * v
    kept = {}
    for k, name in enumerate(names):
        if any(found.A[i, k] != 0 for i in range(found.A.rows)):
            continue
        if _vanishes(found.F[k] + _rate(found, momentum[k])):
            kept[f"momentum of {name}"] = momentum[k]
    if found.potential is not None and _ideal_and_scleronomic(found):
        energy = found.kinetic + found.potential
        power = (v.T * found.F)[0] + _rate(found, energy)
        if _vanishes(power):
            kept["energy"] = energy
    return kept


def _rate(found: SymbolicEquations, value: sp.Expr) -> sp.Expr:
    """Its rate at constant velocities."""
    q = found.symbols.q
    moved = sp.Add(*(sp.diff(value, s) * rate for s, rate in zip(q, found.rate, strict=True)))
    return moved + sp.diff(value, found.symbols.t)


def _ideal_and_scleronomic(found: SymbolicEquations) -> bool:
    """Return whether `A v = 0` on the constraints, so that `Q_c · v = 0`."""
    if len(found.source.velocity_rows) < found.A.rows or any(
        found.symbols.t in e.free_symbols for e in (*found.psi, *found.rate)
    ):
        return False
    v = sp.Matrix(found.symbols.v)
    return all(_vanishes(e) for e in found.A * v - found.psi)


def _vanishes(expression: sp.Expr) -> bool:
    if sp.count_ops(expression) > LONGEST_RATE:
        return False
    free = sorted(expression.free_symbols, key=str)
    rng = np.random.default_rng(0)
    function = sp.lambdify(free, expression, modules="math")
    for _ in range(TRIALS):  # A proof is slow, and most expressions are not zero.
        if not abs(function(*rng.uniform(0.5, 1.5, len(free)))) < VANISHING:
            return False
    return sp.simplify(sp.expand(expression)) == 0
