"""The driven linkage: one degree of freedom, one to three motors, and the distribution of
torques.
"""

import numpy as np
import pytest

from zwang.servo import LeastNorm, Preferred, WeightedNorm

from .examples import example, run, worst_violation
from .servo_members import chosen

NAME = "five-bar-driven"
ROUND_OFF = 1e-11
"""N m, of torques up to 30."""


def wanted_sum(angle, acceleration):
    """Sum of the torques, from one degree of freedom."""
    return (3 * (0.1 + 0.25) + 2.0) * acceleration + 3.5 * 9.81 * np.cos(angle)


def along_the_path(driven, null_space):
    """Torques at instants of the exact motion, and their sum as it must be."""
    t = np.linspace(0.0, 3.0, 7)
    angle, rate = np.pi / 2 + 0.7 * np.sin(2 * t), 1.4 * np.cos(2 * t)
    reached = example(NAME, driven=driven, offset=0.0, swing=np.degrees(0.7)).exact(t)
    q = np.stack(list(reached.values()), axis=1)
    np.testing.assert_allclose(reached["crank 3.angle"], angle, atol=1e-15)
    c, s = np.cos(angle), np.sin(angle)
    crank = np.stack([-s / 2, c / 2, 1 + 0 * s], axis=1)
    v = (
        np.concatenate([crank, crank, crank, np.stack([-s, c, 0 * s], axis=1)], axis=1)
        * rate[:, None]
    )
    found = chosen(NAME, q, v, t, null_space, driven=driven, offset=0.0, swing=np.degrees(0.7))
    assert not np.any(found.result) and np.all(np.asarray(found.passive_residual) < 1e-12)
    return np.asarray(found.u), wanted_sum(angle, -2.8 * np.sin(2 * t))


@pytest.mark.parametrize("driven", [1, pytest.param(2, marks=pytest.mark.slow), 3])
def test_least_torques_are_equal(driven):
    u, total = along_the_path(driven, LeastNorm())
    np.testing.assert_allclose(u, np.tile(total[:, None] / driven, driven), atol=ROUND_OFF)


@pytest.mark.slow
def test_weighted_torques_are_shared_as_the_inverse_weights():
    u, total = along_the_path(3, WeightedNorm([1.0, 2.0, 4.0]))
    np.testing.assert_allclose(u, np.outer(total, [4 / 7, 2 / 7, 1 / 7]), atol=ROUND_OFF)


def test_a_preload_stays_and_the_rest_is_added_evenly():
    u, total = along_the_path(3, Preferred([20.0, 0.0, -20.0]))
    np.testing.assert_allclose(u, total[:, None] / 3 + [20.0, 0.0, -20.0], atol=ROUND_OFF)


@pytest.mark.parametrize(
    ("choice", "kind"),
    [("least", LeastNorm), ("weighted", WeightedNorm), ("preferred", Preferred)],
    ids=lambda x: str(x),
)
def test_the_setting_chooses(choice, kind):
    assert type(example(NAME, choice=choice).model.servo.null_space) is kind


@pytest.mark.slow
def test_the_run_keeps_its_pins_and_follows_the_path_from_ahead_of_it():
    reached = run(NAME)
    assert worst_violation(reached) < 1e-14
    x = 5 * reached.t
    path = np.pi / 2 + np.radians(40) * np.sin(2 * reached.t)
    np.testing.assert_allclose(
        reached.q[:, 2] - path, np.radians(10) * (1 + x) * np.exp(-x), atol=1e-12
    )


@pytest.mark.slow
@pytest.mark.parametrize("driven", [1, 3])
def test_it_is_driven_through_its_singular_configuration(driven):
    """Where all bars are collinear the rank falls to 10 and one motor moves two modes at once:
    within 1e-5 rad of it the torque is not
    what the path needs, which leaves an error of 1e-5 rad. The pins hold to round-off.
    """
    settings = {"driven": driven, "middle": 0.0, "offset": 0.0}
    reached = run(NAME, **settings)
    assert worst_violation(reached) < 1e-14
    assert example(NAME, **settings).error(reached) < 1e-4
    assert reached.crossings
