"""Bounded motions on servo constraints with unstable zero dynamics, compared with exact
solutions.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw
from zwang.errors import ModelError

SHARE = jnp.array([70.0, -315.0, 540.0, -420.0, 126.0, 0.0, 0.0, 0.0, 0.0, 0.0])


def path(t):
    """From 0 to 1 in two seconds."""
    return jnp.polyval(SHARE, jnp.clip(t / 2.0, 0.0, 1.0))


def car(angle, reach, damping):
    """The mass on a car of the gallery, and a servo that leads `x + reach s` along the path."""
    slope = np.cos(np.radians(angle))
    M = jnp.array([[3.0, 2.0 * slope], [2.0 * slope, 2.0]])
    system = zw.System(
        2,
        lambda q, t, p: M,
        lambda q, v, t, p: jnp.stack([0 * q[0], -5.0 * q[1] - damping * v[1]]),
        coordinates=("car", "spring"),
    )
    tip = zw.Holonomic(lambda q, t, p: q[0] + reach * q[1] - path(t), name="tip")
    servo = zw.Servo([tip], [[1.0], [0.0]], actuators=["push"], actuator_units=["N"])
    return zw.Model(system, name="mass on car"), servo


@pytest.fixture(scope="module")
def inverted():
    return zw.analysis.stable_inversion(*car(30.0, 1.6, 0.5), [0.0, 0.0], span=(0.0, 2.0))


@pytest.mark.parametrize(
    ("angle", "damping", "degree", "internal"), [(30, 0.5, 2, 2), (0, 0.5, 3, 1), (0, 0.0, 4, 0)]
)
def test_the_angle_decides_the_relative_degree(angle, damping, degree, internal):
    """Seifried and Blajer (2013): 2, 3 and 4 for the place of the mass."""
    model, servo = car(angle, np.cos(np.radians(angle)), damping)
    found = zw.servo.relative_degree(model, servo, [0.1, 0.2], [0.3, -0.1])
    assert found.degrees == {"tip": degree} and found.internal == internal


def test_the_bounded_motion_is_the_exact_solution(inverted):
    """Of the linear boundary value problem, in closed form; the push begins before the path."""
    member = zw.gallery.load("mass-on-car")
    exact = member.exact(inverted.t + 3.0)  # whose path begins at 3 s
    np.testing.assert_allclose(inverted.q[:, 0], exact["car"], atol=1e-9)
    np.testing.assert_allclose(inverted.q[:, 1], exact["spring"], atol=1e-9)
    a, d, k = 2.0 * (1 - 1.6 * np.cos(np.pi / 6)), 0.5, 5.0
    np.testing.assert_allclose(
        np.sort(inverted.eigenvalues.real), np.sort(np.roots([a, d, k])), rtol=1e-9
    )
    # the control follows exp(λ t) before the path, from 1e-3 of its largest value on
    grows, u = max(np.roots([a, d, k])), np.abs(inverted.u[:, 0])
    early = u[np.argmin(np.abs(inverted.t))]
    begins = np.log(1e3 * early / u.max()) / grows
    np.testing.assert_allclose(inverted.pre_actuation, begins, atol=0.051)  # a step
    assert "begin 2." in str(inverted) and inverted.error < 1e-9


@pytest.mark.slow
def test_a_price_of_the_error_leads_to_the_bounded_motion():
    """Altmann and Heiland: optimal control in place of the servo constraint, off by what the price
    of the error leaves, and without a derivative of the path.
    """
    pytest.importorskip("casadi", reason="extra `optimal`")
    model, servo = car(30.0, 1.6, 0.5)
    found = zw.analysis.optimal_control(
        model,
        ([0.0, 0.0], [0.0, 0.0]),
        ([1.0, 0.0], [0.0, 0.0]),
        8.0,
        t0=-3.0,
        inputs=servo,
        cost=lambda q, v, u, t, p: 1e6 * (q[0] + 1.6 * q[1] - path(t)) ** 2 + u @ u,
        intervals=40,
    )
    exact = zw.gallery.load("mass-on-car").exact(found.t + 3.0)
    off = np.abs(found.q - np.stack([exact["car"], exact["spring"]], 1)).max()
    assert 1e-5 < off < 2e-3


@pytest.mark.slow
def test_another_output_near_to_the_wanted_one_may_be_followed():
    """Of x + r s the free motion decays for r cos α < 1."""
    for reach, growing in ((1.6, True), (1.0, False)):
        found = zw.servo.zero_dynamics(*car(30.0, reach, 0.5), [0.0, 0.0], [0.0, 0.0])
        a = 2.0 * (1 - reach * np.cos(np.pi / 6))
        np.testing.assert_allclose(
            np.sort(found.eigenvalues.real), np.sort(np.roots([a, 0.5, 5.0]).real), rtol=1e-7
        )
        assert np.any(found.eigenvalues.real > 0) == growing


@pytest.mark.slow
def test_the_feedforward_is_replayed_and_a_push_aside_is_led_back(inverted):
    """On Z to the tolerance of the run; from 5 cm aside by the gains."""
    model, t = inverted.model, inverted.t
    times = np.linspace(t[0], 5.0, 12)
    run = zw.simulate(model, inverted.q[0], inverted.v[0], t0=t[0], times=times, rtol=1e-9)
    tip = run.q @ [1.0, 1.6]
    np.testing.assert_allclose(tip, jax.vmap(path)(run.t), atol=1e-9)
    aside = zw.simulate(
        model, inverted.q[0] + [0.05, 0.0], inverted.v[0], t0=t[0], times=times, rtol=1e-9
    )
    np.testing.assert_allclose(aside.q[-1], run.q[-1], atol=1e-3)


@pytest.mark.slow
def test_zero_dynamics_that_decay_need_no_time_before(inverted):
    """The place of the mass itself: nothing moves before the path, beside SciPy's solution."""
    model, servo = car(30.0, np.cos(np.pi / 6), 2.0)
    found = zw.analysis.stable_inversion(model, servo, [0.0, 0.0], span=(0.0, 2.0), rtol=1e-8)
    assert found.t[0] == 0.0 and found.pre_actuation == 0.0 and np.all(found.eigenvalues.real < 0)
    bent = jax.jit(jax.grad(jax.grad(path)))
    from scipy.integrate import solve_ivp

    slope = np.cos(np.pi / 6)
    free = lambda t, s: [
        s[1],
        (-2.0 * slope * float(bent(t)) - 2.0 * s[1] - 5.0 * s[0]) / (2.0 * (1 - slope**2)),
    ]
    at = found.t[(found.t <= 3.0)][::8]
    exact = solve_ivp(free, (0.0, 3.0), [0.0, 0.0], "DOP853", at, rtol=1e-11, atol=1e-12).y[0]
    np.testing.assert_allclose(found.q[np.isin(found.t, at), 1], exact, atol=1e-8)


def inverted_arm():
    """The inversion of the rotational arm of the gallery, and the elbow of the member, which comes
    from a collocation of its own, at the same instants.
    """
    member = zw.gallery.load("rotational-arm")
    tip = zw.Holonomic(lambda q, t, p: q[0] + 0.5 * q[1] - path(t), name="tip")
    servo = zw.Servo([tip], [[1.0], [0.0]], actuators=["motor"])
    arm = member.model.passive
    found = zw.analysis.stable_inversion(arm, servo, [0.0, 0.0], span=(0.0, 2.0), rtol=1e-9)
    return found, member.exact(found.t + 2.0)["elbow"]  # whose path begins at 2 s


@pytest.mark.slow
def test_an_arm_with_a_passive_joint_is_inverted_as_by_an_independent_collocation():
    found, elbow = inverted_arm()
    growing = np.real(found.eigenvalues)
    assert growing.max() > 0 > growing.min()
    np.testing.assert_allclose(found.q[:, 1], elbow, atol=1e-8)
    run = zw.simulate(
        found.model, found.q[0], found.v[0], t0=found.t[0], duration=8.0, samples=9, rtol=1e-9
    )
    np.testing.assert_allclose(run.q @ [1.0, 0.5], jax.vmap(path)(run.t), atol=1e-8)


def test_a_motion_that_does_not_end_at_rest_is_refused():
    model, servo = car(30.0, 1.6, 0.5)
    moving = zw.Servo(
        [zw.Holonomic(lambda q, t, p: q[0] + 1.6 * q[1] - t**2, name="tip")], [[1.0], [0.0]]
    )
    with pytest.raises(ModelError, match="no state at rest meets the servo constraints"):
        zw.analysis.stable_inversion(model, moving, [0.0, 0.0], span=(0.0, 2.0))
    undamped = car(30.0, np.cos(np.pi / 6), 0.0)
    with pytest.raises(ModelError, match="neither decay nor grow"):
        zw.analysis.stable_inversion(*undamped, [0.0, 0.0], span=(0.0, 2.0))
    with pytest.raises(ModelError, match=r"span is \(2.0, 0.0\), expected"):
        zw.analysis.stable_inversion(model, servo, [0.0, 0.0], span=(2.0, 0.0))
