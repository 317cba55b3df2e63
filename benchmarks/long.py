"""Which integrator for a long run, and which for a stiff one: steps, seconds and energy error of
the explicit default, the implicit and
the structure-preserving method.

`long` runs a pendulum and a four-bar linkage without singular configurations; the energy error is
given for the first and the last tenth of the run, as it grows or does not; `bounded` takes a
million steps. `stiff` runs a pendulum on an elastic rod, whose length swings fast and is damped;
`stiff_chains` hinged rods with stiff springs, whose Newton step is sparse.
"""

from __future__ import annotations

import time

import jax.numpy as jnp
import numpy as np

import zwang as zw
from benchmarks.page.words import seconds, small
from zwang import gallery
from zwang.mechanism import Joint, Link, Mechanism

STEPS, MANY_STEPS = 20_000, 1_000_000
"""Steps of a long run by every method, and by `Rattle` alone."""
STEP = {"pendulum": 0.02, "four-bar": 0.01}
"""Steps of `Rattle` [s], about a hundredth of a swing."""


def four_bar() -> Mechanism:
    """A crank that can turn all the way, of lengths that never come into line; no drive, gravity
    alone.
    """
    return Mechanism(
        bodies={
            "crank": Link(length=1.0, mass=1.0, guess=((0, 0), (0.1, 1))),
            "coupler": Link(length=3.0, mass=2.0, guess=((0.1, 1), (2.8, 2.4))),
            "rocker": Link(length=2.5, mass=1.5, guess=((3.5, 0), (2.8, 2.4))),
        },
        joints={
            "A": Joint("revolute", between=("ground.left", "crank.start")),
            "B": Joint("revolute", between=("crank.end", "coupler.start")),
            "C": Joint("revolute", between=("coupler.end", "rocker.end")),
            "D": Joint("revolute", between=("ground.right", "rocker.start")),
        },
        ground={"left": (0.0, 0.0), "right": (3.5, 0.0)},
        name="four-bar",
    )


def problems() -> dict[str, tuple[zw.Model, np.ndarray, np.ndarray]]:
    """Models with their starts."""
    swing, linkage = gallery.load("pendulum"), four_bar()
    start = linkage.start_state
    return {
        "pendulum": (swing.model, swing.q0, swing.v0),
        "four-bar": (linkage.model, np.asarray(start.q), np.asarray(start.v)),
    }


def stiff(stiffness: float = 1e6, damping: float = 3e4):
    """A mass of 1 kg on a damped elastic rod that hangs from a slider on a rail."""
    gravity = 9.81

    def force(q, v, t, p):
        along, rate = q[1:] - jnp.array([q[0], 0.0]), v[1:] - jnp.array([v[0], 0.0])
        length = jnp.sqrt(along @ along)
        pull = p["stiffness"] * (length - 1.0) + p["damping"] * (along @ rate) / length
        rod = pull * along / length
        return jnp.array([rod[0], -rod[0], -rod[1] - gravity])

    system = zw.System(3, lambda q, t, p: jnp.ones(3), force)
    held = zw.Holonomic(lambda q, t, p: q[0] - 0.1 * jnp.sin(t), name="slider")
    model = zw.Model(
        system, [held], {"stiffness": stiffness, "damping": damping}, name="elastic pendulum"
    )
    return model, np.array([0.0, 1.0, 0.0]), np.array([0.1, 0.1, 0.0])


def stiff_chain(rods: int, stiffness: float = 1e6, damping: float = 1e3):
    """Rods of 1 m and 1 kg in a row, hinged at one end, with a stiff spring and damper [N m/rad, N
    m s/rad] at every joint between
    them: a beam. A gyroscopic force [N s/m] turns velocities, if asked for.
    """

    def force(q, v, t, p):
        angle, rate = q[2::3], v[2::3]
        torque = p["stiffness"] * jnp.diff(angle) + p["damping"] * jnp.diff(rate)
        turned = jnp.zeros(rods).at[:-1].add(torque).at[1:].add(-torque)
        return jnp.stack([p["spin"] * v[1::3], -p["spin"] * v[0::3] - 9.81, turned], axis=1).ravel()

    def joints(q, t, p):
        half = 0.5 * jnp.stack([jnp.cos(q[2::3]), jnp.sin(q[2::3])], axis=1)
        middle = q.reshape(rods, 3)[:, :2]
        return (middle - half - jnp.concatenate([jnp.zeros((1, 2)), (middle + half)[:-1]])).ravel()

    system = zw.System(
        3 * rods, lambda q, t, p: jnp.tile(jnp.array([1.0, 1.0, 1 / 12]), rods), force
    )
    params = {"stiffness": stiffness, "damping": damping, "spin": 0.0}
    model = zw.Model(
        system, [zw.Holonomic(joints, name="joints")], params, name=f"stiff chain of {rods}"
    )
    start = np.zeros((rods, 3))
    start[:, 0] = np.arange(rods) + 0.5
    return model, start.ravel(), np.zeros(3 * rods)


def measured(model, q, v, **options) -> dict:
    """A run twice, the second one timed."""
    for _ in range(2):
        start = time.perf_counter()
        options = {"samples": 201, "max_steps": 10**8, **options}
        run = zw.simulate(model, q, v, **options)
        wall = time.perf_counter() - start
    return {"steps": run.attrs["steps_accepted"], "seconds": wall, "run": run}


def energy_errors(run) -> dict:
    """Largest error of the energy in the first and in the last tenth of a run, relative to the
    energy that is exchanged.
    """
    tenths = energy_error_by_tenths(run)
    return {"first": tenths[0], "last": tenths[-1]}


def energy_error_by_tenths(run) -> list[float]:
    """Largest error of the energy in each tenth of a run, relative to the energy that is
    exchanged.
    """
    kinetic, energy = run.dataset.kinetic_energy.values, run.dataset.energy.values
    error = np.abs(energy - energy[0]) / np.ptp(kinetic)
    return [float(part.max()) for part in np.array_split(error, 10)]


def long(steps: int = STEPS) -> list[dict]:
    """Steps, seconds and energy errors of one long run by each method."""
    rows = []
    print("model       integrator      steps       seconds   energy error, first and last tenth")
    for name, (model, q, v) in problems().items():
        h = STEP[name]
        for method, options in {
            "Dopri8 1e-8": {"rtol": 1e-8},
            "Dopri8 1e-12": {"rtol": 1e-12},
            "Kvaerno5 1e-8": {"integrator": zw.methods.Kvaerno5(), "rtol": 1e-8},
            "Rattle 2": {"integrator": zw.methods.Rattle(), "step": h},
            "Rattle 4": {"integrator": zw.methods.Rattle(4), "step": 5 * h},
        }.items():
            seen = measured(model, q, v, duration=h * steps, **options)
            seen |= energy_errors(seen.pop("run"))
            rows.append({"model": name, "method": method, **seen})
            print(
                f"{name:11s} {method:14s} {seen['steps']:9d} {seen['seconds']:10.2f}   "
                f"{seen['first']:.1e} {seen['last']:.1e}"
            )
    return rows


def bounded(steps: int = MANY_STEPS) -> dict:
    """Largest energy error of `Rattle` in each tenth of a million steps of the four-bar linkage."""
    model, q, v = problems()["four-bar"]
    h = STEP["four-bar"]
    start = time.perf_counter()
    run = zw.simulate(
        model,
        q,
        v,
        duration=h * steps,
        samples=20_001,
        max_steps=10**8,
        integrator=zw.methods.Rattle(),
        step=h,
    )
    wall, tenths = time.perf_counter() - start, energy_error_by_tenths(run)
    print(
        f"{steps} steps of Rattle in {wall:.0f} s: energy error by tenths "
        f"{', '.join(f'{x:.1e}' for x in tenths)}"
    )
    taken = {
        "model": "four-bar",
        "method": "Rattle 2",
        "steps": run.attrs["steps_accepted"],
        "seconds": wall,
    }
    return {**taken, "first": tenths[0], "last": tenths[-1], "tenths": tenths}


def stiff_run(duration: float = 20.0) -> list[dict]:
    """Error of the end against a run at a tolerance a thousand times finer."""
    model, q, v = stiff()
    exact = zw.simulate(
        model, q, v, duration=duration, integrator=zw.methods.Kvaerno5(), rtol=1e-10, samples=2
    ).q[-1]
    rows = []
    print("integrator        steps    seconds   error (m)")
    for method, options in {
        "Dopri8": {},
        "Kvaerno5": {"integrator": zw.methods.Kvaerno5()},
    }.items():
        seen = measured(model, q, v, duration=duration, rtol=1e-7, **options)
        error = float(np.abs(seen.pop("run").q[-1] - exact).max())
        rows.append({"method": method, **seen, "error": error})
        print(f"{method:12s} {seen['steps']:10d} {seen['seconds']:10.2f}   {error:.1e}")
    return rows


def stiff_chains(sizes=(100, 200, 400), duration: float = 0.1) -> list[dict]:
    """Processor time of a step of `Kvaerno5` against the number of rods of a stiff chain, on the
    sparse path.
    """
    rows = []
    print("rods      steps   ms per step")
    for rods in sizes:
        model, q, v = stiff_chain(rods)
        for _ in range(2):
            start = time.process_time()
            run = zw.simulate(
                model,
                q,
                v,
                duration=duration,
                samples=2,
                rtol=1e-5,
                integrator=zw.methods.Kvaerno5(),
                pseudoinverse=zw.methods.Sparse(),
            )
            spent = time.process_time() - start
        steps = run.attrs["steps_accepted"] + run.attrs["steps_rejected"]
        rows.append({"rods": rods, "steps": steps, "seconds": spent})
        print(f"{rods:5d} {steps:9d} {1e3 * spent / steps:13.1f}")
    return rows


def run() -> dict:
    found = {
        "long": long(),
        "bounded": bounded(),
        "stiff": stiff_run(),
        "stiff chains": stiff_chains(),
    }
    return {**found, "tables": tables(found)}


def tables(found: dict) -> list[dict]:
    """What the page on performance shows of it."""
    took = lambda row: [str(row["steps"]), seconds(row["seconds"])]
    long_runs = [
        [row["model"], row["method"], *took(row), small(row["first"]), small(row["last"])]
        for row in [*found["long"], found["bounded"]]
    ]
    stiff_runs = [["elastic pendulum", row["method"], *took(row)] for row in found["stiff"]]
    stiff_runs += [
        [f"chain of {row['rods']} rods, stiff springs", "Kvaerno5, sparse", *took(row)]
        for row in found["stiff chains"]
    ]
    return [
        {
            "title": "Long runs: energy error relative to the energy exchanged",
            "columns": ["model", "method", "steps", "time", "first tenth", "last tenth"],
            "rows": long_runs,
        },
        {
            "title": "Stiff runs",
            "columns": ["model", "method", "steps", "time"],
            "rows": stiff_runs,
        },
    ]
