"""The report of a study in a browser: filters select the right cases, headings sort."""

import pytest

import zwang as zw

pytest.importorskip("pyarrow")


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    study = zw.sweep(
        zw.gallery.load("pendulum").model,
        {"length": [0.5, 1.0, 1.5], "mass": [1.0, 2.0]},
        start=lambda values: ([values["length"], 0.0], [0.0, 0.0]),
        duration=0.2,
        samples=3,
        outputs=["y.min"],
    )
    study.report(folder / "report.html")
    return folder / "report.html"


@pytest.fixture
def page(browser, written):
    opened = browser.new_page(viewport={"width": 700, "height": 600})
    asked, wrong = [], []
    opened.on("request", lambda request: asked.append(request.url))
    opened.on("pageerror", lambda error: wrong.append(str(error)))
    opened.goto(written.as_uri())
    yield opened
    assert not wrong and asked == [written.as_uri()]
    opened.close()


def column(page, name):
    """The values of a column in the table that is shown."""
    heads = [x.split(" [")[0] for x in page.locator("#table th").all_text_contents()]
    return page.locator(f"#table tbody td:nth-child({heads.index(name) + 1})").all_text_contents()


@pytest.mark.slow
def test_filters_keep_the_cases_between_their_bounds(page):
    assert page.locator("#kept").text_content() == "6 of 6 cases"
    page.get_by_label("length: lowest").fill("0.9")
    assert page.locator("#kept").text_content() == "4 of 6 cases"
    page.get_by_label("length: highest").fill("1.2")
    assert column(page, "length") == ["1", "1"]
    page.get_by_label("length: lowest").fill("")
    assert column(page, "length") == ["0.500000", "0.500000", "1", "1"]
    page.get_by_label("result: contains").fill("no such result")
    assert page.locator("#kept").text_content() == "0 of 6 cases"


@pytest.mark.slow
def test_a_heading_sorts_up_and_then_down(page):
    for expected in (["1", "1", "1", "2", "2", "2"], ["2", "2", "2", "1", "1", "1"]):
        page.locator("#table th button", has_text="mass").click()
        assert column(page, "mass") == expected


@pytest.mark.slow
def test_what_is_filtered_away_is_not_drawn(page):
    inked = lambda: page.evaluate(
        """() => {
        const canvas = document.getElementById("parallel");
        const found = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
        return found.reduce((n, x, i) => n + (i % 4 === 3 && x > 0), 0);
    }"""
    )
    before = inked()
    page.get_by_label("length: highest").fill("0.1")
    assert inked() < 0.9 * before
