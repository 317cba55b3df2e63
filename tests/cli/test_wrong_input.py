"""Every wrong input causes one sentence on stderr and exit code 2, without a traceback."""

import pytest

from .command_line import PENDULUM, write, zwang

SPHERE = 'rod = zw.Holonomic(lambda q, t, p: q @ q - p["length"] ** 2, name="rod")'
START = "q0, v0 = [1.0, 0.0], [0.0, 0.0]"


def changed(old, new):
    assert old in PENDULUM
    return PENDULUM.replace(old, new)


FILES = {
    "phi with a wrong index": (changed("q @ q - p", "q @ q[:1] - p"), "rod"),
    "mass matrix of a wrong shape": (changed("jnp.ones(2)", "jnp.ones(3)"), "expected (2,)"),
    "q0 of a wrong shape": (
        changed(START, "q0, v0 = [1.0, 0.0, 0.0], [0.0, 0.0]"),
        "shape (3,), expected (2,)",
    ),
    "phi that returns NaN": (changed("q @ q - p", "jnp.sqrt(-q @ q) - p"), "NaN"),
    "a start off its constraints": (
        changed(START, "q0, v0 = [1.1, 0.0], [0.0, 0.0]"),
        "consistent_state",
    ),
    "a velocity off its constraints": (
        changed(START, "q0, v0 = [1.0, 0.0], [0.1, 0.0]"),
        "velocity level",
    ),
    "constraints that contradict each other": (
        changed(
            "[rod]",
            "[rod, zw.AccelerationConstraint(lambda q, v, t, p: q, lambda q, v, t, p: 1.0)]",
        ),
        "contradict",
    ),
    "a direction without mass that nothing holds": (
        changed("model = zw.Model(system, [rod]", "model = zw.Model(system, []").replace(
            'p["m"] * jnp.ones(2)', "jnp.array([1.0, 0.0])"
        ),
        "neither mass nor a constraint",
    ),
    "no q0": (changed(START, "v0 = [0.0, 0.0]"), "does not define q0"),
    "no v0": (changed(START, "q0 = [1.0, 0.0]"), "does not define v0"),
    "no model": ("q0, v0 = [1.0], [0.0]", "does not define model"),
    "no duration": (changed("duration = 1.0", ""), "--duration"),
    "a model that is none": ("model, q0, v0 = 1, 2, 3", "expected a zw.Model"),
    "a syntax error": (changed("nq=2,", "nq=2)"), "syntax error"),
    "an error in the file": ("x = 1\ny = x / 0", "line 2: ZeroDivisionError: division by zero"),
    "a file that exits": ("raise SystemExit(1)", "line 1"),
}


def refused(*words):
    answer = zwang(*words)
    assert answer.code == 2, answer
    assert "Traceback" not in answer.err
    assert answer.err.startswith("zwang: ") and len(answer.err.splitlines()) == 1, answer.err
    assert answer.out == ""
    return answer.err


@pytest.mark.parametrize("what", FILES)
def test_a_wrong_file_is_refused_in_one_sentence(what, tmp_path):
    text, expected = FILES[what]
    assert expected in refused("run", write(tmp_path, text), "--out", tmp_path / "out")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--set", "lenght=2"), "did you mean 'length'"),
        (("--set", "m"), "name=value"),
        (("--set", "m=heavy"), "expected a finite number"),
        (("--set", "m=1,2"), "has shape (2,), expected ()"),
        (("--set", "m=1", "--set", "m=2"), "given twice"),
        (("--duration", "-1"), "duration is -1"),
        (("--duration", "long"), "--duration"),
        (("--rtol", "0"), "rtol is 0"),
        (("--atol", "small"), "--atol"),
        (("--samples", "1"), "at least 2"),
        (("--step", "-0.1"), "step is -0.1"),
        (("--integrator", "euler"), "euler"),
        (("--drift", "baumgarte"), "--alpha 5 --beta 5"),
        (("--alpha", "5"), "--beta is missing"),
        (("--lenght", "5"), "--lenght"),
    ],
)
def test_a_wrong_option_is_refused_in_one_sentence(words, expected, tmp_path):
    assert expected in refused("run", write(tmp_path, PENDULUM), *words, "--out", tmp_path / "out")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("run", "pendulun"), "did you mean 'pendulum'"),
        (("run", "missing.py"), "there is no file missing.py"),
        (("run", "folder/missing"), "there is no file"),
        (("run", "four-bar.toml"), "the gallery has four-bar, without an ending"),
        (("run", __file__[:-3] + ".toml"), "there is no file"),
        (("check", "pendulun"), "did you mean"),
        (("list", "nothing-of-this-name"), "zwang list"),
        (("rum", "pendulum"), "rum"),
        (("run",), "MODEL"),
    ],
)
def test_a_wrong_name_is_refused_in_one_sentence(words, expected):
    assert expected in refused(*words)


def test_a_setting_of_the_gallery_keeps_its_type():
    assert "whole number" in refused("run", "n-four-bar", "--set", "N=2.5")


def test_an_output_folder_that_cannot_be_made_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    assert "cannot make the folder" in refused(
        "run", write(tmp_path, PENDULUM), "--out", tmp_path / "file" / "out"
    )


def test_debug_shows_the_trace(tmp_path):
    with pytest.raises(Exception, match="line 1"):
        zwang("run", write(tmp_path, "1 / 0"), "--debug")


def test_check_prints_the_diagnosis(tmp_path):
    answer = zwang("check", write(tmp_path, PENDULUM))
    assert (answer.code, answer.err) == (0, "")
    assert "degrees of freedom   1" in answer.out


def test_check_of_an_inconsistent_start_exits_with_2(tmp_path):
    answer = zwang("check", write(tmp_path, PENDULUM), "--set", "length=1.1")
    assert answer.code == 2
    assert "consistent_state" in answer.out
