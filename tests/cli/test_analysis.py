"""`zwang equilibrium` and `zwang modes`."""

import numpy as np
import pytest
import xarray as xr

from tests.cli.command_line import PENDULUM, zwang
from tests.cli.test_wrong_input import write


def test_equilibrium_finds_where_a_pendulum_hangs(tmp_path):
    model = write(tmp_path, PENDULUM)
    answer = zwang("equilibrium", model, "--set", "length=2", "--out", str(tmp_path / "rest"))
    assert answer.code == 0, answer.err
    assert "pendulum: equilibrium, stable" in answer.out
    with xr.open_dataset(tmp_path / "rest" / "equilibrium.nc") as data:
        np.testing.assert_allclose(data["q"], [0.0, -2.0], atol=1e-12)


def test_modes_prints_the_frequency_of_a_pendulum_and_writes_it(tmp_path):
    answer = zwang("modes", write(tmp_path, PENDULUM), "--out", str(tmp_path / "modes"))
    assert answer.code == 0, answer.err
    frequency = np.sqrt(9.81) / (2 * np.pi)
    assert f"{frequency:.6g}" in answer.out
    with xr.open_dataset(tmp_path / "modes" / "modes.nc") as data:
        np.testing.assert_allclose(data["frequency"], [frequency], rtol=1e-12)
    assert (tmp_path / "modes" / "eigenvalues.svg").exists()


@pytest.mark.slow
def test_what_cannot_be_found_is_one_sentence_and_exit_code_2(tmp_path):
    falling = PENDULUM.replace("[rod], params", "[], params")
    for command in ("equilibrium", "modes"):
        answer = zwang(command, write(tmp_path, falling))
        assert answer.code == 2 and "no balance of forces" in answer.err
        assert "Traceback" not in answer.err
    assert zwang("modes", "pendulun").code == 2
