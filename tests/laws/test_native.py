"""One source gives one motion: native code of random models compared with XLA, optimized or not,
for one or several batch members at a time.
"""

import functools
from typing import NamedTuple

import jax
import numpy as np
import pytest

import zwang as zw
from tests.laws.random_models import FAMILIES, draw
from zwang.compile.engine import native_trace
from zwang.native import NativeFunction, translated

MODELS = [pytest.param(10, ["tree"], id="10 trees")]
MODELS += [pytest.param(1000, list(FAMILIES), id="1000", marks=pytest.mark.slow)]
CLOSE = 1e-9
"""Accelerations of a family's model beside the largest of them: round-off of 1e-15 times the
condition number of A M⁻¹ Aᵀ, which is below 1e5 for them."""


class Programs(NamedTuple):
    """Accelerations of a family's models, compiled in each way."""

    first: NativeFunction
    optimized: NativeFunction
    several: NativeFunction
    xla: jax.stages.Wrapped


@functools.cache
def compiled(name: str) -> Programs:
    case = draw(FAMILIES[name], 0)
    model = case.model  # made before anything is traced
    leaves, tree = jax.tree_util.tree_flatten((case.q, case.v, case.params))

    def accelerations(*leaves):
        q, v, params = jax.tree_util.tree_unflatten(tree, leaves)
        return [zw.motion(model, q, v, params=params).acceleration]

    with native_trace():
        program = jax.make_jaxpr(lambda *x: accelerations(*x))(*leaves)
    first, optimized = (NativeFunction(translated(program, level)) for level in (0, 1))
    several = NativeFunction(translated(program, 1, [True] * len(leaves)))
    return Programs(first, optimized, several, jax.jit(accelerations))


@pytest.mark.slow
@pytest.mark.parametrize("count, names", MODELS)
def test_every_way_to_compile_gives_the_same_acceleration(count, names):
    wrong = []
    for i, name in enumerate(names):
        seeds = range(i, count, len(names))
        ways = compiled(name)
        cases = [draw(FAMILIES[name], seed) for seed in seeds]
        given = [jax.tree_util.tree_leaves((x.q, x.v, x.params)) for x in cases]
        stacked = [np.stack(x) for x in zip(*given, strict=True)]
        (several,) = ways.several.members(stacked, [True] * len(stacked), len(cases))
        for seed, leaves, beside in zip(seeds, given, several, strict=True):
            (first,), (optimized,), (xla,) = (way(*leaves) for way in (*ways[:2], ways.xla))
            same = first.tobytes() == optimized.tobytes() == beside.tobytes()
            off, size = np.abs(first - xla).max(), np.abs(xla).max()
            if not (same and off <= CLOSE * size):
                said = f"{off:.1e} of {size:.1e} off XLA, the same bits: {same}"
                wrong.append(f"{name}, seed {seed}: {said}")
    assert not wrong, f"{len(wrong)} of {count}:\n" + "\n".join(wrong)
