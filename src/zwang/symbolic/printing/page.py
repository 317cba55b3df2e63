"""A derivation as an HTML page, with formulas in MathML, which browsers typeset."""

# pyright: reportArgumentType=false, reportIndexIssue=false, reportAttributeAccessIssue=false
# pyright: reportCallIssue=false
# SymPy's annotations do not declare that a matrix is iterable or what `cse` returns.

from __future__ import annotations

import html
import re
from collections.abc import Collection

import sympy as sp
from sympy.printing.mathml import MathMLPresentationPrinter

from zwang.symbolic.derivation import Derivation

RESULTS = {
    "acceleration": "<mover><mi>v</mi><mo>˙</mo></mover>",
    "constraint_force": "<msub><mi>Q</mi><mi>c</mi></msub>",
    "control": "<mi>u</mi>",
}
STYLE = """
body { font-family: system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem; }
table { border-collapse: collapse; } td, th { padding: .2rem .8rem; text-align: left; }
math { font-size: 1.15rem; }
"""


ROUND = "border:solid;border-width:0 .09em;border-radius:.6em;padding:0 .35em"
BRACE = "border-left:solid .09em;border-radius:.6em;padding-left:.35em"
"""Parentheses of a matrix, and the brace of cases: drawn, as few systems have a font with
stretching brackets.
"""
ABOUT = (
    "What a row of A is without its shares <i>z</i><sup>c</sup> in the rows before it is called "
    "<i>z</i>; it is orthogonal to them in the metric of M<sup>−1</sup>. With "
    "<i>y</i> = M<sup>−1</sup><i>z</i><sup>T</sup> and <i>d</i> = <i>z</i> <i>y</i>, each row "
    "changes the acceleration <i>w</i> by <i>y</i> times its share <i>r</i><sup>w</sup>. What is "
    "short has no name."
)
"""Meanings of the letters of definitions."""
_NAMED = re.compile(r"([A-Za-z])(\w*?)((?:_\d+)+)_*")
"""Letters and numbers in the name of a definition."""
WIDE = "overflow:auto hidden;margin:.6em 0;padding:2px 0"
"""Style of a formula that may be wider than the page, or a notebook cell without our style sheet.
"""


class _Printer(MathMLPresentationPrinter):
    """MathML printer with dots for rates, and parentheses and braces of any height."""

    def __init__(self, rates: dict[sp.Symbol, sp.Symbol], defined: Collection[sp.Symbol] = ()):
        # a dot between factors, as names may have several letters; none between entries of a row
        super().__init__({"mul_symbol": "dot", "mat_delim": ""})
        self._rates, self._defined = rates, set(defined)

    def doprint(self, expr) -> str:
        """Print with a distance between the parts of a fraction and its line, which fonts without
        measures for formulas lack.
        """
        whole = self._made("mrow", self._print(expr))
        for fraction in whole.getElementsByTagName("mfrac"):
            for part in list(fraction.childNodes):
                fraction.appendChild(self._made("mrow", part, style="padding:.22em 0"))
        return whole.childNodes[0].toxml().encode("ascii", "xmlcharrefreplace").decode()

    def _print_Symbol(self, symbol, style="plain"):
        if symbol in self._defined and (parts := _NAMED.fullmatch(symbol.name)):
            head, tail, below = parts.groups()
            letter = self._made("mi", head)
            index = self._made("mn", below.strip("_").replace("_", " "))
            if not tail:
                return self._made("msub", letter, index)
            above = self._made("mtext", f"({tail})" if tail.isdigit() else tail)
            return self._made("msubsup", letter, index, above)
        if symbol not in self._rates:
            return super()._print_Symbol(symbol, style)
        over, dot = self.dom.createElement("mover"), self.dom.createElement("mo")
        over.appendChild(super()._print_Symbol(self._rates[symbol], style))
        dot.appendChild(self.dom.createTextNode("˙"))
        over.appendChild(dot)
        return over

    def _made(self, tag: str, *parts, **attributes: str):
        made = self.dom.createElement(tag)
        for name, value in attributes.items():
            made.setAttribute(name, value)
        for x in parts:
            made.appendChild(self.dom.createTextNode(x) if isinstance(x, str) else x)
        return made

    def _print_MatrixBase(self, matrix):
        table = super()._print_MatrixBase(matrix)
        table.setAttribute("style", ROUND)
        return table

    def parenthesize(self, item, level, strict=False):
        """Draw the parentheses of sums with fractions or cases, which are higher than a line."""
        made = super().parenthesize(item, level, strict=strict)
        high = item.has(sp.Piecewise) or any(x.exp.is_negative for x in item.atoms(sp.Pow))
        if item.is_Add and high and len(made.childNodes) == 3:
            made.removeChild(made.firstChild)
            made.removeChild(made.lastChild)
            made.setAttribute("style", ROUND)
        return made

    def _print_Piecewise(self, cases):
        rows = []
        for value, condition in cases.args:
            last = condition == sp.true
            word = self._made(
                "mtext", "\N{EM SPACE}otherwise" if last else "\N{EM SPACE}if\N{NO-BREAK SPACE}"
            )
            parts = [word] if last else [word, self._print(condition)]
            cells = self._made("mtd", self._print(value)), self._made("mtd", *parts)
            for cell in cells:
                cell.setAttribute("style", "text-align:left")
            rows.append(self._made("mtr", *cells))
        return self._made("mtable", *rows, style=BRACE)

    def _print_Pow(self, power):
        """Print `sin² x` in the usual notation."""
        base, exponent = power.base, power.exp
        if not (isinstance(base, (sp.sin, sp.cos, sp.tan)) and exponent.is_Integer):
            return super()._print_Pow(power)
        if exponent < 0:
            return self._made("mfrac", self._print(1), self._print(base**-exponent))
        name = self._made("msup", self._made("mi", base.func.__name__), self._print(exponent))
        return self._made("mrow", name, self._paren_comma_separated(*base.args))


def document(found: Derivation, name: str) -> dict[str, str]:
    """The page, by its file name; it loads nothing."""
    title = html.escape(found.model.name)
    text = (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f"<style>{STYLE}</style></head><body><h1>{title}</h1>{content(found)}</body></html>\n"
    )
    return {f"{name}.html": text}


def content(found: Derivation, level: int = 2) -> str:
    """The derivation as a part of a page, which needs no style sheet.

    Args:
        found: the derivation.
        level: of its headings.
    """
    e, printer = found.equations, _Printer(_rates(found), [s for s, _ in found.definitions])
    shown = lambda x: _plain(printer.doprint(x))
    heading = lambda text: f"<h{level}>{text}</h{level}>"
    system = [("M", e.M), ("F", e.F), ("φ", e.phi), ("ψ", e.psi), ("A", e.A), ("b", e.b)]
    shared = dict(e.definitions)
    parts = ["<p>The coordinates q, the velocities v and the parameters p satisfy M dv/dt = F"]
    if e.A.rows:
        parts.append(
            " + Q<sub>c</sub>. The constraint force Q<sub>c</sub> enforces A dv/dt = b, which "
            "follows from the constraints φ = 0 and ψ = 0 by differentiation"
        )
    parts.append(".</p>")
    parts += [_math(f"<mi>{k}</mi>", shown(sp.Matrix([x]))) for k, x in _variables(found).items()]
    parts += [_math(shown(symbol), shown(x)) for symbol, x in shared.items()]
    parts += [_math(f"<mi>{letter}</mi>", shown(x)) for letter, x in system if x.rows]
    if own := [x for x in found.definitions if x[0] not in shared]:
        parts.append(heading("Definitions, in order"))
        parts.append(f"<p>{ABOUT}</p>" if e.A.rows else "")
        parts += [_math(shown(symbol), shown(x)) for symbol, x in own]
    parts.append(heading("Explicit equation of motion"))
    parts += [_math(RESULTS[key], shown(x)) for key, x in found.outputs.items()]
    if found.integrals:
        parts.append(heading("First integrals"))
        parts += [
            _math(f"<mtext>{html.escape(k)}</mtext>", shown(x)) for k, x in found.integrals.items()
        ]
    rows = "".join(
        f"<tr><td>{html.escape(key)}</td>"
        f"<td>{'not executed, not installed here' if x is None else f'{x:.1e}'}</td></tr>"
        for key, x in found.digits.items()
    )
    holds = "".join(f"<li>{html.escape(x)}</li>" for x in found.assumptions)
    return (
        f"{heading('System')}{''.join(parts)}{heading('Where it holds')}<ul>{holds}</ul>"
        f"{heading('Executed and compared')}<p>Largest relative difference from the numeric model "
        f"at {found.states} random states.</p><table>{rows}</table>"
    )


def _variables(found: Derivation) -> dict[str, tuple[sp.Symbol, ...]]:
    """Symbols of coordinates, velocities and parameters, by the letters of the equations."""
    known = found.equations.symbols
    return {k: x for k, x in {"q": known.q, "v": known.v, "p": known.p}.items() if x}


def _rates(found: Derivation) -> dict[sp.Symbol, sp.Symbol]:
    """The coordinate of each velocity that is its rate."""
    symbols, system = found.equations.symbols, found.model.system
    if tuple(system.velocities) != tuple(system.coordinates):
        return {}
    return dict(zip(symbols.v, symbols.q, strict=True))


def _plain(text: str) -> str:
    """Adapt MathML to HTML pages.

    Named entities become characters, fractions in matrices and cases have full size, and hyphens
    become minus signs.
    """
    text = text.replace("<mtable", '<mtable displaystyle="true"').replace(
        "<mo>-</mo>", "<mo>−</mo>"
    )
    named = re.compile(r"&(?!lt;|gt;|amp;|quot;)[A-Za-z]\w*;")
    return named.sub(lambda found: html.unescape(found[0]), text)


def _math(left: str, right: str) -> str:
    return f'<div style="{WIDE}"><math display="block">{left}<mo>=</mo>{right}</math></div>'
