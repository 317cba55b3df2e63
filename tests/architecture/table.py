"""Figures of the structure: `python -m tests.architecture.table [TREE …]`.

They count definitions and calls in the syntax tree of the library, so that they do not depend on
wording. The column *first* contains the values for commit 2fb30288, *aim* the target values. Papers
and the gallery are applications of the library and are not counted.
"""

from __future__ import annotations

import ast
import functools
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CORE = ("algebra", "dynamics", "equations", "simulation", "stepping")
USES = ("gallery", "papers")
"""Packages that use the library and are no part of its structure."""
FACTORIZATIONS = (
    "cho_factor cho_solve cholesky det determinant eig eigh eigvals eigvalsh expm inv lstsq lu "
    "lu_factor lu_solve matrix_rank null_space orth pinv pivoted_qr qr singular_values slogdet "
    "solve solve_triangular splu svd svdvals"
).split()
LINEAR_ALGEBRA = ("linalg", "lapack")
"""Parts of the names of modules whose functions are factorizations."""
ONTO = {"phi", "position_residual"}
"""Names by which an iteration knows the residual that it brings to zero."""
LOOPS = {"while_loop", "fori_loop", "scan"}
MOVES = {"move", "moved", "retract", "normals"}
"""Names by which it moves coordinates."""


class Tree:
    """The library in a checkout.

    Args:
        root: of the checkout.

    Attributes:
        text, syntax: of each file by its path below `zwang`.
        inside: everything that is written in it.
    """

    def __init__(self, root: Path):
        source = root / "src" / "zwang"
        paths = {file.relative_to(source).as_posix(): file for file in source.rglob("*.py")}
        self.text = {path: file.read_text(encoding="utf-8") for path, file in paths.items()}
        self.syntax = {path: ast.parse(text) for path, text in self.text.items()}
        self.inside = {path: [*ast.walk(tree)] for path, tree in self.syntax.items()}

    def files(self, *packages: str) -> Iterator[tuple[str, ast.Module]]:
        """Files of some packages, of all but `USES` if none is named."""
        for path, tree in sorted(self.syntax.items()):
            package = package_of(path)
            if package in packages or (not packages and package not in USES):
                yield path, tree

    def nodes(self, *packages: str) -> Iterator[tuple[str, ast.AST]]:
        """Everything that is written in them."""
        for path, _ in self.files(*packages):
            for node in self.inside[path]:
                yield path, node

    def classes(self, *packages: str) -> Iterator[tuple[str, ast.ClassDef]]:
        """Classes of them."""
        for path, node in self.nodes(*packages):
            if isinstance(node, ast.ClassDef):
                yield path, node


def package_of(path: str) -> str:
    """The package of a file, "" of a file of the library itself."""
    return path.partition("/")[0] if "/" in path else ""


def name_of(node: ast.AST) -> str:
    """`a.b.c` of a name or an attribute; "" of anything else."""
    if isinstance(node, ast.Name):
        return node.id
    return f"{name_of(node.value)}.{node.attr}" if isinstance(node, ast.Attribute) else ""


def members(node: ast.ClassDef) -> set[str]:
    """Methods of a class, and attributes that it is given in them."""
    assigned = (
        target.attr
        for x in ast.walk(node)
        if isinstance(x, ast.Assign)
        for place in x.targets
        for target in ast.walk(place)
        if isinstance(target, ast.Attribute) and name_of(target.value) == "self"
    )
    return {x.name for x in node.body if isinstance(x, ast.FunctionDef)} | {*assigned}


def correcting_classes(tree: Tree) -> list[str]:
    """Classes that apply A⊕: with a method `correct`."""
    return [f"{path}: {x.name}" for path, x in tree.classes() if "correct" in members(x)]


def mass_classes(tree: Tree) -> list[str]:
    """Finished classes that hold a factored M: those of a mass, others that give coordinates
    weighted by it, and those with M and `W Wᵀ = M⁻¹`.
    """
    found = []
    for path, x in tree.classes():
        derived = "AbstractMass" in {name_of(base) for base in x.bases}
        fields = {name_of(y.target) for y in x.body if isinstance(y, ast.AnnAssign)}
        weighs = "weigh" in members(x) and not x.name.startswith("Abstract")
        weighs = weighs or fields >= {"M", "W"}
        if derived or weighs or ("correct" in members(x) and factors_mass(x)):
            found.append(f"{path}: {x.name}")
    return found


def factors_mass(node: ast.ClassDef) -> bool:
    """Whether a class takes the Cholesky factor of a matrix itself."""
    calls = (x for x in ast.walk(node) if isinstance(x, ast.Call))
    return any(name_of(x.func).endswith("cholesky") for x in calls)


def callers_of_mass(tree: Tree) -> list[str]:
    """Files that call the mass matrix of a system."""
    return sorted(
        {
            path
            for path, x in tree.nodes()
            if isinstance(x, ast.Call)
            and isinstance(x.func, ast.Attribute)
            and x.func.attr == "mass_matrix"
            and re.search(r"(system|^self)$", name_of(x.func.value))
            and not path.startswith("bodies/")
        }
    )


def factoring_files(tree: Tree) -> list[str]:
    """Files outside `algebra` and `native` that call a factorization."""
    found = []
    for path, module in tree.files():
        if package_of(path) in ("algebra", "native"):
            continue
        own = {
            alias.asname or alias.name
            for x in ast.walk(module)
            if isinstance(x, ast.ImportFrom)
            and x.module
            and x.module.rpartition(".")[2] in LINEAR_ALGEBRA
            for alias in x.names
        }
        calls = [name_of(x.func) for x in ast.walk(module) if isinstance(x, ast.Call)]
        parted = [name.split(".") for name in calls]
        if any(
            x[-1] in FACTORIZATIONS and (x[-1] in own or {*x[:-1]} & {*LINEAR_ALGEBRA, "la"})
            for x in parted
        ):
            found.append(path)
    return found


def projections(tree: Tree) -> list[str]:
    """Functions with a loop that moves coordinates by a correction of φ: Newton's iteration."""
    found = []
    for path, node in tree.nodes():
        if not isinstance(node, ast.FunctionDef):
            continue
        inside = [x for x in ast.walk(node) if x is not node]
        used = {name_of(x).rpartition(".")[2] for x in inside if name_of(x)}
        loops = any(isinstance(x, ast.For | ast.While) for x in inside) or used & LOOPS
        inner = any(
            isinstance(x, ast.FunctionDef) and any(name == x.name for name in ("correct", "step"))
            for x in inside
        )
        solves = inner or used & {"correct", "corrections", "lstsq", "solve", "pinv"}
        if loops and solves and used & ONTO and used & MOVES:
            found.append(f"{path}: {node.name}")
    return found


def thresholds(tree: Tree) -> list[str]:
    """Named numbers of the core, of `analysis` and of `thresholds.py` that are no whole numbers."""
    found = []
    for path, module in tree.files():
        if package_of(path) not in (*CORE, "analysis") and path != "thresholds.py":
            continue
        for node in module.body:
            if isinstance(node, ast.Assign):
                names = [x.id for t in node.targets for x in ast.walk(t) if isinstance(x, ast.Name)]
                values = [
                    x.value
                    for x in ast.walk(node.value)
                    if isinstance(x, ast.Constant) and isinstance(x.value, float)
                ]
                constant = all(
                    isinstance(x, ast.Constant | ast.Tuple | ast.BinOp | ast.UnaryOp | ast.operator)
                    or isinstance(x, ast.expr_context | ast.unaryop)
                    for x in ast.walk(node.value)
                )
                if values and constant:
                    found += [f"{path}: {name}" for name in names if name.isupper()]
    return found


def core(kind: type | tuple[type, ...]) -> Callable[[Tree], list[str]]:
    """Definitions of a kind in the core, functions within functions and methods left out."""

    def counted(tree: Tree) -> list[str]:
        return [
            f"{path}: {node.name}"
            for path, module in tree.files(*CORE)
            for node in module.body
            if isinstance(node, kind)
        ]

    return counted


def constants(tree: Tree) -> list[str]:
    """Named constants of the core."""
    return [
        f"{path}: {target.id}"
        for path, module in tree.files(*CORE)
        for node in module.body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for place in (node.targets if isinstance(node, ast.Assign) else [node.target])
        for target in ast.walk(place)
        if isinstance(target, ast.Name) and target.id.isupper()
    ]


def untyped(tree: Tree) -> list[str]:
    """Annotations `Any`, and casts, in the library."""
    found = []
    for path, node in tree.nodes():
        annotations = []
        if isinstance(node, ast.AnnAssign | ast.arg):
            annotations.append(node.annotation)
        if isinstance(node, ast.FunctionDef):
            annotations.append(node.returns)
        if any(x is not None and name_of(x) == "Any" for x in annotations):
            found.append(path)
        if isinstance(node, ast.Call) and name_of(node.func) in ("cast", "typing.cast"):
            found.append(path)
    return found


def top_names(tree: Tree) -> list[str]:
    """Names that `import zwang as zw` offers, read from the lists of the package."""
    listed = (
        name
        for node in tree.syntax["__init__.py"].body
        if isinstance(node, ast.If)
        for x in ast.walk(node)
        if isinstance(x, ast.ImportFrom)
        for name in x.names
    )
    return [x.asname or x.name for x in listed]


def lines(tree: Tree) -> range:
    """Lines of the library."""
    return range(sum(len(tree.text[path].splitlines()) for path, _ in tree.files()))


MEASURES: tuple[tuple[str, Callable[[Tree], list | range], int, int], ...] = (
    ("classes that apply A⊕", correcting_classes, 8, 2),
    ("classes that factor M", mass_classes, 10, 4),
    ("files that call a user's mass matrix", callers_of_mass, 14, 1),
    ("files with factorizations outside algebra", factoring_files, 63, 10),
    ("Newton iterations onto φ", projections, 11, 2),
    ("thresholds in core and analysis", thresholds, 209, 60),
    ("core classes", core(ast.ClassDef), 197, 110),
    ("core functions", core(ast.FunctionDef), 451, 260),
    ("core constants", constants, 273, 110),
    ("annotations `Any` and casts", untyped, 451, 60),
    ("names at the top", top_names, 131, 50),
    ("lines", lines, 73065, 52_000),
)
"""What is counted, its value at 2fb30288, and what it is to come to."""


@functools.cache
def tree_of(root: Path) -> Tree:
    """The library in a checkout, read once."""
    return Tree(root)


def main(arguments: list[str]) -> None:
    """Print the table; of each checkout that is named a column, with `-v` what is counted in this
    one.
    """
    verbose = "-v" in arguments
    roots = [ROOT, *(Path(x) for x in arguments if x != "-v")]
    print(f"{'':44s}{'first':>8s}{'now':>8s}{'aim':>8s}  {' '.join(map(str, roots[1:]))}")
    for what, measure, first, aim in MEASURES:
        found = [measure(tree_of(root)) for root in roots]
        further = "".join(f"{len(x):8d}" for x in found[1:])
        print(f"{what:44s}{first:8d}{len(found[0]):8d}{aim:8d}{further}")
        if verbose and len(found[0]) < 40:
            print("".join(f"    {x}\n" for x in found[0]), end="")


if __name__ == "__main__":
    main(sys.argv[1:])
