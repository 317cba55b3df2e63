"""Derivatives of a whole run: `five-bar`, 2 s with three crossings of its singular configuration,
one number by ten parameters.

Reverse mode (`jax.grad`, checkpointed) beside central differences: how far they agree, and how long
it takes beside a run. Forward mode is compared in the tests: compiling it too would take as long
again.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

import zwang as zw
from benchmarks.timing import called, interleaved
from zwang import gallery

STEP = 1e-4
"""Relative step of central differences, of order two: their own error is some 1e-8."""
WANTED = 1e-5


def run() -> dict:
    example = gallery.load("five-bar")
    model, q0, times = example.model, jnp.asarray(example.q0), jnp.linspace(0.0, 2.0, 3)
    names, ends = list(model.params), np.cumsum([len(x) for x in model.params.values()])
    weights = jnp.asarray(np.random.default_rng(0).standard_normal(24))
    x = jnp.concatenate([model.params[name] for name in names])

    def goal(x, gradient):
        params = dict(zip(names, jnp.split(x, ends[:-1]), strict=True))
        found = zw.trajectory(
            model, q0, jnp.zeros(12), times, params=params, gradient=gradient, rtol=1e-10
        )
        return weights @ jnp.concatenate([found.q[-1], found.v[-1]])

    value = jax.jit(lambda x: goal(x, None))
    differences = np.array(
        [(value(x + e) - value(x - e)) / (2 * STEP) for e in STEP * np.eye(len(x))]
    )
    ways = {"reverse": jax.jit(jax.grad(lambda x: goal(x, "reverse")))}
    apart = {
        way: float(np.max(np.abs(slope(x) - differences)) / np.max(np.abs(differences)))
        for way, slope in ways.items()
    }
    timed = {
        way: called(lambda f=f: f(x).block_until_ready(), 1)
        for way, f in {"run": value, **ways}.items()
    }
    seen = interleaved(timed, repeats=3)
    rows = [
        [
            f"{way} mode, {len(x)} parameters",
            f"{seen[way]['median'] / seen['run']['median']:.1f}",
            f"{apart[way]:.0e}",
            f"{WANTED:.0e}",
        ]
        for way in ways
    ]
    print(f"five-bar, 2 s, rtol 1e-10: one run {seen['run']['median'] * 1e3:.1f} ms")
    for row in rows:
        print(
            f"  {row[0]:30s} {row[1]:>6s} runs; beside central differences {row[2]} (wanted "
            f"{row[3]})"
        )
    columns = [
        "derivative of a run through singular configurations",
        "its time relative to a run",
        "difference from central differences",
        "target",
    ]
    return {
        "seconds": seen,
        "apart": apart,
        "table": {"title": "Gradients", "columns": columns, "rows": rows},
    }
