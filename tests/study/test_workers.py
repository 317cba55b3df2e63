"""Workers compute what this process computes, bit for bit, also when one of them is killed."""

import os
import signal
import threading
import time

import numpy as np
import psutil
import pytest

import zwang as zw

pytest.importorskip("distributed")
pytestmark = pytest.mark.slow
OVER = {"length": "0.5:2:16", "mass": "1:2:16"}
SPAN = {"duration": 0.5, "samples": 11, "part": 32}


def hanging(values):
    return np.array([values["length"], 0.0]), np.zeros(2)


def study(out=None, **given):
    model = zw.gallery.load("pendulum").model
    return zw.sweep(model, OVER, hanging, outputs=["x.final", "y.min"], out=out, **SPAN, **given)


def workers_of_this_process():
    """Processes that compute: children of the nannies."""
    return [
        process
        for process in psutil.Process().children(recursive=True)
        if "multiprocessing.spawn" in " ".join(process.cmdline())
    ]


def test_a_worker_killed_in_the_middle_costs_no_case_and_no_digit(tmp_path):
    alone = study()
    killed = []

    def kill(fraction):
        if not killed:
            killed.append(workers_of_this_process()[0].pid)
            os.kill(killed[0], signal.SIGKILL)

    found = study(tmp_path / "parts", workers=2, progress=kill)
    assert killed and not psutil.pid_exists(killed[0])
    assert found.computed == 8 and found.table.equals(alone.table)
    assert study(tmp_path / "parts", workers=2).computed == 0


def test_a_scheduler_that_is_there_is_used_by_its_address(tmp_path):
    from distributed.deploy.subprocess import SubprocessCluster

    with SubprocessCluster(
        host="127.0.0.1", n_workers=1, threads_per_worker=1, dashboard_address=None
    ) as cluster:
        found = study(cluster=cluster.scheduler_address)
    assert found.table.equals(study().table)


def test_an_address_without_a_scheduler_costs_a_sentence():
    with pytest.raises(zw.ModelError, match="no scheduler answers at"):
        study(cluster="tcp://127.0.0.1:9")


def test_no_worker_outlives_its_study(tmp_path):
    before = threading.active_count()
    study(tmp_path / "parts", workers=1)
    deadline = time.time() + 20
    while workers_of_this_process() and time.time() < deadline:
        time.sleep(0.2)
    assert not workers_of_this_process() and threading.active_count() <= before + 8
