"""A⊕ from sparse entries compared with NumPy's pseudoinverse: values, derivatives, subsets of
rows.
"""

from __future__ import annotations

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.algebra.pseudoinverse.matrices import QUICK
from zwang.algebra.elimination.elimination import plan
from zwang.algebra.elimination.matrix import Layout
from zwang.algebra.elimination.pseudoinverse import MOST_SWEEPS
from zwang.algebra.gauss import Gauss
from zwang.algebra.mass_matrix import factor_mass
from zwang.algebra.pseudoinverse import Proximal
from zwang.thresholds import ROUND_OFF

RANDOM = np.random.default_rng(3)
PATTERN = np.array([[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1], [0, 0, 0, 1], [1, 1, 0, 0]], bool)
SIZE, NV, ROWS = 2, 8, 5
FREE = np.kron(PATTERN, np.ones((1, SIZE)))
UNITS = np.array([1.0, 1e3, 1.0, 1e-2, 4.0])
"""Factors of the rows; the last row is a multiple of the first."""
SOME = np.array([4, 2, 0])


@functools.cache
def places(size: int):
    """Layout and plan of the entries, columns in blocks of a size."""
    row, block = np.nonzero(PATTERN if size == SIZE else FREE)
    color = np.arange(NV // size) % (4 // size)
    with jax.ensure_compile_time_eval():
        given = row, block, color, (ROWS, NV), size
        return Layout(*given), plan(*given)


def matrix(entries: np.ndarray) -> np.ndarray:
    """A with entries (4, 8) of its independent rows."""
    rows = FREE[:4] * entries
    return UNITS[:, None] * np.vstack([rows, rows[0]])


ENTRIES, CHANGE = RANDOM.standard_normal((2, 4, NV))
A, DA = matrix(ENTRIES), matrix(CHANGE)
_ROOTS = RANDOM.standard_normal((4, SIZE, SIZE))
BLOCKS = _ROOTS @ _ROOTS.transpose(0, 2, 1) + np.eye(SIZE)
M = np.zeros((NV, NV))
for _i, _b in enumerate(BLOCKS):
    M[2 * _i : 2 * _i + 2, 2 * _i : 2 * _i + 2] = _b
W = np.linalg.inv(np.linalg.cholesky(M)).T
X, DX = RANDOM.standard_normal((2, NV))
G, H = RANDOM.standard_normal(NV), RANDOM.standard_normal(ROWS)


def unit_rows(A: np.ndarray, W=W):
    length = np.linalg.norm(A @ W, axis=1)
    return A @ W / length[:, None], length


def exact(A: np.ndarray, r: np.ndarray, W=W) -> tuple[np.ndarray, np.ndarray]:
    """`A⊕ r` and the multipliers of least norm for rows of unit length."""
    C, length = unit_rows(A, W)
    inverse = np.linalg.pinv(C, rcond=1e-8)
    y = inverse @ (r / length)
    return W @ y, (inverse.T @ y) / length


def weighted(A, mass=BLOCKS, rows=None, **options) -> Gauss:
    layout, order = places(1 if np.ndim(mass) == 1 else SIZE)
    made = layout.evaluate(lambda w: jnp.asarray(A) @ w)
    made = made if rows is None else made[rows]
    method = options.pop("method", Proximal())
    return Gauss(factor_mass(jnp.asarray(mass)), made, method, plan=order, **options)


@functools.cache
def found() -> dict:
    """Everything of the operator in one program."""

    def all_of(A, r, x):
        op = weighted(A)
        some = weighted(A, rows=jnp.asarray(SOME))
        diagonal = weighted(A, mass=np.arange(1.0, NV + 1))
        damped = weighted(A, method=Proximal(damping=0.1, sweeps=1))
        damped_length = weighted(
            A, row_length=jnp.asarray(LONGER), method=Proximal(damping=0.1, sweeps=2)
        )
        certified = op.certified(r, jnp.abs(r))
        certified_some = some.certified(r[SOME], jnp.abs(r[SOME]))
        return {
            "correct": op.correct(r),
            "columns": op.columns(jnp.stack([r, 3 * r], 1)),
            "estimate": op.estimate(r),
            "refine": op.refine(r, x),
            "multipliers": op.multipliers(r),
            "tangent": op.tangent(x),
            "units": op.units(),
            "scale": op.scale,
            "rank": op.rank(),
            "rank of some": some.rank(),
            "log_det": op.log_det(),
            "damped log_det": damped.log_det(),
            "least": op.least_singular_value(),
            "least of some": some.least_singular_value(),
            "certified": (certified.solution, certified.multipliers, certified.quality),
            "certified some": (certified_some.solution, certified_some.multipliers),
            "some": some.correct(r[SOME]),
            "multipliers of some": some.multipliers(r[SOME]),
            "diagonal": diagonal.correct(r),
            "damped": damped.correct(r),
            "damped estimate": damped_length.estimate(r),
            "damped twice": damped_length.correct(r),
            "longer scale": damped_length.scale,
        }

    program = jax.jit(all_of, compiler_options=QUICK)
    answer = program(jnp.asarray(A), jnp.asarray(A @ X), jnp.asarray(X))
    return jax.tree_util.tree_map(np.asarray, answer)


LONGER = unit_rows(A)[1] * np.array([1.0, 2.0, 0.5, 1.0, 3.0])
near = functools.partial(np.testing.assert_allclose, rtol=1e-7, atol=1e-9)


@pytest.mark.slow
def test_a_residual_is_corrected_by_the_weighted_pseudoinverse():
    expected = exact(A, A @ X)[0]
    near(found()["correct"], expected)
    near(found()["columns"], np.stack([expected, 3 * expected]))
    near(found()["refine"], expected, rtol=1e-10)
    near(found()["tangent"], X - expected)


def test_multipliers_are_least_and_carry_the_force():
    x, expected = exact(A, A @ X)
    near(found()["multipliers"], expected, atol=1e-6)
    near(A.T @ found()["multipliers"], M @ x, atol=1e-6)


def test_rows_are_brought_to_unit_length():
    length = unit_rows(A)[1]
    near(found()["scale"], 1 / length)
    near(found()["units"], 1 / length)
    near(found()["longer scale"], 1 / LONGER)


def test_rank_and_singular_values_are_those_of_unit_rows():
    C = unit_rows(A)[0]
    sigma = np.linalg.svd(C, compute_uv=False)
    assert found()["rank"] == 4 and found()["rank of some"] == 2
    near(found()["least"], sigma[3], rtol=1e-3)
    some = np.linalg.svd(C[SOME], compute_uv=False)
    near(found()["least of some"], some[1], rtol=1e-3)


def test_the_determinant_is_that_of_the_damped_product():
    C = unit_rows(A)[0]
    for name, mu in (("log_det", 1e-10), ("damped log_det", 0.1)):
        exactly = np.linalg.slogdet(C @ C.T + mu * np.eye(ROWS))[1]
        near(found()[name], exactly, rtol=1e-4)


def test_a_certified_solution_is_solved_to_round_off():
    x, multipliers, quality = found()["certified"]
    expected = exact(A, A @ X)
    np.testing.assert_allclose(x, expected[0], rtol=1e-11, atol=1e-12)
    near(multipliers, expected[1], atol=1e-7)
    assert quality <= 1
    x, multipliers = found()["certified some"]
    expected = exact(A[SOME], (A @ X)[SOME])
    np.testing.assert_allclose(x, expected[0], rtol=1e-11, atol=1e-12)
    near(multipliers, expected[1], atol=1e-7)


def test_a_part_of_the_rows_is_corrected_without_the_others():
    expected = exact(A[SOME], (A @ X)[SOME])
    near(found()["some"], expected[0])
    near(found()["multipliers of some"], expected[1], atol=1e-6)


def test_a_diagonal_mass_weighs_too():
    near(found()["diagonal"], exact(A, A @ X, np.diag(np.arange(1.0, NV + 1) ** -0.5))[0])


def test_sweeps_leave_the_damped_part():
    """After k sweeps λ = Σ Gᵏ (Q + μ I)⁻¹ r with G = μ (Q + μ I)⁻¹, μ beside the largest row."""
    length = unit_rows(A)[1]
    for name, unit, sweeps in (
        ("damped", length, 1),
        ("damped estimate", LONGER, 1),
        ("damped twice", LONGER, 2),
    ):
        C = A @ W / unit[:, None]
        mu = 0.1 * np.max(np.sum(C**2, axis=1))
        inverse = np.linalg.inv(C @ C.T + mu * np.eye(ROWS))
        left = r = (A @ X) / unit
        y = np.zeros(NV)
        for _ in range(sweeps):
            y = y + C.T @ inverse @ left
            left = r - C @ y
        near(found()[name], W @ y)


# --- when sweeps end ------------------------------------------------------------------------------


def swept(damping: float, sweeps: int, **change):
    op = weighted(A, method=Proximal(damping=damping, sweeps=sweeps))
    return dataclasses.replace(op.C.sweeps, **change), op


def test_sweeps_end_where_little_is_left_and_nan_goes_on():
    def left_of(r):
        out = []
        for count, enough in ((50, 0.0), (50, 1e-3), (50, 0.3), (3, 0.0), (2, jnp.nan)):
            sweeps, op = swept(0.1, count, enough=enough)
            y = sweeps.solve(op.scale * r)[1]
            out.append(jnp.linalg.norm(op.scale * r - op.rows @ y))
        # as many as MOST_SWEEPS, fewer once less than ROUND_OFF of x is left
        sweeps, op = swept(0.1, 1)
        for size in (1.0, 1e12):
            x = op.refine(r, size * jnp.asarray(X))
            out.append(jnp.linalg.norm(op.scale * (r - op.A @ x)))
        return jnp.stack(out)

    C, length = unit_rows(A)
    r, mu = A @ X / length, 0.1
    keep = mu * np.linalg.inv(C @ C.T + mu * np.eye(ROWS))
    after = [np.linalg.norm(np.linalg.matrix_power(keep, k) @ r) for k in range(51)]
    speed = np.sqrt(X @ M @ X)
    found = np.asarray(jax.jit(left_of, compiler_options=QUICK)(jnp.asarray(A @ X)))
    first = lambda enough: next(x for k, x in enumerate(after) if k and x <= enough)
    assert found[0] < 1e-14 * np.linalg.norm(r) or found[0] == pytest.approx(after[50], rel=1e-3)
    assert found[1] == pytest.approx(first(1e-3), rel=1e-6)
    assert found[2] == pytest.approx(first(0.3), rel=1e-6)
    assert found[3] == pytest.approx(after[3], rel=1e-6)
    assert found[4] == pytest.approx(after[2], rel=1e-6)
    assert found[5] == pytest.approx(after[MOST_SWEEPS], rel=1e-4)
    enough = ROUND_OFF * 1e12 * speed
    assert found[6] == pytest.approx(first(enough), rel=1e-6) and found[6] != found[5]


# --- derivatives ----------------------------------------------------------------------------------

STEP = 1e-6


def slope(f):
    """Central difference of f(s) at zero."""
    return (f(STEP) - f(-STEP)) / (2 * STEP)


@functools.cache
def derivatives() -> dict:
    """Of corrections, multipliers and certified solutions along (A + s DA) (x + s DX)."""

    def answers(A, x):
        op, r = weighted(A), A @ x
        certified = op.certified(r, jnp.abs(r))
        return (
            op.correct(r),
            op.multipliers(r),
            certified.solution,
            certified.multipliers,
        )

    def both(A, x, dA, dx):
        forward = jax.jvp(answers, (A, x), (dA, dx))[1]
        _, back = jax.vjp(answers, A, x)
        cotangents = tuple(jnp.asarray(G if y.shape == (NV,) else H) for y in forward)
        gA, gx = back(cotangents)
        return forward, jnp.sum(gA * dA) + gx @ dx

    program = jax.jit(both, compiler_options=QUICK)
    forward, reverse = program(*map(jnp.asarray, (A, X, DA, DX)))
    return {"forward": [np.asarray(x) for x in forward], "reverse": np.asarray(reverse)}


def expected_slopes() -> list[np.ndarray]:
    at = lambda s: exact(A + s * DA, (A + s * DA) @ (X + s * DX))
    x, multipliers = (slope(lambda s, i=i: at(s)[i]) for i in (0, 1))
    return [x, multipliers, x, multipliers]


NAMES = ("correction", "multipliers", "certified", "certified multipliers")


@pytest.mark.slow
@pytest.mark.parametrize("which", range(4), ids=NAMES)
def test_derivatives_are_those_of_the_pseudoinverse(which):
    derivative, difference = derivatives()["forward"][which], expected_slopes()[which]
    size = np.max(np.abs(difference))
    np.testing.assert_allclose(derivative / size, difference / size, atol=1e-6)


@pytest.mark.slow
def test_reverse_derivatives_are_the_transpose_of_forward_ones():
    along = [(G if x.shape == (NV,) else H) @ x for x in derivatives()["forward"]]
    assert derivatives()["reverse"] == pytest.approx(sum(along), rel=1e-6)
