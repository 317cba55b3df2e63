"""The page of a run: it plays in a browser without a network."""

import io
import re

import numpy as np
import pytest

from zwang.output.viewer import write_view


@pytest.fixture(scope="module")
def written(pendulum, tmp_path_factory):
    run, scene = pendulum
    path = tmp_path_factory.mktemp("view") / "view.html"
    write_view(run, scene, path, description="it <swings>")
    return path


@pytest.fixture
def opened(browser, written):
    """The page in the browser, with everything that it asked for and complained about."""
    page = browser.new_page(viewport={"width": 800, "height": 600})
    page.set_default_timeout(20_000)
    page.asked, page.complaints = [], []
    page.on("request", lambda request: page.asked.append(request.url))
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    page.on(
        "console",
        lambda message: page.complaints.append(message.text) if message.type == "error" else None,
    )
    page.goto(written.as_uri())
    shows(page, r"t = 0\.000")
    yield page
    assert not page.complaints
    assert [url for url in page.asked if not url.startswith(("file:", "data:"))] == []
    page.close()


def shows(page, time):
    from playwright.sync_api import expect

    expect(page.locator("#time")).to_have_text(re.compile(time), timeout=20_000)


def pixels(page):
    from PIL import Image

    return np.asarray(
        Image.open(io.BytesIO(page.locator("#stage").screenshot())).convert("RGB"), float
    )


def time_of(page):
    return float(page.locator("#time").text_content().split()[2])


def test_the_licence_of_the_library_stands_in_every_page(written):
    text = written.read_text(encoding="utf-8")
    licence = text.index("Permission is hereby granted")
    assert text.index("three.js authors") < licence < text.index("var THREE")


@pytest.mark.slow
def test_it_plays_and_pauses(opened):
    before = pixels(opened)
    assert np.ptp(before) > 50  # something is drawn
    opened.click("#play")
    shows(opened, r"t = (0\.[3-9]|1\.)")
    opened.click("#play")
    stopped = time_of(opened)
    opened.wait_for_timeout(150)
    assert time_of(opened) == stopped
    assert np.mean(np.abs(pixels(opened) - before) > 30) > 1e-3


@pytest.mark.slow
def test_keys_move_through_the_run(opened):
    opened.keyboard.press("End")
    shows(opened, "t = 2.000 s of 2 s")
    opened.keyboard.press("ArrowLeft")
    shows(opened, r"t = 1\.98")
    opened.keyboard.press("Home")
    shows(opened, r"t = 0\.000")
    opened.keyboard.press("+")
    assert (
        opened.eval_on_selector("#speed", "x => x.selectedOptions[0].text") == "1 ×"
    )  # two seconds start at half speed


@pytest.mark.slow
def test_it_says_its_units_and_colors_the_violation(opened):
    assert opened.locator("#scale").text_content() == "grid 0.2 m"
    assert (
        opened.locator("#arrows").text_content().startswith("longest arrow 29.4")
    )  # three times the weight, at the bottom
    dark = pixels(opened)
    opened.keyboard.press("v")
    opened.wait_for_timeout(150)
    assert opened.locator("#colors").is_visible()
    green = pixels(opened) - dark
    assert (
        np.sum((green[..., 1] > 60) & (green[..., 0] < 30)) > 20
    )  # joints turn from gray to green
    assert (
        opened.locator("h1").text_content() == "<pendulum>"
        and "it <swings>" in opened.locator("header").text_content()
    )


@pytest.mark.slow
def test_a_phone_sees_the_whole_page(opened):
    opened.set_viewport_size({"width": 390, "height": 800})
    assert opened.evaluate("document.documentElement.scrollWidth") <= 390
    assert opened.locator("#play").is_visible() and opened.locator("#reset").is_visible()
