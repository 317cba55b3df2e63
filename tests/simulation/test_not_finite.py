"""Values that are not finite are not reported as a contradiction."""

import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw
from zwang.dynamics.drift import Projection
from zwang.dynamics.initial_conditions import begin
from zwang.dynamics.vector_field import ConstrainedVectorField
from zwang.errors import Result
from zwang.simulation.endings import blocked

LATE = 0.5


def blocked_at(force, phi):
    """Why no step is taken from q = v = 0 at t = 0.6 s."""
    system = zw.System(2, lambda q, t, p: jnp.ones(2), force)
    model = zw.Model(system, [zw.Holonomic(phi, name="wall")])
    dynamics = model.dynamics(None)
    scales = begin(dynamics, model.state(np.zeros(2), np.zeros(2)), 1.0).scales
    dynamics = dataclasses.replace(dynamics, scales=scales)
    flow = ConstrainedVectorField(dynamics, Projection(), jnp.asarray(1e-14))
    return blocked(model, flow, 0.6, np.zeros(4), 0.01)


weight = lambda q, v, t, p: jnp.array([1.0, -9.81])
nan_late = lambda t, x: jnp.where(t > LATE, jnp.nan, x)


@pytest.mark.parametrize(
    ("force", "phi"),
    [
        (lambda q, v, t, p: nan_late(t, weight(q, v, t, p)), lambda q, t, p: q[0]),
        (lambda q, v, t, p: weight(q, v, t, p) / nan_late(t, 1.0), lambda q, t, p: q[0]),
        (weight, lambda q, t, p: q[0] * nan_late(t, 1.0)),
    ],
    ids=["force", "quotient", "residual"],
)
def test_what_is_not_finite_is_said_to_be(force, phi):
    assert blocked_at(force, phi) == (Result.NON_FINITE, "")


HALF = "'wall' misses by 0.5 of the accelerations involved"
"""The first row gets 1 where the force alone gives 1, too: 1 of 1 + 1."""


def test_a_contradiction_is_still_one():
    later = lambda t: jnp.where(t > LATE, (t - LATE) ** 2, 0.0)
    result, named = blocked_at(weight, lambda q, t, p: jnp.stack([q[0], q[0] - later(t)]))
    assert result is Result.INCONSISTENT and named == HALF


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("entry", [np.nan, np.inf])
def test_a_force_that_is_no_number_at_the_start_is_named_beside_a_constraint(entry):
    """It was a contradiction of no constraints."""
    system = zw.System(2, lambda q, t, p: jnp.ones(2), lambda q, v, t, p: jnp.array([0.0, entry]))
    model = zw.Model(system, [zw.Holonomic(lambda q, t, p: q @ q - 1.0, name="rod")])
    for look in (zw.check, lambda *x: zw.simulate(*x, duration=0.1)):
        with pytest.raises(zw.ModelError, match="force along 'q1' is NaN or infinite at the start"):
            look(model, [1.0, 0.0], [0.0, 0.0])
