"""Branches of equilibria compared with their closed forms."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw
from tests.analysis import systems
from tests.analysis.systems import G


@pytest.fixture(scope="module")
def driven():
    return systems.driven_governor()


@pytest.fixture(scope="module")
def upright(driven):
    return zw.analysis.continuation(driven, [0.0], over="speed", to=(2.0, 6.0))


@pytest.mark.slow
def test_the_pitchfork_of_a_governor_is_found(upright):
    (point,) = upright.branch_points
    assert abs(point.value - np.sqrt(G)) < 1e-8
    assert not upright.folds
    np.testing.assert_array_equal(upright.stable, upright.values < np.sqrt(G))


@pytest.mark.slow
def test_the_branch_that_bends_off_is_followed_from_its_tangent(driven, upright):
    (point,) = upright.branch_points
    off = next(x for x in point.tangents if abs(x[0][0]) > 0.5)
    np.testing.assert_allclose(off[1], 0.0, atol=1e-6)  # it leaves at right angles
    bent = zw.analysis.continuation(
        driven, point.q, over="speed", to=(2.0, 6.0), params={"speed": point.value}, tangent=off
    )
    np.testing.assert_allclose(np.cos(bent.q[1:, 0]), G / bent.values[1:] ** 2, rtol=1e-10)
    assert bent.stable.all() and bent.values[-1] > 6.0 and abs(bent.q[-1, 0]) > 1.0


@pytest.mark.slow
def test_the_pitchfork_is_found_in_steady_motion_over_a_velocity():
    model = systems.governor()
    branch = zw.analysis.continuation(model, [0.0, 0.0], v=[2.0, 0.0], over="spin", to=(2.0, 5.0))
    (point,) = branch.branch_points
    assert abs(point.value - np.sqrt(G)) < 1e-8
    np.testing.assert_allclose(branch.v[:, 0], branch.values, rtol=1e-10)
    assert len(point.tangents) == 2


@pytest.mark.slow
def test_folds_are_passed_and_found():
    # q³ − q + load = 0 turns round at q = ±1/√3
    system = zw.System(1, lambda q, t, p: jnp.ones(1), lambda q, v, t, p: -(q**3 - q) - p["load"])
    model = zw.Model(system, params={"load": 0.0}, name="snap-through")
    branch = zw.analysis.continuation(model, [1.0], over="load", to=(-1.0, 1.0))
    first, second = branch.folds
    assert abs(first.value - 2 / 27**0.5) < 1e-8 and abs(second.value + 2 / 27**0.5) < 1e-8
    np.testing.assert_allclose([first.q[0], second.q[0]], [3**-0.5, -(3**-0.5)], atol=1e-6)
    np.testing.assert_allclose(branch.q[:, 0] ** 3 - branch.q[:, 0], -branch.values, atol=1e-10)
    np.testing.assert_array_equal(branch.stable, 3 * branch.q[:, 0] ** 2 > 1)


def test_a_branch_is_printed_saved_and_drawn(tmp_path, upright):
    import xarray as xr

    assert "branch point at 3.132" in str(upright)
    with xr.open_dataset(upright.save(tmp_path / "branch.nc")) as data:
        np.testing.assert_array_equal(data["speed"], upright.values)
    assert upright.plot("angle").save(tmp_path / "branch.svg").exists()


def test_an_unknown_parameter_is_refused(driven):
    with pytest.raises(zw.ModelError, match="no parameter or velocity 'sped'"):
        zw.analysis.continuation(driven, [0.0], over="sped", to=(2.0, 6.0))
    with pytest.raises(zw.ModelError, match="needs a steady motion"):
        zw.analysis.continuation(driven, [0.0], over="angle", to=(2.0, 6.0))


@pytest.fixture(scope="module")
def oscillator():
    """x¨ + (c − push) ẋ + x = 0; its damping is c − push."""
    system = zw.System(
        1,
        lambda q, t, p: jnp.ones(1),
        lambda q, v, t, p: -q - (p["damping"] - p["push"]) * v - q**3,
        coordinates=("x",),
    )
    return zw.Model(system, params={"damping": 0.3, "push": 0.0}, name="oscillator")


def test_a_hopf_point_is_found_where_damping_vanishes(oscillator):
    branch = zw.analysis.continuation(oscillator, [0.0], over="push", to=(0.0, 1.0))
    (point,) = branch.hopf_points
    assert branch.special == (point,) and abs(point.value - 0.3) < 1e-9
    assert abs(point.eigenvalue - 1j) < 1e-9 and "Hopf point at 0.3, eigenvalue 1i" in str(point)


def test_critical_damping_is_a_double_eigenvalue(oscillator):
    branch = zw.analysis.continuation(oscillator, [0.0], over="damping", to=(0.0, 4.0))
    (point,) = branch.special
    assert point.kind == "double eigenvalue" and abs(point.value - 2.0) < 1e-9
    assert abs(point.eigenvalue + 1) < 1e-6


@pytest.mark.slow
def test_a_column_under_a_follower_force_flutters_at_zieglers_load():
    # masses 2 and 1, unit lengths and springs: P = 7/2 − √2 (Ziegler 1952)
    M, K = jnp.array([[3.0, 1.0], [1.0, 1.0]]), jnp.array([[2.0, -1.0], [-1.0, 1.0]])
    N = jnp.array([[1.0, -1.0], [0.0, 0.0]])
    system = zw.System(2, lambda q, t, p: M, lambda q, v, t, p: -(K - p["load"] * N) @ q)
    model = zw.Model(system, params={"load": 0.0}, name="Ziegler's column")
    branch = zw.analysis.continuation(model, [0.0, 0.0], over="load", to=(0.0, 4.0))
    first = branch.special[0]
    assert first.kind == "double eigenvalue" and abs(first.value - (3.5 - 2**0.5)) < 1e-8
    np.testing.assert_array_equal(branch.stable[:5], True)
    assert not branch.stable[branch.values > first.value].any()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["b.wy", "b.wx", "b.wz"])
def test_a_family_of_many_steady_motions_is_followed_with_the_least_change(name):
    # a free body turns about a principal axis: seven parameters, of which the spin is followed
    body = zw.bodies.Body("b", 1.0, (0.1, 0.2, 0.3))
    made = zw.bodies.RigidBodies([body], gravity=(0.0, 0.0, 0.0))
    model = zw.Model(made.system, [], made.params, name="free body")
    q, v = np.array([0.0, 0, 0, 1, 0, 0, 0]), np.zeros(6)
    axis = 3 + ("b.wx", "b.wy", "b.wz").index(name)
    v[axis] = 2.0
    branch = zw.analysis.continuation(model, q, v=v, over=name, to=(2.0, 2.5))
    assert branch.values[-1] >= 2.5
    np.testing.assert_allclose(np.delete(branch.points[-1].v, axis), 0.0, atol=1e-9)
    # Euler: the axis of the middle moment of inertia is unstable
    assert (branch.stable == (name != "b.wy")).all()


COLUMN = zw.Model(
    zw.System(1, lambda q, t, p: jnp.ones(1), lambda q, v, t, p: -q + p["P"] * jnp.sin(q)),
    params={"P": 1.0},
    name="column",
)
"""A column after buckling: q = P sin q."""


@pytest.mark.slow
@pytest.mark.parametrize("low", [1.05, 1.0])
def test_a_branch_that_starts_at_an_end_of_its_range_or_before_it_comes_in(low):
    branch = zw.analysis.continuation(COLUMN, [0.0], over="P", to=(low, 2.0), tangent=([1.0], 0.0))
    assert branch.values[-1] >= 2.0
    q = branch.q[1:, 0]
    np.testing.assert_allclose(q, branch.values[1:] * np.sin(q), atol=1e-8)


@pytest.mark.slow
def test_the_verdict_on_a_branch_is_that_on_its_points():
    """Where eigenvalues alone see nothing: x⁴ grows less steep until it turns round at load 0."""
    system = zw.System(
        1, lambda q, t, p: jnp.ones(1), lambda q, v, t, p: -p["load"] * q**3, coordinates=("x",)
    )
    model = zw.Model(system, params={"load": 1.0}, name="flat")
    branch = zw.analysis.continuation(model, [0.0], over="load", to=(-1.0, 1.0), step=0.5)
    assert np.abs(branch.eigenvalues).max() < 1e-12
    load = branch.values
    assert np.any(load > 0.1) and np.any(load < -0.1)
    np.testing.assert_array_equal(branch.stable[load > 0.1], True)
    np.testing.assert_array_equal(branch.stable[load < -0.1], False)
    assert branch.verdicts == tuple(point.verdict for point in branch.points)
    assert [bool(x.stable) for x in branch.points] == list(branch.stable)


def test_a_branch_of_open_verdicts_is_drawn_as_open():
    """Gyroscopic forces hold a saddle to first order, and a brake makes the verdict open or false,
    never "stable".
    """
    force = lambda q, v, t, p: jnp.stack(
        [q[0] + p["spin"] * v[1] - 1e-3 * v[0] ** 3, q[1] - p["spin"] * v[0] - 1e-3 * v[1] ** 3]
    )
    system = zw.System(2, lambda q, t, p: jnp.ones(2), force)
    model = zw.Model(system, params={"spin": 3.0}, name="saddle")
    branch = zw.analysis.continuation(model, [0.0, 0.0], over="spin", to=(3.0, 4.0), step=0.5)
    assert np.max(branch.eigenvalues.real) < 1e-9  # which the eigenvalues alone call stable
    assert not branch.stable.any() and all(x.stable is None for x in branch.points)
    assert all(x.startswith("undecided: only gyroscopic") for x in branch.verdicts)
    assert [c.label for c in branch.plot().panels[0].curves] == ["open"]


@pytest.mark.slow
def test_the_growth_beside_a_hopf_point_has_its_closed_form(oscillator):
    # σ² + (c − push) σ + 1 = 0, so dσ/dpush = σ/(2 σ + c − push) = 1/2 where push = c
    (point,) = zw.analysis.continuation(oscillator, [0.0], over="push", to=(0.0, 1.0)).hopf_points
    assert point.slope is not None and abs(point.slope - 0.5) < 1e-9
    (back,) = zw.analysis.continuation(
        oscillator, [0.0], over="push", to=(0.0, 1.0), params={"push": 1.0}
    ).hopf_points
    assert back.slope is not None and abs(back.slope - 0.5) < 1e-9  # whichever way it is followed


@pytest.mark.slow
def test_the_growth_beside_a_hopf_point_follows_the_equilibrium():
    """The damping 1 − x² changes only as the place x = c³ + c moves:
    σ² + (1 − x²) σ + 1 + c = 0.
    """

    def force(q, v, t, p):
        c = p["push"]
        return (q**2 - 1) * v - (1 + c) * (q - c**3 - c)

    system = zw.System(1, lambda q, t, p: jnp.ones(1), force, coordinates=("x",))
    model = zw.Model(system, params={"push": 0.2}, name="self-excited")
    branch = zw.analysis.continuation(model, [0.2], over="push", to=(0.2, 1.0))
    (point,) = branch.hopf_points
    c = point.value
    assert abs(c**3 + c - 1) < 1e-9
    assert point.slope is not None
    assert abs(point.slope - (3 * c**2 + 1 + 0.5j / np.sqrt(1 + c))) < 1e-8
    assert f"whose real part changes by {3 * c**2 + 1:+.6g} per unit of push" in str(branch)
    shown = branch.dataset.set_index(special="special_kind")["special_growth_slope"]
    assert shown.sel(special="Hopf point") == point.slope.real
    assert np.isnan(shown.sel(special="double eigenvalue"))


@pytest.mark.slow
def test_the_growth_beside_a_hopf_point_of_a_shaft_by_its_speed():
    """Jeffcott's rotor with outer and inner damping a, b whirls from Ω = √k (1 + a/b) on:

    z̈ + (a + b) ż + (k − i b Ω) z = 0,    z = x + i y
    """
    k, outer, inner = 4.0, 0.2, 0.1
    damping = outer + inner

    def force(q, v, t, p):
        side = inner * v[0]
        return jnp.stack(
            [
                0.0 * v[0],
                -k * q[1] - damping * v[1] - side * q[2],
                -k * q[2] - damping * v[2] + side * q[1],
            ]
        )

    system = zw.System(3, lambda q, t, p: jnp.ones(3), force, coordinates=("turn", "x", "y"))
    model = zw.Model(system, name="shaft")
    v = [5.0, 0.0, 0.0]
    branch = zw.analysis.continuation(model, [0.0, 0.0, 0.0], v=v, over="turn", to=(5.0, 7.0))
    (point,) = branch.hopf_points
    assert abs(point.value - 2.0 * (1 + outer / inner)) < 1e-8
    assert point.slope is not None
    assert abs(point.slope - 1j * inner / (2 * point.eigenvalue + damping)) < 1e-9
    modes = zw.analysis.linearize(model, point.q, point.v).modes()
    (i,) = np.flatnonzero([abs(x.eigenvalue - point.eigenvalue) < 1e-6 for x in modes])
    growth = lambda speed: modes.eigenvalues(None, speed * jnp.array([1.0, 0.0, 0.0]))[i].real
    assert abs(jax.grad(growth)(point.value) - point.slope.real) < 1e-9
