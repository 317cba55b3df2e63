"""Rows at a small angle outside `zw.simulate`: enforced, or refused in a sentence.

    x = 0,    cos(α) x + sin(α) y = 0    with the weight along y

fixes the mass for every α > 0: y'' = 0, and nothing moves. Under a method that damps small singular
values it falls, by 0.5 m in a second.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw

SMALL = [1e-5, 1e-6, 1e-7]
TIMES = [0.0, 0.5, 1.0]
POINT = np.zeros(2)


def at_an_angle(angle: float, others: int = 0) -> zw.Model:
    """A mass that two rows hold, beside `others` rows that repeat the first."""
    row = lambda q, t, p: jnp.cos(p["angle"]) * q[0] + jnp.sin(p["angle"]) * q[1]
    rows = [
        zw.Holonomic(lambda q, t, p: q[0], name="across"),
        zw.Holonomic(row, name="nearly"),
        *(zw.Holonomic(lambda q, t, p: 2 * q[0], name=f"again {i}") for i in range(others)),
    ]
    system = zw.System(2, lambda q, t, p: jnp.ones(2), lambda q, v, t, p: jnp.array([0.0, -1.0]))
    return zw.Model(system, rows, {"angle": angle})


HELD = at_an_angle(1e-5, others=1)


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"step": 0.1}], ids=["adaptive", "fixed"])
def test_a_trajectory_holds_what_a_run_holds(options):
    for angle in SMALL:
        found = zw.trajectory(HELD, POINT, POINT, TIMES, params={"angle": angle}, **options)
        assert found.result == zw.Result.SUCCESS
        assert np.max(np.abs(found.q)) < 1e-9


@pytest.mark.slow  # two programs for batches
def test_a_batch_holds_what_a_run_holds():
    many = zw.batch(HELD, POINT, POINT, TIMES, params={"angle": np.array(SMALL)})
    assert not many.failures and np.max(np.abs(many.q)) < 1e-9


@pytest.mark.parametrize("angle", [1e-4, 1e-6])
def test_a_plant_holds_what_a_run_holds(angle):
    plant = zw.Plant(at_an_angle(angle), np.array([[0.0], [1.0]]), step=0.1)
    step = jax.jit(plant.step)
    state = plant.start
    for _ in range(10):
        state = step(state, np.zeros(1))
    assert np.max(np.abs(state.q)) < 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"step": 0.1}], ids=["adaptive", "fixed"])
def test_inside_a_program_a_code_says_which_method_holds_them(options):
    model = at_an_angle(1e-6)
    found = zw.program(lambda q: zw.trajectory(model, q, POINT, TIMES, **options))(POINT)
    assert found.result == zw.Result.NEARLY_PARALLEL
    assert "give pseudoinverse=zw.methods.CompleteOrthogonal()" in found.reason(model)


def test_rows_that_repeat_are_not_nearly_parallel():
    rows = [
        zw.Holonomic(lambda q, t, p: q @ q - 1, name="rod"),
        zw.Holonomic(lambda q, t, p: 3 * (q @ q - 1), name="again"),
    ]
    system = zw.System(2, lambda q, t, p: jnp.ones(2), lambda q, v, t, p: jnp.array([0.0, -9.81]))
    model = zw.Model(system, rows)
    found = zw.trajectory(model, [1.0, 0.0], POINT, TIMES, step=0.005)
    assert found.result == zw.Result.SUCCESS


@pytest.mark.parametrize("angle", [1e-4, 1e-7])
def test_code_that_takes_no_rank_decision_is_not_written_of_them(angle):
    with pytest.raises(zw.ModelError, match="nearly parallel .singular value"):
        zw.c_code(at_an_angle(angle), POINT, POINT)
    assert zw.c_code(at_an_angle(1e-2), POINT, POINT).source
