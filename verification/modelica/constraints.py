"""Bodies on a joint and a spring: `Modelica.Mechanics.MultiBody.Examples.Constraints`.

Each example has the same body twice, on a joint and on a constraint; here it is one, and the
signals of both are compared with it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.spatial.transform import Rotation

from verification.modelica.case import (
    Case,
    Example,
    G,
    Signal,
    joint,
    of,
    place,
    revolving,
    sliding,
    spin,
    velocity,
)
from verification.modelica.solids import link, solid
from zwang.mechanism import Joint, Mechanism, Point, Spring

AT, TURNED = (0.2, -0.3, 0.2), Rotation.from_euler("XYZ", (10.0, 55.0, 68.0), degrees=True)
"""Place and attitude of the joint."""
X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
SPUN = {"bodyOfConstraint.body.w_a": spin("body")}


def held(kind: str, axes, signals: dict[str, Signal], arm=(0.4, 0.0, 0.0)) -> Example:
    """The body on a joint with the z and x axes `axes`, at rest, and a spring at its arm."""
    ground = [tuple(TURNED.apply(axis)) for axis in axes]
    body = link(
        solid(1.0, (0.2, 0.0, 0.0), (1.0, 1.0, 1.0)), AT, TURNED, at=((0.0,) * 3, *axes), arm=arm
    )
    made = Mechanism(
        bodies={"body": body},
        joints={"joint": Joint(kind, between=("ground.at", "body.at"))},
        springs={"spring": Spring(between=("ground.post", "body.arm"), stiffness=20.0)},
        ground={"at": Point(AT, axis=ground[0], x=ground[1]), "post": (0.8, 0.0, 0.3)},
        world="space",
        gravity=(0.0, -G, 0.0),
    )
    return of(made, signals)


def slides() -> dict[str, Signal]:
    """Signals of the body on two slides."""
    return {
        "bodyOfConstraint.r_0": place("body"),
        "bodyOfConstraint.v_0": velocity("body"),
        **sliding("jointPrismatic_x", "joint.x"),
        **sliding("jointPrismatic_y", "joint.y"),
    }


def cross() -> dict[str, Signal]:
    """Signals of the body on a universal joint, whose axes are numbered in the library."""
    return SPUN | {
        "joint.phi_a": joint("joint.first"),
        "joint.phi_b": joint("joint.second"),
        "joint.w_a": joint("joint.first rate"),
        "joint.w_b": joint("joint.second rate"),
    }


def cases() -> Iterator[Case]:
    """All examples of the folder, in its order."""
    hinge = SPUN | {"bodyOfJoint.body.w_a": spin("body")} | revolving("joint")
    end = tuple(np.add((0.4, 0.0, 0.0), (0.1, 0.15, 0.2)).tolist())
    for name, kind, axes, signals, arm in (
        ("Prismatic", "crossed-slides", (Z, X), slides(), (0.4, 0.0, 0.0)),
        ("Revolute", "revolute", (Y, Z), hinge, (0.4, 0.0, 0.0)),
        ("Spherical", "spherical", (Z, X), SPUN, (0.4, 0.0, 0.0)),
        ("Universal", "universal", (Y, Z), cross(), end),
    ):
        build = lambda kind=kind, axes=axes, signals=signals, arm=arm: held(
            kind, axes, signals, arm
        )
        yield Case(f"Constraints/{name}Constraint", build)
