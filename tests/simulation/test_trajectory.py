"""A trajectory as a pure function: it equals `simulate`, and its derivatives are those of the
motion.
"""

from __future__ import annotations

import functools

import jax
import jax.extend
import jax.numpy as jnp
import numpy as np
import pytest
from verification.gradients import plane

import zwang as zw
from tests.models import pendulum

TIMES = np.linspace(0.0, 1.0, 5)
START = (jnp.array([1.0, 0.0]), jnp.zeros(2))


@functools.cache
def flown(**options):
    """Last state of the pendulum from its parameters, compiled."""

    def last(length, m):
        q0 = jnp.array([1.0, 0.0]) * jax.lax.stop_gradient(length)
        run = zw.trajectory(
            pendulum(),
            q0,
            START[1],
            TIMES,
            params={"length": length, "m": m},
            rtol=1e-10,
            **options,
        )
        return jnp.concatenate([run.q[-1], run.v[-1]])

    return last


def central(f, x, h=1e-5):
    return (f(x + h) - f(x - h)) / (2 * h)


@pytest.mark.slow
def test_same_as_simulate():
    here = jax.jit(lambda: zw.trajectory(pendulum(), *START, TIMES, rtol=1e-10))()
    run = zw.simulate(pendulum(), *START, times=TIMES[1:], rtol=1e-10)
    assert int(here.result) == zw.Result.SUCCESS
    assert np.max(np.abs(np.asarray(here.q)[1:] - run.dataset.q.values)) < 1e-11
    assert abs(int(here.steps) - run.attrs["steps_accepted"]) <= 2  # the first step is another
    assert np.max(here.violation) < 1e-14


@pytest.mark.slow
def test_an_implicit_method_gives_the_same_motion():
    implicit, explicit = (
        jax.jit(lambda f=flown(**o): f(1.0, 1.0))
        for o in ({"integrator": zw.methods.Kvaerno5()}, {})
    )
    assert np.max(np.abs(implicit() - explicit())) < 1e-8


@pytest.mark.slow
def test_an_implicit_method_is_differentiated_through_its_newton_iteration():
    slope = jax.jit(
        jax.jacfwd(lambda x: flown(integrator=zw.methods.Kvaerno5(), gradient="forward")(x, 1.0))
    )(jnp.asarray(1.0))
    expected = central(jax.jit(lambda x: flown()(x, 1.0)), 1.0)
    assert np.max(np.abs(slope - expected)) < 1e-6 * np.max(np.abs(expected))


@pytest.mark.slow
def test_fixed_steps():
    reference = zw.trajectory(pendulum(), *START, TIMES, rtol=1e-12)
    error = []
    for step in (0.1, 0.05):
        here = zw.trajectory(pendulum(), *START, TIMES, step=step, integrator=zw.methods.Tsit5())
        assert np.max(here.violation) < 1e-13
        error.append(np.max(np.abs(here.q - reference.q)))
    assert 20 < error[0] / error[1] < 60, error  # order five


def test_fixed_steps_have_no_data_dependent_loop():
    program = jax.make_jaxpr(lambda q: zw.trajectory(pendulum(), q, START[1], TIMES, step=0.05).q)(
        START[0]
    )
    loops = [e for e in _equations(program.jaxpr) if e.primitive.name == "while"]
    assert len(loops) == 1, "only the placement of the start iterates"


def _equations(jaxpr):
    for e in jaxpr.eqns:
        yield e
        for inner in jax.extend.core.jaxprs_in_params(e.params):
            yield from _equations(inner)


@pytest.mark.slow
@pytest.mark.parametrize("gradient", [pytest.param("forward", marks=pytest.mark.slow), "reverse"])
def test_derivative_of_a_parameter(gradient):
    """The start is moved onto a longer rod, and so is the motion."""
    last = flown(gradient=gradient)
    derivative = jax.jacfwd if gradient == "forward" else jax.jacrev
    slope = jax.jit(derivative(last))(1.0, 1.0)
    assert np.allclose(
        slope, central(lambda x: jax.jit(flown())(x, 1.0), 1.0), rtol=1e-6, atol=1e-7
    )


@pytest.mark.slow
def test_derivative_with_fixed_steps():
    last = flown(step=0.02)
    slope = jax.jit(jax.jacrev(last))(1.0, 1.0)
    assert np.allclose(slope, jax.jit(jax.jacfwd(last))(1.0, 1.0), rtol=1e-11, atol=1e-12)
    assert np.allclose(
        slope, central(lambda x: jax.jit(flown())(x, 1.0), 1.0), rtol=1e-6, atol=1e-6
    )


@pytest.mark.slow
def test_side_by_side():
    lengths = jnp.array([0.5, 1.0, 2.0])
    together = jax.jit(jax.vmap(lambda x: flown()(x, 1.0)))(lengths)
    assert np.allclose(together, [jax.jit(flown())(x, 1.0) for x in lengths], atol=1e-11)


def test_start_off_its_constraints():
    here = zw.trajectory(pendulum(), [1.0, 0.3], [0.0, 0.0], TIMES)
    assert zw.Result(int(here.result)) is zw.Result.OFF_CONSTRAINTS
    assert 0.01 < float(here.start_violation) < 1
    assert np.all(np.isnan(here.q[1:]))


def test_too_many_steps_keeps_what_was_reached():
    here = zw.trajectory(pendulum(), *START, TIMES, rtol=1e-12, max_steps=12)
    assert zw.Result(int(here.result)) is zw.Result.TOO_MANY_STEPS
    assert np.all(np.isfinite(here.q[0])) and np.all(np.isnan(here.q[-1]))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"times": [0.0]}, "at least two instants"),
        ({"times": [0.0, 1.0, 0.5]}, "increasing"),
        ({"gradient": "both"}, "'forward' or 'reverse' or None"),
        ({"step": -1.0}, r"positive number \[s\]"),
        ({"params": {"mass": 1.0}}, "unknown parameter 'mass'"),
    ],
)
def test_wrong_input(options, says):
    options = {"times": TIMES, **options}
    with pytest.raises(zw.ModelError, match=says):
        zw.trajectory(pendulum(), *START, options.pop("times"), **options)


@pytest.mark.slow
@pytest.mark.parametrize("gradient", ["forward", "reverse"])
def test_through_singular_configurations(gradient):
    """Two seconds of `five-bar`, three crossings of the collinear configuration, ten parameters."""
    example = zw.gallery.load("five-bar")
    model, q0, times = example.model, jnp.asarray(example.q0), jnp.linspace(0.0, 2.0, 3)
    sizes = {name: len(x) for name, x in model.params.items()}
    some = jnp.asarray(np.random.default_rng(0).standard_normal(24))

    def goal(x, gradient):
        params, first = {}, 0
        for name, n in sizes.items():
            params[name], first = x[first : first + n], first + n
        run = zw.trajectory(
            model, q0, jnp.zeros(12), times, params=params, gradient=gradient, rtol=1e-10
        )
        return some @ jnp.concatenate([run.q[-1], run.v[-1]])

    x = jnp.concatenate([model.params[name] for name in sizes])
    value = jax.jit(lambda x: goal(x, None))
    expected = np.array([(value(x + e) - value(x - e)) / 2e-4 for e in 1e-4 * np.eye(len(x))])
    derivative = jax.grad if gradient == "reverse" else jax.jacfwd
    slope = jax.jit(derivative(lambda x: goal(x, gradient)))(x)
    assert np.max(np.abs(slope - expected)) < 1e-6 * np.max(np.abs(expected))


def test_a_start_off_linear_constraints_is_refused():
    """Linear constraints have no curvature to measure a violation with; the size of q takes its
    place.
    """
    system = zw.System(2, lambda q, t, p: jnp.ones(2), lambda q, v, t, p: jnp.array([0.0, -9.81]))
    slope = zw.Model(system, [zw.Holonomic(lambda q, t, p: q[0] - q[1], name="slope")])
    on, off = (zw.trajectory(slope, [1.0, y], [0.0, 0.0], np.array([0.0, 0.1])) for y in (1.0, 1.1))
    assert on.result == 0 and on.start_violation == 0
    assert off.result == zw.Result.OFF_CONSTRAINTS and 0.01 < off.start_violation < 0.1
    with pytest.raises(zw.ModelError, match="off"):
        zw.simulate(slope, [1.0, 1.1], [0.0, 0.0], times=[0.1])


ROD = zw.Model(
    zw.System(nq=2, mass_matrix=lambda q, t, p: jnp.ones(2), force=lambda q, v, t, p: -9.81 * v**0),
    [zw.Holonomic(lambda q, t, p: q @ q - 1.0, name="rod")],
)


def test_a_step_that_cannot_be_solved_ends_both_ways_alike():
    """A force that is undefined beyond x = 2: Newton's iteration of the stages finds no root."""
    wall = zw.Model(
        zw.System(
            nq=1,
            mass_matrix=lambda q, t, p: jnp.ones(1),
            force=lambda q, v, t, p: jnp.where(q < 2.0, 1.0, jnp.nan),
        )
    )
    options = dict(integrator=zw.methods.Kvaerno5(), rtol=1e-6)
    here = zw.trajectory(wall, [0.0], [1.0], np.linspace(0.0, 4.0, 5), **options)
    run = zw.simulate(wall, [0.0], [1.0], duration=4.0, samples=5, throw=False, **options)
    assert int(here.result) == run.result != zw.Result.SUCCESS
    assert abs(float(here.end.t) - run.steps.t[-1]) < 1e-6 and run.steps.t[-1] > 1.0


@pytest.mark.slow
def test_the_same_steps_as_simulate_by_every_tolerance():
    """Per-coordinate `atol` and `longest_step` mean the same; so does the number of steps."""
    tight = np.array([1e-6, 1e-9, 1e-6, 1e-9])
    for options in (
        {"atol": tight},
        {"longest_step": 0.01},
        {"drift": zw.methods.Baumgarte(5.0, 5.0)},
    ):
        here = zw.trajectory(ROD, [1.0, 0.0], np.zeros(2), TIMES, rtol=1e-6, **options)
        run = zw.simulate(ROD, [1.0, 0.0], np.zeros(2), times=TIMES[1:], rtol=1e-6, **options)
        assert int(here.result) == run.result == zw.Result.SUCCESS
        # the first step is another, and the error of the tiny steps after it is round-off
        assert abs(int(here.steps) - run.attrs["steps_accepted"]) <= 6
        assert np.max(np.abs(np.asarray(here.q)[1:] - run.dataset.q.values)) < 1e-6  # rtol
    assert int(here.steps) < 60
    fine = zw.trajectory(ROD, [1.0, 0.0], np.zeros(2), TIMES, rtol=1e-6, longest_step=0.01)
    assert int(fine.steps) >= 100


def test_it_stops_where_a_condition_is_met():
    stop = [zw.Stop(lambda q, v, t, p: q[1] + 0.5, "low")]
    here = zw.trajectory(ROD, [1.0, 0.0], np.zeros(2), TIMES, rtol=1e-10, stop=stop)
    run = zw.simulate(ROD, [1.0, 0.0], np.zeros(2), times=TIMES[1:], rtol=1e-10, stop=stop)
    assert int(here.result) == run.result == zw.Result.STOPPED
    assert abs(float(here.end.t) - run.steps.t[-1]) < 1e-9
    assert abs(float(here.end.q[1]) + 0.5) < 1e-9
    late = TIMES > float(here.end.t)
    assert late.any() and np.all(np.isnan(here.q[late])) and np.all(np.isfinite(here.q[~late]))


@pytest.mark.slow
def test_a_hessian_by_forward_over_reverse_is_that_of_the_closed_form():
    """x = cos √k t of a spring along a line that is a constraint."""
    spring = lambda q, v, t, p: jnp.stack([-p["k"] * q[0], -9.81])
    system = zw.System(2, lambda q, t, p: jnp.ones(2), spring)
    line = zw.Holonomic(lambda q, t, p: q[1:], name="line")
    model = zw.Model(system, [line], {"k": 4.0})

    def end(k):
        found = zw.trajectory(
            model, [1.0, 0.0], [0.0, 0.0], [0.0, 0.5], params={"k": k}, gradient="reverse"
        )
        return found.q[-1, 0]

    closed = jax.hessian(lambda k: jnp.cos(0.5 * jnp.sqrt(k)))(4.0)
    # rtol is 1e-8, and each derivative costs a digit
    assert jax.jit(jax.hessian(end))(4.0) == pytest.approx(float(closed), rel=1e-6)


@pytest.mark.slow
def test_derivative_before_a_stop():
    """Where the motion is the same, a condition that ends it later changes no derivative."""

    def first(length, **options):
        run = zw.trajectory(
            pendulum(),
            jnp.array([1.0, 0.0]) * jax.lax.stop_gradient(length),
            np.zeros(2),
            np.array([0.0, 0.2, 2.0]),
            params={"length": length},
            rtol=1e-9,
            gradient="forward",
            **options,
        )
        return run.q[1]

    stop = [zw.Stop(lambda q, v, t, p: q[1] + 0.9 * p["length"], "low")]
    free, ended = (
        jax.jit(jax.jacfwd(lambda x, o=o: first(x, **o)))(1.0) for o in ({}, {"stop": stop})
    )
    assert np.allclose(free, ended, rtol=1e-7) and np.all(np.isfinite(ended))


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"switches": []}, "takes no switches=: .* zw.simulate does"),
        ({"loop": None}, "takes no loop=: .* zw.simulate does"),
        ({"stp": 1}, "no argument 'stp'"),
        ({"stop": [zw.Stop(lambda q, v, t, p: q[0])], "step": 0.1}, "stop= and step="),
        ({"stop": [zw.Stop(lambda q, v, t, p: q[0] > 0)]}, "True or False"),
        ({"atol": np.ones(3)}, "atol"),
    ],
)
def test_what_it_cannot_take_is_refused(options, reason):
    with pytest.raises(zw.ModelError, match=reason):
        zw.trajectory(ROD, [1.0, 0.0], np.zeros(2), TIMES, **options)
    if "stp" not in options:
        with pytest.raises(zw.ModelError, match=reason):
            zw.batch(ROD, np.ones((2, 2)), np.zeros(2), TIMES, **options)


@pytest.mark.slow
def test_a_program_of_a_reverse_derivative_has_that_of_a_forward_one():
    """It ended in an error of Python's, as the order of a factor's rows was not asked for."""
    along = jnp.array([-START[0][1], START[0][0]])
    end = lambda gradient: (
        lambda x: jnp.sum(
            zw.trajectory(pendulum(), START[0], x * along, TIMES, gradient=gradient).q[-1]
        )
    )
    slopes = [zw.program(jax.grad(end("reverse"))), zw.program(jax.jacfwd(end("forward")))]
    backward, forward = (float(slope(np.float64(0.3))) for slope in slopes)
    assert abs(backward - forward) < 1e-9 * abs(forward)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_derivatives_of_a_long_run_from_rest_are_those_of_reduced_equations(mode):
    """In reverse they were off by 1.7 %, as steps that were computed again had other lengths."""
    case = plane.double_pendulum()
    exact = case.reference()
    assert np.max(np.abs(case.slopes(mode) - exact)) < 1e-10 * np.max(np.abs(exact))
