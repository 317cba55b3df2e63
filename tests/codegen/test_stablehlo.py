"""A model as StableHLO, read and called without the model."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw


@pytest.mark.one_in(2)
@pytest.mark.parametrize("batch", [None, 3])
def test_the_exported_acceleration_is_the_models(batch):
    """Of one state and of several, which take different ways through A⊕."""
    example = zw.gallery.load("pendulum")
    made = zw.stablehlo(example.model, batch=batch)
    assert "stablehlo" in made.text and "LayoutConstraint" not in made.text
    rng = np.random.default_rng(0)
    q, v = rng.standard_normal((3, 2)), rng.standard_normal((3, 2))
    params = {k: jnp.asarray(x) for k, x in example.model.params.items()}
    call = jax.export.deserialize(bytearray(made.data)).call
    found = (
        [call(x, y, 0.0, params) for x, y in zip(q, v, strict=True)]
        if batch is None
        else call(q, v, np.zeros(3), params)
    )
    expected = [zw.motion(example.model, *state).acceleration for state in zip(q, v, strict=True)]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_one_state_without_a_batch_is_exported():
    example = zw.gallery.load("pendulum")
    made = zw.stablehlo(example.model)
    assert "custom_call @LayoutConstraint" not in made.text
    q, v = np.array([0.6, -0.8]), np.array([0.8, 0.6])
    params = {k: jnp.asarray(x) for k, x in example.model.params.items()}
    found = jax.export.deserialize(bytearray(made.data)).call(q, v, 0.0, params)
    expected = zw.motion(example.model, q, v).acceleration
    np.testing.assert_allclose(found, expected, rtol=1e-12)
