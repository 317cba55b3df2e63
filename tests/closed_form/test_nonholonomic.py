"""Knife edges, Appell and Hamel's particle, the rolling disk."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import zwang as zw
from tests.gallery.examples import example, run


def test_chaplygin_sleigh_meets_its_closed_form():
    """u = U tanh(κ t + δ), θ̇ = W sech(κ t + δ) and the path; 1e-9 is rtol 1e-10 over some 100
    steps.
    """
    assert example("knife-edge").error(run("knife-edge")) < 1e-9


def test_chaplygin_sleigh_agrees_with_an_independent_integration():
    """Textbook equations u̇ = a ω², ω̇ = −m a u ω/(J + m a²) at 1e-12."""
    reached = run("knife-edge", rtol=1e-11)
    I = 0.1 + 0.3**2

    def slope(t, y):
        x, y_, angle, u, w = y
        return [u * np.cos(angle), u * np.sin(angle), w, 0.3 * w**2, -0.3 * u * w / I]

    y = solve_ivp(
        slope,
        (0, 6),
        [0, 0, np.pi / 6, -1.0, 1.5],
        "DOP853",
        rtol=1e-12,
        atol=1e-12,
        t_eval=reached.t,
    ).y
    center = [y[0] + 0.3 * np.cos(y[2]), y[1] + 0.3 * np.sin(y[2]), y[2]]
    assert np.allclose(reached.q.T, center, atol=1e-9)


def test_sleigh_keeps_its_energy():
    energy = sum(
        np.asarray(x)
        for x in (run("knife-edge").observation.kinetic, run("knife-edge").observation.potential)
    )
    assert np.ptp(energy) < 1e-9 * energy[0]


@pytest.mark.parametrize("spin", [1.5, 0.0])
def test_knife_edge_on_a_slope_meets_its_closed_form(spin):
    """With spin a cycloid that stays at its height; without, uniform acceleration along the
    edge.
    """
    member = example("knife-edge", offset=0.0, slope=20.0, spin=spin)
    assert member.error(run("knife-edge", offset=0.0, slope=20.0, spin=spin)) < 1e-9


def test_knife_edge_path_is_a_cycloid():
    """From rest with θ = ω t, the integrals of u (cos θ, sin θ) by hand."""
    member = example("knife-edge", offset=0.0, slope=20.0, spin=1.5, speed=0.0, angle=0.0)
    reached = member.run()
    pull, w = 9.81 * np.sin(np.radians(20.0)), 1.5
    angle = w * reached.t
    x = pull / w**2 * (angle / 2 + np.sin(2 * angle) / 4 - np.sin(angle))
    y = pull / w**2 * (np.sin(angle) ** 2 / 2 + np.cos(angle) - 1)
    assert np.allclose(reached.q.T, [x, y, angle], atol=1e-9)


@pytest.mark.parametrize(
    "settings", [{}, {"direction": "up", "speed": 3.0, "turning": 0.0}], ids=["down", "up to rest"]
)
def test_appell_hamel_meets_its_closed_form(settings):
    """1e-9: rtol 1e-10 per step, on paths of some 10 m. Upward it ends at rest, where the
    constraint loses its rank.
    """
    member = example("appell-hamel", **settings)
    reached = run("appell-hamel", **settings)
    assert member.error(reached) < 1e-9
    if settings:
        assert reached.result is zw.Result.STOPPED
        assert np.isclose(reached.t[-1], 3.0 * (1 + 1.5**2) / (9.81 * 1.5), atol=1e-5)


def test_appell_hamel_agrees_with_an_independent_integration():
    """Multiplier by hand: ψ̇ = 0 with m v̇ = F + λ ∂ψ/∂v."""
    reached = run("appell-hamel", rtol=1e-11)
    c2, g, turn = 1.5**2, 9.81, 2.0

    def slope(t, y):
        v = y[3:]
        a = np.array([-turn * v[1], turn * v[0], -g])
        A = np.array([2 * v[0], 2 * v[1], -2 * c2 * v[2]])
        return np.r_[v, a - A * (A @ a) / (A @ A)]

    start = np.r_[0, 0, 0, 1.0, 0.0, -1 / 1.5]
    y = solve_ivp(slope, (0, 5), start, "DOP853", rtol=1e-12, atol=1e-12, t_eval=reached.t).y
    assert np.allclose(reached.q.T, y[:3], atol=1e-8)


def test_nonlinear_constraint_is_kept_to_round_off_at_every_sample():
    v = run("appell-hamel").v
    assert np.max(np.abs(v[:, 0] ** 2 + v[:, 1] ** 2 - (1.5 * v[:, 2]) ** 2)) < 1e-13 * np.max(v**2)


@pytest.mark.slow
def test_rolling_disk_keeps_its_steady_motion():
    """Center on a circle, constant tilt, attitude turning at two constant rates; 1e-9 is rtol 1e-10
    over some 400 steps.
    """
    assert example("rolling-disk").error(run("rolling-disk")) < 1e-9


@pytest.mark.slow
def test_wobbling_disk_rolls_without_slipping_and_keeps_its_energy():
    """φ at the contact to 1e-13 m; energy to 1e-9, since rolling does no work."""
    reached = run("rolling-disk", wobble=0.5)
    seen = reached.observation
    energy = seen.kinetic + seen.potential
    assert np.max(np.abs(seen.phi)) < 1e-13
    assert np.max(np.abs(seen.psi)) < 1e-12
    assert np.ptp(energy) < 1e-9 * energy[0]
    assert np.ptp(reached.q[:, 2]) > 0.01, "the disk must wobble"


@pytest.mark.slow
def test_wobbling_disk_agrees_with_an_independent_integration():
    """Against the moment equations of a thin rolling disk in its precessing frame, integrated at
    1e-12.

    Unknowns: angle θ between axis and vertical, ω₁ = θ̇, ω₂ = Ω sin θ, ω₃ along the axis; J₁ = m
        r²/4, J₃ = m r²/2.
    """
    r, g, wobble = 0.5, 9.81, 0.5
    member = example("rolling-disk", wobble=wobble)
    reached = run("rolling-disk", wobble=wobble, rtol=1e-11)

    def slope(t, y):
        theta, w1, w2, w3 = y
        turn = w2 / np.tan(theta)
        w2_rate = (2 * w3 - turn) * w1  # J₁ ω̇₂ = (J₃ ω₃ − J₁ Ω cos θ) ω₁
        w3_rate = 2 / 3 * w1 * w2  # (J₃ + m r²) ω̇₃ = m r² ω₁ ω₂
        w1_rate = (turn * w2 / 4 - 1.5 * w2 * w3 - g / r * np.cos(theta)) / 1.25
        return [w1, w1_rate, w2_rate, w3_rate]

    start = [np.radians(70.0), *member.v0[3:]]
    y = solve_ivp(slope, (0, 10), start, "DOP853", rtol=1e-12, atol=1e-12, t_eval=reached.t).y
    assert np.allclose(reached.q[:, 2], r * np.sin(y[0]), atol=1e-8)
    assert np.allclose(reached.v[:, 5], y[3], atol=1e-8)
