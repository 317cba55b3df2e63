"""Axes cover all values, with round labels that can be distinguished."""

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from zwang.plots.axis import FLAT, PAD, axis, ticks

sizes = st.floats(-1e299, 1e299, allow_nan=False, allow_infinity=False)
values = st.lists(
    sizes | st.sampled_from([0.0, 1e-300, -1e-300, 5e-324, math.nan, math.inf, -math.inf]),
    max_size=8,
)


def number(said: str) -> float:
    return float(said.replace("−", "-"))


@given(values, st.floats(60, 700))
@example([1e299, -1e299], 126.0)
@example([6.6666666633333335e299], 60.0)
@example([5.0, 5.0 + 1e-9, 5.0 - 1e-9], 126.0)
@example([1e-300], 126.0)
@example([], 126.0)
def test_an_axis_shows_every_number_and_its_ticks_lie_on_it(given_values, length):
    made = axis(given_values, length)
    shown = np.array([x for x in given_values if abs(x) < 1e300])
    assert made.low < made.high
    assert np.all(made.at(shown) >= -1e-9 * length) and np.all(
        made.at(shown) <= length * (1 + 1e-9)
    )
    labeled = made.ticks()
    assert 1 <= len(labeled) <= made.most + 1
    assert all(-1e-6 <= made.at(x) / length <= 1 + 1e-6 for x, _ in labeled)
    assert len({said for _, said in labeled}) == len(labeled)


@given(st.floats(-1e12, 1e12), st.floats(-9, 12), st.integers(2, 12))
def test_ticks_are_multiples_of_1_2_or_5_and_neither_few_nor_many(middle, size, most):
    span = 10.0**size
    if span < 10 * FLAT * abs(middle):
        return
    low, high = middle - span / 2, middle + span / 2
    numbers, digits = ticks(low, high, most)
    assert math.floor(most / 2.5) <= len(numbers) <= most + 1
    if len(numbers) > 1:
        step = numbers[1] - numbers[0]
        mantissa = round(step / 10 ** math.floor(math.log10(step * (1 + 1e-6))), 3)
        assert (
            mantissa in (1, 2, 5) or abs(middle) > 1e6 * step
        )  # where the difference of two doubles has lost its digits
        assert len({f"{x:.{digits}g}" for x in numbers}) == len(numbers)


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (0, 1, ["0", "0.2", "0.4", "0.6", "0.8", "1"]),
        (-3, 3, ["−2", "0", "2"]),
        (0, 0.3, ["0", "0.1", "0.2", "0.3"]),
        (1e-15, 5e-15, ["1e−15", "2e−15", "3e−15", "4e−15", "5e−15"]),
        (1e6, 1e6 + 4, ["1000000", "1000001", "1000002", "1000003", "1000004"]),
        (0, 3e7, ["0", "1e7", "2e7", "3e7"]),
    ],
)
def test_labels_say_their_numbers(low, high, said):
    made = axis([low, high], 5 * 16.0 + 1, limits=(low, high))
    assert [label for _, label in made.ticks()] == said
    assert all(number(label) == pytest.approx(x, rel=1e-12, abs=1e-30) for x, label in made.ticks())


def test_a_line_that_is_flat_to_round_off_stays_flat():
    values = 5.0 + 1e-15 * np.arange(4)
    made = axis(values, 100.0)
    assert np.ptp(made.at(values)) < 1e-9 and (made.low, made.high) == pytest.approx((2.5, 7.5))
    zero = axis([0.0, 0.0], 100.0)
    assert (zero.low, zero.high) == (-0.5, 0.5)


def test_small_changes_of_small_numbers_are_seen():
    values = np.array([0.0, 1e-13, 3e-13])
    assert np.ptp(axis(values, 100.0).at(values)) == pytest.approx(100.0 - 2 * PAD)


def test_infinite_and_missing_values_have_no_place_and_no_say():
    made = axis([1.0, 2.0, np.inf, -np.inf, np.nan, 1e301], 100.0)
    assert (made.low, made.high) == (axis([1.0, 2.0], 100.0).low, axis([1.0, 2.0], 100.0).high)
    assert np.isnan(made.at([np.inf, -np.inf, np.nan])).all()


def test_a_limit_ends_an_axis_though_the_curves_go_on_or_end_before():
    assert axis([1.0, 2.0], 100.0, limits=(0, None)).low == 0.0
    assert axis([1.0, 2.0], 100.0, limits=(None, 1.5)).high == 1.5
    beyond = axis([1.0, 2.0], 100.0, limits=(3.0, None))
    assert beyond.low == 3.0 < beyond.high


def test_whole_numbers_are_asked_for():
    assert [said for _, said in axis([11, 12], 60.0, limits=(10.4, 12.6), whole=True).ticks()] == [
        "11",
        "12",
    ]


@given(st.lists(st.floats(1e-299, 1e299), min_size=1, max_size=6))
def test_a_logarithmic_axis_has_whole_decades_and_powers_of_ten(values):
    made = axis([*values, 0.0, -1.0, np.nan], 126.0, logarithmic=True)
    assert (
        made.low == math.floor(made.low)
        and made.high == math.floor(made.high)
        and made.high - made.low >= 1
    )
    assert made.low <= math.log10(min(values)) and math.log10(max(values)) <= made.high
    assert all(said == f"1e{round(math.log10(x))}".replace("-", "−") for x, said in made.ticks())
    assert np.isnan(made.at([0.0, -1.0])).all()


def test_a_decade_up_is_the_same_way_everywhere():
    made = axis([1e-3, 1e2], 100.0, logarithmic=True)
    assert np.allclose(np.diff(made.at([1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0])), 20.0)


def test_a_narrow_range_far_from_zero_is_labeled_from_a_number_that_is_stated():
    from zwang.plots import Curve, Panel, Picture
    from zwang.plots.layout import layout

    energy = -3.3552176062 + 1e-10 * np.linspace(-1.0, 1.0, 21)
    place = layout(Picture([Panel([Curve(np.arange(21.0), energy)], "energy [J]")])).places[0]
    assert [said for _, said in place.y.ticks()] == ["−1e−10", "−5e−11", "0", "5e−11", "1e−10"]
    assert place.panel.heading == "shown relative to −3.3552176062"
    for x, said in place.y.ticks():
        assert x - place.y.base == pytest.approx(number(said), abs=1e-15)
    wide = layout(Picture([Panel([Curve(np.arange(21.0), np.arange(21.0))], "x [m]")])).places[0]
    assert wide.y.base == 0.0 and not wide.panel.heading
