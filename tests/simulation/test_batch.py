"""Motions of a batch equal separate motions, and a failure does not affect the others."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw
from tests.models import pendulum
from zwang.compile import interface
from zwang.objects.recent import Recent
from zwang.simulation.single_precision import narrowed

TIMES = np.linspace(0.0, 1.0, 3)
ANGLES = np.linspace(0.3, 2.0, 5)
STARTS = np.stack([np.cos(ANGLES), np.sin(ANGLES)], axis=1)


@pytest.fixture(scope="module")
def some():
    """Five pendulums in chunks of two, one of them off its rod."""
    starts = STARTS.copy()
    starts[3] *= 1.1
    said = []
    return zw.batch(pendulum(), starts, np.zeros(2), TIMES, chunk=2, progress=said.append), said


def test_members_are_single_runs(some):
    many, said = some
    for i in (0, 4):
        run = zw.simulate(pendulum(), STARTS[i], [0.0, 0.0], times=TIMES[1:])
        assert np.max(np.abs(many.q[i, 1:] - run.dataset.q.values)) < 1e-8
        assert np.max(np.abs(many.v[i, 1:] - run.dataset.v.values)) < 1e-8
    assert np.nanmax(many.violation) < 1e-14
    assert said == [0.4, 0.8, 1.0]


@pytest.mark.native
def test_memory_of_a_member_is_known(some):
    assert 0 < some[0].memory_per_member < 1e6


def test_a_member_that_fails_is_named(some):
    many, _ = some
    assert list(many.failures) == [3]
    assert "off its constraints" in many.failures[3]
    assert np.all(np.isnan(many.q[3, 1:])) and np.all(np.isfinite(np.delete(many.q, 3, axis=0)))


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"step": 0.05, "precision": "single"}])
def test_a_second_batch_of_the_same_motions_compiles_nothing(options, compiled):
    many = lambda **changed: zw.batch(
        *(pendulum(), STARTS, np.zeros(2), TIMES), **{"chunk": 2, **options, **changed}
    )
    first = many()
    assert len(compiled) == 1
    again = many()  # of a model that was defined anew
    np.testing.assert_array_equal(again.q, first.q)
    zw.batch(pendulum(), STARTS[::-1].copy(), np.zeros(2), TIMES, chunk=2, **options)
    assert len(compiled) == 1
    many(params={"m": np.linspace(1, 2, len(STARTS))})
    assert len(compiled) == 2
    many(longest_step=0.04)
    assert len(compiled) == 3


def test_a_model_whose_functions_see_other_numbers_is_compiled_anew(compiled):
    def force(q, v, t, p):
        return jnp.array([0.0, -gravity[0]])

    gravity = [0.0]
    runs = []
    for gravity[0] in (0.0, 9.81):
        system = zw.System(nq=2, mass_matrix=lambda q, t, p: jnp.ones(2), force=force)
        runs.append(zw.batch(zw.Model(system), np.ones((2, 2)), np.zeros(2), [0.0, 1.0]))
    assert len(compiled) == 2
    assert np.allclose(runs[0].q[:, -1], 1) and np.allclose(runs[1].q[:, -1, 1], 1 - 9.81 / 2)


@pytest.mark.native
def test_a_batch_is_kept(tmp_path, compiled, monkeypatch):
    # on a busy machine it may last so long that code for several members is made as well
    monkeypatch.setattr(interface, "SEVERAL_AT_ONCE", np.inf)
    given = pendulum(), STARTS, np.zeros(2), TIMES
    zw.keep_programs(tmp_path)
    try:
        first = zw.batch(*given)
        Recent.forget()  # what is at hand, as in another process
        assert len(compiled) == 1
        np.testing.assert_array_equal(zw.batch(*given).q, first.q)
        assert len(compiled) == 1
    finally:
        zw.keep_programs(on=False)


@pytest.mark.slow
@pytest.mark.filterwarnings("error")
def test_single_precision_says_nothing_of_bounds_beyond_it():
    zw.batch(pendulum(), STARTS, np.zeros(2), TIMES, step=0.05, precision="single", longest_step=1)


def test_dataset(some, tmp_path):
    import xarray

    many, _ = some
    with xarray.open_dataset(many.save(tmp_path / "many.nc"), engine="h5netcdf") as read:
        assert dict(read.sizes) == {"member": 5, "time": 3, "coordinate": 2, "velocity": 2}
        assert np.array_equal(read.q.values, many.q, equal_nan=True)
        assert list(read.coordinate.values) == ["x", "y"]


@pytest.mark.slow
def test_members_with_parameters_of_their_own():
    lengths = np.array([0.5, 1.0])
    many = zw.batch(
        pendulum(),
        lengths[:, None] * STARTS[0],
        np.zeros(2),
        TIMES,
        params={"length": lengths, "m": 2.0},
    )
    assert not many.failures
    assert np.allclose(np.linalg.norm(many.q, axis=2), lengths[:, None], atol=1e-14)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"q0": STARTS[0]}, "leading axis of members"),
        ({"v0": np.zeros((4, 2))}, "different numbers of members: q0: 5, v0: 4"),
        ({"v0": np.zeros(3)}, r"v0 has shape \(3,\), expected \(2,\) for all members"),
        ({"params": {"mass": 1.0}}, "unknown parameter 'mass'"),
        ({"chunk": 0}, "chunk is 0, expected a whole number of at least 1"),
    ],
)
def test_wrong_input(change, says):
    given = {"q0": STARTS, "v0": np.zeros(2), "times": TIMES, **change}
    with pytest.raises(zw.ModelError, match=says):
        zw.batch(pendulum(), given.pop("q0"), given.pop("v0"), given.pop("times"), **given)


@pytest.mark.slow
def test_single_precision_states_its_violation():
    """32-bit numbers keep 1e-7 of the rod's length, and the motion to some round-off per step."""
    double, single = (
        zw.batch(pendulum(), STARTS[:2], np.zeros(2), TIMES, step=0.02, precision=p)
        for p in ("double", "single")
    )
    assert not single.failures and single.q.dtype == np.float64
    assert np.array_equal(single.q, single.q.astype(np.float32))
    assert double.violation.max() < 1e-14 < 1e-9 < single.violation.max() < 1e-6
    assert 1e-9 < np.max(np.abs(single.q - double.q)) < 1e-4
    violation = np.abs(np.linalg.norm(single.q, axis=2) - 1)
    assert np.ptp(single.violation / violation) < 1e-3 * np.max(
        single.violation / violation
    )  # a length apart


def test_single_precision_of_sums_over_lists():
    """What is added up by `.at[].add`, as `C Cᵀ` of rows with few entries is."""
    summed = jax.jit(narrowed(lambda x: jnp.zeros(3).at[jnp.array([0, 0, 2])].add(x) / 3))(
        jnp.arange(1.0, 4.0)
    )
    assert (
        np.array_equal(summed, np.float32([3.0, 0.0, 3.0]) / np.float32(3.0))
        and summed.dtype == np.float64
    )


@pytest.mark.parametrize("wrong", [{"precision": "single"}, {"precision": "half", "step": 0.1}])
def test_what_single_precision_cannot_do_is_refused(wrong):
    with pytest.raises(zw.ModelError, match="step=|expected 'double'"):
        zw.batch(pendulum(), STARTS, np.zeros(2), TIMES, **wrong)


def test_members_stop_each_at_its_own_instant():
    stop = [zw.Stop(lambda q, v, t, p: q[1] + 0.5 * p["length"], "low")]
    lengths, times = np.array([0.5, 1.0, 2.0]), np.linspace(0.0, 2.0, 21)
    q0 = np.stack([lengths, 0 * lengths], axis=1)
    many = zw.batch(pendulum(), q0, np.zeros(2), times, params={"length": lengths}, stop=stop)
    assert np.all(many.result == zw.Result.STOPPED) and not many.failures
    # twice the length takes √2 times as long
    assert np.allclose(np.diff(np.log(many.end.t)), 0.5 * np.log(2), atol=1e-6)
    assert np.allclose(many.end.q[:, 1], -0.5 * lengths, atol=1e-9)
    assert np.all(np.isnan(many.q[:, :, 0]) == (times > many.end.t[:, None]))
    assert np.all(many.dataset.end_time.values == many.end.t)


def test_ctrl_c_while_the_program_is_compiled_is_said(monkeypatch):
    def pressed(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("zwang.simulation.batch.Many", pressed)
    with pytest.raises(zw.SimulationError, match="interrupted by the user before the first member"):
        zw.batch(pendulum(), STARTS, np.zeros(2), TIMES)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), ValueError("no window")], ids=type)
def test_ctrl_c_and_a_progress_that_fails_keep_the_members_that_are_done(error):
    def press(fraction):
        raise error

    lengths = np.linspace(0.5, 1.0, 5)
    starts = STARTS * lengths[:, None]
    given = {"params": {"length": lengths}, "chunk": 2, "cores": 1}
    says = "after 2 of 5 members.*; members 0 to 1"
    with pytest.raises(zw.SimulationError, match=says) as caught:
        zw.batch(pendulum(), starts, np.zeros(2), TIMES, progress=press, **given)
    assert caught.value.result is zw.Result.INTERRUPTED
    failed = isinstance(error, ValueError)
    assert ("progress raised ValueError: no window" in str(caught.value)) is failed
    assert caught.value.__cause__ is (error if failed else None)
    kept = caught.value.run
    assert len(kept.q) == 2 and np.array_equal(kept.varied["length"], lengths[:2])
    assert not kept.failures and np.all(np.isfinite(kept.q))
