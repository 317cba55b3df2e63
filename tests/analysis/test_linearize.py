"""Linearizations compared with closed forms, other formulations and differences of motions."""

import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg
import scipy.optimize

import zwang as zw
from tests.analysis import systems
from tests.analysis.systems import G


@pytest.fixture(scope="module")
def cart():
    return zw.analysis.linearize(systems.cart_pole(), [0.0, 0.0, 0.0, 0.5], inputs=["push"])


@pytest.fixture(scope="module")
def disk():
    return systems.rolling_disk()


@pytest.mark.parametrize("n", [1, 5])
def test_a_chain_of_springs_has_the_frequencies_of_its_closed_form(n):
    linear = zw.analysis.linearize(systems.chain(n), np.zeros(n + 2))
    exact = 2 * np.sin(np.arange(1, n + 1) * np.pi / (2 * (n + 1)))
    np.testing.assert_allclose(linear.modes().frequencies * 2 * np.pi, exact, rtol=1e-12)
    assert linear.kind == "equilibrium" and len(linear.A) == 2 * n


def test_the_shapes_of_a_chain_are_those_of_its_closed_form():
    modes = zw.analysis.linearize(systems.chain(5), np.zeros(7)).modes()
    for j, mode in enumerate(modes, 1):
        exact = np.sin(j * np.pi * np.arange(7) / 6)
        np.testing.assert_allclose(
            mode.shape, exact / exact[np.argmax(abs(mode.shape))], atol=1e-11
        )


@pytest.mark.slow
def test_doubled_rows_change_nothing():
    once = zw.analysis.linearize(systems.chain(3), np.zeros(5))
    twice = zw.analysis.linearize(systems.chain(3, copies=2), np.zeros(5))
    np.testing.assert_allclose(twice.A, once.A, atol=1e-12)
    q = [0.6, -0.8, 0.9, -1.2]
    once = zw.analysis.linearize(systems.double_pendulum(), [0.0, -1.0, 0.0, -1.5])
    twice = zw.analysis.linearize(systems.double_pendulum(copies=2), [0.0, -1.0, 0.0, -1.5])
    for name in ("A", "C", "basis"):
        np.testing.assert_allclose(getattr(twice, name), getattr(once, name), atol=1e-12)
    assert zw.analysis.linearize(systems.double_pendulum(), q).kind == "moving state"  # it falls


@pytest.mark.slow
def test_doubled_rolling_rows_change_nothing(disk):
    q, v = systems.rolling_state(2.0)
    once, twice = (zw.analysis.linearize(m, q, v) for m in (disk, systems.rolling_disk(copies=2)))
    np.testing.assert_allclose(twice.A, once.A, atol=1e-12)


def test_the_basis_is_tangent_and_orthonormal_in_the_mass_metric():
    model = systems.double_pendulum()
    linear = zw.analysis.linearize(model, [0.0, -1.0, 0.0, -1.5])
    Y = linear.basis[:4, :2]
    M = np.diag([2.0, 2.0, 1.0, 1.0])
    np.testing.assert_allclose(Y.T @ M @ Y, np.eye(2), atol=1e-14)
    A = np.array([[0.0, -2.0, 0.0, 0.0], [0.0, 1.0, 0.0, -1.0]])
    np.testing.assert_allclose(A @ Y, 0.0, atol=1e-14)
    np.testing.assert_allclose(linear.project @ linear.basis, np.eye(4), atol=1e-14)


def test_the_descriptor_form_has_the_same_finite_eigenvalues():
    linear = zw.analysis.linearize(systems.double_pendulum(), [0.0, 1.0, 0.0, 1.5])
    E, A, _ = linear.descriptor
    found = scipy.linalg.eigvals(A, E)
    # multiple eigenvalues at infinity are computed as large finite ones
    found = np.sort_complex(found[np.isfinite(found) & (np.abs(found) < 1e3)])
    np.testing.assert_allclose(found.real, np.sort(linear.eigenvalues.real), rtol=1e-7)


def test_a_conical_pendulum_swings_about_its_circle():
    # ω² = Ω² (1 + 3 cos² θ), Ω² = g / (l cos θ)
    system = zw.System(3, lambda q, t, p: jnp.ones(3), lambda q, v, t, p: jnp.array([0.0, 0.0, -G]))
    model = zw.Model(system, [zw.Holonomic(lambda q, t, p: q @ q - 1.0, name="rod")])
    s, c = np.sin(0.7), np.cos(0.7)
    speed = np.sqrt(G / c)
    linear = zw.analysis.linearize(model, [s, 0.0, -c], [0.0, s * speed, 0.0])
    assert linear.kind == "steady motion" and linear.defect < 1e-12 and linear.stable
    fastest = np.max(linear.reduced().poles.imag)
    np.testing.assert_allclose(fastest, speed * np.sqrt(1 + 3 * c**2), rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name, diametral, factor",
    [("disk", 0.25, 1 / 3), pytest.param("hoop", 0.5, 1 / 4, marks=pytest.mark.slow)],
)
def test_a_rolling_wheel_is_stable_above_its_critical_speed(disk, name, diametral, factor):
    inertia = 0.25 * np.array([[diametral, diametral, 2 * diametral]])

    def about(speed):
        return zw.analysis.linearize(
            disk, *systems.rolling_state(speed), params={"inertia": inertia}
        )

    def squared(speed):
        """−λ² of the pair that is not zero throughout: two eigenvalues belong to the families of
        straight and of circular motions.
        """
        linear = about(speed)
        assert linear.kind == "steady motion" and linear.defect < 1e-12
        return np.poly(linear.reduced().A)[2]

    critical = scipy.optimize.brentq(squared, 0.5, 3.0, xtol=1e-10)
    exact = np.sqrt(factor * G * 0.5)
    assert abs(critical - exact) < 1e-6
    assert about(1.01 * exact).stable and not about(0.99 * exact).stable


def test_symmetries_of_a_rolling_disk_are_found(disk):
    linear = zw.analysis.linearize(disk, *systems.rolling_state(2.0))
    # both places, the heading and the angle of the wheel
    assert linear.neutral.shape == (8, 4)
    moved = linear.A @ linear.neutral
    # a heading lets the place drift: symmetries go into symmetries and into nothing else
    inside = linear.neutral @ linear.neutral.T @ moved
    np.testing.assert_allclose(moved, inside, atol=1e-12)


def test_the_linearization_of_a_cart_pole_is_that_of_its_closed_form(cart):
    # ẍ = (u + m g θ)/M and θ̈ = … : poles ±√((M + m) g/(M l)), zeros of the cart ±√(g/l)
    np.testing.assert_allclose(
        np.sort(cart.eigenvalues.real)[[0, 3]], [-np.sqrt(1.2 * G / 0.5), np.sqrt(1.2 * G / 0.5)]
    )
    seen = zw.analysis.linearize(
        systems.cart_pole(), [0.0, 0.0, 0.0, 0.5], inputs=["cart.x"], outputs=["cart.x"]
    )
    np.testing.assert_allclose(np.sort(seen.zeros().real), [-np.sqrt(2 * G), np.sqrt(2 * G)])
    # a force on the cart, as a parameter and as a generalized force
    np.testing.assert_allclose(seen.B, cart.B, atol=1e-14)


def test_states_that_no_input_reaches_are_named(cart):
    assert cart.controllability() and cart.observability()
    # a force on the middle mass of three does not reach the antisymmetric mode
    chain = zw.analysis.linearize(systems.chain(3), np.zeros(5), inputs=["q2"])
    reach = chain.controllability()
    assert not reach and (reach.rank, reach.n) == (4, 6)
    assert {x.removesuffix(" rate") for x in reach.missing} <= {"q1", "q3"}
    assert "4 of 6 states" in str(reach)


def test_other_packages_get_the_same_system(cart):
    control = pytest.importorskip("control")
    other = cart.to_control()
    assert isinstance(other, control.StateSpace) and other.input_labels == ["push"]
    np.testing.assert_allclose(np.sort(other.poles().real), np.sort(cart.poles.real), atol=1e-6)
    s = 0.3 + 2.0j
    by_hand = cart.C @ np.linalg.solve(s * np.eye(4) - cart.A, cart.B) + cart.D
    np.testing.assert_allclose(other(s), by_hand, atol=1e-12)
    np.testing.assert_array_equal(cart.to_scipy().A, cart.A)


def test_damping_is_that_of_the_closed_form():
    system = zw.System(1, lambda q, t, p: 2 * jnp.ones(1), lambda q, v, t, p: -8 * q - 0.8 * v)
    (mode,) = zw.analysis.linearize(zw.Model(system), [0.0]).modes()
    np.testing.assert_allclose([mode.frequency, mode.damping], [1 / np.pi, 0.1], rtol=1e-12)


def test_friction_that_depends_on_the_constraint_force_is_refused_and_viscous_friction_is_not():
    def model(nonideal):
        system = zw.System(
            2, lambda q, t, p: jnp.ones(2), lambda q, v, t, p: jnp.array([-q[0], -G])
        )
        return zw.Model(system, [zw.Holonomic(lambda q, t, p: q[1], nonideal=nonideal)])

    viscous = zw.analysis.linearize(model(lambda q, v, t, p, force: -0.2 * v), [0.0, 0.0])
    np.testing.assert_allclose(viscous.modes().damping, [0.1], rtol=1e-12)
    dry = model(lambda q, v, t, p, force: -0.3 * jnp.abs(force[1]) * jnp.tanh(v))
    with pytest.raises(zw.ModelError, match="Coulomb friction"):
        zw.analysis.linearize(dry, [0.0, 0.0])


def test_a_closed_loop_has_the_poles_of_its_gains():
    want = zw.Holonomic(lambda q, t, p: q[0] - 0.1, name="want")
    servo = zw.Servo(
        [want], lambda q, t, p: jnp.array([[1.0], [0.0]]), gains={"want": zw.servo.Poles(2.0, 3.0)}
    )
    system = zw.System(2, lambda q, t, p: jnp.ones(2), lambda q, v, t, p: -q)
    closed = zw.analysis.linearize(zw.Model(system, servo=servo), [0.1, 0.0])
    np.testing.assert_allclose(
        np.sort_complex(closed.poles), [-3.0, -2.0, -1.0j, 1.0j], rtol=1e-9, atol=1e-9
    )
    opened = zw.analysis.linearize(zw.Model(system, servo=servo), [0.0, 0.0], inputs=servo)
    np.testing.assert_allclose(opened.poles**2, -1.0, rtol=1e-12)
    assert opened.inputs == ("u0",) and opened.controllability().rank == 2


def test_along_a_trajectory_deviations_go_as_differences_of_motions_do():
    model = systems.double_pendulum()
    q, v = np.array([1.0, 0.0, 1.3, 0.4]), np.array([0.0, 0.5, 0.0, 0.5])
    times, z, eps = np.linspace(0.0, 0.5, 51), np.array([1.0, -0.5, 0.3, 0.2]), 1e-5
    run = zw.simulate(model, q, v, times=times, rtol=1e-12)
    along = zw.analysis.linearize(model, run.q, run.v, t=run.t)
    ends = []
    for sign in (1.0, -1.0):
        step = sign * eps * along.basis[0] @ z
        start = zw.consistent_state(model, q + step[:4], v + step[4:]).state
        end = zw.simulate(model, start.q, start.v, times=[0.0, 0.5], rtol=1e-12)
        ends.append(np.concatenate([end.q[-1], end.v[-1]]))
    moved = along.basis[-1] @ along.transition()[-1] @ z
    # the basis is carried along with an error of second order in the samples' distance, 0.01 s
    np.testing.assert_allclose(moved, (ends[0] - ends[1]) / (2 * eps), atol=2e-3)


def test_modes_are_printed_saved_and_drawn(tmp_path, cart):
    import xarray as xr

    assert "frequency [Hz]" in str(cart) and "grows" in str(cart)
    with xr.open_dataset(cart.modes().save(tmp_path / "modes.nc")) as data:
        assert data.sizes["mode"] == 4
    with xr.open_dataset(cart.save(tmp_path / "linear.nc")) as data:
        np.testing.assert_array_equal(data["A"], cart.A)
    assert cart.plot().save(tmp_path / "poles.svg").exists()


@pytest.mark.parametrize(
    "arguments, says",
    [
        ({"inputs": ["psh"]}, "did you mean 'push'"),
        ({"inputs": np.ones((3, 1))}, r"expected \(4, nu\)"),
        ({"outputs": ["cart.z"]}, "neither a coordinate nor a velocity"),
    ],
)
def test_wrong_arguments_are_refused_by_a_sentence(arguments, says):
    with pytest.raises(zw.ModelError, match=says):
        zw.analysis.linearize(systems.cart_pole(), [0.0, 0.0, 0.0, 0.5], **arguments)


def test_an_input_that_is_both_a_parameter_and_a_velocity_is_refused():
    force = lambda q, v, t, p: jnp.stack([p["x"]])
    system = zw.System(1, lambda q, t, p: jnp.ones(1), force, coordinates=("x",))
    model = zw.Model(system, [], {"x": 0.0}, name="slider")
    with pytest.raises(zw.ModelError, match="'x' is a parameter and a velocity of slider"):
        zw.analysis.linearize(model, [0.0], inputs="x")
    pushed = zw.analysis.linearize(model, [0.0], inputs=np.eye(1))
    np.testing.assert_array_equal(pushed.B, [[0.0], [1.0]])


def test_an_input_that_moves_the_constraints_is_refused():
    system = zw.System(2, lambda q, t, p: jnp.ones(2), lambda q, v, t, p: jnp.array([0.0, -G]))
    rod = zw.Holonomic(lambda q, t, p: q @ q - p["length"] ** 2, name="rod")
    model = zw.Model(system, [rod], {"length": 1.0})
    with pytest.raises(zw.ModelError, match="'length' moves the constraints"):
        zw.analysis.linearize(model, [0.0, -1.0], inputs=["length"])


def test_the_verdict_says_what_eigenvalues_leave_open():
    spring = zw.System(2, lambda q, t, p: jnp.eye(2), lambda q, v, t, p: jnp.array([0.0, -q[1]]))
    free = zw.analysis.linearize(zw.Model(spring, []), [0.0, 0.0])
    # a deviation of the first velocity grows with time, and not exponentially
    assert free.stable is False and free.verdict == "neutral: nothing brings q0 back"
    falling = zw.analysis.linearize(systems.cart_pole(), [0.0, 0.0, 0.3, 0.4])
    assert falling.kind == "moving state" and "verdict               undecided: " in str(falling)
    assert falling.stable is None
