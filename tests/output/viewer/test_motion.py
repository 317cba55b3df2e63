"""The data of the page: motion between the steps, violations, and impossible scenes."""

import base64
import json
import re
import struct
from types import SimpleNamespace

import numpy as np
import pytest

import zwang as zw
from tests.output.viewer.numbers import numbers
from zwang.bodies import Shape
from zwang.output.viewer import write_view
from zwang.output.viewer.motion import configurations, motion, violations
from zwang.scene import Bar, Mark, Scene, Seen, bars_scene

TRIANGLE = struct.pack("<80xI12f2x", 1, *[0, 0, 1], *[0, 0, 0], *[1, 0, 0], *[0, 1, 0])


def test_configurations_between_the_steps_are_those_of_the_run(pendulum):
    run, _ = pendulum
    times = np.linspace(0.0, 2.0, 97)
    assert np.allclose(
        configurations(run, times), run.at(times)[0], atol=1e-4
    )  # a tenth of a pixel


def test_the_page_holds_the_motion_of_every_point(pendulum):
    run, scene = pendulum
    made = motion(run, scene)
    places = numbers(made["places"], made["frames"], 3, 3)
    assert np.allclose(places[-1, 1], [*run.q[-1], 0.0], atol=1e-6)
    assert np.allclose(np.linalg.norm(places[:, 1], axis=1), 1.0, atol=1e-4)
    forces = numbers(made["forces"], len(run.t), 2, 3)
    assert np.allclose(forces[:, 0], -forces[:, 1])
    assert np.allclose(
        violations(run, scene.joints)[:, 1],
        np.fmax(*(run.dataset[n].values[:, 0] for n in ("violation", "velocity_violation"))),
    )
    assert np.isnan(
        violations(run, scene.joints)[:, 0]
    ).all()  # the hinge is no constraint of the model


def test_a_body_turns_with_its_pose_and_brings_its_mesh(pendulum, tmp_path):
    run, _ = pendulum
    (tmp_path / "hand.stl").write_bytes(TRIANGLE)
    shapes = (Shape("box", (0.2, 0.1, 0.1)), Shape("mesh", file=tmp_path / "hand.stl"))
    turned = lambda q: Seen(
        q[:, None], poses=np.concatenate([q, np.full((len(q), 1), np.pi / 2)], axis=1)[:, None]
    )
    scene = Scene(("mass",), turned, bodies={"hand": shapes})
    made = motion(run, scene)
    assert np.allclose(
        numbers(made["poses"], -1, 7)[0], [1, 0, 0, np.sqrt(0.5), 0, 0, np.sqrt(0.5)], atol=1e-6
    )
    assert base64.b64decode(made["bodies"][0]["shapes"][1]["mesh"]) == TRIANGLE
    write_view(run, scene, tmp_path / "view.html")
    text = (tmp_path / "view.html").read_text()
    assert json.loads(re.search(r'id="data">(.*?)</script>', text)[1])["owners"] == ["hand"]


@pytest.mark.parametrize(
    ("name", "said"), [("hand.stl", "cannot read the mesh"), ("hand.dae", "no .stl or .obj file")]
)
def test_a_mesh_that_cannot_be_shown_is_refused(name, said, pendulum, tmp_path):
    run, _ = pendulum
    scene = Scene(
        ("mass",),
        lambda q: Seen(q[:, None], poses=np.zeros((len(q), 1, 3))),
        bodies={"hand": (Shape("mesh", file=tmp_path / name),)},
    )
    with pytest.raises(zw.ModelError, match=said):
        motion(run, scene)


def test_bars_alone_make_a_scene(pendulum):
    run, _ = pendulum
    made = motion(
        run, bars_scene(lambda q: np.array([[[0.0, 0.0], q]]), ("rod",), traces=("rod.end",))
    )
    assert (
        made["points"] == ["rod.start", "rod.end"]
        and made["traces"] == [1]
        and made["forces"] is None
    )


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"bars": (Bar(("a", "z")),)}, "bar 0 is at 'z', which is no point; there are: a, b"),
        ({"joints": (Mark("pin", "z"),)}, "joint 'pin' is at 'z'"),
        ({"traces": ("z",)}, "traces is at 'z'"),
        ({"points": ("a", "a")}, "two points have one name"),
    ],
)
def test_a_scene_with_a_part_at_no_point_is_refused(parts, said):
    with pytest.raises(zw.ModelError, match=said):
        Scene(**{"points": ("a", "b"), "seen": lambda q: Seen(np.zeros((len(q), 2, 2))), **parts})


def test_a_scene_that_sees_too_few_places_is_refused():
    scene = Scene(("a", "b"), lambda q: Seen(np.zeros((len(q), 3, 2))))
    with pytest.raises(zw.ModelError, match=r"places of shape \(4, 3, 2\), expected \(4, 2, 2\)"):
        scene.at(np.zeros((4, 2)))


def test_an_impact_parts_the_motion():
    """A fall that ends in rest: one instant, two velocities, and no curve through both."""
    t, x, v = (
        np.array([0.0, 0.5, 1.0, 1.0, 1.5]),
        np.array([1.0, 0.75, 0.0, 0.0, 0.0]),
        np.array([0.0, -1.0, -2.0, 0.0, 0.0]),
    )
    system = zw.System(1, lambda q, t, p: np.ones(1), lambda q, v, t, p: 0 * q)
    run = SimpleNamespace(
        model=SimpleNamespace(system=system),
        flow=SimpleNamespace(dynamics=SimpleNamespace(p=None)),
        steps=SimpleNamespace(t=t, y=np.stack([x, v], axis=1)),
    )
    times = np.linspace(0.0, 1.5, 31)
    assert np.allclose(
        configurations(run, times)[:, 0], np.where(times < 1, 1 - times**2, 0.0), atol=1e-14
    )
