"""A process ends when its work is done, even while its code is optimized or programs are traced."""

import subprocess
import sys
import time

import pytest

SCRIPT = """
import sys, time
import numpy as np, jax
jax.config.update("jax_enable_x64", True)
import jax.numpy as jnp
from zwang import native
from zwang.native import machine

def many(x):
    for k in range(400):
        x = jnp.sin(x) @ jnp.arange(64.0).reshape(8, 8) + k
    return x

code = native.function(many, np.zeros(8), level=0).code
code._used(1e9)
while not machine._running:
    time.sleep(0.01)
print(time.time())
sys.exit(7)
"""


@pytest.mark.slow
def test_a_script_ends_with_its_status_while_its_code_is_optimized():
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 7, done.stderr
    assert time.time() - float(done.stdout) < 5


TRACES = """
import sys, time
import numpy as np, jax
import jax.numpy as jnp
from zwang.native.machine import in_background

def many(x):
    for k in range(150):
        x = jnp.sin(x) @ jnp.arange(64.0).reshape(8, 8) + k
    return x

def work():
    while True:
        jax.make_jaxpr(lambda x: jax.jacfwd(many)(x))(np.zeros(8))

in_background(work, "zwang test")
time.sleep(float(sys.argv[1]))
sys.exit(7)
"""


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0.3 + 0.07 * k for k in range(10)])
def test_a_script_ends_with_its_status_while_a_thread_traces(seconds):
    """A thread inside JAX aborts the process in a quarter of such cases if it is not ended."""
    done = subprocess.run(
        [sys.executable, "-c", TRACES, str(seconds)], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 7, done.stderr
