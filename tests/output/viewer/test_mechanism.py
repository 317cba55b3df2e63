"""Mechanisms as scenes; a newcomer's four-bar from a short file to the browser."""

import json
import re
import textwrap

import numpy as np
import pytest

import zwang as zw
from tests.cli.command_line import zwang
from tests.mechanism.machines import every_joint
from tests.mechanism.test_trains import train
from zwang.mechanism import KINDS, read
from zwang.mechanism.scene import joint_forces, scene
from zwang.scene import Bar, particles_scene

FOUR_BAR = """\
    [bodies]
    crank = { length = 1.0, mass = 1.0, guess = [[0, 0], [0, 1]] }
    coupler = { length = 3.0, mass = 3.0, guess = [[0, 1], [3, 2]] }
    rocker = { length = 2.5, mass = 2.5, guess = [[3.5, 0], [3, 2]] }

    [ground]
    right = [3.5, 0]

    [joints]
    A = { kind = "revolute", between = ["ground", "crank.start"] }
    B = { kind = "revolute", between = ["crank.end", "coupler.start"] }
    C = { kind = "revolute", between = ["coupler.end", "rocker.end"] }
    D = { kind = "revolute", between = ["ground.right", "rocker.start"] }

    [drives]
    motor = { joint = "A", rate = "3" }

    [run]
    duration = 1.0
    """


def test_every_kind_of_joint_between_two_points_has_a_symbol():
    assert all((kind.symbol is None) == bool(kind.couples) for kind in KINDS.values())


@pytest.mark.parametrize("world", ["plane", pytest.param("space", marks=pytest.mark.slow)])
def test_every_joint_is_marked_where_it_is(world):
    m = every_joint(world)
    made, q = scene(m), m.geometry.q
    seen = made.at(np.stack([q, q]))
    marked = {mark.name for mark in made.joints}
    assert marked == {name for name, joint in m.joints.items() if not KINDS[joint.kind].couples}
    at = {name: seen.places[0, i] for i, name in enumerate(made.points)}
    assert np.allclose(at["ground.p"][: m.d], (0.3, 0.2, 0.1)[: m.d])
    assert np.allclose(at["free.p"][: m.d], (0.4, 0.3, 0.2)[: m.d])
    axes = dict(zip([mark.name for mark in made.joints], seen.axes[0], strict=True))
    assert np.allclose(
        axes["prismatic"], [1, 0, 0] if world == "plane" else [0, 0, 1]
    )  # along which it slides
    assert (
        Bar(("ground", "free"), kind="spring") in made.bars
        and Bar(("ground.rod", "rod.p"), kind="rod") in made.bars
    )


@pytest.mark.slow
def test_a_particle_alone_is_seen_with_its_path(browser, tmp_path):
    """It has no size of its own: the grid is that of the path."""
    example = zw.gallery.load("spherical-pendulum")
    run = example.run(duration=2.0, samples=41)
    bead = particles_scene(lambda q: q[None, :3], ("bead",))
    run.view(tmp_path / "view.html", scene=bead)
    page = browser.new_page()
    page.goto((tmp_path / "view.html").as_uri())
    page.wait_for_selector("#scale:not(:empty)")
    extent = np.linalg.norm(np.ptp(run.q[:, :3], axis=0))
    spacing = float(page.inner_text("#scale").split()[1])
    assert extent / 20 < spacing < extent
    assert page.is_disabled("#follow")


@pytest.mark.slow
def test_a_newcomers_four_bar_opens_in_the_browser(browser, tmp_path):
    text = textwrap.dedent(FOUR_BAR)
    assert len(text.splitlines()) <= 30
    file = tmp_path / "mine.toml"
    file.write_text(text)
    answer = zwang("run", file, "--out", tmp_path / "out", "--phase", "crank.angle")
    assert answer.code == 0 and "view.html" in answer.out
    page = browser.new_page()
    asked, complaints = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto((tmp_path / "out" / "view.html").as_uri())
    page.click("#play")
    page.wait_for_timeout(500)
    assert not complaints and all(url.startswith(("file:", "data:")) for url in asked)
    assert page.locator("#time").text_content().endswith("of 1 s")
    data = json.loads(
        re.search(r'id="data">(.*?)</script>', (tmp_path / "out" / "view.html").read_text())[1]
    )
    assert [joint["name"] for joint in data["joints"]] == ["A", "B", "C", "D"]
    report = (tmp_path / "out" / "report.html").read_text()
    assert (
        all(f'id="{key}"' in report for key in ("joints", "phase2", "own0", "own1"))
        and 'href="view.html"' in report
    )


@pytest.mark.slow
@pytest.mark.parametrize("coordinates", ["maximal", "joint"])
def test_forces_in_space_move_the_coupler(coordinates, tmp_path):
    """Newton: the pins and the weight give the coupler its acceleration."""
    file = tmp_path / "mine.toml"
    file.write_text(f'coordinates = "{coordinates}"\n' + textwrap.dedent(FOUR_BAR))
    m = read(file)
    run = zw.simulate(m.model, m.start_state.q, m.start_state.v, duration=1.0, samples=11)
    forces = joint_forces(m, run, ("B", "C"))
    ahead = 1e-4
    speeds = [m.body_state(*run.at(run.t[5] + h)).v.reshape(3, 3)[1, :2] for h in (ahead, -ahead)]
    acceleration = np.asarray(speeds[0] - speeds[1]) / (2 * ahead)
    assert np.allclose(
        forces[5, 0] - forces[5, 1], 3.0 * (acceleration + [0.0, 9.81]), atol=1e-5
    )  # of the difference, O(ahead²)


def test_a_belt_touches_its_wheels():
    m = train("belt", (0.4, 0.1))
    made = scene(m)
    seen = made.at(np.stack([m.geometry.q]))
    at = {name: seen.places[0, i] for i, name in enumerate(made.points)}
    strands = [bar.ends for bar in made.bars if bar.body == "ca"]
    assert len(strands) == 2
    for first, second in strands:
        way = at[second] - at[first]
        assert np.isclose(np.linalg.norm(at[first] - at["c"]), 0.4) and np.isclose(
            np.linalg.norm(at[second] - at["a"]), 0.1
        )
        assert (
            abs(way @ (at[first] - at["c"])) < 1e-14 and abs(way @ (at[second] - at["a"])) < 1e-14
        )  # along a tangent of both


SHAPES = """
world = "space"
[ground]
low = [0.5, 0.0, -0.2]
[bodies.pill]
at = [0.0, 0.0, 0.5]
inertia = [0.1, 0.1, 0.1]
[bodies.pill.points]
tip = [0.3, 0.0, 0.0]
[bodies.crate]
at = [1.0, 0.0, 0.5]
inertia = [0.1, 0.1, 0.1]
[contacts.one]
between = ["ground.low", "pill.tip"]
shapes = [{ kind = "plane", size = [2.0, 1.0] }, { kind = "capsule", size = [0.1, 0.4] }]
[contacts.two]
between = ["ground", "crate"]
shapes = [{ kind = "plane" }, { kind = "box", size = [0.3, 0.2, 0.1] }]
"""


def test_shapes_of_contacts_stand_where_they_touch(tmp_path):
    """On their bodies; planes are the upper faces of slabs that do not move."""
    (tmp_path / "shapes.toml").write_text(SHAPES)
    m = read(tmp_path / "shapes.toml")
    drawn, q = scene(m), m.start_state.q
    assert list(drawn.bodies) == ["pill", "crate", "ground"]
    (pill,), (crate,), (small, endless) = drawn.bodies.values()
    assert (pill.kind, pill.size, pill.position) == ("capsule", [0.1, 0.4], (0.3, 0.0, 0.0))
    assert (crate.kind, crate.size, crate.position) == ("box", [0.3, 0.2, 0.1], (0.0, 0.0, 0.0))
    for slab, height in ((small, -0.2), (endless, 0.0)):
        assert slab.position[2] + slab.size[2] / 2 == pytest.approx(height, abs=1e-12)
    assert small.size[:2] == [2.0, 1.0] and small.position[:2] == (0.5, 0.0)
    # the part below the mechanism
    assert abs(endless.position[0] - 0.5) < 0.5 and endless.size[0] > 1.0
    np.testing.assert_array_equal(drawn.at(q[None]).poses[0, 2], [0, 0, 0, 1, 0, 0, 0])
