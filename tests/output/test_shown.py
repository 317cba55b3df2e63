"""Runs of mechanisms and robots have a scene without one from the user."""

import gc
import importlib
import pkgutil
import sys
import weakref
from types import SimpleNamespace

import numpy as np
import pytest

import zwang as zw
import zwang.analysis
from zwang.analysis.result import AbstractResult
from zwang.bodies.shape import Shape
from zwang.gallery.mechanisms import FOLDER
from zwang.mechanism import read
from zwang.mechanism.drawing import picture, start_picture
from zwang.output.wire import moved, wire
from zwang.plots.bodies import JOINT
from zwang.scene import particle_scene

LEG = """
<mujoco model="leg"><worldbody><body name="thigh" pos="0 0 1">
  <joint name="hip" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0 0 -.4" size=".03"/>
</body></worldbody><actuator><motor name="m" joint="hip"/></actuator></mujoco>
"""


def test_a_run_of_a_mechanism_has_its_scene_and_its_joint_forces(tmp_path):
    mechanism = read(FOLDER / "four-bar.toml")
    start = mechanism.start_state
    run = zw.simulate(mechanism.model, start.q, start.v, duration=0.1, samples=3)
    assert run.view(tmp_path / "view.html").exists()
    report = run.report(tmp_path / "report.html").read_text("utf-8")
    assert "At the start" in report and "transmitted force" in report
    assert "<iframe" in run._repr_html_() and len(run._repr_html_()) < 150_000


def test_notebooks_show_models_examples_and_results_with_their_pictures():
    example = zw.gallery.load("pendulum")
    found = zw.analysis.equilibrium(example.model, [0.1, -0.99])
    assert "<table>" in example.model._repr_html_()
    assert "<svg" in example._repr_html_() and example.description in example._repr_html_()
    assert "<svg" in found._repr_html_() and "<pre>" in found._repr_html_()
    assert "<math" in zw.derive(example.model)._repr_html_()


def test_a_cell_of_a_notebook_shows_a_page_that_simulates(monkeypatch):
    shell, shown = SimpleNamespace(config={"IPKernelApp": {}}), []
    show = SimpleNamespace(display=lambda x, raw: shown.append(x["text/html"]))
    module = SimpleNamespace(get_ipython=lambda: shell, display=show)
    monkeypatch.setitem(sys.modules, "IPython", module)
    example = zw.gallery.load("pendulum")
    run = example.run(duration=0.1, samples=3)
    path = run.page()
    assert path.exists() and "<iframe srcdoc" in shown[0] and "module.advance()" in shown[0]
    assert run.animate() is None
    assert "<iframe srcdoc" in shown[1] and len(shown[1]) < 150_000


def test_a_run_is_plotted_into_a_file_and_its_picture_saved_as_matplotlib_says(tmp_path):
    example = zw.gallery.load("pendulum")
    run = zw.simulate(example.model, example.q0, example.v0, duration=0.1, samples=3)
    assert run.plot("q", tmp_path / "q.svg").read_text("utf-8").startswith("<svg")
    picture = zw.analysis.equilibrium(example.model, [0.1, -0.99]).plot()
    assert picture.savefig(tmp_path / "e.svg").exists()


@pytest.mark.slow
def test_configurations_are_drawn_side_by_side_with_their_numbers():
    mechanism = read(FOLDER / "four-bar.toml")
    found = zw.analysis.assembly_modes(mechanism, {"A": 1.0})
    (panel,) = found.plot().panels
    assert "<svg" in found._repr_html_()
    assert [x.text for x in panel.labels] == ["0", "1"]
    across = np.concatenate([c.x for c in panel.curves])
    one = np.concatenate([c.x for c in picture(mechanism, found.q[0]).panels[0].curves])
    assert np.nanmax(across) - np.nanmin(across) > 2 * (np.nanmax(one) - np.nanmin(one))


def test_results_of_analyses_show_what_they_print():
    for module in pkgutil.iter_modules(zwang.analysis.__path__, "zwang.analysis."):
        importlib.import_module(module.name)
    kinds, found = [AbstractResult], []
    while kinds:
        further = kinds.pop().__subclasses__()
        kinds, found = kinds + further, found + further
    assert len(found) >= 15
    assert all(x.__repr__ is AbstractResult.__repr__ for x in found)


@pytest.mark.slow
def test_kinematics_are_a_table_with_units(tmp_path):
    linkage = read(FOLDER / "four-bar.toml")
    found = zw.analysis.kinematics(linkage, "A", (0.0, 0.3), samples=4, trace="coupler")
    head, *rows = found.save(tmp_path / "k.csv").read_text("utf-8").splitlines()
    assert head.startswith("input (rad),q[crank.x] (m),") and "a[crank.angle] (rad/s²)" in head
    assert "coupler[x] (m)" in head and "coupler rate[y] (m/s)" in head
    assert len(rows) == 4 and float(rows[-1].split(",")[0]) == 0.3


def test_what_shows_a_mechanism_does_not_keep_its_model_alive():
    mechanism = read(FOLDER / "four-bar.toml")
    model = weakref.ref(mechanism.model)
    del mechanism
    gc.collect()
    assert model() is None


@pytest.mark.slow
def test_a_run_of_a_robot_with_a_law_has_its_scene(tmp_path):
    pytest.importorskip("mujoco")
    (tmp_path / "leg.xml").write_text(LEG)
    robot = zw.robot(tmp_path / "leg.xml")
    start = robot.start_state
    model = robot.driven(lambda q, v, t, p: [0.1])
    run = zw.simulate(model, start.q, start.v, duration=0.1, samples=3)
    assert run.view(tmp_path / "view.html").exists()
    assert run.animate(tmp_path / "leg.gif").read_bytes().startswith(b"GIF")
    with pytest.raises(zw.ModelError, match=r"returns shape \(2,\), expected \(1,\).*\(m\)"):
        robot.driven(lambda q, v, t, p: [0.1, 0.2])


def test_shapes_are_drawn_as_lines_where_their_body_is():
    half_turn_about_x = [[1.0, 2.0, 3.0, 0.0, 1.0, 0.0, 0.0]]
    box = wire([Shape("box", (2.0, 4.0, 6.0), (0.0, 0.0, 1.0))])
    assert np.nanmax(box, axis=0) == pytest.approx([1.0, 2.0, 4.0])
    seen = moved(box, np.array(half_turn_about_x))[0]
    assert np.nanmin(seen, axis=0) == pytest.approx([0.0, 0.0, -1.0])
    for kind, size in (("sphere", (0.5,)), ("ellipsoid", (0.5, 0.5, 0.5))):
        radius = np.linalg.norm(wire([Shape(kind, size)]), axis=1)
        assert radius[~np.isnan(radius)] == pytest.approx(0.5)
    rod = wire([Shape("capsule", (0.1, 2.0))])
    assert np.nanmax(rod, axis=0) == pytest.approx([0.1, 0.1, 1.0])
    assert wire([]).shape == (0, 3)


@pytest.mark.slow
def test_joints_at_one_place_share_a_label():
    mechanism = read(FOLDER / "slider-crank.toml")
    start = mechanism.start_state
    run = zw.simulate(mechanism.model, start.q, start.v, duration=0.1, samples=3)
    labels = start_picture(mechanism)(run).panels[0].labels
    places = [tuple(np.round(x.point, 6)) for x in labels if x.color == JOINT]
    assert len(places) == len(set(places)) < len(mechanism.joints)
    assert any(", " in x.text for x in labels)


def test_a_particle_needs_no_scene():
    """Where it is, x and y in m say, but not angles."""
    found = particle_scene(("x", "y"), ("m", "m"))
    assert found is not None and found.traces == ("particle",)
    np.testing.assert_array_equal(found.at(np.array([[1.0, 2.0]])).places, [[[1.0, 2.0, 0.0]]])
    assert particle_scene(("x", "y"), ("rad", "rad")) is None
    assert particle_scene(("x", "theta"), ("m", "m")) is None
