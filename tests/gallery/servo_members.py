"""Parts of the servo models of the gallery, and independent reference values for the papers'
systems.

`reference/*.json` were computed without this library: closed forms, hand-written equations
integrated by DOP853 at rtol 1e-13, and 50-digit solutions; each contains its tolerance under `tol`.
Values that the papers do not state (initial states, masses, gains) are marked CHOSEN there;
misprints of the papers are marked ERRATA in the tests concerned.
"""

from __future__ import annotations

import json
from pathlib import Path

import equinox as eqx
import jax
import numpy as np

import zwang as zw
from zwang.servo import SecondOrder, control
from zwang.simulation.results import Run

from .examples import example


def reference(name: str) -> dict:
    """The reference values of a member."""
    return json.loads((Path(__file__).parent / "reference" / f"{name}.json").read_text())


def with_gain(model: zw.Model, gain) -> zw.Model:
    """The closed loop with another gain of the same kind on its one servo constraint; compiles
    nothing new.
    """
    (name,) = model.servo.gains
    return eqx.tree_at(lambda m: m.servo.gains[name], model, gain)


def chosen(name: str, q, v, t, null_space=None, **settings):
    """`Control` of a member at many states, shapes (states, …)."""
    model = example(name, **settings).model
    servo = model.servo
    if null_space is not None:
        servo = eqx.tree_at(lambda s: s.null_space, servo, null_space)
    plant = model.passive
    each = [
        control(plant, servo, *state, throw=False) for state in zip(q, v, t, strict=True)
    ]  # one program for any number
    return jax.tree_util.tree_map(lambda *x: np.stack(x), *each)


def simulated(model: zw.Model, q0, v0, times, **options) -> Run:
    """A run sampled at these times, the first of which is 0."""
    return zw.simulate(model, q0, v0, times=times, rtol=1e-11, atol=1e-12, **options)


def by_time(values: dict, keys=None) -> tuple[np.ndarray, np.ndarray]:
    """Times and values, shape (times, …), of a table whose keys are times; 3.14159 stands for π."""
    keys = list(values) if keys is None else keys
    return np.array([np.pi if k == "3.14159" else float(k) for k in keys]), np.array(
        [values[k] for k in keys]
    )


def paper_gain(damping: float, stiffness: float) -> SecondOrder:
    """`Φ̈ + damping Φ̇ + stiffness Φ = 0`."""
    omega = np.sqrt(stiffness)
    return SecondOrder(omega, damping / (2 * omega) if stiffness else 0.0)
