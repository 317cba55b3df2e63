"""Robots with closed loops: Robotiq's 2F-85 (MJCF) and Cassie (SDF)."""

import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw
from zwang.dynamics.evaluation import evaluate

from .files import example_robot, gripper

pytestmark = [pytest.mark.robots, pytest.mark.slow]
VIOLATION = 1e-12


def finger_law(q, v, t, p):
    """The file's own actuator, closing and opening once in 10 s, in [N·m]."""
    length, rate = p["actuation"][:, 0] @ q, p["actuation"][:, 0] @ v
    signal = 127.5 * (1 - jnp.cos(2 * jnp.pi * t / 10))
    return jnp.clip(0.3137255 * signal - 100 * length - 10 * rate, -5, 5)[None]


def test_a_gripper_with_redundant_loops_closes_and_opens():
    pytest.importorskip("mujoco")
    robot = zw.robot(gripper())
    model, start = robot.driven(finger_law), robot.start_state
    run = zw.simulate(model, start.q, start.v, duration=10.0, rtol=1e-7)
    data = run.dataset
    assert model.constraints.m == 7 and set(data["constraint_rank"].values) == {5}
    assert float(data["violation"].max()) <= VIOLATION
    driver = data["q"].sel(coordinate="right_driver_joint")
    assert abs(driver[100] - 0.8) < 0.01 and abs(driver[-1]) < 0.01
    np.testing.assert_allclose(
        driver, data["q"].sel(coordinate="left_driver_joint"), atol=VIOLATION
    )
    across = [
        row for row in data["row"].values if row.startswith("connect") and row.endswith("[0]")
    ]
    assert (
        len(across) == 2
    )  # rows along the hinges, which the linkage keeps by itself: the least force is none
    assert float(abs(data["multipliers"].sel(row=across)).max()) == 0.0
    assert float(abs(data["multipliers"]).max()) > 1.0


def test_cassie_drops_from_a_held_base_with_its_loops_closed():
    robot = zw.robot(example_robot("cassie_description/robots/cassie_v2.sdf"), floating=False)
    start = robot.start_state
    assert len(robot.description.loops) == 4 and robot.model.constraints.m == 12
    run = zw.simulate(robot.model, start.q, start.v, duration=1.0, rtol=1e-6, samples=51)
    data = run.dataset
    assert run.result is zw.Result.SUCCESS
    # each plantar linkage is plane up to its file's angles, and meets one row by itself
    assert set(data["constraint_rank"].values) == {10}
    assert float(data["violation"].max()) <= VIOLATION
    assert np.abs(run.q[-1] - run.q[0]).max() > 0.3
    assert (
        float(abs(data["energy_balance"]).max()) < 1e-2
    )  # of a fall by some 100 J, steps of 1 ms and dampers summed over 51 samples


def test_both_ankles_of_cassie_move_off_its_start():
    robot = zw.robot(example_robot("cassie_description/robots/cassie_v2.sdf"), floating=False)
    told = [x for x in robot.unsupported if "meets by itself" in x]
    assert len(told) == 1 and "right-plantar-foot-joint (1 row; axes off by 4.9e-08" in told[0]
    model, random = robot.model, np.random.default_rng(0)
    q = robot.start_state.q + 0.2 * random.standard_normal(model.system.nq)
    at = zw.consistent_state(model, q, 0.5 * random.standard_normal(model.system.nv)).state
    found, here = zw.motion(model, at.q, at.v), evaluate(model.dynamics(), at)
    M, A, b, F = (np.asarray(x) for x in (here.M, here.A, here.b, here.F))
    # by the pseudoinverse of rows at unit length, whose twelve singular values are ten above 1e-2
    # and two round-off
    W = np.linalg.inv(np.linalg.cholesky(M)).T
    C = A @ W
    length = np.maximum(np.linalg.norm(C, axis=1), 1e-3)
    sigma = np.linalg.svd(C / length[:, None])[1]
    assert sigma[9] > 1e-2 and sigma[10] < 1e-14 and int(found.rank) == 10
    free = np.linalg.solve(M, F)
    exact = free + W @ np.linalg.pinv(C / length[:, None], rcond=1e-6) @ ((b - A @ free) / length)
    np.testing.assert_allclose(found.acceleration, exact, rtol=0, atol=1e-9 * np.abs(exact).max())
    ankle = int(robot.tree.velocity("right-foot-op")[0])
    assert abs(exact[ankle]) > 100.0
