"""An arm of two links that moves a load of unknown mass in a circle: its controller estimates a
bound of what it does not know.

    hand(q) = circle(t)                                            servo, relative degree 2
    z = ė + k e;  ż = −k z − α z/max(‖z‖, ε),   α̇ = growth ‖z‖ − leakage α
    bound: ‖e‖ ≤ zw.servo.Adaptive.error_bound(ρ),   ρ: size of what the controller does not know

The controller knows neither load nor friction. With Λ the inertia at the hand, a load L turns an
acceleration w of the hand into (Λ + L)⁻¹ (Λ w − L g). Λ is at least the mass m of the hand, so that
ρ is at most L/(m + L) (‖w‖ + g) without friction, and the mismatch of the bound L/(m + L). Without
the loop, the hand follows the circle exactly. The figures show the run with the loop:

    zw.simulate(model, q0, v0, ..., loop=zw.Loop(params={"load": 0.0, "friction": 0.0}))

The law is that of Chen and Zhang (2010), Adaptive robust approximate constraint-following control
for mechanical systems, J. Franklin Institute 347, 69-86; arm and numbers are chosen here. Units: m,
kg, s.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from zwang.dynamics.model import Model
from zwang.equations.constraint import Holonomic
from zwang.errors import ModelError
from zwang.gallery.drawing import paths
from zwang.gallery.example import Example
from zwang.gallery.index.entry import GRAVITY, Entry, Setting
from zwang.gallery.servo.checks import not_negative, positive
from zwang.gallery.servo.drawing import controls, over_time
from zwang.gallery.servo.two_links import two_links, two_links_scene
from zwang.objects.record import replace
from zwang.scene import array_namespace
from zwang.servo import Adaptive, Loop, Servo
from zwang.servo.adaptation import adapted_model

ENTRY = Entry(
    "adaptive-arm",
    "an arm that moves an unknown load in a circle and learns how wrong its model is",
    8.0,
    {
        "mass": Setting(1.0, "mass at the end of each link", "kg"),
        "length": Setting(0.5, "length of each link", "m"),
        "load": Setting(1.0, "mass in the hand", "kg"),
        "friction": Setting(0.2, "friction of each joint", "N m s"),
        "radius": Setting(0.2, "radius of the circle", "m"),
        "frequency": Setting(1.5, "angular frequency of the hand", "rad/s"),
        "rate": Setting(5.0, "k, the rate of errors", "1/s"),
        "growth": Setting(1000.0, "growth of the estimate", "1/s"),
        "leakage": Setting(4.0, "leakage of the estimate", "1/s"),
        "layer": Setting(0.05, "layer of the error's rate", "m/s"),
        "gravity": GRAVITY,
    },
    "Chen and Zhang (2010)",
    ("servo", "uncertain", "adaptive"),
)

NAME = "adaptive-arm"
CIRCLE_AWAY = 0.6
"""Distance of the center of the circle from the shoulder, in reaches of the arm."""


def build(
    *, mass, length, load, friction, radius, frequency, rate, growth, leakage, layer, gravity
) -> Example:
    """The model, started on the circle with its velocity."""
    positive(NAME, mass=mass, length=length, radius=radius, frequency=frequency, rate=rate)
    positive(NAME, growth=growth, leakage=leakage, layer=layer)
    not_negative(NAME, load=load, friction=friction)
    reach = 2 * length
    center = np.array([CIRCLE_AWAY * reach, 0.0])
    if not radius < min(reach - center[0], center[0]):
        raise ModelError(
            f"{NAME}: a circle of radius {radius:g} m about a point at {center[0]:g} m leaves the "
            f"reach of the arm, 0 to {reach:g} m; expected a smaller radius."
        )
    arm = two_links()
    system = replace(arm, force=lambda q, v, t, p: arm.force(q, v, t, p) - p["friction"] * v)

    def circle(xp, t):
        turn = frequency * t
        return xp.stack([center[0] + radius * xp.cos(turn), center[1] + radius * xp.sin(turn)])

    def hand(q):
        xp = array_namespace(q)
        turns = q[..., 0], q[..., 0] + q[..., 1]
        return length * xp.stack([sum(f(x) for x in turns) for f in (xp.cos, xp.sin)])

    row = Holonomic(lambda q, t, p: hand(q) - circle(jnp, t), name="circle", unit="m")
    servo = Servo(
        [row],
        np.eye(2),
        actuators=["shoulder motor", "elbow motor"],
        actuator_units=["N m", "N m"],
        # of a load up to the mass of the hand
        gains=Adaptive(rate, growth=growth, leakage=leakage, layer=layer, mismatch=0.5),
    )

    # the hand is at the right end of the circle, the elbow below, and the velocity is upward
    bend = 2 * np.arccos((center[0] + radius) / reach)
    q0 = np.array([-0.5 * bend, bend])
    x, y = hand(q0)
    slope = [[-y, -length * np.sin(0.5 * bend)], [x, length * np.cos(0.5 * bend)]]
    v0 = np.linalg.solve(slope, [0.0, radius * frequency])
    params = {"mass": mass, "length": length, "gravity": gravity}
    params |= {"load": load, "friction": friction}
    passive = Model(system, [], params, name=NAME)
    model, q0, v0 = adapted_model(passive, servo, passive.state(q0, v0, 0.0))

    def off(run) -> dict[str, np.ndarray]:
        return dict(zip("xy", hand(run.q) - circle(np, run.t), strict=True))

    return Example(
        model,
        q0,
        v0,
        duration=8.0,
        description=f"An arm moves a load of {load:g} kg, of which it does not know, in a circle.",
        figures={
            "Hand": paths(lambda q: [hand(q)], ["hand"]),
            "Error": over_time("error of the hand [m]", off),
            "Estimate": over_time("α [m/s²]", lambda run: {"estimate": run.v[:, -1]}),
            "Torques": controls("torque [N m]"),
        },
        scene=two_links_scene(length),
        simulate={"loop": Loop(params={"load": 0.0, "friction": 0.0})},
    )
