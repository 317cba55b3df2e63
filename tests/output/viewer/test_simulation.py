"""A page that simulates: results of the browser, after dragging and with other parameters."""

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
def page(opened_page, written):
    page = opened_page(written[1])
    page.wait_for_function("() => window.zwang !== undefined")
    page.evaluate("zwang.letGo()")
    page.click("#play")  # pauses
    page.evaluate("zwang.reset()")
    return page


@pytest.mark.slow
def test_ten_seconds_in_the_browser_are_those_of_python(page, written):
    """To the bit, at the frame times, at each of which a step ends."""
    example, _ = written
    times = np.linspace(0.0, SECONDS, round(60 * SECONDS) + 1)
    found = page.evaluate("times => times.map(zwang.advanceTo)", times[1:].tolist())
    run = zw.simulate(example.model, example.q0, example.v0, times=times, rtol=RTOL)
    np.testing.assert_array_equal(found, np.concatenate([run.q, run.v], axis=1)[1:])


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_point_is_pulled_while_it_plays(page):
    """By a spring towards the mouse, at rest where its force and the weight are in balance."""
    (left, _), (right, at) = page.evaluate("zwang.pixels()")
    meter = right - left
    page.mouse.move(right, at)
    page.mouse.down()
    page.keyboard.press(" ")  # plays
    page.mouse.move(right - 60, at - 60, steps=3)
    # at each of thirty frames, more than a turn of the spring, as it also rests where it turns back
    slow = "Math.hypot(...zwang.state().slice(2)) < 1e-6"
    page.wait_for_function(f"() => (window.rests = {slow} ? (window.rests ?? 0) + 1 : 0) > 30")
    (x, y, *_), force = page.evaluate("() => [zwang.state(), zwang.pull()]")
    page.mouse.up()
    assert np.hypot(x, y) == pytest.approx(1.0, abs=1e-12)
    # towards the mouse, and tangential parts of all forces cancel each other
    aim = np.array([1 - 60 / meter - x, 60 / meter - y])
    across = aim[0] * force[1] - aim[1] * force[0]
    assert across == pytest.approx(0.0, abs=0.02 * np.linalg.norm(force))
    assert x * (force[1] - 9.81) - y * force[0] == pytest.approx(0.0, abs=1e-4)
    page.wait_for_function("() => zwang.pull()[1] === 0 && zwang.state()[1] < -0.5")  # let go


@pytest.fixture(scope="module")
def ball(tmp_path_factory):
    example = zw.gallery.load("bouncing-ball")
    run = zw.simulate(example.model, example.q0, example.v0, duration=2.0, rtol=RTOL)
    path = tmp_path_factory.mktemp("ball") / "page.html"
    write_view(run, example.scene, path, simulates=True)
    return path


@pytest.mark.slow
def test_a_ball_bounces_rests_and_is_pulled_up(opened_page, ball):
    """At rest from √(2h/g)(1+e)/(1−e) on, under the force of the floor, which is its weight."""
    page = opened_page(ball)
    page.wait_for_function("() => window.zwang !== undefined")
    page.evaluate("zwang.letGo()")
    page.click("#play")  # pauses
    page.evaluate("zwang.reset()")
    touch = np.sqrt(2 / 9.81)
    _, y, _, up = page.evaluate("t => zwang.advanceTo(t)", 1.5 * touch)
    assert [y, up] == pytest.approx([0.25, 0.0], abs=1e-10)  # highest, with half the speed
    page.evaluate("zwang.advanceTo(1.4)")
    assert abs(page.evaluate("zwang.state()[1]")) < 1e-12
    np.testing.assert_allclose(page.evaluate("zwang.contactForce(0, 0)"), [0, 9.81, 0], atol=1e-9)
    ((x, at),) = page.evaluate("zwang.pixels()")
    page.mouse.move(x, at)
    page.mouse.down()
    page.mouse.move(x, at - 100, steps=2)  # dragged off the floor, as it pauses
    page.wait_for_function("() => zwang.state()[1] > 0.1")
    page.mouse.up()
    assert page.evaluate("zwang.contactForce(0, 0)") == [0, 0, 0]


@pytest.mark.slow
def test_the_run_is_played_again_after_a_simulation(page):
    """Its own curves are, of which a simulation has none."""
    page.evaluate("zwang.advanceTo(0.7)")
    page.keyboard.press("Home")
    page.wait_for_function("() => document.getElementById('time').textContent.includes('of 10')")
    (_, _), (right, at) = page.evaluate("zwang.pixels()")
    (left, height), _ = page.evaluate("zwang.pixels()")
    assert right - left > 50 and at == pytest.approx(height)  # level, as it starts


@pytest.mark.slow
def test_the_eye_moves_where_a_simulation_pauses(page):
    stage = page.locator("#stage")
    before = stage.screenshot()
    stage.hover(position={"x": 30, "y": 30})
    page.mouse.wheel(0, -300)
    page.wait_for_timeout(400)
    assert stage.screenshot() != before


@pytest.mark.slow
def test_pixels_are_smaller_at_rest(page):
    """Where a processor draws, which here it does."""
    ratio = "() => document.querySelector('canvas').width / window.innerWidth"
    page.click("#play")
    page.wait_for_function(f"() => ({ratio})() === 1")
    page.click("#play")
    page.wait_for_function(f"() => ({ratio})() === 2")


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_scene_of_numpy_alone_is_refused():
    example = zw.gallery.load("double-pendulum")
    run = zw.simulate(example.model, example.q0, example.v0, duration=0.1)
    sums = zw.Scene(("tip",), lambda q: zw.scene.Seen(np.asarray(q)[:, None, :2]))
    with pytest.raises(zw.ModelError, match="cannot be traced.*array_namespace"):
        live(run, sums)


def test_a_view_simulates_on_from_the_instant_that_it_shows(opened_page, tmp_path):
    """Of a motion that is chaotic, from a state of the run shortly before."""
    example = zw.gallery.load("double-pendulum")
    run = zw.simulate(example.model, example.q0, example.v0, duration=8.0, samples=9)
    page = opened_page(run.view(tmp_path / "view.html", scene=example.scene))
    page.wait_for_function("() => window.zwang !== undefined")
    page.keyboard.press("End")
    page.wait_for_function("() => document.getElementById('time').textContent.startsWith('t = 8')")
    page.evaluate("zwang.letGo()")
    found = page.evaluate("[zwang.time(), ...zwang.state()]")
    assert found[0] == pytest.approx(8.0, abs=0.2)
    then = zw.simulate(
        example.model, run.steps.y[-1, :6], run.steps.y[-1, 6:], duration=0.2, t0=8.0, samples=201
    )
    near = int(np.argmin(np.abs(then.t - found[0])))
    expected = np.concatenate([then.q[near], then.v[near]])
    assert np.max(np.abs(found[1:] - expected)) < 0.05


@pytest.mark.parametrize(
    "name, why",
    [
        ("latching-pendulums", "are switched"),
        ("swarm", "is not projected"),
        ("adaptive-arm", "is that of a zw.Loop"),
    ],
)
def test_a_run_that_a_page_cannot_continue_is_played(tmp_path, name, why):
    example = zw.gallery.load(name)
    run = example.run(duration=0.2)
    with pytest.raises(zw.ModelError, match=why):
        live(run, example.scene)
    assert "letgo" not in run.view(tmp_path / "view.html", scene=example.scene).read_text("utf-8")
