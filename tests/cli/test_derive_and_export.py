"""`zwang derive` and `zwang export`."""

import pytest

from zwang.codegen.c import compiler

from .command_line import PENDULUM, write, zwang


def test_derive_writes_formulas_and_says_how_well_they_agree(tmp_path):
    model = write(tmp_path, PENDULUM)
    answer = zwang("derive", model, "--out", tmp_path / "out", "--states", "50")
    assert answer.code == 0, answer.err
    assert "at 50 random states" in answer.out
    names = {path.suffix for path in (tmp_path / "out").iterdir()}
    assert names == {".tex", ".py", ".c", ".h", ".m", ".jl"}


def test_export_writes_c(tmp_path):
    model = write(tmp_path, PENDULUM)
    answer = zwang("export", model, "--set", "length=2", "--out", tmp_path / "out")
    assert answer.code == 0, answer.err
    assert "length = 2.0" in (tmp_path / "out" / "pendulum.h").read_text()


@pytest.mark.skipif(compiler() is None, reason="no C compiler")
def test_export_writes_a_functional_mock_up_unit(tmp_path):
    model = write(tmp_path, PENDULUM)
    answer = zwang("export", model, "--as", "fmu3", "--out", tmp_path)
    assert answer.code == 0 and (tmp_path / "pendulum.fmu").is_file()
