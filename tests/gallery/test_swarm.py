"""The swarm compared with independent integrations of its first-order flow, and the effect of the
printed law on an inconsistent initial state.
"""

import numpy as np
import pytest

import zwang as zw
from zwang import gallery
from zwang.gallery.swarm import PENTAGON, error, slope

END = {  # q at 2 s by two other integrators, of robots 1 to 5 that start where the model does
    ("consistent", 0.0): [
        0.9661324511954615,
        0.45161047127597115,
        0.606393247374088,
        0.4445482439101415,
        0.5095659441487557,
    ],
    ("rest", 2.0): [
        1.0572042790489171,
        0.5001066912473534,
        0.49286558248558215,
        0.5998371308431446,
        0.3282206295413281,
    ],
    ("rest", 5.0): [
        0.9665373949026013,
        0.44671298201263243,
        0.6043331109981097,
        0.4507825562300324,
        0.5042730622262678,
    ],
    ("scattered", 0.0): [
        4.567696432274887,
        3.7173405053097617,
        -2.6364759004969334,
        5.922797865492769,
        -4.844984090618508,
    ],
    ("scattered", 2.0): [
        1.1677509979163698,
        0.6913215490940736,
        0.5939763127400359,
        0.8031230510448912,
        0.4146204170406612,
    ],
}


def run(start, pull, **when):
    return gallery.load("swarm", start=start, pull=pull).run(rtol=1e-12, **when)


@pytest.mark.parametrize(("start", "pull"), END)
def test_every_start_follows_the_reference(start, pull):
    """Of two integrators that agree to 1e-10. The consistent start also shows that a step's error
    in q is not projected away:
    every constraint is nonholonomic and leaves no freedom, so that v has no error of its own.
    """
    assert np.allclose(
        run(start, pull, times=[2.0]).q[-1, :5], END[start, pull], atol=1e-10, rtol=0
    )


def test_robots_end_on_a_regular_pentagon_and_never_collide():
    reached = run("consistent", 0.0, duration=20.0)
    places = reached.q[-1].reshape(5, 2)
    assert np.allclose(np.linalg.norm(places - places.mean(axis=0), axis=1), PENTAGON, atol=1e-9)
    apart = np.linalg.norm(reached.q.reshape(-1, 5, 1, 2) - reached.q.reshape(-1, 1, 5, 2), axis=-1)
    assert np.min(apart + 9 * np.eye(5)) > 0.35
    assert error(reached).max() < 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("pull", [pytest.param(2.0, marks=pytest.mark.slow), 5.0])
def test_the_error_decays_at_the_rate_of_the_pull(pull):
    reached = run("rest", pull, duration=3.0)
    beta = error(reached)
    assert np.allclose(beta, beta[0] * np.exp(-pull * reached.steps.t), rtol=1e-9, atol=1e-12)
    force = reached.dataset.constraint_force.sum(
        "constraint"
    ).values  # what acted, the pull included
    assert np.allclose(force[0], -2.0 * pull * np.asarray(slope(reached.q[0])).ravel(), rtol=1e-12)


def test_errata_the_printed_law_leaves_robots_at_rest_at_rest():
    """ERRATA: eq. (64) with b = φ asks for β̇ = 0 alone; the claimed fall of ‖β‖ below 0.01 needs b
    = φ − kβ.
    """
    reached = run("rest", 0.0, duration=3.0)
    assert np.array_equal(reached.q[-1], reached.q[0]) and np.ptp(error(reached)) < 1e-12
    assert error(reached)[0] == pytest.approx(56.093678715555335, rel=1e-14)


def test_wrong_settings_are_refused():
    with pytest.raises(
        zw.ModelError, match="start = 'flying'; expected one of: rest, consistent, scattered"
    ):
        gallery.load("swarm", start="flying")
    with pytest.raises(zw.ModelError, match="pull = -1"):
        gallery.load("swarm", pull=-1.0)
