"""The sparsity pattern is found, without missing entries."""

import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw
from zwang.algebra.elimination.order import Blocks, eliminate, independent
from zwang.algebra.elimination.probing import detect
from zwang.algebra.sparsity_pattern import colors
from zwang.dynamics.sparse_structure import FEW_ENTRIES, NATIVE_SPARSE_ROWS, sparsity_of

from .models import bars


@pytest.mark.parametrize(
    "m, blocks, size", [(1, 1, 1), (7, 1, 3), (30, 17, 1), (60, 40, 6), (200, 333, 2)]
)
def test_entries_are_found_from_products_alone(m, blocks, size):
    random = np.random.default_rng(m)
    full = random.random((m, blocks)) < 3 / blocks
    A = np.kron(full, np.ones((1, size))) * random.standard_normal((m, blocks * size))
    row, block = detect(lambda w: w @ A.T, m, blocks, size)
    found = np.zeros_like(full)
    found[row, block] = True
    assert np.array_equal(found, full)


def test_a_full_row_is_no_sparse_matrix():
    A = np.eye(400)
    A[3] = 1.0
    assert detect(lambda w: w @ A.T, 400, 400, 1) is None


def test_no_row_meets_two_columns_of_one_color():
    full = np.random.default_rng(5).random((80, 60)) < 0.05
    row, column = np.nonzero(full)
    color = colors(row, column, 80, 60)
    assert all(len(set(color[full[i]])) == full[i].sum() for i in range(80))


def test_rounds_eliminate_nodes_that_do_not_touch_and_keep_the_schur_complements_pattern():
    full = np.random.default_rng(2).random((50, 50)) < 0.04
    i, j = np.nonzero(full | full.T)
    blocks = Blocks.of(50, i, j)
    chosen = independent(blocks)
    assert len(chosen) > 10
    touching = (
        np.isin(blocks.high, chosen) & np.isin(blocks.low, chosen) & (blocks.high != blocks.low)
    )
    assert not np.any(touching)
    _, left, _ = eliminate(blocks, chosen)
    full = full | full.T | np.eye(50, dtype=bool)
    kept = np.setdiff1d(np.arange(50), chosen)
    through = (full[kept][:, chosen].astype(int) @ full[chosen][:, kept].astype(int) > 0) | full[
        np.ix_(kept, kept)
    ]
    seen = np.zeros_like(through)
    seen[left.high, left.low] = seen[left.low, left.high] = True
    assert np.array_equal(seen, through)


def test_a_chain_takes_few_products_and_few_rounds():
    structure = sparsity_of(bars("chain", 300)[0]).structure
    assert structure.layout.colors <= 6
    assert structure.plan.elimination.rounds <= 8  # log2 of 600 rows


def test_sparsity_is_used_by_itself_only_where_it_pays():
    assert sparsity_of(bars("chain", 300)[0]).pays()
    assert not sparsity_of(bars("chain", 20)[0]).pays()
    assert isinstance(bars("chain", 300)[0].dynamics().pseudoinverse, zw.methods.Sparse)
    assert isinstance(bars("chain", 20)[0].dynamics().pseudoinverse, zw.methods.Proximal)


def test_native_code_of_few_entries_stays_on_the_dense_path(monkeypatch):
    """Ladders of 180 and of 220 bars."""
    short, long = (bars("ladder", N)[0] for N in (180, 220))
    assert short.constraints.m > NATIVE_SPARSE_ROWS
    entries = [np.count_nonzero(x.constraints.pattern) for x in (short, long)]
    assert entries[0] <= FEW_ENTRIES < entries[1], entries
    assert not sparsity_of(short).pays() and sparsity_of(long).pays()
    assert sparsity_of(short).pays(implicit=True)
    monkeypatch.setenv("ZWANG_ENGINE", "xla")
    assert sparsity_of(short).pays()


def test_a_dense_mass_matrix_has_no_structure_and_the_error_says_what_to_do():
    system = zw.System(3, lambda q, t, p: jnp.eye(3), lambda q, v, t, p: jnp.zeros(3))
    model = zw.Model(system, [zw.Holonomic(lambda q, t, p: q[0])])
    with pytest.raises(zw.ModelError, match="given as its diagonal or in blocks"):
        zw.motion(model, np.zeros(3), np.zeros(3), pseudoinverse=zw.methods.Sparse())


@pytest.mark.slow
def test_an_entry_that_appears_elsewhere_is_noticed():
    """Rows couple to the last coordinate only where q0 < −1, where nobody looked."""
    system = zw.System(4, lambda q, t, p: jnp.ones(4), lambda q, v, t, p: jnp.zeros(4))
    hidden = zw.Holonomic(
        lambda q, t, p: jnp.where(q[0] < -1, q[1] + q[3], q[1] + q[2]), name="hidden"
    )
    model = zw.Model(system, [hidden])
    with pytest.raises(zw.ModelError, match="did not depend on"):
        zw.motion(model, [-2.0, 0.0, 0.0, 0.0], np.zeros(4), pseudoinverse=zw.methods.Sparse())
    assert (
        zw.motion(
            model, [2.0, 0.0, 0.0, 0.0], np.zeros(4), pseudoinverse=zw.methods.Sparse()
        ).result
        == 0
    )
