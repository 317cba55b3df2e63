"""Closed loops: `Modelica.Mechanics.MultiBody.Examples.Loops`."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from verification.modelica.case import Case, Example, G, angle, angle_rate, of, revolving, turning
from verification.modelica.engines import engine_cases
from verification.modelica.solids import box, cylinder, flat, link, solid
from zwang.mechanism import Begin, Drive, Joint, Link, Mechanism, Point, Spring

X, Y = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)
SPEED = np.deg2rad(300.0)
"""Of the crank of the bars in space, at the start [rad/s]."""
DOWN = {"world": "plane", "gravity": (0.0, -G)}


def bars(jointed: bool) -> Example:
    """A crank, a coupler of five hinges and a slide; the coupler is a cylinder on a universal and a
    spherical joint, or a rod without mass.
    """
    crank, slider, coupler = (0.0, 0.5, 0.1), (0.0, 0.2, 0.0), (-1.0, 0.3, 0.1)
    end = (1.0, 0.2, 0.0)  # of the slider, 1.2 m along its guide less 0.2 m
    bodies = {
        "b1": link(cylinder(crank, 0.05), pin=((0.0, 0.0, 0.0), X, Y), end=crank),
        "b2": link(
            cylinder(slider, 0.05), (1.0, 0.0, 0.0), guide=((0.0,) * 3, X, Y), end=(slider, X, Y)
        ),
    }
    joints = {
        "j1": Joint("revolute", between=("ground.pin", "b1.pin")),
        "j2": Joint("prismatic", between=("ground.guide", "b2.guide")),
    }
    if jointed:
        bodies["b3"] = link(
            cylinder(coupler, 0.05), end, start=((0.0, 0.0, 0.0), X, Y), end=coupler
        )
        joints["cross"] = Joint("universal", between=("b2.end", "b3.start"))
        joints["ball"] = Joint("spherical", between=("b1.end", "b3.end"))
    else:
        length = float(np.linalg.norm(coupler))
        joints["rod"] = Joint("rod", between=("b2.end", "b1.end"), length=length)
    made = Mechanism(
        bodies=bodies,
        joints=joints,
        ground={
            "pin": Point((0.0, 0.0, 0.0), axis=X, x=Y),
            "guide": Point((1.2, 0.0, 0.0), axis=X, x=Y),
        },
        start={"j1": Begin(value=0.0, rate=SPEED)},
        world="space",
        gravity=(0.0, -G, 0.0),
    )
    return of(made, revolving("j1"))


def planar_bars() -> Example:
    """Four bars in the plane with a damper at the crank."""
    ways = {"body1": (0.4, 0.0, 0.0), "body2": (0.1, 1.1, 0.0), "body4": (0.65, 0.1, 0.0)}
    frames = {"body1": (0.0, 0.0), "body2": (0.4, 0.0), "body4": (-0.15, 1.0)}
    bodies = {name: flat(box(way, 0.05), frames[name], end=way[:2]) for name, way in ways.items()}
    joints = {
        "revolute1": Joint("revolute", between=("ground", "body1.frame")),
        "revolute2": Joint("revolute", between=("body1.end", "body2.frame")),
        "revolute3": Joint("revolute", between=("ground.far", "body4.frame")),
        "revolute4": Joint("revolute", between=("body4.end", "body2.end")),
    }
    made = Mechanism(
        bodies=bodies,
        joints=joints,
        springs={"damper": Spring(joint="revolute1", damping=0.1)},
        ground={"far": frames["body4"]},
        **DOWN,
    )
    return of(made, turning("revolute1", "body1"))


def filtered_sine(amplitude: float, frequency: float) -> str:
    """Response of the library's drive, a filter of second order at 50 Hz that starts at rest, to a
    sine: formula in t.

        b φ̈/ω² + a φ̇/ω + φ = A sin Ωt
    """
    a, b, cut, drive = 1.3617, 0.6180, 2 * math.pi * 50, 2 * math.pi * frequency
    along, aside = 1 - b * (drive / cut) ** 2, a * drive / cut
    scale = amplitude / (along**2 + aside**2)
    decay, ring = a * cut / (2 * b), cut / b * math.sqrt(b - a**2 / 4)
    cosine = scale * aside
    sine = (decay * cosine - scale * along * drive) / ring
    return (
        f"{scale * along!r}*sin({drive!r}*t)-{cosine!r}*cos({drive!r}*t)"
        f"+exp(-{decay!r}*t)*({cosine!r}*cos({ring!r}*t)+({sine!r})*sin({ring!r}*t))"
    )


def three_loops() -> Example:
    """A driven crank and three loops, each of a body and a massless rod."""
    uprights = [(0.0, 0.5), (0.1, 0.5), (0.1, 0.6), (0.0, 0.55)]
    bodies: dict[str, Link] = {"crank": flat(solid(1.0), end=uprights[0])}
    joints = {"rev": Joint("revolute", between=("ground", "crank.frame"))}
    ground, before = {}, "crank"
    for i in (1, 2, 3):
        foot, start = np.array([0.5 * i, 0.0]), np.add((0.5 * (i - 1), 0.0), uprights[i - 1])
        way = foot + uprights[i] - start
        name, ground[f"foot{i}"] = f"body{i}", tuple(foot)
        part = solid(1.0, (*way / 2, 0.0))
        bodies[name] = flat(part, tuple(start), end=tuple(way))
        joints[f"pin{i}"] = Joint("revolute", between=(f"{before}.end", f"{name}.frame"))
        length = float(np.linalg.norm(uprights[i]))
        joints[f"rod{i}"] = Joint("rod", between=(f"ground.foot{i}", f"{name}.end"), length=length)
        before = name
    made = Mechanism(
        bodies=bodies,
        joints=joints,
        drives={"position": Drive("rev", value=filtered_sine(0.7, 1.0))},
        ground=ground,
        **DOWN,
    )
    return of(made, {"rev.phi": angle("crank"), "rev.w": angle_rate("crank")})


def cases() -> Iterator[Case]:
    """All examples of the folder, in its order."""
    yield from engine_cases()
    yield Case("Loops/Fourbar1", lambda: bars(jointed=True))
    yield Case("Loops/Fourbar2", lambda: bars(jointed=False))
    yield Case("Loops/Fourbar_analytic", lambda: bars(jointed=False))
    yield Case("Loops/PlanarFourbar", planar_bars)
    yield Case(
        "Loops/PlanarLoops_analytic",
        three_loops,
        "the motion is prescribed: what is compared is the drive and that the loops stay closed",
    )
