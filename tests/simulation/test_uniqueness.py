"""Labels of forces along a run and at a state: unique, not unique, or the motion is not."""

import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw
from zwang.output.report.contact import contact

LEGS = np.array([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])


def table(legs, rough):
    """A table on some legs that slides and turns on a floor; M is a multiple of one."""
    system = zw.System(
        6,
        lambda q, t, p: jnp.ones(6),
        lambda q, v, t, p: jnp.array([0.0, 0.0, -9.81, 0.5, 0.2, 0.0]),
    )
    members = []
    for k, (x, y) in enumerate(LEGS[legs]):
        gap = lambda q, t, p, x=x, y=y: q[2] + y * q[3] - x * q[4]
        slip = lambda q, v, t, p, x=x, y=y: jnp.stack([v[0] - y * v[5], v[1] + x * v[5]])
        members.append(zw.Inequality(gap, name=f"leg {k}"))
        if rough:
            rub = zw.DryFriction(slip, load=f"leg {k}", static=0.3, name=f"rub {k}")
            members.append(rub)
    return zw.Model(system, members)


@pytest.mark.slow
def test_four_legs_share_their_load_in_many_ways_and_three_in_one():
    four, three = (
        zw.simulate(table(legs, False), np.zeros(6), np.zeros(6), duration=0.1, samples=3)
        for legs in ([0, 1, 2, 3], [0, 1, 2])
    )
    assert not np.any(four.variables["multiplier_unique"].values)
    assert not np.any(four.variables["force_unique"].values)
    assert np.all(four.variables["motion_unique"].values)
    assert "the motion is unique, but the forces of leg 0, leg 1" in str(four)
    assert "force_unique" not in three.variables and three.labels.whole


@pytest.mark.slow
def test_where_legs_that_share_their_load_rub_the_motion_is_not_unique():
    """Friction turns the table by where it acts: another share of the load is another motion."""
    model, v = table([0, 1, 2, 3], True), [1.0, 0.0, 0.0, 0.0, 0.0, 0.3]
    run = zw.simulate(model, np.zeros(6), v, duration=0.05, samples=3)
    assert not np.any(run.labels.motion) and not np.any(run.labels.forces)
    assert any("the motion is not unique" in x for x in run.warnings)
    seen = zw.check(model, np.zeros(6), v)
    assert not seen.unique_motion and "the motion is not unique" in str(seen)

    # beside two ways to share the load that both hold it up
    share = np.array([1.0, -1.0, 1.0, -1.0])
    slips = np.stack([v[0] - LEGS[:, 1] * v[5], LEGS[:, 0] * v[5]], axis=1)
    along = slips / np.linalg.norm(slips, axis=1)[:, None]
    turns = LEGS[:, 0] * along[:, 1] - LEGS[:, 1] * along[:, 0]
    assert np.linalg.norm(share @ along) + abs(share @ turns) > 0.1

    held_up = zw.simulate(table([0, 1, 2], True), np.zeros(6), v, duration=0.05, samples=3)
    assert held_up.labels.whole and held_up.warnings == ()


def test_labels_follow_what_holds_and_are_drawn():
    """A block on a floor that a second floor takes over: three rows hold two motions there."""
    system = zw.System(2, lambda q, t, p: jnp.ones(2), lambda q, v, t, p: jnp.array([-1.0, -9.81]))
    floors = [zw.Inequality(lambda q, t, p: q[1], name=f"floor {i}") for i in range(2)]
    wall = zw.Inequality(lambda q, t, p: q[0], name="wall")
    run = zw.simulate(
        zw.Model(system, [*floors, wall]), [0.1, 0.05], [0.0, 0.0], duration=1.0, samples=11
    )
    lands, stops = run.switches[0].time, run.switches[1].time
    shared = (run.steps.t > lands) & (run.steps.t < stops)
    for name, known in zip(run.labels.names, run.labels.forces.T, strict=True):
        assert np.all(known[run.steps.t < lands])
        assert np.all(known[shared] == (name == "wall"))
    bands = contact(run)[0].figure.panels[0]
    drawn = [c for c in bands.curves if len(c.dash)]
    assert len(drawn) == 2 and all(abs(c.x[0] - lands) < 1e-12 for c in drawn)


@pytest.mark.slow
def test_a_loop_with_its_rows_twice_is_labeled():
    run = zw.gallery.load("n-four-bar", N=1, repeat=2).run(duration=0.1, samples=3)
    assert np.all(run.labels.motion) and not np.any(run.labels.multipliers)
    once = zw.gallery.load("n-four-bar", N=1).run(duration=0.1, samples=3)
    assert once.labels.whole and once.variables.attrs["uniqueness"] == "all forces are unique"
