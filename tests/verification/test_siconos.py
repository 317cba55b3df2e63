"""Examples of Siconos: the impact law, and the suite without its data."""

import dataclasses
import os
from pathlib import Path

import numpy as np
import pytest
from verification.line import AGREES
from verification.siconos import balls, impact, suite

DATA = "ZWANG_SICONOS"
"""Environment variable: a clone of siconos/siconos-tutorials."""


def test_impulses_press_and_suffice_and_do_not_do_both():
    draw = np.random.default_rng(0)
    for n in (1, 2, 4):
        A, c = draw.normal(size=(n, 5)), draw.normal(size=n)
        impulse = impact.least(A @ A.T, c)
        left = A @ A.T @ impulse + c
        assert np.all(impulse >= 0)
        # round-off of numbers of size one
        assert np.all(left >= -1e-12)
        assert abs(impulse @ left) <= 1e-12


def test_every_file_is_a_case_or_says_why_not():
    for name, case in suite.CASES.items():
        assert isinstance(case, suite.Case) or len(case) > 5, name


def test_a_contact_that_is_driven_through_is_named():
    driven = dataclasses.replace(
        balls.falling(0.0, -2.0), joints=lambda q, t: q + 2.0 * t, restitution=[0.5]
    )
    with pytest.raises(impact.MotionError, match=r"at t = 0 s no impulse keeps contact 0 .* 2 m/s"):
        impact.Motion(driven, np.array([0.0, 1.0])).struck(np.zeros(1), np.array([-2.0]), 0.0)


@pytest.mark.slow
def test_a_ball_bounces_as_its_parabolas_say():
    height, e, g = 1.0, 0.9, 9.81
    first, speed = np.sqrt(2 * height / g), np.sqrt(2 * height * g)
    # the sixth flight, which begins after the impacts at 1, 1 + 2e, … times the first fall
    starts = first + 2 * speed / g * np.cumsum([0.0, e, e**2, e**3, e**4])
    t = starts[-1] + 0.1
    expected = speed * e**5 * 0.1 - g * 0.1**2 / 2
    motion = impact.Motion(balls.falling(height, 0.0, g, e), np.array([0.0, 0.5, t]))
    np.testing.assert_allclose(motion.states()[0][-1], expected, atol=1e-9)
    assert motion.impacts == 5


@pytest.mark.slow
@pytest.mark.skipif(DATA not in os.environ, reason=f"{DATA} names no clone of siconos-tutorials")
def test_event_driven_files_agree():
    name = "BouncingBallEventDriven/BouncingBallED-TwoContacts"
    assert suite.line(Path(os.environ[DATA]), name, suite.CASES[name]).verdict == AGREES
