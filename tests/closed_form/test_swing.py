"""Pendulum-like motion by elliptic functions, and the models of the gallery that use it."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from tests.gallery.examples import example, run
from zwang.gallery.swing import swing


@pytest.mark.parametrize(
    ("k", "angle", "rate"),
    [
        (9.81, 1.5, 0.0),
        (9.81, -0.3, 2.0),
        (9.81, 3.0, 0.1),
        (2.0, 0.4, 4.0),
        (2.0, 0.4, -4.0),
        (2.0, 7.0, -1.0),
        (-3.0, 0.2, 0.0),
        (0.0, 1.0, 2.0),
        (11.445, np.pi, -1.0),
        (5.0, 0.0, 0.0),
        (5.0, np.pi, 0.0),
    ],
)
def test_swing_solves_the_pendulum_equation(k, angle, rate):
    """Against DOP853 at 1e-13, which loses three digits near the top."""
    t = np.linspace(0.0, 10.0, 41)
    y = solve_ivp(
        lambda t, y: [y[1], -k * np.sin(y[0])],
        (0, 10),
        [angle, rate],
        "DOP853",
        rtol=1e-13,
        atol=1e-13,
        t_eval=t,
    ).y
    if (k, angle, rate) == (
        5.0,
        np.pi,
        0.0,
    ):  # at rest on top, where round-off of π makes the integration fall
        y = np.full((2, 41), np.pi)
    assert np.allclose(swing(k, angle, rate, t), y[0], atol=1e-10)


def test_pendulum_meets_its_elliptic_functions():
    """1e-9 m: rtol 1e-10 per step over some 400 steps."""
    assert example("pendulum").error(run("pendulum")) < 1e-9


def test_five_bar_meets_reference_values():
    """Angle and rate of an independent integration of the reduced equation, DOP853 at 1e-13 (1e-10
    over 20 s).
    """
    times = [0.25, 0.5, 1.0, 2.0, 3.0, 5.0, 7.5, 10.0, 12.5, 15.0, 17.5, 20.0]
    theta = [
        0.5267211992787697,
        -0.34020848113016927,
        -3.1107384762565693,
        -2.4415737444566674,
        0.7079110124585061,
        -1.6163459138074843,
        -3.413719366118867,
        -3.9261311239882923,
        -3.316665161600026,
        -1.4342581701787003,
        0.31712748433296556,
        0.7819579145294797,
    ]
    member = example("five-bar")
    exact = member.exact(np.array(times))
    assert np.allclose(exact["crank 1.angle"], theta, atol=1e-10)
    reached = member.run(times=times)
    for i in (2, 5, 8):
        assert np.allclose(reached.q[:, i], theta, atol=1e-7)
    assert np.max(np.abs(reached.q[:, 11])) < 1e-7
