"""Random trees of modules: hierarchical, flat and recursive answers in any order agree."""

import functools

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import zwang as zw
from zwang.mass import factor_mass

PART = zw.System(2, lambda q, t, p: p["M"], lambda q, v, t, p: -p["k"] * q + 0.1 * jnp.sin(t) * v[::-1], coordinates=["x", "y"])
"""One definition of all leaves; its numbers are parameters."""
OWN = zw.Nonholonomic(lambda q, v, t, p: v[0] * p["k"] + q[1] * v[1] - 0.1 * t, name="own")
LINK = {
    "moving": lambda a, b, name: zw.Holonomic(lambda q, t, p: jnp.sin(q[a][0]) + q[b][1] * q[f"{a}.y"] - 0.2 * t, name=name),
    "rolling": lambda a, b, name: zw.Nonholonomic(lambda q, v, t, p: v[a][0] - q[b][0] * v[f"{b}.y"], name=name),
    "outright": lambda a, b, name: zw.AccelerationConstraint(
        lambda q, v, t, p: v.row({f"{a}.x": 1.0, f"{b}.y": q[b][1]}), lambda q, v, t, p: jnp.cos(t) + v[a][0], name=name
    ),
    "again": lambda a, b, name: zw.Holonomic(lambda q, t, p: 3 * (jnp.sin(q[a][0]) + q[b][1] * q[f"{a}.y"] - 0.2 * t), name=name),
}
"""Kinds of constraints between two leaves; "again" repeats "moving"."""


@functools.cache
def tree(seed: int) -> zw.Model:
    """Pairs, perhaps with a constraint of their own, in pairs of pairs."""
    random = np.random.default_rng(seed)
    numbers = lambda: {"M": (lambda L: L @ L.T + np.eye(2))(random.standard_normal((2, 2))), "k": random.uniform(0.5, 2.0)}
    kinds = random.permutation(list(LINK))
    leaf = zw.Model(PART, [OWN], numbers(), name="leaf")
    bare = zw.Model(PART, [], numbers(), name="bare")
    pair = zw.Hierarchy(
        [[zw.Module(leaf, name="a"), zw.Module(bare, name="b")], [LINK[kinds[0]]("a", "b", "joint")]], name="pair"
    )
    outer = [zw.Module(pair, name="left", params={"a.k": random.uniform(0.5, 2.0)}), zw.Module(pair, name="right"), bare]
    joints = [LINK["moving"]("left.a", "right.b", "first"), LINK[kinds[1]]("left.a", "right.b", "second")]
    return zw.Hierarchy([outer, joints[:1], joints[1:]], name="tree")


def by_hand(model, q, v, t):
    """`v̇ = a + A⊕ (b − A a)` by NumPy from the flat model's M, F, A, b."""
    s, c, p = model.system, model.constraints, model.params
    M = factor_mass(s.mass_matrix(q, t, p)).dense()
    A, b = np.asarray(c.matrix(q, v, t, p)), np.asarray(c.rhs(q, v, t, p))
    W = np.linalg.inv(np.linalg.cholesky(M)).T
    a = np.linalg.solve(M, s.force(q, v, t, p))
    return a + W @ np.linalg.pinv(A @ W, rcond=1e-9) @ (b - A @ a)


@pytest.mark.slow
@settings(max_examples=3)
@given(seed=st.integers(0, 1), state=st.integers(0, 10**6))
def test_hierarchical_flat_and_recursive_answers_agree_in_any_order(seed, state):
    model, random = tree(seed), np.random.default_rng(state)
    q, v, t = jnp.asarray(random.standard_normal(10)), jnp.asarray(random.standard_normal(10)), jnp.asarray(0.3)
    right = by_hand(model, q, v, t)
    scale = 1e-10 * (1 + np.abs(right).max())
    assert np.allclose(zw.motion(model, q, v, t, throw=False).acceleration, right, rtol=0, atol=1e-6 * (1 + np.abs(right).max()))
    assert np.allclose(zw.enforce(model, q, v, t).acceleration, right, rtol=0, atol=scale)
    names = list(model.constraints.names)
    backwards = zw.enforce(model, q, v, t, levels=[[n] for n in reversed(names)])
    assert np.allclose(backwards.acceleration, right, rtol=0, atol=scale)
    assert not backwards.conflicts


def test_names_and_parameters_carry_their_module():
    model = tree(0)
    assert model.system.coordinates[:3] == ("left.a.x", "left.a.y", "left.b.x")
    assert "left.a.own" in model.constraints.names and set(model.assembly.levels[0]) == {"left.a.own", "right.a.own"}
    assert {"left.a.k", "right.b.M", "bare.k"} <= set(model.params)
    assert model.params["left.a.k"] != model.params["right.a.k"]


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda leaf: zw.Hierarchy([[leaf, leaf]]), "'leaf' is used 2 times"),
        (lambda leaf: zw.Hierarchy([leaf]), "lists, the first one of modules"),
        (lambda leaf: zw.Hierarchy([[OWN]]), "expected zw.Module or zw.Model"),
        (lambda leaf: zw.Hierarchy([[leaf], [leaf]]), "expected constraints"),
        (lambda leaf: zw.Hierarchy([[leaf], [zw.Holonomic(lambda q, t, p: q["laef.x"], name="c")]]), "did you mean 'leaf.x'"),
        (lambda leaf: zw.Hierarchy([[leaf]], params={"leaf.g": 1.0}), "begins with the name of a module"),
        (lambda leaf: zw.Module(leaf, [OWN], name="m"), "brings its own constraints"),
        (lambda leaf: zw.Module(leaf, name="m", params={"z": 1.0}), "unknown parameter 'z'"),
        (lambda leaf: zw.Hierarchy([[zw.Module(leaf, name="a.b")]]), "without dots"),
    ],
)
def test_wrong_hierarchies_are_told_in_a_sentence(build, says):
    with pytest.raises(zw.ModelError, match=says):
        build(zw.Model(PART, [], {"M": np.eye(2), "k": 1.0}, name="leaf"))
