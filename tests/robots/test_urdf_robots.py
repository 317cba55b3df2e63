"""URDF files of public robots beside Pinocchio, which shares nothing with ours but the file: PR2,
Romeo, TIAGo and iCub have links that no body can be, ANYmal one of 1 mg, Romeo hands without mass.
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
