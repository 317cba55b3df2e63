"""Hostile input to servos, conditions, fits and methods with requirements, one line each."""

from __future__ import annotations

from collections.abc import Callable

import jax.numpy as jnp
import numpy as np

import zwang as zw
from tests.hostile.case import Case
from zwang.servo import FirstOrder, Poles, Rate, Robust, SecondOrder


def mass(**options) -> zw.Model:
    """A mass in the plane under its weight."""
    force = options.pop("force", lambda q, v, t, p: jnp.array([0.0, -9.81]))
    weight = options.pop("weight", lambda q, t, p: jnp.ones(2))
    return zw.Model(zw.System(2, weight, force), name="mass", **options)


ROD = zw.Holonomic(lambda q, t, p: q @ q - 1.0, name="rod")
PLACE = zw.Holonomic(lambda q, t, p: q[0], name="place")
SPEED = zw.Nonholonomic(lambda q, v, t, p: v[0], name="speed")
PUSH = np.array([[1.0], [0.0]])


def gain(value, constraint=PLACE) -> Callable:
    return lambda folder: zw.Servo([constraint], PUSH, gains=value)


def pendulum(**options) -> Callable:
    model = {k: options.pop(k) for k in ("force", "weight") if k in options}

    def do(folder):
        settings = {"duration": 2.0, "samples": 21} | options
        zw.simulate(mass(constraints=[ROD], **model), [0.6, -0.8], [0.0, 0.0], **settings)

    return do


three = jnp.array([1.0, 2.0, 3.0])


def choice(value, kind=zw.servo.WeightedNorm) -> Callable:
    """The control of a mass by one actuator, chosen by what is not one number."""

    def do(folder):
        servo = zw.Servo([PLACE], PUSH, gains=3.0, null_space=kind(value))
        return zw.control(mass(), servo, [0.3, 0.0], [0.0, 0.0])

    return do


def stop(function) -> Callable:
    return lambda folder: pendulum(stop=[zw.Stop(function, name="end")])(folder)


def switch(**conditions) -> Callable:
    return lambda folder: pendulum(switches=[zw.Switch("rod", **conditions)])(folder)


def rattle(**options) -> Callable:
    return pendulum(integrator=zw.methods.Rattle(), step=0.01, **options)


def stiff(value, **options) -> Callable:
    """A mass that a servo holds beside where it starts."""
    given = {"duration": 1.0, "samples": 3, "rtol": 1e-6} | options

    def do(folder):
        model = mass(servo=zw.Servo([PLACE], PUSH, gains=value))
        zw.simulate(model, [0.3, 0.0], [0.0, 0.0], **given)

    return do


def fit(names, **options) -> Callable:
    def do(folder):
        force = lambda q, v, t, p: p["m"] * jnp.array([0.0, -9.81])
        weight = lambda q, t, p: p["m"] * jnp.ones(2)
        model = mass(constraints=[ROD], force=force, weight=weight, params={"m": 2.0, "idle": 1.0})
        times = np.linspace(0.0, 0.5, 6)
        observed = {"q0": 0.6 + 0.01 * times}
        zw.fit(model, times, observed, names, q0=[0.6, -0.8], v0=[0.0, 0.0], **options)

    return do


def extension(constraints, actuation, **options) -> Callable:
    def do(folder):
        servo = zw.Servo(constraints, actuation)
        zw.servo.dynamic_extension(mass(), servo, [0.0, 0.0], [0.0, 0.0], **options)

    return do


def degrees(constraints, actuation) -> Callable:
    servo = zw.Servo(constraints, actuation)
    return lambda folder: zw.servo.with_found_degrees(mass(), servo, [0.0, 0.0], [0.0, 0.0])


def gain_of_rows(folder):
    zw.Model(mass().system, servo=zw.Servo([PLACE], PUSH, gains=[1.0, 2.0, 3.0]))


def units(constraint_type, function, unit) -> Callable:
    return lambda folder: mass(constraints=[constraint_type(function, name="x", unit=unit)])


def oil(q, v, t, p):
    """Drag to the left of a line that the pendulum passes late."""
    return jnp.array([0.0, -9.81]) - jnp.where(q[0] < -0.5, 1.0, 0.0) * v


def later(q, v, t, p):
    return jnp.array([0.0, -9.81]) - jnp.where(t > 1.0, 1.0, 0.0) * v


HEIGHT = zw.Holonomic(lambda q, t, p: q[1], name="height")
POLES = "poles of the error dynamics are"

CASES = (
    # gains under which an error does not decay
    Case("gain -4", 7, f"gain of 'place', Rate, makes an error grow .* {POLES} 4, 4", gain(-4)),
    Case("gain 0", 7, "all poles at 0: .* leave the gain out", gain(0)),
    Case("gain NaN", 7, "expected finite numbers", gain(float("nan"))),
    Case("gain inf", 7, "expected finite numbers", gain(float("inf"))),
    Case("gain -1e-9", 7, POLES, gain(-1e-9)),
    Case("one gain of two", 7, POLES, gain(Rate([1.0, -1.0]))),
    Case("negative damping", 7, "grow without bound", gain(SecondOrder(2.0, -0.1))),
    Case("no damping", 7, "oscillate or stay and never decay", gain(SecondOrder(2.0, 0.0))),
    Case("no frequency", 7, "all poles at 0", gain(SecondOrder(0.0, 1.0))),
    Case("NaN damping", 7, "zeta is nan", lambda folder: SecondOrder(2.0, float("nan"))),
    Case("negative first order", 7, f"{POLES} 3 1/s", gain(FirstOrder(-3.0), SPEED)),
    Case("growing matrix", 7, POLES, gain(FirstOrder([[1.0, 4.0], [4.0, 1.0]]), SPEED)),
    Case("turning matrix", 7, POLES, gain(FirstOrder([[0.0, 1.0], [-1.0, 0.0]]), SPEED)),
    Case("pole to the right", 7, POLES, gain(Poles(1.0, -2.0))),
    Case("pole at zero", 7, "never decay", gain(Poles(1.0, 0.0))),
    Case("too few poles", 7, "of order 1, but", gain(Poles(1.0))),
    Case(
        "robust with a negative rate",
        7,
        "k is -1.0, expected positive",
        lambda folder: Robust(-1.0, bound=1.0, layer=0.1),
    ),
    # gains and forces that no step can follow
    Case("gain 1e12", 7, "long before the end.*'place' .* decay at 1.0e\\+12 1/s", stiff(1e12)),
    Case("two fast poles", 7, "'place' .* decay at 1.0e\\+10 1/s", stiff(Poles(1e10, 1e9))),
    Case(
        "a spring of 1e20 N/m",
        7,
        "long before the end: raise max_steps.*the rest would take .* steps",
        pendulum(force=lambda q, v, t, p: -1e20 * (q - 0.3), rtol=1e-6),
    ),
    # parameters that the data say nothing about
    Case("mass of a pendulum", 7, "'m' has no effect on the data", fit(("m",))),
    Case("mass with noise", 7, "'m' has no effect on the data", fit(("m",), noise=0.1)),
    Case("unused parameter", 7, "'idle' has no effect on the data", fit(("idle",))),
    Case("two without effect", 7, "'m', 'idle' has no effect|'idle', 'm'", fit(("m", "idle"))),
    # conditions that are no real number
    Case("stop by comparison", 6, "returns True or False", stop(lambda q, v, t, p: q[0] > 0)),
    Case("stop by a vector", 6, r"returns shape \(2,\)", stop(lambda q, v, t, p: q)),
    Case("stop by nothing", 6, "returns None", stop(lambda q, v, t, p: None)),
    Case("stop by text", 6, "returns 'end'", stop(lambda q, v, t, p: "end")),
    Case("stop by a list", 6, "returns a list", stop(lambda q, v, t, p: [q[0]])),
    Case("complex stop", 6, "complex numbers", stop(lambda q, v, t, p: q[0] * 1j)),
    Case("whole stop", 6, "whole numbers", stop(lambda q, v, t, p: jnp.int64(q[0] * 9))),
    Case("stop NaN", 6, "is NaN at t = 0 s", stop(lambda q, v, t, p: jnp.log(q[1]))),
    Case("stop NaN later", 6, "NaN", stop(lambda q, v, t, p: 9 + jnp.log(q[0]))),
    Case("stop that divides", 6, "ZeroDivisionError", stop(lambda q, v, t, p: q[0] + 1 / 0)),
    Case(
        "stop with if", 6, "decides by a value", stop(lambda q, v, t, p: q[0] if q[0] > 0 else 1.0)
    ),
    Case("stop of one argument", 6, "takes \\(q\\)", stop(lambda q: q[0])),
    Case(
        "stop beyond p",
        6,
        "asks for a parameter of a model that has none",
        stop(lambda q, v, t, p: p["x"]),
    ),
    Case("stop that is a number", 6, "expected a function", stop(3.0)),
    Case("switch by comparison", 6, "True or False", switch(off=lambda q, v, t, p, s: s[0] > 0)),
    Case("switch by multipliers", 6, "returns shape", switch(off=lambda q, v, t, p, s: q)),
    Case("switch without them", 6, "multipliers", switch(off=lambda q, v, t, p: q[0])),
    Case("switch on by text", 6, "returns 'now'", switch(on=lambda q, v, t, p: "now")),
    Case("switch on NaN", 6, "NaN at t = 0", switch(on=lambda q, v, t, p: jnp.sqrt(q[1]))),
    # methods whose requirements fail later
    Case("drag from t = 1 s under Rattle", 6, "force depends on velocities", rattle(force=later)),
    Case("oil on the way under Rattle", 6, "which it did not at the start", rattle(force=oil)),
    Case(
        "a mass that jumps under Rattle",
        6,
        "mass_matrix depends on q or t",
        rattle(weight=lambda q, t, p: jnp.where(t > 1.0, 2.0, 1.0) * jnp.ones(2)),
    ),
    # actuators that do not reach
    Case("no actuator", 13, "no actuator reaches 'height'.*does not help", degrees([HEIGHT], PUSH)),
    Case("extension in vain", 13, "dynamic extension does not help", extension([HEIGHT], PUSH)),
    Case("a gain of three rows", 7, r"shape \(3,\), but the constraint has 1 row", gain_of_rows),
    Case("unknown input", 13, "names 'x', but", extension([PLACE], PUSH, inputs={"x": 1.0})),
    # the choice among controls
    Case("three weights", 7, r"WeightedNorm.*shape \(3,\), expected \(1,\)", choice(three)),
    Case("weights by a function", 7, r"\(3,\), expected \(1,\)", choice(lambda *s: three)),
    Case("a weight below zero", 7, "expected numbers above 0", choice(-1.0)),
    Case("three wishes", 7, r"Preferred.*shape \(3,\)", choice(three, zw.servo.Preferred)),
    Case("wishes in a row", 7, r"shape \(1, 1\)", choice([[1.0]], zw.servo.Preferred)),
    # units
    Case("two units, one row", 8, "2 units for 1 rows", units(zw.Holonomic, PLACE.phi, ("m", "m"))),
    Case("no such unit count", 8, "2 units", units(zw.Nonholonomic, SPEED.psi, ("m/s", "m"))),
)
