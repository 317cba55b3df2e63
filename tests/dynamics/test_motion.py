"""The equation of motion at one instant: laws that hold for every model."""

import copy
import weakref

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw
from tests.models import every_kind, free_particle, pendulum, random_state


def test_motion_obeys_newton_and_the_constraints():
    """M v̇ = F + Q_c and A v̇ = b to round-off of a system of condition 1e2."""
    model = every_kind()
    q, v, t = random_state(model)
    m = zw.motion(model, q, v, t)
    M = model.system.mass_matrix(jnp.asarray(q), t, None)
    F = model.system.force(jnp.asarray(q), jnp.asarray(v), t, None)
    assert np.allclose(M @ m.acceleration, F + m.constraint_force, atol=1e-11)
    assert np.allclose(m.matrix @ m.acceleration, m.rhs, atol=1e-11)
    assert np.allclose(sum(m.by_constraint.values()), m.constraint_force, atol=1e-12)
    assert np.allclose(m.matrix.T @ m.multipliers, m.ideal_force, atol=1e-12)


def test_ideal_constraint_force_does_no_virtual_work():
    model = every_kind()
    m = zw.motion(model, *random_state(model))
    displacements = np.linalg.svd(np.asarray(m.matrix))[2][int(m.rank) :]
    assert (
        np.abs(displacements @ np.asarray(m.constraint_force)).max(initial=0.0) < 1e-11
    )  # round-off


def test_acceleration_is_the_nearest_to_the_free_one_in_the_mass_metric():
    """Gauss: any other acceleration that obeys A v̇ = b is farther from a."""
    model = pendulum()
    m = zw.motion(model, [0.6, -0.8], [0.8, 0.6])
    free, tangent = np.array([0.0, -9.81]), np.array([0.8, 0.6])

    def distance(s):
        return np.sum((np.asarray(m.acceleration) + s * tangent - free) ** 2)

    assert all(distance(0.0) < distance(s) for s in (-1e-3, 1e-3, 0.5))


def test_without_constraints_the_acceleration_is_the_free_one():
    free = zw.Model(pendulum().system, params=pendulum().params)
    m = zw.motion(free, [0.6, -0.8], [0.8, 0.6])
    assert np.allclose(m.acceleration, [0.0, -9.81], atol=1e-14) and m.matrix.shape == (0, 2)


def test_repeated_rows_share_the_force_and_change_nothing_else():
    once = zw.motion(pendulum(), [0.6, -0.8], [0.8, 0.6])
    system, rod = pendulum().system, pendulum().constraints.members[0]
    again = [zw.Holonomic(rod.phi, name=f"rod {i}") for i in range(4)]
    four = zw.motion(zw.Model(system, again, pendulum().params), [0.6, -0.8], [0.8, 0.6])
    assert np.allclose(four.acceleration, once.acceleration, atol=1e-13)
    assert np.allclose(
        four.multipliers, float(once.multipliers[0]) / 4, rtol=1e-9
    )  # proximal leaves 1e-10
    assert int(four.rank) == 1


def test_multipliers_of_redundant_rows_do_not_depend_on_the_rows_units():
    """Least norm is taken at unit row length, so each repeated row carries the same force whatever
    its unit.
    """
    system, rod = pendulum().system, pendulum().constraints.members[0]
    scaled = [
        zw.Holonomic(lambda q, t, p, k=k: k * rod.phi(q, t, p), name=f"rod * {k:g}")
        for k in (1.0, 1e6)
    ]
    m = zw.motion(zw.Model(system, scaled, pendulum().params), [0.6, -0.8], [0.8, 0.6])
    forces = [np.asarray(f) for f in m.by_constraint.values()]
    assert np.allclose(forces[0], forces[1], rtol=1e-9)  # proximal leaves 1e-10


def test_a_row_that_vanishes_identically_changes_nothing():
    """A row that is zero up to round-off must not be blown up into a constraint."""
    system, rod = pendulum().system, pendulum().constraints.members[0]
    nothing = zw.Holonomic(
        lambda q, t, p: jnp.sin(q[0]) ** 2 + jnp.cos(q[0]) ** 2 - 1.0 + 0 * q[1], name="nothing"
    )
    m = zw.motion(zw.Model(system, [rod, nothing], pendulum().params), [0.6, -0.8], [0.8, 0.6])
    assert np.allclose(
        m.acceleration, zw.motion(pendulum(), [0.6, -0.8], [0.8, 0.6]).acceleration, atol=1e-13
    )


def test_nonideal_force_acts_only_along_what_the_constraints_allow():
    """Coulomb friction on an incline: a = g (sin θ − μ cos θ) (servo paper, eq. 13)."""
    mu, theta = 0.2, np.pi / 6

    def friction(q, v, t, p, ideal):
        return -mu * jnp.linalg.norm(ideal) * v / jnp.linalg.norm(v)

    plane = zw.Holonomic(
        lambda q, t, p: jnp.sin(theta) * q[0] + jnp.cos(theta) * q[1],
        name="plane",
        nonideal=friction,
    )
    model = zw.Model(free_particle(2, F=[0.0, -9.81]), [plane])
    down = np.array([np.cos(theta), -np.sin(theta)])
    m = zw.motion(model, [0.0, 0.0], down)
    assert np.isclose(
        m.acceleration @ down, 9.81 * (np.sin(theta) - mu * np.cos(theta)), rtol=1e-14
    )
    assert np.isclose(m.nonideal_force @ down, -mu * 9.81 * np.cos(theta), rtol=1e-14)


def test_parts_of_a_nonideal_constraint_have_ideal_forces_of_their_own():
    """Friction of two inclines that hold one particle, as one constraint with two parts and as two
    constraints.
    """
    slopes = jnp.array([[1.0, 2.0, 0.0], [0.0, 1.0, 3.0]])
    friction = lambda v, ideal: -0.2 * jnp.linalg.norm(ideal) * v / jnp.linalg.norm(v)
    together = zw.Holonomic(
        lambda q, t, p: slopes @ q,
        name="inclines",
        parts=["first", "second"],
        nonideal=lambda q, v, t, p, ideal: jax.vmap(lambda own: friction(v, own))(ideal),
    )
    apart = [
        zw.Holonomic(
            lambda q, t, p, i=i: slopes[i] @ q,
            name=n,
            nonideal=lambda q, v, t, p, ideal: friction(v, ideal),
        )
        for i, n in enumerate(["first", "second"])
    ]
    state = [0.0, 0.0, 0.0], [6.0, -3.0, 1.0]
    found, expected = (
        zw.motion(zw.Model(free_particle(3, F=[1.0, -5.0, 2.0]), c), *state)
        for c in ([together], apart)
    )
    assert np.abs(expected.nonideal_force).max() > 0.1
    assert np.allclose(found.acceleration, expected.acceleration, rtol=0, atol=1e-14)
    for name in ("first", "second"):
        assert np.allclose(
            found.by_constraint[name], expected.by_constraint[name], rtol=0, atol=1e-14
        )
    whole = zw.Holonomic(
        lambda q, t, p: slopes @ q,
        name="inclines",
        parts=["first", "second"],
        nonideal=lambda q, v, t, p, ideal: v,
    )
    with pytest.raises(
        zw.ModelError, match=r"'inclines': nonideal returns shape \(3,\), expected \(2, 3\)"
    ):
        zw.motion(zw.Model(free_particle(3, F=[1.0, -5.0, 2.0]), [whole]), *state)


@pytest.mark.parametrize("form", ["diagonal", "dense", "block"])
def test_the_form_of_the_mass_matrix_does_not_matter(form):
    blocks = np.array([[[2.0, 0.3], [0.3, 1.0]], [[3.0, -0.2], [-0.2, 4.0]]])
    if form == "diagonal":
        blocks = blocks * np.eye(2)
    dense = np.zeros((4, 4))
    dense[:2, :2], dense[2:, 2:] = blocks
    given = {"diagonal": np.diag(dense), "dense": dense, "block": blocks}[form]
    constraint = zw.Holonomic(lambda q, t, p: jnp.stack([q @ q - 1.0, q[0] + q[3]]), name="c")
    q, v = np.array([0.5, 0.5, 0.5, -0.5]), np.array([0.1, 0.2, -0.1, 0.3])
    m = zw.motion(zw.Model(free_particle(4, given, [1.0, 2.0, 3.0, 4.0]), [constraint]), q, v)
    A, b, a = np.asarray(m.matrix), np.asarray(m.rhs), np.linalg.solve(dense, [1.0, 2.0, 3.0, 4.0])
    force = A.T @ np.linalg.solve(A @ np.linalg.solve(dense, A.T), b - A @ a)
    assert np.allclose(m.acceleration, a + np.linalg.solve(dense, force), atol=1e-13)


@pytest.mark.slow
def test_motion_is_differentiable_and_batched_in_state_and_parameters():
    """Against central differences with step 1e-6: 1e-8."""
    model = pendulum()

    @jax.jit
    def tension(length):
        q = length * jnp.array([0.6, -0.8])
        return zw.motion(model, q, jnp.array([0.8, 0.6]), params={"length": length}).multipliers[0]

    numeric = (tension(2.0 + 1e-6) - tension(2.0 - 1e-6)) / 2e-6
    assert np.isclose(jax.jit(jax.grad(tension))(2.0), numeric, atol=1e-8)
    assert np.isclose(jax.jit(jax.jacfwd(tension))(2.0), numeric, atol=1e-8)
    lengths = jnp.array([1.0, 2.0, 3.0])
    assert np.allclose(
        jax.jit(jax.vmap(tension))(lengths), [tension(x) for x in lengths], rtol=1e-12
    )


def test_derivatives_stay_finite_where_the_constraints_lose_rank():
    """Two rods along one line (rank 1 of 2)."""
    rods = zw.Holonomic(
        lambda q, t, p: jnp.stack(
            [
                q[:2] @ q[:2] - 1.0,
                (q[:2] - jnp.array([2.0, 0.0])) @ (q[:2] - jnp.array([2.0, 0.0])) - 1.0,
            ]
        )
    )
    model = zw.Model(free_particle(2, F=[0.0, -9.81]), [rods])
    acceleration = lambda q: zw.motion(model, q, jnp.zeros(2), throw=False).acceleration
    gradient = jax.jit(jax.jacrev(acceleration))(jnp.array([1.0, 0.0]))
    assert np.all(np.isfinite(gradient))


def test_massless_coordinate_held_by_a_constraint_moves_with_it():
    """A massless slider x₂ = x₁ on a mass under force 3: a = 3 for both, and the multiplier is 0
    (nothing to accelerate).
    """
    slider = zw.Holonomic(lambda q, t, p: q[1] - q[0], name="slider")
    model = zw.Model(free_particle(2, [1.0, 0.0], [3.0, 0.5]), [slider], singular_mass=True)
    m = zw.motion(model, [0.0, 0.0], [0.0, 0.0])
    assert np.allclose(m.acceleration, [3.5, 3.5], atol=1e-13)
    assert np.allclose(m.multipliers, [-0.5], atol=1e-13)
    assert np.allclose(m.constraint_force, [0.5, -0.5], atol=1e-13)


def test_a_singular_mass_matrix_is_found_without_being_named():
    slider = zw.Holonomic(lambda q, t, p: q[1] - q[0], name="slider")
    system = free_particle(2, [1.0, 0.0], [3.0, 0.5])
    found = zw.motion(zw.Model(system, [slider]), [0.0, 0.0], [0.0, 0.0])
    named = zw.motion(zw.Model(system, [slider], singular_mass=True), [0.0, 0.0], [0.0, 0.0])
    assert np.array_equal(found.acceleration, named.acceleration)


def test_a_direction_without_mass_and_without_constraint_is_refused():
    system = free_particle(3, [1.0, 0.0, 0.0])
    model = zw.Model(system, [zw.Holonomic(lambda q, t, p: q[1] - q[0], name="slider")])
    with pytest.raises(zw.ModelError, match="without mass|neither mass nor a constraint"):
        zw.motion(model, [0.0, 0.0, 0.0], [0.0, 0.0, 0.0])
    with pytest.raises(zw.ModelError, match="neither mass nor a constraint"):
        zw.simulate(model, [0.0, 0.0, 0.0], [0.0, 0.0, 0.0], duration=1.0)


def test_contradictory_constraints_are_refused_with_their_names():
    model = zw.Model(
        free_particle(2),
        [
            zw.Holonomic(lambda q, t, p: q[0], name="still"),
            zw.Holonomic(lambda q, t, p: q[0] - t**2, name="moving"),
        ],
    )
    with pytest.raises(zw.ModelError, match="contradict each other.*(still|moving)"):
        zw.motion(model, [0.0, 0.0], [0.0, 0.0])


def test_a_parameter_changed_in_place_is_used_by_all_that_follows():
    """`model.params["length"] = 2` once left a start bound to the old length."""
    model = pendulum().with_params({"length": 1.0})  # others share that one
    zw.consistent_state(model, [1.0, 0.0], [0.0, 0.0])
    zw.motion(model, [1.0, 0.0], [0.0, 0.0])
    model.params["length"] = 2
    assert np.allclose(zw.consistent_state(model, [1.0, 0.0], [0.0, 0.0]).state.q, [2.0, 0.0])
    with pytest.raises(zw.ModelError, match="phi = "):
        zw.simulate(model, [1.0, 0.0], [0.0, 0.0], duration=1.0)
    assert np.isclose(zw.motion(model, [2.0, 0.0], [0.0, 2.0]).acceleration[0], -2.0)
    model.params["lenght"] = model.params["length"]
    with pytest.raises(zw.ModelError, match="unknown parameter 'lenght'.*'length'"):
        zw.motion(model, [2.0, 0.0], [0.0, 2.0])
    del model.params["lenght"], model.params["length"]
    with pytest.raises(zw.ModelError, match="has lost its parameter 'length'"):
        zw.motion(model, [2.0, 0.0], [0.0, 2.0])


def test_numbers_of_a_parameter_that_is_an_array_of_numpy_are_read_at_each_call():
    size, found = np.array(2.0), []
    force = lambda q, v, t, p: -p["k"] * q
    model = zw.Model(zw.System(1, lambda q, t, p: jnp.ones(1), force), [], params={"k": 1.0})
    model.params["k"] = size
    for k in (2.0, 4.0):
        size[...] = k
        found.append(float(zw.motion(model, [1.0], [0.0]).acceleration[0]))
    assert found == [-2.0, -4.0]


def test_a_motion_keeps_its_numbers_and_is_let_go():
    """Calls share the memory that they compute in, and none of it is the caller's."""
    model, q = pendulum(), np.array([0.6, -0.8])
    first = zw.motion(model, q, np.array([0.8, 0.6]))
    before = np.array(first.acceleration)
    second = zw.motion(model, q, np.array([1.6, 1.2]))
    assert np.array_equal(first.acceleration, before)
    assert not np.array_equal(second.acceleration, before)
    gone = weakref.ref(first), weakref.ref(copy.copy(second))
    del first
    assert gone[0]() is None and gone[1]() is None


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", [0, 1])
def test_a_state_that_is_not_finite_is_refused(bad, place):
    q = np.array([0.6, -0.8])
    q[place] = bad
    with pytest.raises(zw.ModelError, match=rf"q\[{place}\] is {bad}, expected a finite number"):
        zw.motion(pendulum(), q, np.zeros(2))
    with pytest.raises(zw.ModelError, match=r"q has shape \(3,\), expected \(2,\)"):
        zw.motion(pendulum(), np.zeros(3), np.zeros(2))


@pytest.mark.slow
def test_second_derivatives_are_those_of_the_closed_form_in_every_order():
    """`v̇ = a − q (v² + q·a)/q²` of a pendulum, forward over reverse as in `jax.hessian`, too."""
    model, gravity = pendulum(), np.array([0.0, -9.81])

    def closed(z):
        q, v = z[:2], z[2:]
        return jnp.sum((gravity - q * (v @ v + q @ gravity) / (q @ q)) ** 2)

    found = lambda z: jnp.sum(zw.motion(model, z[:2], z[2:]).acceleration ** 2)
    z = jnp.array([0.6, -0.8, 0.8, 0.6])
    expected = jax.hessian(closed)(z)
    for outer, inner in ((jax.jacfwd, jax.jacrev), (jax.jacrev, jax.jacfwd)):
        assert np.allclose(outer(inner(found))(z), expected, rtol=0, atol=1e-10)
