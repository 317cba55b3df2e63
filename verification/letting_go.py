"""Random mechanisms with stops, play and dry friction, run for long: none may penetrate, and none
may stop without a reason.
"""

from __future__ import annotations

import time

import jax
import numpy as np

import zwang as zw
from verification.line import FAILED, Line, judged
from zwang.mechanism import Backlash, Force, Friction, Joint, JointStop, Link, Mechanism, Slip
from zwang.simulation.results import Run

PENETRATION = 1e-10
"""Largest depth of a gap [m or rad], at samples and at steps."""
RTOL = 1e-8


def random_mechanism(seed: int) -> Mechanism:
    """A chain of two to four links with stops and rough pins, and perhaps play between two of its
    joints, a brake, and a load that swings.
    """
    rng = np.random.default_rng([46, seed])
    count = int(rng.integers(2, 5))
    bodies, joints, forces = {}, {}, {}
    at, before, last = np.zeros(2), "ground", 0.0
    for i in range(count):
        length, angle = rng.uniform(0.3, 1.0), -np.pi / 2 + rng.uniform(-0.6, 0.6)
        center = at + 0.5 * length * np.array([np.cos(angle), np.sin(angle)])
        at = at + length * np.array([np.cos(angle), np.sin(angle)])
        bodies[f"link{i}"] = Link(rng.uniform(0.5, 2.0), length=length, at=center, angle=angle)
        # stops that the chain can reach, and that hold where it starts
        now = angle - last
        lower, upper = now - rng.uniform(0.2, 0.8), now + rng.uniform(0.2, 0.8)
        kinetic = rng.uniform(0.05, 0.4)
        joints[f"pin{i}"] = Joint(
            "revolute",
            (before, f"link{i}.start"),
            stop=JointStop(float(lower), float(upper), float(rng.uniform(0.0, 0.8))),
            friction=Friction(
                kinetic, radius=rng.uniform(0.005, 0.05), static=kinetic * rng.uniform(1.0, 1.5)
            ),
        )
        before, last = f"link{i}.end", angle
    size, pace = rng.uniform(2.0, 12.0), rng.uniform(0.5, 4.0)
    forces["load"] = Force(f"{size}*sin({pace}*t)", joint="pin0")
    if rng.random() < 0.5:
        joints["gear"] = Joint(
            "gear",
            joints=("pin0", "pin1"),
            ratio=(1.0, float(rng.uniform(0.5, 2.0))),
            backlash=Backlash(float(rng.uniform(0.05, 0.5)), float(rng.uniform(0.0, 0.8))),
        )
    brake = Slip({"a": f"pin{count - 1}"}, "a_rate", load=float(rng.uniform(0.05, 0.5)))
    frictions = {"brake": brake} if rng.random() < 0.5 else {}
    return Mechanism(bodies, joints, forces=forces, frictions=frictions, name=f"random {seed}")


def deepest(run: Run) -> float:
    """Largest depth of any gap at the ends of all steps."""
    system, p = run.model.system, run.model.parameters()
    gaps = [c for c in run.model.constraints.members if isinstance(c, zw.Inequality)]
    q = run.steps.y[:, : system.nq]
    depth = lambda c: jax.vmap(lambda t, x: c.position_residual(system, x, t, p))(run.steps.t, q)
    return max(-float(np.min(np.asarray(depth(c)))) for c in gaps)


def lines(count: int, span: float) -> list[Line]:
    """A line for each mechanism, run for `span` seconds."""
    made = []
    for seed in range(count):
        begun, mechanism = time.process_time(), random_mechanism(seed)
        start = mechanism.start_state
        run = zw.simulate(mechanism.model, start.q, start.v, duration=span, rtol=RTOL, throw=False)
        depth, reached = deepest(run), run.result is zw.Result.SUCCESS
        slipped = sum(any("pin" in x or x == "brake" for x in s.on) for s in run.switches)
        ours = (
            f"depth {max(depth, 0.0):.1e}, {len(run.switches)} changes, "
            f"{sum(bool(x.hit) for x in run.switches)} impacts, "
            f"{slipped} times stuck; {len(run.steps.t)} steps, "
            f"{time.process_time() - begun:.0f} s of a processor"
        )
        made.append(
            Line(
                "Random mechanisms that let go",
                mechanism.name,
                f"{len(mechanism.bodies)} links, {span:g} s",
                "no gap below zero",
                ours,
                max(depth, 0.0) if reached else np.nan,
                PENETRATION,
                judged(depth, PENETRATION) if reached else FAILED,
                "" if reached else run.ending,
                f"python -m verification random --count {count} --span {span:g}",
            )
        )
        print(made[-1].case, made[-1].verdict, ours, f"{depth:.1e}", made[-1].why, flush=True)
    return made
