"""One mechanism in the plane and one in space with every kind of joint, each between separate
bodies.
"""

import functools

import jax
import numpy as np

from zwang.mechanism import (
    KINDS,
    Bushing,
    Drive,
    Force,
    Joint,
    Link,
    Mechanism,
    Point,
    Spring,
)
from zwang.mechanism.relative_pose import ANGLE

PINNED_WHEEL = """
[bodies.wheel]
mass = 2.0
inertia = 0.1
angular_velocity = 1.0
[joints]
pin.kind = "revolute"
pin.between = ["ground", "wheel"]
"""
"""A wheel on a pin, as a file has it."""

WORLDS = ("plane", "space")
ROWS = {
    world: {
        name: equations.removes
        for name, kind in KINDS.items()
        if (equations := kind.equations(2 + WORLDS.index(world))) is not None
    }
    for world in WORLDS
}
"""Degrees of freedom that each joint declares to remove."""
HOLDS_ONE = tuple(name for name, kind in KINDS.items() if not kind.couples and name != "rolling")
"""Joints here whose body nothing else touches but a spring, bushing or force on others."""
AHEAD = (0.3, 0.2, 0.1)
"""Place of the points of the joints on their bodies, whose centers are at the origin."""


@functools.cache
def every_joint(world: str) -> Mechanism:
    """All joints of the plane or of space at the examples that they give, put together at the
    origin, with springs, bushings, forces and drives.
    """
    d = 2 if world == "plane" else 3
    inertia = 0.1 if d == 2 else (0.1, 0.2, 0.25)
    zero, ahead = (0.0,) * d, AHEAD[:d]
    bodies, ground = {"wheel": Link(1.0, inertia)}, {"p": ahead}
    joints = {"wheel": Joint("revolute", ("ground", "wheel"))}
    for name in ROWS[world]:
        kind = KINDS[name]
        example = kind.equations(d).example
        if kind.couples:
            turns = kind.couples[1] == ANGLE
            bodies[f"{name} 2"] = Link(1.0, inertia)
            joints[f"{name} 2"] = Joint(
                "revolute" if turns else "prismatic", ("ground", f"{name} 2")
            )
            joints[name] = Joint(name, joints=("wheel", f"{name} 2"), **kind.example)
        elif any(example.rotation) or name == "rolling":
            turn = example.rotation if d == 3 else None
            bodies[name] = Link(1.5, inertia, at=example.displacement[:d], turn=turn)
            joints[name] = Joint(name, between=("ground", name), **kind.example)
        else:
            first = "ground.p"
            if any(example.displacement[:d]):
                first = f"ground.{name}"
                ground[name] = tuple(np.subtract(ahead, example.displacement[:d]))
            bodies[name] = Link(1.5, inertia, at=zero, points={"p": Point(ahead)})
            joints[name] = Joint(name, between=(first, f"{name}.p"), **kind.example)
    bodies["free"] = Link(1.0, inertia, at=(0.4, 0.3, 0.2)[:d], points={"p": zero})
    soft = (30.0, 40.0, 5.0) if d == 2 else (30.0, 40.0, 50.0, 5.0, 6.0, 7.0)
    return Mechanism(
        bodies,
        joints,
        ground=ground,
        world=world,
        drives={
            "motor": Drive("gear 2", rate="0.3*cos(t)"),
            "pull": Drive("prismatic", value="0.1*sin(w*t)"),
        },
        springs={
            "spring": Spring(("ground", "free"), stiffness=20.0, damping=0.5, rest=0.2),
            "coil": Spring(joint="revolute", stiffness=3.0, damping=0.2, rest=0.1),
        },
        bushings={"bushing": Bushing(("ground", "free.p"), soft, tuple(0.1 * x for x in soft))},
        forces={
            "wind": Force(("2*t - vx", "x") if d == 2 else ("2*t - vx", "x", "3"), on="free"),
            "torque": Force("sin(t) - 0.2*rate", joint="wheel"),
        },
        parameters={"w": 2.0},
        name=world,
    )


def evaluated(world: str):
    """φ, ψ, A, b and F at (q, v, t) as one compiled program."""
    model = every_joint(world).model
    c, p = model.constraints, model.params

    @jax.jit
    def at(q, v, t):
        F = model.system.force(q, v, t, p)
        return (
            c.position_residual(q, t, p),
            c.velocity_residual(q, v, t, p),
            c.matrix(q, v, t, p),
            c.rhs(q, v, t, p),
            F,
        )

    return at
