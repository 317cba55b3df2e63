"""Equilibria and steady motions compared with their closed forms."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw
from tests.analysis import systems
from tests.analysis.systems import G
from zwang.bodies.rotation import rotation_matrix
from zwang.gallery.rolling_disk import steady_spin


@pytest.fixture(scope="module")
def double():
    return systems.double_pendulum()


def test_a_double_pendulum_comes_to_hang_down(double):
    rest = zw.analysis.equilibrium(double, [0.9, 0.3, 1.2, 0.8])
    np.testing.assert_allclose(rest.q, [0.0, -1.0, 0.0, -1.5], atol=1e-12)
    assert rest.stable
    # the tension of the upper rod, 3 g, is 2 λ times its length
    np.testing.assert_allclose(rest.multipliers, [-3 * G / 2, -G], rtol=1e-12)


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    "guess, exact, negative",
    [
        ([0.05, 1.0, 0.0, 1.5], [0.0, 1.0, 0.0, 1.5], 2),
        ([0.05, 1.0, 0.0, 0.5], [0.0, 1.0, 0.0, 0.5], 1),
        ([0.05, -1.0, 0.0, -0.5], [0.0, -1.0, 0.0, -0.5], 1),
    ],
)
def test_unstable_equilibria_of_a_double_pendulum_are_found_and_called_so(
    double, guess, exact, negative
):
    rest = zw.analysis.equilibrium(double, guess, find="nearest")
    np.testing.assert_allclose(rest.q, exact, atol=1e-12)
    assert not rest.stable and not rest.guess_balances
    assert int(np.sum(rest.stiffness < 0)) == negative
    # from there a minimum is downhill, which is said
    lower = zw.analysis.equilibrium(double, exact)
    assert lower.stable and lower.guess_balances and 'find="nearest" returns it' in str(lower)


def test_the_gradient_in_the_tangent_space_vanishes(double):
    for guess in ([0.9, 0.3, 1.2, 0.8], [-0.6, 0.8, -0.2, 1.1]):
        rest = zw.analysis.equilibrium(double, guess)
        assert np.max(np.abs(rest.gradient)) <= 1e-12
        x, y = rest.q[:2], rest.q[2:]
        # the same by hand: forces along the two rods' tangents
        along = np.array([-x[1], x[0]]), np.array([-(y - x)[1], (y - x)[0]])
        assert abs(along[0] @ [0.0, -3 * G]) <= 1e-11 and abs(along[1] @ [0.0, -G]) <= 1e-11


def test_the_minimum_is_left_from_no_saddle(double):
    # the guess is an equilibrium itself, a maximum
    rest = zw.analysis.equilibrium(double, [0.0, 1.0, 0.0, 1.5])
    np.testing.assert_allclose(rest.q, [0.0, -1.0, 0.0, -1.5], atol=1e-10)


def test_a_four_bar_with_a_spring_rests_where_its_closed_form_says():
    crank, mass, stiffness, offset = 0.6, 2.0, 40.0, 0.8
    model = systems.spring_four_bar(crank, 1.5, mass, stiffness, offset)
    start = crank * np.array([np.cos(0.9), np.sin(0.9)])
    rest = zw.analysis.equilibrium(model, [*start, start[0] + 1.5, start[1]])
    exact = np.arctan2(-mass * G, stiffness * offset)
    np.testing.assert_allclose(np.arctan2(rest.q[1], rest.q[0]), exact, atol=1e-12)
    # V'' = a √((m g)² + (k s)²) over the inertia m a²
    curvature = np.hypot(mass * G, stiffness * offset) / (mass * crank)
    np.testing.assert_allclose(rest.stiffness, [curvature], rtol=1e-11)
    np.testing.assert_allclose(
        rest.linearization.modes().frequencies, [np.sqrt(curvature) / (2 * np.pi)], rtol=1e-11
    )


@pytest.mark.one_in(3)
@pytest.mark.parametrize("speed", [2.0, 4.0, 5.0])
def test_the_angle_of_a_governor_follows_its_speed(speed):
    found = zw.analysis.equilibrium(systems.governor(), [0.0, 0.9], v=[speed, 0.0])
    exact = np.arccos(min(1.0, G / speed**2))
    np.testing.assert_allclose(found.q[1], exact, atol=1e-12)
    np.testing.assert_allclose(found.v, [speed, 0.0], atol=1e-12)
    assert found.steady and found.stable


def test_the_speed_of_a_governor_follows_an_angle_that_is_held():
    found = zw.analysis.equilibrium(systems.governor(), [0.0, 0.9], v=[4.0, 0.0], hold=["angle"])
    np.testing.assert_allclose(found.v[0], np.sqrt(G / np.cos(0.9)), rtol=1e-12)


@pytest.mark.slow
def test_a_tilted_disk_rolls_round_as_its_closed_form_asks():
    example = zw.gallery.load("rolling-disk", wobble=0.0)
    found = zw.analysis.equilibrium(example.model, example.q0, v=example.v0 + 0.01)
    axis = np.asarray(rotation_matrix(found.q[3:]))[:, 2]
    slant, turning, spin = np.arccos(axis[2]), np.linalg.norm(found.v[3:5]), found.v[5]
    precession = np.copysign(turning / np.sin(slant), example.v0[4])
    p = example.model.params
    exact = steady_spin(p["mass"][0], p["radius"], slant, precession, -p["gravity"][2])
    np.testing.assert_allclose(spin, exact, rtol=1e-9)
    assert found.steady and abs(spin - example.v0[5]) > 1e-4  # it is another one than the guess's


def test_an_unknown_parameter_is_found_that_holds_a_pendulum_up():
    system = zw.System(
        1, lambda q, t, p: jnp.ones(1), lambda q, v, t, p: p["torque"] - G * jnp.sin(q)
    )
    model = zw.Model(system, params={"torque": 0.0}, name="pendulum")
    found = zw.analysis.equilibrium(model, [0.4], inputs=["torque"])
    np.testing.assert_allclose(found.q, [0.4], atol=1e-15)
    np.testing.assert_allclose(found.inputs["torque"], G * np.sin(0.4), rtol=1e-13)
    assert found.params["torque"] == found.inputs["torque"]


def test_the_forces_of_redundant_rows_are_called_not_unique():
    rest = zw.analysis.equilibrium(systems.double_pendulum(copies=2), [0.5, -0.8, 0.7, -1.2])
    np.testing.assert_allclose(rest.q, [0.0, -1.0, 0.0, -1.5], atol=1e-12)
    assert not any(rest.unique.values())
    assert all(zw.analysis.equilibrium(systems.double_pendulum(), rest.q).unique.values())


def test_what_is_found_is_printed_saved_and_drawn(tmp_path, double):
    import xarray as xr

    rest = zw.analysis.equilibrium(double, [0.9, 0.3, 1.2, 0.8])
    assert "equilibrium, stable" in str(rest) and "unique" in str(rest)
    with xr.open_dataset(rest.save(tmp_path / "rest.nc")) as data:
        np.testing.assert_array_equal(data["q"], rest.q)
    assert rest.plot().save(tmp_path / "rest.svg").exists()


@pytest.mark.parametrize(
    "arguments, says",
    [
        ({"find": "lowest"}, "expected 'minimum' or 'nearest'"),
        ({"inputs": ["torqe"]}, "neither a parameter nor a velocity"),
        ({"hold": ["c.x"]}, "no coordinate or velocity"),
        ({"v": [1.0, 0.0, 0.0, 0.0]}, "no symmetry"),
    ],
)
def test_wrong_arguments_are_refused_by_a_sentence(double, arguments, says):
    with pytest.raises(zw.ModelError, match=says):
        zw.analysis.equilibrium(double, [0.6, -0.8, 1.0, -1.1], **arguments)


@pytest.mark.slow
def test_forces_that_cannot_balance_are_refused():
    falling = zw.Model(zw.System(1, lambda q, t, p: jnp.ones(1), lambda q, v, t, p: -G + 0 * q))
    with pytest.raises(zw.ModelError, match="no balance of forces"):
        zw.analysis.equilibrium(falling, [0.0])


def test_constraints_that_cannot_hold_are_refused():
    system = zw.System(2, lambda q, t, p: jnp.ones(2), lambda q, v, t, p: -q)
    apart = zw.Model(system, [zw.Holonomic(lambda q, t, p: q @ q + 1.0, name="rod")])
    with pytest.raises(zw.ModelError, match="no state on the constraints"):
        zw.analysis.equilibrium(apart, [1.0, 0.0])


def test_a_model_without_freedom_is_in_equilibrium():
    system = zw.System(2, lambda q, t, p: jnp.ones(2), lambda q, v, t, p: jnp.array([0.0, -G]))
    fixed = zw.Model(system, [zw.Holonomic(lambda q, t, p: q - 1.0, name="fixed")])
    rest = zw.analysis.equilibrium(fixed, [0.0, 0.0])
    np.testing.assert_allclose(rest.q, [1.0, 1.0], atol=1e-14)
    np.testing.assert_allclose(rest.multipliers, [0.0, G], atol=1e-13)
    assert rest.stable and len(rest.linearization.modes()) == 0 and str(rest)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("copies", [1, 2])
def test_where_an_equilibrium_moves_with_a_parameter_is_its_closed_form(copies):
    # a bob on a rod of length l, stated `copies` times, with a side force h: along (h, −m g)
    rod = lambda k: zw.Holonomic(lambda q, t, p: q @ q - p["length"] ** 2, name=f"rod {k}")
    system = zw.System(
        2, lambda q, t, p: jnp.ones(2), lambda q, v, t, p: jnp.stack([p["side"], -G])
    )
    model = zw.Model(system, [rod(k) for k in range(copies)], {"side": 3.0, "length": 0.8})
    rest = zw.analysis.equilibrium(model, [0.1, -0.8])
    exact = lambda h, l: l * jnp.stack([h, -G]) / jnp.hypot(h, G)
    for i, name in enumerate(("side", "length")):
        slope = jax.jit(jax.jacfwd(lambda x, name=name: rest.configuration({name: x})))
        found, wanted = slope((3.0, 0.8)[i]), jax.jacfwd(exact, i)(3.0, 0.8)
        np.testing.assert_allclose(found, wanted, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("find, up, stiffness", [("nearest", 1.0, -0.5), ("minimum", -1.0, 0.5)])
def test_a_search_may_start_in_a_singular_configuration(find, up, stiffness):
    # a parallelogram in line has two freedoms, its neighbors have one
    def loop(q, t, p):
        x = jnp.cos(q[0]) + 2 * jnp.cos(q[1]) - jnp.cos(q[2]) - 2
        return jnp.stack([x, jnp.sin(q[0]) + 2 * jnp.sin(q[1]) - jnp.sin(q[2])])

    system = zw.System(3, lambda q, t, p: jnp.ones(3), lambda q, v, t, p: -jnp.cos(q))
    model = zw.Model(system, [zw.Holonomic(loop, name="loop")])
    rest = zw.analysis.equilibrium(model, [np.pi, 0.0, np.pi], find=find)
    np.testing.assert_allclose(np.sin(rest.q), [up, 0.0, up], atol=1e-9)
    assert rest.stable is (find == "minimum") and np.sign(rest.stiffness[0]) == np.sign(stiffness)
