"""A file is either complete under its name, or the previous file is unchanged, after any
interruption.
"""

import contextlib
import errno
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time

import numpy as np
import pytest

from zwang.cli import main
from zwang.errors import ModelError, OutputError
from zwang.files import make_folder, write_bytes, write_files, writing
from zwang.files.isolation import refuse_full, scratch_folder
from zwang.plots.data import Curve, Panel, Picture
from zwang.simulation.results import Variables
from zwang.simulation.results.saving import csv_text, save

SLOW = pytest.mark.slow
SAVING = """
import sys
import numpy as np
from zwang.simulation.results import Variables
from zwang.simulation.results.saving import save
from zwang.errors import OutputError

n = int(sys.argv[2])
time = {"time": (("time",), np.arange(n), {})}
data = Variables({"q": (("time",), np.random.rand(n), {})}, time, {})
LIMIT
print("ready", flush=True)
while True:
    try:
        save(data, sys.argv[1])
    except OutputError as error:
        sys.exit(str(error))
    print("saved", flush=True)
    if "once" in sys.argv:
        break
"""
TOO_SMALL = """
import resource, sys
sys.dont_write_bytecode = True
resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))
"""


def program(limit: str, *words) -> list[str]:
    return [sys.executable, "-c", SAVING.replace("LIMIT", limit), *map(str, words)]


def results(n: int) -> Variables:
    time = {"time": (("time",), np.arange(n), {})}
    return Variables({"q": (("time",), np.zeros(n), {})}, time, {})


def leftovers(folder) -> list[str]:
    return [x.name for x in folder.iterdir() if x.name.startswith(writing.PREFIX)]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["run.nc", "run.csv"])
def test_a_disk_without_room_costs_a_sentence_and_no_earlier_file(name, tmp_path):
    path = save(results(3), tmp_path / name)
    before = path.read_bytes()
    done = subprocess.run(
        program(TOO_SMALL, path, 100_000, "once"), capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 1, done
    assert done.stderr.startswith("cannot write") and "unchanged" in done.stderr
    assert "Traceback" not in done.stderr
    assert path.read_bytes() == before and not leftovers(tmp_path)


def test_a_full_file_system_costs_a_sentence_and_no_earlier_file(tmp_path):
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(tmp_path)], capture_output=True
    )
    if mounted.returncode:
        pytest.skip("mounting a file system of 64 kB is not allowed here")
    try:
        path = save(results(3), tmp_path / "run.nc")
        before = path.read_bytes()
        with pytest.raises(OutputError, match="no space left on device; what stood there is"):
            save(results(100_000), path)
        assert path.read_bytes() == before and not leftovers(tmp_path)
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)


@contextlib.contextmanager
def room(size: int):
    """No file of this process may grow beyond a size [bytes]; the system then says so.

    Modules are imported without writing their bytecode, which Python would keep cut off.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    kept = sys.dont_write_bytecode
    sys.dont_write_bytecode = True
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        sys.dont_write_bytecode = kept


SPRING = """
import jax.numpy as jnp
import zwang as zw
system = zw.System(1, lambda q, t, p: jnp.ones(1), lambda q, v, t, p: -p["k"] * q)
model, q0, v0 = zw.Model(system, params={"k": 1.0}), [0.0], [0.0]
"""
BOUNDS = "--from", "0", "--to", "6.2832", "--vary", "crank=0.05:0.3", "--time-ratio", "guide=2"


@pytest.mark.slow
@pytest.mark.parametrize(
    "words, file",
    [
        (("continuation", "spring.py", "k", "--from", "0.5", "--to", "2"), "continuation.nc"),
        (("equilibrium", "spring.py"), "equilibrium.nc"),
        pytest.param(
            ("assembly-modes", "four-bar", "--input", "A=1.1"), "assembly-modes.nc", marks=SLOW
        ),
        pytest.param(("design", "quick-return", "shaft", *BOUNDS), "design.nc", marks=SLOW),
        pytest.param(("reproduce", "recursive", "-q"), "recursive.html", marks=SLOW),
    ],
    ids=lambda x: x[0] if isinstance(x, tuple) else "",
)
def test_a_command_on_a_full_disk_ends_in_a_sentence_and_keeps_earlier_files(
    words, file, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "spring.py").write_text(SPRING)
    earlier = make_folder("out") / file
    earlier.write_bytes(b"old")
    with room(1000):
        assert main([*words, "--out", "out"]) == 1
    said = capsys.readouterr().err
    assert f"cannot write out/{file}: file too large; what stood there is unchanged (" in said
    assert "Traceback" not in said
    assert earlier.read_bytes() == b"old" and os.listdir("out") == [file]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a.svg", "a.png", "a.pdf"])
def test_a_picture_on_a_full_disk_costs_a_sentence_and_no_earlier_file(name, tmp_path):
    pytest.importorskip("matplotlib")
    line = Curve(np.arange(100.0), np.sin(np.arange(100.0)))
    picture = Picture([Panel([line], "x (m)")], "t (s)")
    path = picture.save(tmp_path / name)
    before = path.read_bytes()
    with room(100), pytest.raises(OutputError, match="file too large; what stood there is unch"):
        picture.save(path)
    assert path.read_bytes() == before and os.listdir(tmp_path) == [name]
    for wrong in (None, 3, "none/a.svg", "a.none", "a\0.svg"):
        with pytest.raises(
            (ModelError, OutputError), match="cannot (save|write)|expected the name"
        ):
            picture.save(wrong)


@pytest.mark.parametrize("call", ["fsync", "replace"])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EIO, errno.EDQUOT])
def test_a_fault_at_the_end_leaves_the_earlier_file_and_nothing_else(
    call, number, tmp_path, monkeypatch
):
    def fails(*_):
        raise OSError(number, os.strerror(number))

    path = tmp_path / "a.txt"
    write_bytes(path, b"old")
    monkeypatch.setattr(os, call, fails)
    with pytest.raises(OutputError, match=r"cannot write .*; what stood there is unchanged\.\n\("):
        write_bytes(path, b"new")
    assert path.read_bytes() == b"old" and os.listdir(tmp_path) == ["a.txt"]


def test_no_room_for_temporary_files_is_said(tmp_path, monkeypatch):
    with pytest.raises(OutputError, match="no temporary files .*no space left on device.*TMPDIR"):
        with scratch_folder() as folder:
            refuse_full("ld: final link failed: No space left on device")
    assert not folder.exists()
    with scratch_folder():
        refuse_full("ld: cannot find -lm")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    with pytest.raises(OutputError, match="no temporary files can be written .no such file"):
        with scratch_folder():
            pass


@pytest.mark.parametrize("fails_at", [1, 2, 3])
def test_files_that_belong_together_are_replaced_together(fails_at, tmp_path, monkeypatch):
    """A header beside the program of another model would be compiled without a word."""
    sync, calls = os.fsync, []

    def full(handle):
        calls.append(handle)
        if len(calls) == fails_at:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        sync(handle)

    old = {"a.h": "old", "a.c": "old", "a_test.c": b"old"}
    assert write_files(tmp_path / "c", old) == [tmp_path / "c" / name for name in old]
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OutputError, match=r"no space left on device; what stood there"):
        write_files(tmp_path / "c", dict.fromkeys(old, "new"))
    assert {x.name: x.read_text() for x in (tmp_path / "c").iterdir()} == dict.fromkeys(old, "old")


@pytest.mark.slow
def test_a_kill_while_writing_leaves_a_whole_file(tmp_path):
    """Kills at random instants of a program that saves again and again."""
    import h5netcdf

    path, rng = tmp_path / "run.nc", np.random.default_rng(1)
    save(results(3), path)
    sizes = set()
    job = None
    for _ in range(3):
        job = subprocess.Popen(program("", path, 300_000), stdout=subprocess.PIPE)
        try:
            assert job.stdout is not None
            job.stdout.readline()
            time.sleep(rng.uniform(0.0, 0.08))
        finally:
            job.send_signal(signal.SIGKILL)
            job.communicate()
        with h5netcdf.File(path, "r") as file:
            sizes.add(len(np.asarray(file.variables["q"])))
    assert sizes <= {3, 300_000}


def test_parts_that_a_killed_program_left_are_cleared_away(tmp_path):
    old, new = (tmp_path / f"{writing.PREFIX}{x}{writing.SUFFIX}" for x in ("old", "new"))
    for part in (old, new):
        part.touch()
    os.utime(old, (0, 0))
    make_folder(tmp_path)
    assert not old.exists() and new.exists()


def test_a_link_is_followed_and_rights_are_kept(tmp_path):
    place, link = tmp_path / "place.txt", tmp_path / "link.txt"
    place.write_bytes(b"old")
    place.chmod(0o640)
    link.symlink_to(place)
    write_bytes(link, b"new")
    assert link.is_symlink() and place.read_bytes() == b"new"
    assert place.stat().st_mode & 0o777 == 0o640


def test_a_table_has_a_column_for_each_entry_with_its_unit_and_17_digits():
    x = np.array([[0.1, 1.0], [1 / 3, 2.0]])
    data = Variables(
        {
            "q": (("time", "coordinate"), x, {"units": ""}),
            "energy": (("time",), np.array([1.0, 2.0]), {"units": "J"}),
            "cube": (("time", "coordinate", "row"), np.zeros((2, 2, 1)), {}),
        },
        {
            "time": (("time",), np.array([0.0, 0.5]), {"units": "s"}),
            "coordinate": (("coordinate",), np.array(["x", "y"]), {}),
            "coordinate_unit": (("coordinate",), np.array(["m", "rad"]), {}),
            "row": (("row",), np.array(["r"]), {}),
        },
        {},
    )
    lines = csv_text(data).splitlines()
    assert lines[0] == "time (s),q[x] (m),q[y] (rad),energy (J)"
    assert csv_text(data.to_xarray()).splitlines()[0] == lines[0]
    np.testing.assert_array_equal(
        [[float(n) for n in line.split(",")] for line in lines[1:]],
        np.column_stack([[0.0, 0.5], x, [1.0, 2.0]]),
    )
