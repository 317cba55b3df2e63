"""Closed trains of gears and belts."""

import numpy as np
import pytest

import zwang as zw
from zwang.mechanism import Begin, Joint, Link, Mechanism


def train(last: str, ratio):
    wheels = {
        name: Link(1.0, radius=r, at=(x, 0.0))
        for name, r, x in (("a", 0.1, 0.0), ("b", 0.2, 0.3), ("c", 0.4, 0.9))
    }
    ground = {name: (x, 0.0) for name, x in (("a", 0.0), ("b", 0.3), ("c", 0.9))}
    axles = {f"axle {n}": Joint("revolute", (f"ground.{n}", n)) for n in wheels}
    meshes = {
        "ab": Joint("gear", joints=("axle a", "axle b"), ratio=(0.1, 0.2)),
        "bc": Joint("gear", joints=("axle b", "axle c"), ratio=(0.2, 0.4)),
        "ca": Joint(last, joints=("axle c", "axle a"), ratio=ratio),
    }
    return Mechanism(
        wheels,
        axles | meshes,
        ground=ground,
        start={"axle a": Begin(rate=8.0)} if last == "belt" else {},
    )


@pytest.mark.slow
def test_a_closed_train_that_agrees_turns_with_one_redundant_row():
    m = train("belt", (0.4, 0.1))
    s = m.start_state
    found = zw.check(m.model, s.q, s.v)
    assert (found.degrees_of_freedom, found.redundant_rows) == (1, 1)
    assert np.allclose(np.asarray(s.v).reshape(3, 3)[:, 2], [8.0, -4.0, 2.0], atol=1e-12)


def test_a_closed_train_that_disagrees_is_locked():
    m = train("gear", (0.4, 0.1))
    found = zw.check(m.model, m.start_state.q)
    assert (found.degrees_of_freedom, found.redundant_rows) == (0, 0)
