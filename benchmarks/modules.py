"""A hierarchy's acceleration by its modules' own factors beside the flat model, for 10, 100 and
1000 modules: four-bar loops.
"""

from __future__ import annotations

import time

import jax
import numpy as np

from benchmarks.timing import called, interleaved

SIZES = (10, 100, 1000)
DENSE_LIMIT = 100
"""Modules up to which the flat model is factored densely as well: at 1000 loops its factor has 6002
rows.
"""


def run(sizes=SIZES) -> dict:
    import zwang as zw
    from zwang.hierarchy import Modular

    results = {}
    for modules in sizes:
        (model, q, v), built = timed(lambda n=modules: _loops(zw, n))
        modular, prepared = timed(lambda m=model: Modular(m))
        state = model.state(q, v)
        flat = {"flat": lambda m=model: m.dynamics()}
        if modules <= DENSE_LIMIT:
            flat["flat, dense"] = lambda m=model: m.dynamics(pseudoinverse=zw.methods.Proximal())
        calls, answers, first = {}, {}, {}
        program = jax.jit(modular.acceleration)
        calls["modules"] = lambda f=program, s=state: jax.block_until_ready(f(s.q, s.v))
        for name, make in flat.items():
            dynamics, took = timed(make)
            program = zw.program(lambda d, s: d.acceleration(d.equation_at(s)))
            calls[name] = lambda f=program, d=dynamics, s=state: jax.block_until_ready(f(d, s))
            first[name] = took
        for name, call in calls.items():
            answers[name], took = timed(call)
            first[name] = first.get(name, prepared) + took
        seen = interleaved({name: called(call, 2) for name, call in calls.items()}, repeats=5)
        rows = model.constraints.m
        print(
            f"  modules, {modules:5d} loops, {rows} rows: model built in {built:.1f} s of "
            "processor time"
        )
        for name, x in seen.items():
            span = f"{x['median'] * 1e3:9.2f} ms ({x['min'] * 1e3:.2f} … {x['max'] * 1e3:.2f})"
            apart = np.abs(answers[name] - answers["modules"]).max()
            print(
                f"  modules, {modules:5d}: {name:12s} {span}, first call {first[name]:6.1f} s "
                f"of processor time, differs by {apart:.0e}"
            )
        results[str(modules)] = {"built": built, "first": first, **seen}
    return results


def timed(call):
    """What a call returns, and the seconds of processor time that it took."""
    began = time.process_time()
    result = call()
    return result, time.process_time() - began


def _loops(zw, count: int):
    example = zw.gallery.load("four-bars", N=count)
    return example.model, np.asarray(example.q0), np.asarray(example.v0)
