"""Inequalities that actuators enforce within their limits, compared with closed forms and with all
active sets.
"""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw
from tests.algebra.pseudoinverse.matrices import QUICK
from zwang.algebra.pseudoinverse import Proximal
from zwang.errors import ModelError, Result
from zwang.servo.keeping import keeping

SPEED, WALL, MASS, PULL = 3.0, 10.0, 2.0, 1.5
CART = zw.System(1, lambda q, t, p: MASS * jnp.ones(1), lambda q, v, t, p: jnp.zeros(1))
PACE = zw.Nonholonomic(lambda q, v, t, p: v[0] - SPEED, name="pace")
NEAR = zw.Inequality(lambda q, t, p: WALL - q[0], name="wall")


def stops(q, v, t, p):
    """The largest speed from which PULL stops before the wall, straight below PULL, less v."""
    room = WALL - q[0]
    fast = jnp.sqrt(2 * PULL * (jnp.maximum(room, PULL) - PULL / 2))
    return jnp.where(room < PULL, room, fast) - v[0]


BRAKED = zw.Inequality(stops, name="stops", velocity=True)


def cart(*inequalities, limit=50.0, **gains):
    servo = zw.Servo(
        [PACE, *inequalities],
        [[1.0]],
        gains={"pace": 1.0, **gains},
        limits=zw.servo.Limits(-limit, limit),
    )
    return zw.Model(CART, servo=servo, name="cart")


def run_of(model, x=0.0, **more):
    return zw.simulate(model, [x], [SPEED], duration=6.0, rtol=1e-10, samples=61, **more)


@pytest.mark.slow
def test_a_cart_keeps_its_pace_as_long_as_its_gain_allows_and_rows_may_repeat():
    k = 2.0
    again = zw.Inequality(lambda q, t, p: 3 * (WALL - q[0]), name="again")
    run = run_of(cart(NEAR, wall=k))
    begins = (WALL - 2 * SPEED / k) / SPEED
    t = np.maximum(run.t - begins, 0.0)
    slowing = (2 * SPEED / k + SPEED * t) * np.exp(-k * t)
    gap = np.where(run.t < begins, WALL - SPEED * run.t, slowing)
    np.testing.assert_allclose(WALL - run.q[:, 0], gap, atol=1e-8)
    assert np.all(run.dataset.servo_violation.values[:, 1] == 0)
    twice = run_of(cart(NEAR, again, wall=k, again=k))
    np.testing.assert_allclose(twice.q, run.q, atol=1e-12)


@pytest.mark.slow
def test_a_limited_force_stops_from_the_distance_that_it_needs():
    """v²/2a and the straight end; then a at once, and exp(−t) from v = a on."""
    model, room = cart(BRAKED, limit=MASS * PULL, stops=5.0), SPEED**2 / (2 * PULL) + PULL / 2
    run = run_of(model, WALL - room)
    ends = (SPEED - PULL) / PULL
    braking = room - SPEED * run.t + PULL * run.t**2 / 2
    gap = np.where(run.t < ends, braking, PULL * np.exp(-np.maximum(run.t - ends, 0.0)))
    np.testing.assert_allclose(WALL - run.q[:, 0], gap, atol=1e-8)
    assert float(np.abs(run.dataset.control.values).max()) <= MASS * PULL
    assert not np.any(run.dataset.control_result.values == int(Result.NOT_KEPT))
    sampled = run_of(model, loop=zw.Loop(sample_time=0.01))
    assert WALL - 0.1 < sampled.q[-1, 0] < WALL


@pytest.mark.slow
def test_what_no_control_within_the_limits_keeps_is_named():
    model = cart(BRAKED, limit=MASS * PULL, stops=5.0)
    with pytest.raises(ModelError, match=r"no control within the limits.*'stops' misses"):
        zw.control(model, q=[WALL - 1.0], v=[SPEED])
    run = run_of(model, WALL - 1.0)
    assert any("'stops' is not kept at" in x for x in run.warnings)
    assert float(run.dataset.control.values.min()) == -MASS * PULL


def test_gains_that_keep_no_inequality_and_analyses_of_equations_are_refused():
    with pytest.raises(ModelError, match="has no gain: give gains"):
        zw.Servo([NEAR], [[1.0]])
    with pytest.raises(ModelError, match="expected real ones"):
        zw.Servo([NEAR], [[1.0]], gains=zw.servo.SecondOrder(2.0, 0.5))
    with pytest.raises(ModelError, match="friction cannot be a servo constraint"):
        rough = zw.DryFriction(lambda q, v, t, p: v[0], load=1.0, static=1.0, name="rough")
        zw.Servo([rough], [[1.0]])
    with pytest.raises(ModelError, match="is not always active"):
        zw.servo.zero_dynamics(zw.Model(CART), cart(NEAR, wall=2.0).servo, [0.0], [0.0])


def pinv(A):
    U, values, Vt = np.linalg.svd(A, full_matrices=False)
    on = values > 1e-9
    return (Vt[on].T / values[on]) @ U[:, on].T


def best_of_all_sets(G, r, C, d, wanted, low, high):
    """u by trying every set of limits and rows; None if none is within all."""
    best = None
    for at in itertools.product((0, 1, 2), repeat=len(wanted)):
        side, free = np.array(at), np.array(at) == 0
        u = np.where(side == 1, low, np.where(side == 2, high, wanted))
        if not np.all(np.isfinite(u)):
            continue
        for rows in itertools.product((False, True), repeat=len(d)):
            held, on = pinv(C[list(rows)][:, free]), list(rows)
            x = held @ (d - C @ u)[on]
            onward = G[:, free] @ (np.eye(free.sum()) - held @ C[on][:, free])
            x = x + pinv(onward) @ (r - G @ u - G[:, free] @ x)
            whole = u.copy()
            whole[free] += x
            out = np.minimum(whole - low, high - whole), C @ whole - d
            if min(map(np.min, out)) < -1e-9:
                continue
            left, change = np.linalg.norm(G @ whole - r), np.linalg.norm(whole - wanted)
            key = round(left, 9), change
            best = (key, whole) if best is None or key < best[0] else best
    return None if best is None else best[1]


@pytest.mark.slow
def test_the_control_is_the_best_of_all_active_sets():
    """Of random problems whose servo rows, and whose inequalities, depend on each other."""
    method = Proximal(sweeps=5, rank_threshold=1e-9)
    solve = jax.jit(
        lambda G, r, C, d, wanted, *box: keeping(G, r, C, d, wanted, jnp.ones(3), box, method),
        compiler_options=QUICK,
    )
    random, feasible = np.random.default_rng(3), 0
    for k in range(60):
        G = random.standard_normal((2, 1 + k % 2)) @ random.standard_normal((1 + k % 2, 3))
        G /= np.linalg.norm(G, axis=1)[:, None]
        r, C, d = 2 * random.standard_normal(2), random.standard_normal((2, 3)), np.zeros(2)
        d[:] = random.standard_normal(2)
        if k % 3 == 0:
            C[1], d[1] = 2 * C[0], 2 * d[0]
        low, high = -random.uniform(0.05, 2, 3), random.uniform(0.05, 2, 3)
        low[0] = -np.inf if k % 4 else low[0]
        wanted = pinv(G) @ r
        found = np.asarray(solve(G, r, C, d, wanted, low, high))
        assert np.all((found >= low) & (found <= high))
        best = best_of_all_sets(G, r, C, d, wanted, low, high)
        if best is not None:
            feasible += 1
            np.testing.assert_allclose(found, best, rtol=1e-5, atol=1e-5)
    assert feasible > 40
