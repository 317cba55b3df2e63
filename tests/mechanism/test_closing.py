"""Loops of hinges whose data are corrected so that they close: on each body separately, by the
smallest change.
"""

import dataclasses
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import zwang as zw
from tests.crossed import crossed
from zwang.mechanism import Joint, Link, Mechanism, Point
from zwang.mechanism.expression import Expression
from zwang.mechanism.field_types import FromFormula

from .test_loop_rows import four_bar

PLACES = {"o": (0, 0, 0), "a": (0.4, 0.9, 0.1), "b": (2.1, 1.4, 0.3), "c": (2, 0, 0)}
"""Pins of a four-bar, drawn in the xy plane, at heights that close around the loop."""
SECOND = {"d": (3.0, 1.5, -0.2), "e": (3.5, 0, 0)}
"""Pins of two more rods that hang on it."""
RODS = {"crank": "oa", "coupler": "ab", "rocker": "bc"}
FURTHER = {"link": "bd", "lever": "de"}


def drawn(off: float, *, six: bool = False, kind: str = "revolute", seed: int = 1, **options):
    """A linkage in bodies' axes of any attitude, every axis and place off at random by `off` in
    each of its numbers.
    """
    random = np.random.default_rng(seed)
    noise = lambda: off * random.uniform(-1, 1, 3)
    places = {k: np.array(x, float) for k, x in {**PLACES, **SECOND}.items()}
    rods = {**RODS, **(FURTHER if six else {})}
    bodies, ground, joints = {}, {}, {}
    for name, (i, j) in rods.items():
        R = Rotation.from_rotvec(random.uniform(-2, 2, 3))
        center = (places[i] + places[j]) / 2
        points: Any = {
            k: Point(
                at=tuple(R.inv().apply(places[k] - center + noise() * [0, 0, 1])),
                axis=tuple(R.inv().apply(np.array([0, 0, 1.0]) + noise())),
            )
            for k in (i, j)
        }
        turn = tuple(R.as_rotvec())
        bodies[name] = Link(inertia=(0.1, 0.2, 0.25), at=tuple(center), turn=turn, points=points)
    for k in "oce" if six else "oc":
        axis = np.array([0, 0, 1.0]) + noise()
        ground[k] = Point(at=tuple(places[k]), axis=tuple(axis))
    pairs = ["o ground crank", "a crank coupler", "b coupler rocker", "c ground rocker"]
    pairs += ["b rocker link", "d link lever", "e ground lever"] if six else []
    for k, x, y in map(str.split, pairs):
        own = kind if (k, x) == ("b", "coupler") else "revolute"
        joints[f"{k} of {y}"] = Joint(own, between=(f"{x}.{k}", f"{y}.{k}"))
    return Mechanism(
        bodies=bodies, ground=ground, joints=joints, world="space", name="linkage", **options
    )


def axes_of(body) -> np.ndarray:
    points = body.points if isinstance(body, Link) else body
    z = np.array([x.axis for x in points.values() if isinstance(x, Point)])
    return z / np.linalg.norm(z, axis=1)[:, None]


def freedoms(made) -> int:
    """Velocities that the rows of all joints leave, none of them taken out."""
    made = dataclasses.replace(made, parallel=0.0, coordinates="maximal")
    start = made.start_state
    A = np.asarray(zw.motion(made.model, start.q, start.v).matrix)
    # rank by a threshold far below the angles: rows that are off by these count
    sigma = np.linalg.svd(A, compute_uv=False)
    return made.model.system.nv - int(np.sum(sigma > 1e-12))


@pytest.mark.one_in(2)
@pytest.mark.parametrize("off, kind", crossed([1e-9, 1e-7, 1e-5, 1e-4], ["spherical", "revolute"]))
def test_the_axes_of_one_base_are_parallel_after_it(off, kind):
    """Each is turned by half of the angle between them, and nothing else is."""
    made = four_bar(off, "joint", parallel=2e-4)
    joints = {**made.joints, "C": Joint(kind, between=made.joints["C"].between)}
    made = dataclasses.replace(made, joints=joints)
    found = zw.mechanism.closed(made)
    assert list(found.turned) == ["base.a", "base.d"]
    np.testing.assert_allclose(list(found.turned.values()), off / 2, rtol=1e-6)
    z = axes_of({k: found.mechanism.bodies["base"].points[k] for k in "ad"})
    assert np.linalg.norm(np.cross(*z)) < 1e-15
    # the base closes the loop with a step of 2 m times half the angle, shared by eight points
    np.testing.assert_allclose(list(found.moved.values()), off / 8, rtol=1e-6)
    assert not found.mechanism.notes and found.mechanism.parallel == 2e-4


@pytest.mark.slow
@pytest.mark.parametrize(
    "six, coordinates", crossed({"four-bar": False, "six-bar": True}, ["maximal", "joint"])
)
def test_a_linkage_of_bodies_at_any_attitude_moves_with_its_one_freedom(six, coordinates):
    off = 3e-6
    made = drawn(off, six=six, coordinates=coordinates)
    assert made.notes
    with pytest.raises(zw.mechanism.AssemblyError, match="stays open by"):
        freedoms(made)
    found = zw.mechanism.closed(made)
    for body in found.mechanism.bodies.values():
        z = axes_of(body)
        assert np.linalg.norm(np.cross(z[0], z[1:])) < 1e-15
    assert max(found.turned.values()) < 2 * off and max(found.moved.values()) < 8 * off
    assert not found.mechanism.notes and freedoms(found.mechanism) == 1
    again = zw.mechanism.closed(found.mechanism)
    assert not again.turned and not again.moved and "unchanged" in str(again)


def test_a_least_change_is_the_mean_direction_of_a_body():
    made = drawn(1e-6)
    found = zw.mechanism.closed(made)
    for name, body in made.bodies.items():
        before, after = axes_of(body), axes_of(found.mechanism.bodies[name])
        mean = before.sum(axis=0)
        np.testing.assert_allclose(after[0], mean / np.linalg.norm(mean), atol=1e-15)


@pytest.mark.slow
def test_it_moves_as_the_exact_linkage():
    """The acceleration of the crank beside that of a linkage whose numbers are not off."""

    def acceleration(made):
        made = dataclasses.replace(made, parallel=0.0)
        q = made.start_state.q
        return np.asarray(zw.motion(made.model, q, np.zeros(len(made.start_state.v))).acceleration)

    closed = zw.mechanism.closed(drawn(1e-7)).mechanism
    np.testing.assert_allclose(acceleration(closed), acceleration(drawn(0.0)), atol=2e-5)


@pytest.mark.slow
def test_a_slide_along_an_axis_needs_no_place():
    found = zw.mechanism.closed(drawn(1e-6, kind="cylindrical"))
    assert found.turned and not found.moved and freedoms(found.mechanism) == 2 - 1


@pytest.mark.slow
def test_axes_that_are_farther_off_are_named_and_closed_within_an_angle():
    made = drawn(1e-4)
    with pytest.raises(
        zw.ModelError, match=r"parallel = .*zw.mechanism.closed\(mechanism, within="
    ):
        zw.mechanism.closed(made)
    assert freedoms(zw.mechanism.closed(made, within=1e-3).mechanism) == 1
    with pytest.raises(zw.ModelError, match="within"):
        zw.mechanism.closed(made, within=0.5)


def test_a_file_is_read_and_what_is_no_mechanism_is_refused(tmp_path):
    wrong: Any = 3.0
    with pytest.raises(zw.ModelError, match="closed: the mechanism"):
        zw.mechanism.closed(wrong)
    with pytest.raises(zw.ModelError, match="none.toml"):
        zw.mechanism.closed(tmp_path / "none.toml")


def with_base_axis(axis, **options):
    """The four-bar on its base, the last hinge of it along an axis."""
    made = four_bar(1e-7, "joint", **options)
    base = made.bodies["base"]
    points = {**base.points, "d": Point(at=(2, 0, 0), axis=axis)}
    bodies = {**made.bodies, "base": dataclasses.replace(base, points=points)}
    return dataclasses.replace(made, bodies=bodies)


def test_a_formula_is_not_overwritten():
    made = with_base_axis(
        (FromFormula(1e-7, Expression("tilt")), 0.0, 1.0), parameters={"tilt": 1e-7}
    )
    with pytest.raises(zw.ModelError, match="base.d is given by formulas"):
        zw.mechanism.closed(made)


def moves(made) -> None:
    """A linkage with all its rows goes on closing, with one freedom."""
    made = dataclasses.replace(made, parallel=0.0)
    start, (q, v) = made.start_state, (made.start_state.q, np.zeros(len(made.start_state.v)))
    A = np.asarray(zw.motion(made.model, q, v).matrix)
    _, sigma, ways = np.linalg.svd(A)
    sigma = np.pad(sigma, (0, len(ways) - len(sigma)))
    assert sigma[-2] > 1e-3 and sigma[-1] < 1e-11
    run = zw.simulate(made.model, start.q, ways[-1], duration=0.5, rtol=1e-9)
    # either way along the last direction, in which gravity may turn it back
    assert np.abs(run.v[-1]).max() > 0.1 and np.abs(run.q - run.q[0]).max() > 0.05


@pytest.mark.slow
def test_axes_that_meet_in_a_point_meet_in_it_again():
    """A spherical four-bar, one axis off by 1e-7."""
    z = [np.array(x) / np.linalg.norm(x) for x in ([0, 0, 1], [1, 0, 1], [1, 2, 2], [0, 1, 1.5])]
    at = lambda i, off=0.0: Point(at=tuple(z[i]), axis=tuple(z[i] + [off, 0, 0]), x=(1, -1, 0.3))
    made = Mechanism(
        bodies={
            name: Link(inertia=(1, 1, 1), at=(0, 0, 0), points={"i": at(i), "o": at(i + 1)})
            for i, name in enumerate(("first", "second", "third"))
        },
        ground={"a": at(0), "d": at(3, 1e-7)},
        joints={
            "a": Joint("revolute", between=("ground.a", "first.i")),
            "b": Joint("revolute", between=("first.o", "second.i")),
            "c": Joint("revolute", between=("second.o", "third.i")),
            "d": Joint("revolute", between=("ground.d", "third.o")),
        },
        world="space",
    )
    found = zw.mechanism.closed(made)
    assert 1e-9 < max(*found.turned.values(), *found.moved.values()) < 1e-7
    moves(found.mechanism)


@pytest.mark.slow
def test_a_chain_with_a_slide_closes():
    """A slider-crank: the way of its slide is across the axes of its hinges."""
    hinge = lambda x, off=0.0: Point(at=(x, 0, 0), axis=(0, off, 1))
    way = Point(at=(0, 0, 0), axis=(1, 0, 0), x=(0, 0, 1))
    made = Mechanism(
        bodies={
            "crank": Link(inertia=(1, 1, 1), points={"o": hinge(0), "a": hinge(1)}),
            "rod": Link(inertia=(1, 1, 1), at=(1, 0, 0), points={"a": hinge(0), "b": hinge(3)}),
            "slide": Link(
                inertia=(1, 1, 1), at=(4, 0, 0), points={"b": hinge(0, 1e-7), "way": way}
            ),
        },
        ground={"o": hinge(0), "way": way},
        joints={
            "o": Joint("revolute", between=("ground.o", "crank.o")),
            "a": Joint("revolute", between=("crank.a", "rod.a")),
            "way": Joint("prismatic", between=("ground.way", "slide.way")),
            "b": Joint("revolute", between=("rod.b", "slide.b")),
        },
        world="space",
    )
    found = zw.mechanism.closed(made)
    assert 1e-9 < max(found.turned.values()) < 1e-7
    moves(found.mechanism)


def bennett(digits: int, misfit: float = 0.0) -> Mechanism:
    """Bennett's linkage, sin(beta) / b = sin(alpha) / a, with its data in some digits."""
    a, b, alpha = 1.1, 1.4, 0.55
    beta = np.arcsin(b * np.sin(alpha) / a) + misfit
    axis = lambda x: (0.0, round(-float(np.sin(x)), digits), round(float(np.cos(x)), digits))
    end: Any = lambda length, x: {"end": Point(at=(length / 2, 0, 0), axis=axis(x), x=(1, 0, 0))}
    link = lambda length, x, at, turn: Link(
        length=length, radius=0.05, at=at, turn=turn, points=end(length, x)
    )
    return Mechanism(
        bodies={
            "right": link(b, beta, (0.45, 0.45, 0.26), (0.25, -0.62, 2.32)),
            "top": link(a, alpha, (0.27, 1.13, 0.26), (0.0, 0.57, 0.52)),
            "left": link(b, beta, (0.31, 0.68, 0.0), (-0.54, 0.84, -1.86)),
        },
        ground={"D": Point(at=(a, 0, 0), axis=axis(alpha), x=(1, 0, 0))},
        joints={
            "A": Joint("revolute", between=("left.end", "ground")),
            "B": Joint("revolute", between=("top.end", "left.start")),
            "C": Joint("revolute", between=("right.end", "top.start")),
            "D": Joint("revolute", between=("ground.D", "right.start")),
        },
        world="space",
        gravity=(0, 0, 0),
        name="bennett",
    )


@pytest.mark.slow
def test_bennetts_linkage_of_four_digits_moves_after_the_least_change():
    made = bennett(4)
    with pytest.raises(zw.mechanism.AssemblyError, match="stays open by"):
        _ = made.start_state
    with pytest.raises(
        zw.ModelError, match=r"would move with data .* zw.mechanism.closed\(mechanism, with"
    ):
        zw.mechanism.closed(made, within=1e-6)
    found = zw.mechanism.closed(made, within=1e-4)
    # digits of four leave 5e-5, shared by seven points
    assert 1e-6 < max(*found.turned.values(), *found.moved.values()) < 1e-4
    assert "moved by" in str(found)
    moves(found.mechanism)
    # Bennett's condition, from the data that came out: between the axes of a body at its ends
    ratio = []
    for name in ("right", "top", "left"):
        body: Any = found.mechanism.bodies[name]
        start, end = (body.points.get(x) for x in ("start", "end"))
        z = axes_of(body)
        n = np.cross(z[0], z[1])
        apart = np.array(end.at) - np.array(start.at)
        ratio.append(np.linalg.norm(n) ** 2 / abs(apart @ n))
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-12)


def test_bennetts_linkage_of_exact_data_is_left_as_it_is():
    found = zw.mechanism.closed(bennett(17))
    assert not found.turned and not found.moved


@pytest.mark.slow
def test_a_misfit_that_is_no_round_off_is_left_alone():
    with pytest.raises(zw.ModelError, match="within="):
        zw.mechanism.closed(bennett(17, misfit=3e-3), within=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("off", [1e-9, 1e-6])
def test_three_parallel_rods_in_the_plane_move_after_it(off):
    place = {"a": 0.0, "b": 1.0, "c": 2.2}
    rod = lambda x, more: Link(
        inertia=0.1, at=(x, 0), points={"foot": (0, 0), "head": (0.3, 1 + more)}
    )
    made = Mechanism(
        bodies={
            **{n: rod(x, off * (n == "c")) for n, x in place.items()},
            "plate": Link(inertia=0.2, at=(0.3, 1), points={n: (x, 0) for n, x in place.items()}),
        },
        ground={n: (x, 0) for n, x in place.items()},
        joints={
            **{f"{n}0": Joint("revolute", between=(f"ground.{n}", f"{n}.foot")) for n in place},
            **{f"{n}1": Joint("revolute", between=(f"{n}.head", f"plate.{n}")) for n in place},
        },
        name="rods",
    )
    found = zw.mechanism.closed(made)
    assert not found.turned and 1e-3 * off < max(found.moved.values()) < off
    moves(found.mechanism)
