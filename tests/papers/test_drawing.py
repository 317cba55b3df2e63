"""Coinciding lines, trees with their indentation, and fitted choices."""

import numpy as np
import pytest

from zwang.papers.claim import Claim, Grid, Page, Verdict
from zwang.papers.drawing import curves, told_apart
from zwang.papers.page import write_page
from zwang.plots import Curve, Panel, Picture

T = np.linspace(0, 10, 101)


def drawn(*lines, **options):
    panel = Panel([Curve(T[: len(y)], y, label) for label, y in lines], "y", **options)
    return told_apart(panel).curves


@pytest.mark.parametrize("logarithmic", [False, True])
def test_lines_that_coincide_are_drawn_once_with_all_names(logarithmic):
    y = np.exp(-T) + 0.01
    found = drawn(("a", y), ("b", 1.001 * y), ("c", y + 1), logarithmic=logarithmic)
    assert [c.label for c in found] == ["a; b", "c"]
    assert not any(len(c.dash) for c in found)


def test_of_lines_that_coincide_the_longest_is_drawn():
    found = drawn(("short", np.sin(T[:60])), ("long", np.sin(T)), ("other", np.cos(T)))
    assert [c.label for c in found] == ["short; long", "other"] and len(found[0].x) == len(T)


def test_a_line_that_follows_another_for_long_is_dashed_over_it():
    found = drawn(("zero", 0 * T), ("decays", np.exp(-2 * T)), ("crosses", 1 - 0.2 * T))
    assert [c.label for c in found] == ["zero", "decays", "crosses"]
    assert [bool(len(c.dash)) for c in found] == [False, True, False]


def test_paths_in_a_plane_are_left_as_they_are():
    path = {"a": (np.cos(T), np.sin(T)), "b": (np.cos(T), np.sin(T))}
    chart = curves("key", "title", "caption", ("x", "y"), path, path=True)
    assert isinstance(chart.figure, Picture)
    assert [c.label for c in chart.figure.panels[0].curves] == ["a", "b"]


def test_a_tree_keeps_its_indentation_and_a_fitted_choice_stands_beside_its_verdict(tmp_path):
    claim = Claim("eq. (1)", "a value", "1", "1", Verdict.REPRODUCED, fitted="the end of the runs")
    tree = Grid("A tree", ("module",), [("top",), ("  below",)])
    page = Page("review", "Lead.", (), [claim], [tree], [])
    write_page(page, tmp_path / "page.html", seconds=1.0)
    text = (tmp_path / "page.html").read_text()
    assert "<td>  below</td>" in text and "white-space: pre-wrap" in text
    assert 'reproduced</span><br><span class="remark">fitted: the end of the runs</span>' in text
