"""Plane linkages in robot files with axes parallel up to round-off, in any orientation: one degree
of freedom, with the accelerations of the plane linkage, compared with MuJoCo's M and bias, and with
its rows projected onto the plane by hand.
"""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import zwang as zw

from .test_files import saved

mujoco = pytest.importorskip(
    "mujoco", reason="the extra `robots` is not installed: pip install 'zwang[robots]'"
)
TURNS = {
    "upright": np.array([1.0, 0, 0, 0]),
    "quarter": np.array([np.sqrt(0.5), 0, 0, np.sqrt(0.5)]),
    "oblique": np.roll(Rotation.from_euler("xyz", [0.2, 0.4, 0.5]).as_quat(), 1),
}
MASS = '<inertial pos="0.2 0 0.3" mass="1" diaginertia="0.2 0.3 0.15"/>'
words = lambda x: " ".join(repr(float(y)) for y in x)


def mjcf(off: float, turn: str, free: bool, closing: str) -> str:
    """A linkage on a base; with a weld it has a hinge more, whose axis closes the loop."""
    extra, glued = f'<joint name="E" axis="0 1 0" pos="2 0 0"/>{MASS}', ""
    if closing == "weld":
        glued = f'<body name="end" pos="0 0 0">{extra}</body>'
    equality = {
        "connect": '<connect name="C" body1="coupler" body2="rocker" anchor="2 0 0"/>',
        "weld": '<weld name="C" body1="rocker" body2="end"/>',
        "sites": '<connect name="C" site1="s" site2="t"/>',
    }[closing]
    return f"""<mujoco model="linkage"><worldbody><body name="base" quat="{words(TURNS[turn])}">
{"<freejoint/>" if free else ""}{MASS}
<body name="crank"><joint name="A" axis="0 1 0"/>{MASS}
<body name="coupler" pos="0.3 0 1"><joint name="B" axis="0 1 0"/>{MASS}<site name="s" pos="2 0 0"/>
{glued}</body></body>
<body name="rocker" pos="2 0 0"><joint name="D" axis="{off!r} 1 0"/>{MASS}
<site name="t" pos="0.3 0 1"/></body></body></worldbody><equality>{equality}</equality></mujoco>"""


def by_hand(path, weld: bool) -> np.ndarray:
    """Accelerations from rest: M q̈ + bias = Jᵀλ, J q̈ = 0 with the rows of the plane alone."""
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    M = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, M)
    base = data.xmat[model.body("base").id].reshape(3, 3)
    bodies = [model.body(x).id for x in (("end" if weld else "coupler"), "rocker")]
    point = data.site_xpos[model.site("t").id]
    J, turn = np.zeros((2, 3, model.nv)), np.zeros((2, 3, model.nv))
    for i, body in enumerate(bodies):
        mujoco.mj_jac(model, data, J[i], turn[i], point, body)
    rows = base[:, [0, 2]].T @ (J[0] - J[1])
    if weld:
        rows = np.vstack([rows, base[:, 1] @ (turn[0] - turn[1])])
    K = np.block([[M, rows.T], [rows, np.zeros((len(rows), len(rows)))]])
    return np.linalg.solve(K, np.hstack([-data.qfrc_bias, np.zeros(len(rows))]))[: model.nv]


CASES = [("connect", "oblique", False, 1e-5), ("weld", "quarter", False, 1e-10)]
PLACES = [("upright", False), ("quarter", False), ("oblique", False), ("oblique", True)]
FORMS = [(closing, *place) for closing in ("connect", "weld", "sites") for place in PLACES]
ALL = [(*form, off) for form in FORMS for off in (0.0, 1e-13, 1e-7, 1e-5)]
DECADES = (0.0, *(10.0**n for n in range(-16, -1)))
"""Angles [rad] from nothing to what no file means by accident."""


def check(tmp_path, closing: str, turn: str, free: bool, off: float) -> None:
    path = saved(tmp_path, mjcf(off, turn, free, closing), "linkage.xml")
    robot = zw.robot(path)
    start = robot.start_state
    found = zw.motion(robot.model, start.q, start.v)
    assert int(found.rank) == (3 if closing == "weld" else 2)
    exact = by_hand(saved(tmp_path, mjcf(0.0, turn, free, closing), "exact.xml"), closing == "weld")
    assert np.abs(exact).max() > 0.1
    np.testing.assert_allclose(found.acceleration, exact, atol=1e-10 + 30 * off)
    told = [x for x in robot.unsupported if "meets by itself" in x]
    assert bool(told) == (off > 1e-12) and not robot.warnings
    assert not told or f"C ({3 if closing == 'weld' else 1} row" in told[0]


@pytest.mark.slow
@pytest.mark.parametrize("closing, turn, free, off", CASES)
def test_a_plane_linkage_has_one_freedom_whatever_its_round_off(tmp_path, closing, turn, free, off):
    check(tmp_path, closing, turn, free, off)


@pytest.mark.slow
@pytest.mark.parametrize("closing, turn, free, off", ALL)
def test_a_plane_linkage_has_one_freedom_in_every_form(tmp_path, closing, turn, free, off):
    check(tmp_path, closing, turn, free, off)


@pytest.mark.slow
@pytest.mark.parametrize("off", [1e-4, pytest.param(1e-2, marks=pytest.mark.slow)])
def test_a_linkage_that_its_axes_lock_is_named_and_can_be_freed(tmp_path, off):
    path = saved(tmp_path, mjcf(off, "oblique", False, "connect"), "linkage.xml")
    with pytest.warns(UserWarning, match=r"linkage.xml: loop C: axes off by .* rad at D"):
        robot = zw.robot(path)
    start = robot.start_state
    assert int(zw.motion(robot.model, start.q, start.v).rank) == 3
    freed = zw.robot(path, parallel=off)
    assert not freed.warnings
    assert int(zw.motion(freed.model, start.q, start.v).rank) == 2


def test_a_file_can_be_taken_at_its_word(tmp_path):
    path = saved(tmp_path, mjcf(1e-7, "oblique", False, "connect"), "linkage.xml")
    robot = zw.robot(path, parallel=0)
    assert not robot.warnings and "keep" not in robot.params["loops"]["spherical"]
    with pytest.raises(zw.ModelError, match="robot: parallel"):
        zw.robot(path, parallel=-1e-6)


SDF = """<sdf version="1.7"><model name="linkage">{base}
<link name="crank"><pose>{crank}</pose></link><link name="coupler"><pose>{coupler}</pose></link>
<link name="rocker"><pose>{rocker}</pose></link>
{A}{B}{D}<joint name="C" type="{kind}"><pose>{at}</pose><parent>rocker</parent>
<child>coupler</child>{axes}</joint></model></sdf>"""
ROWS = {"ball": 2, "revolute": 2, "universal": 3, "fixed": 3}


def sdf(kind: str, turn: str, off: float, free: bool = False) -> str:
    """The same linkage in SDF, on the ground or a base; hinges are along y of the turned model."""
    R = Rotation.from_quat(np.roll(TURNS[turn], -1))
    pose = lambda x: words(np.hstack([R.apply(x), R.as_euler("xyz")]))
    axis = lambda name, x: (
        f'<{name}><xyz expressed_in="__model__">{words(R.apply(x))}</xyz></{name}>'
    )

    def hinge(name: str, parent: str, child: str, x=(0.0, 1.0, 0.0)) -> str:
        return (
            f'<joint name="{name}" type="revolute"><parent>{parent}</parent><child>{child}</child>'
            f"{axis('axis', x)}</joint>"
        )

    axes = {
        "revolute": axis("axis", [0, 1, 0]),
        "universal": axis("axis", [1, 0, 0]) + axis("axis2", [0, 0, 1]),
    }
    below = "base" if free else "world"
    return SDF.format(
        base=f'<link name="base"><pose>{pose([0, 0, 0])}</pose></link>'
        if free
        else "<static>true</static>",
        crank=pose([0, 0, 0]),
        coupler=pose([0.3, 0, 1]),
        rocker=pose([2, 0, 0]),
        A=hinge("A", below, "crank"),
        B=hinge("B", "crank", "coupler"),
        D=hinge("D", below, "rocker", (off, 1.0, 0.0)),
        at="2 0 0 0 0 0",
        kind=kind,
        axes=axes.get(kind, ""),
    )


@pytest.mark.one_in(6)
@pytest.mark.parametrize("kind", ROWS)
@pytest.mark.parametrize("turn, off", [("upright", 0.0), ("oblique", 1e-14), ("oblique", 1e-6)])
def test_every_joint_that_closes_a_plane_loop_in_an_sdf_leaves_its_freedom(
    tmp_path, kind, turn, off
):
    robot = zw.robot(saved(tmp_path, sdf(kind, turn, off), "linkage.sdf"))
    (found,) = robot._rows.found.values()
    assert np.linalg.matrix_rank(found.keep) == ROWS[kind]
    phi = robot.constraints[0].phi
    slope = np.array(
        [(phi(x, 0.0, robot.params) - phi(-x, 0.0, robot.params)) / 2e-6 for x in 1e-6 * np.eye(3)]
    )
    assert np.linalg.matrix_rank(slope, tol=1e-4) == np.linalg.matrix_rank(slope, tol=1e-9)
    assert np.linalg.matrix_rank(slope, tol=1e-4) == ROWS[kind]


def decision(robot) -> tuple[int, bool]:
    """How many rows of the loop are kept, and whether it is said to be locked."""
    keep = [x.keep for x in robot._rows.found.values()]
    rows = sum(len(x.phi(robot.tree.home, 0.0, robot.params)) for x in robot.constraints)
    return int(np.linalg.matrix_rank(keep[0])) if keep else rows, bool(robot.warnings)


FREE = [("upright", True), *(pytest.param(*x, marks=pytest.mark.slow) for x in PLACES)]
KEPT = {"connect": 2, "sites": 2, "weld": 3, **ROWS}
WHOLE = {"connect": 3, "sites": 3, "weld": 6, "ball": 3, "revolute": 5, "universal": 4, "fixed": 6}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("turn, free", FREE)
@pytest.mark.parametrize(
    "form", [x if x == "ball" else pytest.param(x, marks=pytest.mark.slow) for x in KEPT]
)
def test_a_loop_is_decided_alike_for_axes_off_by_anything_in_every_form(tmp_path, form, turn, free):
    for off in DECADES:
        text = sdf(form, turn, off, free) if form in ROWS else mjcf(off, turn, free, form)
        robot = zw.robot(saved(tmp_path, text, "a.sdf" if form in ROWS else "a.xml"))
        # an axis off by 1e-4 is not what a file of five digits means
        locked = off > 5e-5
        assert decision(robot) == ((WHOLE if locked else KEPT)[form], locked), off


def by_hand_of_sdf(folder, turn: str) -> np.ndarray:
    """`by_hand` of the same linkage with the masses and the gravity of the SDF file."""
    text = mjcf(0.0, turn, False, "connect")
    text = text.replace(MASS, '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>')
    text = text.replace("<worldbody>", '<option gravity="0 0 -9.8"/><worldbody>', 1)
    return by_hand(saved(folder, text, "twin.xml"), False)


@pytest.mark.slow
@pytest.mark.parametrize("turn", TURNS)
@pytest.mark.parametrize("kind", ["ball", "revolute"])
def test_a_linkage_of_an_sdf_moves_as_that_of_mujoco_does(tmp_path, kind, turn):
    exact = by_hand_of_sdf(tmp_path, turn)
    assert np.abs(exact).max() > 0.1
    for off in (0.0, 1e-13, 1e-7, 1e-5):
        robot = zw.robot(saved(tmp_path, sdf(kind, turn, off), "linkage.sdf"))
        np.testing.assert_array_equal(robot.description.gravity, [0, 0, -9.8])
        start = robot.start_state
        found = zw.motion(robot.model, start.q, start.v)
        assert int(found.rank) == 2
        np.testing.assert_allclose(found.acceleration, exact, atol=1e-10 + 30 * off)


def arms_of(turn: float) -> str:
    """Two arms of a URDF in a vertical plane, turned about the vertical."""
    link = lambda name: (
        f'<link name="{name}"><inertial><origin xyz="0.5 0 0"/><mass value="1"/>'
        '<inertia ixx="0.01" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
    )
    hinge = lambda name, parent, child, at, rpy="0 0 0": (
        f'<joint name="{name}" type="continuous"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{words(at)}" rpy="{rpy}"/><axis xyz="0 1 0"/></joint>'
    )
    right, turned = 1.5 * np.array([np.cos(turn), np.sin(turn), 0.0]), f"0 0 {turn!r}"
    joints = hinge("ja", "base", "a", [0, 0, 0], turned) + hinge("jc", "a", "c", [1, 0, 0])
    joints += hinge("jb", "base", "b", right, turned)
    links = "".join(map(link, "abc"))
    return f'<robot name="arms"><link name="base"/>{links}{joints}</robot>'


@pytest.mark.slow
@pytest.mark.parametrize("turn", [np.pi / 2, pytest.param(-np.pi / 2, marks=pytest.mark.slow)])
def test_a_gap_across_the_plane_of_a_linkage_may_be_round_off(tmp_path, turn):
    """The loop of a URDF is a user's: a row whose gradient is cos(π/2) is not there."""
    found = []
    for angle in (0.0, turn):
        arms = zw.robot(saved(tmp_path, arms_of(float(angle)), "arms.urdf"))
        end = np.array([1.0, 0.0, 0.0])

        def gap(q, t, p, arms=arms, end=end):
            return arms.tree.point(q, "c", end, p) - arms.tree.point(q, "b", end, p)

        closed = arms.driven(constraints=[zw.Holonomic(gap, name="pin")])
        at = zw.consistent_state(closed, q=[-0.7, 0.6, -2.2], v=[0.0, 0.0, 0.0]).state
        motion = zw.motion(closed, at.q, at.v)
        assert int(motion.rank) == 2
        found.append(np.asarray(motion.acceleration))
    assert np.abs(found[0]).max() > 1.0
    np.testing.assert_allclose(found[1], found[0], rtol=1e-9)
