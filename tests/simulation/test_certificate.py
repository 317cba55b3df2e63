"""Residuals of gaps and dry friction at every accepted step."""

import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw
from zwang.simulation.certificate import Certificate

G = 9.81
KINDS = "contact_primal", "contact_dual", "contact_complementarity"


def sled(**given):
    """A mass on a rough floor that a spring pulls and a stop ends."""
    system = zw.System(
        2,
        lambda q, t, p: jnp.array([2.0, 2.0]),
        lambda q, v, t, p: jnp.array([-p["k"] * q[0], -2.0 * G]),
    )
    floor = zw.Inequality(lambda q, t, p: q[1], name="floor", restitution=0.3)
    stop = zw.Inequality(lambda q, t, p: q[0] + 0.1, name="stop", restitution=0.5)
    grip = zw.DryFriction(lambda q, v, t, p: v[0], load="floor", static=0.3, kinetic=0.2)
    return zw.Model(system, [floor, stop, grip], {"k": 30.0, **given})


def test_every_step_of_a_run_is_certified():
    """Beside gaps and forces computed anew from the states: F is known, and so is λ."""
    run = zw.simulate(sled(), [1.0, 0.5], [0.0, 0.0], duration=4.0)
    assert len(run.switches) > 10
    primal, dual, rest = (run.attrs[x] for x in KINDS)
    x, height = run.steps.y[:, 0], run.steps.y[:, 1]
    depth = max(-np.min(height), -np.min(x + 0.1), 0.0)
    # beside the largest coordinate, and at least a unit of it
    assert 0.3 * depth <= primal + 1e-13 and primal <= 1e-11  # an instant times the speed
    assert dual <= 1e-12 and rest <= 1e-12
    assert "contact residuals" in str(run) and not any(
        "some steps violate" in x for x in run.warnings
    )


def test_a_model_that_holds_for_good_has_no_residuals_of_contact():
    example = zw.gallery.load("pendulum")
    assert not {*KINDS} & {*example.run(duration=0.1, samples=3).attrs}


def test_each_residual_is_that_of_its_own_law():
    certificate = Certificate()
    # a gap of size 2 and a friction, rows of length 3 and 5, forces of 60, a speed of 4
    certificate.measure(np.array([2.0]), np.array([3.0, 5.0]), 60.0, 4.0)
    take = lambda values, modes, residual: certificate.take(
        np.array([values]), np.array([modes]), np.array([residual])
    )
    take([-1.0, -1.0], [0.0, -1.0], 0.0)
    assert set(certificate.attributes.values()) == {0.0}
    take([0.5, -1.0], [0.0, 0.0], 0.25)  # below zero, and nothing acts
    assert certificate.attributes == dict(zip(KINDS, (0.25, 0.0, 0.0), strict=True))
    take([2.0, 0.0], [1.0, 0.0], 0.125)  # a closed gap that pulls
    assert certificate.attributes["contact_dual"] == pytest.approx(2.0 * 3.0 / 60.0)
    assert certificate.attributes["contact_complementarity"] == 0.125
    take([-1.0, 6.0], [1.0, 1.0], 0.0)  # a friction beyond its limit
    assert certificate.attributes["contact_dual"] == pytest.approx(6.0 * 5.0 / 60.0)
    take([-1.0, 10.0], [0.0, -1.0], 0.0)  # one that slides back
    assert certificate.attributes["contact_primal"] == pytest.approx(10.0 / (5.0 * 4.0))
    again = Certificate()
    again.recall(certificate.memory())
    assert again.attributes == certificate.attributes


def test_steps_that_are_too_long_to_see_a_gap_close_are_told():
    """A state that is below zero: the warning is no formality."""
    run = zw.simulate(sled(), [1.0, 0.5], [0.0, 0.0], duration=0.1)
    run.attrs["contact_primal"] = 1e-3
    assert any("primal residual 0.001" in x for x in run.warnings)
