"""Initial states and wrong input: one sentence each, never a silent correction."""

import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw
from tests.models import free_particle, pendulum


def sentence(*parts):
    """A matcher for a ModelError that is one sentence holding every part."""

    def check(error: zw.ModelError):
        text = str(error)
        return "\n" not in text and len(text) < 400 and all(part in text for part in parts)

    return pytest.raises(zw.ModelError, check=check)


def test_consistent_state_moves_as_little_as_possible_and_says_how_far():
    """The nearest point of the unit circle to (1.1, 0), and the tangent part of (0.2, 1)."""
    placed = zw.consistent_state(pendulum(), [1.1, 0.0], [0.2, 1.0])
    assert np.allclose(placed.state.q, [1.0, 0.0], atol=1e-14) and np.allclose(
        placed.state.v, [0.0, 1.0], atol=1e-14
    )
    assert (
        np.isclose(placed.moved_q, 0.1)
        and np.isclose(placed.moved_v, 0.2)
        and bool(placed.converged)
    )


def test_consistent_state_is_found_from_far_away():
    placed = zw.consistent_state(pendulum(), [30.0, -40.0])
    assert np.allclose(placed.state.q, [0.6, -0.8], atol=1e-12)


def test_a_constraint_nonlinear_in_velocity_is_met_from_far_away():
    speed = zw.Nonholonomic(lambda q, v, t, p: v @ v - 1.0, name="speed")
    placed = zw.consistent_state(zw.Model(free_particle(2), [speed]), [0.0, 0.0], [3.0, 4.0])
    assert np.allclose(placed.state.v, [0.6, 0.8], atol=1e-12)


def test_no_consistent_state_is_said_with_the_worst_constraint():
    impossible = zw.Holonomic(lambda q, t, p: q @ q + 1.0, name="impossible")
    with sentence("no consistent state", "'impossible'"):
        zw.consistent_state(zw.Model(free_particle(2), [impossible]), [1.0, 0.5])


def test_an_inconsistent_start_is_refused_with_its_size_and_the_cure():
    with sentence(
        "off the constraints", "'rod'", "phi = 0.21", "consistent_state", "start_tolerance"
    ):
        zw.simulate(pendulum(), [1.1, 0.0], [0.0, 0.0], duration=1.0)
    with sentence("velocity level", "'rod'", "psi = 2"):
        zw.simulate(pendulum(), [1.0, 0.0], [1.0, 0.0], duration=1.0)


def test_a_small_violation_of_the_start_is_removed_and_reported():
    run = zw.simulate(pendulum(), [1.0 + 1e-9, 0.0], [0.0, 0.0], duration=0.1)
    assert (
        np.isclose(run.attrs["start_moved_q"], 1e-9, rtol=1e-5) and abs(run.q[0, 0] - 1.0) < 1e-15
    )


def test_contradictory_constraints_are_refused():
    model = zw.Model(
        free_particle(2),
        [
            zw.Holonomic(lambda q, t, p: q[0], name="still"),
            zw.Holonomic(lambda q, t, p: q[0] - t**2, name="moving"),
        ],
    )
    with sentence("contradict", "'still'", "'moving'"):
        zw.simulate(model, [0.0, 0.0], [0.0, 0.0], duration=1.0)


def test_a_function_that_returns_nan_is_named():
    root = zw.Holonomic(lambda q, t, p: jnp.sqrt(q[0] - 3.0), name="root")
    with sentence("'root'", "NaN"):
        zw.simulate(zw.Model(free_particle(2), [root]), [1.0, 0.0], [0.0, 0.0], duration=1.0)


def test_a_force_that_returns_nan_is_refused_at_the_start():
    system = zw.System(1, lambda q, t, p: jnp.ones(1), lambda q, v, t, p: jnp.log(q))
    with sentence("NaN or infinite", "force"):
        zw.simulate(zw.Model(system), [-1.0], [0.0], duration=1.0)


def test_a_massless_free_direction_is_named():
    model = zw.Model(free_particle(2, [1.0, 0.0]), [zw.Holonomic(lambda q, t, p: q[0] ** 2 - 1.0)])
    with sentence("'q1'", "neither mass nor a constraint"):
        zw.simulate(model, [1.0, 0.0], [0.0, 0.0], duration=1.0)


def test_a_negative_mass_is_named():
    with sentence("not positive", "'q1'"):
        zw.simulate(zw.Model(free_particle(2, [1.0, -1.0])), [1.0, 0.0], [0.0, 0.0], duration=1.0)


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (
            {"duration": 1.0, "params": {"lenght": 2.0}},
            ("unknown parameter 'lenght'", "did you mean 'length'"),
        ),
        ({"duration": -1.0}, ("duration is -1.0",)),
        ({"duration": 1.0, "times": [1.0]}, ("either duration", "not both")),
        ({}, ("either duration",)),
        ({"times": [1.0, 0.5]}, ("increasing",)),
        ({"duration": 1.0, "rtol": 0.0}, ("rtol is 0.0",)),
        ({"duration": 1.0, "step": -0.1}, ("step is -0.1",)),
        ({"duration": 1.0, "atol": [1.0, 2.0, 3.0]}, ("atol", "(3,)")),
        ({"duration": 1.0, "samples": 1}, ("samples is 1",)),
    ],
)
def test_a_wrong_argument_is_one_sentence(arguments, parts):
    with sentence(*parts):
        zw.simulate(pendulum(), [1.0, 0.0], [0.0, 0.0], **arguments)


def test_wrong_shapes_are_named_with_what_was_expected():
    with sentence("q has shape (3,)", "(2,)", "x, y"):
        zw.simulate(pendulum(), [1.0, 0.0, 0.0], [0.0, 0.0], duration=1.0)
    with sentence("mass_matrix", "(3,)", "(2,) diagonal"):
        zw.Model(free_particle(2, np.ones(3)))
    with sentence("force(q, v, t, p) returns shape (3,)"):
        zw.Model(zw.System(2, lambda q, t, p: jnp.ones(2), lambda q, v, t, p: jnp.zeros(3)))
    with sentence("nq = 4 and nv = 3", "velocity_map"):
        zw.System(4, lambda q, t, p: jnp.ones(3), lambda q, v, t, p: jnp.zeros(3), nv=3)
    with sentence("constraints is one Holonomic", "expected a list"):
        zw.Model(free_particle(2), zw.Holonomic(lambda q, t, p: q[0]))  # type: ignore
    with sentence("params['length'] holds 'long'"):
        zw.Model(free_particle(2), params={"length": "long"})


def test_float32_is_refused_with_the_cure():
    import jax

    jax.config.update("jax_enable_x64", False)
    try:
        with sentence("float64", "jax_enable_x64"):
            zw.Model(free_particle(2))
    finally:
        jax.config.update("jax_enable_x64", True)
