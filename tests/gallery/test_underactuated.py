"""Crane and cart-pole: fewer actuators than degrees of freedom, without zero dynamics and with
unstable zero dynamics.
"""

import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw
from zwang.servo import Servo, relative_degree, zero_dynamics

from .examples import example, run, worst_violation
from .servo_members import chosen

MOVING = ([0.4, 6.0, 0.7, -5.8], [0.3, -0.1, 0.2, 0.4])


def test_trolley_and_hoist_reach_the_load_in_its_fourth_derivative_and_leave_nothing_free():
    model = example("crane").model
    found = relative_degree(model.passive, model.servo, *MOVING, 1.0)
    assert found.degrees == model.servo.degrees == {"load": 4}
    assert found.rank == 2 and found.internal == 0
    assert max(found.authority["load"][:-1]) < 1e-9 < found.authority["load"][-1]


def test_on_a_rigid_rope_both_rows_want_the_hoist_at_once():
    """Why the member's rope is elastic: at degree 2 only the direction of the rope is reached."""
    system = zw.System(
        4,
        lambda q, t, p: jnp.array([300.0, 100.0, 1e3, 1e3]),
        lambda q, v, t, p: jnp.array([0, 0, 0, -9810.0]),
    )
    rope = zw.Holonomic(lambda q, t, p: (q[0] - q[2]) ** 2 + q[3] ** 2 - q[1] ** 2, name="rope")
    model = zw.Model(system, [rope], name="crane with a rigid rope")
    load = zw.Holonomic(lambda q, t, p: q[2:], name="load")
    servo = Servo([load], np.array([[1.0, 0.0], [0.0, -1.0], [0.0, 0.0], [0.0, 0.0]]), gains=1.0)
    found = relative_degree(model, servo, [0.0, 5.0, 3.0, -4.0], [0.0, 0.0, 0.0, 0.0])
    assert found.degrees == {"load": 2} and found.rank == 1
    assert "of 2 rows only 1 can be met together" in found.sentence


def test_the_load_converges_from_its_wrong_start_at_the_set_rate():
    """Four poles at −2 1/s: `exp(−x)(1 + x + x²/2 + x³/6)` with x = 2 t."""
    reached = run("crane")
    tau = np.clip(reached.t / 6, 0, 1)
    share = np.polyval([70, -315, 540, -420, 126, 0, 0, 0, 0, 0], tau)
    error = reached.q[:, 2:] - np.outer(share, [8.0, 3.0]) - [0.0, -6.0]
    x = 2 * reached.t
    np.testing.assert_allclose(
        error, np.outer(np.exp(-x) * (1 + x + x**2 / 2 + x**3 / 6), [0.4, -0.3]), atol=1e-10
    )


def test_the_crane_at_rest_carries_the_weight():
    member = example("crane")
    end = np.stack(
        [x[-1:] for x in member.exact(np.array([0.0, 40.0])).values()], axis=1
    )  # the error is gone
    np.testing.assert_allclose(
        chosen("crane", end, np.zeros((1, 4)), [40.0]).u, [[0.0, 9810.0]], atol=1e-6
    )
    np.testing.assert_allclose(end[0], [8.0, 3.0 - 9810 / 2e5, 8.0, -3.0], rtol=1e-12)


VARIANTS = {
    ("pole", "upright"): (0.0, "neither decay nor grow"),
    ("pole", "hanging"): (0.0, "neither decay nor grow"),
    ("cart", "hanging"): (-1.0, "neither decay nor grow"),
    ("cart", "upright"): (1.0, "unstable: they grow at 3.836 1/s, whatever the gains"),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("task", "pose"),
    [v if v == ("cart", "upright") else pytest.param(*v, marks=pytest.mark.slow) for v in VARIANTS],
)
def test_zero_dynamics_of_cart_and_pole(task, pose):
    """A parked cart leaves a pendulum of frequency √(3g/2L), a held pole a cart that rolls on."""
    sign, says = VARIANTS[task, pose]
    member = example("cart-pole-track", task=task, pose=pose, lean=0.0, travel=0.0)
    assert np.abs(member.v0).max() < 1e-14
    found = zero_dynamics(member.model.passive, member.model.servo, member.q0, member.v0)
    assert len(found.eigenvalues) == 2 and found.off < 1e-12 and found.rate < 1e-9
    np.testing.assert_allclose(found.eigenvalues**2, np.full(2, sign * 1.5 * 9.81), atol=1e-6)
    assert found.unstable == (sign > 0)
    assert says in found.sentence


@pytest.mark.slow
def test_the_held_pole_brings_the_cart_back_after_a_period():
    reached = run("cart-pole-track")
    period = 2 * np.pi / 3
    member = example("cart-pole-track")
    there = member.exact(np.array([0.0, period, 2 * period]))["cart.x"]
    np.testing.assert_allclose(there, 0.0, atol=1e-11)
    assert abs(reached.q[:, 0]).max() < 1
    assert worst_violation(reached) < 1e-14


@pytest.mark.slow
@pytest.mark.parametrize(
    ("task", "pose", "duration", "accuracy"),
    [
        ("pole", "hanging", 5.0, 1e-9),
        ("cart", "hanging", 5.0, 1e-9),
        ("cart", "upright", 2.0, 1e-8),
    ],
)
def test_variants_of_cart_and_pole_follow_their_exact_motion(task, pose, duration, accuracy):
    """Also the one that falls, as long as round-off has not grown by 3.8 1/s to more."""
    member = example("cart-pole-track", task=task, pose=pose, offset=0.1)
    reached = run("cart-pole-track", task=task, pose=pose, offset=0.1, duration=duration)
    assert member.error(reached) < accuracy
    assert worst_violation(reached) < 1e-14
