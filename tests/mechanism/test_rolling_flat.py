"""A horizontal disk has no lowest point, and a slightly tilted one has one."""

import dataclasses

import numpy as np
import pytest

import zwang as zw
from zwang.mechanism import Joint, Link, Mechanism

RADIUS, INERTIA = 0.5, 0.0625


def disk(tilt: float) -> Mechanism:
    """A disk of 1 kg on a plane, its axle tilted away from the vertical."""
    height = RADIUS * abs(np.sin(tilt))
    body = Link(
        mass=1.0, inertia=(INERTIA, INERTIA, 2 * INERTIA), at=(0.0, 0.0, height),
        turn=(tilt, 0.0, 0.0),
    )  # fmt: skip
    roll = Joint("rolling", between=("ground", "disk"), radius=RADIUS)
    return Mechanism(bodies={"disk": body}, joints={"roll": roll}, world="space")


@pytest.mark.parametrize("tilt", [0.0, np.pi, 1e-14])
def test_a_disk_that_lies_flat_is_refused_in_words_about_disks(tilt):
    with pytest.raises(zw.ModelError, match=r"joints\.roll: the disk lies flat.*tilt its z axis"):
        _ = disk(tilt).start_state


@pytest.mark.parametrize(
    "tilt",
    [1e-6, 0.3, 1.2, *(pytest.param(x, marks=pytest.mark.slow) for x in (1e-3, 0.01, 0.1, 1.0))],
)
def test_a_disk_that_falls_flat_ends_with_its_contact_named(tilt):
    mechanism = disk(tilt)
    start = mechanism.start_state
    with pytest.raises(zw.SimulationError, match="'roll.* there.*end the run before it by stop="):
        zw.simulate(mechanism.model, start.q, start.v, duration=1.0)


def test_a_nearly_flat_disk_that_spins_is_fast_and_not_stiff():
    """Its contact runs round the rim at 1e4 rad/s."""
    mechanism = disk(1e-6)
    body = dataclasses.replace(mechanism.bodies["disk"], angular_velocity=(0.0, 0.0, 1.0))
    mechanism = dataclasses.replace(mechanism, bodies={"disk": body})
    start = mechanism.start_state
    with pytest.raises(zw.SimulationError, match="gradient of constraint 'roll.* fast, not stiff"):
        zw.simulate(mechanism.model, start.q, start.v, duration=0.5, max_steps=500)


@pytest.mark.parametrize("tilt", [1e-6, 1e-3, 0.3, np.pi / 2 - 0.1])
def test_a_disk_tilted_at_rest_falls_as_a_rod_about_its_rim(tilt):
    """It turns about the tangent at the contact: `(I + m r²) α = m g r cos(tilt)`."""
    mechanism = disk(tilt)
    start = mechanism.start_state
    found = zw.motion(mechanism.model, start.q, start.v).acceleration
    falls = 9.81 * RADIUS * np.cos(tilt) / (INERTIA + RADIUS**2)
    assert abs(abs(found[3]) - falls) < 1e-7 * falls
    assert abs(found[2] + RADIUS * np.cos(tilt) * falls) < 1e-7 * falls
