"""Optimal control on the constraints, against closed forms."""

import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw
from zwang.errors import ModelError
from zwang.objects.reporting import listening

pytest.importorskip("casadi", reason="extra `optimal`")
REST = [0.0], [0.0]
THERE = [1.0], [0.0]


def cart():
    """A mass of 1 kg on a line."""
    system = zw.System(
        1, lambda q, t, p: jnp.ones(1), lambda q, v, t, p: jnp.zeros(1), coordinates=["x"]
    )
    return zw.Model(system, name="cart")


def on_circle(rows=1, gravity=0.0):
    """A mass of 1 kg on a rod of 1 m, which is entered several times."""
    system = zw.System(
        2, lambda q, t, p: jnp.ones(2), lambda q, v, t, p: jnp.array([0.0, -gravity])
    )
    rods = [zw.Holonomic(lambda q, t, p: q @ q - 1.0, name=f"rod {i}") for i in range(rows)]
    return zw.Model(system, rods, name="pendulum")


# a torque about the origin
TORQUE = zw.servo.Feedback(
    lambda q, v, t, p: jnp.zeros(1),
    lambda q, t, p: jnp.stack([-q[1], q[0]])[:, None],
    actuators=["torque"],
    actuator_units=["N m"],
)

# a force that is called as the coordinate is
PUSH = zw.servo.Feedback(lambda q, v, t, p: jnp.zeros(1), np.eye(1), actuators=["x"])


def at(angle):
    """A state at rest, the angle counted from hanging down."""
    return np.array([np.sin(angle), -np.cos(angle)]), np.zeros(2)


def test_least_effort_between_rests():
    found = zw.analysis.optimal_control(cart(), REST, THERE, 1.0, inputs=["x"], intervals=4)
    # u = 6 − 12 t
    assert abs(found.cost - 12) < 1e-9
    np.testing.assert_allclose(found.u[:, 0], 6 - 12 * found.t, atol=1e-9)
    assert "optimal after" in str(found)


def test_least_time_between_rests():
    found = zw.analysis.optimal_control(
        cart(),
        REST,
        THERE,
        (0.5, 5.0),
        inputs=PUSH,
        cost="time",
        bounds={"x control": (-1.0, 1.0), "x state": (-1.0, 2.0)},
        degree=0,
        intervals=6,
    )
    # full push and full brake: √(4 d m / u)
    assert abs(found.duration - 2) < 1e-9
    np.testing.assert_allclose(found.u[:3, 0], 1.0, atol=1e-6)
    np.testing.assert_allclose(found.u[3:, 0], -1.0, atol=1e-6)
    assert found.samples.x[:, 0].max() <= 1 + 1e-9
    assert "100 % of the time" in str(found)


def swing_ups():
    """A pendulum brought up by a weak torque, its rod entered 1, 2 and 5 times."""
    way = np.array([at(x)[0] for x in np.linspace(0.0, np.pi, 9)])
    options = {"bounds": {"torque": (-8.0, 8.0)}, "rtol": 1e-5, "tolerance": 1e-11}
    return [
        zw.analysis.optimal_control(
            on_circle(rows, 9.81),
            at(0.0),
            at(np.pi),
            2.5,
            inputs=TORQUE,
            guess=way,
            intervals=16,
            **options,
        )
        for rows in (1, 2, 5)
    ]


@pytest.fixture(scope="module")
def swings():
    return swing_ups()


@pytest.mark.slow
def test_redundant_rows_change_nothing(swings):
    once, *several = swings
    for found in several:
        assert abs(found.cost - once.cost) < 1e-10 * once.cost
        np.testing.assert_allclose(found.u, once.u, atol=1e-10 * 8)
        np.testing.assert_allclose(found.q, once.q, atol=1e-10)


def on_the_constraints_between_nodes(found):
    assert found.kinematic_error <= 1e-12
    assert len(found.samples.t) == 9 * (len(found.t) - 1) + 1


@pytest.mark.slow
def test_motion_is_on_the_constraints_between_nodes(swings):
    for found in swings:
        on_the_constraints_between_nodes(found)


@pytest.mark.slow
def test_replayed_forward(swings):
    found = swings[1]
    run = zw.simulate(found.model, found.q[0], found.v[0], duration=2.5, rtol=1e-9)
    np.testing.assert_allclose(run.q[-1], found.q[-1], atol=1e-4)
    model = found.passive.with_parts(servo=found.feedback(1.0, 0.1))
    pushed = zw.simulate(model, *at(0.02), duration=2.5, rtol=1e-8)
    assert np.linalg.norm(pushed.q[-1] - found.q[-1]) < 2e-3


def test_result_is_named_drawn_and_saved(tmp_path):
    quarter = {"inputs": TORQUE, "bounds": {"torque": (-8.0, 8.0)}, "intervals": 4, "rtol": 1e-3}
    found = zw.analysis.optimal_control(on_circle(2, 9.81), at(0.0), at(0.5), 1.0, **quarter)
    on_the_constraints_between_nodes(found)
    assert found.dataset.control.sel(actuator="torque").max() <= 8 + 1e-9
    assert found.plot().panels[0].ylabel == "control [N m]"
    assert found.save(tmp_path / "swing.nc").exists()
    cost, missed = (panel.curves[0] for panel in found.plot_search().panels)
    np.testing.assert_array_equal(cost.x, np.arange(1, len(found.history) + 1))
    assert cost.y[-1] == pytest.approx(found.cost) and missed.y[-1] < 1e-9


@pytest.mark.slow
def test_bound_of_a_constraint_force():
    # the rod pulls with v², so that the bound is one of the speed, v ≤ 1.2 m/s; least effort then
    # takes off along a parabola for t₁ = 1.5 (T − d/v) = 0.25 s, and costs 8 v² / (3 t₁)
    rod = {"rod 0": (-0.72, np.inf)}
    options = {"inputs": TORQUE, "intervals": 8, "rtol": 1e-5}
    found = zw.analysis.optimal_control(on_circle(), at(0.0), at(1.0), 1.0, bounds=rod, **options)
    assert abs(found.cost - 15.36) < 1e-5
    # for half of the time the bound is active
    middle = abs(found.samples.t - 0.5) < 0.25
    np.testing.assert_allclose(found.samples.multipliers[middle], -0.72, atol=1e-6)
    assert found.samples.multipliers[~middle].min() > -0.72 - 1e-6


def test_free_end_and_cost_at_the_end():
    # ∫ u² dt + 3 (x − 1)², the end's speed free: u = 3 (1 − x_e) (1 − t), x_e = 1/2
    found = zw.analysis.optimal_control(
        cart(),
        REST,
        ([np.nan], [np.nan]),
        1.0,
        inputs=["x"],
        intervals=2,
        end_cost=lambda q, v, t, p: 3 * (q[0] - 1) ** 2,
    )
    assert abs(found.q[-1, 0] - 0.5) < 1e-9
    np.testing.assert_allclose(found.u[:, 0], 1.5 * (1 - found.t), atol=1e-8)


def test_what_is_impossible_is_named():
    with pytest.raises(ModelError, match="no motion from start to end within the bounds"):
        zw.analysis.optimal_control(
            cart(), REST, THERE, 1.0, inputs=["x"], bounds={"force on x": (-1, 1)}, intervals=4
        )


def test_start_off_the_constraints_is_refused():
    """Not moved onto them: another motion than the one that is asked for would begin there."""
    off = np.array([0.5, -1.0]), np.zeros(2)
    with pytest.raises(ModelError, match="start is off the constraints of pendulum by"):
        zw.analysis.optimal_control(on_circle(), off, at(1.0), 1.0, inputs=TORQUE)


def test_stopped_solver_gives_what_it_has_reached():
    def stop(what, _):
        if "iteration 4" in what:
            raise KeyboardInterrupt

    with listening(stop):
        found = zw.analysis.optimal_control(
            cart(), REST, THERE, (0.5, 5.0), inputs=["x"], cost="time",
            bounds={"force on x": (-1, 1)}, degree=0, intervals=6,
        )  # fmt: skip
    assert found.status == "User_Requested_Stop"
    assert "stopped after 4 iterations" in str(found)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"duration": (2.0, 1.0)}, "duration is"),
        ({"end": ([1.0, 2.0], [0.0])}, "shape"),
        ({"inputs": None}, "needs inputs="),
        ({"bounds": {"y": (0, 1)}}, "'y'"),
        ({"inputs": PUSH, "bounds": {"x": (0, 1)}}, "'x state' or 'x control'"),
        ({"bounds": {"x": (1, 0)}}, "expected \\(least, most\\)"),
        ({"cost": "energy"}, "'energy'"),
        ({"bounds": [("x", 1)]}, "bounds is"),
        ({"guess": [[0.0], [np.inf]]}, r"guess\[1\] is"),
    ],
)
def test_refusals(change, match):
    given = {"start": REST, "end": THERE, "duration": 1.0, "inputs": ["x"]} | change
    with pytest.raises(ModelError, match=match):
        zw.analysis.optimal_control(cart(), **given)
