"""Slices of arrays at given indices, in NumPy, compared with JAX's own operation."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from zwang.algebra.sparsity_pattern import _bound, _gathered

x = np.arange(1.0, 61.0).reshape(3, 4, 5)
few = np.array([2, 0, 1, 1])
CASES = {
    "rows": lambda x: x[few],
    "rows of the second axis": lambda x: x[:, few],
    "rows of the last axis": lambda x: x[..., few],
    "entries": lambda x: x[few, few, few],
    "pairs": lambda x: x[few[:, None], few],
    "apart": lambda x: x[few, :, few],
    "slices": lambda x: jax.vmap(lambda i: jax.lax.dynamic_slice(x, (i, 0, i), (2, 3, 1)))(few),
    "beyond the end": lambda x: jnp.take(x, np.array([0, 7, -1, 1]), axis=1, mode="clip"),
    "filled": lambda x: x.at[np.array([0, 7, 2])].get(mode="fill", fill_value=0),
}


@pytest.mark.parametrize("name", CASES)
def test_a_gather_in_numpy_is_that_of_jax(name):
    closed, found = jax.make_jaxpr(CASES[name])(x), []

    def run(jaxpr, consts, args):
        values = dict(zip(jaxpr.constvars, consts, strict=True))
        values |= zip(jaxpr.invars, args, strict=True)
        for eqn in jaxpr.eqns:
            inputs = [v.val if hasattr(v, "val") else values[v] for v in eqn.invars]
            inner = eqn.params.get("jaxpr", eqn.params.get("call_jaxpr"))
            if eqn.primitive.name == "gather":
                at = np.asarray(inputs[1])
                ours, theirs = _gathered(eqn, np.asarray(inputs[0]), at), _bound(eqn, inputs)
                np.testing.assert_array_equal(ours, theirs)
                found.append(ours)
            if eqn.primitive.name == "jit":
                out = run(inner.jaxpr, inner.consts, inputs)
            else:
                out = eqn.primitive.bind(*inputs, **eqn.params)
                out = out if eqn.primitive.multiple_results else [out]
            values |= zip(eqn.outvars, out, strict=True)
        return [v.val if hasattr(v, "val") else values[v] for v in jaxpr.outvars]

    run(closed.jaxpr, closed.consts, [x])
    assert found, "nothing was gathered"
