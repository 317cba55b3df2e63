"""Curves packed for a page: its program reads the original values."""

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tests.output.viewer.numbers import numbers
from zwang.files.packing import FINENESS, curves
from zwang.output import viewer

READ = 'console.log(JSON.stringify([...curves(JSON.parse(require("fs").readFileSync("given")))]))'


@pytest.mark.skipif(shutil.which("node") is None, reason="no node")
@pytest.mark.parametrize("smooth", [True, False])
def test_a_page_reads_what_was_packed(tmp_path, smooth):
    t = np.linspace(0.0, 3.0, 181)
    noise = np.random.default_rng(5).normal(size=(2, 181))
    given = np.stack([np.sin(5 * t), 0 * t, 2.5 + 0 * t, np.exp(-t), *noise], axis=1)
    made = curves(given, smooth)
    (tmp_path / "given").write_text(json.dumps(made))
    program = (Path(viewer.__file__).parent / "unpack.js").read_text(encoding="utf-8")
    (tmp_path / "read.cjs").write_text(program + READ, encoding="utf-8")
    said = subprocess.run(["node", "read.cjs"], cwd=tmp_path, check=True, capture_output=True)
    found = np.reshape(json.loads(said.stdout), given.shape)
    np.testing.assert_allclose(found, numbers(made), rtol=1e-6, atol=1e-9)
    step = np.max(np.abs(given)) / FINENESS if smooth else 0.0
    np.testing.assert_allclose(found, given, rtol=2e-7, atol=0.51 * step)


def test_what_is_no_number_stays_what_it_is():
    given = np.array([[1.0, np.nan], [np.inf, 1e-30]], "f4")
    np.testing.assert_array_equal(numbers(curves(given, smooth=True)), given)
