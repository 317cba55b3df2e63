"""Microseconds per acceleration of generated C (`zw.c_code`) beside the straight C of `straight.c`,
whose `A` and `b` are written by hand.

Both are compiled by the system's compiler with `-O3 -march=native`, the generated one with every
warning an error, and looped in C, the argument of one evaluation hanging on the result of the one
before. The straight C knows that `b = 0` at rest; the generated code computes it.
"""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.small import COUNT, in_c, models
from benchmarks.timing import interleaved

MOST = 2.0
"""Ratio that generated code is to keep."""
LOOP = """#include "{name}.h"

void loop(const double *q0, const double *v, const double *p, int count, double *out) {{
    for (int k = 0; k < {guard}_NV; k++) out[k] = 0;
    for (int turn = 0; turn < count; turn++) {{
        double q[{guard}_NQ];
        for (int k = 0; k < {guard}_NQ; k++) q[k] = q0[k] + 1e-30 * out[k];
        {name}_acceleration(q, v, 0, p, out);
    }}
}}
"""


def generated(model, q, folder: str):
    """A call that returns seconds per acceleration, and the acceleration."""
    from zwang.codegen.c import c_code, compiler

    code = c_code(model, q, np.zeros(model.system.nv))
    code.write(folder)
    loop = LOOP.format(name=code.name, guard=code.name.upper())
    (Path(folder) / "loop.c").write_text(loop)
    flags = ["-std=c99", "-O3", "-march=native", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared"]
    subprocess.run(
        [str(compiler()), *flags, f"{code.name}.c", "loop.c", "-o", "generated.so", "-lm"],
        cwd=folder,
        check=True,
    )
    library = ctypes.CDLL(f"{folder}/generated.so")
    values = [x for _, x in code.functions.parameters]
    arrays = [np.ascontiguousarray(x, float) for x in (q, np.zeros_like(q), [*values, 0.0])]
    out = np.zeros(len(q))
    point = lambda x: x.ctypes.data_as(ctypes.POINTER(ctypes.c_double))

    def seconds() -> float:
        begun = time.perf_counter()
        library.loop(*map(point, arrays), ctypes.c_int(COUNT), point(out))
        return (time.perf_counter() - begun) / COUNT

    seconds()
    return seconds, out


def run() -> dict:
    results = {}
    for name, (model, q, mass) in models().items():
        with tempfile.TemporaryDirectory() as folder:
            straight = in_c(folder)
            if straight is None:
                print("no C compiler")
                return {}
            timed, expected = straight(name, q, mass)
            own, found = generated(model, q, folder)
            assert np.allclose(found, expected, atol=1e-8), f"{name}: generated C disagrees"
            seen = interleaved({"generated": own, "straight": timed})
        ratio = seen["generated"]["median"] / seen["straight"]["median"]
        results[name] = {**seen, "ratio": ratio}
        print(
            f"{name:20s} generated {seen['generated']['median'] * 1e6:.2f} µs, "
            f"straight {seen['straight']['median'] * 1e6:.2f} µs, ratio {ratio:.2f}, "
            f"at most {MOST:g}"
        )
    return results
