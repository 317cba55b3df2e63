"""`zwang kinematics` follows a mechanism over its input."""

import pytest
import xarray as xr

from .command_line import PENDULUM, write, zwang


def test_a_pendulum_ends_at_its_limit_position(tmp_path):
    answer = zwang(
        *("kinematics", write(tmp_path, PENDULUM), "y", "--from", "0", "--to", "2"),
        *("--output", "x", "--samples", "11", "--out", tmp_path / "out"),
    )
    assert answer.code == 3 and "limit position    y = 1 m" in answer.out
    with xr.open_dataset(tmp_path / "out" / "kinematics.nc", engine="h5netcdf") as data:
        assert data.attrs["certified"] == 1
    assert (tmp_path / "out" / "kinematics.svg").is_file()


def test_an_unknown_input_is_one_sentence(tmp_path):
    answer = zwang("kinematics", write(tmp_path, PENDULUM), "z", "--from", "0", "--to", "1")
    assert answer.code == 2 and "there is no coordinate 'z'" in answer.err


@pytest.mark.slow
def test_a_mechanism_file_is_followed_without_its_drives():
    answer = zwang("kinematics", "four-bar", "A", "--from", "0", "--to", "360deg", "--output", "D")
    assert answer.code == 0 and answer.out.count("dead point") == 2
