"""The ball on the rotating table: its closed form, and the explicit equations of Newton and
Euler.
"""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import zwang as zw
from tests.gallery.examples import example, run

RADIUS, MASS, RATIO, RATE, G = 0.05, 0.5, 0.4, 2.0, 9.81


def newton_euler(slope):
    """ẏ of (x, y, vx, vy, ωx, ωy) with the friction force eliminated by hand."""
    downhill = np.array([G * np.sin(np.radians(slope)), 0.0])

    def rate(t, s):
        v = s[2:4]
        # m v̇ = f + m g,  J ω̇ = (−R e_z) × f,  and the rate of v = Ω e_z × p + R ω × e_z
        rows = np.array(
            [
                [MASS, 0, 0, 0, -1, 0],
                [0, MASS, 0, 0, 0, -1],
                [0, 0, RATIO * MASS * RADIUS**2, 0, 0, -RADIUS],
                [0, 0, 0, RATIO * MASS * RADIUS**2, RADIUS, 0],
                [1, 0, 0, -RADIUS, 0, 0],
                [0, 1, RADIUS, 0, 0, 0],
            ]
        )
        found = np.linalg.solve(rows, np.r_[MASS * downhill, 0, 0, -RATE * v[1], RATE * v[0]])
        return np.r_[v, found[:4]]

    return rate


@pytest.mark.slow
@pytest.mark.parametrize("slope", [0.0, 3.0])
def test_the_ball_follows_its_closed_form_and_newton_and_euler(slope):
    member, reached = example("turntable", slope=slope), run("turntable", slope=slope)
    assert member.error(reached) < 1e-8
    start = [0.4, 0.0, 0.0, 0.3, (RATE * 0.4 - 0.3) / RADIUS, 0.0]
    reference = solve_ivp(
        newton_euler(slope), (0, 20.0), start, "DOP853", rtol=1e-12, atol=1e-12, t_eval=reached.t
    ).y
    np.testing.assert_allclose(reached.q[:, :2].T, reference[:2], atol=1e-8)


@pytest.mark.slow
def test_a_solid_ball_returns_after_three_and_a_half_turns_of_the_table():
    reached = run("turntable")
    q, v = reached.at(3.5 * 2 * np.pi / RATE)
    np.testing.assert_allclose(q[:2], [0.4, 0.0], atol=1e-8)
    np.testing.assert_allclose(v[:2], [0.0, 0.3], atol=1e-8)


def test_friction_keeps_the_ball_on_its_circle_and_carries_its_weight():
    reached = run("turntable")
    force = reached.dataset.constraint_force.values.sum(axis=1)  # of contact and rolling
    v = reached.v
    np.testing.assert_allclose(
        force[:, :2], MASS * RATE * 2 / 7 * np.c_[-v[:, 1], v[:, 0]], atol=1e-8
    )
    np.testing.assert_allclose(force[:, 2], MASS * G, rtol=1e-10)


def test_a_table_at_rest_is_refused():
    with pytest.raises(zw.ModelError, match="turntable got rate = 0.0 rad/s"):
        zw.gallery.load("turntable", rate=0.0)
