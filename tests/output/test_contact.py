"""Contact forces at the points of a scene, and the times at which a contact is active."""

import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw
from zwang.output.contact import contact_forces, held, impulse_unit


@pytest.mark.slow
def test_a_block_that_rocks_is_pushed_at_its_edges_by_what_newton_asks_for():
    """Its center moves by weight and the forces of both edges alone."""
    example = zw.gallery.load("rocking-block")
    run = example.run(duration=1.0, rtol=1e-8)
    left, right = contact_forces(run, example.scene)
    points = example.scene.points
    assert [points[x.point] for x in (left, right)] == ["floor side.start", "floor side.end"]
    assert [x.friction for x in (left, right)] == ["left grip", "right grip"]
    mass, gravity = run.model.params["mass"], run.model.params["gravity"]
    forces = sum(x.normal + x.tangential for x in (left, right))
    needed = mass * (run.variables["acceleration"].values[:, :2] + [0.0, gravity])
    np.testing.assert_allclose(forces[:, :2], needed, atol=1e-8 * mass * gravity)
    for x in (left, right):  # of each its normal is upwards, its friction level
        assert np.max(np.abs([x.normal[:, 0], x.tangential[:, 1]])) < 1e-8 * mass * gravity


@pytest.mark.slow
def test_a_sphere_slides_until_it_rolls():
    """Until 2 v₀/(7 μ g), by μ m g; its friction is that at its lowest point."""
    example = zw.gallery.load("thrown-sphere")
    run, p = example.run(rtol=1e-8), example.model.params
    ((floor,), rolls) = contact_forces(run, example.scene), 2 * run.v[0, 0] / (7 * p["mu"] * 9.81)
    assert example.scene.points[floor.point] == "lowest point"
    pull = np.where(run.t < rolls, -p["mu"] * p["mass"] * 9.81, 0.0)
    np.testing.assert_allclose(floor.tangential[:, 0], pull, atol=1e-8)
    gap, grip = held(run)
    assert gap.gap and not grip.gap
    np.testing.assert_allclose(gap.holds, [[0.0, run.t[-1]]])
    np.testing.assert_allclose(grip.slides, [[0.0, rolls]], rtol=1e-10)
    np.testing.assert_allclose(grip.holds, [[rolls, run.t[-1]]], rtol=1e-10)


def test_a_gap_between_two_bodies_acts_at_no_one_point():
    example = zw.gallery.load("balls-on-a-rail")
    run = example.run(rtol=1e-8)
    assert sum(len(x.impulses) for x in held(run)) > 0
    assert contact_forces(run, example.scene) == []


@pytest.mark.parametrize("function", [held, lambda run: contact_forces(run, None)])
def test_a_model_that_holds_for_good_has_none(function):
    assert function(zw.gallery.load("pendulum").run(duration=0.1)) == []


@pytest.mark.slow
def test_an_impulse_has_the_unit_of_its_gap_where_friction_has_two_rows():
    block = zw.System(
        nq=3,
        coordinates=("x", "y", "z"),
        units=("m", "m", "m"),
        mass_matrix=lambda q, t, p: jnp.ones(3),
        force=lambda q, v, t, p: jnp.array([0.0, 0.0, -9.81]),
    )
    floor = zw.Inequality(lambda q, t, p: q[2], name="floor", unit="m")
    grip = zw.DryFriction(lambda q, v, t, p: v[:2], load="floor", static=0.5, name="grip")
    run = zw.simulate(zw.Model(block, [floor, grip]), [0, 0, 0.1], [1.0, 0, 0], duration=0.3)
    assert impulse_unit(run, held(run)) == "N s"
