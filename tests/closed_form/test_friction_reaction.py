"""Coulomb's law in cases in which friction changes the normal force: Newton's laws by hand, and
Painlevé's paradox.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import zwang as zw
from zwang.codegen.c import agreement, c_code, compiler

M, LENGTH, G = 1.0, 1.0, 9.81
INERTIA = M * LENGTH**2 / 12


def lower_end(q):
    """The end on the floor of a rod with its center at (x, y), at an angle to the floor."""
    return q[:2] - LENGTH / 2 * jnp.array([jnp.cos(q[2]), jnp.sin(q[2])])


def rubbing(q, v, t, p, ideal):
    J = jax.jacfwd(lower_end)(q)
    return -p["mu"] * jnp.abs(ideal[1]) * jnp.sign((J @ v)[0]) * J[0]


FLOOR = zw.Holonomic(lambda q, t, p: lower_end(q)[1], name="floor", nonideal=rubbing)
ROD = zw.Model(
    zw.System(
        3,
        lambda q, t, p: jnp.array([M, M, INERTIA]),
        lambda q, v, t, p: jnp.array([0.0, -M * G, 0.0]),
    ),
    [FLOOR],
    {"mu": 1.4},
    name="rod",
)


def state(degrees, speed):
    angle = np.radians(degrees)
    return np.array([0.0, LENGTH / 2 * np.sin(angle), angle]), np.array([speed, 0.0, 0.0])


def by_newton(mu, angle, way, rate=0.0):
    """v̇ and the normal force N of the rod: `N (1 + 3 c (c + μ s way)) = m (g − a s ω²)`."""
    c, s, a = np.cos(angle), np.sin(angle), LENGTH / 2
    lever = a * (-c - mu * s * way)
    N = M * (G - a * s * rate**2) / (1 - M * a * c * lever / INERTIA)
    return np.array([-mu * N * way / M, N / M - G, lever * N / INERTIA]), N


@pytest.mark.parametrize("speed", [1.0, -1.0])
@pytest.mark.parametrize("degrees", [30.0, 50.0, 75.0])
def test_a_rod_on_a_rough_floor_obeys_newton(degrees, speed):
    found = zw.motion(ROD, *state(degrees, speed), params={"mu": 0.9})
    right, normal = by_newton(0.9, np.radians(degrees), np.sign(speed))
    assert np.allclose(found.acceleration, right, rtol=1e-13, atol=1e-12)
    assert np.isclose(found.multipliers[0], normal, rtol=1e-13)
    assert np.isclose(found.ideal_force[1], normal, rtol=1e-13)
    assert np.isclose(abs(found.nonideal_force[0]), 0.9 * normal, rtol=1e-13)
    assert np.allclose(
        found.by_constraint["floor"], found.ideal_force + found.nonideal_force, rtol=1e-14
    )


def test_the_rod_of_the_steep_floor_has_its_known_acceleration():
    """μ = 1.4 at 50°: the ideal force in place of the one that acts gives −6.13."""
    found = zw.motion(ROD, *state(50.0, 1.0))
    assert np.isclose(found.acceleration[0], -3.188300546, rtol=1e-9)


def test_a_run_of_the_rod_follows_newton():
    q0, v0 = state(50.0, 2.0)
    run = zw.simulate(ROD, q0, v0, params={"mu": 0.5}, duration=0.15, samples=4, rtol=1e-10)

    def slope(_, y):
        return [*y[2:], *by_newton(0.5, y[1], 1.0, y[3])[0][[0, 2]]]

    start = [0.0, q0[2], 2.0, 0.0]
    right = solve_ivp(slope, (0, 0.15), start, "DOP853", run.t, rtol=1e-12, atol=1e-12).y
    assert np.allclose(run.q[:, [0, 2]].T, right[:2], atol=1e-9)


def box(together: bool) -> zw.Model:
    """A box on two rough feet, 0.6 m apart, its center 0.4 m above the floor."""
    feet = lambda q: jnp.stack([q[1] - 0.4 - 0.3 * q[2], q[1] - 0.4 + 0.3 * q[2]])

    def rub(v, ideal):
        u = v[0] + 0.4 * v[2]
        return -0.5 * jnp.abs(ideal[1]) * jnp.sign(u) * jnp.array([1.0, 0.0, 0.4])

    if together:
        rows = [
            zw.Holonomic(
                lambda q, t, p: feet(q),
                name="feet",
                parts=["rear", "front"],
                nonideal=lambda q, v, t, p, ideal: jax.vmap(lambda own: rub(v, own))(ideal),
            )
        ]
    else:
        rows = [
            zw.Holonomic(
                lambda q, t, p, i=i: feet(q)[i],
                name=name,
                nonideal=lambda q, v, t, p, ideal: rub(v, ideal),
            )
            for i, name in enumerate(["rear", "front"])
        ]
    system = zw.System(
        3,
        lambda q, t, p: jnp.array([2.0, 2.0, 0.1]),
        lambda q, v, t, p: jnp.array([0.0, -2.0 * G, 0.0]),
    )
    return zw.Model(system, rows, name="box")


BOX_STATE = [0.0, 0.4, 0.0], [1.0, 0.0, 0.0]


@pytest.mark.parametrize("together", [True, False])
def test_friction_shifts_the_load_of_a_sliding_box_to_its_front_foot(together):
    """Moments about the center: `0.3 (N₂ − N₁) = 0.4 μ m g`."""
    found = zw.motion(box(together), *BOX_STATE)
    shift = 0.4 * 0.5 * 2.0 * G / 0.3
    assert np.allclose(found.multipliers, [G - shift / 2, G + shift / 2], rtol=1e-12)
    assert np.allclose(found.acceleration, [-0.5 * G, 0.0, 0.0], atol=1e-12)


def test_levels_find_the_same_load():
    found = zw.enforce(box(False), *BOX_STATE, levels=[["rear"], ["front"]])
    assert np.allclose(found.acceleration, [-0.5 * G, 0.0, 0.0], atol=1e-11)


def test_a_block_on_a_movable_rough_wedge_obeys_newton():
    """Unknowns N and the accelerations; the wedge of 3 kg slides freely, the block of 1 kg down its
    slope of 30°.
    """
    c, s, mu = np.cos(np.pi / 6), np.sin(np.pi / 6), 0.2
    slope, normal = np.array([-c, c, -s]), np.array([-s, s, c])  # of (X, x, y)
    plane = zw.Holonomic(
        lambda q, t, p: jnp.asarray(normal) @ q,
        name="plane",
        nonideal=lambda q, v, t, p, ideal: (
            -mu * jnp.hypot(ideal[1], ideal[2]) * jnp.sign(slope @ v) * slope
        ),
    )
    mass = np.array([3.0, 1.0, 1.0])
    model = zw.Model(
        zw.System(3, lambda q, t, p: jnp.asarray(mass), lambda q, v, t, p: jnp.array([0, 0, -G])),
        [plane],
    )
    found = zw.motion(model, np.zeros(3), slope - np.array([-c, 0.0, 0.0]))
    equations = np.zeros((4, 4))
    equations[:3, :3], equations[:3, 3] = np.diag(mass), -(normal - mu * slope)
    equations[3, :3] = normal
    right = np.linalg.solve(equations, [0.0, 0.0, -G, 0.0])
    assert np.allclose(found.acceleration, right[:3], rtol=1e-13)
    assert np.isclose(found.multipliers[0], right[3], rtol=1e-13)


CRITICAL = [
    (50.0, -1.0, (1 + 3 * np.cos(np.radians(50)) ** 2) / (1.5 * np.sin(np.radians(100)))),
    (70.0, -1.0, (1 + 3 * np.cos(np.radians(70)) ** 2) / (1.5 * np.sin(np.radians(140)))),
]


@pytest.mark.parametrize("degrees, speed, critical", CRITICAL)
def test_the_paradox_of_painleve_is_named_from_its_critical_friction_on(degrees, speed, critical):
    """`1 + 3 c (c − μ s) = 0`; the other way of sliding, there are two forces, of which the
    negative one is that of a constraint that may pull.
    """
    below, above = {"mu": 0.98 * critical}, {"mu": 1.02 * critical}
    q, v = state(degrees, speed)
    assert zw.motion(ROD, q, v, params=below).result == zw.Result.SUCCESS
    with pytest.raises(zw.ModelError, match="Painlevé"):
        zw.motion(ROD, q, v, params=above)
    with pytest.raises(zw.ModelError, match="Painlevé"):
        zw.motion(ROD, q, -v, params=above)
    run = zw.simulate(ROD, q, v, params=above, duration=0.1, throw=False)
    assert run.result is zw.Result.PARADOX


def test_derivatives_pass_through_the_law_of_friction():
    def pull(mu):
        return zw.motion(ROD, *state(50.0, 1.0), params={"mu": mu}, throw=False).acceleration[0]

    right = (by_newton(1.401, np.radians(50), 1)[0] - by_newton(1.399, np.radians(50), 1)[0])[0]
    assert np.isclose(jax.jit(jax.grad(pull))(1.4), right / 0.002, rtol=1e-6)


@pytest.mark.slow
@pytest.mark.skipif(compiler() is None, reason="no C compiler")
def test_code_and_formulas_agree_with_the_law():
    gentle = zw.Model(ROD.system, [FLOOR], {"mu": 0.4}, name="rod")
    q, v = state(50.0, 2.0)
    assert max(agreement(c_code(gentle, q, v), q, v, 200).values()) < 1e-12
    assert max(agreement(c_code(box(True), *BOX_STATE), *BOX_STATE, 200).values()) < 1e-12
    assert zw.derive(gentle, q, v, states=20).verdict()
