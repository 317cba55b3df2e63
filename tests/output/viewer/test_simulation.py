"""A page that simulates: what the browser computes, dragged and with other numbers."""

import numpy as np
import pytest

import zwang as zw
from zwang.output.viewer import write_view
from zwang.output.viewer.live import live

SECONDS, RTOL = 10.0, 1e-8


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    example = zw.gallery.load("pendulum")
    run = zw.simulate(example.model, example.q0, example.v0, duration=SECONDS)
    path = tmp_path_factory.mktemp("page") / "page.html"
    write_view(run, example.scene, path, simulates=True)
    return example, path


@pytest.fixture
def page(browser, written):
    page = browser.new_page(viewport={"width": 800, "height": 600})
    page.set_default_timeout(20_000)
    page.complaints = []
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    page.goto(written[1].as_uri())
    page.wait_for_function("() => window.zwang !== undefined")
    page.evaluate("zwang.letGo()")
    page.click("#play")  # pauses
    page.evaluate("zwang.reset()")
    yield page
    assert not page.complaints
    page.close()


def test_ten_seconds_in_the_browser_are_those_of_python(page, written):
    """To the bit, at the frame times, at each of which a step ends."""
    example, _ = written
    times = np.linspace(0.0, SECONDS, round(60 * SECONDS) + 1)
    found = page.evaluate("times => times.map(zwang.advanceTo)", times[1:].tolist())
    run = zw.simulate(example.model, example.q0, example.v0, times=times, rtol=RTOL)
    np.testing.assert_array_equal(found, np.concatenate([run.q, run.v], axis=1)[1:])


def test_a_point_is_dragged_along_its_constraint(page):
    (left, _), (right, at) = page.evaluate("zwang.pixels()")
    meter, moved = right - left, 60.0
    page.mouse.move(right, at)
    page.mouse.down()
    page.mouse.move(right - moved, at + moved, steps=3)
    page.wait_for_function("() => zwang.state()[1] < -0.25")
    page.mouse.up()
    x, y, *v = page.evaluate("zwang.state()")
    assert np.hypot(x, y) == pytest.approx(1.0, abs=1e-12)
    assert y / x == pytest.approx(-moved / (meter - moved), rel=0.02)  # a pixel is 1/60
    assert v == [0.0, 0.0]


def test_the_run_is_played_again_after_a_simulation(page):
    """Its own curves are, of which a simulation has none."""
    page.evaluate("zwang.advanceTo(0.7)")
    page.keyboard.press("Home")
    page.wait_for_function("() => document.getElementById('time').textContent.includes('of 10')")
    (_, _), (right, at) = page.evaluate("zwang.pixels()")
    (left, height), _ = page.evaluate("zwang.pixels()")
    assert right - left > 50 and at == pytest.approx(height)  # level, as it starts


def test_the_eye_moves_where_a_simulation_pauses(page):
    stage = page.locator("#stage")
    before = stage.screenshot()
    stage.hover(position={"x": 30, "y": 30})
    page.mouse.wheel(0, -300)
    page.wait_for_timeout(400)
    assert stage.screenshot() != before


def test_pixels_are_smaller_at_rest(page):
    """Where a processor draws, which here it does."""
    ratio = "() => document.querySelector('canvas').width / window.innerWidth"
    page.click("#play")
    page.wait_for_function(f"() => ({ratio})() === 1")
    page.click("#play")
    page.wait_for_function(f"() => ({ratio})() === 2")


def test_a_slider_changes_the_motion(page, written):
    example, _ = written
    page.locator("input[name=gravity]").fill("3")
    found = page.evaluate("zwang.advanceTo(0.3)")
    given = {"times": [0.3], "params": {"gravity": 3.0}, "rtol": RTOL}
    run = zw.simulate(example.model, example.q0, example.v0, **given)
    # the first step is that of ten seconds, and both are exact to the tolerance
    assert np.max(np.abs(found - np.concatenate([run.q[-1], run.v[-1]]))) < 10 * RTOL


def test_the_page_is_small_and_asks_for_nothing(written):
    text = written[1].read_text(encoding="utf-8")
    three = text.index("var THREE"), text.index("</script>", text.index("var THREE"))
    assert len(text) - (three[1] - three[0]) < 300_000
    assert "http-equiv" in text and "default-src 'none'" in text


def test_a_scene_of_numpy_alone_is_refused():
    example = zw.gallery.load("double-pendulum")
    run = zw.simulate(example.model, example.q0, example.v0, duration=0.1)
    sums = zw.Scene(("tip",), lambda q: zw.scene.Seen(np.asarray(q)[:, None, :2]))
    with pytest.raises(zw.ModelError, match="cannot be traced.*array_namespace"):
        live(run, sums)
