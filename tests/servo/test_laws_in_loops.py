"""Every law in a loop that is sampled, delayed and noisy: near the ideal loop, and the nearer the
shorter the sample time.
"""

import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw
from tests.servo.uncertain import mass
from zwang.objects.families import GAINS

ZEROS = np.zeros(2)


def point(load=0.0):
    """A mass of 2 kg in a plane."""
    system = zw.System(
        2,
        lambda q, t, p: 2.0 * jnp.ones(2),
        lambda q, v, t, p: jnp.stack([0.0 * q[0], -load]) - 0.1 * v,
        coordinates=("x", "y"),
        units=("m", "m"),
    )
    return zw.Model(system, name="point")


def of_gain(name):
    known = GAINS.members[name].load()
    if known.example(2) is None:
        return asked(
            zw.Nonholonomic(lambda q, v, t, p: v - 0.1, name="pace"), known.example(1), [0.1, 0.2]
        )
    model, servo = mass(known.example(2))
    if name == "adaptive":
        found = zw.servo.with_found_degrees(model, servo, [0.1], [1.0])
        return found.model, found.q, found.v
    return model.with_parts(servo=servo), [0.1], [1.0]


def named(name, **options):
    model = point(5.0)
    law = zw.servo.law(name, model, np.eye(2), **options)
    return model.with_parts(servo=law), [0.3, 0.1], [0.1, 0.2]


def following():
    circle = zw.Holonomic(lambda q, t, p: q @ q - 1.0, name="circle")
    options = {"task": circle, "stiffness": 2.0, "gains": 4.0, "speed": 0.5, "along": ("x", "y")}
    model, *_ = named("path following", **options)
    return model, [1.2, 0.0], [0.0, 0.5]


def asked(constraint, gains, q0, **options):
    servo = zw.Servo([constraint], np.eye(2), gains=gains, **options)
    return point(5.0).with_parts(servo=servo), q0, ZEROS


def lyapunov():
    arm = zw.gallery.load("lyapunov-arm")
    return arm.model, arm.q0, arm.v0


def within():
    row = zw.servo.within(lambda q, t, p: q, -1.0, 1.0, 0.0, name="within")
    return asked(row, 2.0, [0.4, -0.3])


def energy():
    energy = zw.Nonholonomic(lambda q, v, t, p: v @ v + 5.0 * q[1] - 3.0, name="energy")
    model, q, _ = asked(energy, 1.0, [0.0, 0.0])
    return model, q, np.array([1.0, 0.5])


def wall():
    pace = zw.Nonholonomic(lambda q, v, t, p: v - jnp.array([1.0, 0.0]), name="pace")
    wall = zw.Inequality(lambda q, t, p: 0.8 - q[0], name="wall")
    servo = zw.Servo([pace, wall], np.eye(2), gains={"pace": 2.0, "wall": 3.0})
    return point().with_parts(servo=servo), [0.0, 0.0], np.array([1.0, 0.0])


def limited():
    rest = zw.Holonomic(lambda q, t, p: q, name="rest")
    return asked(rest, 3.0, [0.6, 0.4], limits=zw.servo.Limits(-7.0, 7.0))


def behind_integrators():
    system = zw.System(
        3,
        lambda q, t, p: jnp.array([1.5, 1.5, 0.1]),
        lambda q, v, t, p: jnp.array([0.0, -1.5 * 9.81, 0.0]),
    )
    rotors = lambda q, t, p: jnp.array([[-jnp.sin(q[2]), 0.0], [jnp.cos(q[2]), 0.0], [0.0, 1.0]])
    wave = [
        zw.Holonomic(lambda q, t, p: q[0] - 0.2 * jnp.sin(t), name="x"),
        zw.Holonomic(lambda q, t, p: q[1] - 0.2 * t, name="y"),
    ]
    servo = zw.Servo(wave, rotors, gains=3.0)
    found = zw.servo.with_found_degrees(zw.Model(system), servo, np.zeros(3), np.zeros(3))
    return found.model, found.q, found.v


def regulated():
    model = point()
    linear = zw.analysis.linearize(model, q=ZEROS, inputs=["x", "y"])
    law = zw.analysis.lqr(linear, Q=4.0, R=0.5).feedback()
    return model.with_parts(servo=law), [0.3, -0.2], ZEROS


REST = {"target": {"x": 0.0, "y": lambda t: 0.1 * jnp.sin(t)}}
LAWS = {
    **{name: (of_gain, name) for name in GAINS.members},
    "gravity compensation": (named, "gravity compensation"),
    "impedance": (lambda name: named(name, **REST, stiffness=8.0, damping=6.0), "impedance"),
    "computed torque": (lambda name: named(name, **REST, gains=3.0), "computed torque"),
    **{f.__name__: (f,) for f in (following, lyapunov, within, energy, wall, limited)},
    **{f.__name__: (f,) for f in (behind_integrators, regulated)},
}
QUICK = "impedance", "behind_integrators"


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [x if x in QUICK else pytest.param(x, marks=pytest.mark.slow) for x in LAWS]
)
def test_a_law_that_is_sampled_delayed_and_noisy_stays_near_the_ideal_one(name):
    make, *given = LAWS[name]
    model, q, v = make(*given)
    times = np.linspace(0.0, 2.0, 21)
    run = lambda loop: zw.simulate(model, q, v, times=times, loop=loop, rtol=1e-8)
    ideal = run(None).q
    size, off = max(np.ptp(ideal, axis=0).max(), 1.0), {}
    for T in (0.04, 0.01):
        off[T] = np.abs(run(zw.Loop(sample_time=T)).q - ideal).max()
    noisy = run(zw.Loop(sample_time=0.01, delay=0.01, noise_q=1e-4, noise_v=1e-3, seed=3)).q
    # a control that is held is late by half of the sample time on average
    assert off[0.01] < 0.4 * off[0.04] + 1e-6 and off[0.04] < 0.15 * size, off
    assert 1e-9 < np.abs(noisy - ideal).max() < 0.15 * size
