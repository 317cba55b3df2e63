"""Microseconds per acceleration of small systems, `A, b` by automatic differentiation included,
beside the same operations in C.

The C (`straight.c`) has `A` and `b` written by hand and is compiled by the system's compiler with
`-O3 -march=native`; without a compiler that column is left out. All are looped in compiled code,
none called from Python.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import jax.numpy as jnp
import numpy as np

from benchmarks.acceleration import MASS, five_bars
from benchmarks.timing import interleaved, looped

COUNT = 4000
TARGETS = {"five-bar, 12 rows": 0.5, "pendulum, 1 row": 0.03}
"""Wanted [µs]."""


def models():
    """Two small models at rest, with their masses."""
    import zwang as zw

    bars, q = five_bars(1)
    system = zw.System(2, lambda q, t, p: jnp.ones(2), lambda q, v, t, p: jnp.array([0.0, -9.81]))
    rod = zw.Model(system, [zw.Holonomic(lambda q, t, p: q @ q - 1.0, name="rod")])
    return {
        "five-bar, 12 rows": (bars, q, MASS),
        "pendulum, 1 row": (rod, jnp.array([0.8, -0.6]), np.ones(2)),
    }


def in_c(folder: str) -> Callable | None:
    """`(name, q, mass)` → a call that returns seconds per acceleration, and one that returns the
    acceleration.
    """
    compiler = shutil.which("cc")
    if compiler is None:
        return None
    library = f"{folder}/straight.so"
    source = Path(__file__).with_name("straight.c")
    subprocess.run(
        [compiler, "-O3", "-march=native", "-shared", "-fPIC", "-o", library, str(source), "-lm"],
        check=True,
    )
    code = ctypes.CDLL(library)

    def calls(name: str, q, mass):
        q, mass, out = (np.ascontiguousarray(x, float) for x in (q, mass, np.zeros(len(q))))
        point = lambda x: x.ctypes.data_as(ctypes.POINTER(ctypes.c_double))
        run = code.five_bar if name.startswith("five") else code.pendulum
        weight = point(mass) if name.startswith("five") else ctypes.c_double(mass[0])

        def seconds() -> float:
            begun = time.perf_counter()
            run(point(q), weight, ctypes.c_int(COUNT), point(out))
            return (time.perf_counter() - begun) / COUNT

        seconds()
        return seconds, out

    return calls


def run() -> dict:
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        c = in_c(folder)
        for name, (model, q, mass) in models().items():
            dynamics, v = model.dynamics(), jnp.zeros_like(q)
            evaluate = lambda q, d=dynamics, m=model, v=v: d.acceleration(
                d.equation_at(m.state(q, v))
            )
            timed = {"zwang": looped(evaluate, q, COUNT)}
            if c is not None:
                timed["C"], out = c(name, q, mass)
                assert np.allclose(out, evaluate(q), atol=1e-8), f"{name}: C disagrees"
            results[name] = interleaved(timed)
    print(
        "acceleration, µs: median (min … max)          zwang                    the same in C   "
        "     ratio   target"
    )
    rows = []
    for name, seen in results.items():
        cells = [
            f"{x['median'] * 1e6:.2f} ({x['min'] * 1e6:.2f} … {x['max'] * 1e6:.2f})"
            for x in seen.values()
        ]
        ratio = (
            f"{seen['zwang']['median'] / seen['C']['median']:.1f}" if "C" in seen else "no compiler"
        )
        print(
            f"  {name:34s} {'   '.join(f'{cell:26s}' for cell in cells)} {ratio:>6s}   "
            f"{TARGETS[name]:g}"
        )
        rows.append([name, *cells, *([] if "C" in seen else ["–"]), ratio, f"{TARGETS[name]:g}"])
    columns = [
        "acceleration [µs], median (least … most)",
        "zwang",
        "the same operations in C",
        "ratio",
        "target",
    ]
    return {**results, "table": {"title": "Small systems", "columns": columns, "rows": rows}}
