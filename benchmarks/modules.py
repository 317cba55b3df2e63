"""A hierarchy's acceleration by its modules' own factors beside the flat model, for 10 and 100 modules: a scissor lift."""

from __future__ import annotations

import time

import equinox as eqx
import jax
import numpy as np

from benchmarks.timing import called, interleaved

SIZES = (10, 100)
"""With 1000 stages (7000 rows, 6000 velocities) the model takes minutes to build and compile, and its dense factors seconds each."""
FLAT_LIMIT = 100
"""Modules up to which the flat model is factored: a dense factor of 1000 has 7000 rows and takes minutes."""


def run() -> dict:
    import zwang as zw
    from zwang.hierarchy.modular import Modular

    results = {}
    for modules in SIZES:
        began = time.perf_counter()
        example = zw.gallery.load("scissor-lift", stages=modules)
        model, random = example.model, np.random.default_rng(1)
        q, v = np.asarray(example.q0), np.asarray(example.v0)
        modular = Modular(model, q + 0.1 * random.standard_normal(len(q)), v + random.standard_normal(len(v)))
        built = time.perf_counter() - began
        calls = {"modules": lambda m=modular, q=q, v=v: jax.block_until_ready(m.acceleration(q, v))}
        if modules <= FLAT_LIMIT:
            flat, dynamics, state = (
                eqx.filter_jit(lambda d, s: d.acceleration(d.equation_at(s))),
                model.dynamics(),
                model.state(q, v),
            )
            calls["flat"] = lambda f=flat, d=dynamics, s=state: jax.block_until_ready(f(d, s))
        answers = {}
        for name, call in calls.items():
            began = time.perf_counter()
            answers[name] = call()
            calls_took = time.perf_counter() - began
            print(
                f"  modules, {modules:5d}: first call of {name:7s} {calls_took:7.2f} s (compiled); model built in {built:.1f} s"
            )
        seen = interleaved({name: called(call, 2) for name, call in calls.items()}, repeats=3)
        for name, x in seen.items():
            ratio = "" if name == "modules" else f", {x['median'] / seen['modules']['median']:6.1f} times"
            print(
                f"  modules, {modules:5d}: {name:7s} {x['median'] * 1e3:9.2f} ms ({x['min'] * 1e3:.2f} … {x['max'] * 1e3:.2f}){ratio}"
            )
        if "flat" in answers:
            print(f"  modules, {modules:5d}: accelerations differ by {np.abs(answers['modules'] - answers['flat']).max():.1e}")
        else:
            rows = model.constraints.m
            print(f"  modules, {modules:5d}: flat left out: its factor of {rows} rows takes {rows**2 * 8 / 1e6:.0f} MB")
        results[str(modules)] = {name: x for name, x in seen.items()}
    return results
