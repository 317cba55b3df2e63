"""One mechanism in the plane and one in space that have every kind of joint, each at bodies of its
own.
"""

import functools

import jax
import numpy as np

from zwang.mechanism import Bushing, Drive, Force, Joint, Link, Mechanism, Point, Spring

ROWS = {
    "plane": {
        "revolute": 2,
        "prismatic": 2,
        "fixed": 3,
        "slot": 1,
        "rod": 1,
        "rolling": 2,
        "knife": 1,
        "path": 1,
        "gear": 1,
        "belt": 1,
        "rack": 1,
        "cam": 1,
    },
    "space": {
        "revolute": 5,
        "prismatic": 5,
        "cylindrical": 4,
        "universal": 4,
        "spherical": 3,
        "planar": 3,
        "fixed": 6,
        "slot": 2,
        "rod": 1,
        "screw": 5,
        "rolling": 3,
        "knife": 1,
        "path": 1,
        "gear": 1,
        "belt": 1,
        "rack": 1,
        "cam": 1,
    },
}
"""Degrees of freedom that each joint takes."""
HOLDS_ONE = (
    "revolute",
    "prismatic",
    "cylindrical",
    "universal",
    "spherical",
    "planar",
    "fixed",
    "slot",
    "rod",
    "screw",
    "knife",
    "path",
)
"""Joints here whose body nothing else touches but a spring, bushing or force on others."""


@functools.cache
def every_joint(world: str) -> Mechanism:
    """All joints of the plane or of space, put together at the origin, with springs, bushings,
    forces and drives.
    """
    d = 2 if world == "plane" else 3
    inertia = 0.1 if d == 2 else (0.1, 0.2, 0.25)
    zero, ahead = (0.0,) * d, (0.3, 0.2, 0.1)[:d]
    bodies, joints = {}, {}
    own = {
        "rod": {"length": float(np.linalg.norm(ahead))},
        "screw": {"pitch": 0.2},
        "rolling": {"radius": 0.5},
        "path": {"equation": "x**2/4 + y**2 - 1"},
    }
    couples = {
        "gear": {"joints": ("wheel", "wheel2"), "ratio": (20, 30)},
        "belt": {"joints": ("wheel", "wheel3"), "ratio": (20, 10)},
        "rack": {"joints": ("wheel", "bar"), "radius": 0.3},
        "cam": {"joints": ("wheel", "follower"), "lift": "0.1*sin(2*angle)"},
    }
    place = {"path": (2.0, 0.0, 0.4), "rolling": (0.3, 0.5, 0.0) if d == 2 else (0.3, 0.2, 0.5)}
    for kind in ROWS[world]:
        if kind in couples:
            joints[kind] = Joint(kind, **couples[kind])
            continue
        at = place.get(kind, (0.0, 0.0, 0.0))[:d]
        turn = (np.pi / 2, 0.0, 0.0) if d == 3 and kind == "rolling" else None
        points = {"p": Point(ahead, angle=0.0)} if kind not in ("path", "rolling") else {}
        bodies[kind] = Link(1.5, inertia, at=at, turn=turn, points=points)
        second = kind if kind in ("path", "rolling") else f"{kind}.p"
        joints[kind] = Joint(
            kind,
            between=("ground" if kind in ("path", "rolling", "rod") else "ground.p", second),
            **own.get(kind, {}),
        )
    for name, kind in (
        ("wheel", "revolute"),
        ("wheel2", "revolute"),
        ("wheel3", "revolute"),
        ("bar", "prismatic"),
        ("follower", "prismatic"),
    ):
        bodies[name] = Link(1.0, inertia)
        joints[name] = Joint(kind, between=("ground", name))
    bodies["free"] = Link(1.0, inertia, at=(0.4, 0.3, 0.2)[:d], points={"p": zero})
    soft = (30.0, 40.0, 5.0) if d == 2 else (30.0, 40.0, 50.0, 5.0, 6.0, 7.0)
    return Mechanism(
        bodies,
        joints,
        ground={"p": ahead},
        world=world,
        drives={
            "motor": Drive("wheel2", rate="0.3*cos(t)"),
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
