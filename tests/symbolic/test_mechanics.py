"""Models from `sympy.physics.mechanics` have the accelerations of its own equations."""

import numpy as np
import pytest
from sympy.physics.mechanics import LagrangesMethod, dynamicsymbols

import zwang as zw
from zwang.symbolic import from_mechanics

from .mechanics_examples import EXAMPLES


def own_rates(method, values, q, v):
    """q̇ and u̇ by SymPy's own full mass matrix, at one state."""
    if isinstance(method, LagrangesMethod):
        coordinates = list(method.q)
        speeds = [x.diff(dynamicsymbols._t) for x in coordinates]
    else:
        coordinates, speeds = list(method.q), list(method.u)
    numbers = {**dict(zip(speeds, map(float, v), strict=True))}
    placed = {**dict(zip(coordinates, map(float, q), strict=True))}
    put = lambda e: np.array(e.xreplace(values).subs(numbers).subs(placed), dtype=float)
    if isinstance(method, LagrangesMethod):
        full = np.linalg.solve(put(method.mass_matrix_full), put(method.forcing_full))
        n = len(coordinates)
        return full[:n, 0], full[n : 2 * n, 0]
    full = np.linalg.solve(put(method.mass_matrix_full), put(method.forcing_full))[:, 0]
    return full[: len(coordinates)], full[len(coordinates) :]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", EXAMPLES)
def test_an_imported_system_accelerates_as_sympy_says(name):
    method, values = EXAMPLES[name]()
    model = from_mechanics(method, values)
    rng = np.random.default_rng(3)
    nq, nv = model.system.nq, model.system.nv
    for _ in range(3):
        q, v = rng.uniform(0.3, 0.9, nq), rng.uniform(-1, 1, nv)
        if model.constraints.m:
            state = zw.consistent_state(model, q, v).state
            q, v = np.asarray(state.q), np.asarray(state.v)
        rates, accelerations = own_rates(method, values, q, v)
        found = zw.motion(model, q, v).acceleration
        np.testing.assert_allclose(found, accelerations, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(model.system.rate(q, v, 0.0, model.params), rates, atol=1e-12)


def test_a_symbol_without_a_value_is_named():
    method, values = EXAMPLES["spring_mass_damper"]()
    with pytest.raises(zw.ModelError, match="contains k"):
        from_mechanics(method, {s: x for s, x in values.items() if str(s) != "k"})


def test_something_else_is_refused():
    with pytest.raises(zw.ModelError, match="expected a KanesMethod"):
        from_mechanics(object())
