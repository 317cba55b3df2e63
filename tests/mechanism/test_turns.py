"""Angle laws: joints and forces over three turns have one motion in the plane, in space and in
joint coordinates.
"""

import functools

import numpy as np
import pytest

import zwang as zw
from tests.crossed import crossed
from zwang.mechanism import (
    Actuator,
    Begin,
    Drive,
    Force,
    Gap,
    Joint,
    Law,
    Link,
    Mechanism,
    Point,
    ServoConstraint,
    Slip,
    Spring,
    Toggle,
    joint_motion,
    reactions,
)
from zwang.mechanism.mechanism import PARTS

HOMES = [
    ("plane", "maximal"),
    pytest.param("space", "maximal", marks=pytest.mark.slow),
    ("space", "joint"),
]
DURATION, SPIN = 3.0, 10.0
K, D = 0.3, 0.05
TURNS = 6 * np.pi
ALIKE = 2e-7
"""Angles of motions at rtol 1e-10 in other coordinates."""


def wheel(world: str, coordinates: str, spin: float = SPIN, **parts) -> Mechanism:
    """Two wheels on the ground, J = 1 kg·m² and 0.5 kg·m², the first one spinning."""
    d = 2 if world == "plane" else 3
    J = lambda x: x if d == 2 else (x, x, x)
    rate = spin if d == 2 else (0.0, 0.0, spin)
    joints = {
        "pin": Joint("revolute", ("ground", "wheel")),
        "axle": Joint("revolute", ("ground.b", "other")),
        **parts.pop("joints", {}),
    }
    return Mechanism(
        {
            "wheel": Link(1.0, J(1.0), angular_velocity=rate),
            "other": Link(1.0, J(0.5), at=(2.0, 0.0, 0.0)[:d]),
        },
        joints,
        ground={"b": (2.0, 0.0, 0.0)[:d]},
        gravity=(0.0,) * d,
        world=world,
        coordinates=coordinates,
        **parts,
    )


def moved(m: Mechanism, duration: float = DURATION, **options):
    start = m.start_state
    run = zw.simulate(
        m.model, start.q, start.v, duration=duration, samples=9, rtol=1e-10, **options
    )
    return run, joint_motion(m, run)


CASES = {
    "spring": {"springs": {"s": Spring(joint="pin", stiffness=K, damping=D, rest=0.2)}},
    "force": {"forces": {"f": Force("-0.3*value + sin(value/2) - 0.05*rate", joint="pin")}},
    "servo": {
        "servo": {"s": ServoConstraint(joint="pin", value="9 + 4*t")},
        "actuators": {"m": Actuator(joint="pin")},
    },
    "servo with limits": {
        "servo": {"s": ServoConstraint(joint="pin", value="20*sin(t)")},
        "actuators": {"m": Actuator(joint="pin", lower=-60.0, upper=60.0)},
    },
    "drive": {"drives": {"d": Drive("pin", value="10*t + sin(t)")}},
    "drive by rate": {"drives": {"d": Drive("pin", rate="12 + cos(t)")}},
    "law": {"laws": {"l": Law({"a": "pin", "b": "axle"}, "a + 0.7*b + 0.2*sin(a/2) - 0.1*t")}},
    "cam": {"joints": {"cam": Joint("cam", joints=("pin", "axle"), lift="0.3*angle + sin(angle)")}},
    "gear": {"joints": {"g": Joint("gear", joints=("pin", "axle"), ratio=(2.0, 3.0))}},
    "belt of other radii": {
        "joints": {"g": Joint("belt", joints=("pin", "axle"), ratio=(0.25, 0.17))}
    },
    "gap": {
        "gaps": {"stop": Gap({"angle": "pin"}, "15 - angle", restitution=0.6)},
        "springs": {"s": Spring(joint="pin", stiffness=K)},
    },
    "switch": {
        "drives": {"d": Drive("pin", rate="12")},
        "switches": {"d": Toggle(off="value - 13")},
        "forces": {"f": Force("-0.5*rate", joint="pin")},
    },
    "brake": {"frictions": {"b": Slip({"a": "pin"}, "a_rate - 0.1*sin(a/2)", load=0.5)}},
    "springs of both": {
        "springs": {
            "a": Spring(joint="pin", stiffness=K),
            "b": Spring(joint="axle", stiffness=2 * K),
        },
        "joints": {"g": Joint("gear", joints=("pin", "axle"), ratio=(0.7, 1.1))},
    },
}


QUICK = [
    pytest.param(name, marks=() if name in ("spring", "cam") else pytest.mark.slow)
    for name in CASES
]


ELSEWHERE = {"bodies", "start", "tables", "bushings", "ropes", "contacts"}
"""Parts that act on no angle of a joint, or are turned in tests of their own."""


def test_every_part_that_acts_on_an_angle_is_turned_here():
    assert {part for case in CASES.values() for part in case} == PARTS.keys() - ELSEWHERE


@functools.cache
def plane(name: str):
    return moved(wheel("plane", "maximal", **{k: dict(x) for k, x in CASES[name].items()}))[1]


@pytest.mark.slow
@pytest.mark.parametrize("name, coordinates", crossed(QUICK, ["maximal", "joint"]))
def test_three_turns_in_space_are_those_of_the_plane(name, coordinates):
    expected = plane(name)
    assert np.abs(expected["pin"].values).max() > np.pi
    m = wheel("space", coordinates, **{k: dict(x) for k, x in CASES[name].items()})
    run, found = moved(m)
    for joint in ("pin", "axle", "pin rate", "axle rate"):
        np.testing.assert_allclose(
            found[joint].values, expected[joint].values, atol=ALIKE * SPIN, err_msg=joint
        )
    assert run.steps.violation.max(initial=0.0) < 1e-10


@pytest.mark.slow
@pytest.mark.parametrize(("world", "coordinates"), HOMES)
def test_a_torsion_spring_swings_over_turns(world, coordinates):
    """θ = v₀/ω sin ωt over three turns and back."""
    run, found = moved(
        wheel(world, coordinates, springs={"s": Spring(joint="pin", stiffness=K)}), duration=8.0
    )
    w = np.sqrt(K)
    exact = SPIN / w * np.sin(w * run.t)
    assert SPIN / w > 2 * np.pi * 2.9
    np.testing.assert_allclose(found["pin"].values, exact, atol=1e-6)
    energy = run.dataset["energy"].values
    np.testing.assert_allclose(energy, SPIN**2 / 2, rtol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize(("world", "coordinates"), HOMES)
def test_a_start_angle_of_more_than_a_turn_is_the_one_of_springs(world, coordinates):
    m = wheel(
        world,
        coordinates,
        spin=0.0,
        springs={"s": Spring(joint="pin", stiffness=K)},
        start={"pin": Begin(value=9.0, rate=0.0)},
    )
    start = m.start_state
    motion = zw.motion(m.model, start.q, start.v)
    assert np.abs(np.asarray(motion.acceleration)).max() == pytest.approx(9.0 * K, rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("coordinates", ["maximal", "joint"])
def test_angles_of_a_universal_joint_count_turns(coordinates):
    """Torsion about the first axis of a cross: θ = v₀/ω sin ωt with J about that axis."""
    m = Mechanism(
        {"wheel": Link(1.0, (1.0, 1.0, 1.0), angular_velocity=(SPIN, 0.0, 0.0))},
        {"cross": Joint("universal", ("ground", "wheel"))},
        springs={
            "a": Spring(joint="cross", coordinate="first", stiffness=K),
            "b": Spring(joint="cross", coordinate="second", stiffness=5.0),
        },
        gravity=(0.0, 0.0, 0.0),
        world="space",
        coordinates=coordinates,
    )
    run, found = moved(m)
    exact = SPIN / np.sqrt(K) * np.sin(np.sqrt(K) * run.t)
    np.testing.assert_allclose(found["cross.first"].values, exact, atol=1e-6)


@pytest.mark.slow
def test_reactions_over_turns_are_alike_in_both_coordinates():
    """An eccentric wheel with a torsion spring, which is its pin's share in neither."""
    found = []
    for coordinates in ("maximal", "joint"):
        m = Mechanism(
            {
                "wheel": Link(
                    1.0,
                    (1.0, 1.0, 1.0),
                    points={"pin": Point((-0.3, 0.0, 0.1))},
                    at=(0.3, 0.0, -0.1),
                    angular_velocity=(0.0, 0.0, SPIN),
                    velocity=(0.0, 3.0, 0.0),
                )
            },
            {"pin": Joint("revolute", ("ground", "wheel.pin"))},
            springs={"s": Spring(joint="pin", stiffness=K)},
            world="space",
            coordinates=coordinates,
        )
        run, _ = moved(m)
        found.append(reactions(m, run)["pin"])
        assert np.abs(m.placed(run.q).bodies).shape == (9, 7)
    np.testing.assert_allclose(found[0].force, found[1].force, atol=1e-5)
    np.testing.assert_allclose(found[0].torque, found[1].torque, atol=1e-5)


@pytest.mark.slow
def test_turns_of_a_loop_are_counted_in_joint_coordinates():
    """A spring on the joint that closes a loop of two wheels on one axle."""
    parts = {
        "joints": {
            "pin": Joint("revolute", ("ground", "wheel")),
            "between": Joint("fixed", ("wheel", "other")),
            "back": Joint("revolute", ("ground", "other")),
        },
        "springs": {"s": Spring(joint="back", stiffness=K)},
    }
    J = (1.0, 1.0, 1.0)
    spin = (0.0, 0.0, SPIN)
    for coordinates in ("maximal", "joint"):
        m = Mechanism(
            {"wheel": Link(1.0, J, angular_velocity=spin), "other": Link(1.0, J)},
            gravity=(0.0, 0.0, 0.0),
            world="space",
            coordinates=coordinates,
            start={"pin": Begin(rate=SPIN)},
            **parts,
        )
        run, found = moved(m)
        w = np.sqrt(K / 2)
        np.testing.assert_allclose(found["back"].values, SPIN / w * np.sin(w * run.t), atol=1e-6)
