"""Analyses that need all of A at once accept a model of the sparse path."""

import equinox as eqx
import numpy as np
import pytest

import zwang as zw
from zwang import gallery, testing
from zwang.cli import main
from zwang.dynamics import sparse_structure

from .models import bars


@pytest.fixture
def sparse(monkeypatch):
    """Models of few rows and entries take the sparse path, too."""
    monkeypatch.setattr(sparse_structure, "FEW_ENTRIES", 0)
    monkeypatch.setattr(sparse_structure, "NATIVE_SPARSE_ROWS", 80)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "N", "rank"),
    [
        ("rod-chain", 40, 80),
        pytest.param("rod-chain", 160, 320, marks=pytest.mark.slow),
        pytest.param("n-four-bar", 60, 362, marks=pytest.mark.slow),
    ],
)
@pytest.mark.usefixtures("sparse")
def test_a_diagnosis_of_a_model_on_the_sparse_path(name, N, rank):
    example = gallery.load(name, N=N)
    assert isinstance(example.model.dynamics().pseudoinverse, zw.methods.Sparse)
    found = zw.check(example.model, example.q0, example.v0)
    assert found.consistent
    assert found.rank == found.m == rank


@pytest.mark.slow
@pytest.mark.usefixtures("sparse")
def test_the_public_checks_take_a_model_of_the_sparse_path():
    example = gallery.load("rod-chain", N=160)
    assert isinstance(example.model.dynamics().pseudoinverse, zw.methods.Sparse)
    testing.check_model(example.model, example.q0, example.v0)


def test_a_sparse_matrix_becomes_an_array_when_asked_and_never_by_a_product():
    model, q, v = bars("chain", 12)
    A, whole = (
        eqx.filter_jit(model.dynamics(pseudoinverse=m).matrix)(model.state(q, v))
        for m in (zw.methods.Sparse(), zw.methods.Proximal())
    )
    np.testing.assert_allclose(np.asarray(A), whole, atol=1e-14)
    with pytest.raises(TypeError):
        np.ones(A.shape[0]) @ A


@pytest.mark.slow
@pytest.mark.usefixtures("sparse")
def test_the_command_line_runs_reports_and_checks_a_model_of_the_sparse_path(tmp_path):
    assert (
        main(["run", "rod-chain", "--set", "N=160", "--duration", "0.05", "--out", str(tmp_path)])
        == 0
    )
    assert (tmp_path / "report.html").stat().st_size > 10_000
    assert main(["check", "rod-chain", "--set", "N=160"]) == 0
