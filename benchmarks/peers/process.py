"""Work in a process of its own: limited in time, killed with what it started, its failure a
sentence.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

MEMORY = 8e9
"""Bytes that a peer may take; matrices that fill up would stop the machine otherwise."""


def run(
    arguments: list[str], seconds: float, environment: dict[str, str] | None = None
) -> tuple[float, str]:
    """Run `python -m …`.

    Returns:
        When it was started (`time.time()`), and a sentence if it did not end well.
    """
    single = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
    env = {**os.environ, **single, "BENCHMARK_MEMORY": str(MEMORY), **(environment or {})}
    started = time.time()
    job = subprocess.Popen(
        [sys.executable, "-m", *arguments],
        env=env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        _, said = job.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        _stop(job)
        return started, f"not done within {seconds:.0f} s"
    except BaseException:
        _stop(job)
        raise
    if job.returncode < 0:
        return started, f"ended by signal {signal.Signals(-job.returncode).name}"
    return started, "" if job.returncode == 0 else _last_line(said)


def end_with_children() -> None:
    """Let a polite end of this process (`kill`, `timeout`) end its worker too, which has a session
    of its own.
    """

    def leave(number, frame):
        raise SystemExit(128 + number)

    signal.signal(signal.SIGTERM, leave)


def _stop(job) -> None:
    if hasattr(os, "killpg"):
        os.killpg(job.pid, signal.SIGKILL)
    else:
        job.kill()
    job.communicate()


def _last_line(said: str) -> str:
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return (lines[-1] if lines else "it ended without a word")[:200]


def limit_memory() -> None:
    """In the worker: refuse more than `MEMORY`, where the system can."""
    limit = os.environ.get("BENCHMARK_MEMORY")
    try:
        import resource

        if limit:
            resource.setrlimit(resource.RLIMIT_DATA, (int(float(limit)), int(float(limit))))
    except (ImportError, ValueError, OSError):
        return  # Windows has no such limit; a limit that is lower already stays


def peak_megabytes() -> float:
    """Largest memory of this process [MB]. `ru_maxrss` would count that of the parent that forked
    it.
    """
    try:
        with open("/proc/self/status") as lines:
            return next(int(x.split()[1]) / 1e3 for x in lines if x.startswith("VmHWM"))
    except (OSError, StopIteration):
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (
            1e6 if sys.platform == "darwin" else 1e3
        )
