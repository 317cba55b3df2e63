"""Whether one-kernel programs work with this jaxlib on this processor, tried where nothing is lost.

What XLA's emitter does not expect ends the process. On a pair of jaxlib and processor that is not
in `TESTED_KERNELS` a few programs are therefore compiled and run in a process of their own, once:
the verdict is a file in zwang's folder for caches. `ZWANG_ONE_KERNEL=1` goes without.
"""

from __future__ import annotations

import contextlib
import functools
import os
import platform
import subprocess
import sys
import warnings
from pathlib import Path

from zwang.compile.compatibility import TESTED_KERNELS
from zwang.compile.folder import cache_folder, processor
from zwang.files import make_folder, write_text

WORKS = "works"
LONGEST_TRIAL = 300.0
"""Time that the trial may take [s]; it needs some ten."""


@functools.cache
def refusal() -> str:
    """Why programs are not to become one kernel here; empty if they may."""
    import jaxlib.version

    version = jaxlib.version.__version__
    known = (version, platform.machine()) in TESTED_KERNELS
    if known or os.environ.get("ZWANG_ONE_KERNEL") == "1":
        return ""
    file = cache_folder() / "kernels" / f"{version}-{processor()}"
    verdict = _read(file)
    if not verdict:
        verdict = _tried()
        _write(file, verdict)
    if verdict == WORKS:
        return ""
    warnings.warn(
        f"programs are compiled operation by operation: one-kernel programs failed their trial "
        f"with jaxlib {version} ({verdict}). ZWANG_ONE_KERNEL=1 uses them all the same; "
        f"remove {file} to try again.",
        stacklevel=2,
    )
    return f"one-kernel programs failed their trial: {verdict}"


def _tried() -> str:
    """`WORKS`, or how the trial ended."""
    # the trial must import this zwang, not one that happens to be installed
    home = str(Path(__file__).resolve().parents[2])
    search = os.pathsep.join(filter(None, [home, os.environ.get("PYTHONPATH")]))
    # a process of its own: what XLA’s emitter does not expect ends the process, not the trial
    command = [sys.executable, "-c", "from zwang.compile.canary import main; main()"]
    environment = {**os.environ, "PYTHONPATH": search, "JAX_PLATFORMS": "cpu"}
    try:
        ended = subprocess.run(
            command,
            env=environment,
            capture_output=True,
            text=True,
            timeout=LONGEST_TRIAL,
            check=False,
        )
    except (OSError, subprocess.SubprocessError) as error:
        return f"the trial did not run: {error}"
    said = (ended.stdout.strip() or ended.stderr.strip()).splitlines()
    if ended.returncode == 0 and said and said[-1] == WORKS:
        return WORKS
    return f"exit code {ended.returncode}, {said[-1] if said else 'no output'}"


def main() -> None:
    """The trial: one-kernel programs give what `jax.jit` gives."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    from zwang.compile import fusion
    from zwang.compile.batch_last import vmap_last
    from zwang.compile.options import compiler_options

    jax.config.update("jax_enable_x64", True)
    x, k, unused = np.arange(20.0).reshape(5, 4) / 7, np.array(3), np.zeros((0, 2))

    def program(x, k, unused):
        """One of each: product, scatter, sort, barrier, gather, loop, branch, unused argument."""
        y = (x.T @ x).at[np.array([0, 2, 0])].add(jnp.sin(x[:3]))
        y = jax.lax.optimization_barrier(jnp.sort(y, axis=0))
        turn = lambda i, y: y.at[i].set(jnp.cos(y[(i + 1) % 4]) / (1 + i))
        y = jax.lax.fori_loop(0, k, turn, y)
        return [jax.lax.cond(y[0, 0] > k, lambda y: y, lambda y: -y[::-1], y), jnp.argmax(y)]

    def compiled(function, options, *arrays):
        closed = jax.make_jaxpr(function)(*arrays)
        assert fusion.fits(closed, fusion.BATCH), "the trial does not fit into a kernel"
        kernel = jax.jit(fusion.one_kernel(closed)).lower(*arrays)
        return kernel.compile(compiler_options() | options)(*arrays)[:-1]

    # a batch as well, whose kernel is made with other options
    members, of_one, axes = np.stack([x, -x, 2 * x]), lambda x: program(x, k, unused), (0,)
    trials = [
        (compiled(program, fusion.KERNEL_OPTIONS, x, k, unused), jax.jit(program)(x, k, unused)),
        (
            compiled(vmap_last(of_one, axes), fusion.BATCH_KERNEL_OPTIONS, members),
            jax.jit(jax.vmap(of_one, axes))(members),
        ),
    ]
    for got, expected in trials:
        for one, other in zip(got, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-13)
    print(WORKS)


def _read(file: Path) -> str:
    with contextlib.suppress(OSError, UnicodeDecodeError):
        return file.read_text(encoding="utf-8").strip()
    return ""


def _write(file: Path, verdict: str) -> None:
    """Keep a verdict, whole or not at all; without a folder the next process tries again."""
    with contextlib.suppress(OSError):
        write_text(make_folder(file.parent) / file.name, verdict + "\n", durable=False)
