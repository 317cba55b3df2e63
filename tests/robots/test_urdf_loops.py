"""Loops of a URDF from YAML compared with the same robots as SDF, which has such joints."""

import numpy as np
import pytest

import zwang as zw

pytest.importorskip(
    "yaml", reason="the extra `robots` is not installed: pip install 'zwang[robots]'"
)
PLACES = {"crank": (0, 0, 0), "coupler": (0, 0, 1), "rocker": (2, 0, 0)}
"""Links and where they are at zero [m]: a crank and a rocker that stand, a coupler between them."""
HINGES = {"A": ("base", "crank"), "B": ("crank", "coupler"), "D": ("base", "rocker")}
MOMENTS = {"ixx": 0.2, "iyy": 0.3, "izz": 0.25}
FOUR_BAR = """# the end of the coupler, and the joint that carries the end of the rocker
closed_loop: [['tip', 'end']]
type: ['{}']
name_mot:
  - A
"""
AXIS = "<axis><xyz>0 1 0</xyz></axis>"


def robot_from(folder, text, end="fixed", name="robot", called="end"):
    """The robot of a text of YAML beside a URDF whose rocker has an `end` that may turn."""
    moments = "".join(f'{k}="{v}" ' for k, v in MOMENTS.items())
    links = "".join(
        f'<link name="{n}"><inertial><origin xyz="0.3 0 0.4"/><mass value="2"/><inertia {moments}/>'
        "</inertial></link>"
        for n in PLACES
    )
    offset = lambda a, b: np.subtract(PLACES[b], PLACES.get(a, (0, 0, 0)))
    joint = lambda n, kind, a, b, at: (
        f'<joint name="{n}" type="{kind}"><parent link="{a}"/><child link="{b}"/><origin '
        f'xyz="{at[0]} {at[1]} {at[2]}"/><axis xyz="0 1 0"/><dynamics friction="0.1"/></joint>'
    )
    hinges = "".join(joint(n, "continuous", a, b, offset(a, b)) for n, (a, b) in HINGES.items())
    tips = joint("c", "fixed", "coupler", "tip", (2, 0, 0)) + joint(
        called, end, "rocker", "turning", (0, 0, 1)
    )
    (folder / f"{name}.urdf").write_text(
        f'<robot name="bar"><link name="base"/>{links}<link name="tip"/><link name="turning"/>'
        f"{hinges}{tips}</robot>"
    )
    path = folder / "robot.yaml"
    path.write_text(text)
    return zw.robot(path)


def twin(folder, *joints):
    """The same links, on joints of SDF."""
    moments = "".join(f"<{k}>{v}</{k}>" for k, v in MOMENTS.items())
    links = "".join(
        f'<link name="{n}"><pose>{x} {y} {z} 0 0 0</pose><inertial><pose>0.3 0 0.4 0 0 0</pose>'
        f"<mass>2</mass><inertia>{moments}</inertia></inertial></link>"
        for n, (x, y, z) in PLACES.items()
    )
    made = "".join(
        f'<joint name="{n}" type="{kind}"><parent>{a}</parent><child>{b}</child>{inside}</joint>'
        for n, kind, a, b, inside in joints
    )
    path = folder / "twin.sdf"
    path.write_text(
        '<sdf version="1.9"><world name="w"><gravity>0 0 -9.81</gravity>'
        f'<model name="bar">{links}{made}</model></world></sdf>'
    )
    return zw.robot(path)


def hinge(name):
    parent, child = HINGES[name]
    return name, "revolute", parent.replace("base", "world"), child, AXIS


def accelerations(robot, names, speed):
    """Of joints by name, where the crank is at 0.3 rad and moves."""
    start = robot.state({"A": 0.3})
    v = robot.filled({"A": speed}, "velocity", np.zeros(robot.model.system.nv))
    at = zw.consistent_state(robot.model, start.q, v).state
    found = np.asarray(zw.motion(robot.model, at.q, at.v).acceleration)
    return np.concatenate([found[robot.tree.velocity(n)] for n in names])


@pytest.mark.slow
@pytest.mark.parametrize("kind, end", [("3d", "fixed"), ("6D", "continuous")])
def test_a_four_bar_moves_as_its_twin_with_a_joint_that_closes_it(tmp_path, kind, end):
    robot = robot_from(tmp_path, FOUR_BAR.format(kind), end)
    ball = ("C", "ball", "rocker", "coupler", "<pose>2 0 0 0 0 0</pose>")
    other = twin(tmp_path, *map(hinge, HINGES), ball)
    assert [*robot.description.loops] == ["tip-end"] and robot.motors == ("A",)
    found, expected = (accelerations(x, HINGES, 1.7) for x in (robot, other))
    assert np.abs(expected).min() > 0.1
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)


@pytest.mark.slow
def test_joints_of_other_kinds_move_as_their_twins(tmp_path):
    robot = robot_from(
        tmp_path,
        "{closed_loop: [], type: [], name_mot: [A, D], joint_name: [B, D, end],\n"
        " joint_type: [ujoint_yz, SPHERICAL, FIXED]}",
        "continuous",
    )
    cross = AXIS + "<axis2><xyz>0 0 1</xyz></axis2>"
    other = twin(
        tmp_path,
        hinge("A"),
        ("B", "universal", "crank", "coupler", cross),
        ("D", "ball", "world", "rocker", ""),
    )
    assert robot.motors == ("A",)
    told = "\n".join(robot.unsupported)
    assert "with several: D" in told and "two hinges now: dynamics of B" in told
    found = accelerations(robot, ["A", "B_Y", "B_Z", "D"], 1.7)
    expected = accelerations(other, ["A", "B.first", "B.second", "D"], 1.7)
    assert np.abs(expected).max() > 0.1
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)


def test_the_only_urdf_of_a_folder_is_taken_and_several_are_asked_about(tmp_path):
    text = FOUR_BAR.format("3d")
    assert robot_from(tmp_path, text, name="bar").name == "bar"
    with pytest.raises(zw.ModelError, match="'robot.urdf' or as the only .urdf .* has 2; rename"):
        robot_from(tmp_path, text, name="robot 2")


LOOP = "closed_loop: [[tip, end]]\n"


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "text, says",
    [
        ("- tip\n", "expected keys with lists"),
        ("a: [1, 2\nb: 3", "line 2: no YAML: "),
        ("a: \x01", "no YAML: special characters"),
        ("closed_loop: " + "[" * 3000, "lists within lists without end|no YAML"),
        ("closed_lop: []", "no key 'closed_lop'; did you mean 'closed_loop'"),
        (LOOP + LOOP, "line 2: closed_loop stands twice"),
        ("name_mot: [A]", "closed_loop is missing"),
        (LOOP, "closed_loop has 1 entries and type 0"),
        ("closed_loop: tip", "closed_loop is no list"),
        ("closed_loop: [[tip]]", "a loop has 1 frames, expected two"),
        ("closed_loop: [[tip, [end]]]", "a list stands where a name is expected"),
        (LOOP + "type: [2d]", "type '2d' of the loop tip-end, expected 6d or 3d"),
        ("closed_loop: [[tip, edn]]\ntype: [3d]", "no link or joint 'edn'; did you mean 'end'"),
        ("closed_loop: [[tip, end], [tip, end]]\ntype: [3d, 3d]", "has tip-end twice"),
        (LOOP + "type: [3d]\nname_mot: [E]", "name_mot: the URDF has no joint 'E'"),
        (LOOP + "type: [3d]\njoint_name: [A]\njoint_type: [BALL]", "'BALL', expected one of SPHER"),
        (LOOP + "type: [!!python/name:os.system x]", "type 'x' of the loop"),
    ],
)
def test_a_file_that_makes_no_sense_gives_one_sentence(tmp_path, text, says):
    with pytest.raises(zw.ModelError, match=says) as caught:
        robot_from(tmp_path, text)
    assert "\n" not in str(caught.value)


def test_a_frame_that_is_a_link_and_a_joint_elsewhere_is_refused(tmp_path):
    with pytest.raises(zw.ModelError, match="'coupler' is a link, and a joint that carries 'turn"):
        robot_from(tmp_path, "closed_loop: [[coupler, tip]]\ntype: [3d]", called="coupler")
