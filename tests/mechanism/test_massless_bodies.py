"""Bodies without mass or inertia: determined by their joints, or refused by name."""

import numpy as np
import pytest

import zwang as zw
from zwang.mechanism import Begin, Joint, Link, Mechanism, joint_motion, reactions

CRANK = Link(mass=1.0, length=1.0, guess=((0.0, 0.0), (0.0, 1.0)))
ROCKER = Link(mass=2.5, length=2.5, guess=((3.5, 0.0), (3.0, 2.0)))
HINGES = {
    "A": Joint("revolute", ("ground", "crank.start")),
    "D": Joint("revolute", ("ground.right", "rocker.start")),
}
RIGHT = {"right": (3.5, 0.0)}
START = {"A": Begin(value=1.5, rate=3.0)}


def with_coupler(**options) -> Mechanism:
    """A four-bar linkage whose coupler has no mass."""
    coupler = Link(mass=0.0, length=3.0, guess=((0.0, 1.0), (3.0, 2.0)))
    pins = {
        "B": Joint("revolute", ("crank.end", "coupler.start")),
        "C": Joint("revolute", ("coupler.end", "rocker.end")),
    }
    bodies = {"crank": CRANK, "coupler": coupler, "rocker": ROCKER}
    return Mechanism(bodies, {**HINGES, **pins}, ground=RIGHT, start=START, **options)


def with_distance() -> Mechanism:
    """The same with a distance in place of the coupler."""
    rod = Joint("rod", ("crank.end", "rocker.end"), length=3.0)
    bodies = {"crank": CRANK, "rocker": ROCKER}
    return Mechanism(bodies, {**HINGES, "rod": rod}, ground=RIGHT, start=START)


@pytest.mark.slow
def test_a_massless_coupler_moves_the_others_like_a_distance():
    coupled, held = with_coupler(), with_distance()
    first, second = coupled.start_state, held.start_state
    one = zw.motion(coupled.model, first.q, first.v)
    other = zw.motion(held.model, second.q, second.v)
    assert np.allclose(np.delete(one.acceleration, [3, 4, 5]), other.acceleration, rtol=1e-9)
    # a body without mass has no acceleration "without constraints" to be shown
    assert "without constraints" in str(other) and "without constraints" not in str(one)


@pytest.mark.slow
@pytest.mark.parametrize("coordinates", ["maximal", "joint"])
def test_a_run_with_a_massless_coupler_is_that_with_a_distance(coordinates):
    coupled, held = with_coupler(coordinates=coordinates), with_distance()
    runs = []
    for mechanism in (coupled, held):
        start = mechanism.start_state
        runs.append(zw.simulate(mechanism.model, start.q, start.v, duration=3.0, rtol=1e-10))
    angles = [joint_motion(m, r)["A"].values for m, r in zip((coupled, held), runs, strict=True)]
    assert np.abs(angles[0] - angles[1]).max() < 1e-8
    # the force in a massless link goes from pin to pin, with the size of the distance's multiplier
    pins = reactions(coupled, runs[0])
    sizes = [np.linalg.norm(pins[name].force, axis=1) for name in ("B", "C")]
    rod = np.linalg.norm(reactions(held, runs[1])["rod"].force, axis=1)
    assert np.allclose(sizes[0], sizes[1], atol=1e-6)
    assert np.allclose(sizes[0], rod, atol=1e-5)


@pytest.mark.slow
def test_a_run_compiled_by_a_user_needs_not_be_told():
    mechanism = with_coupler()
    start = mechanism.start_state
    end = zw.trajectory(mechanism.model, start.q, start.v, times=[0.0, 0.1], rtol=1e-8)
    assert np.all(np.isfinite(end.q))


@pytest.mark.slow
def test_a_point_mass_at_the_end_of_an_arm():
    """A uniform arm m, L, level, with a point M at its end: θ̈ = −g L (m/2 + M)/(L² (m/3 + M))."""
    m, M, L = 1.0, 2.0, 1.5
    mechanism = Mechanism(
        {
            "arm": Link(mass=m, length=L, at=(L / 2, 0.0)),
            "tip": Link(mass=M, inertia=0.0, at=(L, 0.0)),
        },
        {
            "pivot": Joint("revolute", ("ground", "arm.start")),
            "weld": Joint("fixed", ("arm.end", "tip")),
        },
    )
    start = mechanism.start_state
    found = zw.motion(mechanism.model, start.q, start.v)
    exact = -9.81 / L * (m / 2 + M) / (m / 3 + M)
    assert np.allclose(np.asarray(found.acceleration)[[2, 5]], exact, rtol=1e-12)


def test_a_model_knows_that_a_body_lacks_mass():
    """A user's own program could not find out."""
    assert with_coupler().model.singular_mass and not with_distance().model.singular_mass
    # in joint coordinates a massless arm takes the mass of what it carries
    for coordinates, lacks in (("maximal", True), ("joint", False)):
        bodies = {
            "arm": Link(mass=0.0, length=1.0, at=(0.5, 0.0)),
            "tip": Link(inertia=0.0, at=(1.0, 0.0)),
        }
        joints = {
            "pivot": Joint("revolute", ("ground", "arm.start")),
            "weld": Joint("fixed", ("arm.end", "tip")),
        }
        assert Mechanism(bodies, joints, coordinates=coordinates).model.singular_mass == lacks


def test_a_body_whose_motion_nothing_determines_is_named():
    ball = Link(mass=1.0, inertia=0.0, at=(1.0, 0.0))
    mechanism = Mechanism({"ball": ball}, {"rod": Joint("rod", ("ground", "ball"), length=1.0)})
    with pytest.raises(zw.ModelError, match=r"'ball.angle' has neither mass nor a constraint"):
        mechanism.start_state  # noqa: B018 - assembling refuses
