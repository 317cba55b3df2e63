"""The page of a mode moves the scene by the mode's shape."""

import json
import re

import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw
from tests.analysis import systems
from tests.output.viewer.numbers import numbers
from zwang.output.viewer import write_free_motion, write_mode
from zwang.scene import particles_scene

SCENE = particles_scene(lambda q: q.reshape(2, 2), ("a", "b"))


@pytest.fixture(scope="module")
def modes():
    return zw.analysis.linearize(systems.double_pendulum(), [0.0, -1.0, 0.0, -1.5]).modes()


def test_a_mode_is_played_about_the_state_that_it_belongs_to(tmp_path, modes):
    scene = SCENE
    page = write_mode(modes, scene, tmp_path / "mode.html", mode=1, amplitude=0.2).read_text()
    assert "oscillates" in page
    rest = np.array([[0.0, -1.0, 0.0], [0.0, -1.5, 0.0]])
    away = _places(page) - rest
    assert np.max(np.abs(away)) == pytest.approx(0.2, rel=1e-2)
    np.testing.assert_allclose(away[0], away[-1], atol=1e-5)  # one whole period
    shape = np.real(modes[1].shape)[[0, 2]]
    np.testing.assert_allclose(away[0, :, 0], 0.2 * shape, atol=1e-5)


def test_a_mode_that_does_not_exist_is_refused(tmp_path, modes):
    with pytest.raises(zw.ModelError, match="there are 2 modes"):
        write_mode(modes, SCENE, tmp_path / "mode.html", mode=7)


def test_a_free_motion_is_played_on_the_constraints(tmp_path):
    model, q = systems.double_pendulum(), [0.0, -1.0, 0.0, -1.5]
    motion = zw.check(model, q).free_motions[0]
    page = write_free_motion(model, q, motion.direction, SCENE, tmp_path / "free.html")
    assert "to first order" not in page.read_text()
    numbers = _places(page.read_text())[:, :, :2]
    rods = np.linalg.norm(numbers[:, 0], axis=1), np.linalg.norm(np.diff(numbers, axis=1), axis=2)
    np.testing.assert_allclose(rods[0], 1.0, atol=3e-6)  # counted in millionths of the largest
    np.testing.assert_allclose(rods[1], 0.5, atol=3e-6)
    reached = np.abs(motion.direction[[0, 2]]).argmax()
    assert np.max(np.abs(numbers[:, reached, 0])) == pytest.approx(0.1, rel=5e-2)  # along an arc


def test_a_direction_without_a_motion_is_called_so(tmp_path):
    """Two circles that touch leave one direction free to first order, and no motion."""
    circles = lambda q, t, p: jnp.stack([q @ q - 1, (q[0] - 3) ** 2 + q[1] ** 2 - 4])
    system = zw.System(2, lambda q, t, p: jnp.ones(2), lambda q, v, t, p: jnp.zeros(2))
    model = zw.Model(system, [zw.Holonomic(circles, name="circles")])
    scene = particles_scene(lambda q: q.reshape(1, 2), ("a",))
    page = write_free_motion(model, [1.0, 0.0], [0.0, 1.0], scene, tmp_path / "free.html")
    assert "to first order" in page.read_text()
    np.testing.assert_allclose(_places(page.read_text())[:, 0, 0], 1.0, atol=2e-6)  # as drawn
    with pytest.raises(zw.ModelError, match="the direction is zero"):
        write_free_motion(model, [1.0, 0.0], [0.0, 0.0], scene, tmp_path / "free.html")


def _places(page: str) -> np.ndarray:
    data = json.loads(re.search(r'id="data">(.*?)</script>', page)[1])
    return numbers(data["places"], -1, len(data["points"]), 3)
