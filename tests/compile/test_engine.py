"""Programs are native code if all of their operations are known, and otherwise state the reason."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw
from zwang.compile import BoundProgram, Many, called_again, program
from zwang.compile.compatibility import outside_of_programs, trace_context
from zwang.compile.events import NOT_NATIVE
from zwang.compile.flat import FixedArray, with_structure
from zwang.native import NotNativeError, function

X = np.array([0.5, -1.5, 2.0])
UNKNOWN = {
    "callback": (
        lambda x: jax.pure_callback(np.sum, jax.ShapeDtypeStruct((), x.dtype), x),
        "pure_callback",
    ),
    "Fourier transform": (lambda x: jnp.sum(jnp.fft.fft(x).real), "complex128|fft"),
    "half precision": (lambda x: jnp.sum(x.astype(jnp.float16)), "float16"),
}
"""Functions with an operation or a type that native code does not have, and what is named."""


@pytest.fixture
def reasons():
    heard = []
    listener = lambda event, **about: heard.append(about) if event == NOT_NATIVE else None
    jax.monitoring.register_event_listener(listener)
    yield heard
    jax.monitoring.unregister_event_listener(listener)


@pytest.mark.native
def test_a_program_is_native_code(reasons):
    summed = program(lambda x: {"sum": jnp.sum(x), "name": "sum"})
    found, engine = called_again(summed, (X,))
    assert found["sum"] == 1.0 and found["name"] == "sum" and type(found["sum"]) is np.ndarray
    assert engine == "native code"
    assert not reasons


@pytest.mark.native
@pytest.mark.parametrize("name", UNKNOWN)
def test_an_operation_that_is_not_known_leaves_the_program_to_xla(name, reasons):
    f, says = UNKNOWN[name]
    with pytest.raises(NotNativeError, match=says):
        function(f, X)
    named = program(f)
    found, engine = called_again(named, (X,))
    assert float(found) == pytest.approx(float(f(X)), rel=1e-2)
    assert engine.startswith("XLA (<lambda>: ")
    assert len(reasons) == 1 and reasons[0]["reason"] in engine


def test_the_variable_leaves_all_programs_to_xla(monkeypatch):
    summed = program(lambda x: jnp.sum(x))
    native = summed(X)
    monkeypatch.setenv("ZWANG_ENGINE", "xla")
    found, engine = called_again(summed, (X,))
    assert float(found) == float(native) and engine == "XLA (asked for)"


def test_an_engine_that_there_is_not_is_one_sentence(monkeypatch):
    monkeypatch.setenv("ZWANG_ENGINE", "gcc")
    with pytest.raises(zw.ModelError, match="ZWANG_ENGINE is 'gcc', expected native or xla"):
        program(lambda x: x)(X)


def test_a_bound_program_takes_other_numbers_of_its_shapes():
    scaled = BoundProgram(lambda k, x: k * x, (np.array(2.0),), (X,))
    np.testing.assert_array_equal(scaled(X), 2 * X)
    np.testing.assert_array_equal(scaled(X + 1), 2 * (X + 1))


@pytest.mark.parametrize("engine", ["native", "xla"])
@pytest.mark.parametrize("cores", [1, 3])
def test_members_have_the_results_of_single_calls(engine, cores, monkeypatch):
    monkeypatch.setenv("ZWANG_ENGINE", engine)
    one = lambda p, x: {"scaled": p["k"] * jnp.sin(x), "sum": jnp.sum(x) + p["c"]}
    p, x = {"k": np.linspace(1.0, 2.0, 7), "c": np.array(3.0)}, np.arange(21.0).reshape(7, 3)
    many = Many(one, ({"k": 0, "c": None}, 0), (p, x))
    assert (many.instructions > 0) is (engine == "native")
    found = many(p, x, cores=cores)
    for i in range(7):
        alone = one({"k": p["k"][i], "c": p["c"]}, x[i])
        np.testing.assert_allclose(found["scaled"][i], alone["scaled"], rtol=1e-15)
        np.testing.assert_allclose(found["sum"][i], alone["sum"], rtol=1e-15)


def test_the_same_members_again_are_not_made_again(compiled):
    """Also of a function that is defined anew, and without a cache on disk."""
    x = np.arange(6.0).reshape(3, 2)
    for k in (2.0, 2.0, 3.0):
        many = Many(lambda x, k=k: k * jnp.sum(x), (0,), (x,))
        np.testing.assert_array_equal(many(x), k * x.sum(axis=1))
    assert len(compiled) == 2


def test_a_value_that_a_function_has_kept_is_one_sentence():
    kept = []

    def forgetful(x):
        kept.append(x)
        return kept[0] * x

    made = program(forgetful)
    np.testing.assert_array_equal(made(np.ones(2)), np.ones(2))
    with pytest.raises(zw.ModelError, match="keeps a traced value"):
        made(np.ones(3)[:, None] * np.ones(2))


@pytest.mark.native
def test_steps_of_a_model_with_a_callback_say_why_xla_takes_them():
    def force(q, v, t, p):
        return jax.pure_callback(lambda x: -x, jax.ShapeDtypeStruct(q.shape, q.dtype), q)

    system = zw.System(nq=1, mass_matrix=lambda q, t, p: jnp.ones(1), force=force)
    run = zw.simulate(zw.Model(system), [1.0], [0.0], duration=1.0, samples=3)
    assert run.attrs["engine"].startswith("XLA (") and "pure_callback" in run.attrs["engine"]
    assert abs(run.q[-1, 0] - np.cos(1.0)) < 1e-6


def test_members_are_computed_by_xla_in_blocks_of_one_program(compiled, monkeypatch):
    """Also of an equal function, as each batch makes one, and of any number of members."""
    monkeypatch.setenv("ZWANG_ENGINE", "xla")
    x = np.arange(14.0).reshape(7, 2)
    for k in (2.0, 2.0, 3.0):
        many = Many(lambda x, k=k: k * jnp.sum(x), (0,), (x[:3],))
        for number in (1, 3, 7):
            np.testing.assert_array_equal(many(x[:number]), k * x[:number].sum(axis=1))
    assert len(compiled) == 2


def test_floats_of_python_are_arguments_of_a_program():
    traced = []
    slope = zw.program(jax.grad(lambda x: traced.append(x) or jnp.sin(x)))
    for x in (0.3, 0.7):
        np.testing.assert_allclose(slope(x), np.cos(x), rtol=1e-15)
    assert len(traced) == 1


def test_truth_values_are_arguments_of_a_program():
    """Which rows are on changes along a run; integers say where entries belong."""
    (on, which), _ = with_structure((np.array([True, False]), np.array([0, 2])))
    assert isinstance(on, np.ndarray) and isinstance(which, FixedArray)


def test_outside_of_programs_arrays_have_values_and_programs_their_keys():
    """A start that was asked for in another context was compiled for it, and again for the run."""
    before = trace_context()
    with outside_of_programs():
        assert trace_context() == before

    def program(x):
        with outside_of_programs():
            known = float(jnp.asarray(2.0) + 1.0)
        return known * x

    assert jax.jit(program)(2.0) == 6.0
