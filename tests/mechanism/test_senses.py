"""Joints keep the sense of their axes, efforts have a direction, initial values are permitted
together with drives, bushings rotate far, units are SI.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw
from tests.crossed import crossed
from zwang.errors import ModelError
from zwang.gallery.mechanisms import FOLDER
from zwang.mechanism import (
    Begin,
    Bushing,
    Drive,
    Force,
    Joint,
    Link,
    Mechanism,
    PartError,
    Point,
    Spring,
    applied_forces,
    joint_motion,
    reactions,
    read,
)
from zwang.mechanism.assembly import AssemblyError
from zwang.mechanism.relative_pose import rotation_vector

J = (1.0, 2.0, 2.5)
UPSIDE_DOWN = ((np.pi, 0.0, 0.0), (3.0, 0.1, 0.2), (0.0, 2.9, 0.0))


def relative_attitude(m: Mechanism, joint: str) -> np.ndarray:
    at, ends = np.asarray(m.frames(m.start_state.q).attitude), m.compiled.joints.ends[joint][0]
    return at[ends.a].T @ at[ends.b]


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    "kind, turn",
    crossed(["fixed", "prismatic", "revolute", "cylindrical", "planar"], UPSIDE_DOWN),
)
def test_a_body_that_is_drawn_upside_down_is_turned_over(kind, turn):
    m = Mechanism(
        {"b": Link(1.0, J, turn=turn, points={"p": Point((0.1, 0.2, 0.3))})},
        {"j": Joint(kind, ("ground", "b.p"))},
        world="space",
    )
    R = relative_attitude(m, "j")
    assert R[2, 2] == pytest.approx(1.0, abs=1e-12)
    if kind in ("fixed", "prismatic"):
        np.testing.assert_allclose(R, np.eye(3), atol=1e-12)
    below = Mechanism(
        {"b": Link(1.0, J, turn=turn, points={"p": Point((0.1, 0.2, 0.3))})},
        {"j": Joint(kind, ("b.p", "ground"))},
        world="space",
    )
    assert relative_attitude(below, "j")[2, 2] == pytest.approx(1.0, abs=1e-12)


def test_axes_that_cannot_agree_are_refused():
    up, down = Point((0.0, 0.0, 0.2)), Point((0.0, 0.0, -0.2), axis=(0.0, 0.0, -1.0))
    m = Mechanism(
        {"b": Link(1.0, J, points={"up": up, "down": down})},
        {
            "top": Joint("revolute", ("ground.up", "b.up")),
            "bottom": Joint("revolute", ("ground.down", "b.down")),
        },
        ground={"up": up, "down": (0.0, 0.0, -0.2)},
        world="space",
    )
    with pytest.raises(AssemblyError, match=r"half a turn off; reverse the axis of one"):
        _ = m.start_state


COINCIDENT = {
    "spring": ({"springs": {"s": Spring(("ground", "b"), stiffness=3.0, rest=0.4)}}, "springs.s"),
    "force": ({"forces": {"f": Force("2 + t", between=("ground", "b"))}}, "forces.f"),
}


@pytest.mark.parametrize("parts, where", COINCIDENT.values(), ids=COINCIDENT)
@pytest.mark.parametrize("coordinates", ["maximal", "joint"])
def test_an_effort_between_coincident_points_is_refused(parts, where, coordinates):
    m = Mechanism({"b": Link(1.0, 1.0)}, coordinates=coordinates, **parts)
    with pytest.raises(PartError, match=rf"{where}: its points coincide at the start"):
        _ = m.start_state


def test_a_spring_without_rest_may_start_at_coincident_points():
    m = Mechanism(
        {"b": Link(1.0, 1.0, velocity=(1.0, 0.0))},
        springs={"s": Spring(("ground", "b"), stiffness=4.0)},
        gravity=(0.0, 0.0),
    )
    start = m.start_state
    run = zw.simulate(m.model, start.q, start.v, duration=1.0, samples=3)
    np.testing.assert_allclose(run.q[:, 0], np.sin(2 * run.t) / 2, atol=1e-7)


def crank(drive: Drive, start: dict, coordinates: str) -> Mechanism:
    """A slider-crank of a crank of 0.2 m and a rod of 0.6 m."""
    return Mechanism(
        {
            "crank": Link(length=0.2, at=(0.1, 0.0)),
            "rod": Link(length=0.6, at=(0.5, 0.0), angle=-0.1),
            "piston": Link(1.0, 0.1, at=(0.8, 0.0)),
        },
        {
            "A": Joint("revolute", ("ground", "crank.start")),
            "B": Joint("revolute", ("crank.end", "rod.start")),
            "C": Joint("revolute", ("rod.end", "piston")),
            "D": Joint("prismatic", ("ground", "piston")),
        },
        drives={"motor": drive},
        start=start,
        coordinates=coordinates,
    )


def piston(angle: float) -> float:
    return 0.2 * np.cos(angle) + np.sqrt(0.36 - (0.2 * np.sin(angle)) ** 2)


BESIDE = {
    "rate": (Drive("A", rate="3"), {"A": Begin(value=0.7)}, 0.7),
    "value": (Drive("A", value="0.5 + 3*t"), {"A": Begin(value=0.5)}, 0.5),
    "value and rate": (Drive("A", value="0.5 + 3*t"), {"A": Begin(value=0.5, rate=3.0)}, 0.5),
    "another joint": (Drive("A", rate="3"), {"D": Begin(value=piston(1.1))}, 1.1),
}


@pytest.mark.slow
@pytest.mark.parametrize("beside, coordinates", crossed(BESIDE, ["maximal", "joint"]))
def test_a_start_value_stands_beside_a_drive(beside, coordinates):
    drive, start, angle = beside
    m = crank(drive, start, coordinates)
    s = m.start_state
    at = m.body_state(s.q, s.v)
    assert abs(float(at.q[2])) == pytest.approx(angle, abs=1e-9)
    assert float(at.v[2]) == pytest.approx(3.0, abs=1e-9)
    assert float(at.q[6]) == pytest.approx(piston(angle), abs=1e-9)


CONTRADICTIONS = {
    "value": (Drive("A", value="0.5 + 3*t"), {"A": Begin(value=0.7)}, "value is 0.7, .* has 0.5"),
    "rate": (Drive("A", value="0.5 + 3*t"), {"A": Begin(rate=2.0)}, "rate is 2, .* has 3"),
    "rate of a rate": (Drive("A", rate="3"), {"A": Begin(rate=2.0)}, "rate is 2, .* has 3"),
}


@pytest.mark.parametrize("drive, start, said", CONTRADICTIONS.values(), ids=CONTRADICTIONS)
def test_a_start_value_that_contradicts_a_drive_names_both(drive, start, said):
    with pytest.raises(PartError, match=rf"start.A: {said} at t = 0; leave one of them out"):
        _ = crank(drive, start, "maximal").start_state


@pytest.mark.slow
def test_a_line_of_start_in_the_gallery_is_taken(tmp_path):
    path = tmp_path / "quick-return.toml"
    text = (FOLDER / "quick-return.toml").read_text()
    path.write_text(text + "\n[start]\nshaft = { value = 1.0 }\n")
    m = read(path)
    start = m.start_state
    run = zw.simulate(m.model, start.q, start.v, duration=0.1, samples=2)
    assert joint_motion(m, run)["shaft"].values[0] == pytest.approx(1.0, abs=1e-10)


@pytest.mark.parametrize("degrees", [1e-7, 1e-3, 0.57, 0.58, 45.0, 135.0, 179.0])
def test_a_bushing_keeps_its_stiffness_at_any_angle(degrees):
    """The rotation vector about a skew axis, and its slope, by the angle that made it."""
    n = np.array([1.0, 2.0, -0.5]) / np.linalg.norm([1.0, 2.0, -0.5])
    N = np.cross(np.eye(3), n)
    turned = lambda a: jnp.eye(3) + jnp.sin(a) * N + (1 - jnp.cos(a)) * N @ N
    angle = np.deg2rad(degrees)
    found, slope = jax.jvp(lambda a: rotation_vector(turned(a)), (angle,), (1.0,))
    np.testing.assert_allclose(found, angle * n, rtol=1e-11, atol=1e-15)
    np.testing.assert_allclose(slope, n, atol=1e-9)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("degrees", [90, 135, 170])
def test_a_door_on_a_bushing_swings_as_a_torsion_pendulum(degrees):
    """θ̈ = −k θ/J, where the sine would be a sixth of 1 rad at 170°."""
    angle = np.deg2rad(degrees)
    m = Mechanism(
        {"door": Link(1.0, (1.0, 1.0, 2.0), turn=(0.0, 0.0, angle))},
        bushings={"b": Bushing(("ground", "door"), (9.0,) * 3 + (5.0,) * 3)},
        gravity=(0.0, 0.0, 0.0),
        world="space",
    )
    start = m.start_state
    motion = zw.motion(m.model, start.q, start.v)
    assert float(motion.acceleration[5]) == pytest.approx(-5.0 * angle / 2.0, rel=1e-9)


@pytest.mark.slow
def test_a_constraint_of_ones_own_with_a_parameter_is_read():
    m = Mechanism(
        {"rod": Link(length=1.0, at=(0.5, 0.0))},
        {"pin": Joint("revolute", ("ground", "rod.start"))},
        springs={"s": Spring(joint="pin", stiffness=1.0)},
    )
    still = zw.Holonomic(lambda q, t, p: q[2] - p["mine"], name="still")
    model = zw.Model(m.model.system, [*m.constraints, still], {**m.params, "mine": 0.0})
    start = m.start_state
    run = zw.simulate(model, start.q, 0 * start.v, duration=0.1, samples=2)
    assert reactions(m, run)["pin"].force[:, 1] == pytest.approx(9.81)
    assert joint_motion(m, run)["pin"].values == pytest.approx(0.0)
    assert applied_forces(m, run)["s"].values == pytest.approx(0.0)


@pytest.mark.parametrize(
    ("unit", "right"),
    [
        ("mm", 'value = "60mm" and unit = "m"'),
        ("deg", 'value = "60deg" and unit = "rad"'),
        ("N/mm", 'value in N/m and unit = "N/m"'),
        ("g", "value in kg"),
    ],
)
def test_a_unit_that_is_not_si_is_refused(unit, right, tmp_path):
    path = tmp_path / "crank.toml"
    path.write_text(
        f'[parameters]\nL = {{ value = 60, unit = "{unit}" }}\n[bodies.rod]\nlength = "L"\n'
    )
    with pytest.raises(ModelError, match=rf"line 2: parameters.L: has the unit .* {right}"):
        read(path)
