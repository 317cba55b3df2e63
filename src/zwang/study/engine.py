"""Parallel computation of the parts of a study, in this process or on dask.distributed."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import threading
from collections.abc import Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from itertools import islice
from typing import Any, cast

import jax
import numpy as np

from zwang.errors import ModelError
from zwang.objects.extras import require
from zwang.study.plan import Part, Plan

SETTINGS = (
    "jax_enable_x64",
    "jax_compilation_cache_dir",
    "jax_persistent_cache_min_compile_time_secs",
    "jax_persistent_cache_min_entry_size_bytes",
    "jax_disable_most_optimizations",
)
"""Settings of JAX passed to workers: some affect the last digits, some save compilation."""
WORKER_ATTEMPTS = 5
"""Number of workers that may crash at a part before the study is given up."""
PARTS_AHEAD = 4
"""Number of submitted parts for each thread of a worker; the limit keeps memory constant."""


def in_process(plan: Plan, parts: Sequence[int]) -> Generator[tuple[int, Part], None, None]:
    """Compute parts in parallel, with their chunks in turn on all cores."""
    cores = os.cpu_count() or 1
    # A single simulation is Python code, which runs on one core at a time.
    if plan.is_one_by_one:
        for part in parts:
            yield part, plan.share(part, plan.values_of(part)).compute()
        return
    stopped = threading.Event()

    def go_on(fraction: float) -> None:
        if stopped.is_set():
            raise _Stopped

    def compute(part: int) -> tuple[int, Part]:
        return part, plan.share(part, plan.values_of(part)).compute(go_on, chunks)

    waiting = iter(parts)
    # Chunks of all parts take turns on the cores, in order, so that no core waits at the end for a
    # whole part of another one. A part's own thread only assembles its cases.
    with ThreadPoolExecutor(cores) as chunks, ThreadPoolExecutor(cores + 1) as pool:
        ahead = {pool.submit(compute, part) for part in islice(waiting, cores + 1)}
        try:
            while ahead:
                done, ahead = wait(ahead, return_when=FIRST_COMPLETED)
                ahead |= {pool.submit(compute, part) for part in islice(waiting, len(done))}
                for future in done:
                    yield future.result()
        finally:
            # Ctrl-C and a full disk need not wait for the parts that are being computed.
            stopped.set()
            chunks.shutdown(wait=False, cancel_futures=True)
            pool.shutdown(cancel_futures=True)


class _Stopped(Exception):  # noqa: N818
    """Ends the computation of a part when its study has ended."""


def on_cluster(
    plan: Plan, parts: Sequence[int], workers: int | None, address: str | None
) -> Generator[tuple[int, Part], None, None]:
    """Compute parts on workers; yields them in the order of completion.

    Args:
        plan, parts: the study and the parts to compute.
        workers: number of workers of one thread to start on this computer.
        address: of an existing scheduler.

    Raises:
        ModelError: if dask.distributed is not installed, the study cannot be sent, or a part
            crashes every worker that computes it.
    """
    if not parts:
        return
    require("distributed", "cluster", "a study with workers")
    from distributed import KilledWorker, as_completed

    # Packed once: every part sends the same bytes, by which a worker recognizes the study.
    payload = packed(plan)
    known = jax.config.values
    settings = {name: known[name] for name in SETTINGS if name in known}
    waiting = iter(parts)
    with _client(workers, address) as client:
        each: Any = client.nthreads()
        threads = max(1, sum(each.values()))

        def submitted():
            part = next(waiting, None)
            if part is None:
                return None
            # The result of a worker is not cached for other parts with equal arguments.
            values = plan.values_of(part)
            return client.submit(compute_part, payload, part, values, settings, pure=False)

        # Only a few parts for each thread are submitted: results of a large study would fill the
        # memory of the scheduler.
        first = [x for _ in range(PARTS_AHEAD * threads) if (x := submitted()) is not None]
        finished = as_completed(first)
        for future in finished:
            try:
                part, made = future.result()
            except KilledWorker as error:
                raise ModelError(
                    f"{WORKER_ATTEMPTS} workers died of the same part of the study: it may need "
                    f"more memory than a worker has, or end the process ({str(error)[:100]})."
                ) from None
            # One part is submitted for each that has finished.
            if (further := submitted()) is not None:
                finished.add(further)
            del future  # frees the result in the worker's memory
            yield part, made


def compute_part(
    payload: bytes, part: int, values: dict[str, np.ndarray], settings: dict[str, Any]
) -> tuple[int, Part]:
    """Compute one part on a worker, which keeps the study and its program between parts."""
    import cloudpickle

    if payload not in _PLANS:
        for name, value in settings.items():
            jax.config.update(name, value)
        _PLANS.clear()
        _PLANS[payload] = cloudpickle.loads(payload)
    return part, _PLANS[payload].share(part, values).compute()


_PLANS: dict[bytes, Plan] = {}
"""The present study of this worker."""


def packed(plan: Plan) -> bytes:
    """Pickle a study without the values of its cases, which are sent with each part.

    Functions of a user's own files and notebooks are pickled by value.
    """
    import cloudpickle

    try:
        return cloudpickle.dumps(dataclasses.replace(plan, values={}))
    except Exception as error:  # A user's functions may have any objects in their closures.
        raise ModelError(
            f"the study cannot be sent to workers ({type(error).__name__}: {str(error)[:120]}); "
            "let its functions close over arrays and numbers only."
        ) from error


@contextlib.contextmanager
def _client(workers: int | None, address: str | None):
    import dask.config
    from distributed import Client
    from distributed.deploy.subprocess import SubprocessCluster

    quiet = {
        "distributed.scheduler.allowed-failures": WORKER_ATTEMPTS - 1,
        "distributed.worker.daemon": True,
    }
    with dask.config.set(quiet):
        if address is not None:
            try:
                client = Client(address, timeout="10s")
            # a TypeError without certificates, a RuntimeError if only TLS is allowed
            except (OSError, ValueError, TypeError, RuntimeError) as error:
                raise ModelError(
                    f"no scheduler answers at {address!r:.100} ({str(error)[:100]}); expected one "
                    "that runs there, with the TLS settings of this process."
                ) from None
            with client:
                yield client
            return
        # Workers are separate processes that do not import the user's script again.
        with (
            SubprocessCluster(
                host="127.0.0.1",
                n_workers=workers,
                threads_per_worker=1,
                dashboard_address=cast(str, None),  # no dashboard; the annotation omits None
                silence_logs=50,
            ) as cluster,
            Client(cluster) as client,
        ):
            client.wait_for_workers(1, timeout=120)
            yield client
