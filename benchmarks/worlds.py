"""Robots with controllers in many worlds at once: motors that hold joint targets by proportional
and derivative gains, limited in torque; each world has a target of its own.

Worlds times steps per second by `zw.batch`, which computes members in the lanes of vector registers
and in threads, beside one world alone by the same program; the same as environments of gymnasium;
that members have the bits of one world alone. On a graphics processor, if JAX has one, the same by
XLA, with its name. Needs the extra `robots-test` (make test-robots installs it); for Cassie also
MuJoCo's menagerie (`--data FOLDER`).
"""

from __future__ import annotations

import resource
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

import zwang as zw
from benchmarks.batch import finished
from benchmarks.robots import ROBOTS, example
from zwang.robots import Robot
from zwang.simulation.batch import prepare

WORLDS = (1, 1000, 4096)
STEP, STEPS = 1e-3, 50
BAND, SPREAD = 15.0, 0.3
"""Natural frequency of a motor at its target [rad/s], and how far targets are from the start
[rad]."""
REPEATS = 3
CASSIE = "agility_cassie/cassie.xml"


def controlled(robot: Robot) -> zw.Model:
    """The robot with its motors, whose targets are `p["target"]`: critically damped by the inertia
    of each joint at the start, at most the effort that its file allows, or half of the greatest
    that a target can ask for.
    """
    tree, q0 = robot.tree, np.asarray(robot.start_state.q)
    of_q, of_v = (
        np.concatenate([entries(x) for x in joints_of(robot)])
        for entries in (tree.coordinate, tree.velocity)
    )
    gear = robot.actuation_matrix[of_v, np.arange(len(of_v))]
    inertia = np.diag(np.asarray(tree.mass_matrix(q0, robot.params)))[of_v]
    half = 0.5 * BAND**2 * SPREAD * inertia
    joints = zip(joints_of(robot), half, strict=True)
    most = np.array([robot.efforts.get(name) or x for name, x in joints]) / np.abs(gear)

    def control(q, v, t, p):
        wanted = BAND**2 * (p["target"] - q[of_q]) - 2 * BAND * v[of_v]
        return jnp.clip(inertia * wanted / gear, -most, most)

    return robot.driven(control, params={"target": q0[of_q]})


def joints_of(robot: Robot) -> list[str]:
    """The joint of each motor."""
    return [next(iter(robot.description.actuators.get(x, {x: 1.0}))) for x in robot.motors]


def robots(data: Path | None) -> dict[str, Robot]:
    """UR5, Panda and Solo12, whose base is free; Cassie, with its loops, where it is at hand."""
    names = ("UR5", "Panda", "Solo12")
    found = {x: zw.robot(example(ROBOTS[x]), floating=x == "Solo12") for x in names}
    paths = sorted(data.rglob(CASSIE)) if data is not None else []
    return found | ({"Cassie": zw.robot(paths[0])} if paths else {})


def seconds(call) -> tuple[float, float]:
    """Least wall and processor seconds of some calls."""
    found = []
    for _ in range(REPEATS):
        begun, used = time.perf_counter(), time.process_time()
        call()
        found.append((time.perf_counter() - begun, time.process_time() - used))
    wall, processor = zip(*found, strict=True)
    return min(wall), min(processor)


def measure(name: str, robot: Robot) -> dict:
    """Steps of one world and of many."""
    model, start = controlled(robot), robot.start_state
    times, random = np.array([0.0, STEP * STEPS]), np.random.default_rng(0)
    middle = np.asarray(model.params["target"])
    targets = middle + random.uniform(-SPREAD, SPREAD, (max(WORLDS), len(middle)))
    q, v = np.asarray(start.q), np.asarray(start.v)
    found: dict = {"rows": model.constraints.m, "freedoms": model.system.nv}
    batches = {}
    for worlds in WORLDS:
        own = {"target": targets[:worlds]}
        program = prepare(model, q, v, times, params=own, step=STEP)
        finished(program, alone=worlds == 1)
        batches[worlds] = program()
        wall, processor = seconds(program)
        rate = worlds * STEPS / wall
        found[worlds] = {
            "worlds times steps per second": rate,
            "microseconds of a step, by wall": 1e6 * wall / (worlds * STEPS),
            "microseconds of a step, by processor": 1e6 * processor / (worlds * STEPS),
            "memory of a world [kB]": program.memory_per_member / 1e3,
        }
    one, most = batches[1], batches[max(WORLDS)]
    found["same bits"] = bool(np.array_equal(one.q[0], most.q[0], equal_nan=True))
    found["failures"] = len(most.failures)
    found["largest violation"] = float(np.nanmax(most.violation))
    print(f"{name}, {found['freedoms']} freedoms, {found['rows']} rows of loops, steps of {STEP} s")
    for worlds in WORLDS:
        x = found[worlds]
        part = [
            x[key] / found[1][key]
            for key in ("microseconds of a step, by wall", "microseconds of a step, by processor")
        ]
        print(
            f"  {worlds:5d} worlds: {x['worlds times steps per second']:10.0f} worlds·steps/s, "
            f"{x['microseconds of a step, by wall']:7.2f} µs a step of one world, "
            f"{part[0]:.2f} of one alone (by processor seconds {part[1]:.2f}), "
            f"{x['memory of a world [kB]']:.1f} kB a world"
        )
    print(
        f"  members have the bits of one alone: {found['same bits']}; failures {found['failures']},"
        f" largest violation {found['largest violation']:.0e}",
        flush=True,
    )
    return found


def environments(name: str, robot: Robot) -> dict:
    """Microseconds of a step of one environment of gymnasium, and of one among many."""
    model, start = robot.driven(), robot.start_state
    B, torque = robot.actuation(joints_of(robot)), 5.0
    plant = zw.Plant(model, B, q0=start.q, step=STEP)
    reward = lambda q, v, u, t, p: -jnp.sum(v**2)
    found = {}
    for worlds in WORLDS:
        members = None if worlds == 1 else worlds
        env = zw.environment(plant, reward, limits=torque, horizon=10_000, members=members)
        env.reset(seed=0)
        action = np.zeros(B.shape[1]) if worlds == 1 else np.zeros((worlds, B.shape[1]))
        begun = time.perf_counter()
        while time.perf_counter() - begun < WARM:
            env.step(action)
        count = 200 if worlds == 1 else 3
        wall, _ = seconds(
            lambda env=env, action=action, n=count: [env.step(action) for _ in range(n)]
        )
        found[worlds] = 1e6 * wall / (count * worlds)
    shown = ", ".join(f"{n} {x:.2f} µs" for n, x in found.items())
    print(f"{name}, a step of {STEP} s of a world, by number of environments: {shown}", flush=True)
    return found


WARM = 3.0
"""Seconds of calls before a measurement, after which code is optimized and lanes are used."""


def run(data: Path | None = None) -> dict:
    found: dict = {"device": jax.devices()[0].device_kind, "backend": jax.default_backend()}
    print(f"JAX's device: {found['device']} ({found['backend']})")
    at_hand = robots(data)
    for name, robot in at_hand.items():
        found[name] = measure(name, robot)
    for name in ("UR5", "Solo12"):
        found[f"{name}, environments"] = environments(name, at_hand[name])
    found["peak memory [MB]"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    print(f"peak memory of the process {found['peak memory [MB]']:.0f} MB")
    return found


if __name__ == "__main__":
    jax.config.update("jax_enable_x64", True)
    run()
