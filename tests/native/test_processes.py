"""Native code in forks, new processes and threads, without assertions, without a cache folder, and
without permission to execute memory.
"""

import multiprocessing
import os
import subprocess
import sys
import threading
import warnings

import jax.numpy as jnp
import numpy as np
import pytest

from zwang.native import function

X = np.linspace(-1.0, 1.0, 7)


def f(x):
    return jnp.sin(x) @ x, jnp.cumsum(x)


def results() -> list[bytes]:
    return [y.tobytes() for y in function(f, X)(X)]


def called_apart(kind: str, target) -> None:
    context = multiprocessing.get_context(kind)
    queue = context.SimpleQueue()
    process = context.Process(target=target, args=(queue,))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of JAX, whose threads a fork lacks
        process.start()
    found = queue.get()
    process.join(60)
    assert process.exitcode == 0 and found == results()


def of_fork(queue):
    queue.put([y.tobytes() for y in READY(X)])


def of_spawn(queue):
    import jax

    jax.config.update("jax_enable_x64", True)
    queue.put(results())


READY = None
"""A function that was made before a fork."""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
def test_a_fork_calls_what_was_made_before():
    global READY
    READY = function(f, X)
    called_apart("fork", of_fork)


@pytest.mark.slow
def test_a_fresh_process_makes_its_own():
    called_apart("spawn", of_spawn)


def test_threads_call_one_function_at_the_same_time():
    code, expected, wrong = function(f, X), {}, []
    for k in range(4):
        expected[k] = [y.tobytes() for y in code(X + k)]

    def many(k):
        for _ in range(300):
            if [y.tobytes() for y in code(X + k)] != expected[k]:
                wrong.append(k)

    threads = [threading.Thread(target=many, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


RUN = """
import sys
import jax
jax.config.update("jax_enable_x64", True)
import zwang as zw
from zwang import gallery
example = gallery.load("pendulum")
{before}
try:
    run = zw.simulate(example.model, example.q0, example.v0, duration=0.1, samples=2)
    print(run.attrs["engine"], float(run.q[-1, 0]))
except zw.ModelError as error:
    print("ModelError:", error)
"""
FORBID = "import ctypes; sys.exit(9) if ctypes.CDLL(None).prctl(65, 1, 0, 0, 0) else None"
"""PR_SET_MDWE: memory that was writable never becomes executable, from Linux 6.3 on."""


def ran(before: str = "", *options: str, **variables: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, *options, "-c", RUN.format(before=before)],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, **variables},
    )


@pytest.mark.slow
def test_without_assertions_and_without_a_place_for_programs(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    plain = ran(ZWANG_KEEP="0")
    assert plain.stdout.startswith("native code "), plain.stderr
    other = ran("", "-O", XDG_CACHE_HOME=str(blocked), HOME=str(blocked))
    assert other.stdout == plain.stdout, other.stderr


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="a policy of Linux")
def test_memory_that_must_not_be_executed_is_said_in_one_sentence():
    done = ran(FORBID, ZWANG_KEEP="0")
    if done.returncode == 9:
        pytest.skip("this kernel has no such policy")
    assert done.stdout.startswith("ModelError: this process may not execute memory"), done.stderr
