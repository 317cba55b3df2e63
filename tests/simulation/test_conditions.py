"""Conditions that end a run or switch a constraint return one real number; otherwise one sentence
is raised.
"""

import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw


def falling():
    system = zw.System(2, lambda q, t, p: jnp.ones(2), lambda q, v, t, p: jnp.array([0.0, -9.81]))
    rope = zw.Holonomic(lambda q, t, p: q @ q - 1.0, name="rope")
    return zw.Model(system, [rope], name="mass on a rope")


def run(**options):
    options = {"duration": 0.5, "samples": 6} | options
    return zw.simulate(falling(), [0.6, -0.8], [0.0, 0.0], **options)


def failing(q, v, t, p):
    raise KeyError("height")


WRONG = {
    "comparison": (lambda q, v, t, p: q[0] > 0.7, "returns True or False, .*not q"),
    "vector": (lambda q, v, t, p: q - 0.7, r"returns shape \(2,\), expected one real number"),
    "nothing": (lambda q, v, t, p: None, "returns None"),
    "text": (lambda q, v, t, p: "now", "returns 'now', expected a number"),
    "complex": (lambda q, v, t, p: q[0] + 1j, "returns complex numbers"),
    "whole number": (lambda q, v, t, p: jnp.sign(q[0]).astype(int), "returns whole numbers"),
    "failure": (failing, "asks for 'height', which does not exist"),
    "branch": (lambda q, v, t, p: q[0] if q[0] > 0 else 1.0, "decides by a value"),
    "too few arguments": (lambda q: q[0], r"takes \(q\), expected a function"),
    "number": (1.0, "is 1.0, expected a function"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_stop_condition_that_is_no_real_number_is_refused_before_the_run(case):
    function, match = WRONG[case]
    with pytest.raises(zw.ModelError, match=f"Stop 'low': function.* {match}"):
        run(stop=[zw.Stop(function, name="low")])


def test_a_stop_condition_that_is_nan_at_the_start_is_refused():
    with pytest.raises(zw.ModelError, match="stop condition 'low' is NaN at t = 0 s"):
        run(stop=[zw.Stop(lambda q, v, t, p: jnp.sqrt(q[1]), name="low")])


@pytest.mark.parametrize("case", [c for c in WRONG if c != "number"])
@pytest.mark.parametrize("which", ["on", "off"])
def test_a_condition_of_a_switch_that_is_no_real_number_is_refused(case, which):
    function, match = WRONG[case]
    further = (lambda q, v, t, p, tension: function(q, v, t, p)) if which == "off" else function
    if case == "too few arguments":
        further = function
    with pytest.raises(zw.ModelError, match=f"Switch 'rope': {which}.* {match}"):
        run(switches=[zw.Switch("rope", **{which: further})])


def test_a_condition_that_loses_its_value_on_the_way_ends_the_run_with_a_sentence():
    # where the run is looked at depends on how fast this machine is
    with pytest.raises(zw.ModelError, match=r"stop condition 'low' (is|was) NaN .*t = 0\.\d"):
        run(stop=[zw.Stop(lambda q, v, t, p: 2.0 + jnp.sqrt(q[0] - 0.55), name="low")])


def test_a_condition_of_one_entry_is_one_number():
    ended = run(stop=[zw.Stop(lambda q, v, t, p: q[:1] - 0.5, name="left")])
    assert ended.stopped_by == "left" and np.isclose(ended.q[-1, 0], 0.5)
