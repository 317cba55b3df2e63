"""The two-mass-spring system of the servo paper, section IV, from initial states on and off its
constraint.
"""

import numpy as np
import pytest

import zwang as zw
from zwang.servo import Rate

from .examples import example
from .servo_members import chosen, reference, simulated, with_gain

VALUES = reference("two-mass-spring")
STARTS = ("consistent", "violates_position", "violates_velocity", "violates_both")


def settings_of(case):
    x1, x2, v1, v2 = case["ic"]
    assert x1 == 0
    return {"offset": x2 - 2, "speed": v1, "offset_rate": v2 - v1}


@pytest.mark.parametrize("start", STARTS)
def test_without_a_gain_the_error_of_the_start_stays_and_grows_as_the_paper_prints_the_force(start):
    """ERRATA: eq. (39) prints x2 for m2 in the mass matrix; eq. (40) calls the spring's force a
    constraint force.
    """
    case = VALUES[start]
    t, states = np.array(case["t"]), np.array(case["states_x1_x2_v1_v2"])
    member = zw.gallery.load("two-mass-spring", rate=0.0, **settings_of(case))
    exact = np.stack([member.exact(t)[x] for x in ("x1", "x2")], axis=1)
    np.testing.assert_allclose(
        exact, states[:, :2], rtol=1e-14, atol=1e-13
    )  # both are closed forms; of up to 80 m
    run = simulated(with_gain(example("two-mass-spring").model, Rate(0.0)), member.q0, member.v0, t)
    np.testing.assert_allclose(np.c_[run.q, run.v], states, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(run.q[:, 1] - run.q[:, 0] - 2, case["delta"], atol=1e-11)
    force = chosen("two-mass-spring", states[:, :2], states[:, 2:], t, rate=0.0).u[:, 0]
    np.testing.assert_allclose(force, case["F"], rtol=1e-13)
    np.testing.assert_allclose(
        force, -(1 + 1 / 2) * 10 * (states[:, 1] - states[:, 0] - 1), rtol=1e-13
    )  # eq. (47)


def test_with_a_gain_the_error_decays_at_its_rate():
    case = VALUES["baumgarte_alpha=beta=5_from_violates_position"]
    t, member = np.array(case["t"]), example("two-mass-spring")
    run = simulated(member.model, member.q0, member.v0, t)
    np.testing.assert_allclose(np.c_[run.q, run.v], case["states"], rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(run.q[:, 1] - run.q[:, 0] - 2, case["delta_exact"], atol=1e-11)
