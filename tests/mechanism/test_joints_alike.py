"""Redundant joints: parallel rails, hinges of one door, pins. In joint coordinates the rows of the
second joint vanish identically, up to round-off of the axes.
"""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import zwang as zw
from tests.crossed import crossed
from zwang.dynamics.tangent_cone import tangent_cone
from zwang.mechanism import Joint, Link, Mechanism, Point, joint_motion

G, T = 9.81, 0.5
COORDINATES = ("maximal", "joint")
ANGLES = (0.5, 2.0)
RAILS = {
    "a sled on two rails": ("prismatic", None),
    "two sleds and a pin": ("prismatic", "revolute"),
}


def fallen(m: Mechanism) -> np.ndarray:
    start = m.start_state
    run = zw.simulate(m.model, start.q, start.v, duration=T, rtol=1e-9, samples=2)
    return np.asarray(m.body_state(run.q[-1], run.v[-1]).q)


@pytest.mark.slow
@pytest.mark.parametrize("rail, angle, coordinates", crossed(RAILS, ANGLES, COORDINATES))
def test_parallel_slides_in_the_plane_slide_freely(rail, angle, coordinates):
    kind, pin = rail
    along, up = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    at = lambda x: Point(tuple(x), angle=angle)
    bodies = {"b": Link(2.0, 0.1, points={"p": at((0, 0)), "r": at(0.15 * up), "q": at(0.3 * up)})}
    joints = {"A": Joint(kind, ("ground.a", "b.p")), "B": Joint(kind, ("ground.b", "b.q"))}
    if pin:
        own = {"p": at((0, 0)), "r": at(-0.15 * up)}
        bodies["c"] = Link(1.0, 0.1, at=tuple(0.3 * up), points=own)
        joints["B"] = Joint(kind, ("ground.b", "c.p"))
        joints["C"] = Joint(pin, ("b.r", "c.r"))
    ground = {"a": at((0, 0)), "b": at(0.3 * up)}
    m = Mechanism(bodies, joints, ground=ground, coordinates=coordinates)
    expected = along * (along @ [0, -G]) * T**2 / 2
    np.testing.assert_allclose(fallen(m)[:2], expected, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("angle", ANGLES)
def test_parallel_cylinders_in_space_slide_freely(angle):
    R = Rotation.from_euler("xyz", [angle, 0.7 * angle, 1.3 * angle]).as_matrix()
    at = lambda x: Point(tuple(x), axis=tuple(R[:, 2]))
    points = {"a": at((0, 0, 0)), "b": at(0.3 * R[:, 0])}
    m = Mechanism(
        {"b": Link(2.0, (0.1, 0.1, 0.1), points=points)},
        {x: Joint("cylindrical", (f"ground.{x}", f"b.{x}")) for x in points},
        ground=points,
        world="space",
        coordinates="joint",
    )
    expected = R[:, 2] * (R[:, 2] @ [0, 0, -G]) * T**2 / 2
    np.testing.assert_allclose(fallen(m)[:3], expected, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("angle, second", crossed(ANGLES, ["revolute", "spherical"]))
def test_a_door_on_two_hinges_swings(angle, second):
    """A pendulum about the axis that both hinges have, its arm 0.5 m."""
    R = Rotation.from_euler("xyz", [angle, 0.7 * angle, 1.3 * angle]).as_matrix()
    n, axis, inertia = R[:, 0], R[:, 2], 0.3 + 2.0 * 0.5**2
    at = lambda x: Point(tuple(x), axis=tuple(axis), x=tuple(n))
    points = {"a": at(0.4 * axis - 0.5 * n), "b": at(-0.4 * axis - 0.5 * n)}
    m = Mechanism(
        {"b": Link(2.0, (0.3, 0.3, 0.3), points=points)},
        {
            "A": Joint("revolute", ("ground.a", "b.a")),
            "B": Joint(second, ("ground.b", "b.b")),
        },
        ground=points,
        world="space",
        coordinates="joint",
    )

    def rate(t, y):
        arm = 0.5 * (np.cos(y[0]) * n + np.sin(y[0]) * np.cross(axis, n))
        return [y[1], axis @ np.cross(arm, [0, 0, -2.0 * G]) / inertia]

    expected = solve_ivp(rate, (0, T), [0, 0], rtol=1e-11, atol=1e-12).y[0, -1]
    start = m.start_state
    run = zw.simulate(m.model, start.q, start.v, duration=T, rtol=1e-10, samples=2)
    assert joint_motion(m, run)["A"].values[-1] == pytest.approx(expected, abs=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("second", ["revolute", "rod", "path"])
def test_a_pin_that_is_held_twice_turns(second):
    """Beside the same pendulum at the origin, with one pin."""
    place = (0.1, 0.7)
    options = {
        "revolute": (("ground.a", "b.start"), {}),
        "rod": (("ground.c", "b.start"), {"length": 0.5}),
        "path": (("ground.c", "b.start"), {"equation": "x**2 + y**2 - 0.25"}),
    }
    between, given = options[second]
    joints = {"A": Joint("revolute", ("ground.a", "b.start"))}
    made = lambda joints, coordinates: Mechanism(
        {"b": Link(length=1.0, at=(0.6, 0.7))},
        joints,
        ground={"a": place, "c": (0.4, 1.1)},
        coordinates=coordinates,
    )
    expected = fallen(made(joints, "maximal"))
    twice = made({**joints, "B": Joint(second, between, **given)}, "joint")
    np.testing.assert_allclose(fallen(twice), expected, atol=1e-8)


@pytest.mark.parametrize("angle", [1.0, 2.75])
def test_slides_on_slides_are_no_branching(angle):
    """Where all of b along the kernel is round-off, no second order is left to branch by."""
    up = np.array([-np.sin(angle), np.cos(angle)])
    at = lambda x: Point(tuple(x), angle=angle)
    m = Mechanism(
        {
            "b": Link(2.0, 0.1, points={"p": at((0, 0)), "r": at(0.15 * up)}),
            "c": Link(1.0, 0.1, at=tuple(0.3 * up), points={"p": at((0, 0)), "r": at(-0.15 * up)}),
        },
        {
            "A": Joint("prismatic", ("ground.a", "b.p")),
            "B": Joint("prismatic", ("ground.b", "c.p")),
            "C": Joint("prismatic", ("b.r", "c.r")),
        },
        ground={"a": at((0, 0)), "b": at(0.3 * up)},
    )
    cone = tangent_cone(m.model.dynamics(), np.asarray(m.start_state.q), 0.0)
    assert cone.rank == 4 and not cone.isolated
