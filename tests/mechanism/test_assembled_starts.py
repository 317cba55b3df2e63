"""The assembled initial state does not depend on the unit of length, and at a dead point it does
not require a motion of infinite speed, or another configuration.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import least_squares
from scipy.spatial.transform import Rotation

from tests.crossed import crossed
from zwang.mechanism import Begin, Drive, Joint, Link, Mechanism, PartError, Point
from zwang.mechanism.assembly import AssemblyError

UNITS = (1.0, 1e-3, 1e-6)
"""Meters, millimeters, micrometers."""


def slider_crank(unit: float = 1.0, inertia: float | None = None, **more) -> Mechanism:
    """A crank of 0.2 and a rod of 0.6 units, drawn open."""
    r, pin = 0.2 * unit, (0.0, 0.2 * unit)
    return Mechanism(
        {
            "crank": Link(length=r, inertia=inertia, guess=((0, 0), pin)),
            "rod": Link(length=3 * r, inertia=inertia, guess=(pin, (3 * r, 0))),
            "piston": Link(1.0, 0.1, at=(3 * r, 0.0)),
        },
        {
            "A": Joint("revolute", ("ground", "crank.start")),
            "B": Joint("revolute", ("crank.end", "rod.start")),
            "C": Joint("revolute", ("rod.end", "piston")),
            "D": Joint("prismatic", ("ground", "piston")),
        },
        **more,
    )


def disk(unit: float, inertia: float | None) -> Mechanism:
    """A disk with a pin in a slot."""
    return Mechanism(
        {
            "disk": Link(1.0, inertia, radius=0.2 * unit, points={"pin": (0.15 * unit, 0)}),
            "block": Link(1.0, inertia, radius=0.1 * unit, at=(0.1 * unit, 0.1 * unit)),
        },
        {
            "A": Joint("revolute", ("ground", "disk")),
            "B": Joint("revolute", ("disk.pin", "block")),
            "C": Joint("prismatic", ("ground.s", "block")),
        },
        ground={"s": Point((0.02 * unit, 0), angle=np.pi / 2)},
    )


def bodies(m: Mechanism) -> np.ndarray:
    start = m.start_state
    return np.asarray(m.body_state(start.q, start.v).q).reshape(-1, 3)


@pytest.mark.slow
@pytest.mark.parametrize("made, inertia", crossed([slider_crank, disk], [None, 0.1]))
def test_the_start_is_one_in_all_units_of_length(made, inertia):
    """Also where an inertia was not scaled with the unit."""
    scaled = [bodies(made(unit, inertia)) / [unit, unit, 1.0] for unit in UNITS]
    for other in scaled[1:]:
        np.testing.assert_allclose(other, scaled[0], atol=1e-9)


def least(places, drawn, weights, unknowns) -> np.ndarray:
    """Coordinates of the places, functions of unknowns, that are nearest to those drawn."""
    away = lambda x: np.sqrt(weights) * (places(x) - drawn)
    found = least_squares(away, unknowns, jac="3-point", xtol=1e-15, ftol=1e-15, gtol=1e-15)
    return places(found.x)


def test_the_start_of_a_slider_crank_is_the_nearest_position():
    """By `Σ m |Δr|² + J Δθ²` over all angles of the crank."""
    drawn = np.array([0.0, 0.1, np.pi / 2, 0.3, 0.1, -np.arctan2(0.2, 0.6), 0.6, 0.0, 0.0])
    weights = np.array([1.0, 1.0, 0.2**2 / 12, 1.0, 1.0, 0.6**2 / 12, 1.0, 1.0, 0.1])

    def places(x):
        (crank,) = x
        pin, rod = 0.2 * np.array([np.cos(crank), np.sin(crank)]), -np.arcsin(np.sin(crank) / 3)
        end = pin + 0.6 * np.array([np.cos(rod), np.sin(rod)])
        return np.array([*pin / 2, crank, *(pin + end) / 2, rod, *end, 0.0])

    found = bodies(slider_crank()).ravel()
    np.testing.assert_allclose(found, least(places, drawn, weights, [1.5]), atol=1e-8)
    assert found[2] == pytest.approx(1.460836486, abs=1e-8)


def test_the_start_of_a_chain_is_the_nearest_position():
    """Two freedoms, rods of 1 and 0.5 drawn 0.3 apart."""
    ends = np.array([[[0.0, 0.3], [0.8, 0.5]], [[1.1, 0.5], [1.2, 0.1]]])
    links = {
        "a": Link(2.0, length=1.0, guess=tuple(map(tuple, ends[0]))),
        "b": Link(3.0, length=0.5, guess=tuple(map(tuple, ends[1]))),
    }
    joints = {
        "A": Joint("revolute", ("ground", "a.start")),
        "B": Joint("revolute", ("a.end", "b.start")),
    }
    way = ends[:, 1] - ends[:, 0]
    angles = np.arctan2(way[:, 1], way[:, 0])
    drawn = np.column_stack([ends.mean(axis=1), angles]).ravel()
    weights = np.array([2.0, 2.0, 2.0 / 12, 3.0, 3.0, 0.75 / 12])

    def places(x):
        first, second = np.array([[1.0], [0.5]]) * np.column_stack([np.cos(x), np.sin(x)])
        return np.array([*first / 2, x[0], *(first + second / 2), x[1]])

    found = bodies(Mechanism(links, joints)).ravel()
    np.testing.assert_allclose(found, least(places, drawn, weights, angles), atol=1e-8)


def test_the_start_of_a_body_in_space_is_the_nearest_position():
    """Hung by a point from 0.3 away, and turned by 0.9 rad, by `m |Δr|² + φᵀ J φ`, with φ the
    rotation vector between both attitudes in the axes of the body.
    """
    moments, arm, turn = np.array([0.5, 0.2, 0.4]), np.array([0.3, 0.2, 0.6]), (0.5, 0.2, -0.7)
    link = Link(2.0, (*moments, 0.0, 0.0, 0.0), points={"top": tuple(arm)}, turn=turn)
    hung = Mechanism(
        {"body": link}, {"A": Joint("spherical", ("ground", "body.top"))}, world="space"
    )
    drawn = Rotation.from_rotvec(turn)

    def places(x):
        return np.concatenate([-(drawn * Rotation.from_rotvec(x)).apply(arm), x])

    weights = np.array([2.0, 2.0, 2.0, *moments])
    expected = least(places, np.zeros(6), weights, np.zeros(3))
    found = np.asarray(hung.start_state.q)
    attitude = drawn.inv() * Rotation.from_quat(found[[4, 5, 6, 3]])
    np.testing.assert_allclose(
        np.concatenate([found[:3], attitude.as_rotvec()]), expected, atol=1e-8
    )


@pytest.mark.slow
def test_the_start_in_space_is_one_in_all_units_of_length():
    def made(unit):
        tensor = (50.0, 60.0, 70.0, 1.0, 2.0, 3.0)
        at = {"a": (-0.5 * unit, 0, 0), "b": (0.5 * unit, 0, 0)}
        links = {
            x: Link(1.0, tensor, points=at, at=(0, 0.1 * unit, 0)) for x in ("first", "second")
        }
        joints = {
            "A": Joint("spherical", ("ground", "first.a")),
            "B": Joint("spherical", ("first.b", "second.a")),
            "C": Joint("spherical", ("second.b", "ground.far")),
        }
        ground = {"far": (1.2 * unit, 0.3 * unit, 0.4 * unit)}
        return Mechanism(links, joints, ground=ground, world="space")

    places = [np.asarray(made(x).start_state.q).reshape(-1, 7)[:, :3] / x for x in UNITS]
    for other in places[1:]:
        np.testing.assert_allclose(other, places[0], atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("place, coordinates", crossed([0.4, 0.8], ["maximal", "joint"]))
def test_a_place_at_a_dead_point_is_what_was_asked(place, coordinates):
    m = slider_crank(start={"D": Begin(value=place)}, coordinates=coordinates)
    assert bodies(m)[2, 0] == pytest.approx(place, abs=1e-12)


RATES = {
    "inner": {"drives": {"motor": Drive("D", value="0.4 - 0.1*t")}},
    "outer": {"drives": {"motor": Drive("D", value="0.8 + 0.1*t")}},
    "start": {"start": {"D": Begin(value=0.4, rate=0.1)}},
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("more, coordinates", crossed(RATES, ["maximal", "joint"]))
def test_a_rate_at_a_dead_point_is_refused(more, coordinates):
    with pytest.raises((PartError, AssemblyError), match="at a dead point"):
        _ = slider_crank(coordinates=coordinates, **more).start_state


@pytest.mark.parametrize("angle, coordinates", crossed([0.0, np.pi], ["maximal", "joint"]))
def test_a_held_angle_is_not_moved_for_a_rate(angle, coordinates):
    """A crank at its dead point, the piston driven: the crank stays where it was put."""
    drive = {"motor": Drive("D", rate="1")}
    m = slider_crank(drives=drive, start={"A": Begin(value=angle)}, coordinates=coordinates)
    with pytest.raises(AssemblyError, match="has its rate off by .* stands at a dead point"):
        _ = m.start_state


@pytest.mark.parametrize("value", ["0.4 + 0.1*t**2", "0.8 - 0.1*(1 - cos(t))"])
def test_a_drive_may_stand_at_a_dead_point(value):
    m = slider_crank(drives={"motor": Drive("D", value=value)})
    assert np.abs(np.asarray(m.start_state.v)).max() == 0.0


def test_a_start_may_be_asked_for_first_inside_a_program():
    """As a constant: nothing of it is traced."""
    fresh = slider_crank()
    found = jax.jit(lambda x: x + jnp.asarray(fresh.start_state.q))(jnp.zeros(9))
    np.testing.assert_allclose(found, slider_crank().start_state.q, rtol=0, atol=1e-15)
