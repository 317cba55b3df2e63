"""The compiled evaluation of a model, as starts use it."""

import dataclasses

import numpy as np
import pytest

from zwang import gallery
from zwang.compile import BoundProgram
from zwang.dynamics import evaluation
from zwang.dynamics.evaluation import PaddedMethod
from zwang.dynamics.initial_conditions import begin
from zwang.stepping.dopri8 import TABLEAU as DOPRI8
from zwang.stepping.tsit5 import TABLEAU as TSIT5


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


def test_a_step_calls_the_model_twice(monkeypatch):
    """Its stages with the state at their end, and what the projection leaves."""
    example, calls = gallery.load("pendulum"), []
    call = BoundProgram.__call__
    monkeypatch.setattr(BoundProgram, "__call__", lambda *x: calls.append(x) or call(*x))

    def called(duration: float) -> tuple[int, int]:
        calls.clear()
        run = example.run(duration=duration, samples=11)
        return len(calls), len(run.steps.t) - 1 + run.attrs["steps_rejected"]

    (few, first), (many, last) = called(1.0), called(20.0)
    assert last > first + 20
    # a time that round-off moves, or a second correction, takes a call more
    assert 2.0 <= (many - few) / (last - first) < 2.3


@pytest.mark.parametrize("method, stages", [(DOPRI8, 14), (TSIT5, 7)])
def test_the_last_stage_is_the_end_of_the_step(method, stages):
    padded = PaddedMethod.with_end(method)
    assert padded.count == stages
    last = padded.a[stages - 1, : method.stages]
    np.testing.assert_array_equal(last, method.b)
    assert padded.c[stages - 1] == 1 and not np.any(padded.a[stages:])


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


def test_what_is_never_stepped_is_compiled_without_stages(monkeypatch):
    made = []
    program = evaluation.BoundProgram
    monkeypatch.setattr(
        evaluation, "BoundProgram", lambda f, *x: made.append(f.__name__) or program(f, *x)
    )
    mechanism = gallery.load("bennett").mechanism
    joint = dataclasses.replace(mechanism, coordinates="joint", name="bennett by joints")
    made.clear()
    assert joint.start_state is not None
    kinds = [x for x in made if x in ("_functions", "stages_of")]
    assert kinds == ["_functions", "stages_of"]
