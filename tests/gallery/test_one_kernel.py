"""A run in one kernel is the run operation by operation."""

import jax
import numpy as np
import pytest

import zwang as zw
from zwang import gallery
from zwang.compile import interface


@pytest.mark.parametrize(
    "name",
    [
        "swarm",
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in ("five-bar", "slider-crank", "3rrr")
        ),
    ],
)
def test_the_same_run(name, compiled, monkeypatch):
    options = {"duration": 0.5, "rtol": 1e-10}
    one = gallery.load(name).run(**options)
    assert any("xla_cpu_small_call" in program.as_text() for program in compiled)
    monkeypatch.setenv("ZWANG_ONE_KERNEL", "0")
    monkeypatch.setattr(interface, "trace_context", lambda: ("apart",))  # or they are at hand
    apart = gallery.load(name).run(**options)
    assert (
        np.abs(one.q - apart.q).max() < 1e-8
        and abs(one.attrs["steps_accepted"] - apart.attrs["steps_accepted"]) <= 3
    )
    assert one.variables["relative_violation"].values.max() < 1e-12


@pytest.mark.slow
def test_the_same_trajectory_on_the_sparse_path(compilers_as_asked):
    """Through a singular configuration of twelve four-bar loops."""
    example, times = gallery.load("n-four-bar", N=12), np.linspace(0.0, 1.5, 4)
    run = lambda q, v: zw.trajectory(example.model, q, v, times, pseudoinverse=zw.Sparse())
    one, apart = (
        compile(run)(example.q0, example.v0)
        for compile in (lambda f: zw.program(f, compiler=zw.Fused()), jax.jit)
    )
    assert int(one.result) == 0 and abs(int(one.steps) - int(apart.steps)) <= 3
    assert np.abs(one.q - apart.q).max() < 1e-6 and one.violation.max() < 1e-12
