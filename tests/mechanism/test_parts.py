"""Valid and invalid arguments of bodies and initial states."""

import textwrap

import numpy as np
import pytest

import zwang as zw
from zwang.mechanism import Begin, Joint, Link, Mechanism, joint_motion, reactions, read

TENSOR = np.array([[0.3, 0.02, -0.01], [0.02, 0.25, 0.03], [-0.01, 0.03, 0.2]])


def body(**fields) -> Mechanism:
    world = "space" if np.size(fields.get("inertia", 0.1)) != 1 else "plane"
    return Mechanism({"body": Link(**{"inertia": 0.1, **fields})}, world=world)


@pytest.mark.parametrize(
    "given",
    [
        (0.3, 0.25, 0.2, 0.02, -0.01, 0.03),
        tuple(TENSOR.ravel()),
        tuple(tuple(row) for row in TENSOR),
    ],
)
def test_a_full_inertia_tensor_is_that_of_the_body(given):
    assert np.array_equal(body(inertia=given).params["inertia"][0], TENSOR)


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"mass": -1.0}, "body.mass: is -1, expected a positive number"),
        ({"length": -1.0}, "body.length: is -1, expected a positive number"),
        ({"radius": -1.0}, "body.radius: is -1, expected a positive number"),
        (
            {"points": {"center": (0.1, 0.0)}},
            "body.points.center: is the center of mass of every body; give it another name",
        ),
        ({"inertia": -1.0}, "body.inertia: is -1, expected positive numbers, or 0 for none"),
        (
            {"inertia": (1.0, 1.0)},
            "body.inertia: has 2 numbers, expected 3 principal moments, 6 or",
        ),
        (
            {"inertia": (1.0, 1.0, 1.0, 2.0, 0.0, 0.0)},
            "the principal moments -1, 1, 3, expected pos",
        ),
        (
            {"inertia": (1.0, 0.2, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)},
            "body.inertia: is not symmetric",
        ),
    ],
)
def test_a_body_that_cannot_be_is_refused_in_one_sentence(fields, says):
    with pytest.raises(zw.ModelError) as refused:
        body(**fields)
    assert says in str(refused.value) and "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("kind", "options", "says"),
    [
        ("rod", {"length": -1.0}, "joints.it.length: is -1, expected a positive number"),
        ("rolling", {"radius": -0.5}, "joints.it.radius: is -0.5, expected a positive number"),
        ("rolling", {"radius": 0.5, "phase": np.inf}, "joints.it.phase: is inf, expected a finite"),
    ],
)
def test_a_number_of_a_joint_that_cannot_be_is_refused(kind, options, says):
    with pytest.raises(zw.ModelError, match=says):
        Mechanism({"a": Link(inertia=1.0)}, {"it": Joint(kind, ("ground", "a"), **options)})


def cross(**start) -> Mechanism:
    return Mechanism(
        {"shaft": Link(1.0, (0.1, 0.2, 0.25))},
        {"cross": Joint("universal", ("ground", "shaft"))},
        start=start,
        world="space",
    )


@pytest.mark.parametrize(
    ("name", "says"),
    [
        (
            "cross",
            'a universal joint has several coordinates; give "cross.first" and "cross.second"',
        ),
        ("cross.third", "is 'third', expected angle, slide, distance, first or second"),
        ("crss", "there is no joint 'crss'; did you mean 'cross'"),
    ],
)
def test_a_start_that_no_coordinate_has_is_refused_with_those_there_are(name, says):
    with pytest.raises(zw.ModelError, match=says):
        cross(**{name: Begin(value=0.1)})


def test_the_old_name_of_the_geometry_still_works_with_a_sentence():
    with pytest.warns(DeprecationWarning, match="Mechanism.layout is now geometry"):
        assert body().layout.d == 2


def test_a_file_starts_a_coordinate_of_a_joint(tmp_path):
    file = tmp_path / "cross.toml"
    for key in ("cross.first", '"cross.first"'):
        file.write_text(
            textwrap.dedent(f"""\
                world = "space"
                [bodies]
                shaft = {{ inertia = [0.1, 0.2, 0.25] }}
                [joints]
                cross = {{ kind = "universal", between = ["ground", "shaft"] }}
                [start]
                {key} = {{ value = "10*deg" }}
                """)
        )
        assert read(file).start == {"cross.first": Begin(value=np.radians(10.0))}


@pytest.mark.slow
def test_a_universal_joint_starts_with_both_its_angles():
    m = cross(**{"cross.first": Begin(value=0.4, rate=1.0), "cross.second": Begin(value=-0.3)})
    q, v = m.start_state.q, m.start_state.v
    run = zw.simulate(m.model, q, v, duration=0.01, samples=2)
    seen = joint_motion(m, run)
    got = [seen[x].values[0] for x in ("cross.first", "cross.second", "cross.first rate")]
    assert np.allclose(got, [0.4, -0.3, 1.0], atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("coordinates", ["maximal", "joint"])
def test_the_angle_of_a_hinge_counts_turns_in_space(coordinates):
    """Without weight a balanced rotor keeps its rate; its samples are several turns apart."""
    m = Mechanism(
        {"rotor": Link(1.0, tuple(tuple(row) for row in np.diag([0.1, 0.1, 0.2])))},
        {"pin": Joint("revolute", ("ground", "rotor"))},
        start={"pin": Begin(value=0.5, rate=-30.0)},
        world="space",
        coordinates=coordinates,
    )
    s = m.start_state
    run = zw.simulate(m.model, s.q, s.v, duration=2.0, samples=5)
    seen = joint_motion(m, run)
    assert np.allclose(seen["pin"].values, 0.5 - 30.0 * run.t, atol=1e-7)
    assert np.allclose(seen["pin rate"].values, -30.0, atol=1e-9)
    assert seen["pin rate"].attrs["units"] == "rad/s"
    assert np.allclose(reactions(m, run)["pin"].force, [0.0, 0.0, 9.81], atol=1e-9)


@pytest.mark.parametrize(
    "inertia, noted",
    [
        ((1.0, 1.0, 5.0), True),
        ((1e-12, 1e-12, 5e-12), True),
        ((5.0, 1.0, 1.0, 0.1, 0.0, 0.0), True),
        ((1.0, 1.0, 2.0), False),
        ((1e-12, 1e-12, 1e-12), False),
        ((0.0, 0.0, 0.0), False),
    ],
)
def test_moments_of_inertia_that_no_body_has_are_noted_at_any_size(inertia, noted):
    notes = Mechanism({"body": Link(mass=1e-9, inertia=inertia)}, world="space").notes
    assert ["no body has such" in x and "body (" in x for x in notes] == [True] * noted


def test_an_angle_of_several_turns_is_said_to_be_in_radians():
    pivot = {"pivot": Joint("revolute", between=("ground", "rod.start"))}
    with pytest.warns(UserWarning, match=r"bodies.rod.angle is 45 rad, 7.16 turns.*'45\*deg'"):
        _ = zw.Mechanism({"rod": Link(length=1.0, angle=45.0)}, pivot).model
    start = {"pivot": Begin(value=-90.0)}
    with pytest.warns(UserWarning, match="start.pivot.value is -90 rad, 14.3 turns"):
        _ = zw.Mechanism({"rod": Link(length=1.0)}, pivot, start=start).model
