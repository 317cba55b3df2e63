"""Pictures of a mechanism: bodies as lines, disks as circles, joints as dots, springs dashed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from zwang.mechanism.guides import axes_of, guides
from zwang.mechanism.mechanism import Mechanism
from zwang.mechanism.registry import JOINT_KINDS
from zwang.mechanism.scene import belt, outline
from zwang.plots import Curve, Label, Panel, Picture, joined, projected
from zwang.plots.bodies import BODY, FADED, FRAME, HEIGHT, JOINT, OPEN, SPRING
from zwang.plots.data import HALF

if TYPE_CHECKING:
    from zwang.simulation.results import Run

TRACES = ("#cc79a7", "#e69f00", "#56b4e9", "#7b5cd6")
MOTION_SHADES = 6
"""Number of instants at which a moving mechanism is drawn."""
GAP_BETWEEN = 1.25
"""Distance between adjacent configurations, relative to their extent."""
CIRCLE = np.linspace(0.0, 2 * np.pi, 61)


def picture(mechanism: Mechanism, q: np.ndarray, *, broken: str | None = None) -> Picture:
    """Draw one configuration, shape (nq,), or several with their numbers, shape (n, nq).

    Assembly modes are drawn side by side. The joint `broken` is marked, with its gap.
    """
    if np.ndim(q) == 1:
        shown = _Shown(mechanism, np.asarray(q), broken=broken)
        return _plane(mechanism, shown.curves(), labels=shown.labels())
    each = [_Shown(mechanism, x, broken=broken) for x in np.asarray(q)]
    low = np.min([x.seen.min(axis=0) for x in each], axis=0)
    size = np.max([x.seen.max(axis=0) for x in each], axis=0) - low
    # for a picture twice as wide as high
    row = max(1, round(np.sqrt(2 * len(each) * max(size[1], 1e-9) / max(size[0], 1e-9))))
    curves, labels = [], []
    for i, shown in enumerate(each):
        move = np.array([i % row, -(i // row)]) * (GAP_BETWEEN * size + 1e-9)
        curves += [replace(c, x=c.x + move[0], y=c.y + move[1]) for c in shown.curves()]
        labels.append(Label(move + low + size * [0.0, 1.0], str(i), JOINT, (4.0, 2.0)))
    heading = f"{len(each)} configurations, side by side"
    return _plane(mechanism, curves, labels=labels, heading=heading)


def start_picture(mechanism: Mechanism) -> Callable[[Run], Picture]:
    """`run` → picture of its start, with names of bodies and joints and traces of `[look]`."""

    def draw(run: Run) -> Picture:
        made = mechanism.of_run(run)
        shown = _Shown(made, run.q[0])
        heading = f"t = {run.t[0]:.4g} s"
        return _plane(
            made,
            [*shown.curves(), *_traces(made, run)],
            labels=shown.labels(),
            heading=heading,
        )

    return draw


def motion_picture(mechanism: Mechanism) -> Callable[[Run], Picture]:
    """`run` → picture of its last configuration, with faded earlier ones and traces of `[look]`."""

    def draw(run: Run) -> Picture:
        *earlier, last = np.unique(np.linspace(0, len(run.t) - 1, MOTION_SHADES).astype(int))
        made = mechanism.of_run(run)
        curves = [curve for i in earlier for curve in _Shown(made, run.q[i], FADED).curves()]
        curves += [*_Shown(made, run.q[last]).curves(), *_traces(made, run)]
        return _plane(made, curves, heading=f"t = {run.t[-1]:.4g} s; faded: earlier")

    return draw


def _beside(corners: np.ndarray) -> tuple[float, float]:
    """Offset of a body's name from its middle [point], so that its bar does not cross the name.

    It is below a bar that rises to the right, above one that falls, and below a point, where joints
    may be.
    """
    along = corners[1] - corners[0] if len(corners) > 1 else np.ones(2)
    return (4.0, -9.0) if along[0] * along[1] > 0 else (4.0, 4.0)


def _plane(mechanism: Mechanism, curves: list[Curve], **options) -> Picture:
    across, up = (
        ("x [m]", "y [m]") if mechanism.d == 2 else ("to the right [m]", "up in the picture [m]")
    )
    return Picture([Panel(curves, up, **options)], across, width=HALF, height=HEIGHT, equal=True)


def _traces(mechanism: Mechanism, run: Run) -> list[Curve]:
    """The paths of the points that `[look]` names."""
    q = run.steps.y[:: max(1, len(run.steps.t) // 2000), : run.model.system.nq]
    return [
        joined(
            [_seen(mechanism, path(mechanism, q, name))],
            label=f"path of {name}",
            color=TRACES[i % len(TRACES)],
            width=1.2,
        )
        for i, name in enumerate(mechanism.look.traces)
    ]


def path(mechanism: Mechanism, q: np.ndarray, point: str) -> np.ndarray:
    """Positions of a point over many configurations, shapes (n, nq) and (n, d) [m]."""
    i = mechanism.geometry.index[point]
    return np.asarray(mechanism.placed(q).points.place)[:, i]


def _seen(mechanism: Mechanism, places: np.ndarray) -> np.ndarray:
    """Positions as drawn, shape (..., 2): in space in parallel projection."""
    if mechanism.d == 2:
        return places
    return projected(places, *np.radians(mechanism.look.view))


class _Shown:
    """Elements of a picture of one configuration in one shade."""

    def __init__(self, m: Mechanism, q: np.ndarray, shade: float = 1.0, broken: str | None = None):
        self.m, self.shade, self.broken = m, shade, broken
        at = m.placed(q[None]).points
        self.place, self.attitude = np.asarray(at.place)[0], np.asarray(at.attitude)[0]
        self.seen = _seen(m, self.place)
        self.kinds = {
            name: kind
            for name, joint in m.joints.items()
            if not (kind := JOINT_KINDS[joint.kind]).couples
        }
        self.corners = {name: self._corners(i, name) for i, name in enumerate(m.bodies)}

    def curves(self) -> list[Curve]:
        """Everything but names; joints over bodies."""
        m, seen = self.m, self.seen
        ends = {name: m.ends(name) for name in self.kinds}
        rods = [
            seen[[ends[n].a, ends[n].b]] for n, kind in self.kinds.items() if kind.line == "rod"
        ]
        grounded = [
            ends[n].a
            for n, kind in self.kinds.items()
            if kind.symbol != "contact" and m.geometry.carrier[ends[n].a] == len(m.bodies)
        ]
        slides, pins = (
            [
                seen[ends[n].b]
                for n, kind in self.kinds.items()
                if kind.mark == mark and n != self.broken
            ]
            for mark in ("square", "dot")
        )
        return [
            self._lines(self._guides(), FRAME, 1.2, alpha=0.6 * self.shade),
            self._lines(self._rings(), BODY, 1.4),
            self._lines(self.corners.values(), BODY, 2.2),
            self._spots(
                [corners[0] for corners in self.corners.values() if len(corners) == 1], BODY
            ),
            self._lines([*self._strands(), *rods], BODY, 1.4),
            self._lines(self._between(m.actuators.values()), FRAME, 3.0, alpha=0.5 * self.shade),
            self._lines(
                self._between([*m.springs.values(), *m.bushings.values()]),
                SPRING,
                1.4,
                dash=(5.2, 2.2),
            ),
            self._spots(seen[grounded], FRAME, "^", 9.0),
            self._spots(slides, JOINT, "s"),
            self._spots(pins, JOINT),
            *self._gap(),
        ]

    def labels(self) -> list[Label]:
        """Names of bodies and joints."""
        middles = {
            name: (x[:-1] if len(x) > 2 else x).mean(axis=0) for name, x in self.corners.items()
        }
        names = [
            Label(middle, name, BODY, _beside(self.corners[name]))
            for name, middle in middles.items()
        ]
        together: dict[tuple, list[str]] = {}
        for name in self.kinds:
            a, b = self.seen[self.m.ends(name).a], self.seen[self.m.ends(name).b]
            if name == self.broken:
                names.append(Label((a + b) / 2, f"{name} is open", OPEN, (4.0, 6.0)))
            else:
                # Joints at one position share a label, as several would cover each other.
                together.setdefault(tuple(np.round(b, 6).tolist()), []).append(name)
        return names + [Label(at, ", ".join(x), JOINT, (5.0, 5.0)) for at, x in together.items()]

    def _lines(
        self,
        lines: Iterable[np.ndarray],
        color: str,
        width: float,
        *,
        alpha: float | None = None,
        dash=(),
    ) -> Curve:
        return joined(
            lines,
            color=color,
            width=width,
            alpha=self.shade if alpha is None else alpha,
            dash=dash,
            sketch=True,
        )

    def _spots(self, places, color: str, marker: str = "o", size: float = 5.0) -> Curve:
        return joined(
            [np.reshape(places, (-1, 2))],
            color=color,
            width=0,
            alpha=self.shade,
            marker=marker,
            size=size,
            sketch=True,
        )

    def _gap(self) -> list[Curve]:
        """The open joint, as a line between its points."""
        if self.broken not in self.kinds:
            return []
        ends = self.m.ends(self.broken)
        gap = self.seen[[ends.a, ends.b]]
        return [self._lines([gap], OPEN, 2.0, dash=(2.0, 3.3)), self._spots(gap[1:], OPEN)]

    def _corners(self, i: int, name: str) -> np.ndarray:
        """Corners of a body: its points, and its center if there is only one."""
        geometry = self.m.geometry
        center, points = geometry.index[name], geometry.points_of(i)
        points = [center, *points] if len(points) == 1 else points
        return (
            self.seen[outline(geometry.offset[points], points)] if points else self.seen[[center]]
        )

    def _rings(self) -> list[np.ndarray]:
        """Circle and spoke of each disk."""
        disks = [
            (self.m.geometry.index[name], x.radius)
            for name, x in self.m.bodies.items()
            if x.radius is not None and x.length is None
        ]
        circle = np.stack([np.cos(CIRCLE), np.sin(CIRCLE)], axis=-1)
        shapes = (circle, np.array([[0.0, 0.0], [1.0, 0.0]]))
        return [
            _seen(self.m, _carried(radius * x, self.place[i], self.attitude[i]))
            for i, radius in disks
            for x in shapes
        ]

    def _guides(self) -> list[np.ndarray]:
        """Slots, curves and floors on which points move."""
        # earlier floors, each around its point, would cover each other
        names = [n for n, x in self.kinds.items() if x.guide != "floor" or self.shade == 1.0]
        return [_seen(self.m, x) for x in guides(self.m, self.place, self.attitude, names)]

    def _strands(self) -> list[np.ndarray]:
        belts = [
            name for name, joint in self.m.joints.items() if JOINT_KINDS[joint.kind].line == "belt"
        ]
        strands = [
            _seen(self.m, belt(self.m, name, self.place[None], self.attitude[None])[0])
            for name in belts
        ]
        return [half for strand in strands for half in (strand[:2], strand[2:])]

    def _between(self, parts) -> list[np.ndarray]:
        """Lines between the two points of springs and similar parts."""
        return [
            self.seen[[self.m.geometry.index[x] for x in part.between]]
            for part in parts
            if part.between is not None
        ]


def _carried(ring: np.ndarray, place: np.ndarray, attitude: np.ndarray) -> np.ndarray:
    """Map points in a body's plane of x and y to space."""
    return place + ring @ axes_of(attitude)[:, :2].T
