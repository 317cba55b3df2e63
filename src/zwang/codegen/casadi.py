"""A model's equation of motion as a function of CasADi: `casadi_code`, for acados and other tools
that use CasADi's symbols.
"""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import jax.numpy as jnp
import numpy as np

from zwang.algebra.mass_matrix import dense_mass
from zwang.codegen.expression import Graph, Node, Scalar, in_order
from zwang.codegen.functions import ModelFunctions
from zwang.codegen.interpreter import expressions
from zwang.codegen.names import identifier
from zwang.dynamics import functions
from zwang.dynamics.model import Model
from zwang.equations.state import State
from zwang.files import write_files

INFIX = {
    **{"add": "+", "sub": "-", "mul": "*", "div": "/", "pow": "**"},
    **{"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="},
}
CALLED = {
    **{"max": "ca.fmax", "min": "ca.fmin", "rem": "ca.fmod", "abs": "ca.fabs"},
    **{"and": "ca.logic_and", "or": "ca.logic_or", "not": "ca.logic_not", "select": "ca.if_else"},
    "neg": "-",
    "cbrt": "cbrt",
    "trunc": "trunc",
}
"""Operations whose names in CasADi differ from those in NumPy."""
HELPERS = """def cbrt(x):
    return ca.sign(x) * ca.fabs(x) ** (1 / 3)


def trunc(x):
    return ca.sign(x) * ca.floor(ca.fabs(x))
"""


@dataclasses.dataclass(frozen=True)
class CasadiCode:
    """The equation of motion of a model for CasADi.

    Attributes:
        name: of the function and its file.
        source: source of a Python module that needs only CasADi; its `NAME()` creates the function
            (q, v, f, t, p) → M, F, A, b, Q_c, a.
        parameters: name and value of each entry of p.
    """

    name: str
    source: str = dataclasses.field(repr=False)
    parameters: tuple[tuple[str, float], ...]

    def write(self, folder: str | Path) -> list[Path]:
        """Write `NAME.py` into a folder, which is created if necessary.

        Raises:
            OutputError: if it cannot be written.
        """
        return write_files(folder, {f"{self.name}.py": self.source})


def casadi_code(model: Model, name: str | None = None) -> CasadiCode:
    """Generate the source of the equation of motion of a model as a function of CasADi's symbols.

        a = M⁻¹ (F + f) + A⊕ (b − A M⁻¹ (F + f)),    Q_c = M (a − M⁻¹ (F + f))

    A⊕ is computed as in C code, without a rank decision, so that redundant rows need no special
    treatment; CasADi differentiates the function itself.

    Args:
        model: the model; its servo is omitted, and f takes its place.
        name: identifier of the function and its file; the model's by default.

    Raises:
        ModelError: for an operation that cannot be written as a formula, a mass matrix that is
            declared singular, and inequalities or dry friction.

    Example:
        >>> zwang.codegen.casadi.casadi_code(model).write("code")
    """
    code, graph = ModelFunctions(model.passive), Graph()
    system, nq, nv = model.system, model.system.nq, model.system.nv
    sizes = {"p": len(code.parameters), "q": nq, "v": nv, "f": nv, "t": 1}
    given = {c: [graph.input(f"{c}[{i}]") for i in range(n)] for c, n in sizes.items()}
    arrays = [np.array([None, *given[c]], object)[1:] for c in sizes]

    def of(p, q, v, f, t):
        dynamics, s = code.dynamics(p), State(q, v, t[0])
        eq = dynamics.equation_at(s)
        eq = dataclasses.replace(eq, force=eq.force + f)
        acceleration = dynamics.acceleration(eq)
        M = dense_mass(functions.mass_matrix(system, q, s.t, dynamics.p))
        force = eq.mass.apply(acceleration - eq.free_acceleration)
        A = dynamics.constraints.matrix(q, v, s.t, dynamics.p)
        return M, eq.given_force, jnp.reshape(A, (-1, nv)), eq.given_b, force, acceleration

    found = [np.asarray(x) for x in expressions(of, graph, *arrays)]
    name = identifier(model.name if name is None else name)
    text = _source(name, model, sizes, dict(zip("MFAbQa", found, strict=True)), code.parameters)
    return CasadiCode(name, text, code.parameters)


def _source(name: str, model: Model, sizes: dict, outputs: dict, parameters: tuple) -> str:
    """Return the source of the module."""
    nodes = in_order([x for array in outputs.values() for x in array.flat])
    called = {node: f"x{i}" for i, node in enumerate(nodes)}

    def word(x: Scalar) -> str:
        if not isinstance(x, Node):
            return repr(float(x)) if math.isfinite(x) else f"ca.{float(x)}".replace("ca.-", "-ca.")
        return x.args[0] if x.op == "input" else called[x]

    def operation(node: Node) -> str:
        args = [word(x) for x in node.args]
        if node.op in INFIX:
            return f"{args[0]} {INFIX[node.op]} {args[1]}"
        return f"{CALLED.get(node.op, f'ca.{node.op}')}({', '.join(args)})"

    lines = [f'{c} = ca.SX.sym("{c}", {n})' for c, n in sizes.items()]
    lines += [f"{called[node]} = {operation(node)}" for node in nodes]
    for letter, array in outputs.items():
        shape = array.shape if array.ndim == 2 else (array.size, 1)
        lines.append(f"{letter} = ca.SX.zeros({shape[0]}, {shape[1]})")
        rows = array.reshape(shape)
        lines += [
            f"{letter}[{i}, {j}] = {word(x)}"
            for (i, j), x in np.ndenumerate(rows)
            if isinstance(x, Node) or x != 0
        ]
    known = ", ".join(f"{key} = {value!r}" for key, value in parameters) or "none"
    return "\n".join(
        [
            f'"""{identifier(model.name)}: M, F, A, b, Q_c and a of (q, v, f, t, p).',
            "",
            f"p: {known}",
            '"""',
            "",
            "import casadi as ca",
            "",
            "",
            HELPERS,
            "",
            f"def {name}():",
            *(f"    {line}" for line in lines),
            '    given, names = [q, v, f, t, p], ["q", "v", "f", "t", "p"]',
            "    found = [M, F, A, b, Q, a]",
            '    results = ["M", "F", "A", "b", "Q_c", "a"]',
            f'    return ca.Function("{name}", given, found, names, results)',
            "",
        ]
    )
