"""Pages of a run, and of the site if it is built, at the widths of a phone and of a desktop, light
and dark: nothing is wider than the window, overlaps or is empty, and two renderings are equal.
"""

import io

import numpy as np
import pytest

from tests.conftest import ROOT
from zwang.output.report.page import write_report
from zwang.output.viewer import write_view

pytestmark = pytest.mark.slow

SITE = ROOT / "docs" / "_build" / "html"
PAGES = ("report", "view", "index", "start", "tasks", "verification")
SIZES = {"phone": (390, 844), "desk": (1280, 800)}
ALIKE = 1e-3
"""Share of pixels in which two renderings of a page may differ."""

FOUND = """() => {
  const faults = [], limit = document.documentElement.clientWidth;
  const said = (e) => `"${e.textContent.trim().slice(0, 30)}"`;
  const wide = document.scrollingElement.scrollWidth;
  if (wide > limit) faults.push(`the page is ${wide} wide in a window of ${limit}`);
  for (const image of document.images)
    if (image.complete && image.checkVisibility() && !image.naturalWidth)
      faults.push(`the image ${image.src.slice(-40)} is empty`);
  const drawn = 'figure svg, canvas';
  for (const e of document.querySelectorAll(drawn)) {
    const r = e.getBoundingClientRect();
    if (e.checkVisibility() && (r.width < 10 || r.height < 10))
      faults.push(`a ${e.tagName} of no size`);
  }
  // blocks of text and controls that hold no other one; text flows around what floats beside it
  const place = (e) => {
    const range = document.createRange();
    range.selectNodeContents(e);
    return (e.textContent.trim() ? range : e).getBoundingClientRect();
  };
  const kinds = 'p, h1, h2, h3, figcaption, li, button, table, pre, summary, input, select';
  const boxes = [...document.querySelectorAll(kinds)]
    .filter((e) => !e.querySelector(kinds) && !e.closest('.u-wrap, svg, nav, aside, header'))
    .filter((e) => e.checkVisibility({opacityProperty: true, visibilityProperty: true}))
    .map((e) => [e, place(e)])
    .filter(([e, r]) => r.width > 1 && r.height > 1);
  for (let i = 0; i < boxes.length; i++)
    for (let k = i + 1; k < Math.min(i + 40, boxes.length); k++) {
      const [a, x] = boxes[i], [b, y] = boxes[k];
      const w = Math.min(x.right, y.right) - Math.max(x.left, y.left);
      const h = Math.min(x.bottom, y.bottom) - Math.max(x.top, y.top);
      if (w > 2 && h > 2 && !a.contains(b) && !b.contains(a))
        faults.push(`${said(a)} and ${said(b)} overlap`);
    }
  return faults;
}"""


@pytest.fixture(scope="module")
def places(pendulum, tmp_path_factory):
    """The address of each page."""
    run, scene = pendulum
    folder = tmp_path_factory.mktemp("pages")
    write_view(run, scene, folder / "view.html", description="it swings")
    write_report(run, folder / "report.html", description="It swings.", view="view.html")
    return {
        name: (folder if name in ("report", "view") else SITE) / f"{name}.html" for name in PAGES
    }


@pytest.fixture(params=["light", "dark"])
def scheme(request):
    return request.param


@pytest.fixture(params=SIZES)
def opened(request, scheme, browser):
    width, height = SIZES[request.param]
    page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    page.set_default_timeout(30_000)
    yield page
    page.close()


def looked_at(page):
    """What is in the window, as numbers of shape (height, width, 3)."""
    from PIL import Image

    return np.asarray(Image.open(io.BytesIO(page.screenshot())).convert("RGB"), float)


def shown(page, path):
    page.goto(path.as_uri())
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(500)
    return looked_at(page)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_fits_its_window_and_is_drawn_the_same_twice(name, places, opened, scheme):
    if not places[name].exists():
        pytest.skip("the site is not built here: make docs")
    first = shown(opened, places[name])
    assert opened.evaluate(FOUND) == []
    again = shown(opened, places[name])
    assert np.mean(np.abs(first - again).max(axis=2) > 30) <= ALIKE
    assert np.ptp(first) > 100  # something is drawn
    middle = np.median(first.mean(axis=2))
    assert middle < 100 if scheme == "dark" else middle > 150


def test_what_is_drawn_on_the_canvas_of_a_run_is_not_empty(places, opened):
    shown(opened, places["view"])
    from PIL import Image

    shot = Image.open(io.BytesIO(opened.locator("#stage").screenshot())).convert("RGB")
    background, count = np.unique(np.asarray(shot).reshape(-1, 3), axis=0, return_counts=True)
    assert len(background) > 20 and count.max() < 0.999 * count.sum()


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        ("document.querySelector('h1').style.width = '3000px'", "wide in a window"),
        ("document.querySelectorAll('h2')[0].style.marginTop = '-60px'", "overlap"),
        ("document.body.append(Object.assign(new Image(), {src: 'none.png', alt: 'x'}))", "empty"),
    ],
)
def test_a_page_that_is_damaged_is_noticed(damage, says, places, browser):
    page = browser.new_page(viewport={"width": 390, "height": 844})
    shown(page, places["report"])
    page.evaluate(damage)
    page.wait_for_timeout(300)
    assert any(says in fault for fault in page.evaluate(FOUND))
    page.close()
