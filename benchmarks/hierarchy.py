"""One constraint more on an instant that is solved, beside solving again: a linkage of 101 bars,
303 coordinates, 300 rows.
"""

from __future__ import annotations

import jax
import numpy as np

from benchmarks.timing import called, interleaved

TARGET = 10.0
"""How many times cheaper imposing is to be than solving again."""
LOOPS = 50


def run() -> dict:
    import zwang as zw

    example = zw.gallery.load("n-four-bar", N=LOOPS)
    model, q0, v0 = example.model, example.q0, example.v0
    p = model.params
    flat = zw.Model(
        model.system, model.constraints.members[:-1], p, name="without its last group of pins"
    )
    held = [zw.Holonomic(lambda q, t, p: q[3 * LOOPS + 5] - q0[3 * LOOPS + 5], name="one row")]
    more = zw.Model(model.system, [*flat.constraints.members, *held], p)
    solved = zw.enforce(flat, q0, v0, levels=[flat.constraints.names])
    ready = lambda f: lambda: jax.block_until_ready(f().acceleration)
    calls = {
        "impose one row": ready(lambda: zw.impose(solved, held[0])),
        "solve again, zw.motion": ready(lambda: zw.motion(more, q0, v0)),  # sparse, by itself
        "solve again, dense": ready(
            lambda: zw.motion(more, q0, v0, pseudoinverse=zw.methods.Proximal())
        ),
        "solve again, zw.enforce": ready(
            lambda: zw.enforce(more, q0, v0, levels=[flat.constraints.names, ["one row"]])
        ),
    }
    for call in calls.values():
        call()
    difference = np.abs(calls["impose one row"]() - calls["solve again, zw.motion"]()).max()
    seen = interleaved({name: called(call, 5) for name, call in calls.items()}, repeats=5)
    one = seen["impose one row"]["median"]
    for name, x in seen.items():
        span = f"({x['min'] * 1e3:.3f} … {x['max'] * 1e3:.3f})"
        print(
            f"  hierarchy, {name:26s} {x['median'] * 1e3:8.3f} ms {span}, "
            f"{x['median'] / one:6.1f} times"
        )
    print(f"  hierarchy, target {TARGET:.0f} times; accelerations differ by {difference:.1e}")
    return {**seen, "difference": float(difference)}
