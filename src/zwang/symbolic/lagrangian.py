"""Models from a Lagrangian, and parts of a model from SymPy expressions."""

# pyright: reportArgumentType=false, reportIndexIssue=false, reportAttributeAccessIssue=false
# pyright: reportCallIssue=false
# SymPy's annotations do not declare that a matrix is iterable or what `cse` returns.

from __future__ import annotations

from collections.abc import Mapping, Sequence

import jax.numpy as jnp
import sympy as sp

from zwang.dynamics.model import Model
from zwang.equations.constraint import Holonomic, Nonholonomic
from zwang.equations.system import System
from zwang.symbolic.functions import Names


def from_lagrangian(
    lagrangian,
    q: Sequence,
    *,
    params: Mapping | None = None,
    force: Sequence | None = None,
    holonomic: Mapping[str, object] | Sequence = (),
    nonholonomic: Mapping[str, object] | Sequence = (),
    potential=None,
    name: str = "model",
) -> Model:
    """Make a model from a Lagrangian in SymPy.

        M = ∂²L/∂q̇²,   F = Q − (∂²L/∂q̇∂q q̇ + ∂²L/∂q̇∂t) + ∂L/∂q

    Args:
        lagrangian: L of coordinates and their rates [J].
        q: coordinates: dynamic symbols, `dynamicsymbols("x y")`, with their derivatives as
            velocities; or plain symbols, with `x_dot` as the rate of `x`. Time is `t`.
        params: value of each parameter, by symbol or by name.
        force: generalized force Q without potential, one entry for each coordinate.
        holonomic: φ by name, or a list of them; each an expression or a list of rows.
        nonholonomic: ψ in the same way.
        potential: potential energy, for the energy of a run.
        name: name of the model.

    Raises:
        ModelError: for a symbol that is neither coordinate, rate, time nor parameter.

    Example:
        >>> x, y = dynamicsymbols("x y"); m, g, l = sp.symbols("m g l")
        >>> L = m * (x.diff()**2 + y.diff()**2) / 2 - m * g * y
        >>> zw.symbolic.from_lagrangian(L, [x, y], params={m: 1.0, g: 9.81, l: 1.0},
        ...                             holonomic={"rod": x**2 + y**2 - l**2})
    """
    # Plain symbols first: derivatives by dynamic symbols and their rates are not partial ones.
    names = Names(q, None, params)
    L, v, plain = names.replaced(lagrangian), sp.Matrix(names.v), sp.Matrix(names.q)
    momentum = sp.Matrix([L]).jacobian(v).T
    M = momentum.jacobian(v)
    # the terms of d/dt (∂L/∂v) without v̇
    drift = momentum.jacobian(plain) * v + momentum.diff(names._t)
    F = sp.Matrix([L]).jacobian(plain).T - drift
    if force is not None:
        F = F + names.replaced(list(force))
    return assembled(names, M, F, None, holonomic, nonholonomic, potential, name)


def assembled(names: Names, M, F, rate, holonomic, nonholonomic, potential, name: str) -> Model:
    """Make a model from M, F, q̇ = rate(q, v, t) or None, and residuals, all in SymPy."""
    velocity_map = offset = None
    if rate is not None:
        plain, v = names.replaced(rate), sp.Matrix(names.v)
        N = plain.jacobian(v)
        # q̇ = N v + n: the remainder n must not contain v
        rest = (plain - N * v).applyfunc(sp.simplify)
        velocity_map = names.function(N, "the velocity map", with_v=False)
        if any(rest):
            offset = names.function(rest, "the offset of q̇", with_v=False)
    nq, nv = len(names.q), len(names.v)
    mass = names.function(M, "the mass matrix", with_v=False)
    # where q̇ = v, the rates keep the names of the coordinates
    same = names.velocities if nq != nv or rate is not None else None
    system = System(
        nq,
        lambda q, t, p: mass(q, t, p).reshape(nv, nv),
        names.function(F, "the force", with_v=True),
        nv=nv,
        velocity_map=None
        if velocity_map is None
        else lambda q, t, p: velocity_map(q, t, p).reshape(nq, nv),
        offset=offset,
        potential=None
        if potential is None
        else names.function(potential, "the potential", with_v=False),
        coordinates=names.coordinates,
        velocities=same,
    )
    constraints = [
        Holonomic(_rows(names, phi, f"constraint {key!r}", False), name=key)
        for key, phi in _named(holonomic, "holonomic").items()
    ] + [
        Nonholonomic(_rows(names, psi, f"constraint {key!r}", True), name=key)
        for key, psi in _named(nonholonomic, "nonholonomic").items()
    ]
    params = {k: jnp.asarray(x, float) for k, x in names.params.items()}
    return Model(system, constraints, params, name=name)


def _rows(names: Names, residual, what: str, with_v: bool):
    many = isinstance(residual, (list, tuple, sp.MatrixBase))
    return names.function(list(residual) if many else [residual], what, with_v=with_v)


def _named(given, kind: str) -> dict:
    if isinstance(given, Mapping):
        return {str(k): x for k, x in given.items()}
    return {f"{kind} {i + 1}": x for i, x in enumerate(given)}
