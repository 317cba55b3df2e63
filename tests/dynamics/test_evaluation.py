"""The compiled evaluation of a model, as starts use it."""

from zwang import gallery
from zwang.dynamics import evaluation
from zwang.dynamics.initial_conditions import begin


def test_a_start_binds_the_numbers_of_a_model_a_few_times_only(monkeypatch):
    """It evaluates the model two dozen times, and to bind costs as much as ten evaluations."""
    bound = []

    class Counted(evaluation.BoundEvaluation):
        def __init__(self, *given):
            bound.append(given)
            super().__init__(*given)

    monkeypatch.setattr(evaluation, "BoundEvaluation", Counted)
    example = gallery.load("pendulum")
    begin(example.model.dynamics(), example.model.state(example.q0, example.v0, 0.0))
    assert 1 <= len(bound) <= 3
