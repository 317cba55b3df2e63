"""Robots with closed loops: one evaluation beside Pinocchio's `lcaba` and `constraintDynamics`, and
a second of motion beside MuJoCo's soft constraints.

    python -m benchmarks loops --data FOLDER

Below the folder are mujoco_menagerie (Cassie), digit-v3-pybullet (Digit), example-parallel-robots
and newton-assets (DR Legs); what is not there is left out. Pinocchio's model is made of the same
numbers, joint by joint, each loop of points or frames as it names them, a hinge as two points of
its axis; its accelerations are compared with ours, as the damping of `lcaba` and its number of
sweeps decide both its time and its error. MuJoCo 4.0.0 is no peer: take 3.x.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from pathlib import Path

import jax
import mujoco as mj
import numpy as np

import zwang as zw
from benchmarks.peers.loops_of_pinocchio import Loops
from benchmarks.timing import called, evaluations, interleaved, wait_until_optimized
from zwang.algebra.gauss import Gauss, constrained_acceleration
from zwang.algebra.mass_matrix import factor_mass
from zwang.algebra.pseudoinverse import Proximal
from zwang.dynamics.evaluation import with_scales
from zwang.robots import Robot

FILES = {
    "Cassie": "agility_cassie/cassie.xml",
    "Digit": "xml/digit-v3.xml",
    "Digit, example-parallel-robots": "robots/digit_like_2legs/robot.yaml",
    "DR Legs": "dr_legs/usd/dr_legs_with_boxes.usda",
}
MOVING = ("Cassie", "Digit")
"""Whose second is beside MuJoCo's: they are MJCF."""
COUNT, REPEATS = 40, 100
"""Short calls, many times, of which the least counts."""
DAMPINGS = (1e-4, 1e-5, 1e-6, 1e-8)
"""Of Pinocchio's proximal sweeps; the fastest that is as close as `CLOSE` is compared with."""
CLOSE = 1e-6
METHODS = {
    "as it comes": None,
    "Kvaerno5": zw.methods.Kvaerno5(),
}
RTOLS = (1e-3, 1e-4, 1e-6)
SPEEDS = (0.0, 0.3)
"""Of the joints at the start [rad/s, m/s]: at rest, nothing but the whole robot moves."""
REFERENCE = 1e-11
WARM, ROUNDS = 3.0, 9
"""Seconds of the processor of runs of each kind, after which their code is optimized; then runs of
all kinds in turns, of which the least counts."""


def run(data: Path | None = None) -> dict:
    if data is None:
        print("loops: give the folder of the robots' files, --data FOLDER")
        return {}
    found: dict = {}
    for name, file in FILES.items():
        paths = sorted(data.rglob(file))
        if not paths:
            print(f"{name}: no {file} below {data}")
            continue
        robot = zw.robot(paths[0], **({"floating": False} if file.endswith(".usda") else {}))
        found[name] = {"evaluation": evaluation(name, robot)}
        if name in MOVING:
            for speed in SPEEDS:
                found[name][f"second, {speed:g}"] = second(name, robot, paths[0], speed)
    return found


def evaluation(name: str, robot: Robot) -> dict:
    """Microseconds of one acceleration at a state on the constraints, without dampers and springs,
    which Pinocchio has none of.
    """
    bare = {x: np.zeros_like(robot.params[x]) for x in ("damping", "stiffness")}
    model = robot.model.with_params(bare)
    v = 0.3 * np.random.default_rng(1).normal(size=model.system.nv)
    s = zw.consistent_state(model, robot.start_state.q, v).state
    ours = np.asarray(zw.motion(model, s.q, s.v).acceleration)
    other = Loops(robot, s)
    judged, seen = {}, {"zwang": evaluations(_acceleration, with_scales(model.dynamics()), s)}
    for law in ("lcaba", "constraintDynamics"):
        for damping in DAMPINGS:
            call = other.call(law, damping)
            error = float(np.abs(other.acceleration(call()) - ours).max() / np.abs(ours).max())
            judged[f"{law}, μ = {damping:g}"] = error
            seen[f"{law}, μ = {damping:g}"] = called(call, COUNT)
    times = {who: 1e6 * x["min"] for who, x in interleaved(seen, REPEATS).items()}
    mine = times.pop("zwang")
    print(f"{name}, {len(ours)} freedoms, {model.constraints.m} rows: zwang {mine:.2f} µs")
    for who, t in times.items():
        print(f"  Pinocchio {who}: {t:.2f} µs, off by {judged[who]:.0e}; zwang / it {mine / t:.2f}")
    return {"zwang": mine, **{who: (t, judged[who]) for who, t in times.items()}}


def _acceleration(dynamics, q, v, t):
    """v̇ by the model's functions side by side, so that what they share is computed once."""
    system, constraints, p = dynamics.system, dynamics.constraints, dynamics.p
    mass = factor_mass(system.mass_matrix(q, t, p))
    A = constraints.matrix(q, v, t, p)
    method = Proximal().knowing(mass.spread(constraints.pattern))
    gauss = Gauss(mass, A, method, dynamics.scales.row_length)
    free = mass.solve(system.force(q, v, t, p))
    return constrained_acceleration(free, gauss, constraints.rhs(q, v, t, p))


def second(name: str, robot: Robot, path: Path, speed: float) -> dict:
    """A second of free fall from the file's configuration, loops closed, joints without limits,
    from rest or from random velocities on the constraints; real-time factors by seconds of the
    processor, of which both take one core, in turns.
    """
    model, s = robot.model, robot.start_state
    if speed:
        v = speed * np.random.default_rng(1).normal(size=model.system.nv)
        s = zw.consistent_state(model, s.q, v).state
    run = lambda rtol, method=None: zw.simulate(
        model, s.q, s.v, rtol=rtol, integrator=method, duration=1.0, samples=11
    )
    exact, found = run(REFERENCE), {}
    differs = lambda q: float(np.abs(np.asarray(q) - exact.q[-1]).max())
    found["reference by itself"] = differs(run(10 * REFERENCE).q[-1])
    print(f"{name}, 1 s, speeds of {speed:g}, reference off by {found['reference by itself']:.0e}")
    calls = {
        f"zwang, {called_by}, rtol {rtol:g}": functools.partial(run, rtol, method)
        for called_by, method in METHODS.items()
        for rtol in RTOLS
    }
    for call in calls.values():
        wait_until_optimized(call, WARM)
    soft = {
        f"MuJoCo {mj.__version__}, {part} of its step": Soft(path, s, part) for part in (1, 0.1)
    }
    times = interleaved({who: _processor(call) for who, call in (calls | soft).items()}, ROUNDS)
    for who, call in calls.items():
        made = call()
        gap, steps = float(made.dataset["violation"].max()), len(made.steps.t) - 1
        found[who] = {"error": differs(made.q[-1]), "gap": gap, "steps": steps}
    found |= {
        who: {"error": differs(x.q), "gap": x.gap, "steps": x.steps} for who, x in soft.items()
    }
    for who, t in times.items():
        x = found[who] = {"seconds": t["min"], **found[who]}
        print(
            f"  {who}: real-time factor {1 / x['seconds']:.1f}, error {x['error']:.0e}, "
            f"{x['steps']} steps, loops open by {x['gap']:.0e}"
        )
    for who in soft:
        least = min(found[x]["seconds"] for x in calls if found[x]["error"] <= found[who]["error"])
        found[who]["zwang / it"] = least / found[who]["seconds"]
        print(f"  zwang, at most as inaccurate, / {who}: {found[who]['zwang / it']:.2f}")
    return found


def _processor(call: Callable[[], object]) -> Callable[[], float]:
    """A call that returns the seconds of the processor of another one."""

    def once() -> float:
        begun = time.process_time()
        call()
        return time.process_time() - begun

    return once


class Soft:
    """MuJoCo's second from a state, in steps of a part of its file's.

    Attributes:
        q: coordinates at the end.
        gap: how far the loops are open there.
        steps: number of steps.
    """

    def __init__(self, path: Path, state, part: float):
        self._model, self._state = mj.MjModel.from_xml_path(str(path)), state
        option = self._model.opt
        for flag in ("CONTACT", "LIMIT", "FRICTIONLOSS"):
            option.disableflags |= getattr(mj.mjtDisableBit, f"mjDSBL_{flag}")
        option.timestep *= part
        self.steps, self._data = round(1.0 / option.timestep), mj.MjData(self._model)

    def __call__(self) -> None:
        mj.mj_resetData(self._model, self._data)
        self._data.qpos[:], self._data.qvel[:] = (
            np.asarray(self._state.q),
            np.asarray(self._state.v),
        )
        mj.mj_step(self._model, self._data, nstep=self.steps)

    @property
    def q(self) -> np.ndarray:
        return self._data.qpos

    @property
    def gap(self) -> float:
        mj.mj_forward(self._model, self._data)
        equal = self._data.efc_type[: self._data.nefc] == mj.mjtConstraint.mjCNSTR_EQUALITY
        return float(np.abs(self._data.efc_pos[: self._data.nefc][equal]).max(initial=0.0))


if __name__ == "__main__":
    import sys

    jax.config.update("jax_enable_x64", True)
    run(Path(sys.argv[1]))
