"""SDF files compared with closed forms, with other descriptions of the same robot, and with
MuJoCo.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import zwang as zw
from tests.algebra.pseudoinverse.matrices import QUICK
from zwang.robots.sdf import read

BODY = "<mass>2</mass><inertia><ixx>0.3</ixx><iyy>0.4</iyy><izz>0.5</izz><ixy>0.05</ixy></inertia>"
G = 9.8


def link(name: str, inside: str = "", inertial: str = BODY) -> str:
    return f'<link name="{name}">{inside}<inertial>{inertial}</inertial></link>'


def joint(name: str, kind: str, parent: str, child: str, inside: str = "", axis="0 0 1") -> str:
    axes = "" if axis is None else f"<axis><xyz>{axis}</xyz></axis>"
    ends = f"<parent>{parent}</parent><child>{child}</child>"
    return f'<joint name="{name}" type="{kind}">{ends}{axes}{inside}</joint>'


def model(*parts: str, version: str = "1.12", attributes: str = "", around: str = "{}") -> str:
    inside = f'<model name="m" {attributes}>{"".join(parts)}</model>'
    return f'<sdf version="{version}">{around.format(inside)}</sdf>'


def robot(folder, text: str, **options) -> zw.robots.Robot:
    path = folder / "r.sdf"
    path.write_text(text)
    return zw.robot(path, **options)


def described(folder, text: str):
    path = folder / "r.sdf"
    path.write_text(text)
    return read(path)


def axes(folder, text: str) -> np.ndarray:
    """Directions of all joints in the world, which turn or slide."""
    made = described(folder, text)
    twists = [twist for b in made.branches for twist in b.joints.values() if twist.ndim == 1]
    return np.array([t[3:] if np.any(t[3:]) else t[:3] for t in twists])


def compiled(function, *values):
    return np.asarray(jax.jit(function, compiler_options=QUICK)(*values))


def accelerations(made: zw.robots.Robot, q=None) -> np.ndarray:
    """Of a robot without constraints, at rest."""
    q = made.tree.home if q is None else np.array(q, float)
    system, v = made.tree.system, np.zeros(made.tree.system.nv)

    def solved(q, p):
        return jnp.linalg.solve(system.mass_matrix(q, 0.0, p), system.force(q, v, 0.0, p))

    return compiled(solved, q, made.params)


# --- versions and frames

TURNED = link("a", "<pose>0 0 1 0 1.5707963267948966 0</pose>")
HINGE = joint("j", "revolute", "world", "a", axis="1 0 0")


@pytest.mark.parametrize(
    "version, axis",
    [("1.4", [1, 0, 0]), *((f"1.{i}", [0, 0, -1]) for i in (5, 6, 9, 10, 11, 12))],
)
def test_versions_are_compared_by_their_parts(tmp_path, version, axis):
    (found,) = axes(tmp_path, model(TURNED, HINGE, version=version))
    np.testing.assert_allclose(found, axis, atol=1e-15)


@pytest.mark.parametrize("version", ["2.0", "1", "one.two", "1.7.1"])
def test_a_version_that_is_none_is_refused(tmp_path, version):
    with pytest.raises(zw.ModelError, match="expected 1 number such as 1.9 or 1.12"):
        described(tmp_path, model(TURNED, HINGE, version=version))


def test_a_version_that_is_too_new_is_told(tmp_path):
    assert (
        "version 1.13" in described(tmp_path, model(TURNED, HINGE, version="1.13")).unsupported[0]
    )


@pytest.mark.parametrize("version, in_model", [("1.6", True), ("1.7", False)])
def test_axes_are_in_the_frame_of_the_model_where_the_version_has_that(tmp_path, version, in_model):
    inside = "<axis><xyz>1 0 0</xyz><use_parent_model_frame>1</use_parent_model_frame></axis>"
    text = model(TURNED, joint("j", "revolute", "world", "a", inside, axis=None), version=version)
    np.testing.assert_allclose(
        axes(tmp_path, text)[0], [1, 0, 0] if in_model else [0, 0, -1], atol=1e-15
    )
    told = described(tmp_path, text).unsupported
    assert any("use_parent_model_frame" in x for x in told) is not in_model


POSES = {
    "radians": "<pose>1 2 3 0.1 0.2 0.3</pose>",
    "degrees": '<pose degrees="true">1 2 3 {} {} {}</pose>'.format(*np.rad2deg([0.1, 0.2, 0.3])),
    "quaternion": '<pose rotation_format="quat_xyzw">1 2 3 {}</pose>'.format(
        " ".join(map(str, 3 * Rotation.from_euler("xyz", [0.1, 0.2, 0.3]).as_quat()))
    ),
}


@pytest.mark.parametrize("form", POSES)
@pytest.mark.parametrize("of", ["link", "joint", "inertial", "model", "frame"])
def test_poses_are_read_in_every_form(tmp_path, form, of):
    def text(pose: str) -> str:
        own = {of: pose}
        return model(
            own.get("model", ""),
            f'<frame name="f">{own.get("frame", "")}</frame>',
            link("a", own.get("link", '<pose relative_to="f"/>'), BODY + own.get("inertial", "")),
            joint("j", "revolute", "world", "a", own.get("joint", "")),
        )

    made, asked = (
        described(tmp_path, text(POSES[form])),
        described(tmp_path, text(POSES["radians"])),
    )
    (b,), (expected,) = made.branches, asked.branches
    for x, y in (
        (b.joints["j"], expected.joints["j"]),
        (b.center, expected.center),
        (b.inertia, expected.inertia),
        (b.frame, expected.frame),
    ):
        np.testing.assert_allclose(x, y, atol=1e-14)
    if of == "link":
        R = Rotation.from_euler("xyz", [0.1, 0.2, 0.3]).as_matrix()
        np.testing.assert_allclose(b.frame[:3], np.column_stack([R, [1, 2, 3]]), atol=1e-15)


@pytest.mark.parametrize(
    "pose, says",
    [
        ('<pose degrees="maybe"/>', "expected true or false"),
        ('<pose rotation_format="matrix"/>', "expected 'euler_rpy' or 'quat_xyzw'"),
        ('<pose rotation_format="quat_xyzw">0 0 0 0 0 0 0</pose>', "quaternion is zero"),
        ('<pose rotation_format="quat_xyzw" degrees="true">0 0 0 0 0 0 1</pose>', "expected one"),
        ('<pose relative_to="nowhere"/>', "there is no frame 'nowhere'"),
        ('<pose relative_to="a"/>', "relative to each other in a circle"),
        ('<pose relative_to="f"/>', "relative to each other in a circle"),
    ],
)
def test_a_pose_that_makes_no_sense_is_refused(tmp_path, pose, says):
    frame = '<frame name="f"><pose relative_to="a"/></frame>'
    with pytest.raises(zw.ModelError, match=says):
        described(tmp_path, model(frame, link("a", pose), HINGE))


def test_frames_that_stand_on_each_other_are_multiplied(tmp_path):
    parts = (
        '<frame name="f" attached_to="g"><pose>0 0 1 0 0 0</pose></frame>',
        '<frame name="g"><pose>1 0 0 0 0 1.5707963267948966</pose></frame>',
        link("a", '<pose relative_to="f">2 0 0 0 0 0</pose>'),
        link("b", '<pose relative_to="j">0 3 0 0 0 0</pose>'),
        joint("j", "revolute", "world", "a", '<pose relative_to="g">0 0 5 0 0 0</pose>'),
        joint("k", "fixed", "f", "b", axis=None),
    )
    a, b = described(tmp_path, model(*parts)).branches
    np.testing.assert_allclose(a.frame[:3, 3], [1, 2, 1], atol=1e-15)
    np.testing.assert_allclose(b.frame[:3, 3], [-2, 0, 5], atol=1e-15)
    # f is attached to g, which is attached to the model and so to its first link
    assert b.parent == "a"


def test_a_model_stands_where_its_pose_says(tmp_path):
    # a pendulum about the model's x, 1 m above its center of mass, in a model turned by 0.4 about
    # the world's x: as one that starts at an angle of 0.4
    joint_pose = "<pose>0 0 1 0 0 0</pose>"
    hinge = joint("j", "revolute", "world", "a", joint_pose, axis="1 0 0")
    found = accelerations(robot(tmp_path, model("<pose>5 6 7 0.4 0 0</pose>", link("a"), hinge)))
    assert found == pytest.approx([-2 * G * np.sin(0.4) / (0.3 + 2)], rel=1e-12)
    mark = '<frame name="mark"><pose>0 3 0 0.4 0 0</pose></frame>'
    text = model(
        "<pose>5 6 7 0 0 0</pose>", mark, link("a"), hinge, attributes='placement_frame="mark"'
    )
    (branch,) = described(tmp_path, text).branches
    np.testing.assert_allclose(
        branch.frame,
        np.block(
            [
                [
                    Rotation.from_rotvec([-0.4, 0, 0]).as_matrix(),
                    np.array([[5], [6 - 3 * np.cos(0.4)], [7 + 3 * np.sin(0.4)]]),
                ],
                [np.zeros((1, 3)), np.ones((1, 1))],
            ]
        ),
        atol=1e-14,
    )


def test_joints_of_nested_models_join_by_scoped_names(tmp_path):
    tip = '<frame name="tip"><pose>0 1 0 0 0 0</pose></frame>'
    inner = f'<model name="in"><pose>0 0 2 0 0 0</pose>{tip}{link("c")}</model>'
    hinge = joint("j", "revolute", "a", "in::tip", axis="1 0 0")
    made = described(tmp_path, model(link("a"), inner, hinge))
    assert [b.name for b in made.branches] == ["a", "in::c"]
    assert made.branches[1].parent == "a"
    # the hinge is at the tip, (0, 1, 2)
    np.testing.assert_allclose(made.branches[1].joints["j"], [0, 2, -1, 1, 0, 0], atol=1e-15)


# --- worlds and includes


def test_models_of_a_world_keep_apart_and_are_joined(tmp_path):
    arm = f'<model name="{{}}">{link("a")}</model>'
    around = (
        '<world name="w"><gravity>0 0 -1.6</gravity>{}'
        '<frame name="f"><pose>1 0 0 0 0 0</pose></frame>'
        + joint("j", "revolute", "world", "m::a", '<pose relative_to="f"/>', axis="0 1 0")
        + joint("k", "revolute", "m::a", "n::a", axis="0 1 0")
        + arm.format("n")
        + '<model name="floor"><static>true</static><link name="plane"/></model></world>'
    )
    made = described(tmp_path, model(link("a"), around=around))
    assert [(b.name, b.parent, [*b.joints]) for b in made.branches] == [
        ("m::a", None, ["j"]),
        ("n::a", "m::a", ["k"]),
        ("floor::plane", None, []),
    ]
    np.testing.assert_array_equal(made.gravity, [0, 0, -1.6])
    np.testing.assert_allclose(made.branches[0].joints["j"], [0, 0, 1, 0, 1, 0], atol=1e-15)


def test_a_robot_alone_in_its_world_has_plain_names(tmp_path):
    around = (
        '<world name="w">{}<model name="floor"><static>1</static><link name="a"/></model></world>'
    )
    made = described(tmp_path, model(link("a"), HINGE, around=around))
    assert [b.name for b in made.branches] == ["a", "floor::a"] and made.name == "m"


PART = model(
    '<frame name="tip"><pose>0 0 1 0 0 0</pose></frame>', link("c", "<pose>0 1 0 0 0 0</pose>")
)


@pytest.mark.parametrize("place", ["part.sdf", "model://part", "package://part", "folder"])
def test_included_models_are_read(tmp_path, place):
    if place == "part.sdf":
        (tmp_path / place).write_text(PART)
    else:
        folder = tmp_path / ("folder" if place == "folder" else "part")
        folder.mkdir()
        (folder / "one.sdf").write_text(PART)
        (folder / "old.sdf").write_text("<sdf/>")
        entries = '<sdf version="1.9">old.sdf</sdf><sdf version="1.10">one.sdf</sdf>'
        (folder / "model.config").write_text(f"<model>{entries}</model>")
    include = (
        f"<include><uri>{place}</uri><name>n</name><placement_frame>tip</placement_frame>"
        "<pose>0 0 5 0 0 0</pose></include>"
    )
    made = described(
        tmp_path, model(link("a"), HINGE, include, joint("k", "fixed", "a", "n::c", axis=None))
    )
    assert [b.name for b in made.branches] == ["a", "n::c"]
    np.testing.assert_allclose(made.branches[1].frame[:3, 3], [0, 1, 4], atol=1e-15)


def test_merged_models_become_parts_of_the_model(tmp_path):
    (tmp_path / "part.sdf").write_text(PART)
    include = '<include merge="true"><uri>part.sdf</uri><pose>0 0 5 0 0 0</pose></include>'
    made = described(
        tmp_path, model(link("a"), HINGE, include, joint("k", "fixed", "a", "c", axis=None))
    )
    assert [b.name for b in made.branches] == ["a", "c"]
    np.testing.assert_allclose(made.branches[1].frame[:3, 3], [0, 1, 5], atol=1e-15)


def test_files_that_include_themselves_are_refused_and_missing_ones_listed(tmp_path):
    include = "<include><uri>{}</uri></include>"
    with pytest.raises(zw.ModelError, match="includes itself"):
        described(tmp_path, model(link("a"), HINGE, include.format("r.sdf")))
    made = described(tmp_path, model(link("a"), HINGE, include.format("model://none")))
    assert made.unsupported == ["models included from files that are not found: model://none"]


def test_links_of_two_models_with_one_full_name_are_refused(tmp_path):
    inner = f'<model name="n">{link("b")}</model>'
    with pytest.raises(zw.ModelError, match="two links of different models have the full name"):
        described(tmp_path, model(link("a"), HINGE, inner, link("n::b")))


def test_a_static_model_is_not_merged(tmp_path):
    (tmp_path / "part.sdf").write_text(PART.replace("<link", "<static>1</static><link", 1))
    include = '<include merge="true"><uri>part.sdf</uri></include>'
    with pytest.raises(zw.ModelError, match="a static model is merged"):
        described(tmp_path, model(link("a"), HINGE, include))


# --- weight, mass and inertia


@pytest.mark.slow
def test_a_link_without_gravity_floats(tmp_path):
    falling = accelerations(robot(tmp_path, model(link("a"))))
    floating = accelerations(robot(tmp_path, model(link("a", "<gravity>false</gravity>"))))
    np.testing.assert_allclose(falling, [0, 0, -G, 0, 0, 0], atol=1e-12)
    np.testing.assert_allclose(floating, 0, atol=1e-12)


def test_a_pendulum_of_two_bodies_has_the_weight_of_one(tmp_path):
    # point masses of 2 kg, 1 m and 2 m from the hinge, the first one without weight
    point = "<mass>2</mass><inertia><ixx>0</ixx><iyy>0</iyy><izz>0</izz></inertia>"
    text = model(
        link("a", "<pose>0 1 0 0 0 0</pose><gravity>0</gravity>", point),
        link("b", "<pose>0 2 0 0 0 0</pose>", point),
        joint("j", "revolute", "world", "a", "<pose>0 -1 0 0 0 0</pose>", axis="1 0 0"),
        joint("k", "fixed", "a", "b", axis=None),
    )
    made = robot(tmp_path, text)
    assert accelerations(made) == pytest.approx([-2 * 2 * G / (2 * 1 + 2 * 4)], rel=1e-12)
    energy = compiled(
        lambda q, p: made.tree.equations.energy(q, 0.0, p), jnp.array([0.3]), made.params
    )
    assert energy == pytest.approx(2 * G * 2 * np.sin(0.3), rel=1e-12)


SOLIDS = {
    "box": ("<size>1 2 3</size>", 'type="box" size=".5 1 1.5"'),
    "sphere": ("<radius>0.7</radius>", 'type="sphere" size=".7"'),
    "cylinder": ("<radius>0.7</radius><length>2</length>", 'type="cylinder" size=".7 1"'),
    "capsule": ("<radius>0.7</radius><length>2</length>", 'type="capsule" size=".7 1"'),
    "ellipsoid": ("<radii>1 2 3</radii>", 'type="ellipsoid" size="1 2 3"'),
}


@pytest.mark.parametrize("kind", SOLIDS)
def test_inertia_from_shapes_and_densities_is_that_of_mujoco(tmp_path, kind):
    mujoco = pytest.importorskip("mujoco")
    own, theirs = SOLIDS[kind]
    shape = f"<geometry><{kind}>{own}</{kind}></geometry>"
    sphere = "<geometry><sphere><radius>1</radius></sphere></geometry><pose>1 2 3 0 0 0</pose>"
    solids = (
        f'<collision name="c"><density>700</density><pose>1 2 3 0.3 0 0</pose>{shape}</collision>'
        f'<collision name="d">{sphere}</collision>'
    )
    inertial = '<inertial auto="true"><density>300</density></inertial>'
    (b,) = described(tmp_path, model(f'<link name="a">{solids}{inertial}</link>', HINGE)).branches
    quaternion = "{3} {0} {1} {2}".format(*Rotation.from_rotvec([0.3, 0, 0]).as_quat())
    body = mujoco.MjModel.from_xml_string(
        f'<mujoco><worldbody><body><geom {theirs} density="700" pos="1 2 3" quat="{quaternion}"/>'
        '<geom type="sphere" size="1" density="300" pos="1 2 3"/></body></worldbody></mujoco>'
    )
    assert b.mass == pytest.approx(body.body_mass[1], rel=1e-12)
    np.testing.assert_allclose(b.center, body.body_ipos[1], atol=1e-12)
    np.testing.assert_allclose(
        np.linalg.eigvalsh(b.inertia), np.sort(body.body_inertia[1]), rtol=1e-9
    )


def test_the_inertia_of_a_cone_is_that_of_its_slices(tmp_path):
    cone = "<geometry><cone><radius>0.6</radius><length>2</length></cone></geometry>"
    solid = f'<collision name="c">{cone}</collision><inertial auto="true"><mass>3</mass></inertial>'
    (b,) = described(tmp_path, model(f'<link name="a">{solid}</link>', HINGE)).branches
    z = (np.arange(200_000) + 0.5) / 100_000 - 1
    r2 = (0.6 * (1 - z) / 2) ** 2
    m = 3 * r2 / np.sum(r2)
    center = np.sum(m * z) / 3
    across = np.sum(m * (r2 / 4 + (z - center) ** 2))
    assert b.mass == 3 and b.center == pytest.approx([0, 0, center], abs=1e-9)
    np.testing.assert_allclose(b.inertia, np.diag([across, across, np.sum(m * r2 / 2)]), atol=1e-9)


@pytest.mark.parametrize(
    "inside, says",
    [
        ("<inertial><mass>1</mass><mass>2</mass></inertial>", "'a' has two elements mass"),
        ("<inertial/><inertial/>", "'a' has two elements inertial"),
        ("<inertial><mass>-1</mass></inertial>", "mass -1 kg is not positive"),
        ("<inertial><inertia><ixx>-1</ixx></inertia></inertial>", "is negative"),
        ('<inertial auto="true"/>', "no collision has a volume"),
        (
            '<inertial auto="1"/><collision><geometry><mesh/></geometry></collision>',
            "a mesh does not follow from its shape here",
        ),
        ("<gravity>down</gravity>", "gravity: 'down', expected true or false"),
    ],
)
def test_a_link_that_makes_no_sense_is_refused(tmp_path, inside, says):
    with pytest.raises(zw.ModelError, match=says):
        described(tmp_path, model(f'<link name="a">{inside}</link>', HINGE))


@pytest.mark.parametrize(
    "twice, part",
    [
        ("<mesh><uri>a.stl</uri><uri>b.stl</uri></mesh>", "mesh/uri"),
        ("<polyline/><polyline/>", "polyline"),
        ("<box><size>1 1 1</size><size>2 2 2</size></box>", "box/size"),
    ],
)
def test_a_part_of_a_picture_that_stands_twice_refuses_no_robot(tmp_path, twice, part):
    link = f'<link name="a"><visual name="v"><geometry>{twice}</geometry></visual></link>'
    listed = " ".join(described(tmp_path, model(link, HINGE)).unsupported)
    assert f"a second link/visual/geometry/{part}" in listed


@pytest.mark.parametrize(
    "moments, told",
    [
        ((1, 1, 5), True),
        ((1, 1, 2), False),
        ((1e-12, 1e-12, 1e-12), False),
        ((0, 0, 0), False),
        ((1e-12, 1e-12, 5e-12), True),
    ],
)
def test_moments_that_no_body_has_are_told_at_any_size(tmp_path, moments, told):
    entries = "".join(
        f"<{n}>{x}</{n}>" for n, x in zip(("ixx", "iyy", "izz"), moments, strict=True)
    )
    inertial = f"<mass>1e-9</mass><inertia>{entries}</inertia>"
    made = described(tmp_path, model(link("a", inertial=inertial), HINGE))
    assert any("no body has such" in x for x in made.notes) is told


# --- joints


def test_two_hinges_in_series_turn_one_on_the_other(tmp_path):
    inside = "<axis2><xyz>1 1 0</xyz></axis2><pose>0.1 0.2 0.3 0 0 0</pose>"
    made = robot(
        tmp_path, model(link("a"), joint("j", "revolute2", "world", "a", inside, axis="1 0 0"))
    )
    first, second = 0.4, -0.7
    pose = np.asarray(made.tree.poses(jnp.array([first, second]), made.params))[0]
    turn = Rotation.from_rotvec([first, 0, 0]) * Rotation.from_rotvec(
        second * np.array([1, 1, 0]) / np.sqrt(2)
    )
    place = np.array([0.1, 0.2, 0.3])
    np.testing.assert_allclose(pose[:3, :3], turn.as_matrix(), atol=1e-14)
    np.testing.assert_allclose(pose[:3, 3], place - turn.apply(place), atol=1e-14)


@pytest.mark.parametrize(
    "kind, axis2, says",
    [
        ("universal", "1 1 0", "are at 45°, expected a right angle; take revolute2"),
        ("revolute2", "-2 0 0", "axis and axis2 are parallel"),
        ("universal", "0 0 0", "axis2 is zero"),
    ],
)
def test_a_cross_that_is_none_is_refused(tmp_path, kind, axis2, says):
    inside = f"<axis2><xyz>{axis2}</xyz></axis2>"
    with pytest.raises(zw.ModelError, match=says):
        described(tmp_path, model(link("a"), joint("j", kind, "world", "a", inside, axis="1 0 0")))


PITCHES = {
    "<screw_thread_pitch>0.3</screw_thread_pitch>": 0.3,
    "<thread_pitch>5</thread_pitch>": -2 * np.pi / 5,
    "<thread_pitch>5</thread_pitch><screw_thread_pitch>0.3</screw_thread_pitch>": 0.3,
    "": 1.0,
}


@pytest.mark.parametrize("inside", PITCHES)
def test_a_screw_falls_as_it_turns(tmp_path, inside):
    made = robot(tmp_path, model(link("a"), joint("j", "screw", "world", "a", inside)))
    advance = PITCHES[inside] / (2 * np.pi)
    assert accelerations(made) == pytest.approx(
        [-2 * G * advance / (0.5 + 2 * advance**2)], rel=1e-12
    )
    pose = np.asarray(made.tree.poses(jnp.array([7.0]), made.params))[0]
    assert pose[2, 3] == pytest.approx(7 * advance)


CLOSING = {
    "revolute": ("", ("axis",)),
    "prismatic": ("", ("axis",)),
    "screw": ("<screw_thread_pitch>0.7</screw_thread_pitch>", ("axis",)),
    "universal": ("", ("axis", "axis2")),
    "revolute2": ("", ("axis", "axis2")),
}
"""Kinds of joints with their options and axes."""
ACTING = (
    "<damping>3</damping><spring_stiffness>40</spring_stiffness>"
    "<spring_reference>0.2</spring_reference>"
)


@pytest.mark.slow
@pytest.mark.parametrize("kind", CLOSING)
def test_dampers_and_springs_of_a_joint_that_closes_a_loop_act(tmp_path, kind):
    # b on a ball joint on a, which is free, and on a joint to the ground: which of them closes the
    # loop is decided by their order, and changes nothing
    own, tags = CLOSING[kind]
    directions = {"axis": "0 0 1", "axis2": "1 0 0"}
    inside = own + "".join(
        f"<{tag}><xyz>{directions[tag]}</xyz><dynamics>{ACTING}</dynamics></{tag}>" for tag in tags
    )
    closing = joint("t", kind, "world", "b", inside, axis=None)
    ball = joint("q", "ball", "a", "b", "<pose>0.1 -0.4 0.2 0 0 0</pose>", axis=None)
    links = link("a", "<pose>0.2 0.1 0 0 0 0</pose>") + link("b", "<pose>0.3 1 0.2 0 0 0</pose>")
    last = robot(tmp_path, model(links, ball, closing))
    first = robot(tmp_path, model(links, closing, ball))
    still = robot(tmp_path, model(links, ball, closing.replace(ACTING, "")))
    assert [*last.description.loops] == ["t"] and [*first.description.loops] == ["q"]
    rates = np.random.default_rng(0).normal(size=first.tree.system.nv)
    other = [name for name in first.tree.joints if name.startswith("t")]
    columns = np.concatenate([first.tree.velocity(name) for name in other])
    # any motion of b by its joint to the ground, with which a moves along
    rates[np.setdiff1d(np.arange(len(rates)), columns)] = 0
    b = np.asarray(first.jacobian(first.tree.home, "b")) @ rates
    J = np.asarray(last.jacobian(last.tree.home, "b"))
    v = np.linalg.lstsq(J, b, rcond=None)[0]
    np.testing.assert_allclose(J @ v, b, atol=1e-12)

    def acting(q, v, p, none):
        return last.tree.system.force(q, v, 0.0, p) - still.tree.system.force(q, v, 0.0, none)

    force = compiled(acting, last.tree.home, v, last.params, still.params)
    power = sum((-3 * x + 40 * 0.2) * x for x in rates[columns])
    assert force @ v == pytest.approx(power, rel=1e-11)
    if kind in ("revolute", "universal", "revolute2"):
        assert "springs of joints that close loops, past half a turn: t" in last.unsupported


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "dynamics, power",
    [
        ("<damping>5</damping>", -5.0),
        ("<spring_stiffness>50</spring_stiffness><spring_reference>0.3</spring_reference>", -15.0),
    ],
)
def test_dampers_and_springs_act_where_a_parallelogram_closes(tmp_path, dynamics, power):
    # crank and rocker turn at 1 rad/s and the coupler not at all: the closing hinge at −1 rad/s
    closing = (
        f"<pose>2 0 0 0 0 0</pose><axis><xyz>0 0 1</xyz><dynamics>{dynamics}</dynamics></axis>"
    )
    text = model(
        link("a"),
        link("b", "<pose>0 1 0 0 0 0</pose>"),
        link("c", "<pose>2 0 0 0 0 0</pose>"),
        joint("A", "revolute", "world", "a"),
        joint("B", "revolute", "a", "b"),
        joint("D", "revolute", "world", "c"),
        joint("C", "revolute", "c", "b", closing, axis=None),
    )
    made = robot(tmp_path, text)
    v = jnp.array([1.0, -1.0, 1.0])
    force = compiled(
        lambda q, v, p: made.tree.system.force(q, v, 0.0, p) + made.tree.bias(q, v, p),
        jnp.zeros(3),
        v,
        made.params,
    )
    assert force @ np.asarray(v) == pytest.approx(power, rel=1e-12)
    assert made.model.system.nv == 3


def test_mimics_follow_an_axis_from_a_reference(tmp_path):
    mimic = (
        '<axis><xyz>0 1 0</xyz><mimic joint="u" axis="axis2"><multiplier>2</multiplier>'
        "<offset>0.1</offset><reference>0.3</reference></mimic></axis>"
    )
    cross = joint("u", "universal", "world", "a", "<axis2><xyz>0 1 0</xyz></axis2>", axis="1 0 0")
    made = robot(
        tmp_path,
        model(link("a"), link("b"), cross, joint("j", "revolute", "a", "b", mimic, axis=None)),
    )
    start = made.start_state.q
    at = lambda name: float(start[made.tree.coordinate(name)][0])
    assert at("j") == pytest.approx(2 * (at("u.second") - 0.3) + 0.1, abs=1e-12)
    (row,) = made.constraints
    params = jax.tree.map(jnp.asarray, made.params)
    q = made.filled({"u.first": 5.0, "u.second": 0.8, "j": 1.1}, "coordinate", made.tree.home)
    assert abs(float(row.phi(jnp.asarray(q), 0.0, params)[0])) < 1e-15


@pytest.mark.parametrize(
    "leader, says", [("none", "mimics 'none', which is no joint"), ("j", "in a circle")]
)
def test_mimics_of_nothing_or_themselves_are_refused(tmp_path, leader, says):
    mimic = f'<axis><xyz>0 1 0</xyz><mimic joint="{leader}"/></axis>'
    with pytest.raises(zw.ModelError, match=says):
        described(
            tmp_path, model(link("a"), joint("j", "revolute", "world", "a", mimic, axis=None))
        )


@pytest.mark.parametrize("turned", [1, -1])
def test_a_gearbox_couples_the_wheels_of_a_body(tmp_path, turned):
    # wheels with 0.5 kg·m² about z on a held body, a spring on the first, its wheel turned by 0.2
    spring = (
        "<axis><xyz>0 0 1</xyz><dynamics><spring_stiffness>7</spring_stiffness></dynamics></axis>"
    )
    gear = (
        "<gearbox_ratio>3</gearbox_ratio><gearbox_reference_body>base</gearbox_reference_body>"
        f"<axis2><xyz>0 0 {turned}</xyz></axis2>"
    )
    text = model(
        link("base"),
        link("a"),
        link("b"),
        joint("w", "fixed", "world", "base", axis=None),
        joint("j", "revolute", "base", "a", spring, axis=None),
        joint("k", "revolute", "base", "b"),
        joint("g", "gearbox", "a", "b", gear),
    )
    made = robot(tmp_path, text)
    found = zw.motion(made.model, [0.2, -3 * turned * 0.2], np.zeros(2)).acceleration
    expected = -7 * 0.2 / (0.5 + 9 * 0.5)
    np.testing.assert_allclose(found, [expected, -3 * turned * expected], rtol=1e-12)
    loose = robot(tmp_path, text.replace("base</gearbox_ref", "a</gearbox_ref"))
    assert "gearboxes whose wheels are not on hinges of one reference body: g" in loose.unsupported


@pytest.mark.parametrize("version, start", [("1.6", 0.4), ("1.8", 0.4), ("1.9", 0.0)])
def test_initial_positions_are_the_start(tmp_path, version, start):
    inside = "<axis><xyz>1 0 0</xyz><initial_position>0.4</initial_position></axis>"
    made = robot(
        tmp_path,
        model(link("a"), joint("j", "revolute", "world", "a", inside, axis=None), version=version),
    )
    np.testing.assert_array_equal(made.start_state.q, [start])
    assert any("initial_position" in x for x in made.unsupported) is (start == 0)


def test_limits_of_both_axes_are_kept_and_listed(tmp_path):
    limit = "<limit><lower>-0.1</lower><upper>0.2</upper><effort>-1</effort></limit>"
    dynamics = "<dynamics><damping>0.3</damping><friction>2</friction></dynamics>"
    inside = f"<axis2><xyz>0 1 0</xyz>{limit}{dynamics}</axis2>"
    made = robot(
        tmp_path, model(link("a"), joint("u", "universal", "world", "a", inside, axis="1 0 0"))
    )
    assert made.ranges == {"u.second": (-0.1, 0.2)}
    assert made.unsupported == ("dry friction in joints: u", "joint limits: u")
    np.testing.assert_array_equal(made.params["damping"], [0, 0.3])


def test_limits_that_are_none_are_not_listed(tmp_path):
    ends = "<lower>-1e16</lower><upper>inf</upper><effort>-1</effort><velocity>inf</velocity>"
    inside = f"<axis><xyz>0 1 0</xyz><limit>{ends}</limit></axis>"
    made = robot(
        tmp_path, model(link("a"), joint("j", "revolute", "world", "a", inside, axis=None))
    )
    assert made.unsupported == () and made.ranges == {}


def test_what_has_no_mechanics_here_is_listed_by_name(tmp_path):
    link_parts = (
        "<kinematic>1</kinematic><velocity_decay><linear>0.1</linear></velocity_decay>"
        '<enable_wind>true</enable_wind><sensor name="eye" type="camera"/>'
    )
    added = "<fluid_added_mass><xx>3</xx></fluid_added_mass>"
    text = model(
        link("a", link_parts, BODY + added),
        HINGE,
        '<drake:odd xmlns:drake="x"/>',
        around='<world name="w"><wind/><scene/>{}</world>',
    )
    assert set(robot(tmp_path, text).unsupported) == {
        "wind: world/wind (w), link/enable_wind (a)",
        "parts of the world: world/scene (w)",
        "links that are moved from outside: a",
        "damping of links by their own velocity: a",
        "added mass of a fluid: a",
        "sensors: link/sensor (a)",
        "parts that the file's version of SDF does not have: model/drake:odd (m)",
    }


@pytest.mark.parametrize(
    "text, says",
    [
        (joint("k", "revolute", "a", "world"), "exchange the two"),
        (joint("k", "", "world", "a"), "joint 'k' has no type"),
        (joint("k", "screw", "world", "a", "<thread_pitch>0</thread_pitch>"), "is zero"),
        (
            joint(
                "k",
                "revolute",
                "world",
                "a",
                "<axis><xyz>1 0 0</xyz><dynamics><damping>-1</damping></dynamics></axis>",
                axis=None,
            ),
            "damping is -1",
        ),
        (
            joint("k", "revolute", "world", "a")
            + '<frame name="k"/>'
            + '<frame name="h"><pose relative_to="k"/></frame>'
            + joint("i", "fixed", "h", "a", axis=None),
            "a frame and a joint are named 'k'",
        ),
        (
            '<frame name="h" attached_to="i"/><frame name="i" attached_to="h"/>'
            + joint("k", "fixed", "h", "a", "<pose/>", axis=None),
            "in a circle",
        ),
    ],
)
def test_a_joint_that_makes_no_sense_is_refused(tmp_path, text, says):
    with pytest.raises(zw.ModelError, match=says):
        described(tmp_path, model(link("a"), text))
