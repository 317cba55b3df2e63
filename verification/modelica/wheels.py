"""Rolling wheels of the folder `Elementary`, on the plane z = 0."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from verification.modelica.case import Case, Example, G, Seen, Signal, joint, of, place
from verification.modelica.solids import link, solid
from zwang.mechanism import Force, Joint, Mechanism, Point

X, Y = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)
GROUND = {"world": "space", "gravity": (0.0, 0.0, -G)}
AXLE = ((0.0, 0.0, 0.0), Y, X)
"""A point with the z axis along the axle."""


def angles(seen: Seen) -> np.ndarray:
    """Angles about z, y and x of the wheel, continuous over the run, shape (samples, 3).

    An attitude has two triples of them, (a, b, c) and (a + π, π − b, c + π), up to whole turns.
    """
    found = seen.attitude("wheel1").as_euler("ZYX")
    made = [found[0]]
    for first, second, third in found[1:]:
        triples = np.array([[first, second, third], [first + np.pi, np.pi - second, third + np.pi]])
        triples += 2 * np.pi * np.round((made[-1] - triples) / (2 * np.pi))
        made.append(triples[np.argmin(np.abs(triples - made[-1]).max(axis=1))])
    return np.array(made)


def angle_rates(seen: Seen) -> np.ndarray:
    """Rates of these angles, shape (samples, 3)."""
    _, second, third = angles(seen).T
    wx, wy, wz = seen.body("wheel1")[1][:, 3:].T
    first = (wy * np.sin(third) + wz * np.cos(third)) / np.cos(second)
    return np.column_stack(
        [first, wy * np.cos(third) - wz * np.sin(third), wx + first * np.sin(second)]
    )


def wheel() -> Example:
    """A wheel that rolls and leans."""
    radius, lean, roll = 0.3, 1.0, 5.0
    body = link(
        solid(2.0, inertia=(0.12, 0.06, 0.12)),
        (0.2, 0.2, radius),
        velocity=(radius * roll, -radius * lean, 0.0),
        spin=(lean, roll, 0.0),
        axle=AXLE,
    )
    made = Mechanism(
        bodies={"wheel1": body},
        joints={"roll": Joint("rolling", between=("ground", "wheel1.axle"), radius=radius)},
        **GROUND,
    )
    signals: dict[str, Signal] = {
        "wheel1.angles": angles,
        "wheel1.der_angles": angle_rates,
        "wheel1.x": lambda seen: place("wheel1")(seen)[:, 0],
        "wheel1.y": lambda seen: place("wheel1")(seen)[:, 1],
    }
    return of(made, signals)


def wheel_set(forces: dict[str, Force]) -> Example:
    """Two wheels on an axle with a load in front of it, moved by forces."""
    radius, middle, half = 0.1, np.array([0.1, 0.1, 0.1]), 0.25
    sides = {"1": (0.0, half, 0.0), "2": (0.0, -half, 0.0)}
    load = solid(0.01, (0.2, 0.0, 0.0))
    pins = {f"pin{i}": (at, Y, X) for i, at in sides.items()}
    bodies = {"axle": link(load, tuple(middle), **pins)}
    joints = {"ride": Joint("planar", between=("ground.height", "axle.frame"))}
    for i, at in sides.items():
        one = solid(0.5, inertia=(0.02, 0.01, 0.02))
        bodies[f"wheel{i}"] = link(one, tuple(middle + at), axle=AXLE)
        joints[f"pin{i}"] = Joint("revolute", between=(f"axle.pin{i}", f"wheel{i}.axle"))
        # both keep the height and the way across, as the axle does
        joints[f"roll{i}"] = Joint("rolling", between=("ground", f"wheel{i}.axle"), radius=radius)
    made = Mechanism(
        bodies=bodies,
        joints=joints,
        forces=forces,
        ground={"height": Point((0.0, 0.0, radius), axis=(0.0, 0.0, 1.0), x=X)},
        **GROUND,
    )
    signals: dict[str, Signal] = {
        "wheelSet.x": lambda seen: place("axle")(seen)[:, 0],
        "wheelSet.y": lambda seen: place("axle")(seen)[:, 1],
        "wheelSet.phi": joint("ride.angle"),
    }
    for i in sides:
        signals |= {
            f"wheelSet.theta{i}": joint(f"pin{i}"),
            f"wheelSet.der_theta{i}": joint(f"pin{i} rate"),
        }
    return of(made, signals)


def driven() -> Example:
    """Torques between axle and wheels; a positive one of the library turns the wheel back."""
    torques = {
        "torque1": Force("-2*sin(2*pi*t)", joint="pin1"),
        "torque2": Force("-2*sin(2*pi*t+pi/2)", joint="pin2"),
    }
    return wheel_set(torques)


def pulled() -> Example:
    """A force on the load, first along x and then along y, with a ramp of a second between."""
    ramp = "max(0,min(1,t-1))"
    return wheel_set({"force": Force((f"1-{ramp}", f"2*{ramp}", "0"), on="axle.center")})


def cases() -> Iterator[Case]:
    """The rolling examples of the folder."""
    yield Case("Elementary/RollingWheel", wheel)
    yield Case("Elementary/RollingWheelSetDriving", driven)
    yield Case("Elementary/RollingWheelSetPulling", pulled)
