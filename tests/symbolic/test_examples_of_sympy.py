"""Systems that SymPy contains: those of its documentation, from its own tests and models.

They are not copied here: a test of SymPy is run until its equations are formed, and the object that
it formed is imported. Both right-hand sides are evaluated at random states.
"""

import contextlib
import doctest
import importlib
import io

import numpy as np
import pytest
import sympy as sp
from sympy.core.function import AppliedUndef
from sympy.physics.mechanics import KanesMethod, LagrangesMethod, System, models

import zwang as zw
from zwang.symbolic import from_mechanics

BICYCLE = {
    "WFrad": 0.35, "WRrad": 0.3, "htangle": 1.2566370614, "forkoffset": 0.0320714,
    "forklength": 0.2676, "framelength": 0.9535, "forkcg1": 0.0207, "forkcg3": 0.0279,
    "framecg1": 0.4706, "framecg3": 0.4780, "Iwr11": 0.0603, "Iwr22": 0.12, "Iwf11": 0.1405,
    "Iwf22": 0.28, "Ifork11": 0.05892, "Ifork22": 0.06, "Ifork33": 0.00708, "Ifork31": 0.00756,
    "Iframe11": 9.2, "Iframe22": 11.0, "Iframe33": 2.8, "Iframe31": -2.4, "mfork": 4.0,
    "mframe": 85.0, "mwf": 3.0, "mwr": 2.0, "g": 9.81,
}  # fmt: skip
"""Masses, inertias and lengths of the benchmark of Meijaard et al. (2007), table 1, the lengths in
the parameters of SymPy's model, rounded."""


class FormedError(Exception):
    """Equations are formed; nothing after that matters here."""


def formed_by(module: str, test: str, monkeypatch) -> KanesMethod:
    """The first method with bodies that a test of SymPy forms."""
    home = importlib.import_module(f"sympy.physics.mechanics.tests.{module}")

    class Recorded(KanesMethod):
        def kanes_equations(self, *given, **named):
            super().kanes_equations(*given, **named)
            raise FormedError(self)

    monkeypatch.setattr(home, "KanesMethod", Recorded)
    with pytest.raises(FormedError) as caught:
        getattr(home, test)()
    return caught.value.args[0]


def formed_by_docstring(owner) -> KanesMethod | LagrangesMethod | System:
    """The method that the examples of a docstring form."""
    found = {}
    for example in doctest.DocTestParser().get_examples(owner.__doc__):
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(example.source, owner.__name__, "single"), found)
    (method,) = [x for x in found.values() if isinstance(x, owner)]
    return method


def full_equations(method):
    """Mass matrix and forcing of all rates, auxiliary speeds at rest."""
    auxiliary = list(getattr(method, "_uaux", None) or getattr(method, "u_aux", []))
    still = dict.fromkeys(auxiliary, 0)
    return [x.subs(still).doit() for x in (method.mass_matrix_full, method.forcing_full)]


def compared(method, values, rng, near=0.0) -> float:
    """Largest relative difference of q̇ and u̇ over random states."""
    model = from_mechanics(method, values)
    q = list(method.q)
    u = [x.diff() for x in q] if isinstance(method, LagrangesMethod) else list(method.u)
    known = {s: sp.Float(x) for s, x in values.items()}
    mass, forcing = (x.subs(known) for x in full_equations(method))
    plain = [sp.Dummy() for _ in (*q, *u)]
    # rates first, which are derivatives of coordinates
    put = [*zip(u, plain[len(q) :], strict=True), *zip(q, plain, strict=False)]
    theirs = sp.lambdify(plain, [mass.subs(put), forcing.subs(put)], modules="numpy", cse=True)
    worst = 0.0
    for _ in range(3):
        at, v = near + rng.uniform(0.05, 0.3, len(q)), rng.uniform(-1, 1, len(u))
        if model.constraints.m:
            state = zw.consistent_state(model, at, v).state
            at, v = np.asarray(state.q), np.asarray(state.v)
        M, f = theirs(*at, *v)
        expected = np.linalg.solve(np.asarray(M, float), np.asarray(f, float))[: len(plain), 0]
        found = np.concatenate([
            model.system.rate(at, v, 0.0, model.params),
            zw.motion(model, at, v).acceleration,
        ])  # fmt: skip
        worst = max(worst, float(np.max(np.abs(found - expected)) / np.max(np.abs(expected))))
    return worst


def drawn(method, rng) -> dict:
    """A positive number for each symbol of the equations, and for each force from outside."""
    both = full_equations(method)
    free = set().union(*(x.free_symbols for x in both)) - {sp.Symbol("t")}
    constraints = sp.Matrix(list(getattr(method, "holonomic_constraints", [])))
    free |= constraints.free_symbols - {sp.Symbol("t")}
    functions = set().union(*(x.atoms(AppliedUndef) for x in both))
    free |= functions - {*method.q, *getattr(method, "u", [])}
    return {s: float(rng.uniform(0.5, 1.5)) for s in sorted(free, key=str)}


@pytest.mark.parametrize(
    ("module", "test"),
    [
        ("test_kane", "test_one_dof"),
        ("test_kane", "test_two_dof"),
        ("test_kane", "test_pend"),
        ("test_kane", "test_rolling_disc"),
        ("test_kane4", "test_replace_qdots_in_force"),
    ],
)
def test_a_system_of_sympys_tests_is_imported_and_agrees(module, test, monkeypatch):
    method, rng = formed_by(module, test, monkeypatch), np.random.default_rng(7)
    assert compared(method, drawn(method, rng), rng) < 1e-10


@pytest.mark.slow
@pytest.mark.parametrize("test", ["test_aux_dep", "test_non_central_inertia", "test_sub_qdot"])
def test_auxiliary_speeds_are_at_rest(test, monkeypatch):
    method, rng = formed_by("test_kane2", test, monkeypatch), np.random.default_rng(7)
    assert method._uaux
    assert compared(method, drawn(method, rng), rng) < 1e-10


slow = pytest.mark.slow


@pytest.mark.parametrize("owner", [KanesMethod, LagrangesMethod, pytest.param(System, marks=slow)])
def test_the_example_of_a_docstring_is_imported_and_agrees(owner):
    """That of `System` has a holonomic constraint and a force F(t) from outside."""
    method, rng = formed_by_docstring(owner), np.random.default_rng(7)
    assert compared(method, drawn(method, rng), rng) < 1e-10


@pytest.mark.slow
def test_a_force_from_outside_becomes_an_input_of_a_plant():
    method, rng = formed_by_docstring(System), np.random.default_rng(7)
    model = from_mechanics(method, drawn(method, rng))
    assert "F" in model.params
    plant = zw.Plant(model, inputs=["F"], step=0.01)
    pushed, free = (plant.step(plant.start, np.array([u])) for u in (1.0, 0.0))
    assert float(np.max(np.abs(pushed.v - free.v))) > 1e-4


@pytest.mark.parametrize(
    "made",
    [
        lambda: models.multi_mass_spring_damper(3, apply_gravity=True),
        lambda: models.n_link_pendulum_on_cart(2, cart_force=False, joint_torques=False),
    ],
    ids=["masses and springs", "pendulums on a cart"],
)
def test_a_model_of_sympy_is_imported_and_agrees(made):
    method, rng = made(), np.random.default_rng(7)
    assert compared(method, drawn(method, rng), rng) < 1e-10


@pytest.mark.slow
def test_the_bicycle_is_imported_and_agrees(monkeypatch):
    """Four bodies, six speeds of which three depend on the others, rolling without slip."""
    method = formed_by("test_kane3", "test_bicycle", monkeypatch)
    rng = np.random.default_rng(7)
    values = {s: BICYCLE[s.name] for s in drawn(method, rng)}
    assert compared(method, values, rng) < 1e-9
