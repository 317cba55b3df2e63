"""Engines of the folder `Loops`: a crank, connecting rods and pistons in the plane of y and z."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np
from numpy.polynomial import Polynomial
from scipy.integrate import solve_ivp
from scipy.interpolate import CubicSpline
from scipy.spatial.transform import Rotation

from verification.modelica.case import Case, Example, G, of, turning
from verification.modelica.solids import Solid, box, cylinder, flat, joined, solid
from zwang.mechanism import Begin, Force, Joint, Link, Mechanism, Point
from zwang.simulation.results import Run

PLANE = (1, 2)
"""Axes of the library that span the plane."""
BORE = 0.1
"""Diameter of a cylinder [m]."""
CURVES = {
    "in": (
        0.986061,
        (2.4, -24.9973, 151.8252, -287.2189, 177.4132),
        (2129670, -9158505, 14761814, -10569296, 2836360),
    ),
    "out": (
        0.933,
        (2.4, 17.9272, 17.3438, -131.707, 145.930),
        (-3036495, 12964477, -20747000, 14748765, -3929704),
    ),
}
"""Pressure [bar] while a piston moves in and out, as polynomials in the part x of the cylinder's
length that is left to the piston, below and above a limit.
"""
LOAD, NOMINAL = 100.0, 200.0
"""Torque of the load [N·m] at a speed [rad/s], with whose square it grows."""
CORNER = 5.0
"""Of the filter of the torque [Hz]."""


@dataclasses.dataclass(frozen=True)
class Cylinder:
    """A piston on a connecting rod: angles of its axis and of its crank pin [rad]; lengths [m]; its
    solids from the crank pin upwards and from the top of the piston downwards.
    """

    rod: Solid
    piston: Solid
    axis: float = 0.0
    pin: float = 0.0
    crank: float = 0.1
    rod_length: float = 0.2
    piston_length: float = 0.1
    top: float = 0.42
    gas: float | None = None


def gas(length: float) -> dict[str, str]:
    """Force of the gas on a piston by its way from the top, for either sign of its rate."""
    area, made = np.pi * BORE**2 / 4, {}
    for way, (limit, *polynomials) in CURVES.items():
        low, high = (
            _horner(Polynomial(x)(Polynomial([1.0, -1.0 / length])) * 1e5 * area)
            for x in polynomials
        )
        left = f"step(value-{length * (1 - limit)!r})"
        turned = "step(rate)" if way == "out" else "(1-step(rate))"
        made[way] = f"{turned}*({left}*({low})+(1-{left})*({high}))"
    return made


def _horner(polynomial: Polynomial) -> str:
    text = ""
    for c in reversed(polynomial.coef):
        text = f"{float(c)!r}+value*({text})" if text else f"{float(c)!r}"
    return text


def engine(name: str, crank: Solid, cylinders: list[Cylinder], load: bool) -> Mechanism:
    """A crank with cylinders, and with the load of a V engine if it has one."""
    along = lambda angle: np.array([np.cos(angle), np.sin(angle)])
    pins = {f"pin{i}": tuple(x.crank * along(x.pin)) for i, x in enumerate(cylinders)}
    bodies: dict[str, Link] = {"crank": flat(crank, axes=PLANE, **pins)}
    joints, forces = {"bearing": Joint("revolute", between=("ground", "crank.frame"))}, {}
    ground = {}
    if load:
        forces["load"] = Force(f"-{LOAD}*(rate/{NOMINAL})**2", joint="bearing")
    for i, x in enumerate(cylinders):
        axis, pin = along(x.axis), x.crank * along(x.pin)
        aside = pin[0] * axis[1] - pin[1] * axis[0]
        joint_at = (pin @ axis + np.sqrt(x.rod_length**2 - aside**2)) * axis
        way = joint_at - pin
        bodies[f"rod{i}"] = flat(
            x.rod, tuple(pin), float(np.arctan2(way[1], way[0])), PLANE, end=(x.rod_length, 0.0)
        )
        piston = flat(
            x.piston,
            tuple(joint_at + x.piston_length * axis),
            x.axis,
            PLANE,
            pin=(-x.piston_length, 0.0),
        )
        top = piston.points["frame"]
        assert not isinstance(top, Point)
        # slides count from the top of the cylinder towards the crank
        guided = {**piston.points, "guide": Point(top, angle=np.pi)}
        bodies[f"piston{i}"] = dataclasses.replace(piston, points=guided)
        ground[f"top{i}"] = Point(tuple(x.top * axis), angle=x.axis + np.pi)
        joints |= {
            f"big{i}": Joint("revolute", between=(f"crank.pin{i}", f"rod{i}.frame")),
            f"small{i}": Joint("revolute", between=(f"rod{i}.end", f"piston{i}.pin")),
            f"slide{i}": Joint("prismatic", between=(f"ground.top{i}", f"piston{i}.guide")),
        }
        if x.gas is not None:
            for way_name, effort in gas(x.gas).items():
                forces[f"gas {way_name}{i}"] = Force(effort, joint=f"slide{i}")
    return Mechanism(
        bodies=bodies,
        joints=joints,
        forces=forces,
        ground=ground,
        start={"bearing": Begin(value=0.0, rate=10.0)},
        gravity=(-G, 0.0),
        name=name,
    )


INERTIA = Solid(0.0, np.zeros(3), np.diag([1.0, 0.0, 0.0]))
"""A flywheel of 1 kg·m² on the axis of the crank."""


def throw(length: float, offset: float) -> Solid:
    """A crank of shafts and webs, its shafts longer than the distance of the webs by `offset` at
    both ends.
    """
    out, back, web = (0.0, 0.1, 0.0), (0.0, -0.1, 0.0), ((0.02, 0.05), (1, 0, 0))
    (width, height), across = web
    shaft = lambda diameter: cylinder((length + 2 * offset, 0.0, 0.0), diameter)
    return joined(
        shaft(0.05).moved((-offset, 0.0, 0.0)),
        box(out, width, height, across).moved((length, 0.0, 0.0)),
        shaft(0.03).moved((length - offset, 0.1, 0.0)),
        box(back, width, height, across).moved((2 * length, 0.1, 0.0)),
    )


def one(fired: bool) -> Example:
    """One cylinder, with or without gas."""
    rod = box((0.0, 0.2, 0.0), 0.02, 0.06, (1, 0, 0))
    cylinder_one = Cylinder(
        rod, cylinder((0.0, -0.1, 0.0), BORE), top=0.45, gas=0.35 if fired else None
    )
    crank = joined(throw(0.1, 0.0), INERTIA)
    made = engine("one cylinder", crank, [cylinder_one], load=False)
    return of(made, turning("inertia", "crank"))


ANGLES = np.deg2rad([(-30, -30), (30, 90), (-30, 210), (30, 210), (-30, 90), (30, -30)])
"""Axis and crank pin of the six cylinders."""


def six(cad: bool) -> Example:
    """A V6, its parts as solids, or with masses and inertias as its CAD model states them."""
    if cad:
        parts = {
            "rod": solid(1.0, (0.0, 0.0875, 0.0), (0.006, 0.0005, 0.006)),
            "piston": solid(6.0, (0.0, -0.05, 0.0), (0.0088, 0.0076, 0.0088)),
        }
        sizes = {"crank": 0.05, "rod_length": 0.175, "gas": 0.195}
        crank = solid(180.0, (0.3, 0.0, 0.0), (0.1, 1e-5, 1e-5))
    else:
        rod = box((0.0, 0.22, 0.0), 0.02, 0.06, (1, 0, 0)).moved((0.0, -0.02, 0.0))
        parts = {"rod": rod, "piston": cylinder((0.0, -0.1, 0.0), BORE)}
        sizes = {"gas": 0.22}
        turned = [Rotation.from_rotvec((angle, 0.0, 0.0)) for _, angle in ANGLES]
        crank = joined(*[throw(0.1, 0.01).moved((0.0, 0.0, 0.0), x) for x in turned])
    cylinders = [Cylinder(**parts, axis=a, pin=b, **sizes) for a, b in ANGLES.tolist()]
    made = of(engine("V6", joined(crank, INERTIA), cylinders, load=True), turning("load", "crank"))
    read = made.signals

    def signals(run: Run) -> dict[str, np.ndarray]:
        # all steps, because between samples the gas pushes and stops pushing
        t, w = run.steps.t, run.steps.y[:, run.model.system.nq + 2]
        fresh = np.append(True, np.diff(t) > 0)
        states = filtered(t[fresh], w[fresh], _torque(made, run), run.t)
        return read(run) | {"filter.x": states}

    return dataclasses.replace(made, signals=signals)


def _torque(made: Example, run: Run) -> float:
    """Torque between crank and load at the start."""
    acceleration = np.asarray(run.observation.motion.acceleration)[0, 2]
    return float(acceleration + LOAD * (run.v[0, 2] / NOMINAL) ** 2)


def filtered(t: np.ndarray, w: np.ndarray, start: float, times: np.ndarray) -> np.ndarray:
    """Both states of the library's filter of the torque u = ẇ + c w² at some times, shape (times,
    2), given w at the instants t:

        ẋ₁ = k (u − x₁),    ẋ₂ = k (x₁ − x₂),    x₁ = x₂ = u at the start

    With y = x₁ − k w no acceleration is needed, which jumps where the gas does.
    """
    k = 2 * np.pi * CORNER / np.sqrt(np.sqrt(2.0) - 1)
    speed = CubicSpline(t, w)

    def rate(time, state):
        y, second = state
        first = y + k * speed(time)
        return [k * (LOAD * (speed(time) / NOMINAL) ** 2 - first), k * (first - second)]

    begin = [start - k * w[0], start]
    end = float(times[-1])
    found = solve_ivp(rate, (0.0, end), begin, "DOP853", times, rtol=1e-9, atol=1e-8).y
    return np.column_stack([found[0] + k * speed(times), found[1]])


def engine_cases() -> Iterator[Case]:
    """All engines, in the order of the folder."""
    planar = "modeled in the plane of its crank"
    # the force of the gas jumps with the direction of each piston
    rtol = 1e-8
    yield Case("Loops/Engine1a", lambda: one(fired=False), planar)
    yield Case("Loops/Engine1b", lambda: one(fired=True), planar)
    yield Case("Loops/Engine1b_analytic", lambda: one(fired=True), planar)
    yield Case("Loops/EngineV6", lambda: six(cad=False), planar, rtol=rtol)
    yield Case("Loops/EngineV6_analytic", lambda: six(cad=True), planar, rtol=rtol)
