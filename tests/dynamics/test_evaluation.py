"""The compiled evaluation of a model, as used for initial states."""

import numpy as np
import pytest

from tests.crossed import some
from zwang import gallery
from zwang.algebra.pseudoinverse import SVD
from zwang.dynamics import evaluation
from zwang.dynamics.initial_conditions import begin


@pytest.mark.parametrize("name", ["pendulum", "bennett"])
def test_a_start_binds_the_numbers_of_a_model_a_few_times_only(monkeypatch, name):
    """It evaluates the model two dozen times, and moves coordinates with a rotation as often; to
    bind costs as much as ten evaluations.
    """
    bound = []

    class Counted(evaluation.BoundProgram):
        def __init__(self, *given):
            bound.append(given)
            super().__init__(*given)

    monkeypatch.setattr(evaluation, "BoundProgram", Counted)
    example = gallery.load(name)
    begin(example.model.dynamics(), example.model.state(example.q0, example.v0, 0.0))
    assert 1 <= len(bound) <= 3


def test_parameters_are_packed_once_until_a_number_changes():
    """For a robot this costs as much as forty evaluations."""
    model = gallery.load("pendulum").model
    first = model.dynamics().p
    assert model.dynamics(pseudoinverse=SVD(), implicit=True).p is first
    key = next(iter(model.params))
    before, model.params[key] = model.params[key], 2.0 * model.params[key]
    second = model.dynamics(pseudoinverse=SVD()).p
    assert second[key] == 2.0 * before
    assert first[key] == before, "dynamics that were bound before keep their numbers"


@pytest.mark.parametrize("name", some(["five-bar", "bennett", "rolling-disk", "motor-linkage"], 2))
def test_functions_without_stages_are_those_of_a_stage(name):
    """A mechanism in joint coordinates is put together by them."""
    example = gallery.load(name)
    model = example.model.passive
    state = model.state(example.q0, example.v0, 0.0)
    whole = evaluation.evaluate(model.dynamics(), state)
    alone = evaluation.evaluate(model.dynamics().standing, state)
    for key in whole._fields:
        if key != "control":
            x, y = getattr(alone, key), getattr(whole, key)
            np.testing.assert_allclose(x, y, atol=1e-12 * (1 + np.max(np.abs(y), initial=0)))
