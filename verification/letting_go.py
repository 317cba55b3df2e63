"""Random mechanisms with stops, play and dry friction, run for long: none may penetrate, and none
may stop without a reason.
"""

from __future__ import annotations

from collections.abc import Iterator

import jax
import numpy as np

import zwang as zw
from verification.line import FAILED, Line, judged, kept_lines
from zwang.mechanism import (
    Backlash,
    Force,
    Friction,
    Joint,
    JointStop,
    Link,
    Mechanism,
    Point,
    Rope,
    Slip,
)
from zwang.simulation.results import Run

PENETRATION = 1e-10
"""Largest depth of a gap [m or rad], at samples and at steps."""
RTOL = 1e-8


def random_mechanism(seed: int) -> Mechanism:
    """One of four kinds, in turn by seed."""
    return KINDS[seed % len(KINDS)](np.random.default_rng([46, seed]), f"random {seed:02d}")


def plane_chain(rng: np.random.Generator, name: str) -> Mechanism:
    """A chain of two to four links with stops and rough pins, and perhaps play between two of its
    joints, a brake, and a load that swings.
    """
    count = int(rng.integers(2, 5))
    bodies, joints = {}, {}
    at, before, last = np.zeros(2), "ground", 0.0
    for i in range(count):
        length, angle = rng.uniform(0.3, 1.0), -np.pi / 2 + rng.uniform(-0.6, 0.6)
        center = at + 0.5 * length * np.array([np.cos(angle), np.sin(angle)])
        at = at + length * np.array([np.cos(angle), np.sin(angle)])
        bodies[f"link{i}"] = Link(rng.uniform(0.5, 2.0), length=length, at=center, angle=angle)
        ends = (before, f"link{i}.start")
        joints[f"pin{i}"] = _rough_pin(rng, ends, angle - last)
        before, last = f"link{i}.end", angle
    if rng.random() < 0.5:
        joints["gear"] = Joint(
            "gear",
            joints=("pin0", "pin1"),
            ratio=(1.0, float(rng.uniform(0.5, 2.0))),
            backlash=Backlash(float(rng.uniform(0.05, 0.5)), float(rng.uniform(0.0, 0.8))),
        )
    brake = Slip({"a": f"pin{count - 1}"}, "a_rate", load=float(rng.uniform(0.05, 0.5)))
    frictions = {"brake": brake} if rng.random() < 0.5 else {}
    return Mechanism(bodies, joints, forces=_load(rng), frictions=frictions, name=name)


def plane_loop(rng: np.random.Generator, name: str) -> Mechanism:
    """A four-bar with stops at three of its pins, or a parallelogram of which one bar is redundant,
    which may be stretched to its singular line.
    """
    parallel = bool(rng.random() < 0.5)
    crank, rocker = rng.uniform(0.4, 0.8, 2) if not parallel else [rng.uniform(0.4, 0.8)] * 2
    base = rng.uniform(0.8, 1.5)
    angle = rng.uniform(0.6, 2.5)
    first = crank * np.array([np.cos(angle), np.sin(angle)])
    other = angle if parallel else rng.uniform(0.6, 2.5)
    second = np.array([base, 0.0]) + rocker * np.array([np.cos(other), np.sin(other)])
    along = second - first
    length, tilt = float(np.linalg.norm(along)), float(np.arctan2(along[1], along[0]))
    bodies = {
        "crank": Link(rng.uniform(0.5, 2.0), length=crank, at=first / 2, angle=angle),
        "coupler": Link(rng.uniform(0.5, 2.0), length=length, at=first + along / 2, angle=tilt),
        "rocker": Link(
            rng.uniform(0.5, 2.0),
            length=rocker,
            at=np.array([base, 0.0]) + (second - [base, 0.0]) / 2,
            angle=other,
        ),
    }
    ground: dict[str, Point | tuple[float, ...]] = {"right": (base, 0.0)}
    pin = lambda ends, now: _rough_pin(rng, ends, now)
    joints = {
        "pin0": pin(("ground", "crank.start"), angle),
        "pin1": pin(("crank.end", "coupler.start"), tilt - angle),
        "pin2": Joint("revolute", ("coupler.end", "rocker.end")),
        "pin3": pin(("ground.right", "rocker.start"), other),
    }
    if parallel:
        middle = base / 2
        ground["middle"] = (middle, 0.0)
        bodies["third"] = Link(
            rng.uniform(0.5, 2.0), length=crank, at=first / 2 + [middle, 0.0], angle=angle
        )
        points: dict[str, Point | tuple[float, ...]] = {"middle": (0.0, 0.0)}
        bodies["coupler"] = Link(
            1.0, length=length, at=first + along / 2, angle=tilt, points=points
        )
        joints["pin4"] = Joint("revolute", ("ground.middle", "third.start"))
        joints["pin5"] = Joint("revolute", ("coupler.middle", "third.end"))
    rope = Rope(("ground", "rocker.end"), float(1.1 * np.linalg.norm(second)), rng.uniform(0, 0.5))
    ropes = {"rope": rope} if rng.random() < 0.5 else {}
    return Mechanism(bodies, joints, ground=ground, forces=_load(rng), ropes=ropes, name=name)


def space_tree(rng: np.random.Generator, name: str) -> Mechanism:
    """Two or three bodies on hinges about skew axes, or on a slide, with stops and dry friction."""
    count = int(rng.integers(2, 4))
    bodies, joints = {}, {}
    axes = [_direction(rng) for _ in range(count)]
    at, tips = np.zeros(3), [0.5 * rng.uniform(0.3, 0.8) * _direction(rng) for _ in range(count)]
    for i, half in enumerate(tips):
        points = {"start": Point(-half, axis=axes[i])}
        if i + 1 < count:
            points["end"] = Point(half, axis=axes[i + 1])
        bodies[f"body{i}"] = Link(
            rng.uniform(0.5, 2.0), rng.uniform(0.02, 0.03, 3), points=points, at=at + half
        )
        at = at + 2 * half
        ends = ("ground.base" if not i else f"body{i - 1}.end", f"body{i}.start")
        slides = i > 0 and rng.random() < 0.3
        joints[f"pin{i}"] = _rough_slide(rng, ends) if slides else _rough_pin(rng, ends, 0.0)
    base = {"base": Point((0.0, 0.0, 0.0), axis=axes[0])}
    return Mechanism(bodies, joints, ground=base, forces=_load(rng), world="space", name=name)


def space_loop(rng: np.random.Generator, name: str) -> Mechanism:
    """A crank and a rocker about skew axes, joined by a coupler on a ball and a universal joint."""
    axes = [_direction(rng) for _ in range(2)]
    base, half = rng.uniform(0.8, 1.3) * _direction(rng), []
    for axis in axes:
        out = np.cross(axis, _direction(rng))
        half.append(0.5 * rng.uniform(0.3, 0.6) * out / np.linalg.norm(out))
    ends = 2 * half[0], base + 2 * half[1]
    link = 0.5 * (ends[1] - ends[0])
    across = np.cross(link, _direction(rng))
    cross = lambda at: Point(at, axis=link, x=across)
    mass, inertia = rng.uniform(0.5, 2.0, 3), rng.uniform(0.02, 0.03, (3, 3))
    bodies = {
        "crank": Link(
            mass[0],
            inertia[0],
            points={"start": Point(-half[0], axis=axes[0]), "end": Point(half[0])},
            at=half[0],
        ),
        "coupler": Link(
            mass[1],
            inertia[1],
            points={"start": Point(-link), "end": cross(link)},
            at=ends[0] + link,
        ),
        "rocker": Link(
            mass[2],
            inertia[2],
            points={
                "start": Point(-half[1], axis=axes[1]),
                "end": cross(half[1]),
            },
            at=base + half[1],
        ),
    }
    joints = {
        "pin0": _rough_pin(rng, ("ground.left", "crank.start"), 0.0),
        "ball": Joint("spherical", ("crank.end", "coupler.start")),
        "cross": Joint("universal", ("coupler.end", "rocker.end")),
        "pin1": _rough_pin(rng, ("ground.right", "rocker.start"), 0.0),
    }
    ground = {"left": Point((0.0, 0.0, 0.0), axis=axes[0]), "right": Point(base, axis=axes[1])}
    return Mechanism(bodies, joints, ground=ground, forces=_load(rng), world="space", name=name)


KINDS = plane_chain, plane_loop, space_tree, space_loop


def _direction(rng: np.random.Generator) -> np.ndarray:
    x = rng.standard_normal(3)
    return x / np.linalg.norm(x)


def _load(rng: np.random.Generator) -> dict[str, Force]:
    size, pace = rng.uniform(2.0, 12.0), rng.uniform(0.5, 4.0)
    return {"load": Force(f"{size}*sin({pace}*t)", joint="pin0")}


def _rough_pin(rng: np.random.Generator, ends: tuple[str, str], now: float) -> Joint:
    """A hinge with stops that can be reached, and that hold where it starts."""
    now = float((now + np.pi) % (2 * np.pi) - np.pi)
    lower, upper = now - rng.uniform(0.2, 0.8), now + rng.uniform(0.2, 0.8)
    kinetic = rng.uniform(0.05, 0.4)
    return Joint(
        "revolute",
        ends,
        stop=JointStop(float(lower), float(upper), float(rng.uniform(0.0, 0.8))),
        friction=Friction(
            kinetic, radius=rng.uniform(0.005, 0.05), static=kinetic * rng.uniform(1.0, 1.5)
        ),
    )


def _rough_slide(rng: np.random.Generator, ends: tuple[str, str]) -> Joint:
    """A slide with stops and dry friction."""
    kinetic = rng.uniform(0.05, 0.4)
    return Joint(
        "prismatic",
        ends,
        stop=JointStop(-rng.uniform(0.1, 0.3), rng.uniform(0.1, 0.3), rng.uniform(0.0, 0.8)),
        friction=Friction(kinetic, static=kinetic * rng.uniform(1.0, 1.5)),
    )


def deepest(run: Run) -> float:
    """Largest depth of any gap at the ends of all steps."""
    system, p = run.model.system, run.model.parameters()
    gaps = [c for c in run.model.constraints.members if isinstance(c, zw.Inequality)]
    q = run.steps.y[:, : system.nq]
    depth = lambda c: jax.vmap(lambda t, x: c.position_residual(system, x, t, p))(run.steps.t, q)
    return max(-float(np.min(np.asarray(depth(c)))) for c in gaps)


def lines(count: int, span: float, resume: bool) -> Iterator[Line]:
    """Yield a line for each mechanism, run for `span` seconds, as soon as its run ends; with
    `resume`, only for those without a line of the same command in the file.
    """
    command = f"python -m verification random --count {count} --span {span:g}"
    kept = {x["case"] for x in kept_lines().get("random", ()) if x["command"] == command}
    for seed in range(count):
        mechanism = random_mechanism(seed)
        if resume and mechanism.name in kept:
            continue
        start = mechanism.start_state
        run = zw.simulate(mechanism.model, start.q, start.v, duration=span, rtol=RTOL, throw=False)
        depth, reached = deepest(run), run.result is zw.Result.SUCCESS
        slipped = sum(any("pin" in x or x == "brake" for x in s.on) for s in run.switches)
        ours = (
            f"depth {max(depth, 0.0):.1e}, {len(run.switches)} changes, "
            f"{sum(bool(x.hit) for x in run.switches)} impacts, "
            f"{slipped} times stuck; {len(run.steps.t)} steps"
        )
        kind = KINDS[seed % len(KINDS)].__name__.replace("_", " ")
        yield Line(
            "Random mechanisms with stops, play and dry friction",
            mechanism.name,
            f"{kind} of {len(mechanism.bodies)} bodies, {span:g} s",
            "no gap below zero",
            ours,
            max(depth, 0.0) if reached else np.nan,
            PENETRATION,
            judged(depth, PENETRATION) if reached else FAILED,
            "" if reached else run.ending,
            command,
        )
