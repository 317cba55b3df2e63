"""Runs on the sparse path: the same motion as on the dense path, at a cost proportional to the
number of bodies.
"""

import numpy as np
import pytest

import zwang as zw
from zwang import gallery


@pytest.mark.slow
def test_a_linkage_crosses_its_singular_configurations_alike_on_both_paths():
    """Twenty four-bar loops, which lose twenty ranks at once; exact motion known."""
    example = gallery.load("n-four-bar", N=20)
    runs = [
        example.run(duration=2.5, samples=11, rtol=1e-8, pseudoinverse=method)
        for method in (zw.methods.Sparse(), zw.methods.Proximal())
    ]
    assert all(
        float(example.error(run)) < 1e-6 and run.steps.violation.max() < 1e-12 for run in runs
    )
    np.testing.assert_allclose(runs[0].q, runs[1].q, atol=1e-6)
    passed = [[(c.rank_before, c.rank, c.rank_after) for c in run.crossings] for run in runs]
    assert passed[0] == passed[1] and passed[0]
    times = [[c.time for c in run.crossings] for run in runs]
    np.testing.assert_allclose(*times, atol=1e-6)


@pytest.mark.slow
def test_a_thousand_rods_swing_with_their_energy():
    example = gallery.load("rod-chain", N=1000)
    run = example.run(duration=0.02, samples=3, rtol=1e-6)
    assert run.attrs["pseudoinverse"].startswith("Sparse")
    assert run.steps.violation.max() < 1e-8  # relative to the curvature of rods of 1 mm
    assert float(run.dataset.violation.max()) < 1e-14
    assert np.ptp(run.dataset.energy.values) < 1e-8


@pytest.mark.slow
def test_ten_thousand_rods_take_a_hundred_steps():
    example = gallery.load("rod-chain", N=10_000)
    run = example.run(duration=5.0, samples=2, rtol=1e-5, max_steps=100, throw=False)
    assert run.attrs["steps_accepted"] >= 95
    q = run.steps.y[-1][: 3 * 10_000]
    phi = example.model.constraints.position_residual(q, 0.0, example.model.params)
    assert float(np.max(np.abs(phi))) < 1e-12
