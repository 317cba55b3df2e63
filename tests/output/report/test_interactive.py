"""The figures of a report in a browser: zoom, values at the pointer, hidden curves, keys."""

import base64
import json

import numpy as np
import pytest

from zwang.output.report import interactive
from zwang.output.report.html import HERE, render
from zwang.plots import Curve, Mark, Panel, Picture

NAME = '</script> & "x"'


def picture():
    """Two curves over the same places, one with a jump and another over two places of its own."""
    t = np.linspace(0.0, 10.0, 101)
    stairs = Curve([0.0, 4.0, 4.0, 10.0], [1.0, 1.0, 2.0, 2.0], "stairs")
    first = [Curve(t, t, NAME), Curve(t, 20.0 + t**2, "square"), Curve([0.0, 10.0], 5.0, "bound")]
    return Picture(
        [
            Panel([*first, stairs], "length [m]", marks=[Mark([2.0], ["here"])]),
            Panel([Curve(t, np.r_[0.0, 10.0 ** -t[1:]])], "error [1]", logarithmic=True),
        ]
    )


def numbers(data):
    def array(base, text):
        return base + np.frombuffer(base64.b64decode(text), "<f4").astype(float)

    return [array(*each) for each in json.loads(data)["numbers"]]


def test_numbers_are_known_to_the_curves_extent_and_equal_places_are_written_once():
    t = np.linspace(0.0, 1.0, 50)
    y = 1e6 + 1e-6 * np.sin(t)
    one = Picture([Panel([Curve(t, y, "a"), Curve(t, -y, "b")], "y")])
    places, found, other = numbers(interactive.data({"p": one}))
    assert np.allclose(places, t, rtol=1e-7, atol=0)
    # the numbers themselves are known to 1e-10
    assert np.allclose(found, y, rtol=0, atol=3e-10) and np.array_equal(other, -found)


def test_few_points_of_a_long_curve_keep_its_peaks():
    t = np.arange(100_000.0)
    peak, dip = (np.where(t == at, s, 0.0) for at, s in ((34_567, 3.0), (70_001, -2.0)))
    long = Picture([Panel([Curve(t, peak, "a"), Curve(t, dip, "b")], "y")])
    places, a, b = numbers(interactive.data({"p": long}))
    assert len(places) <= interactive.MOST_IN_PAGE + 2
    assert (places[np.argmax(a)], a.max()) == (34_567, 3.0)
    assert (places[np.argmin(b)], b.min()) == (70_001, -2.0)


def test_a_path_remains_a_drawing():
    turn = np.linspace(0.0, 6.0, 20)
    assert interactive.is_interactive(picture())
    assert not interactive.is_interactive(
        Picture([Panel([Curve(np.cos(turn), np.sin(turn))], "y")])
    )


@pytest.fixture
def opened(browser, tmp_path):
    """The program on a page with one figure."""
    figure = '<figure data-chart="one" data-title="One"><svg></svg></figure>'
    template = tmp_path / "page.html"
    body = f"{{% block body %}}<section>{figure}</section>{{% endblock %}}"
    template.write_text(
        '{% extends "skeleton.html" %}\n{% block head %}<style>{{ style }}</style>{% endblock %}\n'
        + body
        + '{% block program %}<script type="application/json" id="numbers">{{ data }}</script>'
        "<script>{{ program }}</script>{% endblock %}"
    )
    written = tmp_path / "written.html"
    written.write_text(
        render(
            template,
            style=interactive.style(),
            data=interactive.data({"one": picture()}),
            program=interactive.program(),
        )
    )
    page = browser.new_page(viewport={"width": 400, "height": 700}, color_scheme="dark")
    page.set_default_timeout(20_000)
    asked, complaints = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(written.as_uri())
    yield page
    assert not complaints
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    page.close()


def values(figure):
    return figure.locator(".u-value").all_text_contents()


def shown_range(figure):
    return [float(x) for x in figure.get_attribute("data-range").split()]


@pytest.mark.slow
def test_a_figure_zooms_tells_its_values_and_hides_a_curve_by_pointer_and_by_keys(opened):
    figure = opened.locator("figure")
    assert shown_range(figure) == [0.0, 10.0]
    assert opened.evaluate("document.documentElement.scrollWidth") <= 400
    over = figure.locator(".u-over").first.bounding_box()
    at = lambda share: (over["x"] + share * over["width"], over["y"] + 40)

    # the legend shows the values under the pointer, also of curves with no sample there
    opened.mouse.move(*at(0.6))
    assert values(figure) == ["6", "6", "56", "5", "2", "6", "0.000001"]
    opened.mouse.move(*at(0.2))
    opened.mouse.down()
    opened.mouse.move(*at(0.5), steps=3)
    opened.mouse.up()
    low, high = shown_range(figure)
    assert abs(low - 2.0) < 0.1 and abs(high - 5.0) < 0.1
    # both panels zoom, and their vertical axes adapt
    assert opened.evaluate("zwangCharts.map((u) => u.scales.x.max)") == [high, high]
    assert opened.evaluate("zwangCharts[0].scales.y.max") < 50
    figure.get_by_text("Whole range").click()
    assert shown_range(figure) == [0.0, 10.0]

    # a name that is markup is text, and hides its curve
    square = figure.locator("th", has_text="square")
    assert figure.locator("th").nth(1).text_content() == NAME
    square.click()
    assert square.get_attribute("aria-pressed") == "false"
    assert opened.evaluate("zwangCharts[0].series[2].show") is False
    assert opened.evaluate("zwangCharts[0].scales.y.max") < 12
    square.press("Enter")
    assert square.get_attribute("aria-pressed") == "true"

    panel = figure.locator(".panel").first
    panel.press("Home")
    panel.press("ArrowRight")
    assert figure.locator(".spoken").text_content().startswith("0.1: ")
    assert "square 20.01" in figure.locator(".spoken").text_content()
    panel.press("End")
    panel.press("+")
    assert shown_range(figure) == [5.0, 10.0]
    panel.press("0")
    assert shown_range(figure) == [0.0, 10.0]


def test_the_drawing_is_what_is_printed(opened):
    visible = [opened.locator(x).is_visible() for x in ("figure > svg", ".chart")]
    opened.emulate_media(media="print")
    printed = [
        opened.evaluate(f"getComputedStyle(document.querySelector('{x}')).display")
        for x in ("figure > svg", ".chart")
    ]
    assert visible == [False, True]
    assert printed[0] != "none" and printed[1] == "none"


def test_the_program_is_the_published_one():
    makefile = (HERE.parents[3] / "Makefile").read_text()
    version = makefile.split("UPLOT_VERSION := ")[1].split()[0]
    assert f"(v{version})" in (HERE / "uplot.js").read_text()[:200]
