"""URDF files of public robots compared with Pinocchio, an independent program: PR2, Romeo, TIAGo
and iCub have links with impossible inertias, ANYmal one of 1 mg, Romeo hands without mass.
"""

import jax
import numpy as np
import pytest

import zwang as zw
from tests.algebra.pseudoinverse.matrices import QUICK

from .files import example_robot

pin = pytest.importorskip(
    "pinocchio", reason="the extra `robots-test` is not installed: make test-robots"
)

pytestmark = pytest.mark.robots
FILES = {
    "pr2_description/urdf/pr2.urdf": "double_stereo_link",
    "romeo_description/urdf/romeo_laas_small.urdf": "RHipPitch_link",
    "romeo_description/urdf/romeo.urdf": "LHand, RHand",
    "romeo_description/urdf/romeo_small.urdf": "RElbowYawLink",
    "tiago_description/robots/tiago.urdf": "base_antenna_left_link",
    "tiago_description/robots/tiago_dual.urdf": "base_antenna_left_link",
    "icub_description/robots/icub.urdf": None,
    "anymal_c_simple_description/urdf/anymal.urdf": "hatch",
    "allegro_hand_description/urdf/allegro_left_hand.urdf": "joint_11.0",
    "talos_data/robots/talos_full_v2.urdf": None,
    "baxter_description/urdf/baxter.urdf": None,
    "g1_description/urdf/g1_29dof_rev_1_0.urdf": None,
    "xarm_description/urdf/xarm7.urdf": None,
    "panda_description/urdf/panda.urdf": None,
}
"""Files, and a name that their notes tell."""
STATES, TOLERANCE = 5, 1e-12


@pytest.mark.parametrize("file", FILES)
def test_mass_matrix_bias_and_accelerations_are_those_of_pinocchio(file):
    path = example_robot(file)
    robot, model = zw.robot(path), pin.buildModelFromUrdf(str(path))
    assert (FILES[file] or "") in " ".join(robot.notes) and bool(robot.notes) >= bool(FILES[file])
    tree, data, random = robot.tree, model.createData(), np.random.default_rng(3)
    joints = [*zip(model.names[1:], model.joints[1:], strict=True)]
    order = [int(tree.velocity(name)[0]) for name, _ in joints]
    assert sorted(order) == list(range(tree.system.nv)) == list(range(model.nv))

    ours = jax.jit(
        lambda q, v: (tree.mass_matrix(q, robot.params), tree.bias(q, v, robot.params)),
        compiler_options=QUICK,
    )
    for q, v in zip(
        random.uniform(-3, 3, (STATES, model.nv)),
        random.normal(size=(STATES, model.nv)),
        strict=True,
    ):
        theirs = pin.neutral(model)
        for (_, joint), i in zip(joints, order, strict=True):
            # a continuous joint has cosine and sine there
            theirs[joint.idx_q : joint.idx_q + joint.nq] = (
                (q[i],) if joint.nq == 1 else (np.cos(q[i]), np.sin(q[i]))
            )
        M, h = (np.asarray(x) for x in ours(q, v))
        M, h = M[np.ix_(order, order)], h[order]
        mass = pin.crba(model, data, theirs)
        mass = np.triu(mass) + np.triu(mass, 1).T
        bias = pin.rnea(model, data, theirs, v[order], np.zeros(model.nv))
        np.testing.assert_allclose(M, mass, rtol=0, atol=TOLERANCE * np.abs(mass).max())
        np.testing.assert_allclose(h, bias, rtol=0, atol=TOLERANCE * np.abs(bias).max())
        if np.linalg.cond(mass) < 1e10:
            dv = np.linalg.solve(mass, -bias)
            np.testing.assert_allclose(
                np.linalg.solve(M, -h), dv, rtol=0, atol=1e-8 * np.abs(dv).max()
            )


@pytest.mark.slow
@pytest.mark.parametrize("file", ["pr2_description/urdf/pr2.urdf"])
def test_a_robot_with_impossible_inertias_runs(file):
    robot = zw.robot(example_robot(file))
    start = robot.start_state
    run = zw.simulate(robot.model, start.q, start.v, duration=0.2, rtol=1e-6)
    assert run.result is zw.Result.SUCCESS
    assert float(run.dataset["violation"].max()) < 1e-10


def random_tree(random, count=9) -> str:
    """A URDF with all kinds of joints, and links of which a third has no mass."""
    kinds = ("revolute", "continuous", "prismatic", "floating", "planar", "fixed")
    numbers = lambda scale=1.0: " ".join(f"{x:.6f}" for x in scale * random.normal(size=3))
    parts = ['<link name="l0"/>']
    for i in range(1, count + 1):
        kind = kinds[int(random.integers(len(kinds)))] if i < count else "floating"
        # Pinocchio takes planar joints about z alone
        axis = "0 0 1" if kind == "planar" else numbers()
        spread = random.normal(size=(5, 3))
        inertia = np.trace(spread.T @ spread) * np.eye(3) - spread.T @ spread
        names = ("ixx", 0, 0), ("iyy", 1, 1), ("izz", 2, 2), ("ixy", 0, 1), ("ixz", 0, 2)
        moments = " ".join(f'{n}="{inertia[a, b]}"' for n, a, b in (*names, ("iyz", 1, 2)))
        inertial = (
            f'<inertial><origin xyz="{numbers()}" rpy="{numbers()}"/><mass value="'
            f'{random.uniform(0.5, 2)}"/><inertia {moments}/></inertial>'
        )
        massless = kind in ("revolute", "continuous") and i < count and random.random() < 0.5
        parts.append(f'<link name="l{i}">{"" if massless else inertial}</link>')
        parts.append(
            f'<joint name="j{i}" type="{kind}"><parent link="l{random.integers(i)}"/>'
            f'<child link="l{i}"/><origin xyz="{numbers()}" rpy="{numbers()}"/>'
            f'<axis xyz="{axis}"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint>'
        )
    return f'<robot name="r">{"".join(parts)}</robot>'


@pytest.mark.parametrize("seed", range(6))
def test_random_trees_of_all_kinds_of_joints_are_those_of_pinocchio(seed, tmp_path):
    random = np.random.default_rng(seed)
    (tmp_path / "r.urdf").write_text(random_tree(random))
    robot = zw.robot(tmp_path / "r.urdf")
    model = pin.buildModelFromUrdf(str(tmp_path / "r.urdf"))
    tree, data = robot.tree, model.createData()
    nv = tree.system.nv
    assert nv == model.nv
    q, v = robot.tree.home + random.normal(size=tree.system.nq), random.normal(size=nv)
    theirs = pin.neutral(model)
    # v of Pinocchio is E v: its slides of a floating or planar joint are along the body's axes
    E, rate = np.zeros((nv, nv)), np.zeros(nv)
    for name, joint in zip(model.names[1:], model.joints[1:], strict=True):
        at, to = joint.idx_q, slice(joint.idx_v, joint.idx_v + joint.nv)
        if joint.nv == 1:
            i, j = tree.coordinate(name)[0], tree.velocity(name)[0]
            theirs[at : at + joint.nq] = (q[i],) if joint.nq == 1 else (np.cos(q[i]), np.sin(q[i]))
            E[to, j] = 1.0
            continue
        free = joint.nv == 6
        slides = [f"{name}.{c}" for c in ("xyz" if free else "xy")]
        turn = name if free else f"{name}.angle"
        moved, turned = [tree.velocity(n)[0] for n in slides], tree.velocity(turn)
        theirs[at : at + len(slides)] = [q[tree.coordinate(n)[0]] for n in slides]
        entries = tree.coordinate(turn)
        if free:
            q[entries] /= np.linalg.norm(q[entries])
            w, x, y, z = q[entries]
            theirs[at + 3 : at + 7] = x, y, z, w
            R, spin = pin.Quaternion(w, x, y, z).matrix(), pin.skew(v[turned])
        else:
            c, s = np.cos(q[entries[0]]), np.sin(q[entries[0]])
            theirs[at + 2 : at + 4] = c, s
            R, spin = np.array([[c, -s], [s, c]]), v[turned[0]] * np.array([[0, -1], [1, 0]])
        n = len(slides)
        E[to.start : to.start + n, moved] = R.T
        E[to.start + n : to.stop, turned] = np.eye(joint.nv - n)
        rate[to.start : to.start + n] = -spin @ R.T @ v[moved]
    M, h = jax.jit(
        lambda q, v: (tree.mass_matrix(q, robot.params), tree.bias(q, v, robot.params)),
        compiler_options=QUICK,
    )(q, v)
    mass = pin.crba(model, data, theirs)
    mass = np.triu(mass) + np.triu(mass, 1).T
    bias = pin.rnea(model, data, theirs, E @ v, rate)
    np.testing.assert_allclose(M, E.T @ mass @ E, rtol=0, atol=TOLERANCE * np.abs(M).max())
    np.testing.assert_allclose(h, E.T @ bias, rtol=0, atol=TOLERANCE * np.abs(h).max())
