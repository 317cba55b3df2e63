"""Functions printed in C give the results of native code."""

import ctypes
import shutil
import subprocess

import numpy as np
import pytest

from tests.native.printed import SELECTED, known, symbol
from zwang.native import NotNativeError
from zwang.native.c import c_function, prelude

FLAGS = ["-std=c99", "-O0", "-Wall", "-Wextra", "-Werror", "-pedantic", "-fPIC", "-shared"]
FEW_UNITS = 1e-15
"""Relative: where the compiler has no fused product, sums are rounded twice."""
pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")


@pytest.fixture(scope="module", params=[SELECTED, pytest.param(1, marks=pytest.mark.slow)])
def library(request, tmp_path_factory):
    """Every case in one file, and those that C refuses."""
    every, printed, refused = request.param, {}, {}
    for name, (program, arrays, _) in known(every).items():
        names = [f"a{k}" for k in range(len(arrays))]
        results = [f"r{k}" for k in range(len(program.out_avals))]
        try:
            printed[name] = c_function(program, symbol(name), names, results)
        except NotNativeError as error:
            refused[name] = str(error)
    folder = tmp_path_factory.mktemp("printed")
    text = "\n".join([prelude(printed.values()), *(f.text for f in printed.values())])
    (folder / "cases.c").write_text(text.replace("static void", "void"))
    subprocess.run(["cc", *FLAGS, "cases.c", "-o", "cases.so", "-lm"], cwd=folder, check=True)
    return ctypes.CDLL(str(folder / "cases.so")), refused, every


def test_c_gives_what_native_code_gives(library):
    """In one test, as each case takes a millisecond."""
    compiled, refused, every = library
    wrong = []
    for name, (program, arrays, expected) in known(every).items():
        if name in refused:
            continue
        found = [np.zeros(x.shape, x.dtype) for x in program.out_avals]
        pointers = [
            x.ctypes.data_as(ctypes.c_void_p) for x in (*map(np.ascontiguousarray, arrays), *found)
        ]
        compiled[symbol(name)](*pointers)
        for x, y in zip(found, expected, strict=True):
            size = np.max(np.abs(y[np.isfinite(y)]), initial=0.0) if y.dtype.kind == "f" else 0.0
            unit = FEW_UNITS if y.dtype == np.float64 else 1e-6
            if not np.allclose(x, y, rtol=10 * unit, atol=100 * unit * size, equal_nan=True):
                wrong.append((name, x, y))
    assert not wrong, wrong[:3]


def test_c_refuses_calls_of_lapack_alone(library):
    _, refused, _ = library
    others = {k: x for k, x in refused.items() if "LAPACK" not in x}
    assert not others, others
