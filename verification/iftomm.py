"""The benchmarks A01 to A05 of the IFToMM library of computational benchmark problems, compared
with its reference solutions.

Facts from: González, Dopico, Lugrís and Cuadrado (2006), A benchmarking system for MBS simulation
software, Multibody Syst. Dyn. 16, 179-190. The reference solutions are read out of the figures of
MBSbenchmarksInOpenSim (Tagliapietra, Vivian, Ceseracciu and Reggiani 2015), which are PDF and draw
them beside OpenSim's: as marks, whose places have six digits, or as gray lines, which the drawing
program has thinned out.
"""

from __future__ import annotations

import dataclasses
import re
import zlib
from collections.abc import Callable
from pathlib import Path

import jax.numpy as jnp
import numpy as np

import zwang as zw
from verification.line import Line, judged
from zwang.mechanism import joint_motion
from zwang.mechanism.toml import parsed
from zwang.simulation.results import Run
from zwang.stepping.base import AbstractIntegrator

SUITE = "IFToMM benchmarks"
COMMAND = "python -m verification iftomm --data MBSbenchmarksInOpenSim"
LEFT, BOTTOM, RIGHT, TOP = 72.0, 43.2, 518.4, 388.8
"""Axes of every figure on its page [pt]."""
MARKS, LINES = 1e-4, 1e-3
"""What counts as agreement, of the range of the quantity: of marks; of lines, of which the points
nearer than 1/9 of a pixel to the line without them are left out."""

# The governor. In joint coordinates nothing but its springs is stiff.
GOVERNOR = """
name = "A05"
world = "space"
coordinates = "joint"

[ground]
foot = { at = [0, 0, 0], axis = [0, 0, 1], x = [1, 0, 0] }

[bodies.shaft]
mass = 0.3
inertia = ["0.3*(1 + 0.01**2)/12", "0.3*(1 + 0.01**2)/12", "0.3*2*0.01**2/12"]
at = [0, 0, 0.5]
points.foot = { at = [0, 0, -0.5], axis = [0, 0, 1], x = [1, 0, 0] }
points.left = { at = [-0.05, 0, 0.5], axis = [0, 1, 0] }
points.right = { at = [0.05, 0, 0.5], axis = [0, 1, 0] }

[bodies.slider]
mass = 3
inertia = ["3*0.1**2/6", "3*0.1**2/6", "3*0.1**2/6"]
at = [0, 0, 0.5]
points.way = { at = [0, 0, 0], axis = [0, 0, 1], x = [1, 0, 0] }
points.left = [-0.05, 0, 0]
points.right = [0.05, 0, 0]

[bodies.left]
mass = 0.3
inertia = ["0.3*2*0.01**2/12", "0.3*(1 + 0.01**2)/12", "0.3*(1 + 0.01**2)/12"]
at = ["-0.05 - 0.5*cos(pi/6)", 0, 0.75]
turn = [0, "-pi/6", 0]
points.hinge = { at = [0.5, 0, 0], axis = [0, 1, 0] }
points.ball = [-0.5, 0, 0]

[bodies.right]
mass = 0.3
inertia = ["0.3*2*0.01**2/12", "0.3*(1 + 0.01**2)/12", "0.3*(1 + 0.01**2)/12"]
at = ["0.05 + 0.5*cos(pi/6)", 0, 0.75]
turn = [0, "pi/6", 0]
points.hinge = { at = [-0.5, 0, 0], axis = [0, 1, 0] }
points.ball = [0.5, 0, 0]

[bodies.ball-left]
mass = 5
inertia = [0, 0, 0]
at = ["-0.05 - cos(pi/6)", 0, 0.5]

[bodies.ball-right]
mass = 5
inertia = [0, 0, 0]
at = ["0.05 + cos(pi/6)", 0, 0.5]

[joints]
foot = { kind = "revolute", between = ["ground.foot", "shaft.foot"] }
slide = { kind = "prismatic", between = ["shaft.foot", "slider.way"] }
left = { kind = "revolute", between = ["shaft.left", "left.hinge"] }
right = { kind = "revolute", between = ["shaft.right", "right.hinge"] }
ball-left = { kind = "fixed", between = ["left.ball", "ball-left"] }
ball-right = { kind = "fixed", between = ["right.ball", "ball-right"] }

[springs]
left = { between = ["slider.left", "left.center"], stiffness = 8e5, damping = 4e4, rest = 0.5 }
right = { between = ["slider.right", "right.center"], stiffness = 8e5, damping = 4e4, rest = 0.5 }

[start]
foot = { rate = "2*pi" }
slide = { rate = 0 }
left = { rate = 0 }
right = { rate = 0 }
"""


@dataclasses.dataclass(frozen=True)
class Figure:
    """A figure with curves over time.

    Attributes:
        file: its name.
        t, y: the range of its axes [s], [m].
        marks: whether the reference is drawn as marks.
    """

    file: str
    t: tuple[float, float]
    y: tuple[float, float]
    marks: bool

    def curves(self, data: Path) -> list[np.ndarray]:
        """The curves of the reference in the order in which they are drawn, shape (n, 2)."""
        page = (data / "help" / "images" / self.file).read_bytes()
        streams = re.findall(rb"stream\r?\n(.*?)endstream", page, re.DOTALL)
        drawn = zlib.decompress(streams[0]).decode("latin-1")
        found = [self._scaled(x) for x in (_marks(drawn) if self.marks else _gray_lines(drawn))]
        if not found:
            raise ValueError(f"{self.file} shows no reference; expected the figure of 2015.")
        return found

    def _scaled(self, xy: np.ndarray) -> np.ndarray:
        """Times and values of places on the page."""
        share = (xy - (LEFT, BOTTOM)) / (RIGHT - LEFT, TOP - BOTTOM)
        low, high = np.transpose([self.t, self.y])
        scaled = low + share * (high - low)
        # a line may go on where the axes end
        return scaled[scaled[:, 0] <= self.t[1]]


def _marks(drawn: str) -> list[np.ndarray]:
    """Places of marks: the first is set, each further one is a step from the one before."""
    sets = [[tuple(map(float, x)) for x in re.findall(MARK, part)] for part in drawn.split("Q")]
    # the legend shows two marks of each kind
    return [np.cumsum(steps, axis=0) for steps in sets if len(steps) > 2]


MARK = r"1 0 0 1 (\S+) (\S+) cm /M\d+ Do"


def _gray_lines(drawn: str) -> list[np.ndarray]:
    """Corners of the lines in light gray."""
    blocks = re.findall(r"0\.8 G\s([^A-Za-z]*m[^A-Z]*?)\sS", drawn)
    lines = [re.findall(r"(\S+)\s(\S+)\s[ml]\b", block) for block in blocks]
    return [np.array(line, float) for line in lines if len(line) > 5]


@dataclasses.dataclass(frozen=True)
class Followed:
    """A model, its start, and what is compared of its motion.

    Attributes:
        model, q, v: the model and its start.
        seen: run → the quantities, shape (curves, samples).
        integrator: how it is integrated.
    """

    model: zw.Model
    q: np.ndarray
    v: np.ndarray
    seen: Callable[[Run], np.ndarray]
    integrator: AbstractIntegrator | None = None


@dataclasses.dataclass(frozen=True)
class Benchmark:
    """A benchmark of the library: what is compared, by which figure and which model."""

    name: str
    what: str
    figure: Figure
    build: Callable[[], Followed]
    why: str = ""


def pendulum() -> Followed:
    """A01: a point mass on a massless bar of 1 m, level at the start."""
    system = zw.System(
        2, lambda q, t, p: jnp.ones(2), lambda q, v, t, p: jnp.array([0.0, -9.81]), units=("m", "m")
    )
    bar = zw.Holonomic(lambda q, t, p: q @ q - 1.0, name="bar")
    model = zw.Model(system, [bar], name="A01")
    return Followed(model, np.array([-1.0, 0.0]), np.zeros(2), lambda run: run.q.T)


def four_bars() -> Followed:
    """A02: the end of the first crank of forty four-bar loops."""
    member = zw.gallery.load("n-four-bar", N=40)
    # a crank of 1 m has its end twice as far away as its center
    return Followed(member.model, member.q0, member.v0, lambda run: 2 * run.q.T[:2])


def squeezer() -> Followed:
    """A03: the end F of the crank of Andrews' mechanism, 7 mm from its axis, from β = −0.0620."""
    member = zw.gallery.load("squeezer")
    free = member.model
    angle = zw.Holonomic(lambda q, t, p: q[0] + 0.0620, name="angle")
    held = zw.Model(free.system, [*free.constraints.members, angle], free.params)
    q = zw.consistent_state(held, member.q0).state.q
    end = lambda run: 0.007 * np.array([np.cos(run.q[:, 0]), np.sin(run.q[:, 0])])
    return Followed(free, np.asarray(q), member.v0, end)


def bricards_linkage() -> Followed:
    """A04: the joint between the second and third of five slender rods."""
    from benchmarks.models import bricard  # builds a model as it is imported

    rods, second = bricard.rods, 1
    moments = np.where(np.abs(bricard.along) > 0.5, 0.0, 1 / 12)
    params = {**rods.params, "inertia": np.array([np.diag(x) for x in moments])}
    model = zw.Model(rods.system, bricard.model.constraints.members, params, name="A04")
    end = bricard.along[second] / 2
    place = lambda run: np.array([rods.point(jnp.asarray(q), second, end) for q in run.q]).T
    return Followed(model, bricard.q0, bricard.v0, place)


def governor() -> Followed:
    """A05: the height s of the slider of a flyball governor whose couplers are stiff dampers."""
    mechanism = parsed(GOVERNOR, Path("governor.toml"), {})
    start = mechanism.start_state
    height = lambda run: np.asarray(joint_motion(mechanism, run)["slide"].values)[None]
    return Followed(mechanism.model, start.q, start.v, height, zw.methods.Kvaerno5())


BENCHMARKS = (
    Benchmark(
        "A01, simple pendulum",
        "x and y of the mass over 10 s",
        Figure("1MBS_resultsPlot.pdf", (0.0, 10.0), (-1.1, 1.1), True),
        pendulum,
    ),
    Benchmark(
        "A02, N-four-bar mechanism",
        "x and y of the point B0 over 10 s, through singular configurations",
        Figure("2MBS_PlotResults.pdf", (0.0, 10.1), (-1.1, 1.1), False),
        four_bars,
        "N = 40, as the program of the figure names its model; the page says N = 2, with which the "
        "curves are 0.34 apart",
    ),
    Benchmark(
        "A03, Andrews' mechanism",
        "x and y of the point F over 0.05 s",
        Figure("3MBS_PlotResults.pdf", (0.0, 0.05), (-0.01, 0.01), False),
        squeezer,
    ),
    Benchmark(
        "A04, Bricard's mechanism",
        "x, y and z of the point P3 over 10 s, with one redundant constraint",
        Figure("4MBS_PlotResults.pdf", (0.0, 10.1), (-1.1, 1.1), False),
        bricards_linkage,
        "slender rods without inertia about their own axes: M is singular; with the square cross "
        "section of 0.1 m that the page names the curves are 0.016 apart",
    ),
    Benchmark(
        "A05, stiff flyball governor",
        "height s of the slider over 3 s",
        Figure("5MBS_PlotResults.pdf", (0.0, 3.1), (0.48, 0.78), True),
        governor,
    ),
)


def lines(data: Path) -> list[Line]:
    """The lines of the suite, a line for each benchmark."""
    return [compared(case, data) for case in BENCHMARKS]


def compared(case: Benchmark, data: Path) -> Line:
    """The largest difference at the points of the figure, of the range of each curve."""
    curves, follow = case.figure.curves(data), case.build()
    times = np.unique(np.concatenate([curve[:, 0] for curve in curves]))
    run = zw.simulate(
        follow.model,
        follow.q,
        follow.v,
        times=np.union1d(0.0, times[times > 0]),
        rtol=1e-10,
        integrator=follow.integrator,
    )
    worst = 0.0
    for curve, ours in zip(curves, follow.seen(run), strict=True):
        found = np.interp(curve[:, 0], run.times, ours)
        worst = max(worst, np.abs(found - curve[:, 1]).max() / np.ptp(curve[:, 1]))
    allowed = MARKS if case.figure.marks else LINES
    verdict = judged(worst, allowed)
    return Line(SUITE, case.name, case.what, "", "", worst, allowed, verdict, case.why, COMMAND)
