"""A call with arguments that do not fit the function raises one sentence; other errors pass
unchanged.
"""

import re

import numpy as np
import pytest

import zwang as zw
from zwang.errors import ModelError


def model():
    return zw.Model(zw.System(1, lambda q, t, p: np.eye(1), lambda q, v, t, p: -q))


START = ([1.0], [0.0])


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (
            lambda m: zw.simulate(m, *START, durration=1.0),
            "zw.simulate has no argument 'durration'; did you mean 'duration'",
        ),
        (
            lambda m: zw.simulate(m, *START, 1.0),
            "zw.simulate takes 3 arguments without a name (model, q0, v0), got 4; "
            "give the others by name: duration=",
        ),
        (lambda m: zw.batch(m, *START), "zw.batch needs times: zw.batch(model, q0, v0, times"),
        (
            lambda m: zw.batch(m, *START, [0.0, 1.0], times=[0.0, 1.0]),
            "zw.batch got times twice: as a positional and as a named argument; leave one out.",
        ),
        (lambda m: zw.simulate(), "zw.simulate needs model and q0"),
        (
            lambda m: zw.motion(m, *START, parms=1.0),
            "zw.motion has no argument 'parms'; did you mean 'params'",
        ),
        (
            lambda m: zw.System(nq=1, mass=m, force=m),
            "zw.System has no argument 'mass'; there are: nq, mass_matrix, force",
        ),
        (lambda m: zw.Holonomic(), "zw.Holonomic needs phi: zw.Holonomic(phi)."),
        (
            lambda m: zw.methods.Dopri8(rtol=1e-9),
            "zw.methods.Dopri8 has no argument 'rtol'; it takes none.",
        ),
        (
            lambda m: zw.methods.Dopri8(1e-9),
            "zw.methods.Dopri8 takes no arguments, got 1: zw.methods.Dopri8().",
        ),
    ],
    ids=[
        "no such argument",
        "too many",
        "missing",
        "twice",
        "none",
        "motion",
        "class",
        "bare",
        "method",
        "method in place",
    ],
)
def test_arguments_that_do_not_fit_end_in_one_sentence(call, says):
    with pytest.raises(ModelError, match=re.escape(says)):
        call(model())


def test_a_type_error_of_a_users_function_is_no_misfit_of_the_call():
    def progress(*_):
        raise TypeError("mine")

    with pytest.raises(zw.SimulationError, match="progress raised TypeError: mine") as caught:
        zw.simulate(model(), *START, duration=1.0, progress=progress)
    assert isinstance(caught.value.__cause__, TypeError)
