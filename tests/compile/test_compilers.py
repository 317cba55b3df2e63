"""However a program is compiled, it computes the same; a compiler is chosen in one way."""

import warnings
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw
from tests.models import pendulum
from zwang.compile import ALL_COMPILERS, compatibility, compilers
from zwang.simulation.batch import prepare

TIMES = np.linspace(0.0, 0.5, 3)
START, REST = np.array([0.6, -0.8]), np.zeros(2)


def motion(q):
    return zw.trajectory(pendulum(), q, REST, TIMES)


@pytest.fixture(scope="module")
def expected():
    return zw.simulate(pendulum(), START, REST, times=TIMES[1:]).dataset.q.values


@pytest.mark.slow
@pytest.mark.parametrize("compiler", ALL_COMPILERS, ids=lambda c: c.name)
def test_every_compiler_computes_the_same_motion(compiler, expected):
    one = zw.program(motion, compiler=compiler)(START)
    np.testing.assert_allclose(one.q[1:], expected, atol=1e-8)
    many = zw.batch(pendulum(), np.stack([START, [1.0, 0.0]]), REST, TIMES, compiler=compiler)
    np.testing.assert_allclose(many.q[0, 1:], expected, atol=1e-8)


@pytest.mark.parametrize("compiler", ALL_COMPILERS, ids=lambda c: c.name)
def test_the_variable_has_the_last_word(compiler, monkeypatch, compiled):
    monkeypatch.setenv("ZWANG_COMPILER", compiler.name)
    f = lambda x: jnp.sum(jnp.full((40, 40), x[0]) @ np.full((40, 40), 0.5))  # for `Fused` alone
    for asked in ALL_COMPILERS:
        assert float(zw.program(f, compiler=asked)(np.ones(1))) == 32000.0
    kernels = ["xla_cpu_small_call" in program.as_text() for program in compiled]
    by_name = {"plain": [], "fused-if-small": [False] * 3, "fused": [True] * 3}
    assert kernels == by_name[compiler.name]


def test_plain_uses_no_private_name_and_keeps_nothing(monkeypatch, tmp_path, expected):
    def refuse(name):
        raise AssertionError(f"{name} was looked up")

    monkeypatch.setenv("ZWANG_COMPILER", "plain")
    monkeypatch.setattr(compatibility, "private", refuse)
    monkeypatch.setattr(compilers, "missing_name", refuse)
    assert zw.compiler_options() == {}
    assert zw.keep_programs(tmp_path / "kept") == "" and not (tmp_path / "kept").exists()
    run = zw.simulate(pendulum(), START, REST, times=TIMES[1:])
    np.testing.assert_allclose(run.dataset.q.values, expected, atol=1e-8)


@pytest.mark.slow
def test_plain_derivatives_and_batches_use_no_private_name(monkeypatch, expected):
    """The loops by themselves are in `test_hints.py`."""
    monkeypatch.setenv("ZWANG_COMPILER", "plain")
    monkeypatch.setattr(compatibility, "private", None)  # calling it would fail
    last = lambda q, kind: zw.trajectory(pendulum(), q, REST, TIMES, gradient=kind, max_steps=30).q[
        -1, 0
    ]
    forward = jax.jacfwd(lambda q: last(q, "forward"))(START)
    np.testing.assert_allclose(jax.grad(lambda q: last(q, "reverse"))(START), forward, rtol=1e-9)
    many = prepare(pendulum(), np.stack([START, START]), REST, TIMES)()
    np.testing.assert_allclose(many.q[1, 1:], expected, atol=1e-8)


def test_plain_by_argument_uses_no_private_name(monkeypatch, expected):
    monkeypatch.setattr(compatibility, "private", None)  # calling it would fail
    one = zw.program(motion, compiler=zw.PlainJit())(START)
    np.testing.assert_allclose(one.q[1:], expected, atol=1e-8)


def test_a_compiler_that_is_none_is_refused(monkeypatch):
    with pytest.raises(zw.ModelError, match=r"compiler='fused', expected one of zw\.PlainJit\(\)"):
        zw.program(jnp.sin, compiler=cast(Any, "fused"))
    with pytest.raises(zw.ModelError, match="zw.batch got compiler"):
        zw.batch(pendulum(), START[None], REST, TIMES, compiler=cast(Any, True))
    monkeypatch.setenv("ZWANG_COMPILER", "quick")
    with pytest.raises(zw.ModelError, match="ZWANG_COMPILER is 'quick', expected one of plain"):
        zw.program(jnp.sin)(1.0)


@pytest.mark.slow
def test_often_goes_on_working_and_says_what_replaced_it():
    for call in (
        lambda often: zw.program(jnp.sin, often=often),
        lambda often: zw.batch(pendulum(), START[None], REST, TIMES, often=often),
    ):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            call(False)
        (one,) = [x for x in caught if x.category is DeprecationWarning]
        assert "compiler=zw.Fused()" in str(one.message) and one.filename == __file__
    with pytest.raises(zw.ModelError, match="both compiler and often"):
        zw.program(jnp.sin, compiler=zw.Fused(), often=True)
    with pytest.warns(DeprecationWarning):
        assert isinstance(compilers.requested(None, True, "zw.program"), zw.Fused)
