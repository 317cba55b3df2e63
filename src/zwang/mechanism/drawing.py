"""Pictures of a mechanism: bodies as lines between their points, disks as circles, joints as dots, springs dashed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import jax.numpy as jnp
import numpy as np

from zwang.mechanism.joints import KINDS
from zwang.mechanism.mechanism import Mechanism
from zwang.mechanism.scene import belt, outline

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from zwang.run import Run

BODY, JOINT, FRAME, SPRING, OPEN, FADED = "#0072b2", "#d55e00", "#555555", "#009e73", "#cc0000", 0.16
TRACES = ("#cc79a7", "#e69f00", "#56b4e9", "#7b5cd6")
SHADES = 6
"""Instants at which a moving mechanism is drawn."""
CIRCLE = np.linspace(0.0, 2 * np.pi, 61)


def picture(mechanism: Mechanism, q: np.ndarray, *, broken: str | None = None) -> Figure:
    """A figure of one configuration, shape (nq,); the joint `broken` is marked, with the gap it has."""
    figure, axes = _canvas(mechanism)
    _draw(axes, mechanism, np.asarray(q), names=True, broken=broken)
    _fit(axes)
    return figure


def start_picture(mechanism: Mechanism) -> Callable[[Run], Figure]:
    """`run` → figure of its start, with the names of bodies and joints and the traces that `[look]` asks for."""

    def draw(run: Run) -> Figure:
        figure, axes = _canvas(mechanism)
        _draw(axes, mechanism, run.q[0], names=True)
        _traces(axes, mechanism, run)
        axes.set_title(f"t = {run.t[0]:.4g} s", loc="left")
        _fit(axes)
        return figure

    return _styled(draw)


def motion_picture(mechanism: Mechanism) -> Callable[[Run], Figure]:
    """`run` → figure of its last configuration, with earlier ones faded and the traces that `[look]` asks for."""

    def draw(run: Run) -> Figure:
        figure, axes = _canvas(mechanism)
        instants = np.unique(np.linspace(0, len(run.t) - 1, SHADES).astype(int))
        for i in instants[:-1]:
            _draw(axes, mechanism, run.q[i], shade=FADED)
        _draw(axes, mechanism, run.q[-1])
        _traces(axes, mechanism, run)
        axes.set_title(f"t = {run.t[-1]:.4g} s; faded: earlier", loc="left")
        _fit(axes)
        return figure

    return _styled(draw)


def _traces(axes: Axes, mechanism: Mechanism, run: Run) -> None:
    """The paths of the points that `[look]` names."""
    q = run.steps.y[:: max(1, len(run.steps.t) // 2000), : run.model.system.nq]
    for i, name in enumerate(mechanism.look.traces):
        color = TRACES[i % len(TRACES)]
        axes.plot(*_seen(mechanism, path(mechanism, q, name)).T, lw=1.2, ls="-", label=f"path of {name}", color=color, zorder=4)
    if mechanism.look.traces:
        axes.legend(loc="best")


def _styled(draw: Callable[[Run], Figure]) -> Callable[[Run], Figure]:
    """Draw in the style of a run's own plots."""

    def drawn(run: Run) -> Figure:
        import matplotlib

        from zwang.run.plot import STYLE

        with matplotlib.rc_context(STYLE):
            return draw(run)

    return drawn


def path(mechanism: Mechanism, q: np.ndarray, point: str) -> np.ndarray:
    """Places of a point over many configurations, shapes (n, nq) and (n, d) [m]."""
    import jax

    i = mechanism.layout.index[point]
    return np.asarray(jax.vmap(lambda q: mechanism.frames(q).place[i])(np.asarray(q)))


def _canvas(mechanism: Mechanism):
    from zwang.run.plot import Picture

    figure = Picture(figsize=(6.4, 4.8), layout="constrained")
    axes = figure.add_subplot()
    across, up = ("x [m]", "y [m]") if mechanism.d == 2 else ("to the right [m]", "up in the picture [m]")
    axes.set(xlabel=across, ylabel=up)
    axes.set_aspect("equal", adjustable="datalim")
    return figure, axes


def _fit(axes: Axes) -> None:
    axes.margins(0.08)
    axes.autoscale_view()


def _seen(mechanism: Mechanism, places: np.ndarray) -> np.ndarray:
    """Places as the eye sees them: as they are in the plane, in parallel projection in space; shape (..., 2)."""
    if mechanism.d == 2:
        return places
    azimuth, elevation = np.radians(mechanism.look.view)
    right = np.array([-np.sin(azimuth), np.cos(azimuth), 0.0])
    up = np.array([-np.cos(azimuth) * np.sin(elevation), -np.sin(azimuth) * np.sin(elevation), np.cos(elevation)])
    return places @ np.stack([right, up], axis=1)


def _draw(axes: Axes, m: Mechanism, q, *, shade: float = 1.0, names: bool = False, broken: str | None = None) -> None:
    layout = m.layout
    at = m.frames(jnp.asarray(q))
    place, attitude = np.asarray(at.place), np.asarray(at.attitude)
    seen = _seen(m, place)
    for i, (name, link) in enumerate(m.bodies.items()):
        center, points = layout.index[name], layout.points_of(i)
        if link.radius is not None and link.length is None:
            ring = link.radius * np.stack([np.cos(CIRCLE), np.sin(CIRCLE)], axis=-1)
            axes.plot(*_seen(m, _carried(ring, place[center], attitude[center])).T, color=BODY, lw=1.4, ls="-", alpha=shade)
            spoke = link.radius * np.array([[0.0, 0.0], [1.0, 0.0]])
            axes.plot(*_seen(m, _carried(spoke, place[center], attitude[center])).T, color=BODY, lw=1.0, ls="-", alpha=shade)
        points = [center, *points] if len(points) == 1 else points
        corners = seen[outline(layout.offset[points], points)] if points else seen[[center]]
        axes.plot(
            *corners.T,
            color=BODY,
            lw=2.2,
            ls="-",
            alpha=shade,
            marker="o" if len(points) < 1 else "",
            ms=4,
            solid_capstyle="round",
        )
        if names:
            axes.annotate(name, corners[:-1].mean(axis=0) if len(points) > 2 else corners.mean(axis=0), color=BODY, fontsize=8)
    for name, joint in m.joints.items():
        if joint.kind == "belt":
            strands = _seen(m, belt(m, name, place[None], attitude[None])[0])
            axes.plot(*strands[:2].T, *strands[2:].T, color=BODY, lw=1.2, ls="-", alpha=shade)
        if KINDS[joint.kind].couples:
            continue
        ends = m.ends(name)
        a, b = seen[ends.a], seen[ends.b]
        opened = name == broken
        if joint.kind == "rod" or opened:
            axes.plot(
                *np.stack([a, b]).T,
                color=OPEN if opened else BODY,
                lw=2.0 if opened else 1.5,
                ls=":" if opened else "-",
                alpha=shade,
            )
        if layout.carrier[ends.a] == len(layout.bodies) and joint.kind not in ("planar", "rolling", "knife", "path"):
            axes.plot(*a, marker="^", ms=8, color=FRAME, alpha=shade)
        if joint.kind not in ("rolling", "knife"):
            axes.plot(
                *b,
                marker="s" if joint.kind in ("prismatic", "slot") else "o",
                ms=4,
                color=OPEN if opened else JOINT,
                alpha=shade,
                zorder=3,
            )
        if names and not opened:
            axes.annotate(name, b, color=JOINT, fontsize=8, xytext=(5, 5), textcoords="offset points")
        if opened:
            axes.annotate(f"{name} is open", (a + b) / 2, color=OPEN, xytext=(4, 6), textcoords="offset points")
    for actuator in m.actuators.values():
        if actuator.between is not None:
            axes.plot(*seen[[layout.index[x] for x in actuator.between]].T, color=FRAME, lw=3.0, ls="-", alpha=0.5 * shade)
    for spring in [*m.springs.values(), *m.bushings.values()]:
        if spring.between is not None:
            axes.plot(*seen[[layout.index[x] for x in spring.between]].T, color=SPRING, lw=1.4, ls="--", alpha=shade)


def _carried(ring: np.ndarray, place: np.ndarray, attitude: np.ndarray) -> np.ndarray:
    """Points of a body's plane of x and y, in space."""
    if attitude.ndim == 0:
        c, s = np.cos(attitude), np.sin(attitude)
        return place + ring @ np.array([[c, s], [-s, c]])
    return place + ring @ attitude[:, :2].T
