"""A process ends when its work is done, even while its code is being optimized."""

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
