"""Functions that use each primitive, with their arguments."""

from __future__ import annotations

import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

RANDOM = np.random.default_rng(7)
SPECIAL = (
    *(0.0, -0.0, np.inf, -np.inf, np.nan, 2.3e-308, -2.3e-308),
    *(1.0, -1.0, 0.5, -0.5, 1.5, -2.5, 2.0, 3.0, -7.0, 0.49999999999999994, 1e-8, -1e5),
    *(1e154, -1e200, 1.7e308, np.pi, 709.5, -745.0, 88.0, -103.0),
)
SUBNORMAL = (5e-324, -5e-324, 1e-310, 2e-308)
"""Which XLA takes for zero, and native code for what they are."""
WHOLE = (0, 1, -1, 2, -2, 3, 7, -7, 31, 32, 63, 64, 100, -100, 2**31 - 1, -(2**31))


def one(values=SPECIAL, dtype=np.float64):
    with np.errstate(all="ignore"):
        return np.concatenate([np.array(values), 3 * RANDOM.normal(size=20)]).astype(dtype)


def pairs(values=SPECIAL, dtype=np.float64):
    """Each special value beside each, in two arrays."""
    with np.errstate(all="ignore"):
        found = np.array(list(itertools.product(values, values))).astype(dtype)
    return found[:, 0].copy(), found[:, 1].copy()


def whole(dtype=np.int64):
    x, y = pairs(WHOLE, np.int64)
    return x.astype(dtype), y.astype(dtype)


OF_ONE = {
    **{
        name: getattr(lax, name)
        for name in (
            *("neg", "abs", "sign", "floor", "ceil", "is_finite", "exp", "exp2", "expm1", "log"),
            *("log1p", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh"),
            *("asinh", "acosh", "atanh", "sqrt", "rsqrt", "cbrt", "logistic", "erf", "erfc"),
            "square",
        )
    },
    "round to even": functools.partial(
        lax.round, rounding_method=lax.RoundingMethod.TO_NEAREST_EVEN
    ),
    "round away": functools.partial(lax.round, rounding_method=lax.RoundingMethod.AWAY_FROM_ZERO),
    "a power": lambda x: x**5,
    "a negative power": lambda x: x**-3,
}
"""Functions of one array of floats."""
COMPARED = ("eq", "ne", "lt", "le", "gt", "ge")


def _in_full(name, x, y):
    """A comparison that places −0 before 0 and NaN last."""
    return getattr(lax, f"{name}_to_p").bind(x, y)


OF_TWO = {
    **{
        name: getattr(lax, name)
        for name in (*("add", "sub", "mul", "div", "rem", "max", "min", "pow", "atan2"), *COMPARED)
    },
    "nextafter": lax.nextafter,
    **{f"{name}, in full": functools.partial(_in_full, name) for name in ("eq", "lt", "le")},
}
"""Functions of two arrays of floats."""
OF_INTEGERS = {
    **{
        name: getattr(lax, name)
        for name in (*("add", "sub", "mul", "div", "rem", "max", "min"), *COMPARED)
    },
    "and": lax.bitwise_and,
    "or": lax.bitwise_or,
    "xor": lax.bitwise_xor,
    "shift_left": lax.shift_left,
    "shift_right_logical": lax.shift_right_logical,
    "shift_right_arithmetic": lax.shift_right_arithmetic,
    "not": lambda x, y: lax.bitwise_not(x),
    "neg": lambda x, y: -x,
    "abs": lambda x, y: jnp.abs(x),
    "sign": lambda x, y: lax.sign(x),
    "square": lambda x, y: lax.square(x),
    "a power": lambda x, y: lax.integer_pow(x, 3),
    "sums": lambda x, y: (jnp.cumsum(x), jnp.sum(y), jnp.prod(x[:6])),
    "extrema": lambda x, y: (jnp.max(x), jnp.min(y), jnp.argmax(x), lax.cummax(x), lax.cummin(y)),
    "clamp": lambda x, y: lax.clamp(x.dtype.type(1), x, x.dtype.type(5)),
    "product": lambda x, y: x[:9].reshape(3, 3) @ y[:9].reshape(3, 3),
}
OF_TRUTHS = {
    "and": jnp.logical_and,
    "or": jnp.logical_or,
    "xor": jnp.logical_xor,
    "not": lambda x, y: ~x,
    "all": lambda x, y: (jnp.all(x), jnp.any(y), lax.reduce_xor(x, (0,))),
    "compared": lambda x, y: (x == y, x != y, x < y, x <= y),
    "counted": lambda x, y: jnp.sum(x) + jnp.sum(y.astype(jnp.int32)),
    "chosen": lambda x, y: jnp.where(x, y, ~y),
    "extrema": lambda x, y: (jnp.max(x), jnp.min(y)),
}

A = RANDOM.normal(size=(4, 3))
B = RANDOM.normal(size=(3, 5))
C = RANDOM.normal(size=(2, 3, 4))
V = RANDOM.normal(size=7)
WIDE = RANDOM.normal(size=(40, 35))
"""More elements than are read at the beginning: it lies in memory."""
MATRIX = RANDOM.normal(size=(6, 6))
POSITIVE = MATRIX @ MATRIX.T + np.eye(6)
PLACES = np.array([2, 0, 5, -1, 6, 2])
FAR = np.array([2, -9, 100, 6])

MOVED = {
    "reshape": (lambda x: x.reshape(3, 4), A),
    "transpose": (lambda x: x.transpose(2, 0, 1), C),
    "broadcast": (lambda x: jnp.broadcast_to(x[:, None], (4, 2, 3)), A),
    "slice": (lambda x: x[1:4:2, ::-1], A),
    "concatenate": (lambda x: jnp.concatenate([x, 2 * x, x[:1]]), A),
    "stack": (lambda x: jnp.stack([x, -x], axis=1), A),
    "split": (lambda x: jnp.split(x, [1, 4]), V),
    "tile": (lambda x: jnp.tile(x, (2, 3)), A),
    "pad": (lambda x: lax.pad(x, 9.0, [(1, 2, 1), (0, -1, 0)]), A),
    "iota": (lambda x: x + jnp.arange(7) * lax.broadcasted_iota(int, (7,), 0), V),
    "undefined": (lambda x: x + 0 * lax.empty(x.shape, x.dtype), V),
    "squeeze and expand": (lambda x: lax.expand_dims(jnp.squeeze(x[:, None]), (0,)), V),
    "squeeze": (lambda x: jnp.squeeze(x[None, :, None]), V),
    "repeat": (lambda x: jnp.repeat(x, 3), V),
    "diagonal": (lambda x: (jnp.diag(x[:, 0]), jnp.trace(x[:3]), jnp.diagonal(x)), A),
    "an empty array": (lambda x: (x[:0], jnp.sum(x[:0]), jnp.zeros((0, 3)) @ jnp.ones((3, 2))), V),
    "reversed in memory": (lambda x: x[::-1, ::2], WIDE),
    "transposed in memory": (lambda x: x.T.reshape(-1)[::3], WIDE),
    "concatenated in memory": (lambda x: jnp.concatenate([x, x[:2]], axis=0), WIDE),
    "padded in memory": (lambda x: jnp.pad(x, ((1, 1), (0, 2))), WIDE),
    "counted in memory": (lambda x: x + jnp.arange(35), WIDE),
    "barrier": (lambda x: lax.optimization_barrier(jnp.sin(x)), V),
    "stopped": (lambda x: lax.stop_gradient(x) * 2, V),
    "reduced precision": (lambda x: lax.reduce_precision(x, 11, 52), V),
    "copied": (lambda x: jnp.copy(x), V),
}
INDEXED = {
    "gather": (lambda x, i: x[i], V, PLACES),
    "gather rows": (lambda x, i: x[i], A, PLACES % 4),
    "gather, filled": (lambda x, i: x.at[i].get(mode="fill", fill_value=3.0), V, FAR),
    "gather, NaN": (lambda x, i: x.at[i].get(mode="fill"), V, FAR),
    "gather, clipped": (lambda x, i: x.at[i].get(mode="clip"), V, FAR),
    "gather, known": (lambda x, i: x[np.array([3, 1])], V, PLACES),
    "gather in memory": (lambda x, i: x[i, i], WIDE, PLACES),
    "gather of integers": (lambda x, i: i.at[i].get(mode="fill"), V, np.array([2, 9, 1])),
    "take along": (lambda x, i: jnp.take_along_axis(x, i, axis=1), A, np.array([[0, 2]] * 4)),
    "gather of a batch": (
        jax.vmap(lambda x, i: lax.dynamic_slice(x, (i,), (2,))),
        A,
        np.array([0, 1, 7, -5]),
    ),
    "dynamic_slice": (lambda x, i: lax.dynamic_slice(x, (i[0], i[1]), (2, 2)), A, PLACES),
    "dynamic_slice in memory": (
        lambda x, i: lax.dynamic_slice(x, (i[2], i[1]), (9, 30)),
        WIDE,
        FAR,
    ),
    "dynamic_update_slice": (
        lambda x, i: lax.dynamic_update_slice(x, x[:2, :2] + 1, (i[0], i[1])),
        A,
        PLACES,
    ),
    "dynamic_update_slice in memory": (
        lambda x, i: lax.dynamic_update_slice(x, x[1:31, 1:31], (i[0], i[1])),
        WIDE,
        FAR,
    ),
    "set": (lambda x, i: x.at[i[0]].set(3.0), V, PLACES),
    "set, known": (lambda x, i: x.at[np.array([1, 4])].set(x[:2]), V, PLACES),
    "set a row": (lambda x, i: x.at[i[0]].set(x[0]), A, PLACES),
    "set a long row": (lambda x, i: x.at[:, i[0]].set(x[:, 0] + 1), np.tile(WIDE, (8, 1)), PLACES),
    "set outside": (lambda x, i: x.at[i].set(3.0, mode="drop"), V, FAR),
    **{
        name: (lambda x, i, name=name: getattr(x.at[i], name)(2 * x[:6]), V, PLACES)
        for name in ("add", "multiply", "min", "max", "subtract")
    },
    "add outside": (lambda x, i: x.at[i].add(x[:4]), V, FAR),
    "add in memory": (lambda x, i: x.at[i, i].add(1), WIDE, PLACES),
    "add truths as numbers": (lambda x, i: jnp.zeros(7, int).at[i].add(x[:6] > 0), V, PLACES),
    "scatter of a batch": (
        jax.vmap(lambda x, i: x.at[i].set(9)),
        A,
        np.array([0, 1, 2, 0]),
    ),
    "add to each of a broadcast": (
        lambda x, i: jax.vmap(lambda y: x.at[i[:1]].set(1).at[i[1:3]].add(y))(
            jnp.stack([x[:2], x[2:4], x[4:6]])
        ),
        V,
        PLACES,
    ),
    "unsigned places": (lambda x, i: x[i.astype(jnp.uint32)], V, np.array([1, 3])),
    "short places": (lambda x, i: x.at[i.astype(jnp.int8)].add(1), V, np.array([1, 3])),
}
REDUCED = {
    "sum": (lambda x: (jnp.sum(x), jnp.sum(x, 0), jnp.sum(x, (0, 2))), C),
    "product": (lambda x: (jnp.prod(x), jnp.prod(x, 1)), C),
    "extrema": (lambda x: (jnp.max(x), jnp.min(x, 1)), C),
    "extrema with NaN": (lambda x: (jnp.max(x), jnp.min(x)), one()),
    "places": (lambda x: (jnp.argmax(x), jnp.argmin(x, 1), jnp.argmax(x, 0)), C),
    "places with NaN": (lambda x: (jnp.argmax(x), jnp.argmin(x)), one()),
    "cumulative": (
        lambda x: [f(x, axis=1) for f in (lax.cumsum, lax.cumprod, lax.cummax, lax.cummin)],
        C,
    ),
    "cumulative, reversed": (lambda x: lax.cumsum(x, axis=0, reverse=True), A),
    "sort": (lambda x: (jnp.sort(x, axis=0), jnp.argsort(x, axis=1)), A),
    "sort special": (lambda x: jnp.argsort(x), one()),
    "sort by two": (lambda x: lax.sort([jnp.round(x), x, -x], num_keys=2), V),
    "dot": (lambda x: x @ x.T, A),
    "dot with whole numbers": (
        lambda x: (x @ jnp.array([1, 0, -2]), (x > 0) @ x.T, x @ jnp.round(10 * x.T).astype(int)),
        A,
    ),
    "dot with whole numbers in memory": (
        lambda x: (x.T @ jnp.round(9 * x).astype(int), jnp.round(9 * x).astype(int) @ x.T),
        WIDE,
    ),
    "dot of a batch": (lambda x: jnp.einsum("bij,bkj->bik", x, 2 * x), C),
    "outer": (lambda x: jnp.outer(x, x), V),
    "in memory": (lambda x: (jnp.sum(x), jnp.sum(x, 0), jnp.max(x, 1), x.T @ x), WIDE),
    "a norm": (lambda x: jnp.linalg.norm(x, axis=1), A),
    "mean, variance": (lambda x: (jnp.mean(x, 0), jnp.var(x), jnp.std(x)), A),
}
FACTORED = {
    "cholesky": (lambda x: jnp.linalg.cholesky(x), POSITIVE),
    "cholesky of what is not positive": (lambda x: jnp.linalg.cholesky(-x), POSITIVE),
    "cholesky of a batch": (lambda x: jnp.linalg.cholesky(jnp.stack([x, 2 * x])), POSITIVE),
    **{
        f"triangular {side} {form}": (
            lambda x, left=left, low=low, t=t, u=u: lax.linalg.triangular_solve(
                x,
                x[:, :2] if left else x[:2],
                left_side=left,
                lower=low,
                transpose_a=t,
                unit_diagonal=u,
            ),
            POSITIVE,
        )
        for side, left in (("left", True), ("right", False))
        for form, low, t, u in (
            ("lower", True, False, False),
            ("upper", False, False, False),
            ("lower transposed", True, True, False),
            ("upper of unit diagonal", False, False, True),
        )
    },
    "lu": (lambda x: lax.linalg.lu(x), MATRIX),
    "lu of many entries": (lambda x: lax.linalg.lu(jnp.sin(jnp.kron(x, x[:4, :4]))), MATRIX),
    "solve many": (
        lambda x: jnp.linalg.solve(jnp.sin(jnp.kron(x, x[:4, :4])), jnp.tile(x[0], 4)),
        MATRIX,
    ),
    **{
        f"triangular of many, {side} {form}": (
            lambda x, left=left, low=low, t=t, u=u: lax.linalg.triangular_solve(
                jnp.sin(jnp.kron(x, x[:4, :4])) + 9 * jnp.eye(24),
                jnp.tile(x, (4, 3) if left else (2, 4)),
                left_side=left,
                lower=low,
                transpose_a=t,
                unit_diagonal=u,
            ),
            MATRIX,
        )
        for side, left in (("left", True), ("right", False))
        for form, low, t, u in (
            ("lower", True, False, False),
            ("upper transposed", False, True, False),
            ("lower transposed of unit diagonal", True, True, True),
        )
    },
    "lu, wide": (lambda x: lax.linalg.lu(x[:3]), MATRIX),
    "lu, singular": (lambda x: lax.linalg.lu(x.at[:, 1].set(0.0)), MATRIX),
    "lu of many, a row": (lambda x: lax.linalg.lu(jnp.tile(jnp.sin(x), (1, 80)))[1:], MATRIX),
    "permutation of many": (
        lambda x: lax.linalg.lu_pivots_to_permutation(
            lax.linalg.lu(jnp.sin(jnp.kron(x, x[:4, :4])))[1], 24
        ),
        MATRIX,
    ),
    "permutation": (lambda x: lax.linalg.lu_pivots_to_permutation(lax.linalg.lu(x)[1], 6), MATRIX),
    "solve": (lambda x: jnp.linalg.solve(x, x[:, 0]), MATRIX),
    "inverse, determinant": (lambda x: (jnp.linalg.inv(x), jnp.linalg.det(x)), MATRIX),
    "logarithm of a determinant": (lambda x: tuple(jnp.linalg.slogdet(x)), MATRIX),
    "derivative of a solution": (jax.grad(lambda x: jnp.sum(jnp.linalg.solve(x, x[0]))), MATRIX),
    "singular values": (lambda x: jnp.linalg.svd(x[:4], compute_uv=False), MATRIX),
    "singular vectors": (
        lambda x: (lambda u, s, v: (s, (u * s) @ v, u @ u.T))(
            *jnp.linalg.svd(x[:4], full_matrices=False)
        ),
        MATRIX,
    ),
    "all singular vectors": (
        lambda x: (lambda u, s, v: (s, (u * s) @ v[:4], v @ v.T))(*jnp.linalg.svd(x[:4])),
        MATRIX,
    ),
    "singular values of NaN": (
        lambda x: jnp.linalg.svd(x.at[0, 0].set(jnp.nan), compute_uv=False),
        MATRIX,
    ),
    "eigenvalues": (
        lambda x: (lambda w, v: (w, (v * w) @ v.T, v.T @ v))(*jnp.linalg.eigh(x)),
        POSITIVE,
    ),
    "orthogonal factor": (lambda x: jnp.linalg.qr(x[:, :4]), MATRIX),
    "orthogonal factor, wide": (lambda x: jnp.linalg.qr(x[:3]), MATRIX),
    "orthogonal factor, whole": (lambda x: jnp.linalg.qr(x[:, :3], mode="complete"), MATRIX),
    "least squares": (lambda x: jnp.linalg.lstsq(x[:, :3], x[:, 3])[0], MATRIX),
    "pseudoinverse": (lambda x: jnp.linalg.pinv(x[:4]), MATRIX),
    "svd of a batch": (
        lambda x: jnp.linalg.svd(jnp.stack([x, x.T, 2 * x]), compute_uv=False),
        MATRIX,
    ),
}


@jax.custom_jvp
def cube(x):
    return x**3


cube.defjvp(lambda given, rate: (cube(given[0]), 3 * given[0] ** 2 * rate[0]))


@jax.custom_vjp
def root(x):
    return jnp.sqrt(x)


root.defvjp(lambda x: (jnp.sqrt(x), x), lambda x, g: (0.5 * g / jnp.sqrt(x),))

CALLED = {
    "jit": (jax.jit(lambda x: jnp.sin(x)), V),
    "checkpoint": (jax.grad(lambda x: jnp.sum(jax.checkpoint(jnp.sin)(x) ** 2)), V),
    "custom_jvp": (lambda x: (cube(x), jax.jvp(cube, (x,), (x,))[1]), V),
    "custom_vjp": (lambda x: (root(x**2), jax.grad(lambda y: jnp.sum(root(y)))(x**2)), V),
    "custom_linear_solve": (
        lambda x: lax.custom_linear_solve(
            lambda y: 2.0 * y, x, lambda _, b: b / 2.0, lambda _, b: b / 2.0
        ),
        V,
    ),
    "select_n": (lambda x: lax.select_n(jnp.arange(7) % 3, x, 2 * x, 3 * x), V),
    "select_n by a value": (
        lambda x: lax.select_n((jnp.abs(x) * 5).astype(jnp.int32) % 3, x, 2 * x, 3 * x),
        V,
    ),
    "where": (lambda x: jnp.where(x > 0, x, 0.0), V),
    "clamp": (lambda x: jnp.clip(x, -0.5, 0.5), one()),
    "derivatives": (
        lambda x: (
            jax.jacfwd(lambda y: jnp.outer(y, jnp.sin(y)))(x),
            jax.hessian(lambda y: jnp.prod(y))(x),
        ),
        V,
    ),
    "jax.numpy": (
        lambda x: (
            jnp.cross(x[:3], x[3:6]),
            jnp.polyval(x, 0.5),
            jnp.interp(0.3, jnp.sort(x[:4]), x[:4]),
            jnp.linspace(x[0], x[1], 5),
        ),
        V,
    ),
    "platform": (lambda x: lax.platform_dependent(x, cpu=lambda x: 2 * x, default=lambda x: x), V),
    "types": (
        lambda x: [x.astype(t) for t in (jnp.float32, jnp.int64, jnp.int32, jnp.int8, bool)],
        one(),
    ),
    "unsigned types": (
        lambda x: [jnp.abs(x).astype(t).astype(float) for t in (jnp.uint64, jnp.uint32, jnp.uint8)],
        np.array([0.0, 1.5, 200.7, 2.0**31, 3e9]),
    ),
}
PLACES = RANDOM.integers(0, 70, (2, 150))
FEW = RANDOM.random((70, 70)) < 0.05
MANY = RANDOM.normal(size=70), RANDOM.normal(size=70)


def of_bodies(x, y):
    """Positions, distances and a matrix of a chain of bodies."""
    r = jnp.stack([jnp.cos(x), jnp.sin(x) + y], axis=1)
    apart = jnp.linalg.norm(jnp.diff(r, axis=0), axis=1)
    return apart, jax.jacfwd(lambda q: jnp.sum(jnp.diff(q) ** 2) + q[::-1] * q)(x)


ALIKE = {
    "elements, shifted and reversed": (
        lambda x, y: jnp.where(x > y, x[::-1], jnp.roll(y, 3)) * jnp.sin(x) - 2.0 * x,
        *MANY,
    ),
    "elements of several arrays": (
        lambda x, y: jnp.concatenate([x * x, y / x])[PLACES[0] + 20] - (x + y)[PLACES[1]],
        *MANY,
    ),
    "few entries": (
        lambda x, y: (
            jnp.where(FEW, x[:, None] * y, 0.0) @ (x + y),
            jnp.where(FEW, x[:, None] * y, 0.0).T @ y,
            jnp.sum(jnp.where(FEW, x[:, None], 0.0) ** 2, axis=1),
        ),
        *MANY,
    ),
    "added to places": (
        lambda x, y: jnp.zeros((70, 70)).at[*PLACES].add(x[PLACES[0]] * y[PLACES[1]]) @ x,
        *MANY,
    ),
    "together": (
        lambda x, y: (x @ y, jnp.sum(x), jnp.max(x * y), jnp.min(x), jnp.all(x > y), jnp.prod(x)),
        *MANY,
    ),
    "carried": (
        lambda x, y: lax.fori_loop(0, 5, lambda k, c: (jnp.cos(c[1]) + c[0], c[0] * y), (x, y)),
        *MANY,
    ),
    "written to and read again": (
        lambda x, y: lax.fori_loop(
            0, 3, lambda k, z: z.at[k].set(jnp.sum(jnp.sin(z))) * z + jnp.sin(z[::-1]), x * y
        ),
        *MANY,
    ),
    "of bodies": (of_bodies, *MANY),
}
"""Functions of arrays whose elements native code computes in loops."""
CASES = {
    f"{kind}: {name}": case
    for kind, cases in {
        "moved": MOVED,
        "indexed": INDEXED,
        "reduced": REDUCED,
        "factored": FACTORED,
        "called": CALLED,
        "alike": ALIKE,
    }.items()
    for name, case in cases.items()
}
