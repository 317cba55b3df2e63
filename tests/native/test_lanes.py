"""Batch members computed in SIMD lanes have results bitwise identical to those of each member
alone.
"""

import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tests.native.cases as cases
from tests.native.lanes import assert_lanes_agree
from tests.native.loops import LOOPS
from zwang import gallery
from zwang.compile import interface, making
from zwang.native.machine import fast_code_apart
from zwang.simulation.batch import prepare

LIMIT = 120
"""Seconds after which a thread counts as hung."""


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", cases.OF_ONE)
def test_a_function_of_floats(name):
    assert_lanes_agree(cases.OF_ONE[name], cases.one())


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", cases.OF_TWO)
def test_a_function_of_two_floats(name):
    assert_lanes_agree(cases.OF_TWO[name], *cases.pairs())


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", cases.OF_INTEGERS)
def test_a_function_of_integers(name):
    assert_lanes_agree(cases.OF_INTEGERS[name], *cases.whole(np.int32))


@pytest.mark.one_in(12)
@pytest.mark.parametrize("name", cases.CASES)
def test_a_function_of_arrays(name):
    f, *arrays = cases.CASES[name]
    assert_lanes_agree(f, *arrays)


@pytest.mark.one_in(12)
@pytest.mark.parametrize("name", LOOPS)
def test_a_loop(name):
    f, *arrays = LOOPS[name]
    assert_lanes_agree(f, *arrays)


def halved(x):
    """Loops whose turns each member counts for itself."""

    def turn(carried):
        k, rows, y = carried
        smaller = lambda z: jax.lax.while_loop(lambda w: w > 1, lambda w: 0.5 * w - 0.1, z)
        y = jax.lax.cond(y > 1, smaller, lambda z: z + 0.3, y)
        return k + 1, rows.at[k].set(y), y

    running = lambda carried: (carried[0] < 90) & (carried[2] > -3)
    return jax.lax.while_loop(running, turn, (0, jnp.zeros(100), 3 * x))


def chosen(x):
    """Branches, some of which change memory."""
    ways = [jnp.sin, lambda y: y.at[2].set(9.0), lambda y: y[::-1]]
    k = jnp.clip((4 * x[0]).astype(int), -1, 3)
    return jax.lax.switch(k, ways, jnp.tile(x, 40)), k


@pytest.mark.parametrize("level", [0, 1])
@pytest.mark.parametrize("f, x", [(halved, np.array(1.3)), (chosen, np.array([0.3, -0.2, 0.8]))])
def test_members_go_ways_of_their_own(f, x, level):
    assert_lanes_agree(f, x, level=level)


def test_factors_by_routines_are_those_of_each_lane():
    matrix = np.random.default_rng(3).normal(size=(4, 4))
    assert_lanes_agree(lambda A: jnp.linalg.svd(A @ A.T), matrix)


def test_arguments_that_members_share():
    f = lambda x, p, k: (x * p + p[k], jnp.where(p > 0, x, 0.0).sum())
    assert_lanes_agree(f, np.ones(3), np.array([1.0, -2.0, 3.0]), np.array(1), of_all=(1, 2))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["pendulum", "appell-hamel"])
@pytest.mark.usefixtures("compiled")  # with no code of another test at hand
def test_batches_of_a_model_get_lanes_that_no_call_waits_for(name, monkeypatch):
    example = gallery.load(name)
    scales = np.linspace(0.5, 1.0, 21)[:, None]
    args = example.model, np.tile(example.q0, (21, 1)), scales * example.v0, np.linspace(0, 0.5, 3)
    begun, go = threading.Event(), threading.Event()

    def held(text: str) -> bytes:
        begun.set()
        assert go.wait(LIMIT)
        return fast_code_apart(text)

    monkeypatch.setattr(making, "fast_code_apart", held)
    monkeypatch.setattr(interface, "SEVERAL_AT_ONCE", 0.0)
    one = prepare(*args, cores=1)()
    assert begun.wait(LIMIT)
    program = prepare(*args, cores=1)  # whose time is that of the first one
    program()
    assert program._compiled.several.ready is None
    go.set()
    for thread in threading.enumerate():
        if thread.name == "zwang lanes":
            thread.join(LIMIT)
    assert program._compiled.several.ready is not None
    several = program()
    for field in ("q", "v", "steps", "rejected", "violation"):
        np.testing.assert_array_equal(getattr(several, field), getattr(one, field))
