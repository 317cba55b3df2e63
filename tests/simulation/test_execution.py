"""A run takes the same steps in native code and compiled by XLA."""

import os
import subprocess
import sys

import numpy as np
import pytest

import zwang as zw
from zwang import gallery

FAST = ["pendulum"]
SLOW = [
    "five-bar",
    "knife-edge",
    "latching-pendulums",
    "rolling-disk",
    "log-spiral",
    "n-four-bar",
    "gyroscope",
    "bennett",
    "3rrr",
    "two-mass-spring",
    "rough-circle",
    "swarm",
]
PART = 0.15
"""Part of a gallery model's own duration that is run."""
NEAR = 1e-9
"""Relative difference of states after the same steps: both round each operation once, in an order
of their own, and motions let round-off grow.
"""


@pytest.fixture
def both(monkeypatch):
    """Runs of one example by native code and by XLA."""

    def runs(example, **options):
        options = {"duration": PART * example.duration} | dict(example.simulate) | options
        found = []
        for engine in ("native", "xla"):
            monkeypatch.setenv("ZWANG_ENGINE", engine)
            found.append(zw.simulate(example.model, example.q0, example.v0, **options))
        said = [run.attrs["engine"] for run in found]
        assert said == ["native code", "XLA (asked for)"]
        return found

    return runs


def largest(x):
    return np.max(np.abs(x), initial=0.0)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [*FAST, *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW)]
)
def test_native_code_and_xla_take_the_same_steps(name, both):
    native, xla = both(gallery.load(name), rtol=1e-8)
    assert abs(len(native.steps.t) - len(xla.steps.t)) <= 2
    assert largest(native.q - xla.q) <= NEAR * max(largest(xla.q), 1.0)
    assert largest(native.v - xla.v) <= NEAR * max(largest(xla.v), 1.0)
    n, x = native.variables, xla.variables
    for name in ("violation", "velocity_violation"):
        assert np.allclose(n[name].values, x[name].values, rtol=1e-6, atol=1e-10, equal_nan=True)
    for name in ("acceleration", "constraint_force", "multiplier", "constraint_rank", "energy"):
        if name in x:
            size = max(largest(np.nan_to_num(x[name].values)), 1.0)
            assert largest(np.nan_to_num(n[name].values - x[name].values)) <= 1e-7 * size, name
    assert [c.constraints for c in native.crossings] == [c.constraints for c in xla.crossings]
    times = [[c.time for c in run.crossings] for run in (native, xla)]
    assert np.allclose(*times, rtol=0, atol=NEAR)


@pytest.mark.slow
def test_one_fixed_step_is_equal_to_round_off(both):
    native, xla = both(gallery.load("five-bar"), step=0.02, duration=0.2, samples=2)
    assert len(native.steps.t) == len(xla.steps.t)
    assert largest(native.steps.y - xla.steps.y) <= 1e-13
    assert np.allclose(native.steps.log_det[1:], xla.steps.log_det[1:], atol=1e-10)


@pytest.mark.slow
def test_stops_end_both_runs_at_their_zero(both):
    stop = zw.Stop(lambda q, v, t, p: q[0], "below")
    native, xla = both(gallery.load("pendulum"), duration=3.0, stop=[stop])
    assert [run.result.name for run in (native, xla)] == ["STOPPED", "STOPPED"]
    assert abs(native.steps.t[-1] - xla.steps.t[-1]) <= NEAR
    assert abs(native.q[-1][0]) <= NEAR


def test_an_engine_that_there_is_not_is_one_sentence(monkeypatch):
    monkeypatch.setenv("ZWANG_ENGINE", "gpu")
    example = gallery.load("pendulum")
    with pytest.raises(zw.ModelError, match="ZWANG_ENGINE is 'gpu', expected native or xla"):
        zw.simulate(example.model, example.q0, example.v0, duration=1.0)


CELL = """
import jax
jax.config.update("jax_enable_x64", True)
import jax.numpy as jnp
import zwang as zw

made = []
jax.monitoring.register_event_duration_secs_listener(
    lambda event, *_, **about: made.append(event) if event == "/zwang/compile/made" else None
)
text = '''
system = zw.System(
    nq=2,
    mass_matrix=lambda q, t, p: p["m"] * jnp.ones(2),
    force=lambda q, v, t, p: jnp.array([0.0, -9.81 * p["m"]]),
)
rod = zw.Holonomic(lambda q, t, p: q @ q - p["L"] ** 2, name="rod")
model = zw.Model(system, [rod], {"m": 1.0, "L": 1.0})
zw.simulate(model, [1.0, 0.0], [0.0, 0.0], duration=0.1).variables
'''
for _ in range(2):
    made.clear()
    exec(compile(text, "<cell>", "exec"))
    print(len(made))
"""


@pytest.mark.slow
@pytest.mark.native
def test_the_same_model_defined_again_compiles_nothing(tmp_path):
    environment = {**os.environ, "ZWANG_CACHE": str(tmp_path)}
    environment.pop("ZWANG_KEEP", None)
    counts = []
    for _ in range(2):
        command = [sys.executable, "-c", CELL]
        ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        counts += [int(line) for line in ended.stdout.split()]
    assert counts[0] > 0  # in a new folder it is compiled
    assert counts[1:] == [0, 0, 0]  # the cell run again; another process; its cell again
