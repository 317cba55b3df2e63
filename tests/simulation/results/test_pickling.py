"""A run can be pickled, and has all its methods afterwards."""

import pickle
import subprocess
import sys

import jax
import numpy as np
import pytest

import zwang as zw
from tests.models import pendulum
from zwang.inputs.arithmetic import xp
from zwang.simulation.results import Run


@pytest.fixture(scope="module")
def run() -> Run:
    return zw.simulate(pendulum(), [1.0, 0.0], [0.0, 0.0], duration=0.5, samples=11)


@pytest.fixture(scope="module")
def again(run) -> Run:
    return pickle.loads(pickle.dumps(run))


def test_a_run_comes_back_with_its_model_and_how_it_ended(run, again):
    assert again.result is run.result and again.attrs == run.attrs
    assert str(again) == str(run)
    assert again.model.system.coordinates == run.model.system.coordinates
    np.testing.assert_array_equal(again.q, run.q)


def test_states_between_steps_are_the_same(run, again):
    t = 0.5 * (run.steps.t[1:] + run.steps.t[:-1])
    for here, there in zip(run.at(t), again.at(t), strict=True):
        np.testing.assert_array_equal(here, there)
    assert np.abs(np.sum(again.at(t)[0] ** 2, axis=1) - 1).max() < 1e-14


def test_forces_and_crossings_are_the_same(run, again):
    assert again.crossings == run.crossings == []
    for name in ("constraint_force", "energy", "violation"):
        np.testing.assert_array_equal(again.dataset[name], run.dataset[name])


def test_it_is_drawn_and_saved(again, tmp_path):
    assert len(again.plot().axes) == 4
    assert again.save(tmp_path / "run.nc").is_file()


def test_what_was_computed_is_kept(run):
    computed = run.dataset
    run.crossings  # noqa: B018
    kept = pickle.loads(pickle.dumps(run))
    assert "crossings" in vars(kept)
    assert vars(kept)["dataset"].identical(computed)


def test_its_model_can_be_run_again(run, again):
    longer = zw.simulate(again.model, [1.0, 0.0], [0.0, 0.0], duration=0.5, samples=11)
    np.testing.assert_allclose(longer.q, run.q, rtol=0, atol=1e-13)


def test_float32_is_refused(run):
    data = pickle.dumps(run)
    jax.config.update("jax_enable_x64", False)
    try:
        with pytest.raises(zw.ModelError, match="float32"):
            pickle.loads(data)
    finally:
        jax.config.update("jax_enable_x64", True)


def test_without_cloudpickle_a_sentence_says_how_to_install_it(run, monkeypatch):
    data = pickle.dumps(run)
    for name in [x for x in sys.modules if x.partition(".")[0] == "cloudpickle"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    with pytest.raises(zw.ModelError, match=r"pip install '\.\[pickle\]'"):
        pickle.dumps(run)
    with pytest.raises(zw.ModelError, match=r"pip install '\.\[pickle\]'"):
        pickle.loads(data)


def test_what_belongs_to_this_process_is_refused_in_a_sentence(tmp_path):
    with open(tmp_path / "log", "w") as log:

        def force(q, v, t, p):
            assert log
            return -q

        free = zw.Model(zw.System(2, lambda q, t, p: np.ones(2), force), name="logged")
        run = zw.simulate(free, [1.0, 0.0], [0.0, 0.0], duration=0.1, samples=2)
        with pytest.raises(zw.ModelError, match="run of logged cannot be pickled"):
            pickle.dumps(run)


def test_what_functions_compute_with_is_known_by_its_name():
    assert pickle.loads(pickle.dumps(xp)) is xp


OTHER = """
import pickle, sys
import jax
jax.config.update("jax_enable_x64", True)
run = pickle.load(open(sys.argv[1], "rb"))
print(run.at(0.3)[0].tolist(), len(run.crossings), run.result.name)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["five-bar", "latching-pendulums", "crane", "slider-crank", "3rrr"]
)
def test_another_process_takes_it(name, tmp_path):
    """Crossings, switches, a servo, a mechanism from a file, a hierarchy."""
    run = zw.gallery.load(name).run(duration=1.0)
    (tmp_path / "run").write_bytes(pickle.dumps(run))
    done = subprocess.run(
        [sys.executable, "-c", OTHER, str(tmp_path / "run")], capture_output=True, text=True
    )
    expected = run.at(0.3)[0].tolist(), len(run.crossings), run.result.name
    assert done.stdout.strip() == " ".join(map(str, expected)), done.stderr


def test_steps_print_what_they_are_and_not_their_numbers(run):
    count = len(run.steps.t)
    assert repr(run.steps) == (
        f"Steps({count} states, t = 0 to 0.5 s, y of 4 entries; .t, .y, .violation, .residual)"
    )
