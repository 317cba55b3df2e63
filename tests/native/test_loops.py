"""Loops and branches give in native code what XLA gives, whatever they change in place."""

import numpy as np
import pytest

from tests.native.beside import assert_equal
from tests.native.loops import LOOPS


@pytest.mark.parametrize("name", LOOPS)
def test_a_loop(name):
    f, *arrays = LOOPS[name]
    before = [np.copy(x) for x in arrays]
    assert_equal(f, *arrays, close=1e-12)
    for x, y in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(x, y)  # arguments are not written to
