"""Point masses in space: masses without inertia, on joints that do not depend on their attitude."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import zwang as zw
from tests.crossed import crossed
from zwang.errors import ModelError
from zwang.mechanism import Force, Joint, Link, Mechanism, Point, Spring

G, T = 9.81, 0.7
COORDINATES = ("maximal", "joint")


def ended(m: Mechanism) -> np.ndarray:
    start = m.start_state
    run = zw.simulate(m.model, start.q, start.v, duration=T, rtol=1e-10, samples=2)
    return np.asarray(m.body_state(run.q[-1], run.v[-1]).q).reshape(-1, 7)


@pytest.mark.slow
@pytest.mark.parametrize("inertia, coordinates", crossed([None, 0.0, (0.0, 0.0, 0.0)], COORDINATES))
def test_a_point_on_a_rod_is_a_spherical_pendulum(inertia, coordinates):
    """r̈ = g + λ r with λ = −(v² + g·r)/r²."""
    place, velocity = np.array([0.6, 0.0, -0.8]), np.array([0.0, 1.5, 0.0])
    m = Mechanism(
        {"ball": Link(2.0, inertia, at=tuple(place), velocity=tuple(velocity))},
        {"string": Joint("rod", ("ground", "ball"), length=1.0)},
        world="space",
        coordinates=coordinates,
    )
    g = np.array([0.0, 0.0, -G])

    def rate(t, y):
        r, v = y[:3], y[3:]
        return [*v, *(g - r * (v @ v + g @ r) / (r @ r))]

    expected = solve_ivp(rate, (0, T), [*place, *velocity], rtol=1e-11, atol=1e-12).y[:3, -1]
    found = ended(m)[0]
    np.testing.assert_allclose(found[:3], expected, atol=1e-8)
    np.testing.assert_allclose(found[3:], [1, 0, 0, 0], atol=1e-14)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("coordinates", COORDINATES)
def test_points_on_springs_and_paths_move_as_points(coordinates):
    """A bead on an inclined plane, and two points on a spring, about their common center."""
    k, m = 30.0, 1.5
    links = {
        "bead": Link(1.0, 0.0),
        "a": Link(m, at=(5.0, 0.0, 0.0)),
        "b": Link(m, at=(6.0, 0.0, 0.0)),
    }
    made = Mechanism(
        links,
        {"plane": Joint("path", ("ground", "bead"), equation="z - x")},
        springs={"s": Spring(("a", "b"), stiffness=k, rest=0.8)},
        forces={"lift": Force(("0", "0", "9.81"), on="bead")},
        world="space",
        gravity=(0.0, 0.0, 0.0),
        coordinates=coordinates,
    )
    found = ended(made)[:, :3]
    way = 9.81 / 2 * T**2 / 2  # the component along (1, 0, 1)/√2, of each coordinate
    np.testing.assert_allclose(found[0], [way, 0, way], atol=1e-8)
    stretch = 0.8 + 0.2 * np.cos(np.sqrt(2 * k / m) * T)
    np.testing.assert_allclose(found[2] - found[1], [stretch, 0, 0], atol=1e-8)


@pytest.mark.parametrize("kind", ["revolute", "fixed", "prismatic"])
def test_a_mass_whose_attitude_a_joint_sees_is_no_point(kind):
    parts = {"joints": {"j": Joint(kind, ("ground", "b"))}, "world": "space"}
    assert not Mechanism({"b": Link(1.0, 0.0)}, **parts).compiled.point_masses
    with pytest.raises(ModelError, match="has no inertia"):
        Mechanism({"b": Link(1.0)}, **parts)
    with pytest.raises(ModelError, match="has no inertia"):
        Mechanism({"b": Link(1.0, points={"p": Point((1, 0, 0))})}, world="space")
