"""Functions that are emitted once and called, compared with the same functions inlined."""

from __future__ import annotations

import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from tests.native.beside import assert_equal
from tests.native.lanes import assert_lanes_agree
from zwang.native import compiled, function, module, subroutines, translation
from zwang.native.instructions import SHARED
from zwang.native.machine import fast_code_apart
from zwang.native.module import unpacked
from zwang.native.translate import object_code
from zwang.objects.recent import Recent

RANDOM = np.random.default_rng(3)
X, Y = RANDOM.normal(size=(2, 5))
LONG = RANDOM.normal(size=1500)
"""More elements than are read at the beginning: it lies in memory."""


def shared(f):
    """A function whose code programs share."""
    called = lambda *x: f(*x)
    called.__name__ = f"{SHARED}{f.__name__}"
    return jax.jit(called)


@pytest.fixture(autouse=True)
def call_short_functions(monkeypatch):
    monkeypatch.setattr(subroutines, "LEAST", 1)
    Recent.forget()


@shared
def curve(x, y):
    return jnp.sin(x) * y + jnp.cos(y[::-1]), x / (1 + y * y)


@shared
def outer(x, y):
    a, b = curve(x, y)
    c, d = curve(b, a)
    return jnp.outer(a, c), d


@shared
def newton(x):
    """Members need different numbers of turns."""
    turn = lambda r: 0.5 * (r + x[0] ** 2 / r)
    root = lax.while_loop(lambda r: jnp.abs(r * r - x[0] ** 2) > 1e-9, turn, 1.0 + x[1] ** 2)
    return root * x


@shared
def table(x, i):
    """Memory that is read at a place nobody knows, and changed there."""
    return x.at[i].add(1.0), x[i], jnp.sum(x)


@shared
def decomposed(A):
    return jnp.linalg.svd(A + jnp.eye(3), compute_uv=False), jnp.linalg.cholesky(A @ A.T + 0.1)


@shared
def rows(x):
    """A matrix with zeros, equal entries, negative ones, and a part that is an operand."""
    zero = jnp.zeros(())
    y = jnp.sin(x)
    return jnp.stack([jnp.stack([y[0], zero, -y[1]]), jnp.stack([zero, y[0], x[2]])]), -x


def places(x):
    return jnp.argmax(x), jnp.sum(x[:2]) > 0


@shared
def truths(x, flag, k):
    return jnp.where(flag, x + 1, -x), ~flag, k + 1, (x > 0)


CASES = {
    "twice": (lambda x, y: (curve(x, y), curve(y, x)), X, Y),
    "one after the other": (lambda x, y: curve(*curve(*curve(x, y))), X, Y),
    "nested": (lambda x, y: outer(outer(x, y)[1], y), X, Y),
    "constants": (lambda x, y: curve(x.at[1].set(0.0), jnp.ones(5)), X, Y),
    "equal operands": (lambda x, y: (curve(x, x), curve(x, -x)), X, Y),
    "in a loop": (lambda x, y: lax.fori_loop(0, 9, lambda i, c: curve(*c), (x, y)), X, Y),
    "in rows": (lambda x, y: lax.scan(lambda c, r: (curve(c, r)[0], c), x, jnp.outer(x, y)), X, Y),
    "in branches": (
        lambda x, y: lax.cond(x[0] > y[0], lambda z: curve(z, y), lambda z: curve(y, 2 * z), x),
        X,
        Y,
    ),
    "in a loop of members": (
        lambda x, y: lax.while_loop(
            lambda c: jnp.sum(c[0]) < 9.0, lambda c: (c[0] + 1 + 0.1 * newton(c[1]), c[1]), (x, y)
        ),
        X,
        Y,
    ),
    "a loop within": (lambda x, y: newton(x) + newton(y), X, Y),
    "memory": (lambda x, y: table(table(x, places(y)[0])[0], 3), LONG, Y),
    "memory as it was given": (
        lambda x, y: (shared(lambda z, w: (z, z[2] + w))(x, y[0]), x[2]),
        LONG,
        Y,
    ),
    "a moving part of memory": (
        lambda x, y: lax.fori_loop(
            0, 4, lambda i, c: c + curve(lax.dynamic_slice(x, (5 * i,), (5,)), y)[0], y
        ),
        LONG,
        Y,
    ),
    "rows of memory": (
        lambda x, y: lax.scan(lambda c, r: (c + table(r, 7)[1], table(r, 2)[0]), y[0], x),
        LONG.reshape(15, 100),
        Y,
    ),
    "routines": (lambda x, y: decomposed(jnp.outer(x[:3], y[:3]) + jnp.diag(x[2:])), X, Y),
    "truth values and integers": (lambda x, y: truths(*truths(x, places(y)[1], 4)[:3]), X, Y),
    "results that nobody needs": (lambda x, y: curve(x, y)[1] + outer(x, y)[1], X, Y),
    "a table": (lambda x, y: table(curve(x, y)[0], places(y)[0]), X, Y),
    "members of a batch": (lambda x, y: jax.vmap(newton)(jnp.outer(x, y)), X, Y),
    "derivatives": (lambda x, y: jax.jacfwd(lambda z: curve(z, y)[0])(x), X, Y),
}
each = pytest.mark.parametrize("f, x, y", CASES.values(), ids=CASES.keys())


@each
def test_a_function_that_is_called_gives_what_xla_gives(f, x, y):
    assert_equal(f, x, y, close=1e-13)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", CASES)
def test_members_at_once_have_the_bits_of_each_by_itself(name):
    f, x, y = CASES[name]
    assert_lanes_agree(f, x, y)
    assert_lanes_agree(f, x, y, level=1, of_all=(1,))


@each
def test_a_call_gives_the_bits_of_what_is_written_out(f, x, y, monkeypatch):
    # a product is not fused with a sum on the other side of a call
    monkeypatch.setattr(translation, "has_fused", lambda: False)
    called = [function(f, x, y, level=level) for level in (0, 1)]
    monkeypatch.setattr(subroutines, "LEAST", 10**9)
    Recent.forget()
    whole = function(f, x, y, level=0)
    assert "@zwang_s" in text_of(called[0]) and "@zwang_s" not in text_of(whole)
    for found in called:
        pairs = zip(*map(jax.tree_util.tree_leaves, (found(x, y), whole(x, y))), strict=True)
        assert all(a.tobytes() == b.tobytes() for a, b in pairs)


def text_of(code) -> str:
    return "\n".join(map(unpacked, code.code.stored.texts))


def test_functions_are_optimized_one_after_the_other(monkeypatch):
    """Each part that is ready takes its place at once, and calls give the same bits."""
    made = function(outer, X, Y)
    code, expected, seen = made.code, made(X, Y)[0].tobytes(), []
    code.optimized = lambda stored: seen.append((stored.levels, made(X, Y)[0].tobytes()))
    monkeypatch.setattr(compiled, "REPLACED", 0.0)
    monkeypatch.setattr(
        compiled,
        "optimized_apart",
        lambda modules, take: [take(k, object_code(x, 1)) for k, x in enumerate(modules)],
    )
    number = len(code.stored.binaries)
    assert number > 1 and code.stored.level == 0
    code._optimize_apart()
    assert [sum(levels) for levels, _ in seen] == list(range(1, number + 1))
    assert {bits for _, bits in seen} == {expected}
    assert code.stored.level == 1 and not code.stored.modules()


def test_a_process_optimizes_modules_until_one_fails():
    modules = [unpacked(x) for x in function(outer, X, Y).code.stored.texts]
    found = list(fast_code_apart([modules[0], "no module", modules[1]]))
    assert found == [object_code(modules[0], 1)]


def test_a_function_is_emitted_once_for_all_programs(monkeypatch):
    emitted = []
    make = subroutines._emitted
    monkeypatch.setattr(
        subroutines, "_emitted", lambda *x: emitted.append(x[0].params["name"]) or make(*x)
    )
    for k in range(3):
        function(lambda x, y, k=k: curve(x + k, y), X, Y)
    assert emitted == ["zwang.curve"]


def test_zeros_of_a_result_are_zeros_to_the_caller():
    f = lambda x: jnp.sum(rows(x)[0] * jnp.arange(6.0).reshape(2, 3), axis=0)
    g = lambda x: rows(x)[0] @ rows(x)[0].T
    for h, products in ((f, 5), (g, 6)):
        text = text_of(function(h, X[:3], level=0))
        own = text[text.index("@zwang_function") : text.index("\n}\n")]
        assert own.count("fmul") + own.count("llvm.fma") <= products
    assert_equal(f, X[:3])
    assert_equal(g, X[:3])
    assert_equal(lambda x: rows(x)[1] + x, X[:3])


def test_a_call_whose_results_nothing_reads_is_left_out():
    text = text_of(function(lambda x, y: curve(x, y)[0][:0], X, Y, level=0))
    assert "call ptr" not in text


def test_a_subroutine_is_translated_by_a_thread_or_else_in_place(monkeypatch):
    names, make = [], module.object_code

    def noted(*given):
        names.append(threading.current_thread().name)
        return make(*given)

    monkeypatch.setattr(module, "object_code", noted)
    expected = function(curve, X, Y)(X, Y)
    assert names == [module.MAKER]

    def fail(thread):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", fail)
    Recent.forget()
    found = function(curve, X, Y)(X, Y)
    assert names[1:] == [threading.current_thread().name]
    assert [x.tobytes() for x in found] == [x.tobytes() for x in expected]
