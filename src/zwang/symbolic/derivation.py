"""The explicit equation of motion of a model, in closed form."""

# pyright: reportArgumentType=false, reportIndexIssue=false, reportAttributeAccessIssue=false
# pyright: reportCallIssue=false, reportReturnType=false
# SymPy's annotations do not declare that a matrix is iterable or what `cse` returns.

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import sympy as sp
from sympy.printing.pretty.pretty_symbology import pretty_symbol

from zwang.algebra.decomposition import singular_values
from zwang.codegen.equations import nonideal_rows
from zwang.codegen.samples import Samples, samples
from zwang.dynamics.model import Model
from zwang.errors import ModelError
from zwang.inputs.arguments import choice, count, instance
from zwang.inputs.call import misfits_named
from zwang.objects.display import present
from zwang.symbolic.elimination import Definitions, Mass, Rows
from zwang.symbolic.equations import SymbolicEquations, symbolic_equations
from zwang.symbolic.integrals import first_integrals
from zwang.thresholds import ALL_BUT_ZERO

CLOSED = 80
"""Number of operations of a result, fully expanded, up to which it is simplified as one expression.
"""
FEW = 6
"""Number of symbols of an expression up to which a long one is cancelled, too."""
MOST_VELOCITIES = 40
"""Largest number of velocities or rows of a model that is derived."""

ENDINGS = {
    "page": (".html",),
    "latex": (".tex",),
    "python": (".py",),
    "c": (".c", ".h"),
    "octave": (".m",),
    "julia": (".jl",),
}
"""File name endings of each form."""


@dataclasses.dataclass(frozen=True)
class Derivation:
    """The equation of motion of a model in symbols, with the programs that were printed from it.

    Attributes:
        equations: M, F, φ, ψ, A and b.
        definitions: intermediate results, in order; each may use those before it.
        acceleration: v̇, shape (nv, 1); constraint_force: Q_c, shape (nv, 1); multipliers: λ of the
            rows in `rows`, shape (r, 1); control: u, shape (nu, 1), or None.
        rows: independent rows of A that the formulas use; the others follow from them.
        assumptions: sentences about the validity of the formulas.
        integrals: name → first integral of the equation of motion.
        digits: name of a language and function → agreement with the numeric model, as the largest
            relative difference over `states`; None if it could not be executed.
        states: number of states compared.
        sources: file name → text.
    """

    equations: SymbolicEquations
    definitions: tuple[tuple[sp.Symbol, sp.Expr], ...]
    latex_names: dict[sp.Symbol, str]
    acceleration: sp.Matrix
    constraint_force: sp.Matrix
    multipliers: sp.Matrix
    control: sp.Matrix | None
    rows: tuple[int, ...]
    assumptions: tuple[str, ...]
    integrals: dict[str, sp.Expr]
    digits: dict[str, float | None] = dataclasses.field(default_factory=dict)
    states: int = 0
    sources: dict[str, str] = dataclasses.field(default_factory=dict)

    @property
    def model(self) -> Model:
        """The model."""
        return self.equations.model

    @property
    def outputs(self) -> dict[str, sp.Matrix]:
        """The matrices that are printed as functions, by name."""
        found = {"acceleration": self.acceleration}
        if self.equations.A.rows:
            found["constraint_force"] = self.constraint_force
        return found if self.control is None else found | {"control": self.control}

    @property
    def latex(self) -> str:
        """The derivation as the body of a LaTeX document."""
        from zwang.symbolic.printing.latex import body

        return body(self)

    def expanded(self, value: sp.Matrix) -> sp.Matrix:
        """Substitute the definitions into a result."""
        for symbol, expression in reversed(self.definitions):
            value = value.subs(symbol, expression)
        return value

    def verdict(self) -> str:
        """The result of the comparison with the numeric model, a line for each function."""
        lines = [f"Compared with the numeric model at {self.states} random states:"]
        for name, error in self.digits.items():
            said = "not executed, not installed here" if error is None else f"{error:.1e}"
            lines.append(f"  {name:32s} {said}")
        return "\n".join(lines)

    def __str__(self) -> str:
        from zwang.symbolic.printing.text import text

        return text(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """The HTML that a notebook shows."""
        return present("notebook_of_derivation", self)

    def write(self, folder: str | Path, forms: Iterable[str] = tuple(ENDINGS)) -> list[Path]:
        """Write `NAME.html`, `.tex`, `.py`, `.c`, `.h`, `_test.c`, `.m` and `.jl` into a folder.

        Either all files are written or none.

        Args:
            folder: the destination; it is made.
            forms: of "page", "latex", "python", "c", "octave" and "julia"; all by default.

        Raises:
            ModelError: for another form.
            OutputError: if a file cannot be written.
        """
        from zwang.files import write_files

        chosen = [ENDINGS[choice(str(form), "write: forms", ENDINGS)] for form in forms]
        kept = [name for name in self.sources if any(name.endswith(ends) for ends in chosen)]
        return write_files(folder, {name: self.sources[name] for name in kept})


@misfits_named
def derive(model: Model, q0=None, v0=None, *, states: int = 1000) -> Derivation:
    """Derive a model's explicit equation of motion in symbols, and print it as programs.

        v̇ = a + A⊕ (b − A a),   Q_c = M A⊕ (b − A a),   u of a servo

    M, F, A and b come from the model's own functions, by tracing them. Every printed function is
    executed and compared with the numeric model at random states before it is returned.

    Args:
        model: the model.
        q0, v0: center of the random states, shapes (nq,) and (nv,); ones and zeros by default.
        states: number of states.

    Returns:
        A `Derivation`: `.acceleration`, `.constraint_force`, `.control`, `.latex`, `.verdict()`,
        `.write(folder)`.

    Raises:
        ModelError: for an operation without a formula, by its name, a model that is too large, or
            a printed function that does not agree with the numeric model.

    Reference: review of the Udwadia-Kalaba approach, eq. (36); servo paper, eq. (35); row by row:
        recursive paper, eq. (4.14)-(4.16).

    Example:
        >>> found = zw.derive(model, q0=[1.0, 0.0], v0=[0.0, 0.0])
        >>> print(found.latex); found.write("pendulum")
    """
    from zwang.symbolic.printing import printed_and_checked

    count(states, "derive: states", least=1)
    instance(model, Model, "derive: model", "a zw.Model")
    _refuse_large(model)
    found = symbolic_equations(model)
    given = samples(found.model, q0, v0, states)
    return printed_and_checked(closed_form(found, given), given)


def _refuse_large(model: Model) -> None:
    # checked before tracing, which takes minutes for thousands of rows
    size = max(model.constraints.m, model.system.nv)
    if size > MOST_VELOCITIES:
        raise ModelError(
            f"{model.name} has {size} velocities or rows, expected at most "
            f"{MOST_VELOCITIES} where formulas are "
            "printed; zw.c_code writes code for models of any size."
        )


def closed_form(found: SymbolicEquations, given: Samples) -> Derivation:
    """Derive the equation of motion in symbols, without printed programs.

    Args:
        found: the model's equations.
        given: random states, by which independent rows are found.
    """
    rows = independent_rows(found, given)
    latex = dict(found.symbols.latex)
    latex |= {s: rf"c_{{{i + 1}}}" for i, (s, _) in enumerate(found.definitions)}
    names = Definitions(found.definitions, latex)
    mass = Mass(found.M, "M", names)
    A, b = found.A.extract(rows, range(found.A.cols)), [found.b[i] for i in rows]
    # The letters distinguish the families of definitions in print.
    hold = Rows(A, mass, "zydr", names)
    free = mass.solve(list(found.F), "a")
    acceleration, shares = hold.correct(free, b, "w")
    # A servo chooses u from the motion without it; the motion then follows from both.
    control = None
    if found.servo is not None:
        control, push = _control(found, mass, hold, acceleration, names)
        free = mass.solve([f + g for f, g in zip(found.F, push, strict=True)], "af")
        acceleration, shares = hold.correct(free, b, "v")
    force, multipliers = hold.force(shares), hold.multipliers(shares)
    if found.nonideal is not None:
        acceleration, force = _nonideal(
            found, rows, multipliers, mass, hold, acceleration, force, names
        )
    column = lambda x: sp.Matrix(len(x), 1, list(x))
    result = Derivation(
        found,
        tuple(names.items),
        names.latex,
        column(acceleration),
        column(force),
        column(multipliers),
        None if control is None else column(control),
        tuple(rows),
        tuple(_assumptions(found, rows, given)),
        first_integrals(found),
    )
    return _simplified(result)


def independent_rows(found: SymbolicEquations, given: Samples) -> list[int]:
    """A maximal set of independent rows of A at most of the random states.

    Rows are taken in their order, by Gram-Schmidt orthogonalization.
    """
    model, m = found.model, found.A.rows
    if not m:
        return []
    from zwang.codegen.samples import matrices

    A = matrices(given)
    A = A / np.maximum(np.linalg.norm(A, axis=2, keepdims=True), 1e-300)
    kept: list[int] = []
    for i in range(m):
        # The median is used, as single states may be close to a loss of rank.
        tried = singular_values(A[:, [*kept, i]])
        if np.median(tried[:, -1]) > ALL_BUT_ZERO and len(kept) < model.system.nv:
            kept.append(i)
    return kept


def _control(found: SymbolicEquations, mass: Mass, hold: Rows, passive, names: Definitions):
    """u of the servo and the force `B u`."""
    assert found.servo is not None and found.source.servo is not None
    servo, choice = found.servo, found.source.servo.choice
    nu, k = servo.B.cols, servo.A.rows
    moved = [mass.solve(list(servo.B.col(j)), "B0", j) for j in range(nu)]
    seen = [hold.tangent(x, "B", j) for j, x in enumerate(moved)]
    see = lambda columns, letter: sp.Matrix(
        k, nu, lambda i, j: names.name(letter, _row(servo.A, i, columns[j]), i, j)
    )
    G = see(seen, "G")
    weight = Mass(sp.diag(*servo.weight), "W", names)
    if choice == "PaperLeastNorm":
        K = see(moved, "K")
        blind = Rows(K, weight, ("kz", "ky", "kd", "kr"), names)
        for i in range(k):
            row = list(G.row(i))
            through = [x - y for x, y in zip(row, blind.tangent(row, "kt", i), strict=True)]
            G[i, :] = sp.Matrix([names.vector("Gk", through, i)])
    r = [servo.b[i] - _row(servo.A, i, passive) for i in range(k)]
    reach = Rows(G, weight, ("gz", "gy", "gd", "gr"), names)
    u, _ = reach.correct(list(servo.preferred), r, "u")
    return u, list(servo.B * sp.Matrix(u))


def _row(A: sp.Matrix, i: int, x) -> sp.Expr:
    return sp.Add(*(A[i, j] * x[j] for j in range(A.cols)))


def _nonideal(found, rows, multipliers, mass, hold, acceleration, force, names):
    """The acceleration and the constraint force with the force c of nonideal constraints.

    c is linear in the forces that it depends on, as Coulomb friction is while they keep their
    signs: `λ = λ₀ + (I − K)⁻¹ k`, where k are the reactions to c(λ₀) and K those to its
    derivatives.
    """
    position, n = {row: i for i, row in enumerate(rows)}, found.A.cols
    own = [
        (part, i)
        for part, span in enumerate(nonideal_rows(found.model))
        for i in range(span.start, span.stop)
        if i in position
    ]
    ideal = {}
    for part in range(found.ideal.rows):
        for j in range(n):
            terms = [found.A[i, j] * multipliers[position[i]] for k, i in own if k == part]
            ideal[found.ideal[part, j]] = names.name("f", sp.Add(*terms), part, j)

    def reaction(impressed, letter):
        _, shares = hold.correct(mass.solve(list(impressed), f"{letter}a"), zeros, letter)
        found = hold.multipliers(shares)
        return [found[position[i]] for _, i in own]

    zeros, slope = [sp.Integer(0)] * len(rows), found.nonideal.jacobian(list(found.ideal))
    c = names.vector("C", [x.subs(ideal) for x in found.nonideal])
    along = []  # derivatives of c by each of these multipliers
    for k, (part, i) in enumerate(own):
        change = slope[:, part * n : (part + 1) * n] * found.A[i, :].T
        along.append(names.vector("Cl", [x.subs(ideal) for x in change], k))
    K = sp.Matrix([reaction(x, f"Cr{k}") for k, x in enumerate(along)]).T
    start = sp.Matrix(reaction(c, "Cr"))
    change = names.vector("Cd", list((sp.eye(len(own)) - K).LUsolve(start)))
    c = names.vector("Cs", list(sp.Matrix(c) + sp.Matrix(along).T * sp.Matrix(change)))
    more = hold.tangent(mass.solve(c, "Ca"), "Ct")
    extra = list(found.M * sp.Matrix(more))
    return (
        [x + y for x, y in zip(acceleration, more, strict=True)],
        [x + y for x, y in zip(force, extra, strict=True)],
    )


def _assumptions(found: SymbolicEquations, rows: list[int], given: Samples):
    """Sentences about the validity of the formulas."""
    m = found.A.rows
    positive = [s for s in found.symbols.p if s.is_positive]
    if positive:
        yield f"{', '.join(pretty_symbol(str(s)) for s in positive)} > 0."
    yield "M is positive definite."
    if m:
        yield f"A has rank {len(rows)} of {m} rows: " + (
            "no denominator vanishes."
            if len(rows) == m
            else f"rows {', '.join(str(i + 1) for i in rows)} are independent, and the others "
            "follow from them wherever the constraints hold."
        )
    if found.nonideal is not None:
        yield "Friction leaves one constraint force: no Cd has a denominator that vanishes."
    if given.projected:
        yield (
            "The states compared are on the constraints, where redundant rows agree, and away from "
            "a loss of rank."
        )


def _simplified(result: Derivation) -> Derivation:
    """Expand and simplify each result that is small enough as one expression."""
    changed = {}
    for name, value in {**result.outputs, "multipliers": result.multipliers}.items():
        short = _one_expression(result, value)
        if short is not None:
            changed[name] = short
    found = dataclasses.replace(result, **changed)
    if changed.keys() >= set(result.outputs):
        return dataclasses.replace(found, definitions=(), **changed)
    return found


def _one_expression(result: Derivation, value: sp.Matrix) -> sp.Matrix | None:
    size: dict[sp.Symbol, int] = {}
    measure = lambda e: (
        int(sp.count_ops(e)) + sum(size.get(s, 0) * e.count(s) for s in e.free_symbols)
    )
    for symbol, expression in result.definitions:
        size[symbol] = measure(expression)
    if any(measure(e) > 8 * CLOSED for e in value):
        return None
    written = result.expanded(value)
    short = written.applyfunc(tidy)
    return short if all(sp.count_ops(e) <= CLOSED for e in short) else None


def tidy(expression: sp.Expr) -> sp.Expr:
    """The shortest of a few equal forms of an expression."""
    if cases := expression.atoms(sp.Piecewise):  # cases are cancelled like symbols
        symbols = {x: sp.Dummy(real=True) for x in cases}
        back = {symbol: x for x, symbol in symbols.items()}
        return tidy(expression.xreplace(symbols)).xreplace(back)
    forms = [expression, sp.factor_terms(expression)]
    few = len(expression.free_symbols) <= FEW
    # the cost of cancelling grows with symbols
    if sp.count_ops(expression) <= (8 if few else 2) * CLOSED:
        together = sp.cancel(sp.together(expression))
        forms += [together, sp.factor_terms(together)]
    shortest = min(forms, key=sp.count_ops)
    if sp.count_ops(shortest) <= CLOSED:
        forms += [sp.factor(shortest), sp.factor_terms(sp.trigsimp(shortest))]
    return min(forms, key=sp.count_ops)
