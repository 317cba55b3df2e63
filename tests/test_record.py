"""The base of data: copies with other fields, and what is shown."""

import dataclasses

import equinox as eqx
import numpy as np
import pytest

import zwang as zw
from zwang.dynamics.equation_of_motion import Scales
from zwang.record import replace


def test_a_copy_has_other_fields_and_leaves_the_record_as_it_is():
    given = Scales(np.ones(2), np.array(3.0), np.array(4.0))
    copy, usual = (f(given, curvature=5.0) for f in (replace, dataclasses.replace))
    assert type(copy) is Scales and vars(copy) == vars(usual)
    assert copy.row_length is given.row_length and given.curvature == 3.0
    with pytest.raises(TypeError, match=r"Scales has no field \['curve'\]"):
        replace(given, curve=1.0)


@pytest.mark.parametrize(
    "record", [zw.Projection(), zw.Projection(iterations=3), zw.Proximal(), zw.Baumgarte(1.0, 2.0)]
)
def test_a_record_is_shown_as_equinox_shows_it(record):
    assert repr(record) == eqx.tree_pformat(record)
