"""Velocities between the branches of motion at a singular configuration."""

import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw
from zwang.dynamics.branch_velocity import velocity_on_branch


def parallelogram(*further) -> zw.Model:
    """Two cranks of 1 m and a coupler of 2 m, by their points, which all lie in line."""
    system = zw.System(
        4, lambda q, t, p: jnp.ones(4), lambda q, v, t, p: jnp.array([0.0, -9.81, 0.0, -9.81])
    )
    between = lambda a, b, length: (a - b) @ (a - b) - length**2
    right = jnp.array([2.0, 0.0])
    rows = [
        zw.Holonomic(lambda q, t, p: between(q[:2], 0 * right, 1.0), name="left"),
        zw.Holonomic(lambda q, t, p: between(q[2:], right, 1.0), name="right"),
        zw.Holonomic(lambda q, t, p: between(q[2:], q[:2], 2.0), name="coupler"),
    ]
    return zw.Model(system, [*rows, *further], name="parallelogram")


IN_LINE = [1.0, 0.0, 3.0, 0.0]
DRIVE = zw.Holonomic(lambda q, t, p: q[1] - jnp.sin(t), name="drive")


@pytest.mark.parametrize("rates", [(1.0, -1.0), (1.0, 0.5), (0.3, 0.0)])
def test_a_velocity_between_the_branches_is_named_with_one_that_lies_on_a_branch(rates):
    """The cranks turn alike, or as an antiparallelogram: the right one −3 times as fast."""
    model = parallelogram()
    v = [0.0, rates[0], 0.0, rates[1]]
    with pytest.raises(zw.ModelError, match=r"contradict.*between the branches.*on a branch is"):
        zw.simulate(model, IN_LINE, v, duration=1.0)
    near = velocity_on_branch(model.dynamics(), np.array(IN_LINE), v, 0.0)
    assert near is not None
    left, right = near[1], near[3]
    assert min(abs(right - left), abs(right + 3 * left)) < 1e-6
    assert zw.simulate(model, IN_LINE, near, duration=0.01).result == 0


@pytest.mark.parametrize("rate", [0.0, 0.5, -2.0])
def test_a_driven_parallelogram_in_line_names_a_rate_of_its_other_crank(rate):
    model = parallelogram(DRIVE)
    with pytest.raises(zw.ModelError, match="between the branches"):
        zw.simulate(model, IN_LINE, [0.0, 1.0, 0.0, rate], duration=1.0)
    near = velocity_on_branch(model.dynamics(), np.array(IN_LINE), [0.0, 1.0, 0.0, rate], 0.0)
    assert near is not None and abs(near[1] - 1) < 1e-9
    assert min(abs(near[3] - 1), abs(near[3] + 3)) < 1e-6


def test_rows_that_contradict_each_other_at_any_velocity_are_not_said_to_be_singular():
    again = zw.Holonomic(lambda q, t, p: q[:2] @ q[:2] - 1 - 0.5 * t**2, name="again")
    model = parallelogram(again)
    with pytest.raises(zw.ModelError, match="contradict") as refused:
        zw.simulate(model, IN_LINE, [0.0, 1.0, 0.0, 1.0], duration=1.0)
    assert "branch" not in str(refused.value)


@pytest.mark.parametrize("rtol", [1e-8, 1e-11, 1e-13])
def test_a_parallelogram_in_line_runs_on_at_every_accuracy(rtol):
    """Turning alike with no load: the cranks keep their rate."""
    system = zw.System(4, lambda q, t, p: jnp.ones(4), lambda q, v, t, p: jnp.zeros(4))
    model = zw.Model(system, parallelogram().constraints.members, name="parallelogram")
    run = zw.simulate(model, IN_LINE, [0.0, 1.0, 0.0, 1.0], duration=4.0, rtol=rtol)
    right = np.stack([np.cos(run.t), np.sin(run.t), 2 + np.cos(run.t), np.sin(run.t)], axis=1)
    assert np.abs(run.q - right).max() < 1e3 * max(rtol, 1e-13)


@pytest.mark.parametrize("row", ["root", "quotient"])
def test_a_constraint_that_is_not_finite_is_named_by_the_motion(row):
    made = {"root": lambda q, t, p: jnp.sqrt(q[3] - 5), "quotient": lambda q, t, p: 1 / q[3]}[row]
    model = parallelogram(zw.Holonomic(made, name=row))
    with pytest.raises(zw.ModelError, match=rf"NaN or infinite.*constraint '{row}'"):
        zw.motion(model, IN_LINE, [0.0, 0.0, 0.0, 0.0])
