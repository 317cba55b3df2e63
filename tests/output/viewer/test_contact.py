"""Contacts on the page: bands below the slider, cones and forces at contacts."""

import re

import numpy as np
import pytest

import zwang as zw
from tests.output.viewer.test_page import pixels, shows
from zwang.output.viewer import write_view

ARROW = (198, 40, 40)
"""The color of a force."""


@pytest.fixture(scope="module")
def rocking(tmp_path_factory):
    example = zw.gallery.load("rocking-block", mu=0.6)
    run = example.run(duration=1.0, rtol=1e-8)
    path = tmp_path_factory.mktemp("contact") / "view.html"
    write_view(run, example.scene, path)
    return run, path


@pytest.fixture
def page(opened_page, rocking):
    page = opened_page(rocking[1])
    shows(page, r"t = 0\.000")
    return page


@pytest.mark.slow
def test_bands_end_where_switches_are(page, rocking):
    run, _ = rocking
    hits = [x.time / run.t[-1] for x in run.switches if x.hit]
    paths = page.eval_on_selector_all(
        "svg.band", "all => all.map(x => [...x.children].map(y => y.getAttribute('d')))"
    )
    assert len(paths) == 4
    numbers = [[float(x) / 1000 for x in re.findall(r"[MH]([0-9.]+)", y[0])] for y in paths]
    left, right, *grips = numbers
    assert grips == [left, right]  # an edge that is down sticks
    assert len(hits) == 2
    # instants have 32 bits on the page
    np.testing.assert_allclose(left, hits, atol=1e-7)
    np.testing.assert_allclose(right, [0.0, *hits, 1.0], atol=1e-7)
    struck = [float(x) / 1000 for y in paths[:2] for x in re.findall(r"M([0-9.]+)", y[2])]
    np.testing.assert_allclose(sorted(struck), hits, atol=1e-7)
    assert page.locator("#impulses").text_content().startswith("longest impulse 1.")


@pytest.mark.slow
def test_the_edge_that_is_down_has_a_cone_with_its_force(page):
    page.wait_for_timeout(400)
    page.uncheck("#names")
    page.wait_for_timeout(400)
    before = pixels(page)
    page.uncheck("#forces")
    page.wait_for_timeout(400)
    gone = np.max(np.abs(pixels(page) - before), axis=-1) > 20
    arrow = gone & (np.max(np.abs(before - ARROW), axis=-1) < 60)
    assert np.sum(arrow) > 50 and np.sum(gone & ~arrow) > 300  # the cone is wider
    # they begin where the block stands
    height, _ = gone.shape
    assert np.max(np.argwhere(arrow)[:, 0]) > 0.8 * height


@pytest.mark.slow
def test_a_click_on_a_band_goes_there(page):
    box = page.locator("svg.band").first.bounding_box()
    page.mouse.click(box["x"] + 0.5 * box["width"], box["y"] + 0.5 * box["height"])
    shows(page, r"t = 0\.50")


@pytest.mark.slow
def test_the_slider_goes_where_it_is_put(page):
    page.locator("#scrub").fill("0.25")
    shows(page, r"t = 0\.250")
