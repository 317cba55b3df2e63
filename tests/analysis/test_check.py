"""Reports of `zw.check` on redundancy, degrees of freedom and kinds of constraints."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw
from zwang.analysis.check import INTEGRABLE
from zwang.mechanism import Joint, Link, Point

sin, cos = jnp.sin, jnp.cos


def checked(n: int, q, psis: dict, phis: dict | None = None):
    system = zw.System(n, lambda q, t, p: jnp.ones(n), lambda q, v, t, p: jnp.zeros(n))
    rows = [zw.Holonomic(f, name=name) for name, f in (phis or {}).items()]
    rows += [zw.Nonholonomic(f, name=name) for name, f in psis.items()]
    return zw.check(zw.Model(system, rows), q=q)


def knife(q, v, t, p):
    return v[1] * cos(q[2]) - v[0] * sin(q[2])


def in_disguise(q, v, t, p):
    """(1 + q₀²) times the rate of h(q)."""
    h = lambda q: sin(q[0]) * q[1] + q[2] * q[3] ** 2 - jnp.exp(0.3 * q[4]) * q[5]
    return (1 + q[0] ** 2) * jax.jvp(h, (q,), (v,))[1]


def kinds(found) -> list[str]:
    return [c.kind for c in found.constraints]


def test_a_knife_edge_reaches_all_places_with_two_velocities():
    found = checked(3, [0.3, 0.2, 0.5], {"blade": knife})
    assert (found.reach.dimension, found.reach.directions) == (3, 2)
    assert kinds(found) == ["linear nonholonomic"] and "3 dimensions by 2 directions" in str(found)


@pytest.mark.slow
def test_a_form_with_an_integrating_factor_is_holonomic_and_its_integral_is_found():
    psi = lambda q, v, t, p: jnp.exp(q[0] + q[2]) * (q[1] * v[0] + q[0] * v[1] + v[2])
    found = checked(3, [0.3, 0.2, 0.5], {"factor": psi})
    assert found.reach.dimension == 2 and kinds(found) == [f"scleronomic {INTEGRABLE}"]
    h = jax.jit(lambda q: found.integrals["factor"].phi(q, 0.0, None)[0])
    q = jnp.array([0.5, 0.1, 0.9])
    # the leaves are q₀ q₁ + q₂ = constant
    assert np.allclose(np.cross(jax.grad(h)(q), [q[1], q[0], 1.0]), 0, atol=1e-9)
    along = jnp.array([0.7, 0.2, 0.95 - 0.7 * 0.2])
    assert abs(h(q) - h(along)) < 1e-9 and abs(h(jnp.array([0.3, 0.2, 0.5]))) < 1e-12


EXAMPLES = {
    2: (lambda q, v: v[0] + 2 * q[1] * v[1] + v[2], "scleronomic", 2),
    3: (lambda q, v: v[0] + 2 * q[1] * v[1] + v[2] - 1.0, "rheonomic", 2),
    4: (lambda q, v: v[0] + 2 * q[2] * v[1] + v[2], "linear nonholonomic", 3),
}
"""Equations (12), (14) and (16) of the review, their kinds, and the accessible dimension at fixed
t."""


@pytest.mark.one_in(4)
@pytest.mark.parametrize("number", EXAMPLES)
def test_the_examples_of_the_review_have_their_kinds_and_integrals(number):
    psi, kind, dimension = EXAMPLES[number]
    found = checked(3, [0.3, -0.7, 1.1], {"form": lambda q, v, t, p: psi(q, v)})
    assert kinds(found)[0].startswith(kind) and found.reach.dimension == dimension
    assert found.reach.directions == 2
    if number == 4:
        assert not found.integrals
        return
    # x + y² + z is constant, or grows with t
    h = jax.jit(lambda q, t: found.integrals["form"].phi(q, t, None)[0])
    grows = 1.0 if number == 3 else 0.0
    for q, t in (([0.4, -0.6, 1.0], 0.0), ([0.2, -0.8, 1.2], 0.2)):
        slope = jax.grad(h)(jnp.array(q), t)
        assert np.allclose(slope / slope[0], [1.0, 2 * q[1], 1.0], atol=1e-9)
        assert abs(jax.grad(h, 1)(jnp.array(q), t) / slope[0] + grows) < 1e-9


@pytest.mark.slow
def test_the_machine_of_appell_and_hamel_is_nonlinear_and_reaches_all_of_space():
    climb = lambda q, v, t, p: v[0] ** 2 + v[1] ** 2 - 4 * v[2] ** 2
    found = checked(3, [0.1, 0.2, 0.3], {"climb": climb})
    assert kinds(found) == ["nonlinear nonholonomic"]
    assert (found.reach.dimension, found.reach.directions) == (3, 2)
    # the same with a fixed heading stays in a plane: two dimensions
    planar = {"climb": climb, "heading": lambda q, v, t, p: v[0] - 0.5 * v[1]}
    found = checked(3, [0.1, 0.2, 0.3], planar)
    assert (found.reach.dimension, found.reach.directions) == (2, 1)


@pytest.mark.slow
def test_a_rolling_disk_reaches_four_dimensions_by_two():
    rows = {
        "x": lambda q, v, t, p: v[0] - cos(q[2]) * v[3],
        "y": lambda q, v, t, p: v[1] - sin(q[2]) * v[3],
    }
    found = checked(4, [0.1, 0.2, 0.3, 0.4], rows)
    assert (found.reach.dimension, found.reach.directions) == (4, 2)


@pytest.mark.slow
def test_a_car_with_a_trailer_reaches_four_dimensions():
    speed = lambda q, v: v[0] * cos(q[2]) + v[1] * sin(q[2])
    rows = {"wheels": knife, "trailer": lambda q, v, t, p: v[3] - sin(q[2] - q[3]) * speed(q, v)}
    found = checked(4, [0.1, 0.2, 0.3, 0.4], rows)
    assert (found.reach.dimension, found.reach.directions) == (4, 2)
    assert kinds(found) == ["linear nonholonomic"] * 2


@pytest.mark.slow
def test_a_car_with_two_trailers_reaches_five_dimensions():
    speed = lambda q, v: v[0] * cos(q[2]) + v[1] * sin(q[2])
    rows = {
        "wheels": knife,
        "trailer": lambda q, v, t, p: v[3] - sin(q[2] - q[3]) * speed(q, v),
        "second": lambda q, v, t, p: v[4] - sin(q[3] - q[4]) * cos(q[2] - q[3]) * speed(q, v),
    }
    found = checked(5, [0.1, 0.2, 0.3, 0.4, 0.5], rows)
    assert (found.reach.dimension, found.reach.directions) == (5, 2)


@pytest.mark.slow
def test_a_disguised_constraint_is_known_beside_a_nonholonomic_one():
    rows = {"disguised": in_disguise, "blade": knife}
    found = checked(6, np.linspace(0.1, 0.9, 6), rows)
    assert (
        kinds(found) == [f"scleronomic {INTEGRABLE}", "linear nonholonomic"]
        and found.reach.dimension == 5
    )


def test_the_smallest_combination_of_a_redundant_row_is_named():
    random = np.random.default_rng(3)
    rows = random.standard_normal((4, 7))
    planted = {f"c{i}": (lambda q, t, p, r=r: r @ q) for i, r in enumerate(rows)}
    planted["sum"] = lambda q, t, p: (rows[1] - 2 * rows[3]) @ q
    found = checked(7, np.zeros(7), {}, planted)
    (dependency,) = found.dependencies
    assert dependency.names == ("sum", "c1", "c3")
    unique = {c.name: c.unique_rows[0] for c in found.constraints}
    assert unique == {"c0": True, "c1": False, "c2": True, "c3": False, "sum": False}


def test_free_motions_obey_the_constraints_and_have_one_velocity_each():
    A = np.array([[1.0, 2.0, 0.0, 1.0], [0.0, 1.0, -1.0, 0.0]])
    found = checked(4, np.zeros(4), {}, {"rows": lambda q, t, p: A @ q})
    motions = np.array([x.direction for x in found.free_motions])
    own = [int(x.name[1:]) for x in found.free_motions]
    assert np.allclose(A @ motions.T, 0) and np.allclose(motions[:, own], np.eye(2))


@pytest.fixture(scope="module")
def redundant_four_bar() -> zw.Mechanism:
    """A planar four-bar built in space with hinges alone: 3 redundant rows."""
    link = lambda length: {"length": length, "radius": 0.05}
    return zw.Mechanism(
        bodies={
            "crank": Link(**link(1.0), guess=((0, 0, 0), (0, 1, 0))),
            "coupler": Link(**link(3.0), guess=((0, 1, 0), (2.9, 2.4, 0))),
            "rocker": Link(**link(2.5), guess=((3.5, 0, 0), (2.9, 2.4, 0))),
        },
        ground={"right": Point((3.5, 0.0, 0.0))},
        joints={
            "A": Joint("revolute", between=("ground", "crank.start")),
            "B": Joint("revolute", between=("crank.end", "coupler.start")),
            "C": Joint("revolute", between=("coupler.end", "rocker.end")),
            "D": Joint("revolute", between=("ground.right", "rocker.start")),
        },
        world="space",
        name="four-bar in space",
    )


@pytest.mark.slow
def test_a_looser_joint_is_suggested_and_leaves_the_same_freedom(redundant_four_bar):
    found = zw.check(redundant_four_bar)
    assert found.redundant_rows == 3 and found.degrees_of_freedom == 1
    best = {(x.joint, x.kind): x.redundant_after for x in found.suggestions}
    assert best["C", "spherical"] == 1 and best["C", "cylindrical"] == 2
    # the forces in the plane are unique, those out of it are not (Wojtyra)
    by_name = {c.name: c.unique_rows for c in found.constraints}
    assert by_name["C"] == (True, True, False, False, False)


@pytest.mark.parametrize("count", [20, pytest.param(200, marks=pytest.mark.slow)])
def test_planted_redundancy_contradiction_and_freedom_are_found_without_false_alarm(count):
    system = zw.System(6, lambda q, t, p: jnp.ones(6), lambda q, v, t, p: jnp.zeros(6))
    rows = zw.Holonomic(lambda q, t, p: p["A"] @ q + 0.5 * p["pull"] * t**2, name="rows")
    model = zw.Model(system, [rows], {"A": np.zeros((5, 6)), "pull": np.zeros(5)})
    random = np.random.default_rng(200)
    for _ in range(count):
        rank = int(random.integers(1, 6))
        base = random.standard_normal((rank, 6))
        mixed = np.vstack([base, random.standard_normal((5 - rank, rank)) @ base])
        A = mixed[random.permutation(5)] * 10 ** random.uniform(-3, 3, (5, 1))
        # accelerations that all rows agree on, or one dependent row that asks for another one
        pull, planted = A @ random.standard_normal(6), rank < 5 and random.random() < 0.5
        if planted:
            left = np.linalg.svd(A / np.linalg.norm(A, axis=1)[:, None])[0][:, rank:]
            worst = int(np.argmax(np.linalg.norm(left, axis=1)))
            pull[worst] += random.choice([-1, 1]) * 0.1 * np.linalg.norm(A[worst])
        found = zw.check(model, np.zeros(6), params={"A": A, "pull": pull})
        assert found.consistent != planted and ("contradict" in str(found)) == planted
        assert found.rank == rank and len(found.dependencies) == 5 - rank
        assert len(found.free_motions) == 6 - rank
        for x in found.dependencies:  # none of the rows can be left out
            rows = [i for _, i, _ in x.others] + [x.row[1]]
            assert np.linalg.matrix_rank(mixed if len(rows) == 5 else A[rows]) == len(rows) - 1
