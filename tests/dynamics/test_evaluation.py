"""The compiled evaluation of a model, as used for initial states."""

import numpy as np
import pytest

from zwang import gallery
from zwang.dynamics import evaluation
from zwang.dynamics.initial_conditions import begin


def test_a_start_binds_the_numbers_of_a_model_a_few_times_only(monkeypatch):
    """It evaluates the model two dozen times, and to bind costs as much as ten evaluations."""
    bound = []

    class Counted(evaluation.BoundProgram):
        def __init__(self, *given):
            bound.append(given)
            super().__init__(*given)

    monkeypatch.setattr(evaluation, "BoundProgram", Counted)
    example = gallery.load("pendulum")
    begin(example.model.dynamics(), example.model.state(example.q0, example.v0, 0.0))
    assert 1 <= len(bound) <= 3


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", ["five-bar", "bennett", "rolling-disk", "motor-linkage"])
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
