"""Pictures as data: what they refuse, and what is drawn of them as SVG and by matplotlib."""

import dataclasses
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from urllib.parse import urlparse
from urllib.request import url2pathname

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import zwang as zw
from zwang.gallery.mechanisms import FOLDER
from zwang.mechanism.drawing import picture as picture_of
from zwang.plots import Curve, Label, Mark, Panel, Picture, joined
from zwang.plots.data import HALF, PALETTE
from zwang.plots.layout import layout, wide
from zwang.plots.points import MOST_POINTS, MOST_STAIRS, spaced, thinned
from zwang.plots.svg import svg

SVG = "{http://www.w3.org/2000/svg}"
EVIL = '<script>alert("x")</script> & \'$\\frac$ \x00\x1b ]]> #0072b2'
T = np.linspace(0.0, 5.0, 51)


def one(*curves, **options):
    return Picture([Panel(curves, "speed [m/s]", **options)])


def parsed(picture, **options):
    return ET.fromstring(svg(picture, **options))


def strokes(root):
    """Points of each curve, by its color, as (n, 2) arrays with a row of NaN before each piece."""
    found = {}
    for path in root.iter(f"{SVG}path"):
        if path.get("stroke") in PALETTE and path.get("stroke-linecap"):
            pieces = [
                [
                    [np.nan, np.nan],
                    *np.reshape([float(x) for x in re.findall(r"-?[\d.]+", piece)], (-1, 2)),
                ]
                for piece in path.get("d").split("M")[1:]
            ]
            found[path.get("stroke")] = np.concatenate(pieces)
    return found


@pytest.mark.slow
@given(st.text(), st.text())
def test_whatever_the_names_are_the_svg_is_xml_and_shows_them_as_text(name, other):
    picture = Picture(
        [
            Panel(
                [Curve(T, T, name), Curve(T, -T, other)],
                name,
                heading=other,
                marks=[Mark([1.0], [name])],
                labels=[Label((1, 1), name)],
            )
        ],
        xlabel=name,
        title=other,
    )
    for themed in (False, True):
        root = parsed(picture, title=name, themed=themed)
        assert {element.tag.removeprefix(SVG) for element in root.iter()} <= {
            "svg",
            "rect",
            "path",
            "text",
            "g",
            "clipPath",
        }


def test_hostile_names_stay_text():
    drawn = svg(one(Curve(T, T, EVIL), Curve(T, T), heading=EVIL), title=EVIL, themed=True)
    root = ET.fromstring(drawn)
    assert "<script" not in drawn and "\x00" not in drawn
    assert (
        root.get("role") == "img"
        and root.get("aria-label").startswith('<script>alert("x")')
        and "#0072b2" in root.get("aria-label")
    )
    assert any(text.text.startswith("<script>alert") for text in root.iter(f"{SVG}text"))


def test_colors_are_those_of_the_page_only_where_it_has_them():
    curves = [Curve(T, T), Curve(T, T, color="#123456")]
    themed, plain = svg(one(*curves), themed=True), svg(one(*curves))
    assert 'stroke="var(--line0, #0072b2)"' in themed and 'stroke="#123456"' in themed
    assert "var(" not in plain and 'stroke="#0072b2"' in plain


def test_a_curve_is_drawn_where_its_numbers_are():
    picture = one(Curve(T, T**2))
    (at,) = layout(picture).places
    points = strokes(parsed(picture))[PALETTE[0]][1:]
    x, y = at.points(T, T**2)
    assert np.allclose(points, np.column_stack([x, y]), atol=0.006)
    assert at.left < points[:, 0].min() and points[:, 0].max() < at.left + at.x.length
    assert np.all(np.diff(points[:, 1]) < 0)  # up is less in SVG


def test_a_curve_has_a_gap_at_nan_and_a_dot_for_a_lone_point():
    y = np.where((T > 2) & (T < 3), np.nan, T)
    y[25] = 2.5
    root = parsed(one(Curve(T, y)))
    pieces = np.isnan(strokes(root)[PALETTE[0]][:, 0]).sum()
    assert pieces == 3
    dots = [path for path in root.iter(f"{SVG}path") if path.get("fill") == PALETTE[0]]
    assert len(dots) == 1 and dots[0].get("d").count("M") == 1


def test_a_logarithmic_axis_leaves_out_what_is_not_positive_and_says_when_nothing_is():
    y = np.where(T < 1, 0.0, 10.0**-T)
    drawn = strokes(parsed(one(Curve(T, y), logarithmic=True)))[PALETTE[0]]
    gap, first, last = drawn  # a straight line needs no point between its ends
    assert np.isnan(gap).all() and last[0] - first[0] == pytest.approx(
        4 * (first[0] - 58.0), rel=0.01
    )
    assert "zero at every sample" not in svg(one(Curve(T, y), logarithmic=True))
    assert "zero at every sample" in svg(one(Curve(T, 0.0), logarithmic=True))


@pytest.mark.parametrize("size", [(1.0, 1.0), (1e-3, 5.0), (40.0, 0.2), (0.0, 1.0)])
def test_equal_scales_are_equal_and_show_everything(size):
    a, b = size
    circle = np.linspace(0, 2 * np.pi, 50)
    picture = Picture(
        [Panel([Curve(a * np.cos(circle), b * np.sin(circle))], "y [m]")],
        "x [m]",
        width=HALF,
        equal=True,
    )
    (at,) = layout(picture).places
    assert at.x.scale == pytest.approx(at.y.scale, rel=1e-12)
    x, y = strokes(parsed(picture))[PALETTE[0]][1:].T
    for low, high, places in ((at.left, at.left + at.x.length, x), (at.top, at.bottom, y)):
        assert low < places.min() and places.max() < high
    if min(size) > 0:
        assert np.ptp(x) / np.ptp(y) == pytest.approx(a / b, rel=0.01, abs=0.02 / np.ptp(y))
    axes = picture.figure().axes[0]
    width, height = axes.get_position().size * axes.figure.get_size_inches()
    assert np.ptp(axes.get_xlim()) / width == pytest.approx(
        np.ptp(axes.get_ylim()) / height, rel=1e-9
    )


def test_panels_share_the_axis_across_and_nothing_overlaps():
    names = [f"constraint {i} of the mechanism" for i in range(12)]
    panels = [
        Panel([Curve(T, i + T, name) for i, name in enumerate(names)], "a [m]", heading="12 of 40"),
        Panel([Curve(T - 2, T)], "b [m]"),
    ]
    page = layout(Picture(panels))
    above, below = page.places
    assert (above.left, above.x) == (below.left, below.x)
    assert above.bottom < below.top - below.head and below.bottom < page.height
    rows = {y for _, y in above.entries}
    assert len(rows) > 1 and all(-above.head < y < 0 for y in rows)
    texts = [t for t in parsed(Picture(panels)).iter(f"{SVG}text") if t.text in names]
    assert len(texts) == 12 and all(above.left < float(t.get("x")) < page.width for t in texts)


def test_twelve_curves_can_be_told_apart():
    drawn = Panel([Curve(T, T) for _ in range(12)], "a").drawn
    assert len({(curve.color, curve.dash) for curve in drawn}) == 12


def test_marks_stand_where_they_belong_with_their_names():
    picture = one(Curve(T, T), marks=[Mark([1.0, 4.9], ["latch on", "latch off\n2 J lost"])])
    (at,) = layout(picture).places
    root = parsed(picture)
    names = {t.text: float(t.get("x")) for t in root.iter(f"{SVG}text")}
    assert (
        0 < names["latch on"] - at.points(1.0, 0)[0] < 5
        and 0 < at.points(4.9, 0)[0] - names["2 J lost"] < 5
    )
    assert any(
        path.get("d").startswith(f"M{at.points(1.0, 0)[0]:.2f} {at.top:.2f}v")
        for path in root.iter(f"{SVG}path")
    )


def test_a_long_curve_over_time_keeps_its_peaks():
    t = np.linspace(0, 1, 100_000)
    y = np.sin(40 * t)
    y[54_321] = 17.0
    thin_t, thin_y = thinned(t, y)
    assert len(thin_t) <= MOST_POINTS + 2
    assert (thin_y.max(), thin_y.min(), thin_t[0], thin_t[-1]) == (17.0, y.min(), 0.0, 1.0)


def test_a_long_path_stays_on_its_curve_and_keeps_ends_and_gaps():
    angle = np.linspace(0, 200 * np.pi, 100_000)
    x, y = 50 * np.cos(angle), 50 * np.sin(angle)
    x[40_000] = np.nan
    few_x, few_y = spaced(x, y)
    assert len(few_x) <= MOST_STAIRS + 10 and np.isnan(few_x).sum() == 1
    assert (few_x[0], few_x[-1]) == (x[0], x[-1]) and x[39_999] in few_x and x[40_001] in few_x
    chords = np.hypot((few_x[1:] + few_x[:-1]) / 2, (few_y[1:] + few_y[:-1]) / 2)
    assert np.nanmin(chords) > 49.7  # a third of a point from the circle at most


def test_values_far_beyond_the_limits_are_cut_off_and_not_written():
    drawn = svg(one(Curve([0, 1, 2], [0, 1e200, 1]), limits=(0, 2)))
    assert "e+" not in drawn and max(len(x) for x in re.findall(r"[\d.]+", drawn)) < 10
    clip = ET.fromstring(drawn).find(f"{SVG}clipPath/{SVG}rect")
    (at,) = layout(one(Curve([0, 1, 2], [0, 1e200, 1]), limits=(0, 2))).places
    assert float(clip.get("height")) == pytest.approx(at.y.length, abs=0.01)


def test_lines_that_are_joined_have_a_gap_between():
    curve = joined([np.zeros((2, 2)), np.ones((3, 2))], label="bars")
    assert np.isnan(curve.x).tolist() == [False, False, True, False, False, False]
    assert len(joined([]).x) == 0


def test_a_number_stands_for_as_many_as_there_are():
    assert np.array_equal(Curve(T, 3).y, np.full(51, 3.0))


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda: Curve(T, T[1:], "speed"), r"curve 'speed': x has shape \(51,\) and y \(50,\)"),
        (lambda: Curve(T, np.ones((51, 2))), r"y \(51, 2\), expected \(n,\)"),
        (lambda: Curve(1.0, 2.0), r"x has shape \(\)"),
        (lambda: Curve(T, T, marker="x"), "marker 'x', expected 'o'"),
        (
            lambda: one(Curve(T, T), logarithmic=True, limits=(0, None)),
            "limits .* on a logarithmic axis, expected positive",
        ),
        (lambda: Picture([], logarithmic=True, equal=True), "equal=True with a logarithmic axis"),
        (
            lambda: one(Curve(T, T)).save("no/such/folder/a.svg"),
            "folder no/such/folder does not exist",
        ),
    ],
)
def test_what_cannot_be_drawn_is_refused_in_a_sentence(wrong, says):
    with pytest.raises(zw.ModelError, match=says):
        wrong()


def test_a_picture_is_saved_as_svg_and_as_what_matplotlib_knows(tmp_path):
    picture = one(
        Curve(T, T, "a", dot=True, marker="s"),
        marks=[Mark([1], ["on"])],
        labels=[Label((1, 1), "here $")],
    )
    assert ET.parse(picture.save(tmp_path / "a.svg")).getroot().tag == f"{SVG}svg"
    assert picture.save(tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert picture.figure()._repr_png_().startswith(b"\x89PNG")
    assert picture._repr_svg_().startswith("<svg")


def test_the_matplotlib_figure_has_the_same_curves_limits_and_ticks():
    panels = [
        Panel([Curve(T, T, "a"), Curve(T, -T, "b")], "a [m]"),
        Panel([Curve(T, 10**-T)], "b [m]", logarithmic=True),
    ]
    picture = Picture(panels, "time [s]", title="both")
    for axes, at in zip(picture.figure().axes, layout(picture).places, strict=True):
        assert axes.get_xlim() == pytest.approx(at.x.ends) and axes.get_ylim() == pytest.approx(
            at.y.ends
        )
        assert [text.get_text() for text in axes.get_yticklabels()] == [
            told for _, told in at.y.ticks()
        ]
        for line, curve in zip(axes.get_lines(), at.panel.curves, strict=True):
            assert np.array_equal(line.get_ydata(), curve.y)
    assert dataclasses.replace(picture, panels=[]).figure().axes == []


def test_an_empty_picture_is_drawn_all_the_same():
    assert parsed(Picture([], title="nothing")).tag == f"{SVG}svg"
    assert parsed(one(Curve([], []))).tag == f"{SVG}svg"
    assert parsed(one(Curve(T, np.nan))).tag == f"{SVG}svg"


def test_a_label_that_would_leave_the_page_stands_to_the_left_of_its_point():
    curve = Curve([0.0, 1.0], [0.0, 1.0])
    labels = [Label((0.0, 0.0), "here", shift=(5.0, 5.0)), Label((1.0, 1.0), "a long name of it")]
    made = one(curve, labels=labels)
    texts = {x.text: x for x in parsed(made).iter(f"{SVG}text")}
    assert texts["here"].get("text-anchor") == "start"
    assert texts["a long name of it"].get("text-anchor") == "end"
    sides = {x.get_text(): x.get_ha() for x in made.figure().axes[0].texts}
    assert sides == {"here": "left", "a long name of it": "right"}


def boxes(root, words):
    """Left, top, right and bottom of texts, by the same estimate of their width as a layout."""
    found = []
    for one in root.iter(f"{SVG}text"):
        if one.text in words:
            x, y, size = (float(one.get(key)) for key in ("x", "y", "font-size"))
            width = wide(one.text, size)
            left = x - width if one.get("text-anchor") == "end" else x
            found.append((left, y - 0.75 * size, left + width, y + 0.2 * size))
    return found


def test_names_cover_neither_curves_nor_each_other():
    angle = np.linspace(0.0, 2 * np.pi, 400)
    places, y = [0.667, 3.917, 4.2, 6.1], 90 - 30 * np.cos(angle) ** 2
    words = ["first", "second", "a third name", *(f"dead point {x}" for x in places)]
    labels = [Label((1.0, 75.0), x, shift=(4.0, 4.0)) for x in words[:3]]
    marks = [Mark(places, words[3:])]
    picture = one(Curve(angle, y), limits=(0, 95), marks=marks, labels=labels)
    (at,) = layout(picture).places
    found = boxes(parsed(picture), words)
    x, y = at.points(angle, y)
    assert len(found) == len(words)
    for i, (left, top, right, bottom) in enumerate(found):
        assert not np.any((x > left) & (x < right) & (y > top) & (y < bottom)), words[i]
        for a, b, c, d in found[:i]:
            assert right <= a or c <= left or bottom <= b or d <= top, words[i]


def test_the_name_of_a_row_stays_in_its_row():
    curves = [Curve([0.0, 10.0], 1.0), Curve([0.0, 10.0], 1.2)]  # the second one crosses the name
    picture = one(*curves, limits=(0.5, 2.0), labels=[Label((0.0, 1.0), "floor", row=True)])
    (at,) = layout(picture).places
    (text,) = (x for x in parsed(picture).iter(f"{SVG}text") if x.text == "floor")
    assert float(text.get("y")) == pytest.approx(float(at.points(0.0, 1.0)[1]), abs=0.01)


@pytest.mark.slow
def test_names_of_joints_and_bodies_on_one_line_are_apart():
    machine = zw.mechanism.read(FOLDER / "slider-crank.toml")
    drawn = picture_of(machine, machine.start_state.q)
    words = {"shaft", "pin", "wrist, cylinder", "crank", "rod", "piston"}
    found = boxes(parsed(drawn), words)
    assert len(found) == len(words)
    for i, (left, top, right, bottom) in enumerate(found):
        for a, b, c, d in found[:i]:
            assert right <= a or c <= left or bottom <= b or d <= top


def test_a_script_shows_a_figure_without_pyplot(monkeypatch):
    """Matplotlib refuses to show a figure that pyplot does not manage."""
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    one(Curve(T, T)).figure().show()
    (address,) = opened
    assert Path(url2pathname(urlparse(address).path)).read_bytes().startswith(b"\x89PNG")
