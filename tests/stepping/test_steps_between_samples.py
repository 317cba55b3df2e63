"""Steps that end on samples."""

import numpy as np
import pytest

import zwang as zw


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", ["five-bar", "pendulum"])
def test_samples_cost_no_more_steps_than_there_are_samples(name):
    """Where whole steps would pass several samples, one is taken to each of them; where several
    steps lie between two samples, half of one is lost.
    """
    example = zw.gallery.load(name)

    def steps(samples):
        times = np.linspace(0.0, 10.0, samples)
        run = zw.simulate(example.model, example.q0, example.v0, times=times, rtol=1e-7)
        return len(run.steps.t)

    free = steps(2)
    assert free < 120
    assert steps(201) <= 1.1 * 200
    assert steps(51) <= free + 0.6 * 50
