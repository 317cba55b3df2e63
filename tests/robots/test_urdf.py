"""URDF compared with closed forms: links without mass, point masses, impossible inertias, floating
and planar joints, mimics; refusals, and warnings.
"""

import sys
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw
from tests.algebra.pseudoinverse.matrices import QUICK

GRAVITY, LENGTH, MASS = 9.81, 0.7, 1.3


def inertial(mass, moments=(0, 0, 0), at="0 0 0", products=(0, 0, 0)) -> str:
    names = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
    given = " ".join(f'{n}="{x}"' for n, x in zip(names, (*moments, *products), strict=True))
    return f'<inertial><origin xyz="{at}"/><mass value="{mass}"/><inertia {given}/></inertial>'


def link(name, inside="") -> str:
    return f'<link name="{name}">{inside}</link>'


def joint(name, parent, child, kind="continuous", axis="0 1 0", inside="", at="0 0 0") -> str:
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{at}" rpy="0.1 0.2 0.3"/><axis xyz="{axis}"/>{inside}</joint>'
    )


def straight(*given, **more) -> str:
    return joint(*given, **more).replace("0.1 0.2 0.3", "0 0 0")


def robot(folder, *parts, **options):
    path = folder / "r.urdf"
    path.write_text(f'<robot name="r">{link("base")}{"".join(parts)}</robot>')
    return zw.robot(path, **options)


def accelerated(made, q, v):
    """v̇ without constraints."""
    system, p = made.tree.system, made.params
    q, v = jnp.asarray(q, float), jnp.asarray(v, float)
    return np.asarray(
        jax.jit(
            lambda q, v: jnp.linalg.solve(
                system.mass_matrix(q, 0.0, p), system.force(q, v, 0.0, p)
            ),
            compiler_options=QUICK,
        )(q, v)
    )


# --- mass and inertia


def test_a_point_mass_on_a_universal_joint_of_two_hinges_is_a_spherical_pendulum(tmp_path):
    made = robot(
        tmp_path,
        link("cross"),
        link("bob", inertial(MASS, at=f"0 0 {-LENGTH}")),
        straight("x", "base", "cross", axis="1 0 0"),
        straight("y", "cross", "bob"),
    )
    (a, b), (da, db) = q, v = np.array([0.4, 0.3]), np.array([0.7, -0.5])
    # L = m l²/2 (β̇² + cos²β α̇²) + m g l cos α cos β
    expected = [
        2 * np.tan(b) * da * db - GRAVITY / LENGTH * np.sin(a) / np.cos(b),
        -np.sin(b) * np.cos(b) * da**2 - GRAVITY / LENGTH * np.cos(a) * np.sin(b),
    ]
    np.testing.assert_allclose(accelerated(made, q, v), expected, rtol=1e-12)
    assert made.notes == () and made.unsupported == ()


@pytest.mark.parametrize("inertia", [0.0, 1e-12, 1e-20])
def test_small_moments_of_inertia_are_taken_as_they_stand(tmp_path, inertia):
    part = inertial(1e-6, (inertia,) * 3, at="0 0 -0.001")
    made = robot(tmp_path, link("a", part), straight("j", "base", "a"))
    expected = -1e-6 * GRAVITY * 1e-3 * np.sin(0.3) / (inertia + 1e-12)
    assert accelerated(made, [0.3], [0.0])[0] == pytest.approx(expected, rel=1e-12)
    assert made.notes == ()


@pytest.mark.parametrize(
    "moments, products, told",
    [
        ((0.001, 0.001, 0.01), (0, 0, 0), "0.001, 0.001, 0.01 kg·m²"),  # PR2's sensor mount
        ((0.02, 0.03, 0.06), (0.05, 0, 0), "-0.0252, 0.06, 0.0752 kg·m²"),  # as Romeo's body
        ((1.0, 1.0, 2.003), (0, 0, 0), "1, 1, 2 kg·m²"),
        ((1.0, 1.0, 2.001), (0, 0, 0), None),
        ((0.0, 1.0, 1.0), (0, 0, 0), None),
        ((-5e-20, -5e-20, 0.0), (0, 0, 0), None),  # as iCub's hips
    ],
)
def test_an_inertia_that_no_body_has_is_used_and_told(tmp_path, moments, products, told):
    part = inertial(MASS, moments, "0.1 0 0", products)
    made = robot(
        tmp_path,
        link("a", part),
        link("b", part),
        straight("j", "base", "a", axis="0 0 1"),
        straight("f", "a", "b", kind="fixed"),
    )
    M = jax.jit(made.tree.mass_matrix, compiler_options=QUICK)(made.tree.home, made.params)
    assert M[0, 0] == pytest.approx(2 * (moments[2] + MASS * 0.01), rel=1e-13)
    assert bool(made.notes) == (told is not None)
    for name in "ab":
        assert told is None or f"{name} ({told})" in made.notes[0]


@pytest.mark.parametrize(
    "given", [inertial(-1.0, (1, 1, 1)), inertial(1, (-0.1, 1, 1)), inertial(1, (1, 1, -1e-9))]
)
def test_a_negative_mass_or_moment_is_refused(tmp_path, given):
    with pytest.raises(zw.ModelError, match="link 'a': mass .* is negative"):
        robot(tmp_path, link("a", given), straight("j", "base", "a"))


def test_a_joint_that_moves_no_mass_is_told_and_refused_when_it_is_run(tmp_path):
    made = robot(
        tmp_path,
        link("a", inertial(1, (1, 1, 1))),
        link("b"),
        link("c", inertial(1)),
        straight("j", "base", "a", at="3 2 1"),
        straight("k", "a", "b", at="0.3 0.2 0.1"),
        straight("n", "a", "c", at="0.3 0.2 0.1", axis="1 2 3"),
        straight("s", "b", "d", kind="prismatic"),
        link("d"),
    )
    assert made.notes[0].endswith(": k, s, n")
    with pytest.raises(zw.ModelError, match="'[ks]' has neither mass nor a constraint"):
        zw.simulate(made.model, made.start_state.q, made.start_state.v, duration=0.1)


def test_a_follower_without_mass_runs(tmp_path):
    made = robot(
        tmp_path,
        link("a", inertial(MASS, at=f"0 0 {-LENGTH}")),
        link("b"),
        straight("j", "base", "a"),
        straight("k", "a", "b", inside='<mimic joint="j" multiplier="2" offset="0.1"/>'),
    )
    assert made.notes == ()
    start = made.state({"j": 0.4})
    found = zw.motion(made.model, start.q, start.v).acceleration
    expected = -GRAVITY / LENGTH * np.sin(0.4)
    np.testing.assert_allclose(found, [expected, 2 * expected], rtol=1e-10)


# --- kinds of joints


def falling(made, body, at, q, v):
    """The acceleration in space of a point of a body under v̇ without constraints."""
    system, p = made.tree.system, made.params

    def speed(q, v):
        rate = v if system.velocity_map is None else system.velocity_map(q, 0.0, p) @ v
        return jax.jvp(lambda q: made.tree.point(q, body, at, p), (q,), (rate,))[1]

    @partial(jax.jit, compiler_options=QUICK)
    def second(q, v, dv):
        rate = v if system.velocity_map is None else system.velocity_map(q, 0.0, p) @ v
        return jax.jvp(speed, (q, v), (rate, dv))[1]

    return second(*(jnp.asarray(x, float) for x in (q, v, accelerated(made, q, v))))


@pytest.mark.slow
def test_a_floating_joint_below_the_root_lets_its_link_fall(tmp_path):
    arm = (link("a", inertial(MASS, (0.1, 0.2, 0.25), "0.2 0 0.1")), joint("j", "base", "a"))
    center = np.array([0.1, 0.2, 0.3])
    thing = link("b", inertial(2, (0.2, 0.3, 0.4), "0.1 0.2 0.3", (0.01, 0.02, 0.03)))
    made = robot(tmp_path, *arm, thing, joint("free", "a", "b", kind="floating", at="0.5 0.1 0"))
    assert made.tree.joints == ("j", "free.x", "free.y", "free.z", "free")
    turn = np.array([0.8, 0.2, -0.4, 0.4])
    q = np.array([0.3, 0.1, -0.2, 0.5, *turn / np.linalg.norm(turn)])
    v = np.array([0.7, 0.4, 0.2, -0.3, 1.0, -0.5, 0.8])
    alone = robot(tmp_path, *arm)
    dv = accelerated(made, q, v)
    # nothing holds the two together: the arm swings as without the thing, whose center falls
    assert dv[0] == pytest.approx(accelerated(alone, q[:1], v[:1])[0], rel=1e-10)
    np.testing.assert_allclose(falling(made, "b", center, q, v), [0, 0, -GRAVITY], atol=1e-9)


@pytest.mark.slow
def test_a_planar_joint_slides_in_its_plane_and_turns_about_the_normal(tmp_path):
    normal = np.array([1.0, 2.0, 2.0]) / 3
    part = inertial(MASS, (0.1, 0.1, 0.1), "0.2 0.1 0")
    made = robot(tmp_path, link("a", part), straight("p", "base", "a", kind="planar", axis="1 2 2"))
    assert made.tree.joints == ("p.x", "p.y", "p.angle")
    q, v = np.array([0.3, -0.2, 0.5]), np.array([0.4, 0.1, 2.0])
    found = falling(made, "a", np.array([0.2, 0.1, 0.0]), q, v)
    weight = np.array([0, 0, -GRAVITY])
    np.testing.assert_allclose(found, weight - weight @ normal * normal, atol=1e-10)
    assert accelerated(made, q, v)[2] == pytest.approx(0, abs=1e-10)
    flat = robot(tmp_path, link("a", part), straight("p", "base", "a", kind="planar", axis="0 0 1"))
    np.testing.assert_allclose(
        flat.tree.point(jnp.array([0.3, -0.2, 0.0]), "a", jnp.zeros(3), flat.params),
        [0.3, -0.2, 0.0],
        atol=1e-15,
    )


def test_a_quaternion_is_the_attitude_of_its_angles(tmp_path):
    made = robot(tmp_path, link("a", inertial(1)), joint("j", "base", "a"))
    text = (tmp_path / "r.urdf").read_text()
    w, x, y, z = 0.983347443256, 0.034270798550, 0.106020511324, 0.143572175103
    (tmp_path / "r.urdf").write_text(
        text.replace('rpy="0.1 0.2 0.3"', f'quat_xyzw="{x} {y} {z} {w}"')
    )
    other = zw.robot(tmp_path / "r.urdf")
    np.testing.assert_allclose(made.params["twist"], other.params["twist"], atol=1e-11)


# --- mimics


def chain(folder):
    parts = [link(n, inertial(1, (0.1, 0.1, 0.1), "0.1 0 0")) for n in "abc"]
    return robot(
        folder,
        *parts,
        straight("j", "base", "a"),
        straight("k", "a", "b", inside='<mimic joint="l" multiplier="-2" offset="0.1"/>'),
        straight("l", "b", "c", inside='<mimic joint="j" multiplier="3" offset="0.4"/>'),
    )


@pytest.mark.slow
def test_the_start_moves_followers_and_no_driver(tmp_path):
    made = chain(tmp_path)
    np.testing.assert_allclose(made.start_state.q, [0.0, 0.1 - 2 * 0.4, 0.4], atol=1e-14)
    q = made.state({"j": 0.3}).q
    np.testing.assert_allclose(q, [0.3, 0.1 - 2 * 1.3, 1.3], atol=1e-14)
    q = made.state({"k": 0.5}).q
    np.testing.assert_allclose(q, [-0.2, 0.5, -0.2], atol=1e-13)
    with pytest.raises(zw.ModelError, match=r"no configuration with j = 0.3, l = 0\.? ?closes"):
        made.state({"j": 0.3, "l": 0})


# --- pictures


@pytest.mark.parametrize(
    "visual, told",
    [
        ('<geometry><box size="0 0 0"/></geometry>', "pictures that cannot be drawn: a"),
        ('<geometry><sphere radius="-1"/></geometry>', "pictures that cannot be drawn: a"),
        ('<geometry><box size="1 2"/></geometry>', "pictures that cannot be drawn: a"),
        ('<geometry><cylinder radius="x"/></geometry>', "pictures that cannot be drawn: a"),
        ("<geometry/>", "pictures that cannot be drawn: a"),
        ("", "pictures that cannot be drawn: a"),
        ('<origin rpy="0 0"/><geometry><sphere radius="1"/></geometry>', "cannot be drawn: a"),
        ('<geometry><mesh scale="1 1 1"/></geometry>', "pictures that cannot be drawn: a"),
        ('<geometry><mesh filename="no.stl"/></geometry>', "pictures only: no.stl (a)"),
        *(
            (
                '<geometry><sphere radius="1"/></geometry>'
                f'<material name="m"><color rgba="{rgba}"/></material>',
                "colors that are none: a",
            )
            for rgba in ("1 0 0", "255 0 0 1", "red", "nan 0 0 1", "")
        ),
    ],
)
def test_an_odd_picture_is_listed_and_refuses_no_robot(tmp_path, visual, told):
    visual = f"<visual>{visual}</visual>"
    made = robot(tmp_path, link("a", inertial(1, (1, 1, 1)) + visual), straight("j", "base", "a"))
    assert told in " ".join(made.unsupported)
    assert len(made.shapes.get("a", ())) == ("drawn" not in told)


def test_a_namespace_that_is_not_declared_is_listed(tmp_path):
    made = robot(
        tmp_path, link("a", inertial(1)), straight("j", "base", "a"), '<ctl:a ctl:b="1"/>',
        "<xacro:property name='p' value='1'/>",
    )  # fmt: skip
    assert made.unsupported == ("elements for other programs: ctl:a, xacro:property (p)",)


# --- what is refused

BODY = link("a", inertial(1, (1, 1, 1)))


@pytest.mark.parametrize(
    "parts, sentence",
    [
        ((BODY, BODY), "two links are named 'a'"),
        ((BODY, straight("j", "base", "a"), straight("j", "base", "a")), "two joints are named"),
        ((BODY, straight("j", "base", "a"), straight("k", "base", "a")), "carried by two joints"),
        ((BODY, straight("j", "a", "a")), "link 'a' stands on itself"),
        ((BODY, link("b"), straight("j", "b", "a"), straight("k", "a", "b")), "in a circle|circle"),
        ((BODY, straight("j", "bass", "a")), "there is no parent link 'bass'"),
        ((BODY, '<joint name="j" type="fixed"><parent link="base"/></joint>'), "has no child"),
        ((BODY, straight("j", "base", "a", kind="hinge")), "has the type 'hinge', expected one of"),
        ((BODY, straight("j", "base", "a", axis="0 0 0")), "axis is zero"),
        ((BODY, straight("j", "base", "a", axis="0 0")), "expected 3 numbers"),
        ((BODY, straight("j", "base", "a", axis="nan 0 1")), "expected 3 numbers"),
        ((BODY, straight("j", "base", "a", at="${x} 0 0")), "expected 3 numbers"),
        ((BODY, straight("j", "base", "a"), "<xacro:arm/>"), "xacro FILE > OTHER.urdf"),
        (
            (BODY, straight("j", "base", "a", inside='<dynamics damping="much"/>')),
            "damping: 'much', expected 1 number",
        ),
        (
            (BODY, straight("j", "base", "a", inside='<mimic joint="j"/>')),
            "mimic each other in a circle",
        ),
        ((link("a", "<inertial/>"), straight("j", "base", "a")), "inertial has no mass"),
        (
            (link("a", '<inertial><mass value="1"/></inertial>'), straight("j", "base", "a")),
            "inertial has no inertia",
        ),
        (("<link/>", straight("j", "base", "a")), "a link has no name"),
    ],
)
def test_a_file_that_makes_no_sense_gives_one_sentence(tmp_path, parts, sentence):
    with pytest.raises(zw.ModelError, match=sentence) as caught:
        robot(tmp_path, *parts)
    assert "\n" not in str(caught.value) and "r.urdf" in str(caught.value)


def test_a_floating_joint_at_the_root_is_not_held_against_the_file(tmp_path):
    parts = BODY, straight("j", "base", "a", kind="floating")
    with pytest.raises(zw.ModelError, match="floating=False, but the joint 'j'"):
        robot(tmp_path, *parts, floating=False)
    assert robot(tmp_path, *parts).tree.system.nv == 6


# --- what is told


def test_a_strong_damper_is_told_with_what_helps(tmp_path):
    strong = '<dynamics damping="1e11"/>'
    made = robot(
        tmp_path, BODY, link("b", inertial(1, (1, 1, 1))),
        straight("j", "base", "a"), straight("k", "a", "b", inside=strong),
    )  # fmt: skip
    (note,) = made.notes
    assert note.endswith("integrator=zw.methods.Kvaerno5(), or a fixed joint: k (1e+11/s)")
    assert "Kvaerno5" in str(made)


def test_links_that_no_joint_carries_are_told(tmp_path):
    made = robot(tmp_path, BODY, link("lost", inertial(1)), straight("j", "base", "a"))
    assert made.notes == ("links that no joint carries, where a URDF has one: base, lost",)


def test_urdf_is_read_without_mujoco(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco", None)
    made = robot(tmp_path, BODY, joint("j", "base", "a"))
    assert made.tree.joints == ("j",) and made.ranges == {}
    (tmp_path / "m.xml").write_text("<mujoco/>")
    with pytest.raises(zw.ModelError, match="reading MJCF needs mujoco, which is not installed"):
        zw.robot(tmp_path / "m.xml")


def test_coordinates_have_the_order_that_mujoco_gives_them(tmp_path):
    mujoco = pytest.importorskip("mujoco", reason="the extra `robots` is not installed")
    random = np.random.default_rng(5)
    names = [f"l{i}" for i in range(12)]
    links = [link(n, inertial(1, (0.1, 0.1, 0.1), "0.1 0 0")) for n in random.permutation(names)]
    joints = [
        joint(f"j{i}", f"l{random.integers(i)}" if i else "base", f"l{i}", at="0.2 0.1 0")
        for i in random.permutation(12)
    ]
    made = robot(tmp_path, *links, *joints)
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "r.urdf"))
    assert list(made.tree.joints) == [model.joint(i).name for i in range(12)]
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = random.normal(size=(2, 12))
    mujoco.mj_forward(model, data)
    np.testing.assert_allclose(
        accelerated(made, data.qpos, data.qvel), data.qacc, rtol=1e-9, atol=1e-9
    )
