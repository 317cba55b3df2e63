"""Examples of the servo paper compared with independent reference values (its sections V and
VI).
"""

import jax
import numpy as np
import pytest

import zwang as zw
from tests.servo.models import closed, distance_servo, object_servo, robots, two_masses
from zwang.servo import LeastNorm, PaperLeastNorm, Preferred, WeightedNorm, control

EXACT = {  # t: angles, angular velocities and accelerations of the exact motion
    0.0: (
        [1.0471975511965979, -1.0471975511965979, 0, 1.0471975511965979, -1.0471975511965979],
        [0] * 5,
        [0.5, 0.5, 0, -0.5, -0.5],
    ),
    1.0: (
        [1.2580012220515233, -0.8061515729020855, 0, 0.8061515729020855, -1.2580012220515233],
        [0.3447235368208224, 0.4545228668540453, 0, -0.4545228668540453, -0.3447235368208224],
        [0.05067941979668432, 0.3156845428543319, 0, -0.3156845428543319, -0.05067941979668432],
    ),
}
LITERAL = {
    0.0: [
        10.125597609561758,
        2.8836653386454247,
        -7.995617529880485,
        9.666832669322723,
        0.4587649402390432,
        -5.111952191235067,
    ],
    1.0: [
        6.01749464281047,
        4.293814802669959,
        -7.210731067725978,
        8.182004800256408,
        -1.9777529772828197,
        -3.1036734452191364,
    ],
}
PROJECTED = {
    0.0: [8.225, 0, -8.225, 8.225, 0, -8.225],
    1.0: [
        5.530819742545772,
        1.761644440836918,
        -7.2924641833827,
        7.292464183382677,
        -1.7616444408369423,
        -5.530819742545745,
    ],
}
HINGE = {  # passive force of the hinge at t = 1
    "literal": [
        11.991024186905946,
        12.845192560164692,
        23.70140431598867,
        19.970856346135832,
        2.5957355387708434,
    ],
    "projected": [
        9.945528725337635,
        15.295629806340974,
        24.672678048519096,
        18.865207192816225,
        5.2389903725433316,
    ],
}


@pytest.mark.parametrize("t", EXACT)
@pytest.mark.parametrize(
    ("choice", "u"),
    [(LeastNorm(), PROJECTED), (PaperLeastNorm(), LITERAL)],
    ids=["projected", "literal"],
)
def test_robots_are_driven_by_the_reference_torques_of_either_reading(choice, u, t):
    q, v, a = EXACT[t]
    c = control(robots(), object_servo(null_space=choice), q, v, t)
    np.testing.assert_allclose(c.u, u[t], atol=1e-12)
    np.testing.assert_allclose(c.acceleration, a, atol=1e-13)
    assert c.rank == 3 and c.residual < 1e-14 and c.passive_residual < 1e-13
    if t == 1.0:
        np.testing.assert_allclose(
            c.passive_force, HINGE["projected" if u is PROJECTED else "literal"], atol=1e-12
        )


@pytest.mark.slow
def test_torques_along_the_lift_have_the_ranges_of_the_reference_and_the_hinge_holds():
    servo = object_servo(null_space=PaperLeastNorm(), gains=5.0)
    run = zw.simulate(
        closed(robots(), servo), EXACT[0.0][0], np.zeros(5), duration=2 * np.pi, rtol=1e-10
    )
    seen = run.dataset
    # 201 samples miss an extremum between two of them by up to 1e-4
    lowest = [0.4411037891, 2.8836653386, -7.9956175299, 4.6315897858, -4.1645069346, -5.1119521912]
    highest = [10.1255976096, 4.8985249950, -4.4257413509, 9.6668326693, 0.4587649402, 0.1764415157]
    np.testing.assert_allclose(seen.control.min("time"), lowest, atol=2e-4)
    np.testing.assert_allclose(seen.control.max("time"), highest, atol=2e-4)
    np.testing.assert_allclose(run.dataset.q[-1], EXACT[0.0][0], atol=1e-10)
    np.testing.assert_allclose(
        seen.constraint_force[:, 0], run.observation.control.passive_force, atol=1e-11
    )
    assert seen.violation.max() < 1e-12 and seen.servo_violation.max() < 1e-9
    assert (
        float(seen.servo_residual.max()) < 1e-13
        and float(seen.missed.max()) < 1e-13
        and not seen.control_result.any()
    )
    assert (seen.control_rank == 3).all() and (seen.authority > 0.1).all()
    assert (
        np.abs(seen.energy_balance).max() < 1e-4
    )  # work by a spline over the samples: 20 J with and 40 W without the control
    assert list(seen.control.dims) == ["time", "actuator"] and list(seen.actuator.values) == [
        "u0",
        "u1",
        "u2",
        "u3",
        "u4",
        "u5",
    ]


@pytest.mark.slow
def test_choices_among_controls_move_the_same_and_minimize_what_they_say():
    q, v, _ = EXACT[1.0]
    weights, wish = (
        np.array([1.0, 4.0, 1.0, 9.0, 1.0, 1.0]),
        np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
    )
    choices = [LeastNorm(), PaperLeastNorm(), WeightedNorm(weights), Preferred(wish)]
    u = [np.asarray(control(robots(), object_servo(null_space=c), q, v, 1.0).u) for c in choices]
    for measure, best in (
        (lambda x: x @ x, 0),
        (lambda x: weights @ x**2, 2),
        (lambda x: np.sum((x - wish) ** 2), 3),
    ):
        values = [measure(x) for x in u]
        assert min(values) == values[best]
        assert all(value > values[best] + 1e-3 for i, value in enumerate(values) if i != best)


def test_force_between_two_masses_is_that_of_the_paper():
    c = control(two_masses(), distance_servo(), [0.1, 2.0], [0.2, -0.1])
    np.testing.assert_allclose(c.u, [-(1 + 1 / 2) * 10 * (2.0 - 0.1 - 1.0)], rtol=1e-14)  # eq. (47)


def test_two_masses_with_error_dynamics_follow_the_reference():
    run = zw.simulate(
        closed(two_masses(), distance_servo(gains={"distance": 5.0})),
        [0, 2.3],
        [0, 0],
        times=[0.5, 1, 2, 5],
        rtol=1e-12,
    )
    states = [
        [-0.5582772981010117, 1.5279119504541099, -2.681366507017921, -2.989185251857716],
        [-2.635362519157678, -0.6232342145595604, -5.53531570881064, -5.585850311302047],
        [-10.720185231713456, -8.720035411945226, -10.599155561306377, -10.599836560252834],
        [-65.0200000001316, -63.020000000023316, -25.599999999367228, -25.599999999887487],
    ]
    found = np.concatenate([run.dataset.q, run.dataset.v], axis=1)
    np.testing.assert_allclose(
        found, states, rtol=1e-9, atol=1e-10
    )  # the loop's own tolerance times 25 m/s
    delta = run.dataset.q[:, 1] - run.dataset.q[:, 0] - 2
    t = np.array([0.5, 1, 2, 5])
    np.testing.assert_allclose(delta, 0.3 * (1 + 5 * t) * np.exp(-5 * t), atol=1e-10)


@pytest.mark.slow
def test_control_works_inside_vmap_and_has_the_right_derivatives_in_gain_and_parameter():
    model, q, v = two_masses(), np.array([0.1, 2.0]), np.array([0.2, -0.1])

    def u(gain, k):
        return control(model, distance_servo(gains=gain), q, v, params={"k": k}).u[0]

    # u = -(1 + m1/m2) k s + m1 (2 w psi + w² phi)
    phi, psi, s = -0.1, -0.3, 0.9
    np.testing.assert_allclose(
        jax.jit(jax.grad(u, argnums=(0, 1)))(5.0, 10.0),
        [2 * psi + 2 * 5 * phi, -1.5 * s],
        rtol=1e-12,
    )
    np.testing.assert_allclose(
        jax.vmap(u, (0, None))(np.array([1.0, 2.0]), 10.0), [u(1.0, 10.0), u(2.0, 10.0)], rtol=1e-14
    )


@pytest.mark.slow
def test_control_knows_the_stabilization_of_the_hinges_it_relies_on():
    """Off its hinge the passive system accelerates back to it; the servo rows are met
    nevertheless.
    """
    model = closed(robots(), object_servo())
    q = np.array(EXACT[1.0][0]) + 1e-2 * np.array([1.0, -0.5, 0.3, 0.2, -0.4])
    s = model.state(q, np.array(EXACT[1.0][1]), 1.0)
    dynamics, stabilization = model.dynamics(), np.array([0.7, -1.1])
    seen = jax.jit(lambda: dynamics.acceleration(dynamics.equation_at(s, stabilization)))()
    hinge = dynamics.matrix(s) @ seen - dynamics.rhs(s)
    np.testing.assert_allclose(hinge, stabilization, atol=1e-10)
    answer = jax.jit(lambda: model.servo.control(dynamics.passive, s, stabilization))()
    assert float(answer.residual) < 1e-12
    np.testing.assert_allclose(answer.acceleration, seen, atol=1e-10)
