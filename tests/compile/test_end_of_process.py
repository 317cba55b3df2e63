"""A process ends when its work has ended, even where the compiler is at work behind it."""

import signal
import subprocess
import sys
import time

import pytest

SCRIPT = """
import atexit, sys, time
atexit.register(lambda: print("first registered", file=sys.stderr))
from zwang.compile.background import Background

task = Background(lambda: time.sleep({seconds}))
left_open = open({path!r}, "w")
left_open.write("written")
print("work done", flush=True)
{end}
"""


def ended(tmp_path, end: str, seconds: float) -> tuple[subprocess.CompletedProcess, float]:
    """The script's process, and how long it took from the end of its work [s]."""
    path = tmp_path / "script.py"
    path.write_text(SCRIPT.format(seconds=seconds, path=str(tmp_path / "out.txt"), end=end))
    job = subprocess.Popen(
        [sys.executable, str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert job.stdout is not None and job.stdout.readline() == "work done\n"
        began = time.monotonic()
        out, err = job.communicate(timeout=60)
    finally:
        job.kill()
    return subprocess.CompletedProcess(path, job.returncode, out, err), time.monotonic() - began


@pytest.mark.parametrize(
    "end, code",
    [
        ("", 0),
        ("raise ValueError('a mistake')", 1),
        ("raise KeyboardInterrupt", -signal.SIGINT),
    ],
)
def test_a_script_does_not_wait_for_the_compiler(tmp_path, end, code):
    done, took = ended(tmp_path, end, seconds=50.0)
    assert done.returncode == code
    assert took < 20  # the patience of 1 s, and a busy machine
    assert "first registered" in done.stderr and (tmp_path / "out.txt").read_text() == "written"
    assert "waiting" not in done.stderr
    assert end.partition("(")[0].removeprefix("raise ") in done.stderr


def test_functions_at_exit_are_called_once_and_before_the_end(tmp_path):
    later = 'atexit.register(lambda: print("last registered", file=sys.stderr))'
    done, _ = ended(tmp_path, later, seconds=3.0)
    assert done.returncode == 0 and "waiting" in done.stderr
    assert [x for x in done.stderr.splitlines() if x.endswith("registered")] == [
        "last registered",
        "first registered",
    ]


@pytest.mark.parametrize("code", [0, 3])
def test_a_status_that_nobody_can_read_is_kept_by_waiting(tmp_path, code):
    done, took = ended(tmp_path, f"sys.exit({code})", seconds=4.0)
    assert done.returncode == code and 1 < took
    assert "waiting for the compiler" in done.stderr and "first registered" in done.stderr
