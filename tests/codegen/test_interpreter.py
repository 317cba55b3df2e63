"""Traced programs as expressions: their values equal those of JAX."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from zwang import ModelError
from zwang.codegen.expression import OPERATIONS, Graph, Node, in_order
from zwang.codegen.interpreter import expressions

X = np.array([0.3, -1.2, 2.5])


def evaluated(function, x=X):
    """The function by its expressions."""
    graph = Graph()
    inputs = np.empty(x.shape, object)
    inputs.ravel()[:] = [graph.input(f"x{i}") for i in range(x.size)]
    out = expressions(function, graph, inputs)
    flat = [e for e in np.asarray(out, object).ravel()]
    values = {node: float(x.ravel()[i]) for i, node in enumerate(inputs.ravel())}
    for node in in_order(flat):
        args = [values[a] if isinstance(a, Node) else a for a in node.args]
        values[node] = OPERATIONS[node.op].value(*args)
    said = [values[e] if isinstance(e, Node) else e for e in flat]
    return np.array(said, float).reshape(np.shape(out))


FUNCTIONS = {
    "elementary functions": lambda x: jnp.sin(x) * jnp.exp(-x) + jnp.arctan2(x, 2.0) ** 2,
    "roots and powers": lambda x: jnp.sqrt(x * x + 1) + x**3 - x**-2,
    "a choice": lambda x: jnp.where(x > 0, x, -2 * x) + jnp.maximum(x, 0.5),
    "gather and scatter": lambda x: jnp.zeros(5).at[jnp.array([1, 3])].set(x[jnp.array([2, 0])]),
    "scatter that adds": lambda x: jnp.ones(3).at[jnp.array([1, 1, 0])].add(x),
    "a product of matrices": lambda x: jnp.outer(x, x) @ jnp.array([[1.0, 2.0]] * 3),
    "einsum with a batch": lambda x: jnp.einsum(
        "bij,bj->bi", jnp.ones((2, 3, 3)) * x, x[None, :] * jnp.ones((2, 3))
    ),
    "a derivative": jax.grad(lambda x: jnp.sum(jnp.sin(x) * x[0])),
    "a Hessian": jax.hessian(lambda x: jnp.sin(x[0]) * x[1] ** 2 + x[2] ** 3),
    "a Cholesky factor": lambda x: jnp.linalg.cholesky(jnp.outer(x, x) + 3 * jnp.eye(3)),
    "a loop": lambda x: jax.lax.fori_loop(0, 4, lambda i, y: jnp.cos(y) + x[0] * i, x),
    "a scan": lambda x: jax.lax.scan(lambda c, y: (c + y, c * y), 1.0, x)[1],
    "a branch": lambda x: jax.lax.cond(x[0] > 0, jnp.sin, jnp.cos, x),
    "slices": lambda x: jnp.concatenate([jnp.flip(x)[1:], jnp.pad(x[:2], 1), jnp.roll(x, 1)]),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_expressions_of_a_function_have_its_values(name):
    function = FUNCTIONS[name]
    np.testing.assert_allclose(evaluated(function), function(X), rtol=1e-13, atol=1e-14)


def test_a_zero_of_the_structure_stays_a_number():
    graph = Graph()
    x = np.array([graph.input("x0"), graph.input("x1")], object)
    found = expressions(lambda x: jax.jacfwd(lambda y: y**2)(x), graph, x)
    assert found[0, 1] == 0.0 and found[1, 0] == 0.0


def test_what_is_equal_is_one_node():
    graph = Graph()
    x = np.array([graph.input("x0")], object)
    found = expressions(lambda x: jnp.stack([jnp.sin(x[0]) + 1, jnp.sin(x[0]) + 2]), graph, x)
    assert sum(node.op == "sin" for node in in_order(found)) == 1


def test_what_cannot_be_a_number_does_not_stop_the_tracing():
    assert math.isnan(Graph().apply("sqrt", -1.0))


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda x: jnp.linalg.svd(jnp.outer(x, x))[1], "svd"),
        (lambda x: x[jnp.argmax(x)], "arg"),
        (lambda x: jax.lax.while_loop(lambda y: y[0] < 5, lambda y: 2 * y, x), "depends on"),
    ],
)
def test_an_operation_without_a_formula_is_refused_by_its_name(function, said):
    with pytest.raises(ModelError, match=said):
        evaluated(function)
