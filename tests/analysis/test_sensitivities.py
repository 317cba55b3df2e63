"""Results as functions of parameters, with derivatives compared with closed forms."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw
from tests.analysis.models import (
    CRANKS,
    LENGTHS,
    UPRIGHT,
    apart,
    closed_form,
    five_bar_model,
    four_bar,
)
from tests.analysis.systems import G
from zwang.analysis.equilibrium import Equilibrium


def bob(copies: int) -> zw.Model:
    """A bob of 1 kg on a rod, stated `copies` times, with a side force h and a drag d."""
    rod = lambda k: zw.Holonomic(lambda q, t, p: q @ q - p["length"] ** 2, name=f"rod {k}")
    system = zw.System(
        2,
        lambda q, t, p: jnp.ones(2),
        lambda q, v, t, p: jnp.stack([p["side"], -G]) - p["drag"] * v,
    )
    params = {"side": 3.0, "length": 0.8, "drag": 0.4}
    return zw.Model(system, [rod(k) for k in range(copies)], params, name="bob")


@pytest.fixture(scope="module", params=[pytest.param(1, marks=pytest.mark.slow), 2])
def rest(request) -> Equilibrium:
    return zw.analysis.equilibrium(bob(request.param), [0.1, -0.8])


def slopes(function, names=("side", "length", "drag")) -> np.ndarray:
    values = dict(zip(("side", "length", "drag"), (3.0, 0.8, 0.4), strict=True))
    slope = lambda n: jax.jit(jax.jacfwd(lambda x: function({n: x})))
    return np.array([slope(n)(values[n]) for n in names])


def test_forces_of_constraints_have_the_derivatives_of_their_closed_form(rest):
    # the rod carries the whole force, (−h, g), whatever its length
    total = lambda params: jnp.sum(rest.constraint_forces(params), axis=0)
    np.testing.assert_allclose(total({}), [-3.0, G], rtol=1e-12)
    exact = [[-1.0, 0.0], [0.0, 0.0], [0.0, 0.0]]
    np.testing.assert_allclose(slopes(total), exact, atol=1e-9)


@pytest.mark.slow
def test_eigenvalues_have_the_derivatives_of_their_closed_form(rest):
    def exact(side, length, drag):  # σ² + d σ + √(g² + h²)/l = 0
        return -drag / 2 + 1j * jnp.sqrt(jnp.hypot(G, side) / length - drag**2 / 4)

    modes = rest.linearization.modes()
    (value,) = modes.eigenvalues({})
    np.testing.assert_allclose(value, exact(3.0, 0.8, 0.4), rtol=1e-10)
    wanted = jax.jit(jax.jacfwd(exact, argnums=(0, 1, 2)))(3.0, 0.8, 0.4)
    found = slopes(lambda p: modes.eigenvalues(p)[0])
    np.testing.assert_allclose(found, np.array(wanted), rtol=1e-7)
    by_reverse = jax.jit(jax.grad(lambda x: jnp.abs(modes.eigenvalues({"length": x})[0])))(0.8)
    undamped = jax.jit(jax.grad(lambda x: jnp.sqrt(jnp.hypot(G, 3.0) / x)))(0.8)
    np.testing.assert_allclose(by_reverse, undamped, rtol=1e-7)


def test_an_equilibrium_moves_with_soft_springs_beside_stiff_ones():
    stiffness = jnp.array([1e-6, 1e8])
    system = zw.System(
        2, lambda q, t, p: jnp.ones(2), lambda q, v, t, p: stiffness * (p["place"] - q)
    )
    place = jnp.array([0.3, 0.2])
    found = zw.analysis.equilibrium(zw.Model(system, params={"place": place}), place)
    slope = jax.jacfwd(lambda x: found.configuration({"place": x}))(place)
    np.testing.assert_allclose(slope, np.eye(2), atol=1e-12)


def test_what_has_no_derivative_is_refused():
    system = zw.System(2, lambda q, t, p: jnp.ones(2), lambda q, v, t, p: -p["stiffness"] * q)
    twice = zw.analysis.linearize(zw.Model(system, params={"stiffness": 4.0}), [0.0, 0.0]).modes()
    with pytest.raises(zw.ModelError, match="is a multiple one"):
        twice.eigenvalues({"stiffness": 4.0})
    moving = zw.analysis.linearize(bob(1), [0.8, 0.0]).modes()
    with pytest.raises(zw.ModelError, match="this is a moving state"):
        moving.eigenvalues({})


def differences(function, at: np.ndarray, h: float = 1e-5) -> np.ndarray:
    """Central differences by each entry, which stands last."""
    steps = h * np.eye(len(at))
    return np.stack([(function(at + s) - function(at - s)) / (2 * h) for s in steps], axis=-1)


@pytest.mark.slow
def test_assembly_modes_move_as_their_closed_form():
    start = closed_form(LENGTHS, 0.3, 1)
    modes = zw.analysis.assembly_modes(four_bar(), {"crank": 1.1}, q=start)
    slope = jax.jacfwd(lambda x: modes.configurations({"lengths": x}))(jnp.asarray(LENGTHS))
    for q, moved in zip(modes.q, slope, strict=True):
        sign = min((1, -1), key=lambda s: apart(q, closed_form(LENGTHS, 1.1, s)))
        exact = differences(lambda x, s=sign: closed_form(x, 1.1, s), LENGTHS)
        np.testing.assert_allclose(moved, exact, atol=1e-7)


@pytest.mark.slow
def test_limit_positions_move_as_their_closed_form():
    lengths = np.array([2.0, 1.5, 2.0, 3.0])
    found = zw.analysis.kinematics(
        four_bar(),
        "crank",
        (0.3, 2.0),
        q=closed_form(lengths, 0.3, 1),
        params={"lengths": lengths},
        samples=3,
    )

    def exact(x):  # coupler and rocker in line
        a, b, c, d = x
        return jnp.arccos((a * a + d * d - (b + c) ** 2) / (2 * a * d))

    at = lambda x: found.limit_inputs({"lengths": x})[0]
    np.testing.assert_allclose(at(lengths), exact(lengths), rtol=1e-12)
    slope = jax.grad(at)(jnp.asarray(lengths))
    np.testing.assert_allclose(slope, jax.grad(exact)(jnp.asarray(lengths)), rtol=1e-6)


@pytest.mark.slow
def test_velocities_over_an_input_move_as_differences_do():
    q, h = closed_form(LENGTHS, 0.3, 1), 1e-4
    found = zw.analysis.kinematics(four_bar(), "crank", (0.3, 0.9), q=q, rate=3.0, samples=3)
    moved = found.motion({"lengths": jnp.asarray(LENGTHS)})
    np.testing.assert_allclose(moved.v, found.v, atol=1e-12)
    np.testing.assert_allclose(moved.a, found.a, atol=1e-10)

    def rocker_rate(x):
        ends = [closed_form(x, 0.6 + s * h, 1)[2] for s in (-1, 1)]
        return 3.0 * (ends[1] - ends[0]) / (2 * h)

    slope = jax.jacfwd(lambda x: found.motion({"lengths": x}).v[1, 2])(jnp.asarray(LENGTHS))
    np.testing.assert_allclose(slope, differences(rocker_rate, LENGTHS, 1e-3), atol=2e-5)


@pytest.mark.slow
def test_a_workspace_moves_as_its_closed_form():
    def tip(q, t, p):
        a, b = q[0], q[0] + q[1]
        x, y = p["lengths"]
        return jnp.stack([x * jnp.cos(a) + y * jnp.cos(b), x * jnp.sin(a) + y * jnp.sin(b)])

    system = zw.System(
        2,
        lambda q, t, p: jnp.ones(2),
        lambda q, v, t, p: jnp.zeros(2),
        coordinates=("shoulder", "elbow"),
        units=("rad", "rad"),
    )
    lengths = np.array([1.0, 0.7])
    arm = zw.Model(system, params={"lengths": lengths}, name="arm")
    ranges = {"shoulder": (-0.5, 0.5), "elbow": (0.4, 1.4)}
    space = zw.analysis.workspace(arm, ranges, tip, q=[0.1, 0.9], samples=4)
    moved = lambda x: space.moved({"lengths": x})
    np.testing.assert_allclose(moved(lengths).places, space.places.reshape(-1, 2), atol=1e-14)
    np.testing.assert_allclose(moved(lengths).conditioning, space.conditioning.ravel(), rtol=1e-12)

    def exact(x):
        """Conditioning of the two-link arm at its elbow angles."""
        _, b = np.meshgrid(*space.axes, indexing="ij")
        s, c = np.sin(b.ravel()), np.cos(b.ravel())
        J = np.stack([[-x[1] * s, -x[1] * s], [x[0] + x[1] * c, x[1] * c]]).transpose(2, 0, 1)
        sigma = np.linalg.svd(J, compute_uv=False)
        return sigma[:, 1] / sigma[:, 0]

    slope = jax.jacfwd(moved)(jnp.asarray(lengths))
    np.testing.assert_allclose(slope.conditioning, differences(exact, lengths), atol=1e-8)
    a, b = (x.ravel() for x in np.meshgrid(*space.axes, indexing="ij"))
    first, second = ([np.cos(x), np.sin(x)] for x in (a, a + b))
    exact_places = np.stack([np.transpose(first), np.transpose(second)], axis=-1)
    np.testing.assert_allclose(slope.places, exact_places, atol=1e-12)


@pytest.mark.slow
def test_a_governor_in_steady_motion_moves_as_its_closed_form():
    model = governor_on_a_rod()
    found = zw.analysis.equilibrium(model, [0.0, 1.0], v=[5.0, 0.0])
    angle = lambda x: found.configuration({"length": x})[1]
    exact = lambda x: jnp.arccos(G / (x * 25.0))  # the rate of turning stays
    np.testing.assert_allclose(angle(0.7), exact(0.7), rtol=1e-12)
    np.testing.assert_allclose(jax.grad(angle)(0.7), jax.grad(exact)(0.7), rtol=1e-9)
    np.testing.assert_allclose(found.velocities({"length": 0.7}), found.v, atol=1e-12)
    branch = zw.analysis.continuation(model, [0.0, 0.0], v=[2.0, 0.0], over="spin", to=(2.0, 5.0))
    pitchfork = lambda x: branch.critical_values({"length": x})[0]
    exact = lambda x: jnp.sqrt(G / x)
    np.testing.assert_allclose(pitchfork(0.7), exact(0.7), rtol=1e-10)
    np.testing.assert_allclose(jax.grad(pitchfork)(0.7), jax.grad(exact)(0.7), rtol=1e-8)


def governor_on_a_rod() -> zw.Model:
    """A bob on a rod that turns freely about a vertical axis."""

    def force(q, v, t, p):
        s, c, x = jnp.sin(q[1]), jnp.cos(q[1]), p["length"]
        return jnp.stack([-2 * x**2 * s * c * v[0] * v[1], x**2 * s * c * v[0] ** 2 - G * x * s])

    system = zw.System(
        2,
        lambda q, t, p: p["length"] ** 2 * jnp.stack([jnp.sin(q[1]) ** 2 + 0.3, 1.0]),
        force,
        coordinates=("spin", "angle"),
    )
    return zw.Model(system, params={"length": 0.7}, name="governor")


@pytest.mark.slow
def test_folds_move_as_their_closed_form():
    # c q³ − q + load = 0 turns round at load = ±2/(3 √(3 c))
    system = zw.System(
        1,
        lambda q, t, p: jnp.ones(1),
        lambda q, v, t, p: -(p["cubic"] * q**3 - q) - p["load"],
    )
    model = zw.Model(system, params={"load": 0.0, "cubic": 1.3}, name="snap-through")
    branch = zw.analysis.continuation(model, [0.9], over="load", to=(-1.0, 1.0))
    exact = lambda c: jnp.array([2.0, -2.0]) / (3 * jnp.sqrt(3 * c))
    values = lambda c: branch.critical_values({"cubic": c})
    np.testing.assert_allclose(values(1.3), exact(1.3), rtol=1e-12)
    np.testing.assert_allclose(jax.jacfwd(values)(1.3), jax.jacfwd(exact)(1.3), rtol=1e-10)


@pytest.mark.slow
def test_a_branch_point_that_others_break_has_no_derivative():
    # x (s − x) + e: where e is not zero the branches part
    system = zw.System(1, lambda q, t, p: jnp.ones(1), lambda q, v, t, p: q * (p["s"] - q) + p["e"])
    model = zw.Model(system, params={"s": -1.0, "e": 0.0}, name="transcritical")
    branch = zw.analysis.continuation(model, [0.0], over="s", to=(-1.0, 1.0))
    assert len(branch.branch_points) == 1 and abs(branch.branch_points[0].value) < 1e-10
    with pytest.raises(zw.ModelError, match="does not persist when other"):
        branch.critical_values({"e": 0.0})


@pytest.mark.slow
def test_dead_points_move_as_their_closed_form():
    q = closed_form(LENGTHS, 0.3, 1)
    found = zw.analysis.kinematics(four_bar(), "crank", (0.3, 6.5), q=q, samples=3, output="rocker")

    def exact(x):
        """The crank where it lies in line with the coupler, folded and stretched."""
        a, b, c, d = x
        bars = jnp.stack([b - a, b + a])
        ground = jnp.arccos((d * d + bars**2 - c * c) / (2 * d * bars))
        return ground + jnp.array([np.pi, 0.0])

    dead = lambda x: found.dead_inputs({"lengths": x})["rocker"]
    order = np.argsort(-np.cos(np.asarray(dead(LENGTHS)) - np.asarray(exact(LENGTHS))[0]))
    apart = (np.asarray(dead(LENGTHS))[order] - np.asarray(exact(LENGTHS))) / (2 * np.pi)
    np.testing.assert_allclose(apart, np.round(apart), atol=1e-11)
    slope = jax.jacfwd(dead)(jnp.asarray(LENGTHS))[order]
    np.testing.assert_allclose(slope, jax.jacfwd(exact)(jnp.asarray(LENGTHS)), rtol=1e-9)


@pytest.mark.slow
def test_the_boundary_of_a_workspace_moves_as_its_closed_form():
    space = zw.analysis.workspace(five_bar_model(), CRANKS, ["left"], q=UPRIGHT, samples=9)
    inputs, along = space.boundary[0], space.edges[0].along

    def apart(u):  # of the ends of the cranks, twice a bar's length on the boundary
        return jnp.hypot(1.5 + jnp.cos(u[1]) - jnp.cos(u[0]), jnp.sin(u[1]) - jnp.sin(u[0]))

    ends = lambda x: space.boundary_inputs({"bar": x})
    np.testing.assert_allclose(jax.vmap(apart)(ends(0.9)), 1.8, rtol=1e-12)
    slope = jax.vmap(jax.grad(apart))(inputs)
    exact = along * (2 / np.sum(slope * along, axis=1))[:, None]
    np.testing.assert_allclose(jax.jacfwd(ends)(0.9), exact, rtol=1e-6)
    assert len(inputs) > 4


@pytest.mark.slow
def test_where_a_direction_is_lost_moves_as_its_closed_form():
    def tip(q, t, p):  # its second bar is bent, and in line with the first at elbow = −bend
        a, b = q[0], q[0] + q[1] + p["bend"]
        return jnp.stack([jnp.cos(a) + 0.7 * jnp.cos(b), jnp.sin(a) + 0.7 * jnp.sin(b)])

    system = zw.System(
        2,
        lambda q, t, p: jnp.ones(2),
        lambda q, v, t, p: jnp.zeros(2),
        coordinates=("shoulder", "elbow"),
        units=("rad", "rad"),
    )
    arm = zw.Model(system, params={"bend": 0.13}, name="arm")
    ranges = {"shoulder": (-0.5, 0.5), "elbow": (-1.0, 1.0)}
    space = zw.analysis.workspace(arm, ranges, tip, q=[0.1, 0.5], samples=4)
    lost = lambda x: space.lost_inputs({"bend": x})
    np.testing.assert_allclose(lost(0.13)[:, 1], -0.13, atol=1e-12)
    slope = jax.jacfwd(lost)(0.13)
    np.testing.assert_allclose(slope, np.tile([0.0, -1.0], (len(slope), 1)), atol=1e-10)
    assert len(slope) == 4


@pytest.mark.slow
@pytest.mark.parametrize("copies", [1, 2])
def test_gains_of_a_regulator_move_as_differences_do(copies):
    """A bob on a rod that a side force holds; the equilibrium moves with the parameters."""
    at = {"side": 3.0, "length": 0.8, "drag": 0.4}

    def regulator(params):
        q = zw.analysis.equilibrium(model, [0.1, -0.8], params=params).q
        return zw.analysis.lqr(
            zw.analysis.linearize(model, q, params=params, inputs=["side"]), Q=2.0, R=0.5
        )

    model = bob(copies)
    found = regulator(at)
    gains = found.gains(at)
    np.testing.assert_allclose(gains.K_q, found.K_q, atol=1e-10)
    np.testing.assert_allclose(gains.K_v, found.K_v, atol=1e-10)
    for name in ("length", "drag"):
        slope = jax.jacfwd(lambda x, n=name: found.gains({**at, n: x}))(at[name])
        ends = [regulator({**at, name: at[name] + h}) for h in (-1e-4, 1e-4)]
        for own in ("K_q", "K_v"):
            by_difference = (getattr(ends[1], own) - getattr(ends[0], own)) / 2e-4
            np.testing.assert_allclose(getattr(slope, own), by_difference, atol=1e-6)
