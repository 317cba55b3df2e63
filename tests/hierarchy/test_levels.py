"""Contents of levels: nonholonomic, moving and nonideal constraints at every level, and a servo for
the whole model.
"""

import functools

import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw

from .test_trees import by_hand

POINT = zw.System(
    2,
    lambda q, t, p: p["m"] * jnp.ones(2),
    lambda q, v, t, p: -p["m"] * jnp.array([0.3, 9.81]) - 0.2 * q,
    coordinates=("x", "y"),
)
drag = lambda q, v, t, p, ideal: -0.3 * v / jnp.linalg.norm(v) * jnp.linalg.norm(ideal)
"""Coulomb friction of a constraint that acts on everything it is given."""


def part(m, *constraints):
    return zw.Model(POINT, constraints, {"m": m}, name="part")


def between(drag_it):
    """A nonideal holonomic constraint of two modules; its force acts on the first one only."""

    def impressed(q, v, t, p, ideal):
        return v.row({"a": drag(q["a"], v["a"], t, p, ideal["a"])})

    return zw.Holonomic(
        lambda q, t, p: q["a.x"] ** 2 - q["b.y"] - t**2,
        name="between",
        nonideal=impressed if drag_it else None,
    )


@functools.cache
def machine(nonideal: bool) -> zw.Model:
    """Three levels: a moving and a rolling constraint in modules, a nonholonomic and a moving one
    between, a nonideal one above.
    """
    own = zw.Holonomic(
        lambda q, t, p: q[0] * q[1] - 0.4 * t, name="own", nonideal=drag if nonideal else None
    )
    rolling = zw.Nonholonomic(lambda q, v, t, p: v[0] - q[1] * v[1], name="rolling")
    a, b, c = part(1.0), part(2.0, rolling), part(0.5, own)
    pair = zw.Hierarchy(
        [[zw.Module(a, name="a"), zw.Module(b, name="b")], [between(nonideal)]],
        name="pair",
    )
    joint = zw.Nonholonomic(
        lambda q, v, t, p: v["pair.a.x"] - q["c.x"] * v["c.y"] + t, name="joint"
    )
    return zw.Hierarchy([[pair, zw.Module(c, name="c")], [joint]], name="machine")


STATE = (
    jnp.array([0.5, -0.3, 0.2, 0.8, 1.1, 0.6]),
    jnp.array([0.4, 0.7, -0.2, 0.3, 0.5, -0.6]),
    jnp.asarray(0.3),
)


@pytest.mark.slow
def test_moving_and_rolling_constraints_hold_at_every_level():
    """The recursion and NumPy, to round-off."""
    model = machine(False)
    assert [len(level) for level in model.layout.levels] == [2, 1, 1]
    right = by_hand(model, *STATE)
    assert np.allclose(zw.enforce(model, *STATE).acceleration, right, rtol=0, atol=1e-12)


@pytest.mark.slow
def test_nonideal_forces_are_those_of_the_flat_model_at_every_level():
    """v̇ = a + A⊕ (b − A a) + (I − A⊕A) M⁻¹ c, c from the forces that act beside it, which NumPy
    finds by iteration; friction sits at levels 1 and 2.
    """
    model, ideal = machine(True), machine(False)
    q, v, t = STATE
    c, p = ideal.constraints, ideal.params
    A, b = np.asarray(c.matrix(*STATE, p)), np.asarray(c.rhs(*STATE, p))
    M, F = np.asarray(ideal.system.mass_matrix(q, t, p)), np.asarray(ideal.system.force(q, v, t, p))
    G, impressed = A / M @ A.T, np.zeros(6)
    for _ in range(200):
        multipliers = np.linalg.solve(G, b - A @ ((F + impressed) / M))
        force = {name: A[rows].T @ multipliers[rows] for name, rows in c.row_slices.items()}
        impressed = np.zeros(6)
        for name, own in (("c.own", slice(4, 6)), ("pair.between", slice(0, 2))):
            impressed[own] += drag(q[own], v[own], t, p, force[name][own])
    projected = impressed / M - (A.T / M[:, None]) @ np.linalg.solve(G, A @ (impressed / M))
    right = by_hand(ideal, *STATE) + projected
    assert np.abs(projected).max() > 0.1
    assert np.allclose(zw.motion(model, *STATE).acceleration, right, rtol=0, atol=1e-11)
    assert np.allclose(zw.enforce(model, *STATE).acceleration, right, rtol=0, atol=1e-11)


@pytest.mark.slow
def test_copies_of_a_nonideal_module_rub_each_by_its_own_force():
    """Three copies on slopes of their own, beside a model of each alone; by the kernel, by levels,
    and with one copy not enforced.
    """
    own = zw.Holonomic(lambda q, t, p: q[0] * p["m"] + q[1], name="slope", nonideal=drag)
    leaf = zw.Model(POINT, [own], {"m": 1.0}, name="leaf")
    masses = {"a": 1.0, "b": 2.0, "c": 0.5}
    model = zw.Hierarchy([[zw.Module(leaf, name=n, params={"m": m}) for n, m in masses.items()]])
    q, v = np.array([0.1, -0.1, 0.2, -0.4, 0.5, -0.25]), np.array([1.0, -1.0, 0.5, -1.0, -2.0, 1.0])
    alone = [
        zw.motion(leaf, q[2 * i : 2 * i + 2], v[2 * i : 2 * i + 2], params={"m": m})
        for i, m in enumerate(masses.values())
    ]
    right = np.concatenate([m.acceleration for m in alone])
    found = zw.motion(model, q, v)
    assert np.allclose(found.acceleration, right, rtol=0, atol=1e-13)
    assert np.allclose(
        found.by_constraint["b.slope"][2:4], alone[1].constraint_force, rtol=0, atol=1e-13
    )
    assert np.allclose(zw.enforce(model, q, v).acceleration, right, rtol=0, atol=1e-13)
    two = zw.enforce(model, q, v, levels=[["c.slope"], ["a.slope"]]).acceleration
    free = POINT.force(jnp.asarray(q[2:4]), jnp.asarray(v[2:4]), 0.0, {"m": 2.0}) / 2.0
    assert np.allclose(two, np.concatenate([right[:2], free, right[4:]]), rtol=0, atol=1e-13)


def carts(servo=None):
    cart = zw.Model(
        zw.System(
            1, lambda q, t, p: p["m"] * jnp.ones(1), lambda q, v, t, p: -2.0 * v, coordinates=("x",)
        ),
        (),
        {"m": 2.0},
        name="cart",
    )
    rope = zw.Holonomic(lambda q, t, p: q["left.x"] - q["right.x"] + 1.0, name="rope")
    return zw.Hierarchy(
        [[zw.Module(cart, name="left"), zw.Module(cart, name="right", params={"m": 3.0})], [rope]],
        servo=servo,
        name="carts",
    )


def test_a_servo_is_given_by_name_and_closes_the_loop():
    """Two carts on a rope, the right one driven: (m₁ + m₂) ẍ = u − 4 ẋ, which follows ẍ = −cos
    t.
    """
    path = zw.Holonomic(lambda q, t, p: q["left.x"] - jnp.cos(t), name="path")
    model = carts(zw.Servo([path], {"motor": {"right.x": 2.0}}, gains=3.0))
    found = zw.control(model.passive, model.servo, [1.0, 2.0], [0.0, 0.0], 0.0)
    assert found.u[0] == pytest.approx(-5.0 / 2.0, abs=1e-12)
    assert np.allclose(zw.motion(model, [1.0, 2.0], [0.0, 0.0]).acceleration, -1.0, atol=1e-12)
    preferred = zw.Servo(
        [path],
        lambda q, t, p: {"a": {"left": 1.0}, "b": {"right.x": p["right.m"] / 3}},
        null_space=zw.servo.Preferred(lambda q, v, t, p: jnp.stack([-1.0 + q["left.x"], 0.0])),
    )
    both = carts(preferred)
    assert np.allclose(
        zw.control(both.passive, both.servo, [1.0, 2.0], [0.0, 0.0], 0.0).u,
        [-2.5, -2.5],
        atol=1e-12,
    )


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (
            lambda path: carts(zw.Servo([path], {"motor": {"rihgt.x": 1.0}})),
            "did you mean 'right.x'",
        ),
        (
            lambda path: zw.Model(
                carts().system, (), carts().params, servo=zw.Servo([], {"motor": {"x": 1.0}})
            ),
            "is for zw.Hierarchy",
        ),
        (
            lambda path: zw.Module(carts(zw.Servo([path], {"motor": {"right.x": 1.0}})), name="m"),
            "has a servo of its own",
        ),
    ],
)
def test_wrong_servos_of_hierarchies_are_told_in_a_sentence(call, says):
    with pytest.raises(zw.ModelError, match=says):
        call(zw.Holonomic(lambda q, t, p: q["left.x"], name="path"))
