"""Many models defined and run one after the other in one process leave no memory allocated."""

import json
import subprocess
import sys

import pytest

SCRIPT = """
import json, os, sys, time
import jax
jax.config.update("jax_enable_x64", True)
import jax.numpy as jnp
import zwang as zw

TERMS = [
    lambda q, v: jnp.sin(q), lambda q, v: jnp.cos(q[::-1]), lambda q, v: q * q[::-1],
    lambda q, v: v * jnp.abs(v), lambda q, v: jnp.exp(-q * q), lambda q, v: jnp.tanh(v),
    lambda q, v: q**3, lambda q, v: -v, lambda q, v: jnp.sqrt(1.0 + q * q),
    lambda q, v: v[::-1] * q, lambda q, v: jnp.log1p(q * q),
]
PAGE = os.sysconf("SC_PAGE_SIZE")

def model(number):
    terms = [term for k, term in enumerate(TERMS) if number >> k & 1]
    force = lambda q, v, t, p: sum((term(q, v) for term in terms), -q)
    system = zw.System(2, lambda q, t, p: jnp.ones(2), force)
    return zw.Model(system, [zw.Holonomic(lambda q, t, p: q @ q - 1.0, name="rod")])

sizes, begun = [], time.process_time()
for number in range(int(sys.argv[1])):
    run = zw.simulate(model(number), [1.0, 0.0], [0.0, 1.0], duration=0.1, samples=2)
    assert run.result.name == "SUCCESS" and run.attrs["engine"] == "native code"
    sizes.append(int(open("/proc/self/statm").read().split()[1]) * PAGE)
print(json.dumps([sizes, time.process_time() - begun]))
"""
FILLED = 600
"""Models after which all that keeps a limited number of programs is full."""
MORE = 1e8
"""What the process may grow by from there to the last model [bytes]."""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="a process is measured by Linux's /proc")
def test_two_thousand_models_in_one_process_leave_no_memory_behind():
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, "2000"], capture_output=True, text=True, timeout=3000
    )
    assert done.returncode == 0, done.stderr
    sizes, seconds = json.loads(done.stdout)
    assert max(sizes[FILLED:]) - sizes[FILLED] < MORE, (sizes[::100], seconds)
