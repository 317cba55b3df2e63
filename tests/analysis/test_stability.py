"""Verdicts on the stability of equilibria and steady motions compared with closed forms."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw
from tests.analysis.systems import G


def one(force, mass=1.0):
    """One coordinate with a force of (q, v, t)."""
    system = zw.System(
        1, lambda q, t, p: mass * jnp.ones(1), lambda q, v, t, p: jnp.atleast_1d(force(q, v, t))
    )
    return zw.Model(system)


def plane(force, mass=1.0):
    system = zw.System(2, lambda q, t, p: mass * jnp.ones(2), lambda q, v, t, p: force(q, v, t))
    return zw.Model(system)


def valley(q, fall):
    """Forces of V = (q1 − q0²)² − fall q0⁴."""
    away = q[1] - q[0] ** 2
    return jnp.stack([4 * away * q[0] + 4 * fall * q[0] ** 3, -2 * away])


CUBE = one(lambda q, v, t: q**3)


@pytest.mark.one_in(6)
@pytest.mark.parametrize(
    "model, guess, stable, says",
    [
        pytest.param(one(lambda q, v, t: 0 * q), [0.0], False, "neutral", id="no force"),
        pytest.param(one(lambda q, v, t: -v), [0.0], True, "neutral", id="a brake alone"),
        pytest.param(CUBE, [0.0], False, "unstable", id="the top of -q^4/4"),
        pytest.param(CUBE, [0.01], False, "unstable", id="the same, found from a guess"),
        pytest.param(one(lambda q, v, t: -(q**3)), [0.1], True, "stable", id="bottom of q^4/4"),
        pytest.param(one(lambda q, v, t: q**2), [0.0], False, "unstable", id="a saddle node"),
        pytest.param(one(lambda q, v, t: -(q**5)), [0.2], True, "stable", id="bottom of q^6/6"),
        pytest.param(
            # V = (q1 − q0²)² − q0⁴/2 falls along its valley, where it rises along q0 itself
            plane(lambda q, v, t: valley(q, 0.5)),
            [0.0, 0.0],
            False,
            "unstable",
            id="a valley that bends and falls",
        ),
        pytest.param(
            plane(lambda q, v, t: valley(q, -0.5)), [0.0, 0.0], True, "stable", id="and rises"
        ),
        pytest.param(
            one(lambda q, v, t: -1e-6 * q + 1e-8 * v, 1e-9),
            [0.1],
            False,
            "unstable",
            id="negative damping of a gram in a million",
        ),
        pytest.param(
            one(lambda q, v, t: -1e6 * q + 1e-2 * v, 1e3),
            [0.1],
            False,
            "unstable",
            id="negative damping of a ton",
        ),
        pytest.param(
            one(lambda q, v, t: -q + v**3), [0.1], None, "feed energy", id="beyond linear"
        ),
        pytest.param(one(lambda q, v, t: -q - v**3), [0.1], True, "stable", id="and braking"),
        pytest.param(one(lambda q, v, t: -q - v), [0.1], True, "stable", id="damped"),
        pytest.param(one(lambda q, v, t: -q + 1e-3 * jnp.sin(t)), [0.0], None, "time", id="loads"),
        pytest.param(
            # a maximum of the potential that a magnetic field holds
            plane(lambda q, v, t: q + 5 * jnp.stack([-v[1], v[0]])),
            [0.0, 0.0],
            True,
            "stable",
            id="gyroscopic",
        ),
        pytest.param(
            # the same with a weak brake, which lets it fall (Kelvin, Tait, Chetaev)
            plane(lambda q, v, t: q + 5 * jnp.stack([-v[1], v[0]]) - 1e-3 * v),
            [0.0, 0.0],
            False,
            "unstable",
            id="gyroscopic with a brake",
        ),
        pytest.param(
            # soft by 1e14 beside stiff, without any coupling
            plane(lambda q, v, t: -jnp.array([1e-6, 1e8]) * q),
            [0.0, 0.0],
            True,
            "stable",
            id="soft beside stiff",
        ),
        pytest.param(
            plane(lambda q, v, t: -jnp.array([-1e-6, 1e8]) * q),
            [0.0, 0.0],
            False,
            "unstable",
            id="softly unstable beside stiff",
        ),
        pytest.param(
            # equal frequencies of a follower force at the border of flutter: a Jordan block
            plane(lambda q, v, t: -q + jnp.stack([0.1 * q[1], 0.0])),
            [0.0, 0.0],
            None,
            "multiple eigenvalue",
            id="border of flutter",
        ),
        pytest.param(
            plane(lambda q, v, t: -q), [0.0, 0.0], True, "stable", id="equal, not coupled"
        ),
        pytest.param(
            # q̇ + q³/3 is constant: a push of q̇ comes to rest at the cube root of it
            one(lambda q, v, t: -(q**2) * v),
            [0.0],
            None,
            "damping at a distance",
            id="a brake that vanishes",
        ),
        pytest.param(
            # the drift slows down and goes on for ever
            one(lambda q, v, t: -(v**3)),
            [0.0],
            False,
            "neutral",
            id="a brake of third order",
        ),
        pytest.param(
            # the brake is on the other coordinate
            plane(lambda q, v, t: jnp.stack([0 * q[0], -v[1]])),
            [0.0, 0.0],
            False,
            "neutral",
            id="free beside braked",
        ),
        pytest.param(
            # trace −0.155, determinant 0.76: velocities decay though one of them is fed
            plane(lambda q, v, t: jnp.stack([0.145 * v[0] + 0.9 * v[1], -0.9 * v[0] - 0.3 * v[1]])),
            [0.0, 0.0],
            True,
            "neutral",
            id="fed and braked, velocities decay",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            # trace 0.2
            plane(lambda q, v, t: jnp.stack([0.5 * v[0] + 0.9 * v[1], -0.9 * v[0] - 0.3 * v[1]])),
            [0.0, 0.0],
            False,
            "unstable",
            id="fed more than braked",
        ),
        pytest.param(
            # q₁ drifts with the mean of q₀, which a magnetic field holds at its maximum
            plane(lambda q, v, t: jnp.stack([0.5 * q[0] + 1.7 * v[1], -1.7 * v[0]])),
            [0.0, 0.0],
            None,
            "multiple eigenvalue",
            id="gyroscopic with a drift",
        ),
    ],
)
def test_a_verdict_is_that_of_its_closed_form(model, guess, stable, says):
    rest = zw.analysis.equilibrium(model, guess, find="nearest")
    assert rest.stable is stable and says in rest.verdict, rest.verdict


TURN = 6.0


def turning(position):
    """A bead on what turns about the vertical at 6 rad/s, in Cartesian coordinates."""
    system = zw.System(3, lambda q, t, p: jnp.ones(3), lambda q, v, t, p: jnp.array([0.0, 0.0, -G]))
    side = lambda q, t, p: jnp.sin(TURN * t) * q[0] - jnp.cos(TURN * t) * q[1]
    return zw.Model(
        system,
        [zw.Holonomic(position, name="bead"), zw.Holonomic(side, name="plane")],
        name="turning",
    )


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "position, q, growth",
    [
        pytest.param(
            lambda q, t, p: q @ q - 1.0, [0.0, 0.0, -1.0], np.sqrt(TURN**2 - G), id="hoop"
        ),
        pytest.param(
            lambda q, t, p: q[2] - q[0] ** 2 - q[1] ** 2,
            [0.0, 0.0, 0.0],
            np.sqrt(TURN**2 - 2 * G),
            id="parabola",
        ),
    ],
)
def test_rest_on_an_axis_of_turning_constraints_is_judged_in_axes_that_turn(position, q, growth):
    rest = zw.analysis.equilibrium(turning(position), q)
    np.testing.assert_allclose(rest.linearization.eigenvalues, [growth, -growth], rtol=1e-12)
    assert rest.stable is False


@pytest.mark.slow
def test_a_bead_on_a_turning_rod_grows_as_a_simulation_does():
    side = lambda q, t, p: jnp.sin(3 * t) * q[0] - jnp.cos(3 * t) * q[1]
    system = zw.System(2, lambda q, t, p: jnp.ones(2), lambda q, v, t, p: -4 * q)
    model = zw.Model(system, [zw.Holonomic(side, name="rod")])
    rest = zw.analysis.equilibrium(model, [0.0, 0.0])
    np.testing.assert_allclose(rest.linearization.eigenvalues, [np.sqrt(5), -np.sqrt(5)])
    run = zw.simulate(model, [1e-3, 0.0], [0.0, 3e-3], times=[0.0, 2.0], rtol=1e-10)
    np.testing.assert_allclose(np.linalg.norm(run.q[-1]), 1e-3 * np.cosh(2 * np.sqrt(5)), rtol=1e-6)


@pytest.mark.parametrize(
    "constraint, name",
    [
        (zw.Holonomic(lambda q, t, p: q[0] - t, name="slide"), "slide"),
        (zw.Holonomic(lambda q, t, p: q[0] - t**2, name="starts"), "starts"),
        (zw.Holonomic(lambda q, t, p: q[0] - 1e-9 * t, name="creeps"), "creeps"),
        (zw.Holonomic(lambda q, t, p: 1e-30 * (q[0] - 1e-9 * t), name="small"), "small"),
        (zw.Nonholonomic(lambda q, v, t, p: v[0] + 1e-20 * jnp.cos(t), name="slow"), "slow"),
        (zw.Nonholonomic(lambda q, v, t, p: v[0] - 1.0, name="belt"), "belt"),
    ],
)
def test_rest_that_constraints_forbid_is_refused(constraint, name):
    system = zw.System(2, lambda q, t, p: jnp.ones(2), lambda q, v, t, p: -q)
    with pytest.raises(
        zw.ModelError, match=f"{name!r} prescribes a motion, so there is no equilibrium"
    ):
        zw.analysis.equilibrium(zw.Model(system, [constraint]), [0.0, 0.0])


def test_a_ball_on_a_turntable_has_no_rest():
    example = zw.gallery.load("turntable")
    with pytest.raises(zw.ModelError, match=r"'rolling' prescribes.* is 0\.8 at v = 0"):
        zw.analysis.equilibrium(example.model, example.q0)


def test_coefficients_that_change_with_time_are_left_open():
    swing = one(lambda q, v, t: -(1.0 + 0.5 * jnp.cos(2 * t)) * q)  # Mathieu's: resonance
    linear = zw.analysis.linearize(swing, [0.0])
    assert linear.kind == "moving state" and linear.stable is None
    assert "transition() over a period" in linear.verdict
    # and the multipliers over a period decide: one beyond the unit circle
    t, rest = np.linspace(0.0, np.pi, 41), np.zeros((41, 1))
    along = zw.analysis.linearize(swing, rest, rest, t=t)
    assert np.max(np.abs(np.linalg.eigvals(along.transition()[-1]))) > 1.2


@pytest.mark.slow
def test_a_cyclic_coordinate_is_found_where_energy_is_written_through_positions():
    def kinetic(q, v, t, p):
        place = lambda q: jnp.stack(
            [jnp.sin(q[1]) * jnp.cos(q[0]), jnp.sin(q[1]) * jnp.sin(q[0]), -jnp.cos(q[1])]
        )
        rate = jax.jvp(place, (q,), (v,))[1]
        return 0.5 * rate @ rate + 0.15 * v[0] ** 2

    system = zw.Lagrangian(kinetic, lambda q, t, p: -G * jnp.cos(q[1]), nq=2)
    found = zw.analysis.equilibrium(zw.Model(system), [0.3, 0.9], v=[5.0, 0.0])
    np.testing.assert_allclose(found.q[1], np.arccos(G / 25.0), atol=1e-12)
    assert found.stable


# --- steady motions that turn, in axes fixed in space

INERTIA, SPIN_INERTIA, WEIGHT = 0.4, 0.25, 3.0


def top():
    """A top about a fixed point: a quaternion, and velocities in axes fixed in space."""

    def rotation(q):
        w, x, y, z = q
        return jnp.array(
            [
                [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
            ]
        )

    def velocity_map(q, t, p):
        w, x, y, z = q
        return 0.5 * jnp.array([[-x, -y, -z], [w, z, -y], [-z, w, x], [y, -x, w]])

    def mass(q, t, p):
        R = rotation(q)
        return R @ jnp.diag(jnp.array([INERTIA, INERTIA, SPIN_INERTIA])) @ R.T

    def force(q, v, t, p):
        pull = jnp.cross(rotation(q)[:, 2], jnp.array([0.0, 0.0, -WEIGHT]))
        return pull - jnp.cross(v, mass(q, t, p) @ v)

    system = zw.System(4, mass, force, nv=3, velocity_map=velocity_map)
    return zw.Model(system, name="top")


@pytest.mark.parametrize("spin, stable", [(8.0, False), (8.7, False), (8.8, True), (30.0, True)])
def test_a_sleeping_top_in_fixed_axes_has_the_eigenvalues_of_its_closed_form(spin, stable):
    linear = zw.analysis.linearize(top(), [1.0, 0.0, 0.0, 0.0], [0.0, 0.0, spin])
    half = np.roots([INERTIA, -1j * SPIN_INERTIA * spin, -WEIGHT])  # I λ² − i C Ω λ − m g l = 0
    exact = np.concatenate([half, half.conj()])
    found = linear.eigenvalues[np.abs(linear.eigenvalues) > 1e-2]
    for x in exact:
        assert np.min(np.abs(found - x)) < 1e-8
    # the border is at C² Ω² = 4 I m g l, Ω = 8.76 rad/s
    assert linear.kind == "steady motion" and linear.stable is stable


HUB, BLADE, OFFSET, LENGTH, HUB_SPRING, LAG_SPRING = 20.0, 1.0, 0.5, 1.5, 4000.0, 9.0
ANGLES = 2 * np.pi * np.arange(3) / 3


def hub_of_points():
    """A hub on springs that is turned at a given speed, with three lagging blades as points."""

    def hinge(q, k):
        along = jnp.stack([jnp.cos(q[2] + ANGLES[k]), jnp.sin(q[2] + ANGLES[k])])
        return q[:2] + OFFSET * along, along

    def energy(q):
        V = 0.5 * HUB_SPRING * q[:2] @ q[:2]
        for k in range(3):
            place, u = hinge(q, k)
            d = q[3 + 2 * k : 5 + 2 * k] - place
            V = V + 0.5 * LAG_SPRING * jnp.arctan2(u[0] * d[1] - u[1] * d[0], u @ d) ** 2
        return V

    def force(q, v, t, p):
        return -jax.grad(energy)(q)

    def rod(q, t, p, k):
        d = q[3 + 2 * k : 5 + 2 * k] - hinge(q, k)[0]
        return d @ d - LENGTH**2

    rows = [zw.Holonomic(lambda q, t, p, k=k: rod(q, t, p, k), name=f"blade {k}") for k in range(3)]
    rows.append(zw.Holonomic(lambda q, t, p: q[2] - p["speed"] * t, name="drive"))
    mass = jnp.array([HUB, HUB, 5.0] + 6 * [BLADE])
    system = zw.System(9, lambda q, t, p: mass, force)
    return zw.Model(system, rows, {"speed": 10.0}, name="hub with blades")


def hub_in_turning_axes(speed):
    """The same by Lagrange's equations in axes that turn with the hub."""
    turn = speed * jnp.array([[0.0, -1.0], [1.0, 0.0]])
    unit = lambda a: jnp.stack([jnp.cos(a), jnp.sin(a)])

    def kinetic(q, v, t, p):
        T = 0.5 * HUB * jnp.sum((v[:2] + turn @ q[:2]) ** 2)
        for k, a in enumerate(ANGLES):
            place = lambda q, k=k, a=a: q[:2] + OFFSET * unit(a) + LENGTH * unit(a + q[2 + k])
            r, rate = jax.jvp(place, (q,), (v,))
            T = T + 0.5 * BLADE * jnp.sum((rate + turn @ r) ** 2)
        return T

    potential = lambda q, t, p: 0.5 * HUB_SPRING * q[:2] @ q[:2] + 0.5 * LAG_SPRING * q[2:] @ q[2:]
    return zw.Model(zw.Lagrangian(kinetic, potential, nq=5))


@pytest.mark.slow
@pytest.mark.parametrize("speed", [16.0, pytest.param(24.0, marks=pytest.mark.slow), 30.0])
def test_ground_resonance_in_fixed_axes_is_that_in_turning_axes(speed):
    q, v = np.zeros(9), np.zeros(9)
    v[2], reach = speed, OFFSET + LENGTH
    q[3:] = reach * np.stack([np.cos(ANGLES), np.sin(ANGLES)], 1).ravel()
    v[3:] = reach * speed * np.stack([-np.sin(ANGLES), np.cos(ANGLES)], 1).ravel()
    fixed = zw.analysis.linearize(hub_of_points(), q, v, params={"speed": speed})
    turning = zw.analysis.linearize(hub_in_turning_axes(speed), np.zeros(5))
    assert fixed.kind == "steady motion"
    for x in turning.eigenvalues:
        assert np.min(np.abs(fixed.eigenvalues - x)) < 1e-7
    assert fixed.stable == (np.max(turning.eigenvalues.real) < 1e-6)
    assert fixed.stable is (speed != 30.0)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("above", [1e-4, 1e-3, 1e-2])
def test_a_sleeping_top_near_its_limit_is_judged_right(above):
    """(C ω)² = 4 A m g l (1 ± above): two eigenvalues near each other, which magnify what the
    symmetry is off by.
    """
    from tests.laws.test_verdicts import TOP

    across, along, spin = 0.75486959, 0.75967627, 2.50284338
    for sign, stable in ((-1, True), (1, False)):
        weight = (along * spin) ** 2 / (4 * across) * (1 + sign * above)
        p = {"c": np.array([spin, across, along, weight])}
        linear = zw.analysis.linearize(TOP, [1.0, 0, 0, 0], [0.0, 0.0, spin], params=p)
        assert linear.stable is stable, (linear.verdict, linear.eigenvalues)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("off", [0.0, 1e-10, 1e-4])
@pytest.mark.parametrize("find", ["nearest", "minimum"])
def test_where_branches_meet_no_linear_equations_judge(off, find):
    """A spring holds a parallelogram in line: there are two branches, and a tangent space of
    neither.
    """

    def loop(q, t, p):
        x = jnp.cos(q[0]) + 2 * jnp.cos(q[1]) - jnp.cos(q[2]) - 2
        return jnp.stack([x, jnp.sin(q[0]) + 2 * jnp.sin(q[1]) - jnp.sin(q[2])])

    spring = lambda q, v, t, p: jnp.array([0.0, 0.0, -1.0]) * (q - p["rest"])
    system = zw.System(3, lambda q, t, p: jnp.ones(3), spring)
    model = zw.Model(system, [zw.Holonomic(loop, name="loop")], {"rest": 0.0})
    rest = zw.analysis.equilibrium(model, [off, 0.0, off], find=find)
    np.testing.assert_allclose(rest.q, 0.0, atol=1e-8)
    assert rest.stable is None and "rows lose rank here" in rest.verdict
    beside = zw.analysis.equilibrium(model, [0.6, 0.0, 0.6], params={"rest": 0.7})
    assert beside.stable is True
