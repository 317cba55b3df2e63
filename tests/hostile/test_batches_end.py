"""Batches of factorizations return on one, two and four cores.

Some versions of jaxlib hand the pieces of a batched LAPACK call to the pool of threads that the
call itself blocks; with as many independent calls as threads nobody is left to do the pieces.
"""

import os
import shutil
import subprocess
import sys

import pytest

LIMIT = 120
"""Seconds after which a batch counts as hung; each case takes 5 to 15, most of them to compile."""
ROWS, MEMBERS, CALLS = 38, 1000, 5

PROGRAM = """
import faulthandler, sys
faulthandler.dump_traceback_later({limit}, exit=True)
import jax, jax.numpy as jnp, numpy as np
import zwang as zw

jax.config.update("jax_enable_x64", True)
rows, members = {rows}, {members}
SPREAD = np.cos(np.outer(np.arange(rows), np.arange(rows))) / rows

def matrix(q, k=1.0):
    return k * jnp.eye(rows) + (1 + jnp.cos(q[0])) * SPREAD @ SPREAD.T

def factored(q, v, t, p):
    '''A force that needs four factorizations, none of which depends on another one.'''
    logs = [jnp.sum(jnp.log(jnp.diag(jnp.linalg.cholesky(matrix(q, k))))) for k in (1, 2, 3, 4)]
    return -sum(logs) * jnp.ones_like(q)

def solved(q, v, t, p):
    return -sum(jnp.linalg.solve(matrix(q, k), jnp.ones(rows))[0] for k in (1, 2, 3, 4)) * q

small = lambda force: zw.Model(zw.System(2, lambda q, t, p: jnp.ones(2), force))
large = zw.Model(
    zw.System(rows, lambda q, t, p: matrix(q), lambda q, v, t, p: -jnp.sin(q)),
    [zw.Holonomic(lambda q, t, p: q[::2] - q[1::2])],
)
model = {{"factored": small(factored), "solved": small(solved), "large": large}}["{case}"]
n = len(model.system.velocities)
batch = jax.vmap(lambda q: zw.motion(model, q, 0 * q, 0.0).acceleration)
scanned = lambda q: jax.lax.scan(lambda x, _: (x + 1e-9 * batch(x), None), q, length=3)[0]
q = jnp.repeat(jnp.linspace(0, 1, members)[:, None], n, axis=1)
for function in (jax.jit(batch), jax.jit(scanned)):
    for _ in range({calls}):
        jax.block_until_ready(function(q))
print("returned")
"""


@pytest.mark.skipif(shutil.which("taskset") is None, reason="no taskset to choose cores with")
@pytest.mark.parametrize("cores", [1, 2, 4])
@pytest.mark.parametrize(
    "case", ["solved", *(pytest.param(c, marks=pytest.mark.slow) for c in ("factored", "large"))]
)
def test_a_batch_of_factorizations_returns(case, cores):
    available = sorted(os.sched_getaffinity(0))
    if len(available) < cores:
        pytest.skip(f"this machine has {len(available)} cores")
    text = PROGRAM.format(limit=LIMIT, rows=ROWS, members=MEMBERS, calls=CALLS, case=case)
    chosen = ",".join(map(str, available[:cores]))
    done = subprocess.run(
        ["taskset", "-c", chosen, sys.executable, "-c", text],
        capture_output=True,
        text=True,
        timeout=LIMIT + 30,
    )
    assert done.stdout == "returned\n", done.stderr[-2000:]
