"""What constraints that may let go cost: a run in which none acts beside one without them, an
acceleration with twenty closed contacts beside a free one, and programs of many sliding contacts.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import jax.numpy as jnp
import numpy as np

import zwang as zw
from benchmarks.timing import accelerations, wait_until_optimized
from zwang.dynamics.evaluation import EvaluationSize, evaluation_size
from zwang.equations.state import host_state

REPEATS = 15
"""Of which the least counts: other work on the machine only adds to a time."""
LENGTHS = 20.0, 200.0
"""Durations of runs whose difference is that of their steps [s]."""
COUNT = 2000
"""Accelerations in one compiled loop."""
CONTACTS = 20
FEET = 20, 64, 300
"""Numbers of feet of a plate that slides on the ground."""


def run() -> dict:
    found = {}
    for loops in (2, 8):
        step, start = idle_gap(loops)
        found[f"step, {loops} loops"], found[f"start, {loops} loops"] = step, start
        print(
            f"a gap that never closes beside {loops} four-bar loops: {step:.3f} of the time of a "
            f"step without it, and {1e3 * start:.1f} ms more at the start of a run"
        )
    closed = closed_contacts()
    print(f"{CONTACTS} closed contacts: {closed:.2f} of the time of a free acceleration")
    for feet in FEET:
        size = sliding_contacts(feet)
        found[f"instructions, {feet} sliding contacts"] = size.instructions
        print(f"{feet} sliding contacts of one body: {size}")
    return {**found, "closed contacts": closed}


def idle_gap(loops: int) -> tuple[float, float]:
    """The time of a step of four-bar loops with a gap that never closes, beside one without it, and
    the seconds that a run with it takes more at its start; in turns.
    """
    example = zw.gallery.load("n-four-bar", N=loops)
    plain = example.model
    gap = zw.Inequality(lambda q, t, p: q[1] + 10.0, name="floor", unit="m")
    having = zw.Model(plain.system, [*plain.constraints.members, gap], plain.params)

    def took(model: zw.Model, duration: float) -> tuple[float, int]:
        begun = time.process_time()
        run = zw.simulate(model, example.q0, example.v0, duration=duration, samples=2)
        return time.process_time() - begun, len(run.steps.t)

    cases = [(model, length) for model in (plain, having) for length in LENGTHS]
    for model, length in cases:
        wait_until_optimized(lambda model=model, length=length: took(model, length))
    seen = np.array([[took(*case) for case in cases] for _ in range(REPEATS)])
    # of both lengths, so that what a run costs at its start counts for itself
    time_of, steps = np.min(seen[..., 0], axis=0).reshape(2, 2), seen[0, :, 1].reshape(2, 2)
    slope = np.diff(time_of, axis=1)[:, 0] / np.diff(steps, axis=1)[:, 0]
    begun = time_of[:, 0] - slope * steps[:, 0]
    return float(slope[1] / slope[0]), float(begun[1] - begun[0])


def closed_contacts() -> float:
    """Seconds of an acceleration of twenty balls on a floor, beside those in the air, in turns."""
    n = 3 * CONTACTS
    system = zw.System(
        n,
        lambda q, t, p: jnp.ones(n),
        lambda q, v, t, p: jnp.tile(jnp.array([0.0, 0.0, -9.81]), CONTACTS) - 0.1 * v,
    )
    floor = zw.Inequality(lambda q, t, p: q[2::3], name="floor", unit="m")
    model, q = zw.Model(system, [floor]), np.zeros(n)
    state = host_state(q, 0.0 * q, 0.0)
    dynamics = [x.dynamics() for x in (zw.Model(system), zw.analysis.contact_mode(model, q))]
    measured = [accelerations(x, state) for x in dynamics]
    times = np.array([[call(COUNT) for call in measured] for _ in range(REPEATS)])
    free, closed = np.min(times, axis=0)
    return float(closed / free)


def sliding_contacts(count: int) -> EvaluationSize:
    """Size of an acceleration of a plate on feet that slide in turning directions."""
    feet = np.random.default_rng(3).uniform(-1, 1, (count, 2))
    shapes = "".join(
        f'<geom type="sphere" size="0.02" pos="{x:.6f} {y:.6f} -0.05"/>' for x, y in feet
    )
    text = f"""<mujoco><worldbody><body name="plate" pos="0 0 0.07"><freejoint/>
      <inertial pos="0 0 0" mass="1" diaginertia="0.4 0.3 0.6"/>{shapes}
      </body></worldbody></mujoco>"""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "plate.xml"
        path.write_text(text)
        model = zw.robot(path).with_contacts(ground=0.0, grip=0.5).model
    dynamics, gaps = model.dynamics(lets_go=True), model.constraints.one_sided_rows
    closed = np.isin(np.arange(model.constraints.m), gaps)
    sliding = dynamics.with_rows(closed, sliding=np.where(closed, 0.0, -1.0))
    q, v = np.array([0, 0, 0.07, 1, 0, 0, 0]), np.array([0.3, 0.1, 0, 0, 0, 0.2])
    return evaluation_size(sliding, host_state(q, v, 0.0))
