"""LAPACK without the rest of SciPy: the same routines, and SciPy whole when it is wanted."""

import subprocess
import sys

from zwang.compile.lapack import lapack_routines

ALONE = """
import sys
import numpy as np
from zwang.compile import lapack_routines

routines = lapack_routines()
assert "scipy.linalg" not in sys.modules, "the whole of SciPy's linear algebra was imported"
factor, failed = routines.dpotrf(np.array([[4.0, 2.0], [2.0, 5.0]]), lower=1)
assert not failed and np.allclose(np.tril(factor), [[2, 0], [1, 2]])

import jax
jax.config.update("jax_enable_x64", True)
import jax.numpy as jnp
assert np.allclose(jnp.linalg.cholesky(jnp.array([[9.0]])), 3.0)
assert "scipy.linalg" not in sys.modules, "a compiled factorization imported it"

import scipy.linalg
import scipy.linalg.cython_lapack
from scipy.linalg import cython_blas
assert scipy.linalg.lapack.dpotrf is routines.dpotrf
assert np.allclose(scipy.linalg.expm(np.zeros((2, 2))), np.eye(2))
"""


ELSEWHERE = """
import sys
import numpy as np
from zwang.compile import lapack

lapack.EXTENSIONS = ("no_such_extension",)
routines = lapack.lapack_routines()
assert "scipy.linalg" in sys.modules
assert np.allclose(routines.dpotrf(np.array([[4.0]]))[0], 2.0)
"""


def _run(program: str) -> None:
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr


def test_programs_and_the_host_factor_without_importing_scipys_linear_algebra():
    _run(ALONE)


def test_where_scipy_is_imported_its_own_module_is_taken():
    import scipy.linalg

    assert lapack_routines().dpotrs is scipy.linalg.lapack.dpotrs


def test_an_extension_that_is_not_there_falls_back_to_the_import():
    _run(ELSEWHERE)
