"""Two shafts that meet at an angle."""

import numpy as np
import pytest

import zwang as zw
from zwang.mechanism import Begin, Force, Joint, Link, Mechanism, Point

BEND, ANGLE, RATE = 0.6, 0.7, 5.0


def shafts(kind: str) -> Mechanism:
    """Two shafts on the ground whose axes z meet under an angle at the origin."""
    inertia = (0.2, 0.2, 0.1)
    bodies = {"first": Link(1.0, inertia), "second": Link(1.0, inertia, turn=(BEND, 0.0, 0.0))}
    axis = (0.0, -np.sin(BEND), np.cos(BEND))
    return Mechanism(
        bodies,
        {
            "in": Joint("revolute", ("ground", "first")),
            "out": Joint("revolute", ("ground.out", "second")),
            "joint": Joint(kind, ("first", "second")),
        },
        ground={"out": Point((0.0, 0.0, 0.0), axis=axis, x=(1.0, 0.0, 0.0))},
        forces={"torque": Force(3.0, joint="in")},
        start={"in": Begin(value=ANGLE, rate=RATE)},
        world="space",
    )


def angles(m: Mechanism) -> tuple[float, float]:
    s = m.start_state
    found = [m.compiled.joints.coordinate(m.compiled.joints.of(n, None, ())) for n in ("in", "out")]
    return tuple(float(x(s.q, m.params)) for x in found)


@pytest.mark.slow
def test_both_shafts_turn_alike():
    m = shafts("constant-velocity")
    s = m.start_state
    assert np.allclose(angles(m), ANGLE, atol=1e-12)
    spins = np.asarray(s.v).reshape(2, 6)[:, 3:]
    assert np.allclose(spins, [0.0, 0.0, RATE], atol=1e-11)
    accelerations = np.asarray(zw.motion(m.model, s.q, s.v).acceleration).reshape(2, 6)
    assert np.allclose(accelerations[:, 5], 3.0 / 0.2, atol=1e-9)  # one torque turns two shafts
    found = zw.check(m.model, s.q, s.v)
    assert found.degrees_of_freedom == 1


@pytest.mark.slow
def test_a_universal_joint_in_its_place_turns_the_second_shaft_unevenly():
    """ω₂/ω₁ = cos β / (1 − sin²β sin²θ), θ from where the cross lies along the axis of the bend."""
    spin = np.asarray(shafts("universal").start_state.v).reshape(2, 6)[1, 5]
    ratio = np.cos(BEND) / (1 - (np.sin(BEND) * np.sin(ANGLE)) ** 2)
    assert np.isclose(spin, RATE * ratio, atol=1e-9)
