"""Linear systems as programs, compared with the matrices that they come from."""

import shutil
import subprocess
import types

import numpy as np
import pytest

from zwang import ModelError
from zwang.codegen import linear
from zwang.codegen.linear import linear_code

SYSTEM = types.SimpleNamespace(
    A=np.array([[0.0, 1.0], [-2.0, -0.3]]),
    B=np.array([[0.0], [1 / 3]]),
    C=np.array([[1.0, 0.0], [0.0, 1e-5], [1.0, 1.0]]),
    D=np.array([[0.0], [2.0], [0.0]]),
    states=("angle", "angle rate"),
    inputs=('to"r*/que',),
    outputs=("a", "b", "c"),
)


def test_the_python_makes_the_systems_of_other_libraries():
    scope = {}
    exec(linear_code(SYSTEM, "swing").sources["swing.py"], scope)
    made = scope["scipy_system"]()
    for letter in "ABCD":
        np.testing.assert_array_equal(getattr(made, letter), getattr(SYSTEM, letter))


@pytest.mark.skipif(shutil.which("octave-cli") is None, reason="no Octave")
def test_octave_reads_the_matrices_to_the_last_bit(tmp_path):
    linear_code(SYSTEM, "swing").write(tmp_path)
    program = "[A, B, C, D] = swing(); printf('%.17g ', A', B', C', D');"
    done = subprocess.run(
        ["octave-cli", "--norc", "--quiet", "--eval", program],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    expected = np.concatenate([getattr(SYSTEM, letter).ravel() for letter in "ABCD"])
    np.testing.assert_array_equal(np.array(done.stdout.split(), float), expected)


def test_a_system_without_inputs_is_printed():
    alone = types.SimpleNamespace(**{**vars(SYSTEM), "B": np.zeros((2, 0)), "D": np.zeros((3, 0))})
    scope = {}
    exec(linear_code(alone).sources["linear.py"], scope)
    assert scope["B"].shape == (2, 0)


def test_a_wrong_program_is_not_handed_over(monkeypatch):
    right = linear._c
    wrong = lambda *given: {k: x.replace("-2.0", "-2.5") for k, x in right(*given).items()}
    monkeypatch.setattr(linear, "_c", wrong)
    if linear.compiler() is None:
        pytest.skip("no C compiler")
    with pytest.raises(ModelError, match="differs from the linear system"):
        linear_code(SYSTEM)


def test_something_else_is_refused():
    with pytest.raises(ModelError, match="zw.analysis.linearize"):
        linear_code(object())
