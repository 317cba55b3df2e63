"""The first motion of a model: whole processes of `zwang run` with nothing compiled before, the
same once more, the same when the step loop has been compiled behind, and what is compiled beside
the evaluation of the model alone.

    python -m benchmarks first
    python -m benchmarks.first five-bar bennett bennett/joint --repeats 1

`NAME/joint` is a mechanism of the gallery in joint coordinates.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.startup import parts
from benchmarks.timing import environment
from zwang.gallery.index.mechanisms import FOLDER as MECHANISMS

MODELS = (
    "pendulum",
    "five-bar",
    "n-four-bar",
    "four-bar",
    "quick-return",
    "gyroscope",
    "bennett",
    "bennett/joint",
    "bicycle",
    "stewart",
    "scara",
    "digger",
    "bricard",
    "quadrotor",
)
FILES = Path(__file__).parent / "models"
"""Models that are not in the gallery: scripts that define them by plain functions."""
JOINT = "/joint"
"""Ending of a mechanism of the gallery in joint coordinates."""
REPEATS = 5
SHARES = ("compiling", "evaluation", "ratio")
"""Seconds of compiling that the first run waits for, those of the evaluation alone, and both."""

EVALUATION = """
import sys, time
import jax
jax.config.update("jax_enable_x64", True)
import jax.numpy as jnp
import numpy as np
from zwang.cli.target import load_target
from zwang.equations.state import State

target = load_target(sys.argv[1], {})
dynamics = target.model.passive.dynamics()
system, servo = dynamics.system, target.model.servo
if servo is not None:
    from zwang.servo.controller import Controller

    controller = Controller(dynamics, servo)

def evaluation(q, v, t):
    c, p = dynamics.constraints, dynamics.p
    wanted = () if servo is None else (
        controller.rows.matrix(q, v, t, p), controller.target(State(q, v, t)),
        servo.actuation_matrix(q, t, p))
    return (c.position_residual(q, t, p), c.velocity_residual(q, v, t, p), c.matrix(q, v, t, p),
            c.rhs(q, v, t, p), jnp.asarray(system.force(q, v, t, p)),
            jnp.asarray(system.mass_matrix(q, t, p)), *wanted)

state = np.asarray(target.q0, float), np.asarray(target.v0, float), 0.0
start = time.perf_counter()
jax.jit(evaluation).lower(*state).compile()
print(time.perf_counter() - start)
"""
"""Prints how long φ, ψ, A, b, F and M, and a servo's A, b and B, take to trace and to compile."""


def run(models: tuple[str, ...] = MODELS, repeats: int = REPEATS) -> dict:
    columns = "".join(f"{name:>12s}" for name in ("first", "again", *SHARES))
    print(f"{'zwang run':18s}{columns}")
    found = {name: _measured(name, repeats) for name in models}
    return {**found, "table": _table(found, repeats)}


def _table(found: dict[str, dict[str, float]], repeats: int) -> dict:
    """For the page (`benchmarks.page`)."""
    runs = "one run each" if repeats == 1 else f"medians of {repeats}"
    rows = [
        [f"`{name}`", *(f"{x[k]:.1f}" for k in ("first", "again", *SHARES[:2]))]
        + [f"{x['ratio']:.1f}"]
        for name, x in found.items()
    ]
    return {
        "title": f"First motions: `zwang run`, whole processes, {runs}",
        "columns": [
            "model",
            "first run, empty cache [s]",
            "second run [s]",
            "compiling in the first run [s]",
            "the model's functions alone [s]",
            "ratio",
        ],
        "rows": rows,
    }


def _measured(name: str, repeats: int) -> dict[str, float]:
    first, again, compiling, alone = [], [], [], []
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as folder:
            given = environment(ZWANG_CACHE=f"{folder}/cache")
            model = _model(name, Path(folder))
            command = [sys.executable, "-m", "zwang", "run", model, "--out", f"{folder}/out"]
            for times in (first, again):
                start = time.perf_counter()
                said = _output(command, given)
                times.append(time.perf_counter() - start)
                if times is first:
                    compiling.append(parts(said)["compilation"])
            evaluation = [sys.executable, "-c", EVALUATION, model]
            alone.append(float(_output(evaluation, given)))
    found = {
        "first": float(np.median(first)),
        "again": float(np.median(again)),
        "compiling": float(np.median(compiling)),
        "evaluation": float(np.median(alone)),
    }
    found["ratio"] = found["compiling"] / found["evaluation"]
    print(f"{name:18s}" + "".join(f"{x:12.2f}" for x in found.values()), flush=True)
    return found


def _model(name: str, folder: Path) -> str:
    """What a command takes for a model; a file in `folder` where the gallery has none."""
    if (file := FILES / f"{name}.py").is_file():
        return str(file)
    if not name.endswith(JOINT):
        return name
    mechanism = MECHANISMS / f"{name.removesuffix(JOINT)}.toml"
    file = folder / mechanism.name
    file.write_text(f'coordinates = "joint"\n{mechanism.read_text("utf-8")}', "utf-8")
    return str(file)


def _output(command: list[str], given: dict[str, str]) -> str:
    return subprocess.run(command, check=True, env=given, capture_output=True, text=True).stdout


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Measure first motions of models.")
    parser.add_argument("models", nargs="*", default=MODELS)
    parser.add_argument("--repeats", type=int, default=REPEATS)
    asked = parser.parse_args()
    run(tuple(asked.models), asked.repeats)
