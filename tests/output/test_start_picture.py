"""A picture of every model before anything is compiled."""

import jax
import numpy as np
import pytest

from zwang.cli.target import load_target
from zwang.gallery.index import ENTRIES
from zwang.output.start_picture import scene_picture
from zwang.scene import Bar, Mark, Scene, Seen


class EnoughError(Exception):
    """Nothing more is wanted of a target."""


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", ENTRIES)
def test_a_model_is_drawn_before_anything_is_compiled(name, tmp_path, monkeypatch):
    compiled = []
    drawn = tmp_path / "start.svg"

    def draw(named, picture):
        before = len(compiled)
        picture().save(drawn)
        assert named == name
        assert len(compiled) == before
        raise EnoughError

    jax.monitoring.register_event_duration_secs_listener(
        lambda event, *_, **__: "compile" in event and compiled.append(event)
    )
    with pytest.raises(EnoughError):
        load_target(name, {}, draw)
    text = drawn.read_text()
    assert text.startswith("<svg") and "nan" not in text.lower()


def test_bars_springs_and_joints_are_where_the_scene_has_them():
    scene = Scene(
        ("a", "b", "c"),
        lambda q: Seen(np.stack([np.stack([0 * q, q, 2 * q], axis=1)], axis=0)[0]),
        bars=(Bar(("a", "b")), Bar(("b", "c"), kind="spring")),
        joints=(Mark("pin", "b"),),
    )
    part, spring, pin = scene_picture(scene, np.array([1.0, 2.0])).panels[0].curves
    np.testing.assert_allclose([part.x, part.y], [[0, 1], [0, 2]])
    np.testing.assert_allclose([spring.x, spring.y], [[1, 2], [2, 4]])
    np.testing.assert_allclose([pin.x, pin.y], [[1], [2]])
