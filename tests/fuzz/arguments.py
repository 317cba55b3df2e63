"""Random arguments: right calls of the public functions with one to three arguments replaced."""

from __future__ import annotations

import functools

import jax.numpy as jnp
import numpy as np

import zwang as zw
from tests.models import pendulum

NAN, INF = float("nan"), float("inf")
ANYTHING = (
    *(None, True, 0, 1, -1, 2, 1e-12, NAN, INF, -INF, 1j, 10**400, 2.5, 1e300, -0.0),
    *("", "text", b"bytes", (), [], {}, set(), object(), object, len, lambda *a: None, range(3)),
    *([1.0, "a"], [[1.0]], [1.0, 0.0], [1.0, 0.0, 0.0], {"m": 2.0}, {"x": 1.0}, {"m": "a"}),
    *(np.zeros(0), np.zeros((2, 2)), np.array([1, 0]), np.array(["a", "b"]), np.array([1j, 0])),
    *(np.array([NAN, 0.0]), np.array([None, 1]), np.float32(1.0), jnp.zeros(2), jnp.nan),
    *(
        zw.methods.Proximal,
        zw.methods.Proximal(),
        zw.methods.Dopri8,
        zw.methods.Projection(),
        zw.ModelError("x"),
        [0.0, 0.0],
    ),
    *([1.0, 0.5], [0.0, NAN], {"m": [1.0, 2.0]}, {"m": None}, {1: 2}, zw.Stop, [zw.Stop], ...),
)

STATE = {"q": [1.0, 0.0], "v": [0.0, 1.0]}
START = {"q0": [1.0, 0.0], "v0": [0.0, 1.0]}
CALLS = {
    "motion": {**STATE, "t": 0.0, "params": None, "pseudoinverse": None, "formulation": None},
    "simulate": {
        **START,
        **{"duration": 0.01, "samples": 2, "rtol": 1e-4, "atol": None, "params": None},
        **{"stop": (), "switches": (), "integrator": None, "step": None, "drift": None, "t0": 0.0},
        **{"start_tolerance": 1e-6, "max_steps": 50, "loop": None, "longest_step": INF},
    },
    "consistent_state": {**STATE, "t": 0.0, "params": None},
    "trajectory": {**START, "times": [0.0, 0.01], "params": None, "max_steps": 50},
    "batch": {**START, "times": [0.0, 0.01], "params": None, "chunk": None, "cores": 1},
}
SYSTEM = {
    **{"nq": 2, "nv": 2, "coordinates": None, "force": lambda q, v, t, p: -q},
    "mass_matrix": lambda q, t, p: jnp.ones(2),
}


@functools.cache
def model() -> zw.Model:
    return pendulum()


def replaced(call: dict, random: np.random.Generator) -> dict:
    """The arguments of a call with one to three of them replaced."""
    call = dict(call)
    for _ in range(random.integers(1, 4)):
        name = str(random.choice(list(call)))
        call[name] = ANYTHING[int(random.integers(len(ANYTHING)))]
    return call


def case(random: np.random.Generator) -> None:
    """A call has a finite result, or a sentence says what is wrong with its arguments."""
    if random.random() < 0.15:
        _make(random)
        return
    name = str(random.choice(list(CALLS)))
    call = replaced(CALLS[name], random)
    given = model() if random.random() < 0.97 else ANYTHING[int(random.integers(len(ANYTHING)))]
    result = getattr(zw, name)(given, **call)
    found = {"motion": "acceleration", "trajectory": "q", "batch": "q"}
    if name == "simulate":
        values = result.dataset.q.values
    elif name == "consistent_state":
        values = np.concatenate([result.state.q, result.state.v])
    else:
        values = getattr(result, found[name])
    failed = name in ("trajectory", "batch") and np.any(np.asarray(result.result) != 0)
    if not failed:
        assert np.all(np.isfinite(np.asarray(values))), f"zw.{name}: a result that is not finite"


def _make(random: np.random.Generator) -> None:
    """A system, a constraint and a model of arguments of which some are replaced."""
    system = replaced(SYSTEM, random) if random.random() < 0.5 else SYSTEM
    rod = replaced({"phi": lambda q, t, p: q @ q - 1, "name": "rod"}, random)
    constraint = zw.Holonomic(rod["phi"], name=rod["name"])
    zw.Model(**replaced({"system": zw.System(**system), "constraints": [constraint]}, random))
