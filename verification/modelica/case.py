"""An example of the library as a model, its start, and the signals that the library compares."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import cached_property

import numpy as np
from scipy.spatial.transform import Rotation

import zwang as zw
from zwang.mechanism import Mechanism, joint_motion
from zwang.simulation.results import Run

G = 9.80665
"""Acceleration of gravity of the library's world [m/s²]."""


@dataclasses.dataclass(frozen=True)
class Example:
    """An example as it is run here.

    Attributes:
        model: the model.
        q, v: its start.
        signals: run → values by the library's name, shape (samples,) or (samples, 3), the latter
            for a name that the library numbers: `body.r_0` for `body.r_0[1]` and so on.
        mechanism: the mechanism that the model comes from, if it is one.
    """

    model: zw.Model
    q: np.ndarray
    v: np.ndarray
    signals: Callable[[Run], dict[str, np.ndarray]]
    mechanism: Mechanism | None = None


@dataclasses.dataclass(frozen=True)
class Case:
    """A name of the suite with what makes its example.

    Attributes:
        name: folder and name in the library.
        build: makes the example.
        note: what a reader has to know to judge the comparison.
        by_hand: times → the signals by equations that share nothing with zwang, if there are any.
        rtol: tolerance of the run.
    """

    name: str
    build: Callable[[], Example]
    note: str = ""
    by_hand: Callable[[np.ndarray], dict[str, np.ndarray]] | None = None
    rtol: float = 1e-10


class Seen:
    """What can be seen of a mechanism over a run."""

    def __init__(self, mechanism: Mechanism, run: Run):
        self.mechanism, self.run = mechanism, run

    @cached_property
    def joints(self):
        """Coordinates of joints and their rates."""
        return joint_motion(self.mechanism, self.run)

    def body(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates and velocities of a body."""
        flat = self.mechanism.world == "plane"
        i = list(self.mechanism.bodies).index(name)
        nq, nv = (3, 3) if flat else (7, 6)
        return self.run.q[:, nq * i : nq * (i + 1)], self.run.v[:, nv * i : nv * (i + 1)]

    def offset(self, body: str, point: str) -> np.ndarray:
        """A point in the axes of its body, from the center of mass."""
        given = self.mechanism.bodies[body].points[point]
        return np.array(getattr(given, "at", given), float)

    def attitude(self, body: str) -> Rotation:
        """Attitude of a body in space."""
        return Rotation.from_quat(self.body(body)[0][:, 3:], scalar_first=True)


Signal = Callable[[Seen], np.ndarray]


def joint(name: str) -> Signal:
    """Coordinate of a joint, or with " rate" its rate."""
    return lambda seen: np.asarray(seen.joints[name].values)


def place(body: str, point: str = "frame") -> Signal:
    """Place of a point in space."""
    return lambda seen: (
        seen.body(body)[0][:, :3] + seen.attitude(body).apply(seen.offset(body, point))
    )


def velocity(body: str, point: str = "frame") -> Signal:
    """Velocity of a point in space."""

    def found(seen: Seen) -> np.ndarray:
        v = seen.body(body)[1]
        return v[:, :3] + seen.attitude(body).apply(np.cross(v[:, 3:], seen.offset(body, point)))

    return found


def spin(body: str) -> Signal:
    """Angular velocity in the axes of the body, in space."""
    return lambda seen: seen.body(body)[1][:, 3:]


def angle(body: str) -> Signal:
    """Angle of a body of the plane."""
    return lambda seen: seen.body(body)[0][:, 2]


def angle_rate(body: str) -> Signal:
    """Angular velocity of a body of the plane."""
    return lambda seen: seen.body(body)[1][:, 2]


def turning(name: str, body: str) -> dict[str, Signal]:
    """Angle and angular velocity of a body that turns on a joint of the ground in the plane."""
    return {f"{name}.phi": angle(body), f"{name}.w": angle_rate(body)}


def revolving(name: str, of: str | None = None) -> dict[str, Signal]:
    """Angle and angular velocity of a joint under its name in the library."""
    return {f"{name}.phi": joint(of or name), f"{name}.w": joint(f"{of or name} rate")}


def sliding(name: str, of: str | None = None) -> dict[str, Signal]:
    """Way and velocity of a slide under its name in the library."""
    return {f"{name}.s": joint(of or name), f"{name}.v": joint(f"{of or name} rate")}


def moving(body: str, frame: str, of: str | None = None) -> dict[str, Signal]:
    """Place, velocity and angular velocity of a body, whose place is called `frame` there."""
    of = of or body
    return {
        f"{frame}": place(of),
        f"{body}.v_0": velocity(of),
        f"{body}.w_a": spin(of),
    }


def of(mechanism: Mechanism, signals: dict[str, Signal]) -> Example:
    """A mechanism as an example."""
    start = mechanism.start_state

    def read(run: Run) -> dict[str, np.ndarray]:
        seen = Seen(mechanism, run)
        return {name: signal(seen) for name, signal in signals.items()}

    return Example(mechanism.model, start.q, start.v, read, mechanism)
