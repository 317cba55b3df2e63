"""Branches of motion at singular configurations."""

from __future__ import annotations

import types

import jax.numpy as jnp
import numpy as np
import pytest
import scipy.integrate

import zwang as zw
from tests.analysis.models import four_bar
from zwang.analysis.branches import Branches
from zwang.dynamics.tangent_cone import zeros_of
from zwang.equations.constraint.level import POSITION, VELOCITY
from zwang.simulation.results.branch_taken import with_branches
from zwang.simulation.results.crossing import Crossing
from zwang.simulation.results.warnings import _branch_changed, _branch_unnamed


@pytest.fixture(scope="module")
def parallelogram() -> Branches:
    """The parallelogram with all bars in line, where it may become an antiparallelogram."""
    return zw.analysis.branches(
        four_bar(), np.zeros(3), params={"lengths": np.array([1.0, 2.0, 1.0, 2.0])}
    )


def test_a_parallelogram_in_line_has_two_branches_in_closed_form(parallelogram):
    assert parallelogram.rank == 1 and len(parallelogram) == 2
    rates = sorted(tuple(np.round(b.tangent / b.tangent[0], 6)) for b in parallelogram.branches)
    # ω₁ + 2 ω₂ = ω₃ and ω₁² + 2 ω₂² = ω₃²
    assert np.allclose(rates, [(1.0, -2.0, -3.0), (1.0, 0.0, 1.0)], atol=1e-6)
    assert all(b.verified for b in parallelogram.branches)


def test_a_velocity_finds_its_branch_and_a_branch_its_start(parallelogram):
    for i in range(2):
        start = parallelogram.start(i, energy=2.0)
        assert parallelogram.taken(start.v)[0] == i
        assert abs(0.5 * start.v @ (np.array([1.0, 0.5, 2.0]) * start.v) - 2.0) < 1e-12
    assert "2 branches" in str(parallelogram)
    picture = parallelogram.plot()
    picture.figure()
    # two lines that differ, in two velocities that tell them apart
    slopes = [np.arctan2(line.y[1], line.x[1]) % np.pi for line in picture.panels[0].curves]
    assert abs(np.sin(slopes[0] - slopes[1])) > 0.5


def test_a_regular_configuration_has_one_branch():
    found = zw.analysis.branches(four_bar(), np.array([0.7, 0.3, 1.9]))
    assert len(found) == 1 and found.freedom == 1 and found[0].verified


def test_a_point_without_motion_is_said_so():
    """Two circles that touch in one point leave a direction of velocity, but no motion."""
    circles = lambda q, t, p: jnp.stack([q @ q - 1, (q[0] - 3) ** 2 + q[1] ** 2 - 4])
    system = zw.System(2, lambda q, t, p: jnp.ones(2), lambda q, v, t, p: jnp.zeros(2))
    model = zw.Model(system, [zw.Holonomic(circles, name="circles")])
    found = zw.analysis.branches(model, np.array([1.0, 0.0]))
    assert found.freedom == 1 and len(found) == 0


@pytest.mark.parametrize("k", [2, 3])
def test_zeros_of_quadratic_forms_are_all_found(k):
    # products of two linear forms each: u is orthogonal to one factor of every product
    random = np.random.default_rng(k)
    factors = random.standard_normal((k - 1, 2, k))
    forms = np.array([np.outer(a, b) + np.outer(b, a) for a, b in factors])
    found, isolated = zeros_of(forms, k)
    if k == 2:
        known = [np.array([-x[1], x[0]]) for x in factors[0]]
    else:
        known = [np.cross(a, b) for a in factors[0] for b in factors[1]]
    assert isolated and len(found) == len(known) == 2 ** (k - 1)
    for x in known:
        assert max(abs(u @ x) / np.linalg.norm(x) for u in found) > 1 - 1e-12
    # one double zero, and none
    e = np.eye(2)[0]
    assert len(zeros_of(np.array([np.outer(e, e)]), 2)[0]) == 1
    assert not zeros_of(np.array([np.eye(2)]), 2)[0]


@pytest.mark.parametrize("after", [0, 1])
def test_a_change_of_branch_is_reported(parallelogram, after):
    """A stand-in for a run: in real ones momentum keeps the branch."""
    model, q = parallelogram.model, parallelogram.q
    v = {0.0: parallelogram.start(0).v, 1.0: parallelogram.start(after).v}
    run = types.SimpleNamespace(
        model=model,
        flow=types.SimpleNamespace(
            switched=None, dynamics=model.dynamics(parallelogram.params, None)
        ),
        steps=types.SimpleNamespace(t=np.array([0.0, 1.0])),
        at=lambda times: (np.repeat(q[None], len(times), axis=0), None),
        near=lambda times: (None, np.array([v[round(t)] for t in times])),
    )
    (found,) = run.crossings = with_branches(run, [Crossing(0.5, 2, 1, 2, (), (), 0.0)])
    assert (found.branches, found.before, found.after) == (2, 0, after)
    sentences = list(_branch_changed(run, None))
    if after:
        assert "0 → 1 of 2" in str(found) and "from 0 to 1 of the 2" in sentences[0]
    else:
        assert "on branch 0 of 2" in str(found) and not sentences


@pytest.mark.parametrize(
    ("switched", "level", "speed", "why"),
    [
        (np.ones(1), POSITION, 1.0, "constraints are switched"),
        (None, VELOCITY, 1.0, "'loop' is not holonomic"),
        (None, POSITION, 0.0, "stands still"),
    ],
)
def test_where_branches_are_not_named_a_run_says_why(parallelogram, switched, level, speed, why):
    model, q = parallelogram.model, parallelogram.q
    v = speed * parallelogram.start(0).v
    loop = types.SimpleNamespace(level=level)
    run = types.SimpleNamespace(
        model=types.SimpleNamespace(
            system=model.system, constraints=types.SimpleNamespace(owners={"loop": loop})
        ),
        flow=types.SimpleNamespace(
            switched=switched, dynamics=model.dynamics(parallelogram.params, None)
        ),
        steps=types.SimpleNamespace(t=np.array([0.0, 1.0])),
        at=lambda times: (np.repeat(q[None], len(times), axis=0), None),
        near=lambda times: (None, np.repeat(v[None], len(times), axis=0)),
    )
    run.crossings = with_branches(run, [Crossing(0.5, 2, 1, 2, (), (), 0.0)])
    (sentence,) = _branch_unnamed(run, None)
    assert why in sentence and "at 1 of 1 singular configurations" in sentence


@pytest.mark.slow
def test_a_run_with_a_blade_says_that_its_branch_is_not_known(parallelogram):
    """The parallelogram passes its line while a blade slides over the ground beside it."""
    inner, params = parallelogram.model, parallelogram.params
    (loop,), force = inner.constraints.members, inner.system.force
    system = zw.System(
        6,
        lambda q, t, p: jnp.array([1.0, 0.5, 2.0, 1.0, 1.0, 0.3]),
        lambda q, v, t, p: jnp.concatenate([force(q[:3], v[:3], t, p), jnp.zeros(3)]),
    )
    slip = lambda q, v, t, p: v[3] * jnp.sin(q[5]) - v[4] * jnp.cos(q[5])
    rows = [
        zw.Holonomic(lambda q, t, p: loop.phi(q[:3], t, p), name="loop"),
        zw.Nonholonomic(slip, name="blade"),
    ]
    model, bars = zw.Model(system, rows, params, name="both"), np.array([1.0, 0.0, 1.0])
    q, v = np.append(0.2 * bars, np.zeros(3)), np.append(-2.0 * bars, [1.0, 0.0, 0.4])
    run = zw.simulate(model, q, v, duration=0.5)
    assert len(run.crossings) == 1 and "'blade' is not holonomic" in run.warnings[0]


def test_from_rest_a_run_leaves_on_the_branch_of_most_work_and_says_so(parallelogram):
    """By the law of the parallelogram, 3 α̈ = −1.4 cos α with α of crank and rocker."""
    model, params, still = parallelogram.model, parallelogram.params, np.zeros(3)
    run = zw.simulate(model, still, still, duration=0.5, params=params, samples=3)
    assert "2 branches of motion meet" in run.warnings[0] and "on branch 0" in run.warnings[0]
    exact = scipy.integrate.solve_ivp(
        lambda t, y: [y[1], -1.4 / 3 * np.cos(y[0])], (0, 0.5), [0.0, 0.0], rtol=1e-12, atol=1e-14
    )
    alpha = exact.y[0, -1]
    # it begins 1e-5 off
    np.testing.assert_allclose(run.q[-1], [alpha, 0.0, alpha], atol=2e-5)


@pytest.mark.parametrize("backward", [False, True])
def test_a_little_speed_chooses_another_branch(parallelogram, backward):
    start = parallelogram.start(1, energy=1e-9, backward=backward)
    run = zw.simulate(
        parallelogram.model, start.q, start.v, duration=0.5, params=parallelogram.params, samples=3
    )
    assert "on branch 1" in run.warnings[0]
    # of the antiparallelogram, whose coupler turns by −2 and whose rocker by −3 to first order
    assert run.q[-1, 0] > 0.009 and np.allclose(run.q[-1] / run.q[-1, 0], [1, -2, -3], atol=1e-3)


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_a_start_beside_a_singular_configuration_leaves_it(parallelogram, side):
    """Where a row nearly vanishes, the scales of the start are not those of the motion."""
    q = side * 1e-5 * np.array([1.0, 0.0, 1.0])
    run = zw.simulate(
        parallelogram.model, q, np.zeros(3), duration=0.5, params=parallelogram.params, samples=5
    )
    assert np.allclose(run.q[-1], [-0.0583, 0.0, -0.0583], atol=1e-4)
    assert run.attrs["steps_accepted"] < 200


def test_a_row_that_vanishes_is_a_crossing_and_its_branch_is_named(parallelogram):
    """Loops in joint coordinates lose a rank by a row that vanishes, not by one that repeats."""
    for side, speed in ((0.1, 1.0), (0.01, 0.1), (-0.3, 2.0), (1e-3, 1e-3), (1e-4, 0.3)):
        q = side * np.array([1.0, 0.0, 1.0])
        v = -np.sign(side) * speed * np.array([1.0, 0.0, 1.0])
        run = zw.simulate(
            parallelogram.model, q, v, duration=0.5, params=parallelogram.params, samples=5
        )
        (crossing,) = run.crossings
        # the cranks turn alike all the way
        assert np.allclose(run.q[:, 0], run.q[:, 2], atol=1e-8)
        at = run.at(crossing.time)[0]
        np.testing.assert_allclose(at, 0.0, atol=1e-6)
        assert (crossing.rank_before, crossing.rank, crossing.rank_after) == (2, 1, 2)
        assert (crossing.branches, crossing.before, crossing.after) == (2, 0, 0)


@pytest.mark.parametrize("off", [1e-6, 1e-5, 1.1e-5, 2e-5])
def test_a_motion_too_slow_to_keep_its_branch_says_which_it_took(parallelogram, off):
    """At rest this close to the line, errors of 1e-9 in angles choose a branch."""
    q = off * np.array([1.0, 0.0, 1.0])
    run = zw.simulate(
        parallelogram.model, q, np.zeros(3), duration=0.5, params=parallelogram.params, samples=5
    )
    kept = np.allclose(run.q[-1], [-0.0583, 0.0, -0.0583], atol=2e-4)
    assert kept or any("changed its branch" in x for x in run.warnings)


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"step": 0.01}], ids=["adaptive", "fixed"])
def test_a_compiled_motion_from_rest_where_branches_meet_is_refused_in_words(
    parallelogram, options
):
    model, params, still = parallelogram.model, parallelogram.params, np.zeros(3)
    times = np.linspace(0.0, 0.5, 3)
    found = zw.trajectory(model, still, still, times, params=params, **options)
    assert "branches of motion meet" in found.reason(model, params)
    beside = -1e-3 * np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 1.0]])
    both = zw.batch(model, beside, np.zeros((2, 3)), times, params=params, **options)
    assert list(both.failures) == [0] and "branches of motion meet" in both.failures[0]
    assert abs(both.q[1, -1, 0] + 0.0593) < 1e-3


@pytest.mark.slow
def test_an_acceleration_that_no_motion_has_is_said_to_be_one(parallelogram):
    model, params, still = parallelogram.model, parallelogram.params, np.zeros(3)
    # by the law of the parallelogram, −1.4/3 of crank and rocker
    text = str(zw.motion(model, still, still, params=params))
    assert "no motion has this acceleration" in text and "crank -0.466667, rocker" in text
    moving = zw.motion(model, still, parallelogram.start(0).v, params=params)
    assert "no motion has this acceleration" in str(moving)
    beside = zw.motion(model, 0.1 * np.array([1.0, 0.0, 1.0]), still, params=params)
    assert "no motion" not in str(beside)
    # rows that depend on each other everywhere take no motion away
    twice = zw.Model(model.system, [*model.constraints.members, *_renamed(model)], params)
    assert "no motion" not in str(zw.motion(twice, 0.1 * np.array([1.0, 0.0, 1.0]), still))


def _renamed(model):
    (loop,) = model.constraints.members
    return [zw.Holonomic(loop.phi, name="loop again")]


@pytest.mark.slow
def test_two_loops_in_line_have_three_branches_each_followed_by_a_run():
    example = zw.gallery.load("n-four-bar", N=2, gravity=0.0)
    line = np.array([0.5, 0, 0, 1.5, 0, 0, 2.5, 0, 0, 1.5, 0, 0, 2.5, 0, 0.0])
    found = zw.analysis.branches(example.model, line)
    assert found.rank == 12 and found.isolated and len(found) == 3
    cranks = [b.tangent[[2, 5, 8]] / np.max(np.abs(b.tangent[[2, 5, 8]])) for b in found.branches]
    known = np.array([[1.0, 1, 1], [0, 1, 1], [0, 0, 1]])  # by the law of each rhombus
    for wanted in known:
        assert any(np.allclose(np.abs(x), wanted, atol=1e-5) for x in cranks)
    for i, wanted in enumerate(cranks):
        start = found.start(i)
        run = zw.simulate(example.model, start.q, start.v, duration=0.5, rtol=1e-9, samples=11)
        turned = run.q[-1, [2, 5, 8]]
        assert np.allclose(np.abs(turned) / np.max(np.abs(turned)), np.abs(wanted), atol=1e-3)


@pytest.mark.slow
def test_a_run_through_singular_configurations_keeps_its_branch():
    example = zw.gallery.load("n-four-bar", N=1)
    run = zw.simulate(example.model, example.q0, example.v0, duration=1.5, rtol=1e-9)
    found = zw.analysis.passages(run)
    assert found and not any(x.changed for x in found)
    # the run says the same by itself
    reported = [(c.branches, c.before, c.after) for c in run.crossings]
    assert reported == [(len(x.branches), x.before, x.after) for x in found]
    assert not run.warnings and "on branch" in str(run.crossings[0])
