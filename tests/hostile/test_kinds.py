"""Every argument of a wrong kind to a public function or class gives an error of one sentence."""

from __future__ import annotations

import enum
import inspect
import math
import operator

import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw
from tests.hostile.given import pendulum, rod, servo, system
from zwang.inputs.call import public_names, written
from zwang.mechanism import Joint, Link

WRONG = {
    **{"None": None, "text": "text", "bytes": b"x", "True": True, "complex": 1j, "NaN": math.nan},
    **{
        "infinity": math.inf,
        "-1": -1,
        "2.5": 2.5,
        "a class": zw.methods.Dopri8,
        "an object": object(),
    },
    **{"no entries": [], "another shape": np.ones((3, 4, 5)), "NaN in it": np.array([math.nan, 0])},
    **{"complex numbers": np.array([1j, 0]), "texts": np.array(["a", "b"]), "a set": {1, 2}},
    **{"a dictionary": {"a": object()}, "10^400": 10**400, "NUL": "a\0b", "a surrogate": "\ud800"},
}


def spring() -> zw.Model:
    """A mass on a spring."""
    force = lambda q, v, t, p: -p["k"] * q
    return zw.Model(
        zw.System(1, lambda q, t, p: jnp.ones(1), force, coordinates=["x"]), (), {"k": 1.0}
    )


MASS, FORCE = (lambda q, t, p: jnp.ones(2)), (lambda q, v, t, p: -q)
BAR = {"bar": Link(length=1.0)}
CLASSES = {
    "System": {"nq": 2, "mass_matrix": MASS, "force": FORCE},
    "Lagrangian": {"nq": 2, "kinetic": lambda q, v, t, p: 0.5 * v @ v},
    "Holonomic": {"phi": lambda q, t, p: q @ q - 1.0},
    "Nonholonomic": {"psi": lambda q, v, t, p: v[0]},
    "AccelerationConstraint": {"A": lambda q, v, t, p: q, "b": lambda q, v, t, p: 1.0},
    "Model": {"system": system(), "constraints": [rod(lambda q, t, p: q @ q - 1.0)]},
    "Stop": {"function": lambda q, v, t, p: q[0]},
    "Switch": {"constraint": "rod", "off": 1.0},
    "Servo": {"constraints": servo().constraints, "actuation": np.eye(2)},
    **{name: {"omega": 2.0} for name in ("SecondOrder", "Butterworth")},
    **{name: {"k": 2.0} for name in ("Rate", "Robust")},
    "FirstOrder": {"rate": 2.0},
    "Limits": {"lower": -1.0, "upper": 1.0},
    "Loop": {"sample_time": 0.1},
    "WeightedNorm": {"weight": np.eye(2)},
    "Module": {"system": pendulum(), "name": "a"},
    "Hierarchy": {"levels": [[zw.Module(pendulum(), name="a"), zw.Module(pendulum(), name="b")]]},
    "HigherOrder": {"orders": (2, 1), "mass_matrix": MASS, "force": FORCE},
    "Relation": {"residual": lambda q, t, p: q[0]},
    "Scene": {"points": ("a",), "seen": lambda q: None},
    "Mechanism": {
        "bodies": BAR,
        "joints": {"r": Joint("rod", between=("ground", "bar.start"), length=1.0)},
    },
    "Rattle": {},
    "grid": {},
    **{name: {"number": 4} for name in ("sobol", "draws")},
    "keep_programs": {"on": False},
    "load": {"path": "none.nc"},
    "robot": {"path": "none.urdf"},
    "mechanism.closed": {"given": "none.toml"},
    "resume": {"out": "none"},
    "program": {"function": lambda x: x},
    "Plant": {"model": spring(), "inputs": ["x"], "q0": [1.0], "v0": [0.0]},
    "continuation": {"model": spring(), "q": [0.0], "over": "k", "to": (0.9, 1.1)},
    "equilibrium": {"model": spring(), "q": [0.0]},
    "stablehlo": {"model": None},
    "fmu": {"model": None},
    "motion": {"model": pendulum(), "q": [1.0, 0.0], "v": [0.0, 0.0], "throw": None},
}
"""Public classes, and functions that judge their arguments at once, with right arguments or with
one that is refused last."""
RESULTS = "Control DynamicExtension RelativeDegree ZeroDynamics Sweep".split()
"""What functions return, and nobody makes."""


def called(name: str):
    """A public class or function, by how it is written."""
    return operator.attrgetter(written(name).removeprefix("zw."))(zw)


def public():
    for name in public_names():
        made = called(name)
        error = isinstance(made, type) and issubclass(made, (BaseException, enum.Enum))
        if callable(made) and not error and not inspect.isabstract(made) and name not in RESULTS:
            yield name


@pytest.mark.parametrize("name", list(public()))
def test_an_argument_that_does_not_exist_is_named(name):
    said = f"{written(name)} has no argument 'no_such_argument'"
    with pytest.raises(zw.ModelError, match=said):
        called(name)(no_such_argument=1)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", CLASSES)
def test_only_a_sentence_comes_of_an_argument_of_a_wrong_kind(name):
    function, given = called(name), CLASSES[name]
    parameters = inspect.signature(function).parameters.values()
    named = [x.name for x in parameters if x.kind in (x.POSITIONAL_OR_KEYWORD, x.KEYWORD_ONLY)]
    for parameter in named:
        for what, wrong in WRONG.items():
            try:
                function(**{**given, parameter: wrong})
            except (zw.ModelError, zw.OutputError):
                continue
            except DeprecationWarning:  # an old name, which still works outside of the tests
                continue
            except Exception as error:
                pytest.fail(f"{name}: {parameter} is {what}: {type(error).__name__}: {error}")


def test_rates_of_each_row_are_numbers_too():
    drift = zw.methods.Baumgarte(np.array([5.0]), np.array([5.0]))
    run = zw.simulate(pendulum(), [1.0, 0.0], [0.0, 0.0], duration=0.01, drift=drift)
    assert run.result is zw.Result.SUCCESS


@pytest.mark.parametrize(
    "strategy",
    [
        {"pseudoinverse": zw.methods.Proximal(sweeps=2.5)},
        {"pseudoinverse": zw.methods.Proximal(sweeps=-1)},
        {"pseudoinverse": zw.methods.Proximal(sweeps=0)},
        {"pseudoinverse": zw.methods.Proximal(damping=None)},
        {"pseudoinverse": zw.methods.SVD(threshold="small")},
        {"pseudoinverse": zw.methods.SVD(threshold=-1.0)},
        {"pseudoinverse": zw.methods.Sparse(proximal=zw.methods.Proximal(sweeps=True))},
        {"drift": zw.methods.Projection(iterations=None)},
        {"drift": zw.methods.Projection(iterations=0)},
        {"drift": zw.methods.Projection(stabilization=zw.methods.SVD())},
        {"drift": zw.methods.Stabilized(5.0)},
        {"pseudoinverse": zw.methods.Sparse(proximal=1e-10)},
        {"drift": zw.methods.Baumgarte(None, 1.0)},
        {"drift": zw.methods.Baumgarte(-5.0, 5.0)},
        {"drift": zw.methods.Baumgarte(np.array([-5.0]), 5.0)},
        {"integrator": zw.methods.Kvaerno5(iterations=2.5)},
        {"integrator": zw.methods.Kvaerno5(iterations=0)},
        {"pseudoinverse": zw.methods.Sparse(proximal=zw.methods.Proximal(sweeps=0))},
    ],
    ids=repr,
)
def test_numbers_of_a_strategy_are_of_their_kind(strategy):
    with pytest.raises(zw.ModelError, match="expected"):
        zw.simulate(pendulum(), [1.0, 0.0], [0.0, 0.0], duration=1.0, **strategy)
