"""Linkages that pass singular configurations: the accuracy stated in the documentation.

Each claim is tested on every accepted step, which includes every saved sample.
"""

import numpy as np
import pytest

import zwang as zw

from .examples import energy_drift, example, largest_error, run, steps, worst_violation

RTOLS = [
    pytest.param(10.0**-k, marks=() if k in (4, 10, 12) else pytest.mark.slow) for k in range(4, 13)
]
VIOLATION = 1e-13
"""m; round-off of coordinates of a few metres."""
MORE_STEPS = 1.25
"""Crossing N ranks may cost a quarter more steps than crossing one."""


def reaches_the_end_on_its_constraints(reached):
    assert reached.result is zw.Result.SUCCESS, reached
    assert reached.t[-1] == reached.times[-1]
    assert worst_violation(reached) <= VIOLATION


def is_accurate(name, reached, **settings):
    assert energy_drift(reached) <= 1e-7
    assert largest_error(example(name, **settings), reached) <= 1e-7


@pytest.mark.slow
@pytest.mark.parametrize(
    "end_only",
    [pytest.param(False, marks=pytest.mark.slow), True],
    ids=["samples", "end only"],
)
@pytest.mark.parametrize("rtol", RTOLS)
@pytest.mark.parametrize("N", [2, *(pytest.param(N, marks=pytest.mark.slow) for N in (3, 4, 5))])
def test_n_four_bar_crosses_at_every_tolerance_in_as_many_steps_as_one_loop(N, rtol, end_only):
    reached = run("n-four-bar", N=N, rtol=rtol, end_only=end_only)
    reaches_the_end_on_its_constraints(reached)
    one = run("n-four-bar", N=1, rtol=rtol, end_only=end_only)
    reaches_the_end_on_its_constraints(one)
    # between samples there are whole steps: one loop may just do with one where others take two
    least = 0 if end_only else 2 * len(reached.t)
    assert steps(reached) <= MORE_STEPS * max(steps(one), least)


@pytest.mark.parametrize("end_only", [False, True], ids=["samples", "end only"])
@pytest.mark.parametrize("N", [1, 2, *(pytest.param(N, marks=pytest.mark.slow) for N in (3, 4, 5))])
def test_n_four_bar_is_accurate_at_1e_10(N, end_only):
    """Energy to 1e-7 J, angles to 1e-7 rad."""
    is_accurate("n-four-bar", run("n-four-bar", N=N, end_only=end_only), N=N)


@pytest.mark.parametrize(
    "end_only",
    [False, pytest.param(True, marks=pytest.mark.slow)],
    ids=["samples", "end only"],
)
@pytest.mark.parametrize("rtol", RTOLS)
def test_five_bar_crosses_at_every_tolerance(rtol, end_only):
    reaches_the_end_on_its_constraints(run("five-bar", rtol=rtol, end_only=end_only))


@pytest.mark.parametrize("end_only", [False, True], ids=["samples", "end only"])
def test_five_bar_is_accurate_at_1e_10(end_only):
    """Energy to 1e-7 J, angles to 1e-7 rad, over 20 s and some 28 crossings."""
    is_accurate("five-bar", run("five-bar", end_only=end_only))


def test_error_falls_with_the_tolerance():
    """With free steps, from one tolerance to a hundred times smaller, at least ten times."""
    errors = [
        largest_error(example("n-four-bar", N=2), run("n-four-bar", N=2, rtol=r, end_only=True))
        for r in (1e-4, 1e-6, 1e-8)
    ]
    assert errors[0] > 10 * errors[1] > 100 * errors[2]


def test_every_crossing_of_five_bar_is_reported():
    """The cranks are horizontal where the exact angle passes 0 or −π: there the rank falls from 11
    to 10.
    """
    reached = run("five-bar")
    fine = np.linspace(0.0, 20.0, 200_001)
    theta = example("five-bar").exact(fine)["crank 1.angle"]
    passed = fine[np.flatnonzero(np.diff(np.floor(theta / np.pi)))]
    found = reached.crossings
    assert len(found) == len(passed)
    assert np.allclose([c.time for c in found], passed, atol=2e-4)
    assert {(c.rank_before, c.rank, c.rank_after) for c in found} == {(11, 10, 11)}


@pytest.mark.slow
def test_every_crossing_of_two_four_bars_loses_two_ranks():
    assert {(c.rank_before, c.rank, c.rank_after) for c in run("n-four-bar", N=2).crossings} == {
        (14, 12, 14)
    }
