"""`docs/performance.md` is generated from its JSON, without numbers typed by hand."""

import copy
import re
from pathlib import Path

import pytest
from benchmarks.page import evaluation, precision, targets, words, write
from benchmarks.page.pictures import draw

from benchmarks import store

DOCS = Path(__file__).resolve().parents[2] / "docs"
MEASURED = re.compile(r"\d\s?(s|ms|µs|MB|×|GFLOP/s|GB/s)\b")


@pytest.fixture(scope="module")
def results():
    return store.read(DOCS / "performance.json")


def test_the_page_is_made_from_its_figures(results):
    assert write.text(results) == (DOCS / "performance.md").read_text(), (
        "run: python -m benchmarks page --again"
    )


def test_without_results_the_page_has_no_figures():
    assert not MEASURED.search(write.text({}))


def test_a_part_from_another_machine_is_named(results, tmp_path, monkeypatch):
    kept, others = tmp_path / "performance.json", "Other Processor"
    monkeypatch.setattr(write, "KEPT", kept)
    for part in ("machine", "first", "startup"):
        store.save(part, results[part], kept)
    measured = {"machine": {**results["machine"], "processor": others}, "first": results["first"]}
    write._take_over(measured)
    page = write.text(store.read(kept))
    first, start = page.index("## First motions"), page.index("## Starting")
    assert page.index(f"measured on: {others}") > first > start
    assert results["machine"]["processor"] in page[:start]
    write._take_over({**measured, "startup": results["startup"]})
    assert "Unlike the rest" not in (page := write.text(store.read(kept))) and others in page


def test_another_figure_is_another_page(results):
    changed = copy.deepcopy(results)
    for record in changed["peers"]["runs"].values():
        if "warm" in record:
            record["warm"] = {k: 7 * x if k != "runs" else x for k, x in record["warm"].items()}
    assert write.text(changed) != write.text(results)


@pytest.mark.slow
def test_every_picture_that_the_page_shows_is_there(results, tmp_path):
    shown = re.findall(r"\]\((_static/performance/[^)]+)\)", (DOCS / "performance.md").read_text())
    assert shown and all((DOCS / name).is_file() for name in shown)
    drawn = draw(results, tmp_path)
    assert {path.name for path in drawn} == {Path(name).name for name in shown}
    assert all("time" in path.read_text() or "[s]" in path.read_text() for path in drawn)


def test_where_others_are_ahead_is_said():
    run = lambda peer, seconds: {
        "problem": "a02-2",
        "peer": peer,
        "setting": 1.0,
        "status": "ran",
        "error": 1e-7,
        "violation": 0.0,
        "energy": 0.0,
        "warm": {"median": seconds, "min": seconds, "max": seconds, "runs": 3},
        "cold": [1.0],
        "peak_mb": 1.0,
    }
    found = {
        "peers": {"zwang": {"title": "zwang"}, "other": {"title": "Other"}},
        "runs": {"1": run("zwang", 0.2), "2": run("other", 0.1)},
    }
    assert "Other" in precision.ahead(found) and "2.0 ×" in precision.ahead(found)
    assert targets.targets({"peers": found})[0][2] == "**not reached**"


def test_every_target_has_its_figure_and_a_worse_one_is_not_reached(results):
    assert len(targets.targets(results)) >= 12
    own = lambda changed: {line[0]: line[2] for line in targets.targets(changed)}
    good = copy.deepcopy(results)
    good["batch"]["five-bar"]["batch, error control"]["ratio"] = 100.0
    slower = copy.deepcopy(good)
    slower["sparse"]["loops"]["ratio"] = 1.0
    slower["sparse"]["run"]["violation"] = 1e-6
    slower["gradients"]["apart"]["reverse"] = 1.0
    slower["batch"]["five-bar"]["batch, error control"]["ratio"] = 1.0
    worse = [target for target, verdict in own(slower).items() if verdict != own(good)[target]]
    assert {"rods, 100", "five-bar", "reverse"} <= {
        word for word in ("rods, 100", "five-bar", "reverse") if any(word in t for t in worse)
    }


def test_a_part_measured_again_leaves_the_others(tmp_path):
    path = tmp_path / "found.json"
    store.save("one", {"x": float("inf"), "y": 1.0}, path)
    store.save("two", [1], path)
    store.save("one", {"y": 2.0}, path)
    assert store.read(path) == {"one": {"y": 2.0}, "two": [1]}


@pytest.mark.parametrize(
    ("x", "said"),
    [(0.0331, "33 ms"), (1.26e-6, "1.3 µs"), (2.0, "2.0 s"), (0.9999, "1.0 s"), (None, "–")],
)
def test_durations_are_written_in_the_unit_that_suits(x, said):
    assert words.seconds(x) == said


def test_accelerations_that_others_find_sooner_are_said():
    run = lambda peer, seconds, what="acceleration": {
        "family": "rods",
        "peer": peer,
        "bodies": 10,
        "status": "ran",
        "what": what,
        "seconds": {"median": seconds},
    }
    found = {"peers": {k: {"title": k.upper()} for k in ("zwang", "tree", "steps")}}
    found["evaluations"] = {
        "1": run("zwang", 6e-6),
        "2": run("tree", 2e-6),
        "3": run("steps", 1e-6, "step of 1 ms"),
    }
    assert "| TREE | 2.0 µs | 3.0 × |" in evaluation.ahead(found)
    assert "STEPS" not in evaluation.ahead(found)
