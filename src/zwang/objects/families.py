"""Families of interchangeable parts.

A member is a concrete class in the family's folder that derives from the family's abstract class;
no list has to be kept. The command line, the tables of the documentation and the compliance tests
take the members from here. Their names and summaries are parsed from the source files, because
`zwang --help` has to answer before JAX is imported.

    from zwang.objects.families import INTEGRATORS
    INTEGRATORS.members["tsit5"].load()      # the class
    print(INTEGRATORS.table())               # all of them, in Markdown
"""

from __future__ import annotations

import ast
import dataclasses
import importlib
import inspect
import re
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).parent.parent
LARGE_MATRIX = 10**4
"""Matrix size at which the leading term of an operation count is determined."""


@dataclasses.dataclass(frozen=True)
class Member:
    """One class of a family.

    Attributes:
        key: its name on the command line, such as "complete-orthogonal".
        name: its name in Python, such as "CompleteOrthogonal".
        module: its module, such as "zwang.stepping.tsit5".
        summary: the first sentence of its docstring.
    """

    key: str
    name: str
    module: str
    summary: str

    def load(self) -> Any:
        """Import and return the class."""
        return getattr(importlib.import_module(self.module), self.name)


@dataclasses.dataclass(frozen=True)
class Family:
    """A family of interchangeable parts.

    Attributes:
        name: of its members, in the plural.
        place: its folder, or its only file, below `zwang`, with dots.
        base: name of the abstract class that members derive from.
        first: name of the default member, which comes first in tables; the others follow by name.
        columns: heading → cell for a member's class, in the table of the documentation.
    """

    name: str
    place: str
    base: str
    first: str = ""
    columns: Mapping[str, Callable[[Any], object]] = dataclasses.field(default_factory=dict)

    @cached_property
    def members(self) -> dict[str, Member]:
        """All members by their names on the command line."""
        found, abstract = [], {self.base}
        definitions = [pair for module, file in self._files() for pair in _classes(module, file)]
        # The file of an abstract class may be read after the files of its subclasses.
        while (
            grown := {
                node.name
                for _, node in definitions
                if node.name.startswith("Abstract") and _bases(node) & abstract
            }
            - abstract
        ):
            abstract |= grown
        # Names of bases are compared as strings: `--help` must not import anything.
        for module, node in definitions:
            if node.name not in abstract and _bases(node) & abstract:
                found.append(Member(key(node.name), node.name, module, _summary(node)))
        found.sort(key=lambda member: (member.name != self.first, member.key))
        return {member.key: member for member in found}

    def classes(self) -> tuple[Any, ...]:
        """All members as classes."""
        return tuple(member.load() for member in self.members.values())

    def table(self) -> str:
        """All members as a Markdown table, with the parameters of their constructors."""
        heads = ["member", "what it is", *self.columns, "settings"]
        lines = [f"| {' | '.join(heads)} |", "|" + "---|" * len(heads)]
        for member in self.members.values():
            cls = member.load()
            name = f"`{member.name}`" + (" (default)" if member.name == self.first else "")
            cells = [str(cell(cls)) for cell in self.columns.values()]
            lines.append(f"| {' | '.join((name, member.summary, *cells, _settings(cls)))} |")
        return "\n".join(lines) + "\n"

    def _files(self) -> list[tuple[str, Path]]:
        """Modules and files of the family."""
        path = PACKAGE.joinpath(*self.place.split("."))
        if not path.is_dir():
            return [(f"zwang.{self.place}", path.with_suffix(".py"))]
        return [(f"zwang.{self.place}.{file.stem}", file) for file in sorted(path.glob("[!_]*.py"))]


def key(name: str) -> str:
    """Convert a class name to a word of the command line."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name).lower()


CLASS = re.compile(r'^class [A-Za-z]\w*\([^)]*\):\n(?:    r?"""[\s\S]*?""")?', re.MULTILINE)
"""Pattern of the first lines of a public class with bases, and its docstring. Parsing whole files
would take a tenth of the time of `zwang --help`.
"""


def _classes(module: str, file: Path) -> list[tuple[str, ast.ClassDef]]:
    """Public classes of a file that derive from another one, without their bodies."""
    heads = CLASS.findall(file.read_text(encoding="utf-8"))
    nodes = (ast.parse(f"{head}\n    ...").body[0] for head in heads)
    return [(module, node) for node in nodes if isinstance(node, ast.ClassDef)]


def _summary(node: ast.ClassDef) -> str:
    paragraph = (ast.get_docstring(node) or "").partition("\n\n")[0].replace("\n", " ")
    return paragraph.partition(". ")[0].rstrip(".:,").replace("|", r"\|")


def _bases(node: ast.ClassDef) -> set[str]:
    return {ast.unparse(base).rpartition(".")[2] for base in node.bases}


def _settings(cls) -> str:
    """The parameters of a constructor with their defaults."""
    texts = []
    for name, parameter in inspect.signature(cls).parameters.items():
        default = parameter.default
        shown = "" if default is parameter.empty else f" = {default!r}"
        texts.append(f"`{name}{shown}`")
    return ", ".join(texts)


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _leading(flops: Callable[[int, int], float]) -> str:
    """Leading term of an operation count for m = n."""
    whole, thirds = divmod(round(3 * flops(LARGE_MATRIX, LARGE_MATRIX) / LARGE_MATRIX**3), 3)
    return f"{whole}{('', '⅓', '⅔')[thirds]} n³"


def _orders(gain) -> str:
    """Orders of error dynamics, up to the fourth, that a gain has an example for."""
    orders = [str(r) for r in range(1, 5) if gain.example(r) is not None]
    return "any" if len(orders) == 4 else ", ".join(orders)


INTEGRATORS = Family(
    "integrators",
    "stepping",
    "AbstractIntegrator",
    "Dopri8",
    {
        "order": lambda cls: cls().order,
        "stages": lambda cls: cls().tableau.stages if hasattr(cls, "tableau") else "",
        "implicit": lambda cls: _yes(cls.implicit),
        "steps": lambda cls: "chosen" if cls.estimates else "one length",
    },
)
PSEUDOINVERSES = Family(
    "pseudoinverses",
    "algebra.pseudoinverse",
    "AbstractPseudoinverse",
    "Proximal",
    {"flops, m = n": lambda cls: _leading(cls().flops)},
)
FORMULATIONS = Family(
    "formulations",
    "dynamics.formulation",
    "AbstractFormulation",
    columns={
        "equation": lambda cls: cls.equation,
        "singular M": lambda cls: _yes(cls.singular_mass),
        "redundant rows": lambda cls: _yes(cls.redundant_constraints),
        "flops, m = n": lambda cls: _leading(cls().flops),
    },
)
DRIFTS = Family("drifts", "dynamics.drift", "AbstractDrift", "Projection")
GAINS = Family("gains", "servo.gains", "AbstractGain", "Rate", {"order r": _orders})
NULL_SPACES = Family("null spaces", "servo.null_space", "AbstractNullSpace", "LeastNorm")
CONSTRAINTS = Family("constraints", "equations.constraint", "AbstractConstraint", "Holonomic")

ALL_FAMILIES = (
    INTEGRATORS,
    PSEUDOINVERSES,
    FORMULATIONS,
    DRIFTS,
    GAINS,
    NULL_SPACES,
    CONSTRAINTS,
)
