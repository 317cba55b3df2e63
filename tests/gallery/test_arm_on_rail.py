"""Motors that hold a hand at one height in the metric of the inverse mass matrix are a rail."""

import numpy as np

import zwang as zw

from .examples import example, run


def test_in_the_metric_of_the_inverse_mass_the_motors_are_a_rail():
    """The same arm with the height as a passive constraint; the energy stays."""
    member, reached = example("arm-on-rail"), run("arm-on-rail")
    (row,) = member.model.servo.constraints
    rail = zw.Model(member.model.system, [row], member.model.params, name="rail")
    passive = zw.simulate(rail, member.q0, member.v0, times=reached.t, rtol=1e-10)
    np.testing.assert_allclose(reached.q, passive.q, atol=1e-8)
    force = passive.dataset["constraint_force"].values[:, 0]
    np.testing.assert_allclose(reached.dataset["control"].values, force, atol=1e-7)
    energy = reached.dataset["energy"].values
    assert np.ptp(reached.q[:, 0]) > 0.5 and np.ptp(energy) < 1e-8


def test_the_least_torques_do_work():
    reached = run("arm-on-rail", metric="torque", duration=1.0)
    assert np.ptp(reached.dataset["energy"].values) > 0.1
    u = np.linalg.norm(reached.dataset["control"].values[0])
    assert u < np.linalg.norm(run("arm-on-rail").dataset["control"].values[0])
