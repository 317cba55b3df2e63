"""Right arguments are accepted; `test_catalogue.py` runs the wrong ones."""

from __future__ import annotations

import numpy as np

import zwang as zw
from tests.hostile import catalogue_arguments, catalogue_calls
from tests.hostile.given import WIRE, lazy, rod, system

CASES = (*catalogue_arguments.CASES, *catalogue_calls.CASES)


def test_names_of_cases_are_unique():
    names = [case.name for case in CASES]
    assert len(set(names)) == len(names) >= 150


def test_constraints_may_come_from_a_generator():
    model = zw.Model(
        system(), lazy(rod(), zw.Nonholonomic(lambda q, v, t, p: v[0])), {"length": 1.0}
    )
    assert model.constraints.names == ("rod", "nonholonomic")


def test_numbers_of_numpy_and_whole_numbers_are_numbers():
    model = zw.Model(zw.System(np.int64(2), *_constant()), [rod(WIRE)], {"length": np.float32(1)})
    run = zw.simulate(model, [1, 0], [0, 0], duration=np.float64(0.1), samples=np.int32(3), t0=0)
    assert len(run.t) == 3


def test_an_index_that_depends_on_the_state_is_not_judged():
    system = zw.System(2, lambda q, t, p: 1.0 + 0 * q, lambda q, v, t, p: q * q[t.astype(int)])
    assert zw.Model(system).system.nq == 2


def _constant():
    return (lambda q, t, p: 1.0 + 0 * q), (lambda q, v, t, p: -q)
