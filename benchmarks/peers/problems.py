"""The problems as plain data: what every peer builds its own model from, and by what a result is
judged.

| key | problem | rows × coordinates, rank | reference |
|---|---|---|---|
| `a01` | IFToMM A01, a point mass on a rod, 10 s | 1 × 2, 1 | elliptic functions |
| `a02-N` | IFToMM A02, 1, 2, 10 or 40 four-bar loops, 10 s | 6N + 2 × 6N + 3 | elliptic functions |
| `five-bar` | three parallel cranks and a coupler, 10 s | 12 × 12, 11 | elliptic functions |
| `3rrr` | a platform on three driven legs, 2 s | 18 × 21, 18 | minimal coordinates |
| `chain` | ten rods in space on ball joints, 1 s | 10 × 30 | zwang at rtol 1e-13 |

`a02-N` and `five-bar` pass singular configurations; `reference.py` checks the chain against IDA.

A result is positions and velocities in the coordinates of `equations.py`, whoever computed it:
error, violation and energy are then found by one code. Units: m, kg, s, rad.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

GRAVITY = 9.81
SAMPLES = 20
"""Intervals between the instants at which a run is judged."""
GROUND = -1


@dataclasses.dataclass(frozen=True)
class Pin:
    """A hinge between two bodies of the plane, at a point given in the axes of each; body −1 is the
    ground.
    """

    first: int
    at_first: tuple[float, float]
    second: int
    at_second: tuple[float, float]

    def turned(self) -> Pin:
        """The same pin, named from the other body."""
        return Pin(self.second, self.at_second, self.first, self.at_first)


@dataclasses.dataclass(frozen=True)
class Linkage:
    """Bodies of the plane and pins. Coordinates: x, y, angle of each body's center of mass.

    Attributes:
        mass, inertia: shapes (bodies,).
        pose, rate: start, shapes (bodies, 3).
        torque: time → torque on each body, shape (bodies,); None for none.
        sines: the same as (body, amplitude, angular frequency, phase), for peers that have sources
            of sines.
        error: sampled poses (samples, bodies, 3) → distance from the reference [rad or m].
        point_mass: its one body has no extent.
    """

    key: str
    mass: np.ndarray
    inertia: np.ndarray
    pose: np.ndarray
    rate: np.ndarray
    pins: tuple[Pin, ...]
    duration: float
    error: Callable[[np.ndarray, np.ndarray], float]
    gravity: float = GRAVITY
    sines: tuple[tuple[int, float, float, float], ...] = ()
    redundant: bool = False
    point_mass: bool = False

    def torque(self, t: float) -> np.ndarray:
        """Torques of the motors at time t [N m]."""
        out = np.zeros(len(self.mass))
        for body, amplitude, frequency, phase in self.sines:
            out[body] += amplitude * np.sin(frequency * t + phase)
        return out

    def tree(self) -> tuple[list[tuple[int, Pin]], list[Pin]]:
        """A spanning tree from the ground: each body with the pin that carries it; and the pins
        that close loops.

        A body's branches follow it at once, as Pinocchio expects without saying so: in another
        order its mass matrix has zeros.
        """
        at: dict[int, list[int]] = {body: [] for body in range(GROUND, len(self.mass))}
        for i, p in enumerate(self.pins):
            at[p.first].append(i)
            at[p.second].append(i)
        carriers: dict[int, list[Pin]] = {GROUND: []}
        used, ring = set(), [GROUND]
        while ring:  # one ring of bodies after the other, so that branches stay short
            outer = []
            for body in ring:
                for i in at[body]:
                    p = self.pins[i] if self.pins[i].first == body else self.pins[i].turned()
                    if p.second not in carriers:
                        carriers[p.second] = []
                        carriers[body].append(p)
                        used.add(i)
                        outer.append(p.second)
            ring = outer
        ordered, waiting = [], carriers[GROUND][::-1]
        while waiting:
            pin = waiting.pop()
            ordered.append((pin.second, pin))
            waiting += carriers[pin.second][::-1]
        return ordered, [p for i, p in enumerate(self.pins) if i not in used]


@dataclasses.dataclass(frozen=True)
class RodChain:
    """Uniform slender rods in space on ball joints, hung from the origin. Coordinates: the far end
    of each rod.

    Attributes:
        rods: number of rods.
        length, mass: of each.
        spin: angular velocity of the straight chain about the vertical z axis [rad/s], which starts
            along x.
    """

    key: str
    rods: int
    length: float
    mass: float
    spin: float
    duration: float
    error: Callable[[np.ndarray, np.ndarray], float]
    gravity: float = GRAVITY
    redundant: bool = False


Problem = Linkage | RodChain


def instants(problem: Problem) -> np.ndarray:
    """The instants at which a run is judged."""
    return np.linspace(0.0, problem.duration, SAMPLES + 1)


def _swing(k: float, angle: float, rate: float, t):
    from zwang.gallery.swing import swing  # imports JAX: only the process that judges

    return swing(k, angle, rate, np.asarray(t))


def pendulum() -> Linkage:
    """A01: a point mass of 1 kg on a massless rod of 1 m, from rest on the side."""

    def error(t, q):
        a = _swing(GRAVITY, np.pi / 2, 0.0, t)
        return float(np.max(np.abs(np.arctan2(q[:, 0], -q[:, 1]) - a)))

    return Linkage(
        "a01",
        np.ones(1),
        np.zeros(1),
        np.array([[1.0, 0.0, 0.0]]),
        np.zeros((1, 3)),
        (Pin(GROUND, (0, 0), 0, (-1.0, 0.0)),),
        10.0,
        error,
        point_mass=True,
    )


def four_bars(N: int) -> Linkage:
    """A02: N + 1 cranks upright, their tips at 1 m/s, joined by N couplers; every bar 1 m and 1
    kg.
    """
    i, k = np.arange(N + 1.0), np.arange(N) + 0.5
    cranks = np.stack([i, 0.5 + 0 * i, np.pi / 2 + 0 * i], axis=1)
    couplers = np.stack([k, 1 + 0 * k, 0 * k], axis=1)
    rate = np.vstack([np.tile([0.5, 0.0, -1.0], (N + 1, 1)), np.tile([1.0, 0.0, 0.0], (N, 1))])
    left, right = (-0.5, 0.0), (0.5, 0.0)
    pins = [Pin(GROUND, (float(j), 0.0), j, left) for j in range(N + 1)]
    pins += [Pin(j, right, N + 1 + j, left) for j in range(N)] + [
        Pin(j + 1, right, N + 1 + j, right) for j in range(N)
    ]

    def error(t, q):
        stiffness = (1.5 * N + 0.5) / ((4 * N + 1) / 3) * GRAVITY
        theta = _swing(stiffness, np.pi, -1.0, t) - np.pi / 2
        return _angles(q[:, 2 : 3 * (N + 1) : 3], theta[:, None])

    n = 2 * N + 1
    return Linkage(
        f"a02-{N}",
        np.ones(n),
        np.ones(n) / 12,
        np.vstack([cranks, couplers]),
        rate,
        tuple(pins),
        10.0,
        error,
    )


def five_bar() -> Linkage:
    """Three parallel cranks at 45° and their coupler, from rest."""
    theta = np.pi / 4
    c, s = np.cos(theta), np.sin(theta)
    pose = np.array([[x + c / 2, s / 2, theta] for x in (0.0, 1.0, 2.0)] + [[1 + c, s, 0.0]])
    pins = [Pin(GROUND, (float(j), 0.0), j, (-0.5, 0.0)) for j in range(3)] + [
        Pin(j, (0.5, 0.0), 3, (j - 1.0, 0.0)) for j in range(3)
    ]

    def error(t, q):
        exact = _swing(3.5 / 3.05 * GRAVITY, theta + np.pi / 2, 0.0, t) - np.pi / 2
        return _angles(q[:, [2, 5, 8]], exact[:, None])

    return Linkage(
        "five-bar",
        np.array([1, 1, 1, 2.0]),
        np.array([0.1, 0.1, 0.1, 0.2]),
        pose,
        np.zeros((4, 3)),
        tuple(pins),
        10.0,
        error,
        redundant=True,
    )


def platform() -> Linkage:
    """3RRR: motor and crank are one body each, then a link each, then the platform; horizontal, so
    without gravity.

    Parameters and the platform's exact place at 2 s are those of `tests/hierarchy/reference.json`.
    """
    base, bar, link, radius, mass = 0.5, 0.25, 0.35, 0.1, (0.8, 0.6, 1.2)
    place, rate = np.array([0.02, -0.01, 0.3]), np.array([0.03, -0.03, -0.1])
    exact = np.array([0.08905339942979064, -0.03889876313495026, 0.022677194192754543])
    unit = lambda a: np.array([np.cos(a), np.sin(a)])
    normal = lambda a: np.array([-np.sin(a), np.cos(a)])
    poses, rates, pins = [], [], []
    for i, angle in enumerate(np.radians([90.0, 210.0, 330.0])):
        pivot, arm = base * unit(angle), radius * unit(place[2] + angle)
        d = place[:2] + arm - pivot
        far = np.hypot(*d)
        theta = np.arctan2(d[1], d[0]) + np.arccos((bar**2 + far**2 - link**2) / (2 * bar * far))
        psi = np.arctan2(*(d - bar * unit(theta))[::-1])
        vertex = rate[:2] + rate[2] * radius * normal(place[2] + angle)
        turning = np.linalg.solve(
            np.stack([bar * normal(theta), link * normal(psi)], axis=1), vertex
        )
        poses += [
            [*(pivot + bar / 2 * unit(theta)), theta],
            [*(pivot + bar * unit(theta) + link / 2 * unit(psi)), psi],
        ]
        rates += [
            [*(bar / 2 * turning[0] * normal(theta)), turning[0]],
            [*(bar * turning[0] * normal(theta) + link / 2 * turning[1] * normal(psi)), turning[1]],
        ]
        vertex_at = tuple(radius * unit(angle))
        pins += [
            Pin(GROUND, tuple(pivot), 2 * i, (-bar / 2, 0.0)),
            Pin(2 * i, (bar / 2, 0.0), 2 * i + 1, (-link / 2, 0.0)),
            Pin(2 * i + 1, (link / 2, 0.0), 6, vertex_at),
        ]
    masses = np.array([mass[0], mass[1]] * 3 + [mass[2]])
    inertia = np.array(
        [mass[0] * bar**2 / 12 + 0.004, mass[1] * link**2 / 12] * 3 + [mass[2] * radius**2 / 2]
    )
    sines = ((0, 0.03, 4.0, 0.0), (2, 0.02, 3.0, np.pi / 2), (4, -0.025, 5.0, 0.0))
    return Linkage(
        "3rrr",
        masses,
        inertia,
        np.array([*poses, place]),
        np.array([*rates, rate]),
        tuple(pins),
        2.0,
        lambda t, q: float(np.max(np.abs(q[-1, 18:] - exact))),
        gravity=0.0,
        sines=sines,
    )


def plane_chain(rods: int) -> Linkage:
    """A straight chain of 1 m and 1 kg in the plane, from rest on the side: for counting bodies,
    not for accuracy.
    """
    l = m = 1.0 / rods
    at = (np.arange(rods) + 0.5) * l
    pins = [Pin(i - 1, (l / 2 if i else 0.0, 0.0), i, (-l / 2, 0.0)) for i in range(rods)]
    pose = np.stack([at, 0 * at, 0 * at], axis=1)
    mass = np.full(rods, m)
    return Linkage(
        f"rods-{rods}",
        mass,
        mass * l * l / 12,
        pose,
        0 * pose,
        tuple(pins),
        1.0,
        lambda t, q: np.nan,
    )


def rod_chain(rods: int = 10) -> RodChain:
    """A straight chain of 1 m and 1 kg that turns about the vertical and falls."""

    def error(t, q):
        from benchmarks.peers.reference import ENDS

        return float(np.max(np.abs(q[-1].reshape(-1, 3) - ENDS)))

    return RodChain("chain", rods, 1.0 / rods, 1.0 / rods, 3.0, 1.0, error)


def _angles(found: np.ndarray, exact: np.ndarray) -> float:
    """Largest difference of angles that may differ by full turns."""
    return float(np.max(np.abs(np.angle(np.exp(1j * (found - exact))))))


PROBLEMS: dict[str, Callable[[], Problem]] = {
    "a01": pendulum,
    "a02-1": lambda: four_bars(1),
    "a02-2": lambda: four_bars(2),
    "a02-10": lambda: four_bars(10),
    "a02-40": lambda: four_bars(40),
    "five-bar": five_bar,
    "3rrr": platform,
    "chain": rod_chain,
}
