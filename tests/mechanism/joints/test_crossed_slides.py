"""An Oldham coupling: two parallel shafts with an offset."""

import numpy as np
import pytest

import zwang as zw
from zwang.mechanism import Begin, Force, Joint, Link, Mechanism, reaction

APART, TORQUE, FIRST, SECOND, ANGLE, RATE = 0.05, 3.0, 0.1, 0.3, 0.7, 5.0


def coupling(disk: float | None = None) -> Mechanism:
    """Two shafts; with a disk of a mass, that disk on two slides in place of the joint."""
    bodies = {"first": Link(1.0, FIRST), "second": Link(1.0, SECOND, at=(APART, 0.0))}
    joints = {
        "in": Joint("revolute", ("ground", "first")),
        "out": Joint("revolute", ("ground.out", "second")),
    }
    if disk is None:
        joints["joint"] = Joint("crossed-slides", ("first", "second"))
    else:
        across = {"across": zw.mechanism.Point((0.0, 0.0), angle=np.pi / 2)}
        bodies["disk"] = Link(disk, disk * 0.1**2, points=across)
        bodies["second"] = Link(1.0, SECOND, at=(APART, 0.0), points=across)
        joints |= {
            "x": Joint("prismatic", ("first", "disk")),
            "y": Joint("prismatic", ("second.across", "disk.across")),
        }
    return Mechanism(
        bodies,
        joints,
        ground={"out": (APART, 0.0)},
        forces={"torque": Force(TORQUE, joint="in")},
        start={"in": Begin(value=ANGLE, rate=RATE)},
    )


def accelerations(m: Mechanism) -> np.ndarray:
    s = m.start_state
    return np.asarray(zw.motion(m.model, s.q, s.v).acceleration).reshape(-1, 3)


@pytest.mark.slow
def test_it_transmits_rotation_and_nothing_else():
    m = coupling()
    s = m.start_state
    assert np.allclose(np.asarray(s.v).reshape(2, 3)[:, 2], RATE, atol=1e-12)
    motion = zw.motion(m.model, s.q, s.v)
    alpha = TORQUE / (FIRST + SECOND)
    assert np.allclose(np.asarray(motion.acceleration).reshape(2, 3)[:, 2], alpha, atol=1e-11)
    got = reaction(m, s.q, motion.by_constraint, "joint")
    assert np.allclose(got.force, 0.0, atol=1e-11)
    assert np.isclose(got.torque, SECOND * alpha, atol=1e-11)


@pytest.mark.slow
def test_it_is_a_disk_on_two_slides_without_its_mass():
    light = accelerations(coupling(1e-7))[:2]
    assert np.allclose(light, accelerations(coupling()), atol=1e-5)  # of the disk's mass
