"""Forces of springs and formulas over a run; joint forces in other axes and on the other body."""

import dataclasses

import numpy as np
import pytest

import zwang as zw
from zwang.mechanism import (
    Bushing,
    Drive,
    Force,
    Joint,
    Link,
    Mechanism,
    PartError,
    Spring,
    applied_forces,
    reactions,
)
from zwang.output.report.joints import driving_efforts

K, REST, DAMPING = 4.0, 0.5, 0.3


def pendulum(**parts) -> Mechanism:
    """A rod with a coil spring at its pivot, pulled at its end."""
    return Mechanism(
        bodies={"rod": Link(length=1.0, angle=0.5)},
        joints={"pivot": Joint("revolute", between=("ground", "rod.start"))},
        ground={"top": (0.2, 1.0)},
        **parts,
    )


@pytest.fixture(scope="module")
def both():
    """The same strut as a spring with damper and as a formula."""
    strut = ("ground.top", "rod.end")
    formula = Force(f"-{K}*(value-{REST})-{DAMPING}*rate", between=strut)
    spring = Spring(between=strut, stiffness=K, rest=REST, damping=DAMPING)
    found = []
    for parts in ({"springs": {"strut": spring}}, {"forces": {"strut": formula}}):
        mechanism = pendulum(**parts)
        start = mechanism.start_state
        run = zw.simulate(mechanism.model, start.q, start.v, duration=1.0, rtol=1e-10, samples=9)
        found.append((mechanism, run))
    return found


@pytest.mark.slow
def test_a_force_between_two_points_by_formula_is_the_spring_that_it_spells(both):
    (_, spring), (_, formula) = both
    np.testing.assert_allclose(formula.q, spring.q, rtol=0, atol=1e-8)  # two runs at rtol 1e-10


def test_forces_of_springs_are_those_of_their_law(both):
    for mechanism, run in both:
        found = applied_forces(mechanism, run)
        x, y, angle = run.q.T
        end = np.stack([x + 0.5 * np.cos(angle) - 0.2, y + 0.5 * np.sin(angle) - 1.0])
        length = np.linalg.norm(end, axis=0)
        velocity = run.v[:, :2].T + run.v[:, 2] * 0.5 * np.stack([-np.sin(angle), np.cos(angle)])
        rate = np.sum(end * velocity, axis=0) / length
        expected = -K * (length - REST) - DAMPING * rate
        np.testing.assert_allclose(found["strut"].values, expected, rtol=0, atol=1e-12)
        np.testing.assert_allclose(found["strut value"].values, length, rtol=0, atol=1e-12)
        assert found["strut"].attrs["units"] == "N"


def test_joint_forces_turn_into_world_axes_and_balance_the_weight(both):
    mechanism, run = both[0]
    strut = applied_forces(mechanism, run)["strut"].values
    second = reactions(mechanism, run, axes="world")["pivot"]
    first = reactions(mechanism, run, axes="world", on="first")["pivot"]
    np.testing.assert_allclose(first.force, -second.force, rtol=0, atol=1e-12)
    np.testing.assert_allclose(first.torque, -second.torque, rtol=0, atol=1e-12)  # the points meet
    x, y, angle = run.q.T
    end = np.stack([x + 0.5 * np.cos(angle) - 0.2, y + 0.5 * np.sin(angle) - 1.0], axis=1)
    pull = strut[:, None] * end / np.linalg.norm(end, axis=1)[:, None]
    acceleration = np.asarray(run.observation.motion.acceleration)[:, :2]
    needed = acceleration - np.array([0.0, -9.81]) - pull  # the rod's mass is 1 kg
    np.testing.assert_allclose(second.force, needed, rtol=0, atol=1e-10)


@pytest.mark.slow
def test_the_torque_on_the_other_body_is_about_its_own_point():
    bodies = {"a": Link(length=1.0), "b": Link(length=1.0, at=(0.0, 2.0))}
    # a slide whose points are apart: the force across it has a moment about the other point
    joints = {
        "held": Joint("fixed", between=("ground", "a.center")),
        "slide": Joint("prismatic", between=("a.center", "b.center")),
    }
    mechanism = Mechanism(bodies=bodies, joints=joints, gravity=(0.0, -10.0), start={})
    start = mechanism.start_state
    moved = np.array(start.q, float)
    moved[3] += 0.7  # b slides along x
    moved[4] = 0.0
    run = zw.simulate(mechanism.model, moved, start.v, duration=0.1, samples=2)
    second = reactions(mechanism, run, axes="world")["slide"]
    first = reactions(mechanism, run, axes="world", on="first")["slide"]
    np.testing.assert_allclose(second.torque, 0.0, atol=1e-9)
    np.testing.assert_allclose(second.force[:, 1], 10.0, atol=1e-9)
    apart = run.q[:, 3] - run.q[:, 0]
    np.testing.assert_allclose(first.torque, -10.0 * apart, atol=1e-9)


def test_words_that_mean_nothing_are_refused(both):
    mechanism, run = both[0]
    with pytest.raises(PartError, match="expected 'joint' or 'world'"):
        reactions(mechanism, run, axes="body")
    with pytest.raises(PartError, match="exactly one of on, joint and between"):
        pendulum(forces={"f": Force("1", joint="pivot", between=("ground.top", "rod.end"))})


def test_a_run_with_other_numbers_is_read_with_these(both):
    """What springs and joints do in a run is found with the parameters of the run."""
    mechanism, _ = both[0]
    start = mechanism.start_state
    springs = {"distance": {**mechanism.params["springs"]["distance"], "stiffness": [[3 * K]]}}
    given = {"duration": 0.2, "samples": 3}
    run = zw.simulate(mechanism.model, start.q, start.v, params={"springs": springs}, **given)
    own = mechanism.with_params({"springs": springs})
    for m in (mechanism, own):
        found = applied_forces(m, run)
        law = -3 * K * (found["strut value"].values - REST) - DAMPING * found["strut rate"].values
        np.testing.assert_allclose(found["strut"].values, law, rtol=0, atol=1e-12)
    assert own.of_run(run) is own and mechanism.params["springs"]["distance"]["stiffness"] == K


@pytest.mark.slow
def test_masses_of_a_run_in_joint_coordinates_are_those_of_its_joint_forces(both):
    mechanism, _ = both[0]
    found = []
    for m in (mechanism, dataclasses.replace(mechanism, coordinates="joint")):
        start, heavy = m.start_state, {"mass": 3 * m.params["mass"]}
        run = zw.simulate(m.model, start.q, start.v, params=heavy, duration=0.2, samples=3)
        found.append(reactions(m, run)["pivot"].force)
    np.testing.assert_allclose(found[0], found[1], rtol=1e-7)


@pytest.mark.slow
def test_inertias_of_a_run_in_joint_coordinates_are_those_of_its_joint_forces(both):
    mechanism, _ = both[0]
    found = []
    for m in (mechanism, dataclasses.replace(mechanism, coordinates="joint")):
        start, turned = m.start_state, {"inertia": 2 * m.params["inertia"]}
        run = zw.simulate(m.model, start.q, start.v, params=turned, duration=0.2, samples=3)
        found.append(reactions(m, run)["pivot"].force)
    np.testing.assert_allclose(found[0], found[1], rtol=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("world", ["space", "plane"])
def test_components_have_names_and_are_saved(world, tmp_path):
    """A force by components on a point, and a bushing, whose variables have one more dimension."""
    d = 2 if world == "plane" else 3
    inertia = 1.0 if d == 2 else (1.0, 1.0, 1.0)
    body = Link(mass=2.0, inertia=inertia, at=(0.1,) + (0.0,) * (d - 1))
    mechanism = Mechanism(
        {"block": body},
        bushings={"mount": Bushing(("ground", "block"), (10.0,) * (3 if d == 2 else 6))},
        forces={"push": Force(("3 + t", *("0",) * (d - 1)), on="block")},
        gravity=(0.0,) * d,
        world=world,
    )
    start = mechanism.start_state
    run = zw.simulate(mechanism.model, start.q, start.v, duration=0.2, samples=3)
    found = applied_forces(mechanism, run)
    np.testing.assert_allclose(found["push"].values[:, 0], 3 + run.t, rtol=1e-12)
    np.testing.assert_allclose(found["mount"].values[:, 0], -10 * run.q[:, 0], rtol=1e-9)
    assert list(found["push component"].values) == list("xyz"[:d])
    assert found["push"].attrs == {"units": "N", "long_name": "effort of push"} and found[
        "mount"
    ].shape[1] == 3 * (d - 1)
    run.variables.add(found)
    saved = zw.load(run.save(tmp_path / "run.nc"), model=mechanism.model).dataset
    np.testing.assert_array_equal(
        saved["push"].sel({"push component": "x"}), found["push"].values[:, 0]
    )


@pytest.mark.slow
def test_a_drive_has_a_signed_effort_in_the_unit_of_its_coordinate():
    """A crank against its weight, τ = m g r cos θ, and a slide s = sin 3t, f = m s̈."""
    m = Mechanism(
        {
            "crank": Link(mass=2.0, inertia=0.1, points={"pin": (-0.5, 0.0)}, at=(0.5, 0.0)),
            "slider": Link(mass=3.0, inertia=0.1, at=(0.0, 2.0)),
        },
        joints={
            "pivot": Joint("revolute", between=("ground", "crank.pin")),
            "guide": Joint("prismatic", between=("ground.rail", "slider")),
        },
        ground={"rail": (0.0, 2.0)},
        drives={"motor": Drive("pivot", rate=4.0), "push": Drive("guide", value="sin(3*t)")},
    )
    start = m.start_state
    run = zw.simulate(m.model, start.q, start.v, duration=1.0, samples=11, rtol=1e-9)
    found = reactions(m, run)
    assert (found["motor"].unit, found["push"].unit) == ("N m", "N")
    assert found["pivot"].effort is None
    t = run.t
    np.testing.assert_allclose(found["motor"].effort, 2 * 9.81 * 0.5 * np.cos(4 * t), atol=1e-6)
    np.testing.assert_allclose(found["push"].effort, -27.0 * np.sin(3 * t), atol=1e-6)
    torque, force = driving_efforts(run, found)[0].figure.panels
    assert (torque.ylabel, force.ylabel) == ("driving torque [N m]", "driving force [N]")
    assert min(torque.curves[0].y) < -5 < 5 < max(torque.curves[0].y)  # signed
    assert driving_efforts(run, {"pivot": found["pivot"]}) == []
