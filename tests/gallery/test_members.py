"""Every model of the gallery loads, runs, draws its figures, and has a description."""

import dataclasses
import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import zwang as zw
import zwang.gallery
from zwang.gallery import ENTRIES
from zwang.gallery import NAMES as ALL
from zwang.plots import Picture

from .examples import example, run

NAMES = [name for name in ALL if "mechanism" not in ENTRIES[name].tags]
HEAVY = (
    "scissor-lift",
    "four-bars",
    "delta",
    "stewart",
    "motor-linkage",
    "jerk-track",
    "latching-pendulums",
    "3rrr",
    "rod-chain",
    "flexible-joint",
    "cart-pole-track",
    "crane",
    "crane-in-wind",
    "five-bar-driven",
    "rolling-disk",
    "spherical-pendulum",
    "squeezer",
    "coordinated-robots",
    "n-four-bar",
)
"""Members that have tests of their own elsewhere, or whose like are tested in smaller ones:
hierarchies, other orders, switches.
"""
RUNNING = [pytest.param(name, marks=pytest.mark.slow) if name in HEAVY else name for name in NAMES]

TESTS = Path(__file__).resolve().parents[1]


def test_every_file_that_builds_a_model_is_a_member():
    """No entry is lost, and none is read that the file itself does not state."""
    gallery = Path(zwang.gallery.__file__).parent
    built = {
        f"zwang.gallery.{'.'.join(file.relative_to(gallery).with_suffix('').parts)}"
        for file in gallery.rglob("[!_]*.py")
        if re.search(r"^def build\(", file.read_text(), re.MULTILINE)
    }
    assert {ENTRIES[name].module for name in NAMES} == built
    files = {file.stem for file in (gallery / "mechanisms").glob("*.toml")}
    assert {name for name in ALL if "mechanism" in ENTRIES[name].tags} == files


@pytest.mark.parametrize("name", NAMES)
def test_the_list_says_what_the_file_states(name):
    entry = ENTRIES[name]
    stated = importlib.import_module(entry.module).ENTRY
    assert dataclasses.replace(stated, module=entry.module) == entry


@pytest.mark.parametrize("name", NAMES)
def test_every_member_is_compared_with_something_independent(name):
    """With its exact solution, or in a test that calls it by name."""
    named = re.compile(rf"['\"]{re.escape(name)}['\"]")
    files = (f for f in TESTS.rglob("test_*.py") if f != Path(__file__))
    assert "exact" in ENTRIES[name].tags or any(named.search(f.read_text()) for f in files)


def test_the_page_names_a_method_for_every_member_with_actuators():
    page = (TESTS.parent / "docs" / "gallery.md").read_text()
    named = set(re.findall(r"`([a-z0-9-]+)`", page))
    servo = {x for x in NAMES if ENTRIES[x].module.startswith("zwang.gallery.servo.")}
    assert servo <= named and named <= {*ALL}


@pytest.mark.parametrize("name", NAMES)
def test_settings_are_what_the_model_is_built_with(name):
    entry = ENTRIES[name]
    build = importlib.import_module(entry.module).build
    assert set(inspect.signature(build).parameters) == set(entry.settings)
    assert entry.summary and entry.source
    assert all(setting.description for setting in entry.settings.values())


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", RUNNING)
def test_member_runs_to_its_end_near_its_exact_solution(name):
    member, reached = example(name), run(name)
    assert member.duration == ENTRIES[name].duration
    assert member.description
    assert reached.result is zw.Result.SUCCESS
    # 200 times rtol: over 10 s of a linkage that crosses its singular configurations
    assert np.isnan(member.error(reached)) or member.error(reached) < 2e-8


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", NAMES)
def test_every_coordinate_has_a_unit(name):
    system = example(name).model.system
    assert all(system.units) and all(system.velocity_units)


@pytest.mark.parametrize("name", NAMES)
def test_there_is_something_to_see_of_every_member(name):
    member = example(name)
    seen = member.scene.at(member.q0[None])
    assert np.ptp(seen.places.reshape(-1, 3), axis=0).max() > 0 or member.scene.traces
    assert {x for mark in member.scene.joints for x in mark.constraints} <= set(
        member.model.constraints.names
    )


@pytest.mark.one_in(8)
@pytest.mark.parametrize("name", RUNNING)
def test_figures_have_labels_with_units(name):
    figures = example(name).figures
    assert figures
    for draw in figures.values():
        picture = draw(run(name))
        assert isinstance(picture, Picture) and all(panel.curves for panel in picture.panels)
        assert all(
            text.endswith("]")
            for text in (picture.xlabel, *(panel.ylabel for panel in picture.panels))
        )


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: zw.gallery.load("pendulun"), "no model 'pendulun'; did you mean 'pendulum'"),
        (lambda: zw.gallery.load("zzz"), "there are: pendulum, "),
        (
            lambda: zw.gallery.load("pendulum", lenght=2.0),
            "no setting 'lenght'; did you mean 'length'",
        ),
        (lambda: zw.gallery.load("n-four-bar", N=0), "N = 0"),
        (lambda: zw.gallery.load("n-four-bar", units="inch"), "'inch'; expected m-kg or mm-g"),
        (lambda: zw.gallery.load("free-body", inertia=(1.0, 1.0, 3.0)), "principal moments"),
        (lambda: zw.gallery.load("rolling-disk", tilt=90.0), "tilt = 90"),
        (
            lambda: zw.gallery.load("appell-hamel", direction="left"),
            "'left', expected 'up' or 'down'",
        ),
    ],
)
def test_a_wrong_name_or_setting_is_told_in_a_sentence(call, says):
    with pytest.raises(zw.ModelError, match=says):
        call()


def test_the_list_of_models_imports_neither_jax_nor_anything_else_that_is_slow():
    slow = ("jax", "equinox", "scipy", "xarray", "matplotlib", "numpy")
    program = (
        f"import sys, zwang.gallery.index; print([name for name in {slow!r} if name in "
        "sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
