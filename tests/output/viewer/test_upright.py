"""The page shows the direction opposite to gravity upward, for every axis."""

import numpy as np
import pytest

import zwang as zw
from tests.output.viewer.numbers import numbers
from zwang.mechanism import Joint, Link, Mechanism
from zwang.mechanism.scene import scene
from zwang.output.viewer.motion import motion

FROM_THE_PIVOT = 0.5


def shown(gravity, world: str) -> dict[str, np.ndarray]:
    """A rod that hangs at rest on its pivot, as the page gets it."""
    down = np.array(gravity) / np.linalg.norm(gravity)
    bodies = {
        "rod": Link(
            length=1.0,
            inertia=0.1 if world == "plane" else (0.1, 0.1, 0.1),
            at=tuple(FROM_THE_PIVOT * down),
            points={"pivot": tuple(-FROM_THE_PIVOT * down)},
        )
    }
    kind = "revolute" if world == "plane" else "spherical"
    joints = {"pivot": Joint(kind, between=("ground", "rod.pivot"))}
    mechanism = Mechanism(bodies, joints, world=world, gravity=tuple(gravity))
    start = mechanism.start_state
    run = zw.simulate(mechanism.model, start.q, start.v, duration=0.1, samples=2, rtol=1e-6)
    made = motion(run, scene(mechanism))
    index = made["points"].index("rod")
    places = numbers(made["places"], made["frames"], -1, 3)
    return {"place": places[-1, index], "force": numbers(made["forces"], -1, 1, 3)[-1, 0]}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("gravity", "world", "up"),
    [
        pytest.param((0.0, -9.81), "plane", 1, marks=pytest.mark.slow),
        ((-9.81, 0.0), "plane", 1),
        pytest.param((0.0, 9.81), "plane", 1, marks=pytest.mark.slow),
        pytest.param((0.0, -9.81, 0.0), "space", 2, marks=pytest.mark.slow),
        ((0.0, 0.0, 9.81), "space", 2),
    ],
)
def test_a_hanging_rod_hangs_down_on_the_page(gravity, world, up):
    found = shown(gravity, world)
    np.testing.assert_allclose(found["place"], -FROM_THE_PIVOT * np.eye(3)[up], atol=1e-6)
    # the joint holds the weight of 1 kg upwards
    np.testing.assert_allclose(found["force"], 9.81 * np.eye(3)[up], atol=1e-4)


def test_a_direction_of_no_length_is_refused():
    with pytest.raises(zw.ModelError, match="up is zero"):
        zw.Scene(points=(), seen=lambda q: None, up=(0.0, 0.0, 0.0))
