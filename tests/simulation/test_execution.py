"""A run takes the same steps on the host and compiled."""

import os
import signal
import subprocess
import sys
import time
from typing import Any

import equinox as eqx
import numpy as np
import pytest
import xarray as xr

import zwang as zw
from zwang import gallery
from zwang.compile import background
from zwang.simulation import engine, watch

FAST = ["pendulum", "five-bar", "knife-edge", "latching-pendulums"]
SLOW = [
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


def both(example, **options):
    """One run on the host and one compiled."""
    options = {"duration": PART * example.duration} | dict(example.simulate) | options
    runs = [
        zw.simulate(example.model, example.q0, example.v0, execution=home, **options)
        for home in ("host", "compiled")
    ]
    assert [run.attrs["execution"].split()[0] for run in runs] == ["host", "compiled"]
    return runs


def largest(x):
    return np.max(np.abs(x), initial=0.0)


@pytest.mark.parametrize(
    "name", [*FAST, *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW)]
)
def test_host_and_compiled_take_the_same_steps(name):
    host, compiled = both(gallery.load(name), rtol=1e-8)
    assert abs(len(host.steps.t) - len(compiled.steps.t)) <= 2
    assert largest(host.q - compiled.q) <= 1e-7 * max(largest(compiled.q), 1.0)
    assert largest(host.v - compiled.v) <= 1e-6 * max(largest(compiled.v), 1.0)
    h, c = host.variables, compiled.variables
    for name in ("violation", "velocity_violation"):
        assert np.allclose(h[name].values, c[name].values, rtol=1e-6, atol=1e-10, equal_nan=True)
    for name in ("acceleration", "constraint_force", "multiplier", "constraint_rank", "energy"):
        if name in c:
            size = max(largest(np.nan_to_num(c[name].values)), 1.0)
            assert largest(np.nan_to_num(h[name].values - c[name].values)) <= 1e-5 * size, name
    assert [x.constraints for x in host.crossings] == [x.constraints for x in compiled.crossings]
    assert np.allclose(
        [x.time for x in host.crossings], [x.time for x in compiled.crossings], atol=1e-6
    )


def test_one_fixed_step_is_equal_to_round_off():
    host, compiled = both(gallery.load("five-bar"), step=0.02, duration=0.2, samples=2)
    assert len(host.steps.t) == len(compiled.steps.t)
    assert largest(host.steps.y - compiled.steps.y) <= 1e-13
    assert np.allclose(host.steps.log_det[1:], compiled.steps.log_det[1:], atol=1e-10)


def test_a_host_run_does_not_depend_on_where_the_clock_cuts_it(monkeypatch):
    """Equal digits on a quick and on a slow machine, across switches."""
    example = gallery.load("latching-pendulums")
    whole = example.run(execution="host", samples=2)
    monkeypatch.setattr(engine, "SLICE", 0.003)
    cut = example.run(execution="host", samples=2)
    np.testing.assert_array_equal(cut.steps.t, whole.steps.t)
    np.testing.assert_array_equal(cut.steps.y, whole.steps.y)


def test_a_chunk_in_which_no_step_was_kept_is_passed_over(monkeypatch):
    """On a busy machine the time of a slice ends before the first one is."""
    advance, idle = engine.Engine.advance, iter([True])

    def slowly(self, *given):
        found, history = advance(self, *given)
        if next(idle, False):
            return given[1], eqx.tree_at(lambda h: h.count, history, 0)
        return found, history

    example = gallery.load("pendulum")
    whole = example.run(execution="host", duration=0.1, samples=2)
    monkeypatch.setattr(engine.Engine, "advance", slowly)
    monkeypatch.setattr(watch, "SUSPICIOUS", -1.0)  # every step is looked at, and the one before
    cut = example.run(execution="host", duration=0.1, samples=2)
    assert np.array_equal(cut.steps.y, whole.steps.y)


def test_a_long_run_goes_over_to_the_compiled_loop(monkeypatch):
    monkeypatch.setattr(engine, "LEAST_WAIT", 0.0)
    monkeypatch.setattr(engine, "LOOP_TO_EVALUATION", 0.0)
    monkeypatch.setattr(engine, "SLICE", 0.02)
    example = gallery.load("pendulum")
    run = zw.simulate(
        example.model, example.q0, example.v0, duration=2000.0, samples=3, execution="auto"
    )
    assert (
        run.attrs["execution"].startswith("host (") and "then compiled (" in run.attrs["execution"]
    )
    assert not background.is_compiling()
    exact = np.linalg.norm(run.q[-1])
    assert abs(exact - 1.0) <= 1e-12


def test_stops_end_a_host_run_at_their_zero():
    example = gallery.load("pendulum")
    stop = zw.Stop(lambda q, v, t, p: q[0], "below")
    runs = both(example, duration=3.0, stop=[stop])
    assert [run.result.name for run in runs] == ["STOPPED", "STOPPED"]
    assert abs(runs[0].steps.t[-1] - runs[1].steps.t[-1]) <= 1e-9
    assert abs(runs[0].q[-1][0]) <= 1e-9


def test_an_unknown_execution_is_one_sentence():
    unknown: Any = "gpu"
    example = gallery.load("pendulum")
    with pytest.raises(zw.ModelError, match="execution is 'gpu'|execution"):
        zw.simulate(example.model, example.q0, example.v0, duration=1.0, execution=unknown)


CELL = """
import time
import jax
jax.config.update("jax_enable_x64", True)
import jax.numpy as jnp
import zwang as zw

compiled = []
jax.monitoring.register_event_duration_secs_listener(
    lambda event, *_, **about: compiled.append(event) if "backend_compile" in event else None
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
    compiled.clear()
    exec(compile(text, "<cell>", "exec"))
    print(len(compiled))
"""


def test_the_same_model_defined_again_compiles_nothing(tmp_path):
    environment = {**os.environ, "ZWANG_CACHE": str(tmp_path)}
    environment.pop("ZWANG_KEEP", None)
    environment.pop("ZWANG_COMPILER", None)  # plain keeps nothing
    counts = []
    for _ in range(2):
        command = [sys.executable, "-c", CELL]
        ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        counts += [int(line) for line in ended.stdout.split()]
    assert counts[0] > 0  # in a new folder it is compiled
    assert counts[1:] == [0, 0, 0]  # the cell run again; another process; its cell again


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_run_that_ends_while_it_is_compiled_behind_leaves_no_process(tmp_path, number):
    command = [sys.executable, "-m", "zwang", "run", "bennett", "--duration", "20000"]
    environment = {**os.environ, "ZWANG_CACHE": str(tmp_path / "cache"), "ZWANG_KEEP": "0"}
    process = subprocess.Popen(
        [*command, "--out", str(tmp_path / "out")],
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
    )
    time.sleep(14.0)  # by then the host has stepped for some seconds
    process.send_signal(number)
    _, said = process.communicate(timeout=120.0)
    assert process.returncode == (130 if number == signal.SIGINT else -signal.SIGKILL)
    if number == signal.SIGINT:
        with xr.open_dataset(tmp_path / "out" / "run.nc") as data:
            assert data.attrs["result"] == "INTERRUPTED"
            assert float(data.time[-1]) > 0
        assert "Traceback" not in said
