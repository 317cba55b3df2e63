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
    assert names == {".html", ".tex", ".py", ".c", ".h", ".m", ".jl"}


def test_export_writes_c(tmp_path):
    model = write(tmp_path, PENDULUM)
    answer = zwang(
        "export", model, "--set", "length=2", "--states", "30", "--out", tmp_path / "out"
    )
    assert answer.code == 0, answer.err
    assert "at 30 random states" in answer.out or compiler() is None
    assert "length = 2.0" in (tmp_path / "out" / "pendulum.h").read_text()


@pytest.mark.skipif(compiler() is None, reason="no C compiler")
def test_export_writes_a_functional_mock_up_unit(tmp_path):
    model = write(tmp_path, PENDULUM)
    answer = zwang("export", model, "--as", "fmu3", "--out", tmp_path / "new")
    assert answer.code == 0 and (tmp_path / "new" / "pendulum_fmu3.fmu").is_file()


@pytest.mark.slow
def test_export_writes_a_page_that_simulates(tmp_path):
    answer = zwang("export", "pendulum", "--as", "page", "--out", tmp_path)
    assert answer.code == 0, answer.err
    assert "wasm-unsafe-eval" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_export_says_what_a_form_leaves_out():
    from zwang.cli.export import Form, _left_out

    has = {"switches": [1], "stop": [1]}
    assert "omits switches and stop" in _left_out(has, Form.fmu2)
    assert _left_out(has, Form.fmu2_python) == "fmu2-python: omits stop of the model."
    assert not _left_out({"rtol": 1e-8}, Form.c)


def test_both_commands_take_the_same_options():
    """`--as` chooses forms, which differ; all else is said once."""
    import inspect

    from zwang.cli import derive, export

    one, other = (inspect.signature(m.command).parameters for m in (derive, export))
    assert list(one) == list(other)
    same = ["model", "set_", "out", "states"]
    assert [one[x].annotation for x in same] == [other[x].annotation for x in same]


def test_some_formulas_may_be_chosen(tmp_path):
    model = write(tmp_path, PENDULUM)
    out = tmp_path / "out"
    answer = zwang(
        "derive", model, "--set", "length=2", "--as", "latex", "--as", "python", "--out", out,
        "--states", "20",
    )  # fmt: skip
    assert answer.code == 0, answer.err
    assert {path.suffix for path in out.iterdir()} == {".tex", ".py"}
    assert "2.0" in (out / "pendulum.py").read_text()
