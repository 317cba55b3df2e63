"""Panels of a run's variables."""

import numpy as np
import pytest

import zwang as zw
from zwang.simulation.results.plot import lowest


def test_a_curve_far_below_the_others_does_not_choose_a_logarithmic_axis():
    t = np.linspace(0.0, 1.0, 50)
    shown = 1e-15 * (1 + t)
    assert lowest(np.stack([shown, 1e-30 * shown], axis=1), 3) == lowest(shown[:, None], 3) == 1e-15
    assert lowest(np.stack([shown, 1e-3 * shown], axis=1), 3) == pytest.approx(1e-18)
    assert lowest(np.zeros((3, 2)), 3) is None and lowest(np.full((3, 1), np.nan), 3) is None


def test_energy_without_a_potential_is_called_kinetic_without_a_legend():
    free = zw.Model(zw.System(1, lambda q, t, p: np.ones(1), lambda q, v, t, p: -q), name="free")
    (axes,) = zw.simulate(free, [1.0], [0.0], duration=0.1, samples=3).plot("energy").axes
    assert axes.get_ylabel() == "kinetic energy [J]" and axes.get_legend() is None


def test_a_coordinate_is_drawn_by_its_name_and_a_wrong_one_is_told_the_right_one():
    run = zw.simulate(zw.gallery.load("pendulum").model, [1.0, 0.0], [0.0, 0.0], duration=0.1)
    (axes,) = run.plot("y").axes
    assert axes.get_ylabel() == "y [m]"
    np.testing.assert_array_equal(axes.lines[0].get_ydata(), run.q[:, 1])
    with pytest.raises(zw.ModelError, match=r"no coordinate 'yy'; did you mean 'y'\?"):
        run.plot("yy")
