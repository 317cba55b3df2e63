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

import time
from pathlib import Path

import jax
import numpy as np

import zwang as zw
from benchmarks.peers.loops_of_pinocchio import Loops
from benchmarks.timing import called, evaluations, interleaved
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
RTOLS = (1e-4, 1e-5, 1e-6, 1e-7, 1e-8)
REFERENCE = 1e-11
WARM = 3.0
"""Seconds of runs of each kind, after which their code is optimized."""


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
            found[name]["second"] = second(name, robot, paths[0])
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


def second(name: str, robot: Robot, path: Path) -> dict:
    """A second of free fall from the file's configuration, loops closed, joints without limits;
    real-time factors by seconds of the processor, of which both take one core.
    """
    import mujoco as mj

    model, s = robot.model, robot.start_state
    of_run = {"duration": 1.0, "samples": 11}
    run = lambda rtol, method=None: zw.simulate(
        model, s.q, s.v, rtol=rtol, integrator=method, **of_run
    )
    exact = run(REFERENCE)
    differs = lambda q: float(np.abs(np.asarray(q) - exact.q[-1]).max())
    found: dict = {"reference by itself": differs(run(10 * REFERENCE).q[-1])}
    print(f"{name}, 1 s, reference off by {found['reference by itself']:.0e}")
    for called_by, method in (("as it comes", None), ("Kvaerno5", zw.methods.Kvaerno5())):
        for rtol in RTOLS:
            times, begun = [], time.perf_counter()
            while time.perf_counter() - begun < WARM or len(times) < 5:
                start = time.process_time()
                made = run(rtol, method)
                times.append(time.process_time() - start)
            error, steps = differs(made.q[-1]), len(made.steps.t) - 1
            gap = float(made.dataset["violation"].max())
            who = f"zwang {called_by}, rtol {rtol:g}"
            found[who] = {"seconds": min(times), "error": error, "steps": steps, "gap": gap}
            print(
                f"  {who}: real-time factor {1 / min(times):.1f}, error {error:.0e}, "
                f"{steps} steps, loops open by {gap:.0e}"
            )
    m = mj.MjModel.from_xml_path(str(path))
    for flag in ("CONTACT", "LIMIT", "FRICTIONLOSS"):
        m.opt.disableflags |= getattr(mj.mjtDisableBit, f"mjDSBL_{flag}")
    for part in (1, 10):
        m.opt.timestep = (step := m.opt.timestep if part == 1 else 0.1 * m.opt.timestep)
        data, times = mj.MjData(m), []
        for _ in range(3):
            mj.mj_resetData(m, data)
            data.qpos[:], data.qvel[:] = np.asarray(s.q), np.asarray(s.v)
            begun = time.process_time()
            mj.mj_step(m, data, nstep=round(1.0 / step))
            times.append(time.process_time() - begun)
        mj.mj_forward(m, data)
        equal = data.efc_type[: data.nefc] == mj.mjtConstraint.mjCNSTR_EQUALITY
        gap = float(np.abs(data.efc_pos[: data.nefc][equal]).max(initial=0.0))
        error = differs(data.qpos)
        found[f"MuJoCo, {step:g} s"] = {"seconds": min(times), "error": error, "gap": gap}
        print(
            f"  MuJoCo {mj.__version__}, step {step:g} s: real-time factor {1 / min(times):.1f}, "
            f"error {error:.0e}, loops open by {gap:.0e}"
        )
    return found


if __name__ == "__main__":
    import sys

    jax.config.update("jax_enable_x64", True)
    run(Path(sys.argv[1]))
