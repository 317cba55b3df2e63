"""A body with its center on a massless link with a hinge: a plane pendulum for any spin."""

import numpy as np
import pytest

import zwang as zw
from zwang.mechanism import Begin, Joint, Link, Mechanism, Point, reaction

LENGTH, MASS, ANGLE, RATE, SPIN = 0.5, 2.0, 0.4, 3.0, (1.0, -2.0, 0.5)


def pendulum() -> Mechanism:
    """The hinge's axis is y of space; its point's x axis hangs down."""
    hinge = Point((0.0, 0.0, 0.0), axis=(0.0, -1.0, 0.0), x=(0.0, 0.0, -1.0))
    at = (LENGTH * np.sin(ANGLE), 0.1, -LENGTH * np.cos(ANGLE))
    return Mechanism(
        {"bob": Link(MASS, (0.1, 0.2, 0.25), at=at, angular_velocity=SPIN)},
        {"link": Joint("revolute-spherical", ("ground.hinge", "bob"), length=LENGTH)},
        ground={"hinge": hinge},
        start={"link": Begin(value=ANGLE, rate=RATE)},
        world="space",
    )


@pytest.mark.slow
def test_it_swings_as_a_plane_pendulum():
    m = pendulum()
    s = m.start_state
    assert np.allclose(s.q[:3], [LENGTH * np.sin(ANGLE), 0.0, -LENGTH * np.cos(ANGLE)], atol=1e-12)
    tangent = np.array([np.cos(ANGLE), 0.0, np.sin(ANGLE)])
    inward = np.array([-np.sin(ANGLE), 0.0, np.cos(ANGLE)])
    assert np.allclose(s.v[:3], LENGTH * RATE * tangent, atol=1e-12)
    assert np.allclose(s.v[3:], SPIN, atol=1e-12)  # a ball joint transmits no torque
    motion = zw.motion(m.model, s.q, s.v)
    expected = -9.81 * np.sin(ANGLE) * tangent + LENGTH * RATE**2 * inward
    assert np.allclose(motion.acceleration[:3], expected, atol=1e-11)
    got = reaction(m, s.q, motion.by_constraint, "link")
    tension = MASS * (9.81 * np.cos(ANGLE) + LENGTH * RATE**2)
    # in the axes of the hinge, whose x axis hangs down
    assert np.allclose(
        got.force, -tension * np.array([np.cos(ANGLE), np.sin(ANGLE), 0.0]), atol=1e-10
    )
    assert np.allclose(got.torque, 0.0, atol=1e-11)
