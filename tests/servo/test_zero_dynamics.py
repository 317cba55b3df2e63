"""The zero dynamics of servo constraints, and their stability."""

import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw
from zwang.servo import Servo, zero_dynamics

LENGTH = 0.7


def cart_pole() -> zw.Model:
    """A cart of 1 kg on a track and a point mass of 0.5 kg on a rod, held by a rod constraint: q =
    (cart, x, y of the mass).
    """
    system = zw.System(
        3,
        lambda q, t, p: jnp.array([1.0, 0.5, 0.5]),
        lambda q, v, t, p: jnp.array([0.0, 0.0, -0.5 * 9.81]),
    )
    rod = zw.Holonomic(lambda q, t, p: (q[1] - q[0]) ** 2 + q[2] ** 2 - LENGTH**2, name="rod")
    return zw.Model(system, [rod], name="cart-pole")


PARKED = Servo(
    [zw.Holonomic(lambda q, t, p: q[0], name="cart")], np.array([[1.0], [0.0], [0.0]]), gains=5.0
)


@pytest.mark.parametrize(
    ("y", "square"),
    [(-LENGTH, -9.81 / LENGTH), (LENGTH, 9.81 / LENGTH)],
    ids=["hanging", "upright"],
)
def test_a_parked_cart_leaves_the_pendulum_free(y, square):
    answer = zero_dynamics(cart_pole(), PARKED, [0.0, 0.0, y], [0.0, 0.0, 0.0])
    assert len(answer.eigenvalues) == 2 and answer.off < 1e-15 and answer.rate < 1e-12
    np.testing.assert_allclose(answer.eigenvalues**2, [square, square], atol=1e-9)
    assert answer.unstable == (square > 0)
    assert (
        "unstable: they grow at 3.744" if square > 0 else "neither decay nor grow"
    ) in answer.sentence
