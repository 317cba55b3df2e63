"""Single parts: `Modelica.Mechanics.MultiBody.Examples.Elementary`, as mechanisms."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

import numpy as np
from scipy.spatial.transform import Rotation

from verification import by_hand
from verification.modelica.case import (
    Case,
    Example,
    G,
    Signal,
    angle,
    angle_rate,
    joint,
    moving,
    of,
    revolving,
    sliding,
    turning,
)
from verification.modelica.solids import box, cylinder, flat, link, solid
from zwang.mechanism import Force, Joint, Link, Mechanism, Point, Spring

X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
DOWN = {"gravity": (0.0, -G)}
SPACE = {"world": "space", "gravity": (0.0, -G, 0.0)}
SLOW = math.radians(2.0)
"""Angular velocity of hanging bodies at the start [rad/s]."""


def pendulum() -> Example:
    """A damped pendulum."""
    made = Mechanism(
        bodies={"body": flat(solid(1.0, (0.5, 0.0, 0.0)))},
        joints={"rev": Joint("revolute", between=("ground", "body.frame"))},
        springs={"damper": Spring(joint="rev", damping=0.1)},
        **DOWN,
    )
    return of(made, turning("rev", "body"))


ARM, ROD, DAMPING = 0.5, box((0.5, 0.0, 0.0), 0.06), 0.1
"""Length of the rods of double pendulums [m], their solid, and the damper of the first joint."""


def double_pendulum(first: float, second: float) -> Example:
    """Two rods on hinges, the first one damped, from rest at two angles."""
    elbow = (ARM * math.cos(first), ARM * math.sin(first))
    made = Mechanism(
        bodies={
            "rod1": flat(ROD, angle=first, end=(ARM, 0.0)),
            "rod2": flat(ROD, elbow, first + second),
        },
        joints={
            "revolute1": Joint("revolute", between=("ground", "rod1.frame")),
            "revolute2": Joint("revolute", between=("rod1.end", "rod2.frame")),
        },
        springs={"damper": Spring(joint="revolute1", damping=DAMPING)},
        **DOWN,
    )
    return of(made, {**revolving("revolute1"), **revolving("revolute2")})


def tip_given() -> tuple[float, float]:
    """Angles of the double pendulum with its tip at (0.7, 0.3) m, by the law of cosines."""
    x, y = 0.7, 0.3
    bend = math.acos((x**2 + y**2 - 2 * ARM**2) / (2 * ARM**2))
    return math.atan2(y, x) - bend / 2, bend


def double_pendulums() -> Iterator[Case]:
    """The two double pendulums of the folder."""
    for name, start in (("", (0.0, 0.0)), ("InitTip", tip_given())):
        yield Case(
            f"Elementary/DoublePendulum{name}",
            partial(double_pendulum, *start),
            by_hand=partial(
                by_hand.double_pendulum, ROD.mass, ROD.inertia[2, 2], ARM, DAMPING, G, start
            ),
        )


def force_and_torque() -> Example:
    """A cylinder on a universal joint with a constant force and a constant torque at its end."""
    pivot, turned = (0.0, -0.5, 0.0), Rotation.from_rotvec((0.0, 0.0, math.radians(30.0)))
    force, torque = turned.apply((0.0, 1000.0, 0.0)), turned.apply((-100.0, 100.0, 0.0))
    # a torque as forces ½ τ × e at three perpendicular arms e from the pivot: the sum of
    # e × (τ × e) is 2 τ, however the body has turned
    efforts = {"force": Force(tuple(map(repr, force.tolist())), on="body.end")}
    arms = {"x": X, "y": Y, "z": Z}
    tx, ty, tz = (0.5 * torque).tolist()
    for name in arms:
        x, y, z = (f"({c}-({p!r}))" for c, p in zip("xyz", pivot, strict=True))
        terms = f"{ty!r}*{z}-{tz!r}*{y}", f"{tz!r}*{x}-({tx!r})*{z}", f"({tx!r})*{y}-{ty!r}*{x}"
        efforts[f"torque {name}"] = Force(terms, on=f"body.{name}")
    # the library turns about z and then y, this joint about the x and then the y axis of its points
    back = (-1.0, 0.0, 0.0)
    made = Mechanism(
        bodies={
            "body": link(
                cylinder((1.0, 0.0, 0.0)),
                pivot,
                at=((0.0,) * 3, back, Z),
                end=(1.0, 0.0, 0.0),
                **arms,
            )
        },
        joints={"hinges": Joint("universal", between=("ground.at", "body.at"))},
        forces=efforts,
        ground={"at": Point(pivot, axis=back, x=Z)},
        **SPACE,
    )
    signals = {
        **revolving("revolute1", "hinges.first"),
        **revolving("revolute2", "hinges.second"),
    }
    return of(made, signals)


def free_body() -> Example:
    """A body on two springs."""
    turned = Rotation.from_euler("XYZ", (10.0, 10.0, 10.0), degrees=True)
    part = solid(1.0, (0.2, 0.0, 0.0), (1.0, 1.0, 1.0))
    made = Mechanism(
        bodies={"body": link(part, (0.2, -0.5, 0.1), turned, end=(0.4, 0.0, 0.0))},
        springs={
            "spring1": Spring(between=("ground", "body.frame"), stiffness=20.0),
            "spring2": Spring(between=("ground.post", "body.end"), stiffness=20.0),
        },
        ground={"post": (0.8, 0.0, 0.0)},
        **SPACE,
    )
    signals = moving("body", "body.body.frame_a.r_0")
    signals["body.body.w_a"] = signals.pop("body.w_a")
    return of(made, signals)


def steady_spring() -> Example:
    """A pendulum held level by a spring whose stiffness follows from that."""
    post, end, rest = np.array([1.0, 0.2]), np.array([1.0, 0.0]), 0.1
    pull = post - end
    stretch = float(np.linalg.norm(pull)) - rest
    lever = (end[0] * pull[1] - end[1] * pull[0]) / float(np.linalg.norm(pull))
    stiff = 0.5 * G / (lever * stretch)
    made = Mechanism(
        bodies={"body": flat(solid(1.0, (0.5, 0.0, 0.0)), end=tuple(end))},
        joints={"rev": Joint("revolute", between=("ground", "body.frame"))},
        springs={
            "damper": Spring(joint="rev", damping=0.1),
            "spring": Spring(between=("ground.post", "body.end"), stiffness=stiff, rest=rest),
        },
        ground={"post": tuple(post)},
        **DOWN,
    )
    return of(made, turning("rev", "body"))


def swinging_spring() -> Example:
    """A body on a slide that turns, with a spring and a damper along the slide."""
    pin = (0.3, 0.0)
    made = Mechanism(
        bodies={"body": flat(solid(1.0, inertia=(1.0, 1.0, 1.0)), (0.8, 0.0))},
        # the pin stays on the x axis of the body
        joints={"slot": Joint("slot", between=("body.frame", "ground.pin"))},
        springs={
            "spring": Spring(
                between=("ground.pin", "body.frame"), stiffness=20.0, damping=1.0, rest=0.2
            )
        },
        ground={"pin": pin},
        **DOWN,
    )
    opposite = lambda signal: lambda seen: -signal(seen)
    signals: dict[str, Signal] = {
        "prismatic.s": opposite(joint("slot")),
        "prismatic.v": opposite(joint("slot rate")),
        "revolute.phi": angle("body"),
        "revolute.w": angle_rate("body"),
    }
    return of(made, signals)


def hanging(name: str, at: float) -> tuple[Link, Joint, Point]:
    """A body, named as its slide, 0.1 m down that slide, whose top is at a place along x: body,
    slide and top.
    """
    body = link(solid(1.0), (at, -0.1, 0.0), guide=((0.0, 0.0, 0.0), (0.0, -1.0, 0.0), X))
    slide = Joint("prismatic", between=(f"ground.{name}", f"{name}.guide"))
    return body, slide, Point((at, 0.0, 0.0), axis=(0.0, -1.0, 0.0), x=X)


def spring_mass() -> Example:
    """Two bodies on slides with a spring each, one at the slide and one between two points."""
    made = {name: hanging(name, at) for name, at in {"p1": 0.3, "p2": 0.6}.items()}
    mechanism = Mechanism(
        bodies={name: parts[0] for name, parts in made.items()},
        joints={name: parts[1] for name, parts in made.items()},
        springs={
            "spring1": Spring(joint="p1", stiffness=30.0, rest=0.1),
            "spring2": Spring(between=("ground.p2", "p2.frame"), stiffness=30.0, rest=0.1),
        },
        ground={name: parts[2] for name, parts in made.items()},
        **SPACE,
    )
    return of(mechanism, sliding("p1") | sliding("p2"))


def spring_damper() -> Example:
    """A free body on a spring and a damper, and a body on a slide with a spring."""
    body, slide, top = hanging("p2", 0.9)
    part = solid(1.0, (0.0, -0.2, 0.0), (0.1, 0.1, 0.1))
    mechanism = Mechanism(
        bodies={"body1": link(part, (0.3, -0.2, 0.0), spin=(0.0, 0.0, SLOW)), "p2": body},
        joints={"p2": slide},
        springs={
            "spring1": Spring(
                between=("ground.post", "body1.frame"), stiffness=30.0, damping=2.0, rest=0.1
            ),
            "spring2": Spring(between=("ground.p2", "p2.frame"), stiffness=30.0, rest=0.1),
        },
        ground={"post": (0.3, 0.0, 0.0), "p2": top},
        **SPACE,
    )
    return of(mechanism, moving("body1", "body1.frame_a.r_0") | sliding("p2"))


THIN = (
    "in joint coordinates: with all coordinates of the body, whose radius of gyration is 1e-4 of "
    "its arm, zwang ends the run, as its projection does not converge"
)


def tall_pendulum() -> Example:
    """A pendulum in gravity that varies with height, as the library states it for the ellipsoid
    WGS84 at the equator.
    """
    a, b, rate, GM = 6378137.0, 6356752.3142, 7292115e-11, 3986004.418e8
    slope = 2 * (1 + 1 / 298.257223563 + rate**2 * a**2 * b / GM)
    weight = f"-1000*9.7803253359*(1-y/{a!r}*({slope!r}+3*y/{a!r}))"
    made = Mechanism(
        bodies={"body": flat(solid(1000.0, (10.0, 0.0, 0.0)), (0.0, 20.0))},
        joints={"rev": Joint("revolute", between=("ground.post", "body.frame"))},
        springs={"damper": Spring(joint="rev", damping=0.1)},
        forces={"weight": Force(("0", weight), on="body.center")},
        ground={"post": (0.0, 20.0)},
        gravity=(0.0, 0.0),
        coordinates="joint",
    )
    return of(made, revolving("rev"))


def cases() -> Iterator[Case]:
    """The examples of the folder that are mechanisms."""
    yield from double_pendulums()
    for name, build in {
        "ForceAndTorque": force_and_torque,
        "FreeBody": free_body,
        "InitSpringConstant": steady_spring,
        "Pendulum": pendulum,
        "PendulumWithSpringDamper": swinging_spring,
        "SpringDamperSystem": spring_damper,
        "SpringMassSystem": spring_mass,
    }.items():
        yield Case(f"Elementary/{name}", build)
    yield Case("Elementary/UserDefinedGravityField", tall_pendulum, THIN)
