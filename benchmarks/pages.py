"""A page that simulates fifty bodies: what a frame costs to compute, and how many are drawn."""

from __future__ import annotations

import tempfile
from pathlib import Path

import zwang as zw
from benchmarks.studies import processors_idle
from zwang.output.viewer import write_view

LOOPS = 25
"""Four-bar loops, of two moving bodies each."""
FRAMES, SECONDS = 600, 5.0
"""Frames that are computed one after the other, and seconds in which drawn ones are counted."""
COMPUTED = """
frames => {
  const times = [];
  zwang.reset();
  for (let k = 1; k <= frames; k++) {
    const begun = performance.now();
    zwang.advanceTo(k / 60);
    times.push(performance.now() - begun);
  }
  const sorted = [...times].sort((x, y) => x - y), at = part => sorted[Math.floor(part * frames)];
  const steps = zwang.steps(), step = times.reduce((x, y) => x + y) / steps;
  return { first: times[0], median: at(0.5), most: at(0.99), steps, step };
}
"""
DRAWN = """
seconds => new Promise(done => {
  let [begun, before, drawn] = [null, null, 0];
  const frame = now => {
    const time = zwang.time();
    begun ??= now;
    drawn += before !== null && time > before; // a frame that shows nothing new is none
    before = time;
    if (now - begun < 1000 * seconds) requestAnimationFrame(frame);
    else done(drawn / ((now - begun) / 1000));
  };
  requestAnimationFrame(frame);
})
"""


def run() -> dict:
    from playwright.sync_api import sync_playwright

    example = zw.gallery.load("n-four-bar", N=LOOPS)
    assert example.scene is not None
    model = example.model
    motion = zw.simulate(model, example.q0, example.v0, duration=1.0, samples=61)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as play:
        path = Path(folder) / "page.html"
        write_view(motion, example.scene, path, simulates=True)
        chromium = Path("/usr/bin/chromium")
        browser = play.chromium.launch(
            executable_path=str(chromium) if chromium.exists() else None,
            args=["--no-sandbox"],
        )
        page = browser.new_page(viewport={"width": 800, "height": 600})
        page.goto(path.as_uri())
        page.wait_for_function("() => window.zwang !== undefined", timeout=120_000)
        page.evaluate("zwang.letGo()")
        page.click("#play")  # pauses
        results = page.evaluate(COMPUTED, FRAMES)
        results["processors idle"] = processors_idle()
        page.click("#play")
        results["drawn"] = page.evaluate(DRAWN, SECONDS)
        browser.close()
        size = path.stat().st_size
    results |= {"coordinates": model.system.nq, "bodies": 2 * LOOPS, "bytes": size}
    print(f"n-four-bar --set N={LOOPS}: {2 * LOOPS} bodies, {model.system.nq} coordinates")
    print(f"  computing a frame of 1/60 s [ms]: median {results['median']:.2f}, ", end="")
    print(f"99 % within {results['most']:.2f}, the first {results['first']:.0f}; ", end="")
    print(f"a step {results['step']:.2f}")
    print(f"  frames a second drawn while simulating: {results['drawn']:.0f}, where ", end="")
    print(f"{results['processors idle']:.1f} processors are idle while it pauses")
    return results
