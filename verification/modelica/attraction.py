"""Bodies that a point attracts, of the folder `Elementary`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from verification import by_hand
from verification.modelica.case import Case, Example, Signal, moving, of, place, spin, velocity
from verification.modelica.solids import link, solid
from zwang.mechanism import Force, Mechanism, Spring

X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
FREE = {"world": "space", "gravity": (0.0, 0.0, 0.0)}
STARTS = {
    "body1": ((0.0, 0.6, 0.0), (1.0, 0.0, 0.0)),
    "body2": ((0.6, 0.6, 0.0), (0.6, 0.0, 0.0)),
    "body3": ((0.0, 0.8, 0.0), (0.6, 0.0, 0.0)),
    "body4": ((0.3, 0.8, 0.0), (0.6, 0.0, 0.0)),
}
"""Places and velocities of bodies of 1 kg."""
TWO = dict(list(STARTS.items())[:2])
STIFFNESS = 10.0
"""Of a spring between the last two, which has no length at rest [N/m]."""


def attraction(point: str, strength: float) -> Force:
    """Force on a mass of 1 kg towards the origin, μ/r² with μ = `strength`."""
    return Force(tuple(f"-{strength!r}*{c}*(x**2+y**2+z**2)**-1.5" for c in "xyz"), on=point)


def two_bodies() -> Example:
    """Two bodies."""
    ball = solid(1.0, inertia=(0.1, 0.1, 0.1))
    bodies = {name: link(ball, at, velocity=v) for name, (at, v) in TWO.items()}
    forces = {name: attraction(f"{name}.frame", 1.0) for name in bodies}
    first, second = (moving(name, f"{name}.frame_a.r_0") for name in bodies)
    return of(Mechanism(bodies=bodies, forces=forces, **FREE), first | second)


def four_masses() -> Example:
    """Four point masses, two of them on a spring; nothing turns them."""
    bodies = {name: link(solid(1.0), at, velocity=v) for name, (at, v) in STARTS.items()}
    made = Mechanism(
        bodies=bodies,
        springs={"spring": Spring(between=("body3.frame", "body4.frame"), stiffness=STIFFNESS)},
        forces={name: attraction(f"{name}.frame", 1.0) for name in bodies},
        **FREE,
    )
    signals: dict[str, Signal] = {}
    for name in bodies:
        signals |= {f"{name}.r_0": place(name), f"{name}.v_0": velocity(name)}
    return of(made, signals)


def cross() -> Example:
    """Six point masses on a cross."""
    back = {"2": (-1.0, 0.0, 0.0), "4": (0.0, -1.0, 0.0), "6": (0.0, 0.0, -1.0)}
    tips = {"1": X, "3": Y, "5": Z, **back}
    part = solid(6.0, inertia=(4.0, 4.0, 4.0))
    made = Mechanism(
        bodies={"cross": link(part, (2.0, 0.0, 0.0), velocity=(0.0, 0.0, -1.0), **tips)},
        forces={name: attraction(f"cross.{name}", 5.0) for name in tips},
        **FREE,
    )
    where = "referenceSystem.pointMass"
    signals: dict[str, Signal] = {
        "freeMotion.r_rel_a": place("cross"),
        "freeMotion.v_rel_a": velocity("cross"),
        f"{where}1.w_a": spin("cross"),
        f"{where}3.v_0": velocity("cross", "3"),
        f"{where}6.frame_a.r_0": place("cross", "6"),
        f"{where}6.v_0": velocity("cross", "6"),
    }
    return of(made, signals)


def exactly(starts, stiffness: float, where: str, times: np.ndarray) -> dict[str, np.ndarray]:
    """The signals of bodies, whose place is called `where` there, by Newton's law alone."""
    places, speeds = by_hand.attracted(*map(np.array, zip(*starts.values(), strict=True)),
                                       stiffness, times)  # fmt: skip
    found = {}
    for i, name in enumerate(starts):
        for c in range(3):
            found[f"{name}.{where}[{c + 1}]"] = places[:, i, c]
            found[f"{name}.v_0[{c + 1}]"] = speeds[:, i, c]
            found[f"{name}.w_a[{c + 1}]"] = 0.0 * times
    return found


def cases() -> Iterator[Case]:
    """The examples of the folder with such bodies."""
    name = "Elementary/PointGravity"
    yield Case(name, two_bodies, by_hand=partial(exactly, TWO, 0.0, "frame_a.r_0"))
    yield Case(
        f"{name}WithPointMasses", four_masses, by_hand=partial(exactly, STARTS, STIFFNESS, "r_0")
    )
    yield Case(f"{name}WithPointMasses2", cross)
