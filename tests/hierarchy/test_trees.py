"""Random trees of modules: hierarchical, flat and recursive results agree in any order."""

import functools
import itertools
import os

import hypothesis
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import zwang as zw
from zwang.algebra.mass_matrix import factor_mass


def part(size: int) -> zw.System:
    return zw.System(
        size,
        lambda q, t, p: p["M"],
        lambda q, v, t, p: -p["k"] * q + 0.1 * jnp.sin(t) * v[::-1],
        coordinates=["x", "y", "z"][:size],
    )


PARTS = [part(size) for size in (1, 2, 3)]
"""Definitions of leaves; their numbers are parameters."""
OWN = zw.Nonholonomic(lambda q, v, t, p: v[0] * p["k"] + q[1] * v[1] - 0.1 * t, name="own")
SOME = (1,)
"""A small tree with constraints of its own and three levels; the others are slow."""
MANY = int(os.environ.get("ZWANG_LAWS", "40"))
"""States of random trees."""
LINK = {
    "moving": lambda a, b, name: zw.Holonomic(
        lambda q, t, p: jnp.sin(q[a][0]) + q[b][-1] * q[a][-1] - 0.2 * t, name=name
    ),
    "rolling": lambda a, b, name: zw.Nonholonomic(
        lambda q, v, t, p: v[a][0] - q[b][0] * v[b][-1], name=name
    ),
    "outright": lambda a, b, name: zw.AccelerationConstraint(
        lambda q, v, t, p: v.row({f"{a}.x": 1.0, f"{b}.x": q[b][-1]}),
        lambda q, v, t, p: jnp.cos(t) + v[a][0],
        name=name,
    ),
    "again": lambda a, b, name: zw.Holonomic(
        lambda q, t, p: 3 * (jnp.sin(q[a][0]) + q[b][-1] * q[a][-1] - 0.2 * t), name=name
    ),
}
"""Kinds of constraints between two leaves; "again" repeats "moving"."""


@functools.cache
def tree(seed: int) -> zw.Model:
    """A random tree: modules of random definitions at random depths, copies among them, joined by
    random constraints in random levels.
    """
    random = np.random.default_rng(seed)
    counter = itertools.count(1)

    def leaf():
        size = int(random.integers(1, 4))
        root = np.tril(random.standard_normal((size, size)), -1) + np.diag(
            random.uniform(0.7, 1.5, size)
        )
        params = {"M": root @ root.T, "k": random.uniform(0.5, 2.0)}
        held = [OWN] if size > 1 and random.random() < 0.4 else []
        return zw.Model(PARTS[size - 1], held, params, name="leaf"), size - len(held), [""]

    def assembled(depth: int):
        modules, free, leaves = [], 0, []
        for i in range(2):
            model, own, inner = assembled(depth - 1) if depth and random.random() < 0.6 else leaf()
            for copy in range(1 + (random.random() < 0.25)):
                name = f"m{i}{'ab'[copy]}"
                modules.append(zw.Module(model, name=name))
                free += own
                leaves += [f"{name}.{path}" if path else name for path in inner]
        joints = []
        for _ in range(int(random.integers(1, 3))):
            if free < 2 or len(leaves) < 2:
                break
            a, b = random.choice(leaves, 2, replace=False)
            kind = random.choice(["moving", "rolling", "outright"])
            joints.append(LINK[kind](a, b, f"joint {next(counter)}"))
            free -= 1
            if kind == "moving" and random.random() < 0.3:
                joints.append(LINK["again"](a, b, f"joint {next(counter)}"))
        cut = int(random.integers(0, len(joints) + 1))
        levels = [level for level in (joints[:cut], joints[cut:]) if level]
        return zw.Hierarchy([modules, *levels], name=f"assembly {next(counter)}"), free, leaves

    return assembled(int(random.integers(0, 3)))[0]


def small() -> zw.Model:
    """A pair twice and a leaf."""
    random = np.random.default_rng(0)
    numbers = lambda: {"M": np.eye(2), "k": random.uniform(0.5, 2.0)}
    leaf, bare = (
        zw.Model(PARTS[1], [OWN], numbers(), name="leaf"),
        zw.Model(PARTS[1], [], numbers(), name="bare"),
    )
    pair = zw.Hierarchy(
        [
            [zw.Module(leaf, name="a"), zw.Module(bare, name="b")],
            [LINK["rolling"]("a", "b", "joint")],
        ],
        name="pair",
    )
    outer = [zw.Module(pair, name="left", params={"a.k": 3.0}), zw.Module(pair, name="right"), bare]
    return zw.Hierarchy([outer, [LINK["moving"]("left.a", "right.b", "first")]], name="small")


def by_hand(model, q, v, t):
    """`v̇ = a + A⊕ (b − A a)` by NumPy from the flat model's M, F, A, b."""
    s, c, p = model.system, model.constraints, model.params
    M = factor_mass(s.mass_matrix(q, t, p)).dense()
    A, b = np.asarray(c.matrix(q, v, t, p)), np.asarray(c.rhs(q, v, t, p))
    W = np.linalg.inv(np.linalg.cholesky(M)).T
    a = np.linalg.solve(M, s.force(q, v, t, p))
    return a + W @ np.linalg.pinv(A @ W, rcond=1e-9) @ (b - A @ a)


@functools.cache
def answers(seed: int):
    """A program of a state: M, F, A, b, and the accelerations of the kernel and of the recursion by
    levels and by single
    constraints in a random order.
    """
    model = tree(seed)
    names = list(np.random.default_rng(seed + 1).permutation(model.constraints.names))
    orders = (None, [[n] for n in names])

    @jax.jit
    def at(q, v, t):
        s, c, p = model.system, model.constraints, model.params
        M = factor_mass(s.mass_matrix(q, t, p)).dense()
        found = [
            zw.motion(model, q, v, t).acceleration,
            *(zw.enforce(model, q, v, t, levels=order).acceleration for order in orders),
        ]
        return M, s.force(q, v, t, p), c.matrix(q, v, t, p), c.rhs(q, v, t, p), found

    return at


def agree(seed: int, state: int) -> bool:
    """Assert that all answers agree; False where rows contradict each other or nearly depend on
    each other, which nothing can judge.
    """
    model, random = tree(seed), np.random.default_rng(state)
    q, v, t = (
        random.uniform(0.3, 1.5, model.system.nq),
        random.standard_normal(model.system.nv),
        random.uniform(),
    )
    M, F, A, b, (flat, *recursive) = jax.tree_util.tree_map(np.asarray, answers(seed)(q, v, t))
    W = np.linalg.inv(np.linalg.cholesky(M)).T
    rows = A @ W / np.linalg.norm(A @ W, axis=1, keepdims=True)
    sigma = np.linalg.svd(rows, compute_uv=False)
    a = np.linalg.solve(M, F)
    right = a + W @ np.linalg.pinv(A @ W, rcond=1e-9) @ (b - A @ a)
    scale = 1 + np.abs(right).max()
    if np.any((sigma > 1e-9) & (sigma < 1e-2)) or not np.allclose(
        A @ right, b, rtol=0, atol=1e-9 * scale
    ):
        return False
    assert np.allclose(flat, right, rtol=0, atol=1e-10 * scale)
    for found in recursive:
        assert np.allclose(found, right, rtol=0, atol=1e-10 * scale)
    return True


def test_some_random_trees_agree_in_any_order():
    assert sum(agree(seed, state) for seed in SOME for state in range(3)) == 3


@pytest.mark.slow
@settings(max_examples=MANY)
@given(seed=st.integers(0, 23), state=st.integers(0, 10**6))
def test_hierarchical_flat_and_recursive_answers_agree_in_any_order(seed, state):
    """Flat: the kernel and NumPy's pseudoinverse; recursive: level by level, and every constraint
    by itself in two random orders.
    """
    hypothesis.assume(agree(seed, state))


def test_random_trees_differ():
    """What the property is tried on: shapes that differ, copies, dependent rows, several levels."""
    trees = [tree(seed) for seed in range(6)]
    shapes = {
        (m.system.nq, m.constraints.m, len(m.layout.levels), len(m.layout.leaves)) for m in trees
    }
    assert len(shapes) > 4
    assert len({len(m.layout.levels) for m in trees}) > 2


def test_names_and_parameters_carry_their_module():
    model = small()
    assert model.system.coordinates[:3] == ("left.a.x", "left.a.y", "left.b.x")
    assert "left.a.own" in model.constraints.names and set(model.layout.levels[0]) == {
        "left.a.own",
        "right.a.own",
    }
    assert {"left.a.k", "right.b.M", "bare.k"} <= set(model.params)
    assert model.params["left.a.k"] != model.params["right.a.k"]


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda leaf: zw.Hierarchy([[leaf, leaf]]), "'leaf' is used 2 times"),
        (lambda leaf: zw.Hierarchy([leaf]), "lists, the first one of modules"),
        (lambda leaf: zw.Hierarchy([[OWN]]), "expected zw.Module or zw.Model"),
        (lambda leaf: zw.Hierarchy([[leaf], [leaf]]), "expected constraints"),
        (
            lambda leaf: zw.Hierarchy(
                [[leaf], [zw.Holonomic(lambda q, t, p: q["laef.x"], name="c")]]
            ),
            "did you mean 'leaf.x'",
        ),
        (
            lambda leaf: zw.Hierarchy([[leaf]], params={"leaf.g": 1.0}),
            "begins with the name of a module",
        ),
        (lambda leaf: zw.Module(leaf, [OWN], name="m"), "brings its own constraints"),
        (lambda leaf: zw.Module(leaf, name="m", params={"z": 1.0}), "unknown parameter 'z'"),
        (lambda leaf: zw.Hierarchy([[zw.Module(leaf, name="a.b")]]), "without dots"),
    ],
)
def test_wrong_hierarchies_are_told_in_a_sentence(build, says):
    with pytest.raises(zw.ModelError, match=says):
        build(zw.Model(PARTS[1], [], {"M": np.eye(2), "k": 1.0}, name="leaf"))
