"""The joint tests of Project Chrono, all 28 cases, against the results of MSC ADAMS in
`data/testing/joints` of its repository (BSD-3-Clause).

A body of 1 kg hangs on one joint, spring or actuator for 5 s. The definitions are those of
`src/tests/unit_tests/joints/utest_JOINT_*.cpp`; reactions act on the ground, at its point, in the
axes of the world.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

import zwang as zw
from verification.line import Line, judged
from zwang.mechanism import (
    Drive,
    Force,
    Joint,
    Link,
    Mechanism,
    Point,
    Spring,
    applied_forces,
    reactions,
)
from zwang.simulation.results import Run

ALLOWED = 1e-3
"""Agreement: the largest difference of any quantity beside its largest value. ADAMS ran with its
default tolerance of 1e-3 and prints six or seven digits.
"""
G, ARM = 9.80665, 2.0
SLENDER, UPRIGHT, ACROSS = (0.04, 0.1, 0.1), (0.1, 0.1, 0.04), (0.1, 0.04, 0.1)
SCALES = {"Pos": ARM, "Quat": 1.0, "Vel": 1.0, "Avel": 1.0, "Acc": G, "Aacc": 1.0}
"""Least scale of each quantity; [m], [m/s], [rad/s] … A quantity that is zero throughout is
compared with it. Forces have the weight, torques weight times arm.
"""
NAMES = {"Pos": "places", "Quat": "attitudes", "Vel": "velocities", "Avel": "angular velocities"}


@dataclasses.dataclass(frozen=True)
class Case:
    """A case of the suite: a mechanism with the joint `it`, and the files of its reactions."""

    name: str
    folder: str
    mechanism: Mechanism
    reactions: tuple[str, ...] = ("Rforce", "Rtorque")


def turn(axis: str, angle: float) -> Rotation:
    return Rotation.from_euler(axis, angle)


def _body(at, rotation: Rotation, inertia, point, velocity=(0.0, 0.0, 0.0)) -> Link:
    """The moving body, its point given in the world with the axes of `rotation`."""
    local = rotation.inv().apply(np.subtract(point, at))
    return Link(
        mass=1.0,
        inertia=inertia,
        at=tuple(at),
        turn=tuple(rotation.as_rotvec()),
        velocity=tuple(velocity),
        points={"p": Point(tuple(local), axis=(0.0, 0.0, 1.0), x=(1.0, 0.0, 0.0))},
    )


def _made(name: str, body: Link, ground: Point, **parts) -> Mechanism:
    return Mechanism(
        bodies={"body": body},
        ground={"p": ground},
        world="space",
        gravity=(0.0, 0.0, -G),
        name=name,
        **parts,
    )


def _ground(at, rotation: Rotation) -> Point:
    axes = rotation.as_matrix()
    return Point(tuple(at), axis=tuple(axes[:, 2]), x=tuple(axes[:, 0]))


ENDS = ("ground.p", "body.p")


def pendulum(kind: str, place, rotation: Rotation, inertia=SLENDER, arm=(ARM, 0.0, 0.0), **parts):
    """A body on a joint at a place, both with the attitude of the joint."""
    at = np.add(place, rotation.apply(arm))
    body = _body(at, rotation, inertia, place)
    joints = {"it": Joint(kind, between=ENDS)}
    return _made(kind, body, _ground(place, rotation), joints=joints, **parts)


def linked(ground, point, at, rotation: Rotation, inertia=SLENDER, axis=None, **parts):
    """A body whose point is tied to a point of the ground."""
    body = _body(at, rotation, inertia, point)
    return _made("linked", body, Point(tuple(ground), axis=axis), **parts)


def actuated(rotation: Rotation, speed: float) -> Mechanism:
    """A plate on a slide, driven at constant speed."""
    velocity = speed * rotation.as_matrix()[:, 2]
    body = _body((0.0, 0.0, 0.0), rotation, (1.0, 1.0, 1.0), (0.0, 0.0, 0.0), velocity)
    return _made(
        "actuator",
        body,
        _ground((0.0, 0.0, 0.0), rotation),
        joints={"it": Joint("prismatic", between=ENDS)},
        drives={"motor": Drive("it", value=f"{speed}*t")},
    )


def cases() -> Iterator[Case]:
    """All cases, in the order of the suite's folders."""
    none, far, quarter = turn("x", 0.0), (1.0, 2.0, 3.0), np.pi / 4
    origin, slant, flat = (0.0, 0.0, 0.0), turn("x", -quarter), turn("x", -2 * quarter)
    for kind, starts in {
        "cylindrical": ((origin, none), (origin, flat), (far, slant)),
        "prismatic": ((origin, none), (far, slant), (far, flat)),
        "revolute": ((origin, flat), (far, slant)),
        "spherical": ((origin, none), (far, slant)),
    }.items():
        for i, (place, rotation) in enumerate(starts, 1):
            name = f"{kind.capitalize()}_Case{i:02d}"
            yield Case(name, f"{kind}_joint", pendulum(kind, place, rotation))
    hung = {"inertia": UPRIGHT, "arm": (0.0, 0.0, -ARM)}
    diagonal = Rotation.from_rotvec(np.array([1.0, -1.0, 0.0]) / np.sqrt(2) * 2 * quarter)
    for i, rotation in enumerate((turn("x", 2 * quarter), turn("y", 2 * quarter), diagonal), 1):
        made = pendulum("universal", origin, rotation, **hung)
        yield Case(f"Universal_Case{i:02d}", "universal_joint", made)
    tied = (
        (origin, (0.0, 2.0, 0.0), (0.0, 2.0, 0.0), none),
        (far, (1.0, 4.0, 3.0), (-1.0, 4.0, 3.0), none),
        (origin, (0.0, 2.0, 0.0), (0.0, 4.0, 0.0), turn("z", -2 * quarter)),
    )
    rod = {"it": Joint("rod", between=ENDS, length=2.0)}
    for i, place in enumerate(tied, 1):
        yield Case(f"Distance_Case{i:02d}", "distance_constraint", linked(*place, joints=rod))
    both = tuple(f"R{what}_Body{i}" for i in (1, 2) for what in ("force", "torque"))
    for i, (ground, axis, point, at) in enumerate(
        (
            (origin, (0.0, 0.0, 1.0), (2.0, 0.0, 0.0), (2.0, 2.0, 0.0)),
            (far, (0.0, 1.0, 1.0), (3.0, 2.0, 3.0), (3.0, 4.0, 3.0)),
        ),
        1,
    ):
        link = {"it": Joint("revolute-spherical", between=ENDS, length=2.0)}
        made = linked(ground, point, at, none, ACROSS, axis, joints=link)
        yield Case(f"RevSpherical_Case{i:02d}", "revsph_constraint", made, both)
    for i, made in enumerate((actuated(none, 1.0), actuated(turn("y", quarter), 0.5)), 1):
        files = ("RforceP", "RtorqueP", "RforceA", "RtorqueA")
        yield Case(f"LinActuator_Case{i:02d}", "lin_actuator", made, files)
    coil = {"springs": {"s": Spring(joint="it", coordinate="angle", stiffness=200.0, damping=10.0)}}
    law = "-(50+10*abs(value))*value-10*rate"
    stiffening = {"forces": {"s": Force(law, joint="it", coordinate="angle")}}
    for i, parts in enumerate((coil, stiffening), 1):
        made = pendulum("revolute", origin, flat, **parts)
        yield Case(f"RotSpring_Case{i:02d}", "rotspring_force", made)
    dropped = (origin, origin, origin, none)
    soft = {"springs": {"s": Spring(between=ENDS, stiffness=10.0, damping=0.5)}}
    stiff = {"springs": {"s": Spring(between=ENDS, stiffness=100.0, damping=5.0, rest=2.0)}}
    law = "-(50+10*abs(value-2))*(value-2)-5*rate"
    curved = {"forces": {"s": Force(law, between=ENDS)}}
    for i, made in enumerate((linked(*dropped, **soft), linked(*tied[0], **stiff)), 1):
        yield Case(f"TranSpring_Case{i:02d}", "transpring_force", made)
    springs = ((dropped, soft), (tied[0], stiff), (tied[1], curved), (tied[2], curved))
    for i, (place, parts) in enumerate(springs, 1):
        made = linked(*place, **parts)
        yield Case(f"TranSpringCB_Case{i:02d}", "transpringcb_force", made)


def lines(data: Path) -> list[Line]:
    """Every case beside the files under `data`, a clone of Chrono's repository."""
    return [_compared(case, data / "data" / "testing" / "joints") for case in cases()]


def published(folder: Path, case: Case, what: str) -> np.ndarray:
    """A file of the suite: time and its columns, shape (samples, 1 + columns)."""
    file = folder / case.folder / f"{case.name}_ADAMS_{what}.txt"
    rows = file.read_text(encoding="utf-8").splitlines()
    return np.array([[float(x) for x in row.split()] for row in rows if row[:1] in "+-"])


def _compared(case: Case, folder: Path) -> Line:
    mechanism = case.mechanism
    times = published(folder, case, "Pos")[:, 0]
    start = mechanism.start_state
    run = zw.simulate(mechanism.model, start.q, start.v, times=times, rtol=1e-10, atol=1e-12)
    ours = motion(run) | transmitted(case, run)
    differences = {}
    for what, values in ours.items():
        theirs = published(folder, case, what)[:, 1:]
        if what == "Quat":  # q and −q are one attitude
            values = values * np.sign(np.sum(values * theirs, axis=1))[:, None]
        least = SCALES.get(what, G if "force" in what else G * ARM)
        scale = max(least, np.abs(theirs).max())
        differences[what] = float(np.abs(values - theirs).max() / scale)
    worst = max(differences, key=lambda what: differences[what])
    shown = ", ".join(f"{what} {x:.1e}" for what, x in differences.items())
    why = ""
    if case.folder == "universal_joint":
        theirs = {what: published(folder, case, what)[:, 1:] for what in ("Pos", "Aacc")}
        why = _whose(case, times, ours, theirs)
    return Line(
        "Project Chrono, joint tests against ADAMS",
        case.name,
        "motion, acceleration, reaction force and torque at 501 instants",
        "",
        shown,
        differences[worst],
        ALLOWED,
        judged(differences[worst], ALLOWED),
        why,
        "python -m verification chrono --data chrono",
    )


def _whose(case: Case, times, ours, theirs) -> str:
    """Whose the differences of a body on a universal joint are, by equations of its own."""
    from verification.by_hand import universal_pendulum

    link = case.mechanism.bodies["body"]
    assert link.turn is not None
    rotation, arm = Rotation.from_rotvec(link.turn), (0.0, 0.0, -ARM)
    exact = universal_pendulum(rotation, link.mass, link.inertia, arm, G, times)
    off = lambda found, what: f"{np.abs(found[what] - exact[what]).max():.1e}"
    parts = [f"{what}: ADAMS {off(theirs, what)}, zwang {off(ours, what)}" for what in exact]
    return f"largest differences from two equations by hand, {'; '.join(parts)}"


def motion(run: Run) -> dict[str, np.ndarray]:
    """Place, attitude, velocity and acceleration of the body, in the axes of the world."""
    q, v = run.q, run.v
    a = np.asarray(run.observation.motion.acceleration)
    attitude = Rotation.from_quat(q[:, 3:], scalar_first=True)
    return {
        "Pos": q[:, :3],
        "Quat": q[:, 3:],
        "Vel": v[:, :3],
        "Avel": attitude.apply(v[:, 3:]),
        "Acc": a[:, :3],
        "Aacc": attitude.apply(a[:, 3:]),
    }


def transmitted(case: Case, run: Run) -> dict[str, np.ndarray]:
    """Reactions as the suite gives them: on the ground, at its point, in the axes of the world."""
    mechanism, zero = case.mechanism, np.zeros((len(run.t), 3))
    efforts = applied_forces(mechanism, run)
    if not mechanism.joints:
        # a spring between two points pulls on the ground
        at = Rotation.from_quat(run.q[:, 3:], scalar_first=True).apply(
            mechanism.bodies["body"].points["p"].at
        )
        apart = run.q[:, :3] + at - mechanism.ground["p"].at
        length = np.linalg.norm(apart, axis=1)[:, None]
        along = np.divide(apart, length, out=np.zeros_like(apart), where=length > 0)
        return {"Rforce": -efforts["s"].values[:, None] * along, "Rtorque": zero}
    first = reactions(mechanism, run, axes="world", on="first")
    second = reactions(mechanism, run, axes="world")
    it = first["it"]
    if case.folder == "revsph_constraint":
        other = second["it"]
        return dict(
            zip(case.reactions, (it.force, it.torque, other.force, other.torque), strict=True)
        )
    if case.folder == "lin_actuator":
        motor = second["motor"]
        return dict(
            zip(case.reactions, (it.force, it.torque, motor.force, motor.torque), strict=True)
        )
    torque = it.torque
    if "s" in efforts:  # a coil spring turns the ground the other way
        torque = torque - efforts["s"].values[:, None] * mechanism.ground["p"].axis
    return {"Rforce": it.force, "Rtorque": torque}
