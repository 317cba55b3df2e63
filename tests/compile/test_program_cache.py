"""Cached programs are reused only if the same program would be made."""

import os
import subprocess
import sys
import threading
import types
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw
from zwang.compile import keep_programs, program
from zwang.compile.flat import NotCacheableError
from zwang.compile.program_cache import cache
from zwang.compile.program_cache.fingerprint import Fingerprint
from zwang.compile.program_cache.source_digest import source_digest
from zwang.compile.program_cache.store import MOST_FILES, Store
from zwang.dynamics.motion import motion_of

pytestmark = pytest.mark.native
RUN = """
import os, jax, zwang as zw
from users_model import model
jax.config.update("jax_enable_x64", True)
traced = []
def seen(event, seconds, **about):
    if "trace" in event:
        traced.append(about.get("fun_name"))

zw.keep_programs(os.environ["KEPT"])
jax.monitoring.register_event_duration_secs_listener(seen)
found = zw.motion(model(), q=[0.6, -0.8], v=[0.0, 0.0])
print(float(found.multipliers[0]), "motion_of" in "".join(map(str, traced)))
"""
MODEL = """
import jax.numpy as jnp
import zwang as zw
g = {g}
def model():
    system = zw.System(
        nq=2,
        mass_matrix=lambda q, t, p: jnp.ones(2),
        force=lambda q, v, t, p: jnp.array([0.0, -g]),
    )
    return zw.Model(system, [zw.Holonomic(lambda q, t, p: q @ q - 1.0, name="rod")])
"""


@pytest.fixture
def folder(tmp_path):
    """Programs are kept in a new folder."""
    assert keep_programs(tmp_path / "kept") == ""
    yield tmp_path / "kept"
    keep_programs(on=False)


@pytest.fixture
def events():
    heard = []

    def listener(event, *_, **about):
        # code of an earlier test may still be optimized in another thread
        if threading.current_thread() is threading.main_thread():
            heard.append((event.rpartition("/")[2], about.get("reason", "")))

    jax.monitoring.register_event_listener(listener)
    jax.monitoring.register_event_duration_secs_listener(listener)
    yield lambda: [x for x in heard if x[0] in ("loaded", "made", "not_cached")]
    jax.monitoring.unregister_event_listener(listener)
    jax.monitoring.unregister_event_duration_listener(listener)


@program
def weighed(function, x):
    return {"sum": function(x), "name": "weighed", "twice": (2 * x,)}


def users(text):
    file = types.ModuleType("users_file")
    vars(file).update({"jnp": jnp, "np": np, "jax": jax})
    exec(text, vars(file))
    return file.f


def again(folder):
    """Another process, as far as programs are concerned."""
    assert keep_programs(folder) == ""


def test_what_was_kept_gives_the_same_and_is_not_made_again(folder, events):
    x = np.arange(3.0)
    first = weighed(users("k = 2.0\nf = lambda x: k * jnp.sum(x)"), x)
    again(folder)
    second = weighed(users("k = 2.0\nf = lambda x: k * jnp.sum(x)"), x)
    third = weighed(users("k = 3.0\nf = lambda x: k * jnp.sum(x)"), x)
    assert [name for name, _ in events()] == ["made", "loaded", "made"]
    assert float(first["sum"]) == float(second["sum"]) == 6.0
    assert float(third["sum"]) == 9.0
    assert second["name"] == "weighed"
    np.testing.assert_array_equal(second["twice"][0], 2 * x)


def test_what_a_later_process_optimizes_is_kept(folder, events):
    levels = lambda: [x.compiled.stored.level for x in known()]
    known = lambda: [cache.current()._ready.get(key) for key in cache.current()._ready]
    text, x = "f = lambda x: jnp.sum(jnp.sin(x))", np.arange(3.0)
    first = weighed(users(text), x)
    again(folder)
    weighed(users(text), x)
    assert levels() == [0]
    known()[0].compiled.optimize()
    again(folder)
    third = weighed(users(text), x)
    assert levels() == [1] and third["sum"].tobytes() == first["sum"].tobytes()
    assert [name for name, _ in events()] == ["made", "loaded", "loaded"]


def test_what_jax_has_in_its_own_cache_is_made_all_the_same(folder, events):
    """What comes from there cannot be written once more: it would be read, and fail when it is
    called.
    """
    f, x = (
        users("f = lambda x: jnp.sum(jnp.sin(x) * jnp.flip(x) @ jnp.outer(x, x))"),
        np.arange(1.0, 7.0),
    )
    keep_programs(on=False)
    expected = weighed(f, x)
    for _ in range(2):
        again(folder)
        np.testing.assert_allclose(weighed(f, x)["sum"], expected["sum"], rtol=1e-14)
    assert [name for name, _ in events()] == ["made", "loaded"]


def test_shapes_and_kinds_of_numbers_are_part_of_a_program(folder, events):
    f = users("f = lambda x: jnp.sum(x)")
    for x in (
        np.ones(2),
        np.ones(3),
        np.ones((1, 2)),
        np.ones(2, int),
        np.ones(2, bool),
        jnp.asarray(1.0),
        np.ones(2) * 5,
    ):
        assert float(weighed(f, x)["sum"]) == np.sum(x)
    assert [name for name, _ in events()] == ["made"] * 6


def test_settings_of_jax_are_part_of_a_program(folder, events):
    f = users("f = lambda x: jnp.sum(x) / 3")
    assert weighed(f, np.ones(2, np.float32))["sum"].dtype == np.float32
    with jax.default_matmul_precision("float32"):
        weighed(f, np.ones(2, np.float32))
    assert [name for name, _ in events()] == ["made", "made"]


def test_who_looks_for_nan_gets_the_plain_function(folder, events):
    with jax.debug_nans(True), pytest.raises(FloatingPointError):
        weighed(users("f = lambda x: jnp.sum(jnp.log(x))"), -np.ones(2))
    assert not events()


def test_under_transformations_the_plain_function_is_used(folder, events):
    f = users("f = lambda x: jnp.sum(x**2)")
    x = np.arange(3.0)
    np.testing.assert_allclose(jax.grad(lambda x: weighed(f, x)["sum"])(x), 2 * x)
    np.testing.assert_allclose(jax.vmap(lambda x: weighed(f, x)["sum"])(x), x**2)
    assert float(jax.jit(lambda x: weighed(f, x)["sum"])(x)) == 5.0
    assert (
        float(jax.jit(lambda a: weighed(lambda x: jnp.sum(a * x), np.ones(2))["sum"])(3.0)) == 6.0
    )  # traced in a closure
    assert not events()


@pytest.mark.parametrize(
    "text",
    [
        "def f(x):\n    return h(x)\nh = None",
        "f = lambda x: float(open('/dev/null').read() or 1) * jnp.sum(x)",
    ],
)
def test_what_cannot_be_known_is_compiled_without_the_cache(folder, events, text):
    f = users(text)
    if "h" in f.__globals__:
        f.__globals__["h"] = lambda x: jnp.sum(x) * len(open("/dev/null").read() + "1")
    for _ in range(2):
        assert float(weighed(f, np.ones(2))["sum"]) == 2.0
    assert [name for name, _ in events()] == ["not_cached"]
    assert not list(folder.iterdir())


def test_a_program_that_calls_back_is_not_kept(folder, events):
    class Hidden:  # a callback that the fingerprint does not see by its name
        def __init__(self):
            self.call = jax.pure_callback

    hidden = Hidden()
    f = lambda x: hidden.call(np.sum, jax.ShapeDtypeStruct((), x.dtype), x)
    with pytest.raises(NotCacheableError):
        Fingerprint().add(f)
    assert float(weighed(f, np.ones(2))["sum"]) == 2.0
    assert [name for name, _ in events()] == ["not_cached"]
    assert not list(folder.iterdir())


def test_what_xla_has_compiled_is_kept_for_this_process_alone(folder, events):
    f = users("f = lambda x: jnp.sum(jnp.fft.fft(x).real)")
    for _ in range(2):
        assert float(weighed(f, np.ones(2))["sum"]) == 2.0
    assert events() == [("not_cached", "weighed: XLA has compiled it")]
    assert not list(folder.iterdir())


@pytest.mark.parametrize(
    "damage",
    [
        lambda x: x[:-1],
        lambda x: x[:40] + bytes([x[40] ^ 1]) + x[41:],
        lambda x: b"",
        lambda x: b"other" + x,
    ],
)
def test_a_damaged_file_is_made_again(folder, events, damage):
    f = users("f = lambda x: jnp.sum(x)")
    weighed(f, np.ones(2))
    (path,) = folder.iterdir()
    whole = path.read_bytes()
    path.write_bytes(damage(whole))
    again(folder)
    assert float(weighed(f, np.ones(2))["sum"]) == 2.0
    assert [name for name, _ in events()] == ["made", "made"]
    assert len(path.read_bytes()) > 1000


def test_a_file_under_another_name_is_foreign(tmp_path):
    store = Store(tmp_path)
    store.write("one", 1)
    os.replace(tmp_path / "one", tmp_path / "two")
    assert store.read("two") is None


def test_a_folder_holds_only_so_many(tmp_path, monkeypatch):
    store = Store(tmp_path)
    monkeypatch.setattr("zwang.compile.program_cache.store.MOST_FILES", 3)
    for i in range(5):
        store.write(f"{i}", i)
        os.utime(tmp_path / f"{i}", (i, i))
    store.write("last", 5)
    assert sorted(x.name for x in tmp_path.iterdir()) == ["3", "4", "last"]
    assert MOST_FILES > 3


@pytest.mark.skipif(sys.platform == "win32", reason="rights are heard otherwise there")
def test_a_folder_that_others_may_write_to_is_not_used(tmp_path):
    tmp_path.chmod(0o777)
    assert "others may write" in keep_programs(tmp_path)
    assert not cache.keeps_programs()


def test_the_variable_has_the_last_word(tmp_path, monkeypatch):
    monkeypatch.setenv("ZWANG_KEEP", "0")
    assert keep_programs(tmp_path / "kept") == ""
    assert not cache.keeps_programs() and not (tmp_path / "kept").exists()


def test_sources_changed_since_they_were_read_keep_nothing(tmp_path, monkeypatch):
    assert source_digest() == source_digest()
    monkeypatch.setattr("zwang.compile.program_cache.source_digest.IMPORTED", 0.0)
    assert "was changed" in keep_programs(tmp_path)


def test_parameters_of_a_model_are_not_part_of_a_program(folder, events):
    system = zw.System(
        nq=1, mass_matrix=lambda q, t, p: p["m"] * jnp.ones(1), force=lambda q, v, t, p: -p["k"] * q
    )
    for m, k in ((1.0, 2.0), (2.0, 8.0)):
        model = zw.Model(system, params={"m": m, "k": k})
        assert (
            float(motion_of(model.dynamics(), model.state([1.0], [0.0])).acceleration[0]) == -k / m
        )
    assert [name for name, _ in events()] == ["made"]


def test_a_second_process_traces_nothing_unless_its_model_is_another_one(tmp_path):
    # bytecode of a file that was changed twice in a second is that of the first change
    cheap = {**os.environ, "KEPT": str(tmp_path / "kept"), "PYTHONDONTWRITEBYTECODE": "1"}
    cheap["PYTHONPATH"] = os.pathsep.join([str(tmp_path), str(Path(zw.__file__).parents[1])])
    said = []
    for g in (10.0, 10.0, 20.0):
        (tmp_path / "users_model.py").write_text(MODEL.format(g=g))
        ended = subprocess.run(
            [sys.executable, "-c", RUN], env=cheap, capture_output=True, text=True, check=True
        )
        said.append(ended.stdout.split())
    assert [traced for _, traced in said] == ["True", "False", "True"]
    assert said[0] == [said[1][0], "True"]
    assert float(said[2][0]) == pytest.approx(2 * float(said[0][0]))
