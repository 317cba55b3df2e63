"""Laws keep the error within the bounds that they state, whatever is drawn within what they assume,
and do not outside of it.

The spacecraft are as in the papers on formation keeping (doi 10.2514/1.G000317) and tumbling bodies
(10.2514/1.G002212); the numbers are chosen here, they are not those of the papers.
"""

import numpy as np
import pytest

import zwang as zw
from tests.servo.uncertain import LARGEST, LEARNS, RHO, UNCERTAIN
from zwang.bodies import rotation
from zwang.objects.families import GAINS

UNSTATED = {"learned bound"}
"""A bound that depends on the size of what nobody knows."""


@pytest.mark.one_in(3)
@pytest.mark.parametrize("cases", [8, pytest.param(1000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", UNCERTAIN)
def test_of_uncertain_systems_none_leaves_the_bounds(name, cases):
    loop = UNCERTAIN[name]()
    found = loop.drawn(cases)
    for of, bound in loop.bounds.items():
        assert found[of].shape == (cases,) and found[of].max() <= bound, of
    if cases == 1000:
        (first, bound), *_ = loop.bounds.items()
        assert found[first].max() > loop.near * bound


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", UNCERTAIN)
def test_beyond_what_a_law_assumes_its_bound_does_not_hold(name):
    loop = UNCERTAIN[name]()
    (bound, *_) = loop.bounds.values()
    error, warnings = loop.outside()
    assert error > bound
    # the run says so, where the law states a number without knowing the system
    assert any("that its gain states" in x for x in warnings) == (name not in UNSTATED)


def test_springs_between_tumbling_bodies_are_internal():
    """Their torques cancel in the axes of space."""
    system, p = (x := zw.gallery.load("tumbling-bodies").model.passive).system, x.params
    turn = np.random.default_rng(0).standard_normal((2, 4))
    turn /= np.linalg.norm(turn, axis=1, keepdims=True)
    q = np.concatenate([np.zeros((2, 3)), turn], axis=1).ravel()
    torques = np.asarray(system.force(q, np.zeros(12), 1.0, p)).reshape(2, 6)[:, 3:]
    inside = [rotation.rotation_matrix(a) @ x for a, x in zip(turn, torques, strict=True)]
    assert np.linalg.norm(inside[0]) > 0.1
    np.testing.assert_allclose(inside[0] + inside[1], 0.0, atol=1e-14)


def test_the_size_of_what_is_not_known_follows_from_its_bound():
    assert float(LEARNS.error_bound(RHO)) <= LARGEST


def test_every_gain_that_states_a_bound_is_drawn():
    gains = [known.load() for known in GAINS.members.values()]
    stating = {x for x in gains if hasattr(x, "error_bound") or hasattr(x, "ultimate_bound")}
    servos = [make().model.servo for make in UNCERTAIN.values()]
    used = {type(x) for servo in servos for x in getattr(servo, "inner", servo).gains.values()}
    assert len(stating) == 3 and stating <= used
