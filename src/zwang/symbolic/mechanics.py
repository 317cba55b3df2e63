"""Models from `sympy.physics.mechanics`, with bodies, loads and joints stated there."""

# pyright: reportArgumentType=false, reportIndexIssue=false, reportAttributeAccessIssue=false
# pyright: reportCallIssue=false
# SymPy's annotations do not declare that a matrix is iterable or what `cse` returns.

from __future__ import annotations

from collections.abc import Mapping

import sympy as sp
from sympy.physics.mechanics import KanesMethod, LagrangesMethod, dynamicsymbols
from sympy.physics.mechanics.system import System as MechanicsSystem

from zwang.dynamics.model import Model
from zwang.errors import ModelError
from zwang.inputs.arguments import shown
from zwang.symbolic.functions import Names
from zwang.symbolic.lagrangian import assembled


def from_mechanics(method, params: Mapping | None = None, *, name: str = "model") -> Model:
    """Make a model from a method of `sympy.physics.mechanics`.

        M(q, t) u̇ = F(q, u, t),   q̇ = N u + n,   φ(q, t) = 0,   ψ(q, u, t) = 0

    The method is a `KanesMethod`, `LagrangesMethod` or `System`. All speeds are treated as
    independent; relations declared there for dependent speeds become constraints, so that their
    forces are results and no speed has to be chosen as dependent. Auxiliary speeds, which give such
    forces there, are zero.

    Args:
        method: one of them; its equations are formed if they are not yet.
        params: value of each parameter, by symbol or by name. A function of time that is neither
            coordinate nor speed (`F = dynamicsymbols("F")`, an external force) is one, too: it
            is an input of `zw.analysis.linearize` and `zw.Plant` by its name.
        name: name of the model.

    Raises:
        ModelError: for another object, or a symbol without a value.

    Reference: Kane and Levinson (1985), Dynamics: Theory and Applications.

    Example:
        >>> model = zw.symbolic.from_mechanics(KanesMethod(...), params={m: 1.0, g: 9.81})
    """
    if isinstance(method, MechanicsSystem):
        return _from_system(method, params, name)
    if isinstance(method, KanesMethod):
        return _from_kane(method, params, name)
    if isinstance(method, LagrangesMethod):
        return _from_lagrange(method, params, name)
    raise ModelError(
        f"from_mechanics got {shown(method)}, expected a KanesMethod, LagrangesMethod or System of "
        "sympy.physics.mechanics."
    )


def _free(frame, q, u, auxiliary, rates, bodies, loads):
    """M, F and q̇ of bodies whose speeds are all independent, by Kane's method."""
    # All speeds are independent: constraints are enforced here, not eliminated there.
    kane = KanesMethod(
        frame, q_ind=list(q), u_ind=list(u), kd_eqs=list(rates), u_auxiliary=auxiliary or None
    )
    kane.kanes_equations(list(bodies), list(loads) if loads else [])
    found = kane.kindiffdict()
    t, still = dynamicsymbols._t, _still(auxiliary)
    at_rest = lambda e: e.subs(still)
    M, F = kane.mass_matrix.applyfunc(at_rest), kane.forcing.applyfunc(at_rest)
    return M, F, [at_rest(found[x.diff(t)]) for x in q]


def _still(auxiliary) -> list[tuple]:
    """Substitutions of auxiliary speeds by zero, their rates first."""
    return [(u.diff(dynamicsymbols._t), 0) for u in auxiliary] + [(u, 0) for u in auxiliary]


def _from_kane(kane: KanesMethod, params, name: str) -> Model:
    q, u, auxiliary = list(kane.q), list(kane.u), list(kane._uaux or [])
    t = dynamicsymbols._t
    rates = [q_i.diff(t) - kane.kindiffdict()[q_i.diff(t)] for q_i in q]
    frame = kane._inertial
    M, F, rate = _free(frame, q, u, auxiliary, rates, kane.bodies, kane.loads)
    phi = list(kane._f_h) if kane._f_h is not None else []
    # k u + f over all speeds; it includes the rates of φ, which are redundant but harmless.
    psi = list(kane._k_nh * sp.Matrix(u) + kane._f_nh) if kane._f_nh else []
    psi = [e.subs(_still(auxiliary)) for e in psi]
    return _model(q, u, params, M, F, rate, phi, psi, name)


def _from_system(system: MechanicsSystem, params, name: str) -> Model:
    q, u, auxiliary = list(system.q), list(system.u), list(system.u_aux)
    loads = [*system.loads]
    for actuator in system.actuators:
        loads.extend(actuator.to_loads())
    rates = list(system.kdes)
    M, F, rate = _free(system.frame, q, u, auxiliary, rates, system.bodies, loads)
    phi, psi = list(system.holonomic_constraints), list(system.nonholonomic_constraints)
    psi = [sp.sympify(e).subs(_still(auxiliary)) for e in psi]
    return _model(q, u, params, M, F, rate, phi, psi, name)


def _from_lagrange(lagrange: LagrangesMethod, params, name: str) -> Model:
    if lagrange.eom is None or lagrange._term1 is None:
        lagrange.form_lagranges_equations()
    q, n = list(lagrange.q), len(lagrange.q)
    M, F = lagrange.mass_matrix[:n, :n], lagrange.forcing[:n, :]
    phi = list(lagrange._hol_coneqs) if lagrange._hol_coneqs is not None else []
    both = list(lagrange.coneqs) if lagrange.coneqs is not None else []
    # SymPy lists the rates of holonomic constraints first; they follow from φ.
    psi = both[len(phi) :]
    names = Names(q, None, params)
    return assembled(names, M, F, None, *_constraints(phi, psi), None, name)


def _model(q, u, params, M, F, rate, phi, psi, name: str) -> Model:
    names = Names(q, u, params)
    t = dynamicsymbols._t
    # Velocity constraints may be written with q̇; the model has v.
    known = {x.diff(t): value for x, value in zip(q, rate, strict=True)}
    psi = [e.doit().xreplace(known) for e in map(sp.sympify, psi)]
    return assembled(names, M, F, sp.Matrix(rate), *_constraints(phi, psi), None, name)


def _constraints(phi, psi) -> tuple[dict, dict]:
    holonomic = {f"holonomic {i + 1}": e for i, e in enumerate(phi)}
    return holonomic, {f"nonholonomic {i + 1}": e for i, e in enumerate(psi)}
