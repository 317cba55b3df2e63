"""UR5 and Panda compared with two independent programs that read the same files."""

import jax
import numpy as np
import pytest

import zwang as zw
from tests.algebra.pseudoinverse.matrices import QUICK

from .files import example_robot

mujoco = pytest.importorskip(
    "mujoco", reason="the extra `robots` is not installed: make test-robots"
)
pin = pytest.importorskip(
    "pinocchio", reason="the extra `robots-test` is not installed: make test-robots"
)

pytestmark = pytest.mark.robots
FILES = {
    "ur5": ("ur_description/urdf/ur5_robot.urdf", "ee_link"),
    "panda": ("panda_description/urdf/panda.urdf", "panda_rightfinger"),
}
STATES, OFFSET = 100, np.array([0.1, -0.2, 0.3])
TOLERANCE = dict(rtol=0, atol=1e-10)


@pytest.fixture(scope="module", params=FILES)
def case(request):
    """A robot, 100 states, and M, h and J of a point of its last body by our program."""
    file, tip = FILES[request.param]
    path = example_robot(file)
    robot = zw.robot(path)
    tree, random = robot.tree, np.random.default_rng(3)
    q, v = (
        random.uniform(-3, 3, (STATES, tree.system.nq)),
        random.normal(size=(STATES, tree.system.nv)),
    )

    def all_three(q, v, p):
        return tree.mass_matrix(q, p), tree.bias(q, v, p), tree.frame_jacobian(q, tip, p, OFFSET)

    program = jax.jit(jax.vmap(all_three, (0, 0, None)), compiler_options=QUICK)
    return path, tip, q, v, [np.asarray(x) for x in program(q, v, robot.params)], robot


def test_mass_matrix_bias_and_jacobian_are_those_of_mujoco(case):
    path, tip, q, v, (M, h, J), robot = case
    spec = mujoco.MjSpec.from_string(path.read_text())
    spec.compiler.fusestatic = False
    for part in [*spec.geoms, *spec.meshes]:
        spec.delete(part)
    model = spec.compile()
    state, body = mujoco.MjData(model), model.body(tip).id
    model.opt.gravity[:] = robot.params["gravity"]
    for i in range(STATES):
        state.qpos[:], state.qvel[:] = q[i], v[i]
        mujoco.mj_forward(model, state)
        mass, linear, angular = (
            np.zeros((model.nv, model.nv)),
            np.zeros((3, model.nv)),
            np.zeros((3, model.nv)),
        )
        mujoco.mj_fullM(model, state, mass)
        point = state.xpos[body] + state.xmat[body].reshape(3, 3) @ OFFSET
        mujoco.mj_jac(model, state, linear, angular, point, body)
        np.testing.assert_allclose(M[i], mass, **TOLERANCE)
        np.testing.assert_allclose(h[i], state.qfrc_bias, **TOLERANCE)
        np.testing.assert_allclose(J[i], np.vstack([linear, angular]), **TOLERANCE)


def test_mass_matrix_bias_and_jacobian_are_those_of_pinocchio(case):
    path, tip, q, v, (M, h, J), robot = case
    model = pin.buildModelFromUrdf(str(path))
    model.gravity = pin.Motion(robot.params["gravity"], np.zeros(3))
    state, frame = model.createData(), model.getFrameId(tip)
    order = [robot.tree.coordinate(name)[0] for name in model.names[1:]]
    for i in range(STATES):
        mine = np.ix_(order, order)
        mass = pin.crba(model, state, q[i][order])
        mass = np.triu(mass) + np.triu(mass, 1).T
        np.testing.assert_allclose(M[i][mine], mass, **TOLERANCE)
        np.testing.assert_allclose(
            h[i][order],
            pin.rnea(model, state, q[i][order], v[i][order], np.zeros(model.nv)),
            **TOLERANCE,
        )
        jacobian = pin.computeFrameJacobian(
            model, state, q[i][order], frame, pin.LOCAL_WORLD_ALIGNED
        )
        pin.framesForwardKinematics(model, state, q[i][order])
        arm = state.oMf[frame].rotation @ OFFSET
        moved = jacobian[:3] + np.cross(jacobian[3:].T, arm).T
        np.testing.assert_allclose(J[i][:, order], np.vstack([moved, jacobian[3:]]), **TOLERANCE)
