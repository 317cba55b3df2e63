"""A short fuzz run of each kind, with fixed seeds; `make fuzz` runs the long one."""

import numpy as np
import pytest

from tests.fuzz import (
    arguments,
    formulas,
    models,
    programs,
    robot_files,
    runner,
    starts,
    toml_files,
)
from tests.fuzz.__main__ import Progress
from zwang.errors import ModelError, Result, SimulationError
from zwang.mechanism.expression import Expression


@pytest.mark.one_in(6)
@pytest.mark.parametrize(
    ("kind", "case", "count"),
    [
        pytest.param("formulas", formulas.case, 1000, id="formulas"),
        pytest.param("toml", toml_files.case, 200, id="toml"),
        pytest.param("robots", robot_files.case, 60, id="robots"),
        pytest.param("arguments", arguments.case, 120, id="arguments"),
        pytest.param("models", models.case_of("tree", second=False), 3, id="models"),
        pytest.param("programs", programs.case, 4, id="programs"),
        pytest.param("programs", programs.case, 500, id="many", marks=pytest.mark.slow),
    ],
)
def test_random_input_ends_rightly_or_in_a_sentence(kind, case, count):
    if kind == "robots":
        pytest.importorskip("mujoco")
    wrong = runner.failures(kind, case, count, 0, 60.0, seeds=None)
    assert not wrong, "\n".join(f"{kind} {seed}: {what}" for seed, what in wrong.items())


@pytest.mark.one_in(2)
@pytest.mark.parametrize("kind", starts.KINDS)
def test_a_start_without_load_is_taken(kind):
    wrong = runner.failures("starts", starts.case_of(kind, motion=False), 4, 0, 60.0, seeds=None)
    assert not wrong, wrong


@pytest.mark.slow
@pytest.mark.parametrize("kind", starts.KINDS)
def test_two_thousand_starts_without_load_are_taken(kind):
    count = -(-2000 // len(starts.KINDS))
    wrong = runner.failures("starts", starts.case_of(kind), count, 0, 120.0, seeds=None)
    assert not wrong, f"{len(wrong)} of {count}: {dict(list(wrong.items())[:5])}"


def test_a_name_without_end_is_not_repeated_in_full():
    with pytest.raises(ModelError) as caught:
        Expression("a" * 400).value({})
    assert len(str(caught.value)) < 300


def broken(random: np.random.Generator) -> None:
    raise KeyError(random.integers(9))


def endless(random: np.random.Generator) -> None:
    while True:
        random.random()


@pytest.mark.parametrize(
    ("case", "says"), [(broken, "foreign KeyError"), (endless, "took more than")]
)
def test_the_runner_sees_what_is_foreign_and_what_hangs(case, says):
    assert says in (runner.failure(case, 0, 0.2) or "")


def test_a_case_that_was_interrupted_has_not_passed():
    def stopped(random: np.random.Generator) -> None:
        raise SimulationError("stopped: interrupted by the user.", Result.INTERRUPTED)

    with pytest.raises(KeyboardInterrupt):
        runner.failure(stopped, 0, 5.0)


def test_a_case_that_ends_in_a_sentence_is_counted():
    def refused(random: np.random.Generator) -> None:
        raise ModelError("got 0, expected 1.")

    progress = Progress("numbers", 3)
    assert not runner.failures(
        "numbers", refused, 3, 0, 5.0, seeds=None, progress=progress, answered=progress.answered
    )
    assert progress.counts() == "3 tried, 0 failed, 3 ended in a sentence"


def test_seeds_that_failed_are_kept_and_tried_first(tmp_path):
    seeds, tried = tmp_path / "seeds.txt", []

    def odd(random: np.random.Generator) -> None:
        tried.append(number := random.integers(1000))
        assert number % 2 == 0, f"{number} is odd"

    progress = Progress("numbers", 20)
    found = runner.failures("numbers", odd, 20, 0, 1.0, seeds, progress)
    assert (progress.done, progress.failed, progress.last) == (20, len(found), 19)
    assert 0 < len(found) < 20 and runner.remembered("numbers", seeds) == list(found)
    tried.clear()
    assert set(runner.failures("numbers", odd, 1, 1000, 1.0, seeds)) >= set(found)
    assert len(tried) in (len(found) + 1, len(found) + 2)
    assert runner.remembered("others", seeds) == []


def test_a_stopped_campaign_says_how_it_goes_on():
    progress = Progress("numbers", 100)
    assert progress.interrupted(50).endswith("go on by --numbers 100 --seed 50")
    progress(50, None), progress(51, "wrong")
    assert "1 failed; go on by --numbers 98 --seed 52" in progress.interrupted(50)


@pytest.mark.slow
def test_a_wrong_run_is_found(monkeypatch):
    """Velocities that are off by a thousandth in the end break the balance of energy."""
    right = models.motion_of

    def wrong(case, **methods):
        t, q, v = right(case, **methods)
        return t, q, v * (1 + 0.001 * t[:, None])

    monkeypatch.setattr(models, "motion_of", wrong)
    what = runner.failure(models.case_of("tree", second=False), 0, 60.0)
    assert what is not None and "energy is off" in what
