"""A derivation in LaTeX."""

# pyright: reportArgumentType=false, reportIndexIssue=false, reportAttributeAccessIssue=false
# pyright: reportCallIssue=false
# SymPy's annotations do not declare that a matrix is iterable or what `cse` returns.

from __future__ import annotations

import sympy as sp
from sympy.printing.pretty.pretty_symbology import pretty_symbol

from zwang.symbolic.derivation import Derivation

WIDEST = 6
"""Largest number of rows and columns of a matrix that is typeset as one."""
MOST_OPERATIONS = 400
"""Largest number of operations of a matrix, over all entries, that is typeset as one."""
RESULTS = {
    "acceleration": r"\dot v = a + A^{\oplus}(b - A a)",
    "constraint_force": r"Q_c = M A^{\oplus}(b - A a)",
    "control": "u",
}


def _latex(found: Derivation, expression) -> str:
    # a thin space between factors, as names may have several letters
    return sp.latex(expression, symbol_names=found.latex_names, mul_symbol=r" \, ")


def body(found: Derivation) -> str:
    """Equations, definitions, results, assumptions and first integrals, without a preamble."""
    e = found.equations
    system = [("M", e.M), ("F", e.F), (r"\varphi", e.phi), (r"\psi", e.psi), ("A", e.A), ("b", e.b)]
    if e.servo is not None:
        system += [("A_s", e.servo.A), ("b_s", e.servo.b), ("B", e.servo.B)]
    shared = dict(e.definitions)
    parts = [r"\section*{System}", _names(found)]
    if shared:
        parts.append(_aligned(found, list(shared.items())))
    parts += [_equation(found, name, value) for name, value in system if value.rows]
    own = [(s, x) for s, x in found.definitions if s not in shared]
    if own:
        parts += [r"\section*{Definitions, in order}", _aligned(found, own)]
    parts.append(r"\section*{Explicit equation of motion}")
    parts += [_equation(found, RESULTS[name], value) for name, value in found.outputs.items()]
    if found.integrals:
        parts.append(r"\section*{First integrals}")
        parts += [
            rf"\[ {_latex(found, value)} \qquad\text{{({name.replace('_', ' ')})}} \]"
            for name, value in found.integrals.items()
        ]
    letters = {pretty_symbol(str(s)): rf"${found.latex_names[s]}$" for s in e.symbols.p}
    holds = [" ".join(_letter(x, letters) for x in text.split(" ")) for text in found.assumptions]
    parts += [r"\section*{Where it holds}", *holds]
    return "\n\n".join(parts)


def _letter(word: str, letters: dict[str, str]) -> str:
    """A word of a sentence; a parameter as in the formulas where its name has Greek letters."""
    name = word.rstrip(",")
    known = letters.get(name) if not name.isascii() else None
    return _sentence(word) if known is None else known + word[len(name) :]


def _sentence(text: str) -> str:
    return text.replace("_", r"\_")


def document(found: Derivation, name: str, note: str) -> dict[str, str]:
    """The document, by its file name."""
    head = [
        r"\documentclass{article}",
        r"\usepackage[utf8]{inputenc}",
        r"\usepackage{amsmath}",
        r"\usepackage[margin=2cm]{geometry}",
        r"\allowdisplaybreaks",
        r"\begin{document}",
        rf"\title{{{_sentence(name)}}}\date{{}}\maketitle",
    ]
    verdict = [rf"\texttt{{{_sentence(line)}}}\\" for line in note.splitlines() if line.strip()]
    text = [*head, "", body(found), "", *verdict, "", r"\end{document}"]
    return {f"{name}.tex": "\n".join(text) + "\n"}


def _names(found: Derivation) -> str:
    """Variables, parameters and the rates of q, and the meaning of the letters."""
    symbols, e = found.equations.symbols, found.equations
    row = lambda values: ", ".join(found.latex_names[s] for s in values)
    p = rf", \qquad p = ({row(symbols.p)})" if symbols.p else ""
    about = r"The coordinates $q$, velocities $v$ and parameters $p$ satisfy $M \dot v = F$"
    if e.A.rows:
        about += (
            r" $+ Q_c$. The constraint force $Q_c$ enforces $A \dot v = b$, which follows from the "
            r"constraints $\varphi = 0$ and $\psi = 0$ by differentiation. Without constraints the "
            r"acceleration is $a = M^{-1} F$; $A^{\oplus} = M^{-1/2} (A M^{-1/2})^{+}$"
        )
    out = [f"{about}.", rf"\[ q = ({row(symbols.q)}), \qquad v = ({row(symbols.v)}){p} \]"]
    if list(e.rate) != list(symbols.v):
        out.append(_equation(found, r"\dot q = N v", e.rate))
    return "\n".join(out)


def _equation(found: Derivation, name: str, value: sp.Matrix) -> str:
    """`name = matrix`, or entry by entry if the matrix is too large for a page."""
    if max(value.shape) <= WIDEST and sum(map(sp.count_ops, value)) <= MOST_OPERATIONS:
        return rf"\[ {name} = {_latex(found, value)} \]"
    lines = [
        rf"&[{i + 1}{'' if value.cols == 1 else f', {j + 1}'}]\colon\quad "
        + _latex(found, value[i, j])
        for i in range(value.rows)
        for j in range(value.cols)
        if value[i, j] != 0
    ]
    return rf"\[ {name}\colon \]" + "\n" + _block(lines)


def _aligned(found: Derivation, definitions) -> str:
    return _block([rf"{found.latex_names.get(s, s)} &= {_latex(found, e)}" for s, e in definitions])


def _block(lines: list[str]) -> str:
    return "\\begin{align*}\n" + " \\\\\n".join(lines) + "\n\\end{align*}"
