"""What "small" means for a model, and which mass matrices are refused, by numbers known by hand."""

import numpy as np
import pytest

import zwang as zw
from tests.models import free_particle
from zwang.dynamics.initial_conditions import mass_is_positive, refuse_asymmetric_mass
from zwang.dynamics.placement import directions_of, extent_of, scales_of, size_of


def test_the_extent_of_a_motion_is_where_it_is_and_how_far_it_goes():
    assert extent_of(np, 1.0, 2.0, 4.0, 9.0, 3.0) == 1.0 + 6.0 + 18.0
    assert extent_of(np, 0.0, 0.0, 0.0, 9.0, 3.0) == 9.0
    assert extent_of(np, 1e-3, 0.0, 0.0, 9.0, 3.0) == 1e-3
    assert extent_of(np, 1e-10, 0.0, 0.0, 1e3, 3.0) == 1e3
    assert extent_of(np, 1e-10, 0.0, 0.0, 10.0, 3.0) == 1e-10
    assert size_of(np, np.array([-3.0, 2.0]), 2.0) == 6.0
    assert size_of(np, np.zeros(0), 2.0) == 0.0


def test_directions_are_eight_of_unit_variance_and_always_the_same():
    w = directions_of(500)
    assert w.shape == (8, 500) and np.std(w) == pytest.approx(1.0, abs=0.05)
    np.testing.assert_array_equal(w, directions_of(500))


def test_scales_are_the_median_curvature_and_lengths_nearby():
    curved = np.tile([4.0, 2.0, 0.0], (8, 1)) * np.sqrt(2)
    found = scales_of(np, np.array([2.0, 2.0, 5.0]), curved, 7.0)
    assert found.curvature == pytest.approx(1.5) and found.inverse_length == pytest.approx(1.5)
    nearby = np.array([4.0, 2.0, 0.0]) / 1.5
    expected = np.hypot([2.0, 2.0, 5.0], nearby)
    np.testing.assert_allclose(found.row_length, expected)


@pytest.mark.parametrize("size", [1e-13, 1e-7, 1e7])
def test_a_curvature_of_any_size_is_one(size):
    """Rows shorter than one, and one that is straight."""
    curved = np.tile([0.5 * size, 0.0], (8, 1)) * np.sqrt(2)
    found = scales_of(np, np.array([0.5, 0.5]), curved, 7.0)
    assert found.curvature == pytest.approx(size, rel=1e-12)
    assert found.inverse_length == pytest.approx(size, rel=1e-12)
    np.testing.assert_allclose(found.row_length, [np.hypot(0.5, 0.5), 0.5])


def test_linear_rows_are_measured_against_the_extent():
    found = scales_of(np, np.array([2.0, 0.0]), np.zeros((8, 2)), 5.0)
    assert found.curvature == 0 and found.inverse_length == pytest.approx(0.2)
    np.testing.assert_allclose(found.row_length, [2.0, 0.0])
    none = scales_of(np, np.zeros(0), np.zeros((8, 0)), 5.0)
    assert none.curvature == 0 and none.inverse_length == 0 and len(none.row_length) == 0


@pytest.mark.parametrize(
    ("M", "positive"),
    [
        (np.array([1.0, 2.0]), True),
        (np.array([1.0, 0.0]), False),
        (np.array([1.0, -1.0]), False),
        (np.array([1.0, 1e-13]), True),
        (np.array([1.0, np.nan]), True),
        (np.array([[2.0, 1.0], [1.0, 2.0]]), True),
        (np.array([[1.0, 1.0], [1.0, 1.0]]), False),
        (np.array([[1.0, 2.0], [2.0, 1.0]]), False),
        (np.stack([np.eye(2), np.array([[1.0, 1.0], [1.0, 1.0]])]), False),
        (np.stack([np.eye(2), 3 * np.eye(2)]), True),
    ],
    ids=str,
)
def test_a_mass_matrix_is_positive_to_working_precision(M, positive):
    assert mass_is_positive(M) is positive


def test_an_asymmetric_mass_matrix_is_named_by_its_entries():
    model = zw.Model(free_particle(4))
    for right in (np.ones(4), np.eye(4), np.stack([np.eye(2)] * 2), np.eye(4) + 1e-10):
        refuse_asymmetric_mass(model, right, "here")
    nearly = np.diag([1.0, 1e6, 1.0, 1.0])
    nearly[0, 1] = 1e-6  # beside the masses that it couples
    refuse_asymmetric_mass(model, nearly, "here")
    wrong = np.eye(4)
    wrong[1, 3] = 0.25
    with pytest.raises(zw.ModelError, match=r"symmetric here: .*'q1' and 'q3' is 0\.25, .* 0;"):
        refuse_asymmetric_mass(model, wrong, "here")
    blocks = np.stack([np.eye(2), np.array([[1.0, 0.0], [-0.5, 1.0]])])
    with pytest.raises(zw.ModelError, match=r"'q2' and 'q3' is 0, that of 'q3' and 'q2' -0\.5;"):
        refuse_asymmetric_mass(model, blocks, "there")
