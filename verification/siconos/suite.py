"""The reference files of siconos/siconos-tutorials, each as a case or with the reason why not."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

import numpy as np

import zwang as zw
from verification.line import AGREES, FAILED, NOT_MODELED, Line, judged
from verification.siconos import balls, linkages
from verification.siconos.impact import Impacting, Motion, MotionError
from verification.siconos.third import solved

SUITE = "Siconos, examples of mechanics"
COMMAND = "python -m verification siconos --data siconos-tutorials"
STEPPED, EVENTS = 1e-2, 1e-3
"""What counts as agreement, of the range of a coordinate: of files that steps of fixed length over
impacts wrote, and of files of event-driven runs."""
SEEN = 400
"""Instants that are compared, evenly among those of the file."""
FRICTION = "Coulomb friction at impacts"
ROLLING = "rolling friction at impacts"
LZB = "the impact law LZB, whose impulses are shared by the energies of the contacts"
COLLISION = "bodies whose points of contact a program for collisions finds"
CAD = "parts whose points of contact are those of CAD models"


@dataclasses.dataclass(frozen=True)
class Case:
    """An example.

    Attributes:
        build: gives the model; or the name of a member of the gallery, which a run follows.
        columns: which column of the file shows which coordinate.
        what: in words.
        allowed: what counts as agreement.
    """

    build: Callable[[], Impacting] | str
    columns: dict[int, int]
    what: str
    allowed: float = STEPPED


HEIGHT, HEIGHTS = "height of the ball", "heights of both balls"
ball = partial(Case, balls.falling, {1: 0}, HEIGHT)
column = partial(
    Case,
    lambda: balls.stack(1 + 0.25 * np.arange(10), np.ones(10), np.full(10, 0.1), 0.9),
    {1 + 2 * i: i for i in range(10)},
    "heights of ten beads that fall on each other",
)
pair = partial(
    Case,
    lambda: balls.stack([1.0, 2.1], [1.0, 1.0], [0.5, 0.5], 0.9),
    {1: 0, 5: 1},
    HEIGHTS,
)
RODS = {1: 0, 3: 1, 8: 3, 10: 4, 17: 7}
linkage = partial(Case, linkages.rods, RODS, "centers of three rods above a floor")
KNEE = "no contact: a body on a spherical joint, whose turns this suite's models do not have"
driven = partial(
    Case, partial(linkages.rods, driven=True), RODS, "centers of three rods, the first one driven"
)
rope = partial(Case, linkages.rope_pendulum, {1: 0, 2: 1}, "place of a mass that hangs on a rope")
CLEARANCE = (
    "its file was not at hand, damaged in the copy of the repository that was read, so that the "
    "crank whose slider has a clearance was not written down"
)
bar = partial(
    Case, balls.bar, {1: 0, 7: 99, 9: 50}, "ends and middle of an elastic bar that meets a wall"
)
CASES: dict[str, Case | str] = {
    "2DRigidBodies/Ball2D": pair(),
    "2DRigidBodies/Ball2D_kernel_only": pair(),
    "2DRigidBodies/Ball2D_kernel_only_with_friction": FRICTION,
    "BallOnMovingPlane/BallNewtonEuler-WITHPROJ": FRICTION,
    "BallOnMovingPlane/BallNewtonEuler": FRICTION,
    "BallOnMovingPlane/BallNewtonEulerOnMovingPlane": Case(
        partial(balls.moving_plane, 2.0), {1: 0}, "height of a ball on a plane that moves"
    ),
    "BallOnMovingPlane/BallOnMovingPlane": Case(
        balls.moving_plane, {1: 0}, "height of a ball on a plane that moves"
    ),
    "BouncingBall/BouncingBallTS-CompliantContact": Case(balls.soft_floor, {1: 0}, HEIGHT),
    "BouncingBall/BouncingBallTS-D1MinusLinearOSI": ball(),
    "BouncingBall/BouncingBallTS-Dynamic": (
        "a contact that is added when the ball is 4 m below it already"
    ),
    "BouncingBall/BouncingBallTS-MoreauJeanCombinedProjectionOSI": ball(),
    "BouncingBall/BouncingBallTS-MoreauJeanDirectProjectionOSI-level0": ball(),
    "BouncingBall/BouncingBallTS-MoreauJeanDirectProjectionOSI": ball(),
    "BouncingBall/BouncingBallTS-MoreauJeanGOSI": ball(),
    "BouncingBall/BouncingBallTS-SchatzmanPaoliOSI": ball(),
    "BouncingBall/BouncingBallTS-Scleronomous": Case(
        balls.slope, {1: 0, 2: 1}, "place of a ball on a slope"
    ),
    "BouncingBall/BouncingBallTS": ball(),
    "BouncingBallEventDriven/BouncingBallED-TwoContacts": Case(
        balls.box, {1: 0}, "height of a ball between floor and ceiling", EVENTS
    ),
    "BouncingBallEventDriven/BouncingBallED-initialImpact": Case(
        partial(balls.falling, 0.0, -1.0), {1: 0}, HEIGHT, EVENTS
    ),
    "BouncingBallEventDriven/BouncingBallED-withRestingContact": Case(
        partial(balls.falling, restitution=0.0), {1: 0}, HEIGHT, EVENTS
    ),
    "BouncingBallEventDriven/BouncingBallED": ball(allowed=EVENTS),
    "BouncingBallEventDriven/LinearOscillatorED": Case(
        balls.oscillator, {1: 0, 7: 1}, "place of a mass on springs above a floor", EVENTS
    ),
    "BulletBouncingBox/result": COLLISION,
    "BulletBouncingBox/result_dynamic": COLLISION,
    "CamFollower/CF": Case(partial(balls.follower, 0.0, 0.0), {1: 0}, "height of the follower"),
    "CamFollower/CamFollower-Rheonomous": Case(
        partial(balls.follower, 0.4, 0.4), {1: 0}, "height of the follower"
    ),
    "ChainOfBalls/MonodisperseChainOfBalls-LZBModel": LZB,
    "ChainOfBalls/TaperedChainOfBalls-LZBModel": LZB,
    "ColumnOfBeads/BeadColumnED_LZBModel": LZB,
    "ColumnOfBeads/BeadColumnED_NewtonLaw": Case(
        lambda: balls.stack(
            0.055 + 0.01 * np.arange(10),
            np.full(10, 4 / 3 * np.pi * 0.005**3 * 7780),
            np.full(10, 0.005),
            1.0,
            size=0.01,
        ),
        {1 + i: i for i in range(10)},
        "heights of ten beads that touch and fall together",
        EVENTS,
    ),
    "ColumnOfBeads/ColumnOfBeadsTS-MoreauJEanGOSI": column(),
    "ColumnOfBeads/ColumnOfBeadsTS-SBM": column(),
    "ColumnOfBeads/ColumnOfBeadsTS": column(),
    "ColumnOfBeads/ColumnOfbeadsTS-CombinedProjection": column(),
    "ColumnOfBeads/ColumnOfbeadsTS-ProjectionOnConstraints-level0": column(),
    "ColumnOfBeads/ColumnOfbeadsTS-ProjectionOnConstraints": column(),
    "FEM/ImpactingBar/ImpactingBar": bar(),
    "FEM/ImpactingBar/ImpactingBarD1MinusLinear": bar(),
    "FourBarLinkageWith3clearance/FourBarClearance": FRICTION,
    "FrictionOscillator/FrictionOscillator": "Coulomb friction that sticks and slips",
    "ImpactingStick/ImpactingStick-FremondNSL": FRICTION,
    "ImpactingStick/ImpactingStick": FRICTION,
    "JointsTests/NE_1DS": Case(
        partial(linkages.flight, (np.sqrt(0.125), 0.0, -np.sqrt(0.125)), (100.0, 0.0, 0.0)),
        {1: 0, 3: 2},
        "center of a body that flies freely",
    ),
    "JointsTests/NE_1DS_1Knee_MLCP": (
        f"{KNEE}; the file's own column 8 says that its joint is open by up to 0.5 m"
    ),
    "JointsTests/NE_1DS_1Knee_MLCP_MoreauJeanCombinedProjection": KNEE,
    "JointsTests/NE_3DS_3Knee_1Prism_GMP": linkage(),
    "JointsTests/NE_3DS_3Knee_1Prism_MLCP": linkage(),
    "JointsTests/NE_3DS_3Knee_1Prism_MLCP_MoreauJeanCombinedProjection": linkage(),
    "JointsTests/PrismaticTest": Case(
        partial(linkages.flight, (1.0, 1.0, 1.0), (0.0, 0.0, 0.0), guided=True),
        {1: 0, 2: 1, 3: 2},
        "center of a body that falls along a guide",
    ),
    "JointsTestsWithBoundaryConditions/NE_3DS_3Knee_1Prism_GMP": driven(),
    "JointsTestsWithBoundaryConditions/NE_3DS_3Knee_1Prism_MLCP": driven(),
    "JointsTestsWithInternalForces/NE_1DS_1Knee_MLCP": KNEE,
    "JointsTestsWithInternalForces/NE_3DS_3Knee_1Prism_MLCP_withSprings": Case(
        partial(linkages.rods, spring=True), RODS, "centers of three rods, the first one on springs"
    ),
    "Mechanisms/SliderCrank/simulation_results": CAD,
    "NewtonEuler/BouncingBallNETS-WITHPROJ": Case(
        partial(balls.falling, 1.0, 2.0, floor=0.1), {1: 0}, HEIGHT
    ),
    "NewtonEuler/BouncingBallNETS": Case(
        partial(balls.falling, 1.0, 2.0, floor=0.1), {1: 0}, HEIGHT
    ),
    "Pendulum/DoublePendulumResult": Case(
        linkages.double_pendulum, {1: 0, 3: 1}, "angles of a double pendulum at a wall"
    ),
    "Pendulum/SimplePendulumED_AlphaScheme": rope(allowed=EVENTS),
    "Pendulum/SimplePendulumED_Lsodar": rope(allowed=EVENTS),
    "Pendulum/SimplePendulumResult": Case(
        linkages.wall_pendulum, {1: 0}, "angle of a pendulum at a wall"
    ),
    "PendulumOnASlider/PendulumSlider": Case(
        linkages.slider_pendulum, {1: 0, 3: 2}, "place of the slider, angle of the pendulum"
    ),
    "Relay/SimpleExampleRelay": "a relay, and no mechanics: its program is not in this folder",
    "RockingBlock/RockingBlockED_Lsodar_LZBimpact": LZB,
    "RockingBlock/RockingBlockED_NewMarkAlpha": Case(
        linkages.rocking_block, {1: 0, 2: 1, 3: 2}, "place and angle of a block", EVENTS
    ),
    "RockingBlock/resultED_LZBmodel_LsodarOSI": LZB,
    "RollingFriction/Ball_2d_with_kernel_only_with_rollingfriction": ROLLING,
    "RollingFriction/BouncingBallNETS": ROLLING,
    "RollingFriction/BouncingBallNETS_MoreauJeanGOSI": ROLLING,
    "RollingFriction/test_2d_rolling_friction": ROLLING,
    "SliderCrank/SliderCrankD1MinusLinearOSI": CLEARANCE,
    "SliderCrank/SliderCrankD1MinusLinearOSIVelocityLevel": CLEARANCE,
    "SliderCrank/SliderCrankMoreauJeanCombinedProjectionOSI": FRICTION,
    "SliderCrank/SliderCrankMoreauJeanDirectProjectionOSI": FRICTION,
    "SliderCrank/SliderCrankMoreauJeanOSI": FRICTION,
    "TwoBouncingBalls/TwoBouncingBallTS-MoreauJeanGOSI": Case(
        balls.two_balls, {1: 0, 5: 1}, HEIGHTS
    ),
    "Woodpecker/Woodpecker": Case(
        "woodpecker", {1: 0, 5: 2}, "height of the sleeve, angle of the bird, with friction"
    ),
    "yoyo/Yoyo": FRICTION,
}


def read(data: Path, name: str) -> np.ndarray | None:
    """The rows of a reference file, one for each instant; None where the clone lacks it."""
    path = data / "examples" / "mechanics" / f"{name}.ref"
    if not path.exists():
        return None
    rows = np.loadtxt(path, skiprows=1)
    # of the two rows of an impact, the one after it
    return rows[len(rows) - 1 - np.unique(rows[::-1, 0], return_index=True)[1]]


def chosen(rows: np.ndarray) -> np.ndarray:
    """The rows that are compared."""
    index = np.unique(np.linspace(0, len(rows) - 1, SEEN).round().astype(int))
    return rows[index]


def lines(data: Path) -> list[Line]:
    """The lines of the suite, a line for each file."""
    return [line(data, name, case) for name, case in CASES.items()]


def line(data: Path, name: str, case: Case | str) -> Line:
    """A file compared, or why it is not."""
    if isinstance(case, str):
        return left_out(name, "", case)
    rows = read(data, name)
    if rows is None:
        return left_out(name, case.what, "the clone of the repository at hand lacks the file")
    try:
        return compared(name, case, chosen(rows))
    except (MotionError, zw.ModelError, zw.SimulationError) as error:
        return left_out(name, case.what, f"the motion ends: {error}", FAILED)


def left_out(name: str, what: str, why: str, verdict: str = NOT_MODELED) -> Line:
    """The line of a file that is not compared."""
    return Line(SUITE, name, what, "", "", np.nan, np.nan, verdict, why, COMMAND)


@cache
def motion(build: Callable[[], Impacting] | str, times: tuple[float, ...]) -> np.ndarray:
    """Positions at the instants, which several files have in common."""
    if isinstance(build, str):
        return zw.gallery.load(build).run(times=np.array(times)).q
    return Motion(build(), np.array(times)).states()[0]


@cache
def answer(build: Callable[[], Impacting], times: tuple[float, ...]):
    """The same without zwang, and up to when."""
    return solved(build(), np.array(times))


def compared(name: str, case: Case, rows: np.ndarray) -> Line:
    """The largest difference of a coordinate, of its range in the file."""
    begun = np.r_[0.0, rows[rows[:, 0] > 0, 0]]
    places = motion(case.build, tuple(begun))
    ours = places[np.isin(begun, rows[:, 0])]
    rows = rows[np.isin(rows[:, 0], begun)]
    worst = apart(case, rows, ours)
    why = ""
    if judged(worst, case.allowed) != AGREES and not isinstance(case.build, str):
        seen, third = answer(case.build, tuple(begun))
        both = np.isin(rows[:, 0], seen)
        third = third[np.isin(seen, rows[:, 0])]
        own = max(
            np.abs(ours[both][:, i] - third[:, i]).max() / span(rows[:, c])
            for c, i in case.columns.items()
        )
        why = (
            f"SciPy, until {seen[-1]:.3g} s: Siconos is off by "
            f"{apart(case, rows[both], third, rows):.1e}, zwang by {own:.1e}"
        )
    verdict = judged(worst, case.allowed)
    return Line(SUITE, name, case.what, "", "", worst, case.allowed, verdict, why, COMMAND)


def span(column: np.ndarray) -> float:
    """The range of a column; one where it does not change."""
    return float(np.ptp(column)) or 1.0


def apart(case: Case, rows: np.ndarray, places: np.ndarray, whole=None) -> float:
    """The largest difference between a file and places, of the ranges in the whole file."""
    whole = rows if whole is None else whole
    return max(
        float(np.abs(rows[:, c] - places[:, i]).max()) / span(whole[:, c])
        for c, i in case.columns.items()
    )
