"""Workers give results bitwise identical to those of this process, even if one of them is
killed.
"""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

import numpy as np
import psutil
import pytest

import zwang as zw

pytest.importorskip("distributed")
dask = pytest.importorskip("dask")
pytestmark = pytest.mark.slow
OVER = {"length": "0.5:2:16", "mass": "1:2:16"}
TLS = "distributed.comm.tls"
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


@pytest.fixture
def certified(tmp_path, monkeypatch):
    """The settings of docs/studies.md, with a certificate that is its own authority."""
    openssl = shutil.which("openssl") or pytest.skip("no openssl to make a certificate with")
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    asked = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=study"]
    command = [openssl, *asked, "-keyout", key, "-out", cert]
    subprocess.run(command, check=True, capture_output=True)
    comm = "DASK_DISTRIBUTED__COMM__"
    monkeypatch.setenv(f"{comm}REQUIRE_ENCRYPTION", "True")
    monkeypatch.setenv(f"{comm}TLS__CA_FILE", str(cert))
    for who in ("SCHEDULER", "WORKER", "CLIENT"):
        monkeypatch.setenv(f"{comm}TLS__{who}__CERT", str(cert))
        monkeypatch.setenv(f"{comm}TLS__{who}__KEY", str(key))
    settings = {f"{TLS}.ca-file": str(cert), "distributed.comm.require-encryption": True}
    for who in ("scheduler", "worker", "client"):
        settings |= {f"{TLS}.{who}.cert": str(cert), f"{TLS}.{who}.key": str(key)}
    with dask.config.set(settings):
        yield


@contextlib.contextmanager
def started(*words):
    """A command of dask, until the block ends."""
    process = subprocess.Popen(
        [sys.executable, "-m", "dask", *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        yield process
    finally:
        process.terminate()
        process.wait(20)


def test_workers_of_several_machines_are_reached_by_tls_alone(certified, free_port):
    address = f"tls://127.0.0.1:{free_port}"
    here = ["--host", "127.0.0.1", "--port", str(free_port), "--no-dashboard"]
    with started("scheduler", "--protocol", "tls", *here):
        with started("worker", address, "--nthreads", "1", "--nworkers", "2", "--no-dashboard"):
            assert study(cluster=address).table.equals(study().table)
        with pytest.raises(zw.ModelError, match="encryption required"):
            study(cluster=address.replace("tls", "tcp"))
        with (
            dask.config.set({f"{TLS}.client.cert": None, f"{TLS}.client.key": None}),
            pytest.raises(zw.ModelError, match="no scheduler answers at 'tls"),
        ):
            study(cluster=address)


@pytest.fixture
def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


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
