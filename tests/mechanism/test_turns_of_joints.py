"""Angle laws for every kind of joint that has or couples an angle. The kinds come from the
registry, so that a new kind is tested as well.
"""

import numpy as np
import pytest

import zwang as zw
from zwang.mechanism import KINDS, Begin, Joint, Link, Mechanism, Spring, joint_motion
from zwang.mechanism.relative_pose import ANGLE
from zwang.simulation.results import Run

HOMES = ("maximal", "joint")
SPIN, AMPLITUDE = 10.0, 19.0
"""Rate at the start [rad/s], and how far a torsion spring lets it turn [rad]: three turns."""
DURATION = 4.0
"""Just past the farthest angle."""
OTHERS = {"varying-screw": {"advance": "0.03*angle"}, "cam": {"lift": "0.1*angle"}}
"""Options in place of those of a kind's example, for which the motion is a sine."""
INERTIA = {
    "rolling": 1.0 + 0.5**2,
    "revolute-spherical": 0.5**2,
    "varying-screw": 1.0 + 0.03**2,
    "gear": 1.0 + (20 / 30) ** 2,
    "belt": 1.0 + (20 / 10) ** 2,
    "rack": 1.0 + 0.3**2,
    "cam": 1.0 + 0.1**2,
}
"""What the spring turns [kg m²], bodies being of 1 kg and 1 kg m²; 1 of other kinds."""
REST = {"revolute-spherical": np.arctan2(0.4, 0.3)}
"""Angle of the example."""
QUICK = [("universal", "second", 3), ("varying-screw", "angle", 3), ("rack", "angle", 2)]


def angles():
    """Every kind with an angle, the angle's name, and the dimension."""
    for name, kind in KINDS.items():
        for d in (2, 3):
            if (equations := kind.equations(d)) is None:
                continue
            freedoms = [x.coordinate for x in equations.freedoms]
            own = [ANGLE] if kind.couples else [kind.coordinate] if kind.coordinate else []
            for angle in dict.fromkeys(x.name for x in [*freedoms, *own] if x.angular):
                marks = () if (name, angle, d) in QUICK else pytest.mark.slow
                yield pytest.param(name, angle, d, marks=marks, id=f"{name} {angle} {d}D")


def turned(name: str, angle: str, d: int, coordinates: str) -> tuple[Run, np.ndarray]:
    """A body that is spun about an angle, against a torsion spring."""
    kind = KINDS[name]
    example, options = kind.equations(d).example, {**kind.example, **OTHERS.get(name, {})}
    stiffness = INERTIA.get(name, 1.0) * (SPIN / AMPLITUDE) ** 2
    own = 1.0 if d == 2 else (1.0, 1.0, 1.0)
    ending = kind.equations(d).endings()
    several = len(ending) > 1
    springs = {
        "s": Spring(joint="j", coordinate=angle, stiffness=stiffness, rest=REST.get(name, 0.0))
    }
    if name == "universal":
        other = {"first": "second", "second": "first"}[angle]
        springs["other"] = Spring(joint="j", coordinate=other, stiffness=5.0)
    at = {"at": example.displacement[:d]}
    bodies = {"w": Link(1.0, own, **at, **({"turn": example.rotation} if d == 3 else {}))}
    joints = {"j": Joint(name, ("ground", "w"), **options)} if not kind.couples else {}
    if kind.couples:
        second = kind.couples[1]
        slides = second is not None and not second.angular
        bodies = {"w": Link(1.0, own), "x": Link(1.0, own)}
        joints = {
            "j": Joint("revolute", ("ground", "w")),
            "k": Joint("prismatic" if slides else "revolute", ("ground", "x")),
            "both": Joint(name, joints=("j", "k"), **options),
        }
        several = False
    m = Mechanism(
        bodies,
        joints,
        springs=springs,
        gravity=(0.0,) * d,
        world="plane" if d == 2 else "space",
        coordinates=coordinates,
        start={f"j.{angle}" if several else "j": Begin(rate=SPIN)},
    )
    start = m.start_state
    run = zw.simulate(m.model, start.q, start.v, duration=DURATION, samples=9, rtol=1e-9)
    return run, joint_motion(m, run)[f"j.{angle}" if several else "j"].values


@pytest.mark.slow
@pytest.mark.parametrize("name, angle, d", tuple(angles()))
def test_every_angle_of_a_joint_turns_three_times_and_back(name, angle, d):
    """θ = θ₀ + A sin ωt, in both coordinates."""
    found = [turned(name, angle, d, coordinates) for coordinates in HOMES]
    t = found[0][0].t
    if (name, d) == ("rolling", 3):
        # its angle is that about the normal of both disks' planes, which a push of the spring turns
        np.testing.assert_allclose(found[0][1], found[1][1], atol=1e-7)
        return
    exact = REST.get(name, 0.0) + AMPLITUDE * np.sin(SPIN / AMPLITUDE * t)
    for _, values in found:
        np.testing.assert_allclose(values, exact, atol=1e-7)
