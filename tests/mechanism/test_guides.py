"""Guides of joints in pictures: they are where the second points move."""

import sys
from pathlib import Path

import numpy as np
import pytest

from zwang.mechanism import read
from zwang.mechanism.guides import guides
from zwang.mechanism.registry import JOINT_KINDS

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "docs"))
from joint_examples import EXAMPLES

SLIDING = [x for x in EXAMPLES if not (x.kind.couples or x.kind.guide)]
ON_CURVE = 1e-5
"""One correction leaves the square of a step's distance from the curve, relative to its radius."""


def drawn(example, tmp_path, change=("", "")):
    """The guides of an example, with the position of the joint's second point."""
    file = tmp_path / "example.toml"
    file.write_text(example.text.replace(*change), encoding="utf-8")
    mechanism = read(file)
    q = mechanism.compiled.started(mechanism.compiled.geometry.q, {})  # they are assembled as given
    at = mechanism.placed(q[None]).points
    places, attitudes = np.asarray(at.place)[0], np.asarray(at.attitude)[0]
    names = [n for n, x in mechanism.joints.items() if not JOINT_KINDS[x.kind].couples]
    lines = list(guides(mechanism, places, attitudes, names))
    return lines, places[mechanism.ends(names[0]).b]


def one(kind, world):
    return next(x for x in EXAMPLES if (x.kind.name, x.world) == (kind, world))


def distance(line, point):
    """Distance of a point from a polyline, on the line of each of its pieces."""
    a, along = line[:-1], np.diff(line, axis=0)
    share = np.sum((point - a) * along, axis=1) / np.sum(along**2, axis=1)
    near = a + np.clip(share, 0, 1)[:, None] * along
    return np.min(np.linalg.norm(point - near, axis=1))


def test_a_path_is_drawn_as_its_closed_curve(tmp_path):
    (line,), _ = drawn(one("path", "plane"), tmp_path)
    assert np.abs(line[:, 0] ** 2 / 4 + line[:, 1] ** 2 - 1).max() < ON_CURVE
    np.testing.assert_array_equal(line[0], line[-1])
    assert line.min(axis=0) == pytest.approx([-2, -1], abs=1e-2)


def test_an_open_path_ends_near_its_point_and_where_it_is_not_defined(tmp_path):
    curve = ("x**2/4 + y**2 - 1", "y - log(x) + log(2)")
    (line,), _ = drawn(one("path", "plane"), tmp_path, curve)
    assert np.abs(line[:, 1] - np.log(line[:, 0] / 2)).max() < ON_CURVE
    assert np.all(np.isfinite(line)) and 20 < len(line) < 100


def test_a_surface_is_drawn_by_sections_through_its_point(tmp_path):
    lines, at = drawn(one("path", "space"), tmp_path)
    assert len(lines) == 2  # the plane of y and z touches the cylinder at its edge
    for line in lines:
        assert np.abs(line[:, 0] ** 2 / 4 + line[:, 1] ** 2 - 1).max() < ON_CURVE
        assert distance(line, at) < 1e-9


@pytest.mark.one_in(3)
@pytest.mark.parametrize("example", SLIDING, ids=lambda x: f"{x.kind.name} {x.world}")
def test_slides_pass_through_the_point_that_they_guide(example, tmp_path):
    equations = example.kind.equations(2 if example.world == "plane" else 3)
    slides = [x for x in equations.freedoms if x.coordinate.unit == "m"]
    lines, at = drawn(example, tmp_path)
    assert len(lines) == len(slides)
    for line in lines:
        assert distance(line, at) < 1e-9
