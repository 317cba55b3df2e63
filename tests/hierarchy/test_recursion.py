"""The recursion (4.14)-(4.18) compared with independent values; conflicts, clearances and massless
directions.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw

from .problems import REFERENCE, at_rest, fixed, matrices, stacked


@functools.cache
def top():
    model = fixed()
    return model, zw.enforce(model, *at_rest(model))


def test_each_level_has_the_acceleration_of_the_reference():
    """Mpmath with 40 digits, row 2 of level 2 dependent: (4.16) with an inverse would fail."""
    _, enforced = top()
    for level, right in zip(enforced.levels, REFERENCE["fixed_problem"]["acc_level"], strict=True):
        assert np.allclose(level.acceleration, right, rtol=0, atol=2e-14)
    assert [int(level.rank) for level in enforced.levels] == [2, 1, 1]
    assert int(enforced.total_rank) == 4 and not enforced.conflicts


def symmetric(M):
    values, vectors = np.linalg.eigh(M)
    return vectors * np.sqrt(values) @ vectors.T


def test_the_projector_is_that_of_the_reference():
    """The reference takes M^-1/2 for W; two W differ by a rotation, which `W P Wᵀ` does not see."""
    _, enforced = top()
    root = np.linalg.inv(symmetric(np.array(REFERENCE["fixed_problem"]["M"])))
    assert np.allclose(
        enforced.covariance,
        root @ np.array(REFERENCE["fixed_problem"]["P3"]) @ root,
        rtol=0,
        atol=1e-14,
    )
    P = np.asarray(enforced.projector)
    assert np.allclose(P @ P, P, rtol=0, atol=1e-14) and np.allclose(P, P.T, rtol=0, atol=1e-14)


@pytest.mark.errata
def test_the_inverse_of_corollary_3_4_is_a_1_4_inverse_but_not_that_of_moore_and_penrose():
    """The corollary says {1,4}, section 4 writes as if any would do; with a dependent row P2 or P3
    fails, the motion is the same.
    """
    model, enforced = top()
    A, _ = stacked(model)
    H = np.asarray(enforced._instant.weights.mass.weigh(jnp.asarray(A)))
    G = np.asarray(enforced.inverse)
    assert np.allclose(H @ G @ H, H, rtol=0, atol=1e-14)
    assert np.allclose(G @ H, (G @ H).T, rtol=0, atol=1e-14)
    assert not np.allclose(H @ G, (H @ G).T, atol=0.01)
    assert np.abs(G - np.linalg.pinv(H)).max() > 0.01
    assert np.allclose(G @ H, np.eye(6) - enforced.projector, rtol=0, atol=1e-14)


def test_forces_of_levels_and_multipliers_make_up_the_constraint_force():
    model, enforced = top()
    A, _ = stacked(model)
    assert np.allclose(
        sum(level.level_force for level in enforced.levels), enforced.constraint_force, atol=1e-13
    )
    assert np.allclose(A.T @ enforced.multipliers, enforced.constraint_force, atol=1e-13)
    assert np.allclose(
        enforced.constraint_force, zw.motion(model, *at_rest(model)).constraint_force, atol=1e-12
    )


def test_lower_levels_stay_exact_where_levels_contradict_each_other():
    """The reference's inconsistent rows: the recursion keeps the first, one-shot least squares
    takes a mean.
    """
    x = REFERENCE["inconsistent_example"]
    model = matrices(x["M"], x["f"], [(x["A1"], x["b1"]), (x["A2"], x["b2"])])
    enforced = zw.enforce(model, *at_rest(model))
    assert np.allclose(enforced.acceleration, x["recursive"], rtol=0, atol=2e-15)
    assert set(enforced.conflicts) == {"2"} and enforced.conflicts["2"] == pytest.approx(1.0)
    assert "2 (gave way, |b − A v̇| = 1)" in str(enforced)
    turned = zw.enforce(model, *at_rest(model), levels=[["2"], ["1"]])
    assert np.allclose(np.array(x["A2"]) @ turned.acceleration, x["b2"], rtol=0, atol=1e-14)
    assert set(turned.conflicts) == {"1"} and turned.conflicts["1"] == pytest.approx(0.5)
    together = zw.enforce(
        model, *at_rest(model), levels=[["1", "2"]]
    )  # least squares of rows at unit length
    assert set(together.conflicts) == {"1", "2"}


@pytest.mark.parametrize("r", ["0.01", "0.0001", "1e-06", "1e-08"])
def test_clearance_is_noise_and_compliance(r):
    """Reference, covariance (4.18), and the penalty system `(M + AᵀA/r) v̇ = F + Aᵀb/r`; all
    conditions grow like 1/r.
    """
    model, x = fixed(), REFERENCE["clearance_noise"][r]
    enforced = zw.enforce(model, *at_rest(model), clearance={name: float(r) for name in "123"})
    tolerance = max(1e-13, 1e-16 / float(r))
    assert np.allclose(enforced.acceleration, x["acc"], rtol=0, atol=tolerance)
    M, f = np.array(REFERENCE["fixed_problem"]["M"]), np.array(REFERENCE["fixed_problem"]["f"])
    A, b = stacked(model)
    stiff = M + A.T @ A / float(r)
    assert np.allclose(
        enforced.acceleration,
        np.linalg.solve(stiff, f + A.T @ b / float(r)),
        rtol=0,
        atol=10 * tolerance,
    )
    assert np.allclose(enforced.covariance, np.linalg.inv(stiff), rtol=0, atol=10 * tolerance)
    root = np.linalg.inv(symmetric(M))
    assert np.allclose(
        enforced.covariance, root @ np.array(x["P"]) @ root, rtol=0, atol=10 * tolerance
    )
    distance = np.abs(
        enforced.acceleration - np.array(REFERENCE["fixed_problem"]["acc_level"][-1])
    ).max()
    assert distance == pytest.approx(x["dist_to_exact"], rel=1e-6)


def test_clearances_have_a_rigid_and_a_free_limit_each_for_itself():
    model = fixed()
    rigid, free = zw.enforce(model, *at_rest(model)), zw.enforce(model, *at_rest(model), levels=[])
    with_r = lambda r: zw.enforce(
        model,
        *at_rest(model),
        clearance={n: r * np.ones(k) for n, k in zip("123", (2, 2, 1), strict=True)},
    )
    assert np.allclose(with_r(1e-14).acceleration, rigid.acceleration, rtol=0, atol=1e-12)
    assert np.allclose(with_r(1e14).acceleration, free.acceleration, rtol=0, atol=1e-12)
    one = zw.enforce(model, *at_rest(model), clearance={"2": np.diag([1e14, 1e14])})
    assert np.allclose(
        one.acceleration,
        zw.enforce(model, *at_rest(model), levels=[["1"], ["3"]]).acceleration,
        rtol=0,
        atol=1e-12,
    )
    A, b = stacked(model)
    assert np.allclose(np.asarray(A @ one.acceleration - b)[[0, 1, 4]], 0.0, atol=1e-13)


def test_a_singular_mass_matrix_needs_levels_that_hold_what_has_no_mass():
    """(3.4) with [M; A] of full column rank; level by level, NaN until that is so."""
    x = REFERENCE["singular_M"]
    model = matrices(
        x["M"],
        x["f"],
        [([row], [b]) for row, b in zip(x["A"], x["b"], strict=True)],
        singular_mass=True,
    )
    enforced = zw.enforce(model, *at_rest(model))
    assert np.allclose(enforced.acceleration, x["acc"], rtol=0, atol=1e-14)
    assert np.all(np.isnan(enforced.below.acceleration))
    assert np.allclose(
        np.array(x["A"]).T @ enforced.multipliers, enforced.constraint_force, atol=1e-13
    )
    with pytest.raises(zw.ModelError, match="a direction without mass is free"):
        zw.enforce(model, *at_rest(model), levels=[["1"]])


def test_imposing_is_enforcing_and_taking_away_is_going_back():
    model = fixed()
    two = zw.enforce(model, *at_rest(model), levels=[["1"], ["2"]])
    third = next(c for c in model.constraints.members if c.name == "3")
    three = zw.impose(two, third)
    assert np.allclose(three.acceleration, top()[1].acceleration, rtol=0, atol=2e-14)
    assert three.below is two
    assert [level.names for level in three.levels] == [("1",), ("2",), ("3",)]
    soft = zw.impose(two, third, clearance=1e-2)
    assert np.allclose(
        soft.acceleration,
        zw.enforce(model, *at_rest(model), clearance={"3": 1e-2}).acceleration,
        rtol=0,
        atol=1e-13,
    )


def test_levels_are_differentiable_through_dependent_rows():
    model = fixed()

    def last(scale):
        p = {"f": scale * model.params["f"]}
        return zw.enforce(model, *at_rest(model), params=p).acceleration[0]

    step = 1e-6
    slope = jax.jit(jax.grad(last))(1.0)
    assert slope == pytest.approx(float(last(1 + step) - last(1 - step)) / (2 * step), rel=1e-7)


@pytest.mark.parametrize("variances", [[1e-2, 0.0], [0.0, 0.0], [1e-2, 1e-3]])
def test_a_clearance_may_be_semidefinite_as_a_matrix_as_it_may_as_a_vector(variances):
    model = top()[0]
    vector, matrix = (
        zw.enforce(model, *at_rest(model), clearance={"1": R}).acceleration
        for R in (variances, np.diag(variances))
    )
    np.testing.assert_allclose(matrix, vector, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda m: zw.enforce(m, *at_rest(m), levels=["1"]), "list of lists"),
        (
            lambda m: zw.enforce(m, *at_rest(m), levels=[["9"]]),
            "no constraint '9'; there are: 1, 2, 3",
        ),
        (lambda m: zw.enforce(m, *at_rest(m), levels=[["1"], ["1"]]), "'1' 2 times"),
        (lambda m: zw.enforce(m, *at_rest(m), clearance={"9": 1.0}), "clearance names '9'"),
        (lambda m: zw.enforce(m, *at_rest(m), clearance={"1": -1.0}), "not negative"),
        (
            lambda m: zw.enforce(m, *at_rest(m), clearance={"1": [1.0, 2.0, 3.0]}),
            r"expected a number, \(2,\) or \(2, 2\)",
        ),
        (
            lambda m: zw.enforce(m, *at_rest(m), clearance={"1": [[1.0, 2.0], [2.0, 1.0]]}),
            "negative eigenvalue",
        ),
        (
            lambda m: zw.enforce(m, *at_rest(m), clearance={"1": [[1.0, 2.0], [0.0, 1.0]]}),
            "not symmetric",
        ),
        (lambda m: zw.impose(top()[1], m.constraints.members[0]), "'1' is in use"),
        (lambda m: zw.enforce(m, *at_rest(m), clearance={"1": 1.0}).inverse, "rigid rows only"),
    ],
)
def test_wrong_levels_are_told_in_a_sentence(call, says):
    with pytest.raises(zw.ModelError, match=says):
        call(fixed())
