"""The site: existing names, reachable pages, and complete test suites with their commands."""

import importlib
import json
import operator
import re
from pathlib import Path

import pytest
from verification.line import AGREES, VERDICTS
from verification.siconos.suite import CASES

import zwang as zw
from verification import chrono, iftomm, modelica
from zwang.cli import COMMANDS
from zwang.papers.index import PAPERS

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
WRITTEN_BY_THE_BUILD = {"joints.md"}
FROM_OUTSIDE = ("chrono", "modelica", "iftomm", "siconos", *PAPERS)


def lines() -> dict[str, list[dict]]:
    return json.loads((DOCS / "verification.json").read_text(encoding="utf-8"))


def test_every_function_of_the_task_index_exists():
    text = (DOCS / "tasks.md").read_text(encoding="utf-8")
    names = set(re.findall(r"`zw\.([\w.]+)`", text))
    assert len(names) > 40
    for name in names:
        operator.attrgetter(name)(zw)
    for path in set(re.findall(r"`(zwang(?:\.\w+)+)`", text)):
        module, _, name = path.rpartition(".")
        try:
            importlib.import_module(path)
        except ModuleNotFoundError:
            assert hasattr(importlib.import_module(module), name), path


def test_every_command_of_the_task_index_exists():
    text = (DOCS / "tasks.md").read_text(encoding="utf-8")
    for command in set(re.findall(r"`zwang ([\w-]+)", text)):
        assert command in COMMANDS


@pytest.mark.parametrize(
    "word",
    [
        "closed loop|close a loop",
        "motor torque",
        "redundant constraint",
        "equilibrium",
        "natural frequenc",
        "friction",
        "stop",
        "controller",
        "thousand",
        "C code",
        "gravity",
    ],
)
def test_the_task_index_has_the_words_that_people_search(word):
    assert re.search(word, (DOCS / "tasks.md").read_text(encoding="utf-8"), re.IGNORECASE)


@pytest.mark.parametrize("page", sorted(path.name for path in DOCS.glob("*.md")))
def test_links_between_pages_lead_somewhere(page):
    text = (DOCS / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([\w/-]+\.md)(?:#[\w-]+)?\)", text):
        assert target in WRITTEN_BY_THE_BUILD or (DOCS / target).exists(), target


def test_rows_of_tables_have_as_many_cells_as_their_heading():
    """The bars of an absolute value would divide a cell."""
    pages = [*(ROOT / "docs").glob("*.md"), ROOT / "README.md", ROOT / "src/zwang/messages.md"]
    found = 0
    for page in pages:
        text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
        for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
            found += 1
            assert len({len(re.findall(r"(?<!\\)\|", x)) for x in table.splitlines()}) == 1, table
    assert found > 10


def test_every_page_is_in_the_navigation():
    trees = re.findall(
        r"```\{toctree\}\n(.*?)```", (DOCS / "index.md").read_text(encoding="utf-8"), re.DOTALL
    )
    listed = {line.strip() for tree in trees for line in tree.splitlines()}
    pages = {path.stem for path in DOCS.glob("*.md")} - {"index"}
    assert pages <= listed, pages - listed


def test_suites_are_shown_whole():
    assert [line["case"] for line in lines()["chrono"]] == [case.name for case in chrono.cases()]
    assert [line["case"] for line in lines()["modelica"]] == modelica.names()
    assert [line["case"] for line in lines()["iftomm"]] == [x.name for x in iftomm.BENCHMARKS]
    assert [line["case"] for line in lines()["siconos"]] == list(CASES)
    assert sum(len(lines().get(suite, [])) for suite in FROM_OUTSIDE) >= 60


def test_every_line_has_its_command_and_a_verdict_that_follows_from_its_difference():
    for suite, found in lines().items():
        for line in found:
            assert line["command"], (suite, line["case"])
            assert line["verdict"] in VERDICTS
            if line["difference"] is not None:
                assert (line["difference"] <= line["allowed"]) == (line["verdict"] == AGREES)
