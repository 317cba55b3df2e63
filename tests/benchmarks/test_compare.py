"""Comparison of two versions: every time is found, and a slower one is named."""

import pytest

from benchmarks import compare

SPREAD = {"median": 2.0, "min": 1.0, "max": 4.0}


def test_times_are_found_by_their_paths():
    found = {"one": SPREAD, "rows": [{"model": "pendulum", "rtol": 1e-6, "seconds": 3.0}]}
    times = {"one": 1.0, "rows, pendulum 1e-06, seconds": 3.0}
    assert dict(compare.times_of("small", found)) == times


def test_more_of_a_rate_is_less_time():
    assert dict(compare.times_of("limits", {"dgemm": SPREAD})) == {"dgemm": 0.25}


def test_a_whole_process_is_timed_but_ratios_are_not():
    found = {"first": 3.0, "warm / first": 0.5, "parts": {"first": {"import": 1.0}}}
    assert dict(compare.times_of("startup", found)) == {"first": 3.0}


@pytest.mark.parametrize(("new", "slower"), [(1.05, False), (1.2, True)])
def test_only_what_is_slower_by_more_than_a_tenth_is_named(new, slower):
    old, new = [{"x": 1.0}, {"x": 1.01}, {"x": 3.0}], [{"x": new}, {"x": new}, {"x": new}]
    assert compare.table("small", old, new) == [("small: x", new[0]["x"], slower)]


def test_a_noisy_machine_says_nothing():
    old, new = [{"x": 1.0}, {"x": 1.5}, {"x": 1.6}], [{"x": 1.2}, {"x": 1.3}, {"x": 1.4}]
    assert not compare.table("small", old, new)[0][2]


def test_what_runs_nothing_of_zwang_is_never_slower():
    old, new = [{"x, C": 1.0}] * 3, [{"x, C": 2.0}] * 3
    assert compare.table("small", old, new) == [("small: x, C", 2.0, False)]


def test_a_part_that_fails_is_no_result(tmp_path):
    with pytest.raises(RuntimeError, match="small of .* failed"):
        compare.measured(tmp_path, "small")


@pytest.mark.slow
def test_accelerations_are_timed_in_one_loop():
    """A state is a tuple; as an argument of the wrong kind it once failed here alone."""
    from benchmarks.timing import accelerations

    import zwang as zw

    example = zw.gallery.load("pendulum")
    state = example.model.state(example.q0, example.v0)
    assert accelerations(example.model.dynamics(), state)(3) > 0
