"""Configurations by joints and by name: requested values are kept, or refused."""

import numpy as np
import pytest

import zwang as zw
from zwang.bodies import Branch, ball, revolute
from zwang.robots import Robot
from zwang.robots.description import Coupling, Description, Loop

ROUND = [0.1, 0.1, 0.1]


def frame(*place):
    made = np.eye(4)
    made[:3, 3] = place
    return made


def four_bar(**more) -> Robot:
    """A parallelogram, 1 m high and 2 m wide."""
    hinge = lambda *point: revolute([0, 1, 0], point)
    branches = [
        Branch("crank", None, {"A": hinge(0, 0, 0)}, 1.0, [0, 0, 0.5], ROUND, frame(0, 0, 0)),
        Branch("coupler", "crank", {"B": hinge(0, 0, 1)}, 1.0, [1, 0, 1], ROUND, frame(0, 0, 1)),
        Branch("rocker", None, {"D": hinge(2, 0, 0)}, 1.0, [2, 0, 0.5], ROUND, frame(2, 0, 0)),
    ]
    loop = Loop("spherical", ("coupler", frame(2, 0, 0)), ("rocker", frame(0, 0, 1)))
    made = Description("four-bar", branches, np.array([0, 0, -9.81]), loops={"C": loop}, **more)
    return zw.robots.Robot(made)


@pytest.fixture(scope="module")
def linkage():
    keys = {"home": {"A": np.array([0.5]), "B": np.array([-0.499]), "D": np.array([0.501])}}
    return four_bar(keyframes=keys, ranges={"D": (-0.2, 0.3)})


@pytest.mark.one_in(2)
@pytest.mark.parametrize("start", [{"A": 0.2}, {"D": 0.2}, {"B": -0.2}, {"A": 0.2, "B": -0.2}])
def test_joints_that_are_asked_for_are_held(linkage, start):
    q = np.asarray(linkage.state(start).q)
    np.testing.assert_allclose(q, [0.2, -0.2, 0.2], atol=1e-13)
    for name, value in start.items():
        assert q[linkage.tree.coordinate(name)] == value


def test_the_other_way_of_putting_it_together_is_reached_by_a_guess(linkage):
    # the antiparallelogram: the coupler crosses over to the other side of the rocker
    q = np.asarray(linkage.state({"A": 0.5}, near={"B": -2.0, "D": 2.6}).q)
    end = np.array([np.sin(q[0]) + 2 * np.cos(q[0] + q[1]), np.cos(q[0]) - 2 * np.sin(q[0] + q[1])])
    np.testing.assert_allclose(end, [2 + np.sin(q[2]), np.cos(q[2])], atol=1e-12)
    assert q[0] == 0.5 and abs(q[2] - 0.5) > 0.5


def test_other_angles_and_other_joints_compile_nothing_and_make_no_model(compiled, monkeypatch):
    made = four_bar()
    made.state({"A": 0.2})
    assert compiled  # the model's functions, and the row that holds
    compiled.clear()
    models = []
    monkeypatch.setattr("zwang.robots.configuration.Model", models.append)
    for start in ({"A": 0.3}, {"A": -0.1}, {"D": 0.1}):
        (value,) = start.values()
        np.testing.assert_allclose(made.state(start).q, [value, -value, value], atol=1e-13)
    assert not compiled and not models


@pytest.mark.parametrize("start", [{"A": 0.2, "B": 0.3}, {"A": 0.2, "D": 0.4}])
def test_what_the_loops_do_not_allow_is_refused(linkage, start):
    with pytest.raises(zw.ModelError, match="no configuration with A = 0.2, . = 0.. closes"):
        linkage.state(start)


def test_a_configuration_of_the_file_is_taken_by_its_name(linkage):
    assert linkage.keyframes == ("home",) and linkage.ranges == {"D": (-0.2, 0.3)}
    q = np.asarray(linkage.state("home").q)
    # the nearest that closes: the file rounds its angles
    np.testing.assert_allclose(q, [0.5, -0.5, 0.5], atol=2e-3)
    assert q[0] == pytest.approx(-q[1], abs=1e-12) and q[0] == pytest.approx(q[2], abs=1e-12)
    with pytest.raises(zw.ModelError, match="no configuration 'hone'; did you mean 'home'"):
        linkage.state("hone")


@pytest.mark.parametrize(
    "start, sentence",
    [
        ({"E": 1}, "there is no joint 'E'; there are: A, B, D"),
        ({"A": [1, 2]}, r"'A' is \[1, 2\], expected a finite number"),
        ({"A": np.nan}, "'A' is nan, expected a finite number"),
        ({"A": "x"}, "'A' is 'x', expected numbers"),
        (7, "start is 7, expected a dictionary"),
        ([0.1, 0.2], "expected a dictionary"),
    ],
)
def test_wrong_values_give_one_sentence(linkage, start, sentence):
    with pytest.raises(zw.ModelError, match=sentence):
        linkage.state(start)


@pytest.mark.slow
def test_a_ball_joint_is_held_by_its_quaternion():
    branches = [
        Branch("a", None, {"s": ball()}, 1.0, [0, 0, -0.5], ROUND, frame(0, 0, 0)),
        Branch("b", "a", {"h": revolute([0, 1, 0], [0, 0, -1])}, 1.0, [0, 0, -1.5], ROUND),
    ]
    coupling = Coupling({"h": 1.0}, {}, (0.3,))
    made = zw.robots.Robot(
        Description("r", branches, np.array([0, 0, -9.81]), couplings={"fixed": coupling})
    )
    turn = np.array([0.8, 0.0, 0.6, 0.0])
    q = np.asarray(made.state({"s": turn}).q)
    np.testing.assert_array_equal(q[:4], turn)
    assert q[4] == pytest.approx(0.3, abs=1e-14)
    for wrong in (1.0, [1, 0, 0], [1, 1, 0, 0]):
        with pytest.raises(zw.ModelError, match="expected a unit quaternion"):
            made.state({"s": wrong})


def test_couplings_move_followers_at_the_start_and_not_what_they_follow():
    hinge = lambda i: revolute([0, 1, 0], [0, 0, -i])
    branches = [
        Branch(str(i), str(i - 1) if i else None, {f"j{i}": hinge(i)}, 1.0, [0, 0, -i - 1], ROUND)
        for i in range(4)
    ]
    couplings = {
        "third": Coupling({"j3": 1.0}, {"j2": 1.0}, (0.1, 2.0)),
        "second": Coupling({"j2": 2.0}, {"j0": 1.0, "j1": -1.0}, (0.2, 0.5, 1.0), (0.3, 0.1)),
    }
    start = {"j0": np.array([0.4]), "j1": np.array([0.1])}
    made = zw.robots.Robot(
        Description("r", branches, np.zeros(3), couplings=couplings, start=start)
    )
    y = 0.4 - 0.1 - 0.1
    second = (0.3 + 0.2 + 0.5 * y + y**2) / 2
    expected = [0.4, 0.1, second, 0.1 + 2 * second]
    np.testing.assert_allclose(made.start_state.q, expected, atol=1e-14)


def test_keyframes_and_ranges_of_mjcf(tmp_path):
    pytest.importorskip("mujoco", reason="the extra `robots` is not installed")
    inertia = '<inertial pos="0.1 0 0" mass="1" diaginertia="1 1 1"/>'
    path = tmp_path / "keys.xml"
    path.write_text(
        f"""<mujoco><worldbody><body name="a"><freejoint name="root"/>{inertia}
        <body name="b"><joint name="h" range="-90 30" ref="10"/>{inertia}</body>
        <body name="c"><joint name="s" type="slide" limited="false" range="0 1"/>{inertia}</body>
        </body></worldbody><keyframe><key name="home" qpos="1 2 3 0 0 2 0 0.5 0.6"/>
        <key qpos="0 0 0 1 0 0 0 0.1 0.2" qvel="1 0 0 0 0 0 0 0"/></keyframe></mujoco>"""
    )
    made = zw.robot(path)
    assert made.keyframes == ("home", "key 1")
    np.testing.assert_array_equal(made.state("home").q, [1, 2, 3, 0, 0, 1, 0, 0.5, 0.6])
    np.testing.assert_array_equal(made.state("key 1").q[-2:], [0.1, 0.2])
    assert made.ranges == {"h": pytest.approx((-np.pi / 2, np.pi / 6))}
    assert made.start_state.q[-2] == pytest.approx(np.deg2rad(10))
    assert made.unsupported == (
        "joint limits: h",
        "velocities, controls and forces of configurations: key 1",
    )


MESH = """<mujoco><compiler meshdir="assets"/><asset><mesh name="m" file="none.stl"/>
<texture name="t" type="2d" file="none.png"/><material name="mm" texture="t" rgba="2 0 0 1"/>
</asset>
<worldbody><body name="a"><joint name="j" axis="0 1 0"/>{}
<geom type="mesh" mesh="m" material="mm"/>
<geom type="sphere" size="0.1" mass="0" material="mm"/></body></worldbody></mujoco>"""


@pytest.mark.parametrize(
    "inertial, right",
    [
        ('<inertial pos="0.1 0 0" mass="1" diaginertia="0.1 0.1 0.1"/>', True),
        ('<geom size="0.1" mass="1"/>', False),
        ("", False),
    ],
)
def test_a_missing_mesh_matters_only_where_it_gives_mass(tmp_path, inertial, right):
    pytest.importorskip("mujoco", reason="the extra `robots` is not installed")
    path = tmp_path / "mesh.xml"
    path.write_text(MESH.format(inertial))
    if not right:
        with pytest.raises(zw.ModelError, match="mesh none.stl is not there, .* body 'a'"):
            zw.robot(path)
        return
    made = zw.robot(path)
    assert made.params["mass"] == [1.0] and [x.kind for x in made.shapes["a"]] == ["sphere"]
    assert made.unsupported == (
        "colors that are none: a",
        "contacts of bodies: a",
        "files that are not there, with their shapes and contacts: none.stl, none.png",
    )


def test_a_missing_mesh_of_a_body_that_is_fixed_is_listed(tmp_path):
    pytest.importorskip("mujoco", reason="the extra `robots` is not installed")
    path = tmp_path / "fixed.xml"
    path.write_text(
        '<mujoco><asset><mesh name="m" file="none.stl"/></asset><worldbody><body name="stand">'
        '<geom type="mesh" mesh="m"/><body><joint name="j"/><geom size="0.1" pos="0.1 0 0"/></body>'
        "</body></worldbody></mujoco>"
    )
    made = zw.robot(path)
    assert made.tree.joints == ("j",) and any("none.stl" in x for x in made.unsupported)


def test_what_mujoco_says_is_said_to_be_its_own(tmp_path):
    pytest.importorskip("mujoco", reason="the extra `robots` is not installed")
    (tmp_path / "a.xml").write_text("<mujoco><worldbody><bodi/></worldbody></mujoco>")
    with pytest.raises(zw.ModelError, match="a.xml: MuJoCo, which reads MJCF, says: XML Error"):
        zw.robot(tmp_path / "a.xml")


@pytest.mark.parametrize(
    "q, offset, says",
    [
        ([0.0], (0, 0, 0), r"jacobian: q has shape \(1,\), expected \(3,\)"),
        ("x", (0, 0, 0), "jacobian: q is 'x'"),
        ([[0.0, 0.0, 0.0]], (0, 0, 0), r"jacobian: q has shape \(1, 3\)"),
        ([0.0, 0.0, 0.0], (1, 2), r"jacobian: offset has shape \(2,\), expected \(3,\)"),
        ([0.0, 0.0, 0.0], "tip", "jacobian: offset is 'tip'"),
    ],
)
def test_a_jacobian_takes_a_state_and_a_point(linkage, q, offset, says):
    with pytest.raises(zw.ModelError, match=says):
        linkage.jacobian(q, "crank", offset)
