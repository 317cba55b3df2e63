"""The cost of a picture that a processor draws: calls, vertices and pixels."""

import numpy as np
import pytest

from zwang.bodies.shape import Shape
from zwang.output.viewer import write_view
from zwang.scene import Bar, Mark, Scene, Seen

COUNTING = """
window.drawn = { calls: 0, corners: 0 };
const of = WebGL2RenderingContext.prototype;
for (const [name, corners] of Object.entries({
  drawElements: x => x[1], drawArrays: x => x[2],
  drawElementsInstanced: x => x[1] * x[4], drawArraysInstanced: x => x[2] * x[3],
})) {
  const own = of[name];
  of[name] = function (...given) {
    drawn.calls++;
    drawn.corners += corners(given);
    return own.apply(this, given);
  };
}
"""
FRAME = """
() => new Promise(done => requestAnimationFrame(() => {
  drawn.calls = drawn.corners = 0;
  document.getElementById("forces").dispatchEvent(new Event("change"));  // draws anew
  requestAnimationFrame(() => requestAnimationFrame(() => done(drawn)));
}))
"""


def crowd(count):
    """The pendulum many times over, aside of each other, each with two joints and a capsule."""
    names = [f"{name} {i}" for i in range(count) for name in ("pivot", "mass")]

    def seen(q):
        shift = np.arange(count)[None, :, None] * np.array([0.1, 0.0])
        places = np.stack([shift + 0 * q[:, None], shift + q[:, None]], axis=2)
        angle = np.zeros((len(q), count, 1))
        poses = np.concatenate([shift + q[:, None], angle], axis=2)
        return Seen(places.reshape(len(q), -1, 2), poses=poses)

    pairs = list(zip(names[::2], names[1::2], strict=True))
    return Scene(
        tuple(names),
        seen,
        tuple(Bar(pair, f"rod {i}") for i, pair in enumerate(pairs)),
        joints=tuple(Mark(x, x, grounded=x.startswith("pivot"), constraints=()) for x in names),
        bodies={f"rod {i}": (Shape("capsule", (0.05, 0.1)),) for i in range(count)},
        forces=lambda run: np.ones((len(run.t), 2 * count, 2)),
    )


@pytest.fixture
def cost(browser, pendulum, tmp_path):
    run, _ = pendulum

    def found(count):
        path = tmp_path / f"{count}.html"
        write_view(run, crowd(count), path)
        page = browser.new_page(viewport={"width": 800, "height": 600})
        page.add_init_script(COUNTING)
        page.goto(path.as_uri())
        page.wait_for_function("() => drawn.calls > 0")
        drawn = page.evaluate(FRAME)
        page.close()
        return drawn

    return found


@pytest.mark.slow
def test_many_bodies_are_drawn_by_as_many_calls_as_few(cost):
    few, many = cost(2), cost(50)
    assert many["calls"] == few["calls"]
    # bars, capsules, pins, feet and arrows of 50 bodies: the sphere of a cap once had 1600 corners
    assert few["corners"] < many["corners"] < 200_000
