"""Operations that tests count as compilations."""

import jax
import jax.numpy as jnp
import numpy as np

from tests.eager import FEW, compilations


def test_a_program_counts():
    with compilations() as seen:
        jax.jit(lambda x: x + 1.25)(1.0)
    assert seen


def test_an_operation_that_is_computed_often_is_compiled_outside_of_what_counts():
    """It was one test, whichever came to the hundredth call, that saw a compilation."""
    x = np.linspace(0.0, 1.0, 1237)
    for _ in range(FEW):
        jnp.sin(x)
    with compilations() as seen:
        jnp.sin(x)
    assert not seen
