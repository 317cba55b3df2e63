"""Right models are not refused, and wrong models do not run to the end without a message."""

from __future__ import annotations

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw
from tests.fuzz.starts import random_rods, two_rods
from tests.models import free_particle

H, V, A = zw.Holonomic, zw.Nonholonomic, zw.AccelerationConstraint


def plane(nv, force=None):
    """Unit masses, free unless a force is given."""
    return zw.System(
        nv,
        mass_matrix=lambda q, t, p: jnp.ones(nv),
        force=force or (lambda q, v, t, p: jnp.zeros(nv)),
    )


def pulled(nv):
    return plane(nv, lambda q, v, t, p: jnp.full(nv, -9.81))


# --- unloaded starts: those of tests/fuzz/starts.py, and these ------------------------------------


def test_random_rods_that_fall_from_rest_are_no_contradiction():
    """All points have the same acceleration, so that `A a` and every residual are round-off."""
    model, random = two_rods(), np.random.default_rng(0)
    for _ in range(100):
        q, p = random_rods(random)
        m = zw.motion(model, q, np.zeros(6), params=p)
        assert np.allclose(m.acceleration, [0, -9.81] * 3, atol=1e-9)
        zw.consistent_state(model, q, params=p)


# --- contradictions -------------------------------------------------------------------------------

ROW = jnp.array([[1.0, 0.0]])
CONTRADICTING = {
    "two drives": [
        H(lambda q, t, p: q[0] - t**3, name="a"),
        H(lambda q, t, p: q[0] - jnp.sin(t**3), name="b"),
    ],
    "still and driven": [
        H(lambda q, t, p: q[0], name="a"),
        H(lambda q, t, p: q[0] - t**3, name="b"),
    ],
    "two velocities": [
        V(lambda q, v, t, p: v[0], name="a"),
        V(lambda q, v, t, p: v[0] - t**3, name="b"),
    ],
    "two accelerations": [
        A(lambda q, v, t, p: ROW, lambda q, v, t, p: jnp.zeros(1), name="a"),
        A(lambda q, v, t, p: ROW, lambda q, v, t, p: t[None] ** 3, name="b"),
    ],
}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("constraints", CONTRADICTING.values(), ids=CONTRADICTING)
def test_rows_that_come_to_contradict_each_other_end_the_run(constraints):
    model = zw.Model(plane(2), constraints)
    with pytest.raises(zw.SimulationError, match=r"contradict each other.*'a'.*'b'") as caught:
        zw.simulate(model, [0.0, 0.0], [0.0, 0.3], duration=3.0)
    run = caught.value.run
    assert run.result is zw.Result.INCONSISTENT
    assert run.t[-1] < 0.1
    assert np.max(np.abs(run.observation.phi)) < 1e-7


@pytest.mark.parametrize(
    "constraints",
    [
        # two rows of position, as two drives are
        pytest.param(rows, marks=pytest.mark.slow) if name == "still and driven" else rows
        for name, rows in CONTRADICTING.items()
    ],
    ids=CONTRADICTING,
)
def test_a_compiled_trajectory_ends_where_rows_contradict_each_other(constraints):
    model = zw.Model(plane(2), constraints)
    found = zw.trajectory(model, [0.0, 0.0], [0.0, 0.3], np.linspace(0.0, 3.0, 4))
    assert zw.Result(int(found.result)).is_failure
    assert np.isnan(found.q[-1, 0])
    assert found.end.t < 0.1 and re.match(r"stopped at t = .*'[ab]'", found.reason(model))


@pytest.mark.slow
def test_members_that_end_are_named_with_their_own_parameters():
    """Where a drive comes to contradict a stop depends on its delay, and fixed steps say so too."""
    drive = lambda q, t, p: q[0] - jnp.maximum(t - p["delay"], 0.0) ** 3
    model = zw.Model(
        plane(2), [H(lambda q, t, p: q[0], name="stop"), H(drive, name="drive")], {"delay": 0.0}
    )
    delays = np.array([0.3, 9.0, 0.6])
    given = model, np.zeros(2), np.zeros(2), np.linspace(0.0, 1.0, 3)
    for options in ({}, {"step": 0.05}):
        found = zw.batch(*given, params={"delay": delays}, **options)
        assert list(found.failures) == [0, 2]
        for i, sentence in found.failures.items():
            assert abs(found.end.t[i] - delays[i]) < 0.11
            assert re.match(rf"stopped at t = {found.end.t[i]:.6g} s: .*('stop'|'drive')", sentence)
        assert found.reason(1) == "reached the end"


def test_a_reason_is_given_of_one_motion_on_the_host():
    model = zw.Model(plane(2), [])
    times = np.linspace(0.0, 1.0, 2)
    found = jax.jit(jax.vmap(lambda q: zw.trajectory(model, q, np.zeros(2), times)))(np.eye(2))
    with pytest.raises(zw.ModelError, match="many at once; return the motions"):
        found.reason(model)
    one = jax.tree_util.tree_map(lambda x: x[1], found)
    assert one.reason(model) == "reached the end"


def test_linear_constraints_have_a_violation():
    model = zw.Model(plane(2), [H(lambda q, t, p: q[0] - 1.0, name="a")])
    with pytest.raises(zw.ModelError, match="off the constraints"):
        zw.simulate(model, [1.01, 0.0], [0.0, 1.0], duration=1.0)


# --- rows that vanish -----------------------------------------------------------------------------

VANISHING = {
    "isolated point": (H(lambda q, t, p: q @ q, name="x"), [0.0, 0.0], "isolated point"),
    "squared": (H(lambda q, t, p: (q[0] - 1.0) ** 2, name="x"), [1.0, 0.0], "squared constraint"),
    "squared coordinate": (H(lambda q, t, p: q[1] ** 2, name="x"), [1.0, 0.0], "squared"),
    "psi of q": (V(lambda q, v, t, p: q @ q - 1.0, name="x"), [1.0, 0.0], "zw.Holonomic"),
    "phi of t": (H(lambda q, t, p: t**4 + 0 * q[0], name="x"), [1.0, 0.0], "on time alone"),
    "stop_gradient": (
        H(lambda q, t, p: jax.lax.stop_gradient(q[0]) - 1.0, name="x"),
        [1.0, 0.0],
        "stop_gradient",
    ),
    "b alone": (
        A(lambda q, v, t, p: jnp.zeros((1, 2)), lambda q, v, t, p: jnp.array([-2.0]), name="x"),
        [1.0, 0.0],
        "misses by 1 of the accelerations involved",
    ),
}


@pytest.mark.parametrize("case", VANISHING.values(), ids=VANISHING)
def test_a_row_without_gradient_that_asks_for_something_is_refused(case):
    constraint, q, says = case
    with pytest.raises(zw.ModelError, match=rf"'x'.*{says}|{says}.*'x'"):
        zw.simulate(zw.Model(pulled(2), [constraint]), q, [0.0, 0.0], duration=1.0)


@pytest.mark.slow
@pytest.mark.parametrize(
    "case",
    [
        # compiled once per case; a single motion, above, names all of them by default
        case if name in ("squared", "psi of q") else pytest.param(case, marks=pytest.mark.slow)
        for name, case in VANISHING.items()
    ],
    ids=VANISHING,
)
def test_a_compiled_motion_names_a_row_without_gradient(case):
    """Ended at once where the second derivative says so, and as soon as phi or psi grows else."""
    constraint, q, says = case
    model = zw.Model(pulled(2), [constraint])
    found = zw.batch(model, [q, q], [0.0, 0.0], [0.0, 1.0, 2.0], cores=1)
    assert list(found.failures) == [0, 1] and np.all(np.isnan(found.q[:, 1:]))
    assert np.all(found.end.t < 0.01)
    assert re.search(rf"'x'.*{says}|{says}.*'x'", found.failures[1])


@pytest.mark.parametrize("name", ["isolated point", "squared", "psi of q", "stop_gradient"])
def test_the_motion_at_an_instant_names_a_row_without_gradient(name):
    constraint, q, says = VANISHING[name]
    with pytest.raises(zw.ModelError, match=rf"'x'.*{says}"):
        zw.motion(zw.Model(pulled(2), [constraint]), q, [0.0, 0.0])


def test_a_constraint_of_fourth_order_is_held_or_named():
    model = zw.Model(pulled(2), [H(lambda q, t, p: (q[0] - 1.0) ** 4, name="x")])
    run = zw.simulate(model, [1.0, 0.0], [0.0, 0.0], duration=3.0, throw=False)
    held = np.max(abs(run.steps.y[:, 0] - 1.0)) < 1e-9
    assert held if run.result == zw.Result.SUCCESS else "'x'" in run.reason


HARMLESS = {
    "a crossing": (H(lambda q, t, p: q[0] * q[1]), [-1.0, 0.0], [1.0, 0.0], 2),
    "a row of zeros": (H(lambda q, t, p: jnp.stack([q[0] - 1, 0 * q[1]])), [1.0, 0], [0.0, 0], 2),
    "a row twice": (H(lambda q, t, p: jnp.stack([q[0], 2 * q[0]])), [0.0, 0.0], [0.0, 1.0], 2),
    "driven from 0": (H(lambda q, t, p: q[0] - jnp.sin(t) ** 2), [0.0, 0.0], [0.0, 0.0], 2),
    "driven past 0": (H(lambda q, t, p: q[0] - jnp.cos(5 * t)), [1.0, 0.0], [0.0, 0.0], 2),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "case",
    [
        case
        if name in ("a crossing", "a row of zeros", "driven past 0")
        else pytest.param(case, marks=pytest.mark.slow)
        for name, case in HARMLESS.items()
    ],
    ids=HARMLESS,
)
def test_rows_that_vanish_as_redundancies_run(case):
    constraint, q, v, nv = case
    model = zw.Model(plane(nv), [constraint])
    run = zw.simulate(model, q, v, duration=2.0, samples=5)
    assert run.result is zw.Result.SUCCESS
    assert np.max(np.abs(run.observation.phi)) < 1e-12
    compiled = zw.trajectory(model, q, v, run.t)
    assert compiled.reason(model) == "reached the end"
    assert np.allclose(compiled.q, run.q, atol=1e-6)


def test_a_compiled_motion_may_start_where_branches_cross():
    model = zw.Model(plane(3), [H(lambda q, t, p: q[0] * q[1], name="cross")])
    found = zw.trajectory(model, [0.0, 0.0, 0.0], [1.0, 0.0, 1.0], np.linspace(0.0, 1.0, 3))
    assert found.reason(model) == "reached the end"
    assert np.allclose(found.q[-1], [1.0, 0.0, 1.0], atol=1e-9)


# --- nearly parallel rows -------------------------------------------------------------------------


def pair():
    """q₀ = 1 and q₁ = 0, by two rows at the angle e; a free oscillator beside them."""
    system = plane(3, lambda q, v, t, p: jnp.array([0.3, -9.81, -q[2]]))
    rows = lambda q, t, p: jnp.stack([q[0] - 1.0, q[0] - 1.0 + p["e"] * q[1]])
    return zw.Model(system, [H(rows, name="pair")], {"e": 0.1})


@pytest.mark.one_in(2)
@pytest.mark.parametrize("angle", [1e-1, 1e-3, 1e-5, 1e-8])
def test_nearly_parallel_rows_hold_what_they_say(angle):
    run = zw.simulate(
        pair(), [1.0, 0.0, 1.0], [0.0, 0.0, 0.0], duration=2.0, samples=5, params={"e": angle}
    )
    assert np.max(np.abs(run.q[:, 1])) < 1e-12
    assert np.allclose(run.q[:, 2], np.cos(run.t), atol=1e-7)
    assert bool(run.attrs["method_changes"]) == (angle < 1e-2)


@pytest.mark.slow
def test_a_compiled_motion_of_nearly_parallel_rows_ends_and_says_what_helps():
    """With the method that was asked for; by default they are held."""
    given = pair(), [1.0, 0.0, 1.0], [0.0, 0.0, 0.0], [0.0, 1.0, 2.0]
    found = zw.trajectory(*given, params={"e": 1e-6}, pseudoinverse=zw.methods.Proximal())
    said = found.reason(pair(), {"e": 1e-6})
    assert re.search(r"nearly parallel.*zw.methods.CompleteOrthogonal\(\)", said)
    found = zw.trajectory(*given, params={"e": 1e-6}, pseudoinverse=zw.methods.CompleteOrthogonal())
    assert found.reason(pair(), {"e": 1e-6}) == "reached the end"
    assert np.max(np.abs(found.q[:, 1])) < 1e-12


@pytest.mark.parametrize("angle", [1e-2, 1e-4, 1e-6])
def test_motion_of_nearly_parallel_rows_is_exact(angle):
    m = zw.motion(pair(), [1.0, 0.0, 1.0], [0.0, 0.0, 0.0], params={"e": angle})
    assert np.allclose(m.acceleration, [0.0, 0.0, -1.0], atol=1e-15 / angle)
    assert float(m.residual) < 1e-12


# --- accuracy -------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("stages", [20, 60])
def test_accuracy_bounds_the_error_of_an_ill_conditioned_lift(stages):
    """From rest the acceleration lies along the null space of A, which an SVD finds."""
    example = zw.gallery.load("scissor-lift", stages=stages)
    m = zw.motion(example.model, example.q0, example.v0)
    A_, free = np.asarray(m.matrix), np.asarray(m.free_acceleration)
    M = np.asarray(example.model.system.mass_matrix(example.q0, 0.0, example.model.parameters()))
    W = 1 / np.sqrt(M)
    C = A_ * W
    C = C / np.linalg.norm(C, axis=1, keepdims=True)
    _, sigma, Vt = np.linalg.svd(C)
    null = Vt[int(np.sum(sigma > 1e-10 * sigma[0])) :]
    exact = W * (null.T @ (null @ (free / W)))
    error = np.linalg.norm((m.acceleration - exact) / W) / np.linalg.norm(exact / W)
    assert error <= 30 * float(m.accuracy)
    assert float(m.accuracy) < 1e-10


# --- singular mass --------------------------------------------------------------------------------


def quaternion_rotation():
    """Rotation in four quaternion components: M = 4 EᵀJE has rank 3, |e|² = 1 holds the fourth."""
    J = jnp.diag(jnp.array([1.0, 2.0, 3.0]))

    def E(e):
        return jnp.array(
            [
                [-e[1], e[0], e[3], -e[2]],
                [-e[2], -e[3], e[0], e[1]],
                [-e[3], e[2], -e[1], e[0]],
            ]
        )

    def mass(q, t, p):
        return 4 * E(q).T @ J @ E(q)

    def force(q, v, t, p):
        pull = jax.grad(lambda q: 0.5 * v @ mass(q, t, p) @ v)(q)
        return pull - jax.jvp(lambda q: mass(q, t, p) @ v, (q,), (v,))[1]

    model = zw.Model(zw.System(4, mass, force), [H(lambda q, t, p: q @ q - 1.0, name="unit")])
    return model, E


@pytest.mark.slow
@pytest.mark.parametrize(
    "e",
    [
        [1.0, 0, 0, 0],
        *(pytest.param(e, marks=pytest.mark.slow) for e in ([0, 1.0, 0, 0], [0.6, 0.8, 0, 0])),
    ],
)
def test_a_massless_direction_along_an_axis_is_held_by_a_row_of_its_own(e):
    model, E = quaternion_rotation()
    w = np.array([0.5, 1.0, -0.3])
    v = 0.5 * np.asarray(E(np.array(e))).T @ w
    assert np.all(np.isfinite(zw.consistent_state(model, e, v).state.v))
    assert "consistent" in str(zw.check(model, e, v))
    run = zw.simulate(model, e, v, duration=2.0, samples=5, rtol=1e-10)
    spin = np.array([2 * np.asarray(E(q)) @ v for q, v in zip(run.q, run.v, strict=True)])
    energy = 0.5 * spin**2 @ np.array([1.0, 2.0, 3.0])
    assert np.ptp(energy) < 1e-9


def test_a_mass_that_vanishes_along_the_run_is_found_there():
    """q₁ = ½ q₀ holds the coordinate whose mass is 1 − q₀ up to q₀ = 1 and zero after."""
    system = zw.System(
        2,
        mass_matrix=lambda q, t, p: jnp.stack([1.0 + 0 * q[0], jnp.maximum(1.0 - q[0], 0.0)]),
        force=lambda q, v, t, p: jnp.zeros(2),
    )
    model = zw.Model(system, [H(lambda q, t, p: q[1] - 0.5 * q[0], name="link")])
    run = zw.simulate(model, [0.0, 0.0], [1.0, 0.5], duration=2.0, samples=5)
    assert run.result is zw.Result.SUCCESS
    assert "singular" in run.attrs["method_changes"][0]
    assert np.allclose(run.q[:, 1], 0.5 * run.q[:, 0], atol=1e-12)


def test_a_constraint_without_a_zero_is_said_to_have_none():
    """A wrong sign: q·q + 1 in place of q·q − 1."""
    model = zw.Model(free_particle(2), [zw.Holonomic(lambda q, t, p: q @ q + 1, name="rod")])
    with pytest.raises(
        zw.ModelError, match="'rod': its residual has no zero near the start.*signs"
    ):
        zw.simulate(model, [1.0, 0.0], [0.0, 0.0], duration=1.0)


def test_a_model_without_parameters_says_so():
    with pytest.raises(zw.ModelError, match="a model that has none"):
        zw.Model(free_particle(2), [zw.Holonomic(lambda q, t, p: q @ q - p["l"], name="rod")])
