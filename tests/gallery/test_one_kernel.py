"""A run in one kernel is the run operation by operation."""

import numpy as np
import pytest

from zwang import gallery
from zwang.programs import keep


@pytest.mark.parametrize(
    "name", ["swarm", *(pytest.param(name, marks=pytest.mark.slow) for name in ("five-bar", "slider-crank", "3rrr"))]
)
def test_the_same_run(name, monkeypatch):
    compiled, best = [], keep._best

    def watched(*given):
        found = best(*given)
        compiled.append(found[2])
        return found

    monkeypatch.setattr(keep, "_best", watched)
    options = {"duration": 0.5, "rtol": 1e-10}
    one = gallery.load(name).run(**options)
    assert any("xla_cpu_small_call" in program.as_text() for program in compiled)
    monkeypatch.setattr(keep, "_best", best)
    monkeypatch.setattr(keep, "fits", lambda jaxpr: False)
    apart = gallery.load(name).run(**options)
    assert np.abs(one.q - apart.q).max() < 1e-8 and abs(one.attrs["steps_accepted"] - apart.attrs["steps_accepted"]) <= 3
    assert one.variables["relative_violation"].values.max() < 1e-12
