"""JAX programs as scalar expressions: a jaxpr is evaluated with an expression in place of every
number.

| operations | evaluation |
|---|---|
| arithmetic, comparisons, selections | entry by entry, `ELEMENTWISE` |
| reshape, slice, broadcast, concatenate, gather, scatter … | on the arrays of expressions |
| sums, products of matrices, Cholesky factors, triangular solves | written out |
| jit, derivative rules, scan, loops and branches with known counts | their bodies |

All other operations are refused by name. Values are NumPy arrays: of numbers if they are known, of
objects (numbers and `Node`s) if they are not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import jax
import numpy as np
from jax.extend.core import Literal
from jaxtyping import PyTree

from zwang.codegen.expression import Graph, Node
from zwang.codegen.movement import MOVEMENT
from zwang.errors import ModelError

MOST_TURNS = 100_000
"""Maximum number of iterations of a loop that are written out."""

ELEMENTWISE: dict[str, str] = {
    **{name: name for name in ("add", "sub", "mul", "div", "neg", "pow", "max", "min", "rem")},
    **{name: name for name in ("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh")},
    **{name: name for name in ("cosh", "tanh", "asinh", "acosh", "atanh", "exp", "log", "log1p")},
    **{name: name for name in ("expm1", "sqrt", "cbrt", "floor", "ceil", "abs", "sign", "erf")},
    **{name: name for name in ("lt", "le", "gt", "ge", "eq", "ne", "and", "or", "not")},
    "add_any": "add",
}
SAME = ("optimization_barrier", "copy", "copy_p", "reduce_precision", "stop_gradient")
KNOWN = {
    "add": np.add,
    "mul": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
    "and": np.logical_and,
    "or": np.logical_or,
}
"""Reductions of arrays of numbers."""
BODIES = ("jaxpr", "call_jaxpr", "call", "fun_jaxpr")
"""Parameters of an operation that contain its program."""


def expressions(function: Callable, graph: Graph, *given: np.ndarray) -> PyTree:
    """Return the result of a function of JAX arrays as arrays of expressions, in the tree of the
    function.

    Args:
        function: of arrays.
        graph: in which its expressions are created.
        given: an array of numbers and nodes for each argument.

    Raises:
        ModelError: for an operation that cannot be written as an expression, by its name.
    """
    shapes = [jax.ShapeDtypeStruct(np.shape(x), np.dtype(float)) for x in given]
    closed, tree = jax.make_jaxpr(function, return_shape=True)(*shapes)
    out = Interpreter(graph).run(closed.jaxpr, closed.consts, given)
    return jax.tree_util.tree_unflatten(jax.tree_util.tree_structure(tree), out)


def is_symbolic(x: np.ndarray) -> bool:
    """Return whether an array contains expressions."""
    return x.dtype == object


def plain(x: np.ndarray) -> np.ndarray:
    """Return an array of objects that are all numbers as an array of numbers."""
    if is_symbolic(x) and x.size and not any(isinstance(e, Node) for e in x.flat):
        return np.array(x.tolist()).reshape(x.shape)
    return x


class Interpreter:
    """Evaluates jaxprs with expressions."""

    def __init__(self, graph: Graph):
        self.graph = graph

    def run(self, jaxpr, consts: Sequence, given: Sequence) -> list[np.ndarray]:
        """Return the values of a jaxpr's outputs."""
        values: dict = {}
        for variables, arrays in ((jaxpr.constvars, consts), (jaxpr.invars, given)):
            values.update(zip(variables, map(np.asarray, arrays), strict=True))
        read = lambda v: np.asarray(v.val) if isinstance(v, Literal) else values[v]
        for equation in jaxpr.eqns:
            out = self.operation(equation, [read(v) for v in equation.invars])
            values.update(zip(equation.outvars, map(plain, out), strict=True))
        return [read(v) for v in jaxpr.outvars]

    def operation(self, equation, given: list[np.ndarray]) -> list[np.ndarray]:
        name, params = equation.primitive.name, equation.params
        if name in SAME:
            return given
        if name == "convert_element_type":
            return [self.converted(given[0], np.dtype(params["new_dtype"]))]
        if name in ELEMENTWISE:
            return [self.elementwise(equation, ELEMENTWISE[name], given)]
        # a method of that name in this class comes first
        rule = getattr(self, f"_{name.replace('-', '_')}", None)
        if rule is not None:
            out = rule(params, *given)
            return out if isinstance(out, list) else [out]
        if name in MOVEMENT:
            out = MOVEMENT[name](equation, self.graph, *given)
            return out if isinstance(out, list) else [out]
        for key in BODIES:
            if hasattr(params.get(key), "eqns") or hasattr(params.get(key), "jaxpr"):
                return self.body(params[key], given)
        # an operation on numbers only may be any that JAX can execute
        if not any(map(is_symbolic, given)):
            out = equation.primitive.bind(*given, **params)
            return list(map(np.asarray, out if equation.primitive.multiple_results else [out]))
        raise ModelError(
            f"the model's functions use the operation {name!r}, which cannot be written as a "
            "formula; write that part with sums, products, jnp.where and elementary functions."
        )

    def body(self, program, given: Sequence) -> list[np.ndarray]:
        """Return the outputs of the program of an operation."""
        jaxpr, consts = getattr(program, "jaxpr", program), getattr(program, "consts", ())
        return self.run(jaxpr, consts, given)

    # --- entry by entry

    def elementwise(self, equation, op: str, given: list[np.ndarray]) -> np.ndarray:
        if not any(map(is_symbolic, given)):
            return np.asarray(equation.primitive.bind(*given, **equation.params))
        return self.each(op, *given)

    def each(self, op: str, *given) -> np.ndarray:
        """Apply an operation of the graph to each entry of arrays."""
        arrays = np.broadcast_arrays(*map(_objects, given))
        out = np.empty(np.shape(arrays[0]), object)
        entries = zip(*(x.ravel() for x in arrays), strict=True)
        out.ravel()[:] = [self.graph.apply(op, *each) for each in entries]
        return out

    def converted(self, x: np.ndarray, kind: np.dtype) -> np.ndarray:
        if not is_symbolic(x):
            return x.astype(kind)
        # C and SymPy distinguish conditions and numbers, whereas JAX converts them
        boolean = any(isinstance(e, Node) and e.boolean for e in x.flat)
        if kind.kind == "b":
            return x if boolean else self.each("ne", x, 0.0)
        if boolean:
            return self.each("select", x, 1.0, 0.0)
        return self.each("trunc", x) if np.issubdtype(kind, np.integer) else x

    def _integer_pow(self, params, x):
        power = abs(params["y"])
        out, square = None, x  # by squaring, so that x⁴ is two products
        while power:
            if power & 1:
                out = square if out is None else self.each("mul", out, square)
            power >>= 1
            square = self.each("mul", square, square) if power else square
        out = np.ones(np.shape(x)) if out is None else out
        return self.each("div", 1.0, out) if params["y"] < 0 else out

    def _square(self, params, x):
        return self.each("mul", x, x)

    def _rsqrt(self, params, x):
        return self.each("div", 1.0, self.each("sqrt", x))

    def _logistic(self, params, x):
        return self.each("div", 1.0, self.each("add", 1.0, self.each("exp", self.each("neg", x))))

    def _is_finite(self, params, x):
        return np.ones(np.shape(x), bool)  # a result that is not finite is reported elsewhere

    def _clamp(self, params, low, x, high):
        return self.each("min", self.each("max", x, low), high)

    def _select_n(self, params, which, *cases):
        if not is_symbolic(which):
            stacked = np.stack([_objects(c) for c in cases])
            return plain(np.asarray(np.choose(which.astype(int), stacked)))
        return self.each("select", which, cases[1], cases[0])

    # --- sums and products

    def reduced(self, op: str, x: np.ndarray, axes: tuple[int, ...], start) -> np.ndarray:
        if not is_symbolic(x):
            return np.asarray(KNOWN[op].reduce(x, axis=tuple(axes), initial=start)).astype(x.dtype)
        moved = np.moveaxis(x, axes, range(len(axes)))
        kept, count = moved.shape[len(axes) :], int(np.prod(moved.shape[: len(axes)]))
        out = np.full(kept, start, object)
        # in the order of the array, so that round-off is as close to that of the numeric model as
        # possible
        for term in moved.reshape(count, *kept):
            out = self.each(op, out, np.asarray(term, object))
        return out

    def _reduce_sum(self, params, x):
        return self.reduced("add", x, params["axes"], 0.0)

    def _reduce_prod(self, params, x):
        return self.reduced("mul", x, params["axes"], 1.0)

    def _reduce_and(self, params, x):
        return self.reduced("and", x, params["axes"], True)

    def _reduce_or(self, params, x):
        return self.reduced("or", x, params["axes"], False)

    def _reduce_max(self, params, x):
        return self.reduced("max", x, params["axes"], -np.inf)

    def _reduce_min(self, params, x):
        return self.reduced("min", x, params["axes"], np.inf)

    def _dot_general(self, params, x, y):
        (cx, cy), (bx, by) = params["dimension_numbers"]
        fx = [i for i in range(x.ndim) if i not in (*cx, *bx)]
        fy = [i for i in range(y.ndim) if i not in (*cy, *by)]
        X, Y = _objects(x).transpose(*bx, *fx, *cx), _objects(y).transpose(*by, *fy, *cy)
        batch = X.shape[: len(bx)]
        kept = (*batch, *(x.shape[i] for i in fx), *(y.shape[i] for i in fy))
        length = int(np.prod([x.shape[i] for i in cx]))
        count = int(np.prod(batch))
        X = X.reshape(count, int(np.prod([x.shape[i] for i in fx])), length)
        Y = Y.reshape(count, int(np.prod([y.shape[i] for i in fy])), length)
        out = np.empty((count, X.shape[1], Y.shape[1]), object)
        for k, i, j in np.ndindex(*out.shape):
            out[k, i, j] = self.dot(X[k, i], Y[k, j])
        return out.reshape(kept)

    def dot(self, x, y):
        """Return `Σ xᵢ yᵢ`."""
        total = 0.0
        for a, b in zip(x, y, strict=True):
            total = self.graph.apply("add", total, self.graph.apply("mul", a, b))
        return total

    def _cholesky(self, params, M):
        L, apply = np.full(M.shape, 0.0, object), self.graph.apply
        for batch in np.ndindex(*M.shape[:-2]):
            for i in range(M.shape[-1]):
                for j in range(i + 1):
                    rest = apply(
                        "sub", M[*batch, i, j], self.dot(L[*batch, i, :j], L[*batch, j, :j])
                    )
                    L[*batch, i, j] = (
                        apply("sqrt", rest) if i == j else apply("div", rest, L[*batch, j, j])
                    )
        return L

    def _triangular_solve(self, params, T, r):
        if not params["left_side"]:  # X T = r is Tᵀ Xᵀ = rᵀ
            flipped = {**params, "left_side": True, "transpose_a": not params["transpose_a"]}
            return np.swapaxes(self._triangular_solve(flipped, T, np.swapaxes(r, -1, -2)), -1, -2)
        lower = params["lower"] != params["transpose_a"]
        T = np.swapaxes(T, -1, -2) if params["transpose_a"] else T
        out, n, apply = np.full(r.shape, 0.0, object), T.shape[-1], self.graph.apply
        order = range(n) if lower else range(n - 1, -1, -1)
        for *batch, k in np.ndindex(*r.shape[:-2], r.shape[-1]):
            for i in order:
                known = slice(0, i) if lower else slice(i + 1, n)
                rest = apply(
                    "sub", r[*batch, i, k], self.dot(T[*batch, i, known], out[*batch, known, k])
                )
                out[*batch, i, k] = (
                    rest if params["unit_diagonal"] else apply("div", rest, T[*batch, i, i])
                )
        return out

    # --- control flow

    def _cond(self, params, which, *given):
        branches = params["branches"]
        if not is_symbolic(which):
            return self.body(branches[int(np.clip(which, 0, len(branches) - 1))], given)
        # both branches are written out, because the condition is known only when the code runs
        no, yes = (self.body(branch, given) for branch in branches)
        return [
            self.each("select", np.broadcast_to(which, y.shape), y, n)
            for y, n in zip(yes, no, strict=True)
        ]

    def _scan(self, params, *given):
        fixed, carried = params["num_consts"], params["num_carry"]
        consts, carry = list(given[:fixed]), list(given[fixed : fixed + carried])
        xs, rows = given[fixed + carried :], []
        turns = range(params["length"])
        # a loop of fixed length is unrolled
        for i in reversed(turns) if params["reverse"] else turns:
            out = self.body(params["jaxpr"], [*consts, *carry, *(x[i] for x in xs)])
            carry, row = out[:carried], out[carried:]
            rows.append(row)
        rows = rows[::-1] if params["reverse"] else rows
        columns = zip(*rows, strict=True)
        return [*carry, *(plain(np.stack([_objects(x) for x in column])) for column in columns)]

    def _while(self, params, *given):
        first, second = params["cond_nconsts"], params["body_nconsts"]
        consts, inside = given[:first], given[first : first + second]
        carry = list(given[first + second :])
        for _ in range(MOST_TURNS):
            # the condition must be a known number, because it determines the length of the program
            (going,) = self.body(params["cond_jaxpr"], [*consts, *carry])
            if is_symbolic(going):
                raise ModelError(
                    "the model's functions contain a loop whose number of turns depends on the "
                    "state, which cannot be written as a formula; give it a fixed number of turns."
                )
            if not going:
                return carry
            carry = self.body(params["body_jaxpr"], [*inside, *carry])
        raise ModelError(f"a loop of the model's functions takes more than {MOST_TURNS} turns.")

    def _platform_index(self, params):
        groups = params["platforms"]
        index = next((i for i, g in enumerate(groups) if g is None or "cpu" in g), 0)
        return np.asarray(index, np.int32)


def _objects(x) -> np.ndarray:
    """Return an array of Python numbers and nodes."""
    x = np.asarray(x)
    if x.dtype == object:
        return x
    out = np.empty(x.shape, object)
    out.ravel()[:] = x.ravel().tolist()
    return out
