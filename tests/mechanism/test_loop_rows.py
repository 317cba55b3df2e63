"""Rows of a closing joint that a loop satisfies identically: axes with errors of zero, round-off
and more, in any orientation, for every group of motions and every joint that can close it.
"""

import dataclasses
from contextlib import nullcontext as _nothing

import jax
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import zwang as zw
from tests.crossed import crossed
from zwang.bodies import ball, prismatic, revolute
from zwang.mechanism import KINDS, AssemblyError, Joint, Link, Mechanism, Point
from zwang.mechanism.expression import Expression
from zwang.mechanism.field_types import FromFormula
from zwang.mechanism.loop_rows import (
    PARALLEL,
    ROUND_OFF_ANGLE,
    ClosedChain,
    decided,
    loop_rows,
)
from zwang.mechanism.registry import JOINT_KINDS

OFF = (0.0, *(10.0**n for n in range(-16, -4)))
"""Angles [rad] within the round-off of files."""
TOO_MUCH = (1e-4, 1e-3, 1e-2)
X, Y, Z = np.eye(3)
PLANE = [revolute(Z, [0, 0, 0.3]), revolute(Z, [0.3, 1, 0]), revolute(Z, [2, 0, -0.2])]
SPHERE = [revolute(X), revolute(X + Y), revolute(X + Z)]
CHAINS = {
    "hinges in a plane": (PLANE, [0, 0, 0]),
    "a slide in a plane": ([*PLANE[:2], prismatic(X + Y)], [0, 0, 0]),
    "a slide along the hinges": ([*PLANE, prismatic(Z)], [0, 0, 0]),
    "slides": ([prismatic(X), prismatic(Y + Z), prismatic(Z)], [0, 0, 0]),
    "slides in a plane": ([prismatic(X), prismatic(X + Z)], [0, 0, 0]),
    "hinges of one axis": ([revolute(Z), revolute(Z, [0, 0, 0.3])], [0, 0, 0]),
    "a hinge and a slide along it": ([revolute(Z), prismatic(Z)], [0, 0, 0]),
    "screws of one pitch": ([revolute(Z) + [0, 0, 0.1, 0, 0, 0]] * 2, [0, 0, 0]),
    "screws of two pitches": ([revolute(Z) + [0, 0, 0.1, 0, 0, 0], revolute(Z)], [0, 0, 0]),
    "hinges through a point": (SPHERE, [0, 0, 0]),
    "a ball and hinges through it": ([ball(), *SPHERE[:2]], [0, 0, 0]),
}
DROPPED = {
    "hinges in a plane": dict(spherical=1, revolute=3, fixed=3, universal=1, cylindrical=2),
    "a slide in a plane": dict(spherical=1, revolute=3, fixed=3, universal=1, cylindrical=2),
    "a slide along the hinges": dict(spherical=0, revolute=2, fixed=2, universal=0, cylindrical=2),
    "slides": dict(spherical=0, revolute=2, fixed=3, universal=1, cylindrical=2),
    "slides in a plane": dict(spherical=1, revolute=3, fixed=4, universal=2, cylindrical=3),
    "hinges of one axis": dict(spherical=3, revolute=5, fixed=5, cylindrical=4),
    "a hinge and a slide along it": dict(spherical=2, revolute=4, fixed=4, cylindrical=4),
    "screws of one pitch": dict(spherical=2, revolute=4, fixed=5, cylindrical=4),
    "screws of two pitches": dict(spherical=2, revolute=4, fixed=4, cylindrical=4),
    "hinges through a point": dict(spherical=1, revolute=3, fixed=3),
    "a ball and hinges through it": dict(spherical=1, revolute=3, fixed=3),
}
"""Rows that say nothing, by hand: of five rows of a hinge in a plane those across it and of its
axis; of a ball in a sphere the one along the radius. The rows that a screw meets with both its turn
and its advance are one."""


def chain_of(group: str, kind: str, orientation: Rotation, off: float) -> ClosedChain:
    """A chain with its second joint off by an angle, closed by a joint along z (in a sphere through
    the point), all of it turned and away from the origin.
    """
    twists, _ = CHAINS[group]
    center = np.array([0.0, 0.0, 1.0]) if "point" in group or "ball" in group else np.zeros(3)
    own = Rotation.from_rotvec([0, 0, 0.7 if kind == "universal" else 0.0]).as_matrix()
    if "universal" == kind and "slides in a plane" == group:
        own = np.eye(3)
    place = np.eye(4)
    place[:3, :3], place[:3, 3] = orientation.as_matrix(), [0.4, -2.0, 3.0]
    tilt = np.eye(4)
    tilt[:3, :3] = Rotation.from_rotvec(off * np.array([0.6, 0.8, 0.0])).as_matrix()
    frame = np.eye(4)
    frame[:3, :3], frame[:3, 3] = own, center

    def moved(g, twist):
        R, p = g[:3, :3], g[:3, 3]
        one = lambda x: np.hstack([R @ x[:3] + np.cross(p, R @ x[3:]), R @ x[3:]])
        return np.array([one(x) for x in twist]) if np.ndim(twist) == 2 else one(twist)

    made = {str(i): moved(place, x) for i, x in enumerate(twists)}
    made["1"] = moved(place @ tilt, twists[1])
    at = place @ frame
    places = (place @ np.array([[2.0, 0, 0, 1], [0, 1, 0.5, 1]]).T).T[:, :3]
    return ClosedChain("C", JOINT_KINDS[kind], made, at, at.copy(), places)


CASES = {f"{g}-{x}": (g, x, n) for g, kinds in DROPPED.items() for x, n in kinds.items()}
TURNS = {
    "as drawn": Rotation.identity(),
    "a quarter turn": Rotation.from_rotvec([0, 0, np.pi / 2]),
    "turned": Rotation.random(rng=np.random.default_rng(43)),
}


@pytest.mark.slow
@pytest.mark.parametrize("case, turn", crossed(CASES, TURNS))
@pytest.mark.parametrize("every", [4, 1])
def test_rows_that_a_loop_meets_by_itself_are_found_at_any_angle_within_round_off(
    case, turn, every
):
    group, kind, dropped = case
    for off in OFF[::every]:
        found = loop_rows(chain_of(group, kind, turn, off))
        assert (0 if found is None else found.dropped) == dropped, (off, turn.as_rotvec())
        if found is not None:
            P = found.keep
            assert np.abs(P @ P - P).max() < 1e-15
            assert np.linalg.matrix_rank(P) + dropped == len(P)
            assert found.off <= max(3 * off, 1e-14)


@pytest.mark.one_in(6)
@pytest.mark.parametrize("kind", DROPPED["hinges in a plane"])
def test_axes_that_are_off_by_more_keep_their_rows_and_are_told(kind):
    for turn in TURNS.values():
        for off in TOO_MUCH:
            chain = chain_of("hinges in a plane", kind, turn, off)
            found = decided([chain], PARALLEL)
            assert not found.keep
            (sentence,) = found.locked
            assert "loop C: axes off by" in sentence and " at 1 " in sentence
            allowing = float(sentence.rpartition("= ")[2])
            assert decided([chain], allowing).found["C"].dropped
            assert not decided([chain], 0.0).keep and not decided([chain], 0.0).locked


def test_an_eccentric_is_no_axis_that_was_drawn_badly():
    """A hinge that is 2e-3 of the loop's size away from another one is meant to be there."""
    for off, said in ((1e-6, False), (1e-4, True), (4e-3, False)):
        chain = chain_of("hinges of one axis", "revolute", TURNS["as drawn"], 0.0)
        chain.twists["1"][:3] = np.cross(chain.first[:3, 3] + [off, 0, 0], Z)
        found = decided([chain], PARALLEL)
        assert bool(found.locked) == said
        assert ("C" in found.found and found.found["C"].dropped == 5) == (off < PARALLEL)


def test_an_offset_across_the_plane_is_no_redundancy():
    chain = chain_of("hinges in a plane", "spherical", TURNS["as drawn"], 0.0)
    chain.second[2, 3] += 0.01
    assert loop_rows(chain) is None


def four_bar(off: float, coordinates: str, **options) -> Mechanism:
    """A four-bar in space on a base that turns with it, the last hinge off by an angle."""
    turn = (0.3, 0.5, 0.2)
    R = Rotation.from_rotvec(turn).as_matrix()
    hinge = lambda *at: Point(at=at, axis=(0, 0, 1))
    body = lambda at, **points: Link(
        mass=1.0, inertia=(0.1, 0.1, 0.1), at=tuple(R @ at), turn=turn, points=points
    )
    return Mechanism(
        bodies={
            "crank": body([0, 0, 0], a=hinge(0, 0, 0), b=hinge(0.3, 1, 0)),
            "coupler": body([0.3, 1, 0], b=hinge(0, 0, 0), c=hinge(2, 0, 0)),
            "rocker": body([2, 0, 0], d=hinge(0, 0, 0), c=hinge(0.3, 1, 0)),
            "base": body([0, 0, 0], a=hinge(0, 0, 0), d=Point(at=(2, 0, 0), axis=(off, 0, 1))),
        },
        joints={
            "hold": Joint("fixed", between=("ground.base", "base")),
            "A": Joint("revolute", between=("base.a", "crank.a")),
            "B": Joint("revolute", between=("crank.b", "coupler.b")),
            "C": Joint("spherical", between=("coupler.c", "rocker.c")),
            "D": Joint("revolute", between=("base.d", "rocker.d")),
        },
        ground={"base": Point(at=(0, 0, 0), axis=tuple(R[:, 2]), x=tuple(R[:, 0]))},
        world="space",
        coordinates=coordinates,
        name="four-bar",
        **options,
    )


@pytest.mark.parametrize("coordinates", ["maximal", "joint"])
def test_a_mechanism_decides_once_and_says_which_axis_is_off(coordinates):
    decision = lambda off, **options: four_bar(off, coordinates, **options).compiled.loops
    # coordinates of bodies share among joints what redundant rows transmit: exact ones stay
    assert bool(decision(0.0).found) == (coordinates == "joint")
    assert decision(1e-7).found["C"].dropped == 1 and not decision(1e-7).locked
    assert decision(1e-7).found["C"].joint == "D"
    (note,) = four_bar(1e-7, coordinates).notes
    assert "C (1 row; axes off by 6.7e-08 rad at D)" in note
    assert not four_bar(0.0, coordinates).notes
    (sentence,) = decision(1e-4).locked
    assert "loop C: axes off by 6.7e-05 rad at D" in sentence and "parallel = 8e-05" in sentence
    assert decision(1e-4, parallel=8e-5).found and not decision(1e-7, parallel=0.0).found
    with pytest.raises(zw.ModelError, match="parallel"):
        four_bar(0.0, coordinates, parallel=-1.0)


@pytest.mark.slow
@pytest.mark.parametrize("coordinates", ["joint", "maximal"])
@pytest.mark.parametrize("kind", ["spherical", "revolute"])
def test_a_mechanism_with_other_numbers_keeps_the_rows_that_were_decided(kind, coordinates):
    made = four_bar(1e-7, coordinates)
    joints = {**made.joints, "C": Joint(kind, between=made.joints["C"].between)}
    made = dataclasses.replace(made, joints=joints)
    # in coordinates of bodies all hinges are rows, in those of joints the closing one alone
    rows = {"spherical": 1, "revolute": 1 if coordinates == "joint" else 4}[kind]
    assert len(made.params["keep"][kind]) == rows
    other = made.with_params({"mass": 2 * np.asarray(made.params["mass"])})
    start = other.start_state
    found = zw.motion(other.model, start.q, start.v)
    assert other.model.system.nv - int(found.rank) == 1
    assert float(found.residual) < 1e-12
    heavy = {n: dataclasses.replace(b, mass=2.0) for n, b in made.bodies.items()}
    declared = dataclasses.replace(made, bodies=heavy)
    np.testing.assert_allclose(start.q, declared.start_state.q, rtol=0, atol=1e-12)


def test_a_parameter_does_not_change_what_was_decided():
    parallel = FromFormula(1e-5, Expression("angle"))
    made = four_bar(1e-7, "joint", parameters={"angle": 1e-5}, parallel=parallel)
    with pytest.raises(zw.ModelError, match="parallel is a formula of the parameter 'angle'"):
        made.model.parameters({"parameters": {"angle": 1e-9}})


@pytest.mark.slow
@pytest.mark.parametrize("coordinates", ["maximal", "joint"])
def test_a_mechanism_moves_the_same_whatever_the_round_off_of_its_axes(coordinates):
    first = None
    for off in (0.0, 1e-13, 1e-10, 1e-7, 1e-5):
        made = four_bar(off, coordinates)
        start = made.start_state
        found = zw.motion(made.model, start.q, start.v)
        assert made.model.system.nv - int(found.rank) == 1
        # rows that count as met exactly stay, and contradict each other by the round-off of axes
        assert float(found.residual) < 20 * ROUND_OFF_ANGLE
        places = np.asarray(made.compiled.body_state(start.q, start.v).q).reshape(4, 7)[:, :3]
        own = np.hstack([places.ravel(), np.linalg.norm(found.acceleration)])
        first = own if first is None else first
        np.testing.assert_allclose(own, first, atol=1e-12 + 20 * off)


@pytest.mark.slow
@pytest.mark.parametrize("coordinates", ["maximal", "joint"])
def test_a_mechanism_that_its_axes_lock_warns(coordinates):
    made = four_bar(1e-4, coordinates)
    try:
        with pytest.warns(UserWarning, match="loop C: axes off by 6.7e-05 rad at D"):
            start = made.start_state
    except AssemblyError as error:
        assert "loop C: axes off by" in str(error)
        return
    assert made.model.system.nv == int(zw.motion(made.model, start.q, start.v).rank)


def test_every_kind_that_closes_a_loop_is_one_that_there_is():
    assert {kind for _, kind, _ in CASES.values()} <= set(KINDS)


def tilted(tilt: float, coordinates: str) -> Mechanism:
    """The four-bar on the ground, whose last hinge is a formula of a parameter."""
    made = four_bar(0.0, coordinates, parameters={"tilt": tilt})
    base = made.bodies["base"]
    axis = (FromFormula(tilt, Expression("tilt")), 0.0, 1.0)
    points = {**base.points, "d": Point(at=(2, 0, 0), axis=axis)}
    bodies = {**made.bodies, "base": dataclasses.replace(base, points=points)}
    return dataclasses.replace(made, bodies=bodies)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("coordinates", ["maximal", "joint"])
def test_kept_rows_follow_parameters_that_tilt_axes(coordinates):
    made, given = tilted(0.0, coordinates), lambda x: {"parameters": {"tilt": x}}
    for tilt, dropped in ((1e-7, 1), (1e-5, 1), (1e-4, 0)):
        expected = tilted(tilt, coordinates)
        found = made.with_params(given(tilt)).compiled.loops.found
        assert (found["C"].dropped if "C" in found else 0) == dropped
        with pytest.warns(UserWarning, match="axes off by") if not dropped else _nothing():
            keep = made.model.parameters(given(tilt))["keep"]
        own = expected.params.get("keep", {"spherical": np.eye(3)[None]})
        np.testing.assert_allclose(keep["spherical"], own["spherical"], atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("coordinates", ["maximal", "joint"])
def test_a_traced_parameter_that_tilts_axes_is_no_motion(coordinates):
    made = tilted(0.0, coordinates)
    start = made.start_state

    @jax.jit
    def rows(tilt):
        p = made.model.parameters({"parameters": {"tilt": tilt}})
        return made.model.constraints.position_residual(start.q, 0.0, p)

    assert np.all(np.isfinite(rows(0.0))) and np.all(np.isfinite(rows(1e-6)))
    assert not np.all(np.isfinite(rows(1e-3)))


def test_a_parameter_that_makes_axes_parallel_is_refused():
    """The model was made with all rows of a loop that needs them."""
    made = tilted(0.1, "joint")
    with pytest.raises(
        zw.ModelError, match=r"axes of loop C come within .*read\(file, name=\.\.\."
    ):
        made.model.parameters({"parameters": {"tilt": 0.0}})
