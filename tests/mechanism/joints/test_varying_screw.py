"""A nut on a thread with a varying pitch: s(θ) = a θ + b sin θ."""

import numpy as np
import pytest

import zwang as zw
from zwang.mechanism import KINDS, Begin, Joint, Link, Mechanism
from zwang.mechanism.relative_pose import RelativePose

A, B, MASS, INERTIA, ANGLE, RATE = 0.03, 0.02, 2.0, 0.004, 0.8, 6.0


def nut() -> Mechanism:
    return Mechanism(
        {"nut": Link(MASS, (0.01, 0.01, INERTIA))},
        {"thread": Joint("varying-screw", ("ground", "nut"), advance="a*angle + b*sin(angle)")},
        start={"thread": Begin(value=ANGLE, rate=RATE)},
        parameters={"a": A, "b": B},
        world="space",
    )


@pytest.mark.slow
def test_a_nut_accelerates_as_lagranges_equation_says():
    """(J + m s′²) θ″ + m s′ s″ θ′² = −m g s′"""
    m = nut()
    s = m.start_state
    slope, curvature = A + B * np.cos(ANGLE), -B * np.sin(ANGLE)
    assert np.isclose(s.q[2], A * ANGLE + B * np.sin(ANGLE), atol=1e-12)
    assert np.isclose(s.v[2], slope * RATE, atol=1e-12)
    pull = -MASS * slope * (9.81 + curvature * RATE**2)
    expected = pull / (INERTIA + MASS * slope**2)
    found = np.asarray(zw.motion(m.model, s.q, s.v).acceleration)
    assert np.isclose(found[5], expected, atol=1e-9)
    assert np.isclose(found[2], slope * expected + curvature * RATE**2, atol=1e-10)


@pytest.mark.parametrize("angle", [0.4, 3.0, 3.3, 5.0, 9.0, -7.0, 40.0])
def test_its_rows_count_whole_turns(angle):
    c, s = np.cos(angle), np.sin(angle)
    R = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    place = np.array([0.0, 0.0, A * angle + B * np.sin(angle)])
    options = {"advance": lambda angle: A * angle + B * np.sin(angle)}
    rows = KINDS["varying-screw"].space.position(RelativePose(place, R), options)
    assert np.allclose(rows, 0.0, atol=1e-14)
