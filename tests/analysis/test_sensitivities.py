"""Results as functions of parameters, and their derivatives beside closed forms."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw
from tests.analysis.models import LENGTHS, apart, closed_form, four_bar
from tests.analysis.systems import G


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
def rest(request) -> zw.Equilibrium:
    return zw.equilibrium(bob(request.param), [0.1, -0.8])


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


def test_what_has_no_derivative_is_refused():
    system = zw.System(2, lambda q, t, p: jnp.ones(2), lambda q, v, t, p: -p["stiffness"] * q)
    twice = zw.linearize(zw.Model(system, params={"stiffness": 4.0}), [0.0, 0.0]).modes()
    with pytest.raises(zw.ModelError, match="is a multiple one"):
        twice.eigenvalues({"stiffness": 4.0})
    moving = zw.linearize(bob(1), [0.8, 0.0]).modes()
    with pytest.raises(zw.ModelError, match="this is a moving state"):
        moving.eigenvalues({})


def differences(function, at: np.ndarray, h: float = 1e-5) -> np.ndarray:
    """Central differences by each entry, which stands last."""
    steps = h * np.eye(len(at))
    return np.stack([(function(at + s) - function(at - s)) / (2 * h) for s in steps], axis=-1)


@pytest.mark.slow
def test_assembly_modes_move_as_their_closed_form():
    start = closed_form(LENGTHS, 0.3, 1)
    modes = zw.assembly_modes(four_bar(), {"crank": 1.1}, q=start)
    slope = jax.jacfwd(lambda x: modes.configurations({"lengths": x}))(jnp.asarray(LENGTHS))
    for q, moved in zip(modes.q, slope, strict=True):
        sign = min((1, -1), key=lambda s: apart(q, closed_form(LENGTHS, 1.1, s)))
        exact = differences(lambda x, s=sign: closed_form(x, 1.1, s), LENGTHS)
        np.testing.assert_allclose(moved, exact, atol=1e-7)


@pytest.mark.slow
def test_limit_positions_move_as_their_closed_form():
    lengths = np.array([2.0, 1.5, 2.0, 3.0])
    found = zw.kinematics(
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
    found = zw.kinematics(four_bar(), "crank", (0.3, 0.9), q=q, rate=3.0, samples=3)
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
    space = zw.workspace(arm, ranges, tip, q=[0.1, 0.9], samples=4)
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
