"""Functions printed in C give the results of native code."""

import ctypes
import shutil
import subprocess

import numpy as np
import pytest

from tests.native.printed import SELECTED, known, programs_of, symbol
from tests.native.test_subroutines import CASES
from zwang.native import NotNativeError, subroutines
from zwang.native.c import c_function, numbered, prelude
from zwang.objects.recent import Recent

FLAGS = ["-std=c99", "-O0", "-Wall", "-Wextra", "-Werror", "-pedantic", "-fPIC", "-shared"]
FEW_UNITS = 1e-15
"""Relative: where the compiler has no fused product, sums are rounded twice."""
pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")


@pytest.fixture(scope="module", params=[SELECTED, pytest.param(1, marks=pytest.mark.slow)])
def library(request, tmp_path_factory):
    """Every case in one file, and those that C refuses."""
    cases = known(request.param)
    compiled, refused, _ = in_c(cases, tmp_path_factory.mktemp("printed"))
    return compiled, refused, cases


def in_c(cases, folder):
    """Cases in one file of C, compiled; which of them C refuses and why, and the text."""
    printed, refused = {}, {}
    for name, (program, arrays, _) in cases.items():
        names = [f"a{k}" for k in range(len(arrays))]
        results = [f"r{k}" for k in range(len(program.out_avals))]
        try:
            printed[name] = c_function(program, symbol(name), names, results)
        except NotNativeError as error:
            refused[name] = str(error)
    text = numbered("\n".join([prelude(printed.values()), *(f.text for f in printed.values())]))
    (folder / "cases.c").write_text(text.replace("static void f", "void f"))
    subprocess.run(["cc", *FLAGS, "cases.c", "-o", "cases.so", "-lm"], cwd=folder, check=True)
    return ctypes.CDLL(str(folder / "cases.so")), refused, text


def wrong(compiled, cases) -> list:
    """Cases of which C gives something else."""
    found = []
    for name, (program, arrays, expected) in cases.items():
        results = [np.zeros(x.shape, x.dtype) for x in program.out_avals]
        given = (*map(np.ascontiguousarray, arrays), *results)
        compiled[symbol(name)](*(x.ctypes.data_as(ctypes.c_void_p) for x in given))
        for x, y in zip(results, expected, strict=True):
            size = np.max(np.abs(y[np.isfinite(y)]), initial=0.0) if y.dtype.kind == "f" else 0.0
            unit = FEW_UNITS if y.dtype == np.float64 else 1e-6
            if not np.allclose(x, y, rtol=10 * unit, atol=100 * unit * size, equal_nan=True):
                found.append((name, x, y))
    return found


@pytest.mark.slow
def test_c_gives_what_native_code_gives(library):
    """In one test, as each case takes a millisecond."""
    compiled, refused, cases = library
    off = wrong(compiled, {k: x for k, x in cases.items() if k not in refused})
    assert not off, off[:3]


def test_functions_that_are_called_several_times_are_printed_once(tmp_path, monkeypatch):
    monkeypatch.setattr(subroutines, "LEAST", 1)
    Recent.forget()
    cases = programs_of({k: x for k, x in CASES.items() if k != "routines"})
    compiled, refused, text = in_c(cases, tmp_path)
    off = wrong(compiled, cases)
    assert not refused and not off, off[:3]
    once = in_c({"twice": cases["twice"]}, tmp_path)[2]
    assert once.count("static void part1_curve(") == 1 and once.count("    part1_curve(&") == 2
    assert "zwang_s" not in text


def test_c_refuses_calls_of_lapack_alone(library):
    _, refused, _ = library
    others = {k: x for k, x in refused.items() if "LAPACK" not in x}
    assert not others, others
