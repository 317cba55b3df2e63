"""The page of a mode moves the scene by the mode's shape."""

import base64
import re

import numpy as np
import pytest

import zwang as zw
from tests.analysis import systems
from zwang.output.viewer import write_mode
from zwang.scene import particles_scene

SCENE = particles_scene(lambda q: q.reshape(2, 2), ("a", "b"))


@pytest.fixture(scope="module")
def modes():
    return zw.linearize(systems.double_pendulum(), [0.0, -1.0, 0.0, -1.5]).modes()


def test_a_mode_is_played_about_the_state_that_it_belongs_to(tmp_path, modes):
    scene = SCENE
    page = write_mode(modes, scene, tmp_path / "mode.html", mode=1, amplitude=0.2).read_text()
    assert "oscillates" in page
    places = re.search(r'"places": ?"([^"]+)"', page)
    numbers = np.frombuffer(base64.b64decode(places.group(1)), "<f4").reshape(-1, 2, 3)
    rest = np.array([[0.0, -1.0, 0.0], [0.0, -1.5, 0.0]])
    away = numbers - rest
    assert np.max(np.abs(away)) == pytest.approx(0.2, rel=1e-2)
    np.testing.assert_allclose(away[0], away[-1], atol=1e-5)  # one whole period
    shape = np.real(modes[1].shape)[[0, 2]]
    np.testing.assert_allclose(away[0, :, 0], 0.2 * shape, atol=1e-5)


def test_a_mode_that_does_not_exist_is_refused(tmp_path, modes):
    with pytest.raises(zw.ModelError, match="there are 2 modes"):
        write_mode(modes, SCENE, tmp_path / "mode.html", mode=7)
