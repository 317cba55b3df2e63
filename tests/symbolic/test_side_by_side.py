"""Eight principles of mechanics give one acceleration."""

import numpy as np
import pytest

import zwang as zw

SYSTEMS = ["pendulum", "knife-edge", "appell-hamel", "log-spiral"]


@pytest.mark.parametrize(
    "name",
    [
        name
        if name in ("knife-edge", "appell-hamel")
        else pytest.param(name, marks=pytest.mark.slow)
        for name in SYSTEMS
    ],
)
def test_all_principles_agree(name):
    example = zw.gallery.load(name)
    found = zw.analysis.side_by_side(example.model, example.q0, example.v0 + 0.0)
    assert len(found.principles) == 8 and not any(x.failure for x in found.principles)
    assert found.difference() < 1e-12


def test_redundant_rows_stop_those_that_need_independent_ones():
    example = zw.gallery.load("pendulum")
    rod = example.model.constraints.members[0]
    twice = zw.Holonomic(lambda q, t, p: 2 * rod.phi(q, t, p), name="again")
    model = zw.Model(example.model.system, [rod, twice], example.model.params)
    found = zw.analysis.side_by_side(model, [0.6, -0.8], [0.8, 0.6])
    failed = {x.name for x in found.principles if x.failure}
    assert failed == {"Newton-Euler", "Lagrange multipliers", "Gauss", "Maggi"}
    assert found.rank == 1 and found.difference() < 1e-12
    assert "rank 1" in str(found)


def test_a_servo_is_refused():
    example = zw.gallery.load("two-mass-spring")
    with pytest.raises(zw.ModelError, match="without a servo"):
        zw.analysis.side_by_side(example.model, example.q0, np.zeros(2))
