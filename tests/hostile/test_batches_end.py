"""A user's batch of motions returns on one, two and four cores.

Some versions of jaxlib pass the parts of a batched LAPACK call to the thread pool that the call
itself blocks; with as many independent calls as threads, no thread remains for the parts
(deadlock).
"""

import os
import shutil
import subprocess
import sys

import pytest

LIMIT = 120
"""Seconds after which a batch counts as hung; each case takes 10 to 60, most of them to compile."""
ROWS, MEMBERS, CALLS = 38, 600, 5
CORES = (1, 2, 4)

PROGRAM = """
import faulthandler
faulthandler.dump_traceback_later({limit}, exit=True)
import jax, jax.numpy as jnp, numpy as np
import zwang as zw

jax.config.update("jax_enable_x64", True)
rows, members = {rows}, {members}
SPREAD = np.cos(np.outer(np.arange(rows), np.arange(rows))) / rows

def mass(q, t, p):
    return jnp.eye(rows) + (1 + jnp.cos(q[0])) * SPREAD @ SPREAD.T

model = zw.Model(
    zw.System(rows, mass, lambda q, v, t, p: -jnp.sin(q)),
    [zw.Holonomic(lambda q, t, p: q[::2] - q[1::2])],
)
# motions that do not wait for each other, twice as many as threads
of = lambda pseudoinverse: lambda q: sum(
    zw.motion(model, k * q, 0 * q, 0.0, pseudoinverse=pseudoinverse).acceleration
    for k in range(1, 2 * {cores} + 1)
)
plain = of(None)
batch = {{
    "plain": jax.vmap(plain),
    "gradient": jax.vmap(jax.grad(lambda q: jnp.sum(plain(q)))),
    "slope of all": jax.grad(lambda q: jnp.sum(jax.vmap(plain)(q))),
    "svd": jax.vmap(of(zw.methods.SVD())),
    "qr": jax.vmap(of(zw.methods.CompleteOrthogonal())),
    "scan": lambda q: jax.lax.scan(lambda x, _: (x + 1e-9 * jax.vmap(plain)(x), None), q, length=3),
}}["{case}"]
q = jnp.repeat(jnp.linspace(0, 1, members)[:, None], rows, axis=1)
function = jax.jit(batch)
for _ in range({calls}):
    jax.block_until_ready(function(q))
print("returned")
"""


@pytest.mark.skipif(shutil.which("taskset") is None, reason="no taskset to choose cores with")
@pytest.mark.slow
@pytest.mark.parametrize("cores", CORES)
@pytest.mark.parametrize("case", ["plain", "gradient", "slope of all", "svd", "qr", "scan"])
def test_a_batch_of_factorizations_returns(case, cores):
    text = PROGRAM.format(
        limit=LIMIT, rows=ROWS, members=MEMBERS, calls=CALLS, case=case, cores=cores
    )
    chosen = ",".join(map(str, sorted(os.sched_getaffinity(0))[:cores]))
    done = subprocess.run(
        ["taskset", "-c", chosen, sys.executable, "-c", text],
        capture_output=True,
        text=True,
        timeout=LIMIT + 30,
        # threads of the pool, also where there are fewer cores
        env={**os.environ, "PJRT_NPROC": str(cores)},
    )
    assert done.stdout == "returned\n", done.stderr[-2000:]
