"""Pages that simulate beside Python: ten seconds of every member of the gallery in node."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import zwang as zw
from verification.line import NOT_MODELED, Line, judged
from zwang.codegen.browser import BrowserProgram, browser_program
from zwang.output import viewer
from zwang.output.viewer import write_view

COMMAND = "python -m verification pages"
ALLOWED, RTOL, FRAMES = 1e-12, 1e-8, 60
MOVED, STARTS, TIMES = 1e-13, 2, 10
"""Where a page is not Python to the bit, Python's own run is repeated from `STARTS` starts that are
moved by this part at random. A page that is off by more than `ALLOWED` agrees up to `TIMES` the
distance of those motions: its round-off comes in at every step, theirs once.
"""
SECONDS = {"squeezer": 0.03}
"""Of members whose motion is not one of ten seconds; its drive turns ever faster."""
RUN = """
require("v8").setFlagsFromString("--experimental-wasm-relaxed-simd");  // before node 21
const fs = require("fs");
const { program, set, times } = JSON.parse(fs.readFileSync("given"));
const binary = codeOf(program);
if (process.argv[2] === "unfused") binary.set(program.fused[1], program.fused[0]);
const compiled = new WebAssembly.Module(binary);
const module_ = new WebAssembly.Instance(compiled, { math: MATH }).exports;
const steps = stepsOf(module_, program), { at } = steps;
steps.reset();
for (const [name, x] of Object.entries(set)) steps.put(name, x);
if (set.p) module_.derive();
if (set.p || set.y) steps.place();
if (steps.turn) steps.turn.changed();
module_.see();
const found = { seen: [...at.seen], placed: [...at.y], violation: at.violation[0], y: [] };
for (const t of times) {
  for (let k = 0; k < 400 && at.t[0] < t && !steps.ended(); k++) steps.advance(t);
  found.y.push([...at.y]);
}
if (module_.push) module_.push();
if (module_.grasp) module_.grasp();
if (module_.accelerate) module_.accelerate();
if (module_.load) module_.load();
for (const name of ["forces", "grasped", "slopes", "lever", "acceleration", "pushes"])
  found[name] = [...(at[name] ?? [])];
found.turns = steps.turn?.times() ?? [];
found.functions = WebAssembly.Module.imports(compiled).map((x) => x.name);
fs.writeFileSync("found", JSON.stringify({ ...found, result: Number(at.result[0]) }));
"""


def in_node(
    program: BrowserProgram, folder: Path, times: Sequence[float] = (), word: str = "", **given
) -> dict:
    """What node finds with some arrays set before.

    Args:
        word: "unfused" for a browser without fused products.
    """
    content = {"program": program.as_data(), "times": list(times)}
    content["set"] = {name: np.ravel(x).tolist() for name, x in given.items()}
    (folder / "given").write_text(json.dumps(content))
    own = [Path(viewer.__file__).parent / f"{x}.js" for x in ("unpack", "turning", "steps")]
    (folder / "run.cjs").write_text("".join(x.read_text() for x in own) + RUN)
    subprocess.run(["node", "run.cjs", word], cwd=folder, check=True, timeout=120)
    return json.loads((folder / "found").read_text())


def states(run: zw.Run) -> np.ndarray:
    """q and v at the samples after the start."""
    return np.concatenate([run.q, run.v], axis=1)[1:]


def lines(cases: Sequence[str] = ()) -> list[Line]:
    """Every member, those whose steps a browser does not take included, or some."""
    if shutil.which("node") is None:
        raise SystemExit(f"`{COMMAND}` executes pages in node; please install it.")
    return [_line(name) for name in cases or sorted(zw.gallery.NAMES)]


def _line(name: str) -> Line:
    example, seconds = zw.gallery.load(name), SECONDS.get(name, 10.0)
    what = f"q and v at {FRAMES} frames a second for {seconds:g} s"
    line = lambda ours, off, verdict, why: Line(
        "zw.simulate", name, what, "", ours, off, allowed, verdict, why, COMMAND
    )
    allowed = ALLOWED
    times = np.linspace(0.0, seconds, 1 + round(FRAMES * seconds))
    try:
        program = browser_program(
            example.model, example.q0, example.v0, duration=seconds, rtol=RTOL
        )
    except zw.ModelError as error:
        return line("", np.nan, NOT_MODELED, str(error))
    run = zw.simulate(example.model, example.q0, example.v0, times=times, rtol=RTOL)
    with tempfile.TemporaryDirectory() as folder:
        found = in_node(program, Path(folder), times[1:])
        size = ""
        if example.scene is not None:
            page = Path(folder) / "page.html"
            write_view(run, example.scene, page, simulates=True)
            size = f"page of {beside_three(page) / 1000:.0f} kB"
    off, notes = apart(run, np.array(found["y"])), []
    foreign = sorted(set(found["functions"]) - {"sin", "cos"})  # ours but for angles of 1600 rad
    if off and foreign:
        notes.append(f"JavaScript's own {', '.join(foreign)}")
    if example.model.constraints.loose:
        # before and after an event are two states at one instant
        events = run.steps.t[1:][np.diff(run.steps.t) == 0]
        far = [np.min(np.abs(events - t), initial=np.inf) for t in found["turns"]]
        notes.append(f"{len(far)} events, instants to {max(far, default=0.0):.0e} s")
    if off:
        moved = moved_apart(run, times)
        allowed = max(ALLOWED, TIMES * moved)
        notes.append(
            f"Python's own motion from a start moved by {MOVED:.0e} differs by {moved:.1e}, "
            f"the page's motion by {off / moved:.2g} times as much"
        )
    return line(size, off, judged(off, allowed), "; ".join(notes) or "equal to the bit")


def apart(run: zw.Run, other: np.ndarray) -> float:
    """Largest difference of a motion from a run's, relative to the run's largest number."""
    own = states(run)
    if len(own) != len(other):
        return np.inf
    return float(np.max(np.abs(other - own)) / max(np.max(np.abs(own)), 1.0))


def moved_apart(run: zw.Run, times: np.ndarray) -> float:
    """How far the run itself is from runs whose start is moved by `MOVED`."""
    rng, found = np.random.default_rng(0), []
    for _ in range(STARTS):
        start = [
            x + MOVED * max(1.0, np.max(np.abs(x), initial=0.0)) * rng.uniform(-1, 1, len(x))
            for x in (run.q[0], run.v[0])
        ]
        # of constraints that move nothing any violation is large
        again = zw.simulate(run.model, *start, times=times, rtol=RTOL, start_tolerance=1e3)
        found.append(apart(run, states(again)))
    return max(found)


def beside_three(page: Path) -> int:
    """Bytes of a page without three.js."""
    text = page.read_text(encoding="utf-8")
    begin = text.index("var THREE")
    return len(text) - (text.index("</script>", begin) - begin)
