"""The gallery's hierarchies compared with independent values, energy, and the same mechanisms
without levels.
"""

import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw
from tests.gallery.examples import energy_drift, example, run, worst_violation
from zwang.hierarchy.modular import Modular

from .problems import REFERENCE

CHAINS = "ABC"
ORDER = [
    *(f"chain {k}.motor.angle" for k in CHAINS),
    *(f"chain {k}.bar.angle" for k in CHAINS),
    *(f"chain {k}.link.{c}" for k in CHAINS for c in ("x", "y", "angle")),
    *(f"platform.{c}" for c in ("x", "y", "angle")),
]
"""The reference's order of coordinates."""


def order(model):
    return np.array([model.system.coordinates.index(name) for name in ORDER])


@pytest.mark.one_in(2)
@pytest.mark.parametrize("gravity", [0.0, 9.81])
def test_3rrr_has_the_acceleration_of_the_reference_at_every_level(gravity):
    x = REFERENCE[f"3RRR_t0_g={'0' if gravity == 0 else gravity}"]
    member = example("3rrr", gravity=gravity)
    at, top = order(member.model), zw.enforce(member.model, member.q0, member.v0)
    assert np.allclose(
        top.acceleration[at], x["acc_mp_KKT"], rtol=0, atol=1e-12 * max(1.0, 10 * gravity)
    )
    assert np.allclose(
        top.below.acceleration[at], x["acc_level2"], rtol=0, atol=1e-12 * max(1.0, 10 * gravity)
    )
    assert np.allclose(top.constraint_force[at], x["Qc"], rtol=0, atol=1e-12)
    assert [int(level.rank) for level in top.levels] == [0, 9, 6]


@pytest.mark.slow
def test_3rrr_moves_as_three_minimal_coordinates_do():
    """Reference to 1e-11, over 2 s."""
    x, member = REFERENCE["3RRR"], example("3rrr")
    at = order(member.model)
    assert np.allclose(member.q0[at], x["q0"], rtol=0, atol=1e-15) and np.allclose(
        member.v0[at], x["v0"], rtol=0, atol=1e-15
    )
    moved = member.run(times=x["t"], rtol=1e-11)
    assert np.allclose(moved.q[:, at], list(x["q"].values()), rtol=0, atol=1e-10)
    assert np.allclose(moved.v[:, at], list(x["v"].values()), rtol=0, atol=1e-10)


def test_3rrr_prints_its_tree_with_levels():
    member = example("3rrr")
    found = zw.check(member.model, member.q0, member.v0)
    assert [(level.rows, level.rank, level.degrees_of_freedom) for level in found.levels] == [
        (0, 0, 18),
        (9, 9, 9),
        (6, 6, 3),
    ]
    text = str(found)
    assert (
        "chain A … chain C (3 alike, each)  level 2: 5 velocities, 3 rows of rank 3, 2 free; "
        "joined by coupling, elbow" in text
    )
    assert "platform  level 1: 3 velocities, 3 free" in text


def test_the_mass_matrix_of_modules_stays_as_sparse_as_they_are():
    member = example("3rrr")
    assert member.model.system.mass_matrix(
        jnp.asarray(member.q0), 0.0, member.model.params
    ).shape == (18,)
    dense = zw.System(
        2, lambda q, t, p: jnp.array([[2.0, 1.0], [1.0, 3.0]]), lambda q, v, t, p: jnp.zeros(2)
    )
    light = zw.System(4, lambda q, t, p: jnp.arange(1.0, 5.0), lambda q, v, t, p: jnp.zeros(4))
    model = zw.Hierarchy(
        [[zw.Module(dense, name="a"), zw.Module(light, name="b"), zw.Module(dense, name="c")]]
    )
    M = np.asarray(model.system.mass_matrix(jnp.zeros(8), 0.0, None))
    assert M.shape == (4, 2, 2)
    assert (
        np.allclose(M[[0, 3]], [[2, 1], [1, 3]])
        and np.allclose(M[1], np.diag([1, 2]))
        and np.allclose(M[2], np.diag([3, 4]))
    )


@pytest.mark.slow
def test_the_factors_of_the_modules_give_the_acceleration_of_the_flat_model():
    """Small factors by `vmap` and one of the joints."""
    member = example("3rrr")
    modular = Modular(member.model)
    assert [len(block.instances) for block in modular.blocks] == [3, 1]
    flat = zw.motion(member.model, member.q0, member.v0).acceleration
    assert np.allclose(modular.acceleration(member.q0, member.v0), flat, rtol=0, atol=1e-12)
    with pytest.raises(zw.ModelError, match="expected a zw.Hierarchy"):
        Modular(zw.Model(member.model.system, (), member.model.params))


@pytest.mark.slow
@pytest.mark.parametrize("stages", [4, 100])
def test_modular_and_flat_are_exact_where_free_and_constrained_accelerations_differ_widely(
    stages,
):
    """A lift at rest has one degree of freedom: v̇ = q' (q'·F) / (q'·M q'), q' = dq/dθ. At 100
    stages the smallest singular value of
    its rows is 2e-4 and the free acceleration 3e5 times v̇, so that one correction alone leaves
    1e-6; Modular is dense, then sparse.
    """
    member = example("scissor-lift", stages=stages)
    model, q, v = member.model, jnp.asarray(member.q0), jnp.asarray(member.v0)
    (theta, x), up = (float(q[2]), float(q[0])), (np.arange(stages) + 0.5) * 2 * float(q[0])
    along = np.stack([0 * up - x * np.tan(theta), up, 0 * up + 1], axis=1)
    direction = np.concatenate(
        [np.concatenate([along, along * [1, 1, -1]], axis=1).ravel(), [0.0, stages * 2 * x, 0.0]]
    )
    M, F = (
        np.asarray(f)
        for f in (
            model.system.mass_matrix(q, 0.0, model.params),
            model.system.force(q, v, 0.0, model.params),
        )
    )
    exact = direction * (direction @ F) / (direction @ (M * direction))
    modular = Modular(model)
    assert (modular.pattern is None) == (stages == 4)
    for found in (modular.acceleration(q, v), zw.motion(model, q, v).acceleration):
        assert np.allclose(found, exact, rtol=0, atol=1e-11 * np.abs(exact).max())


@pytest.mark.slow
def test_four_bars_as_a_hierarchy_are_n_four_bar():
    member, flat = example("four-bars"), example("n-four-bar")
    ours, theirs = (
        zw.motion(member.model, member.q0, member.v0),
        zw.motion(flat.model, flat.q0, flat.v0),
    )
    names = {"loop 1.crank": "crank 1", "loop 2.crank": "crank 2", "last crank": "crank 3"}
    for one, other in names.items():
        at = [
            m.model.system.coordinates.index(f"{n}.angle")
            for m, n in ((member, one), (flat, other))
        ]
        assert ours.acceleration[at[0]] == pytest.approx(
            float(theirs.acceleration[at[1]]), abs=1e-12
        )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "settings"),
    [("scissor-lift", {"stages": 50}), ("scissor-lift", {}), ("stewart", {}), ("delta", {})],
)
def test_members_keep_constraints_and_energy(name, settings):
    reached = run(name, rtol=1e-9, **settings)
    assert reached.result is zw.Result.SUCCESS
    assert worst_violation(reached) <= 1e-12
    scale = float(reached.dataset.kinetic_energy.max())
    assert energy_drift(reached) <= 1e-7 * max(scale, 1.0)
