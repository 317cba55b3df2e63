"""The mutations of a file, found in its syntax tree."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass

COMPARISONS = {
    ast.Lt: ast.GtE,
    ast.LtE: ast.Gt,
    ast.Gt: ast.LtE,
    ast.GtE: ast.Lt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
ARITHMETIC = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.MatMult: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}


@dataclass(frozen=True)
class Mutant:
    """One change of a file.

    Attributes:
        index: place of the changed node among those of its tree (`ast.walk`).
        kind: which change.
        line: line of the node.
        what: the change in words.
    """

    index: int
    kind: str
    line: int
    what: str


def _comparison(node):
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        new = COMPARISONS[type(node.ops[0])]
        node.ops = [new()]
        return node
    return None


def _arithmetic(node):
    if isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC:
        if isinstance(node.left, ast.Constant | ast.JoinedStr) and not _number(node.left):
            return None  # a text
        node.op = ARITHMETIC[type(node.op)]()
        return node
    return None


def _number(node) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


def _constant(node):
    if isinstance(node, ast.Constant):
        if isinstance(node.value, bool):
            return ast.copy_location(ast.Constant(not node.value), node)
        if _number(node):
            return ast.copy_location(ast.Constant(node.value + 1), node)
    return None


def _negation(node):
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub | ast.Invert):
        return node.operand
    return None


def _condition(node):
    if isinstance(node, ast.If | ast.IfExp | ast.While):
        node.test = ast.copy_location(ast.UnaryOp(ast.Not(), node.test), node.test)
        return node
    return None


def _connective(node):
    if isinstance(node, ast.BoolOp):
        node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        return node
    return None


def _statement(node):
    """A statement that is left out: a call, a refusal, an assignment that adds up."""
    text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    if isinstance(node, ast.Expr | ast.Raise | ast.AugAssign) and not text:
        return ast.copy_location(ast.Pass(), node)
    return None


KINDS: dict[str, Callable] = {
    "comparison": _comparison,
    "arithmetic": _arithmetic,
    "constant": _constant,
    "negation": _negation,
    "condition": _condition,
    "connective": _connective,
    "statement left out": _statement,
}


def mutants(source: str) -> Iterator[Mutant]:
    """All mutants of a text.

    Left out are annotations, texts, decorators, imports and constants of the module: these are
    thresholds between sizes that lie orders of magnitude apart, whose value has its reason beside
    it and which a test that notices one more would only repeat.
    """
    tree = ast.parse(source)
    skipped = _skipped(tree)
    for index, node in enumerate(ast.walk(tree)):
        if id(node) in skipped or not hasattr(node, "lineno"):
            continue
        for kind, change in KINDS.items():
            new = change(copy.deepcopy(node))
            if new is not None:
                what = f"{_words(node)} → {_words(new)}"
                yield Mutant(index, kind, node.lineno, what)


def _skipped(tree: ast.Module) -> set[int]:
    """Nodes that are not changed, by their id."""
    roots: list = [x for x in tree.body if isinstance(x, ast.Assign | ast.AnnAssign | ast.Import)]
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            roots.append(node)
        if isinstance(node, ast.AnnAssign | ast.arg) and node.annotation is not None:
            roots.append(node.annotation)
        if isinstance(node, ast.FunctionDef):
            roots += [*node.decorator_list, *([node.returns] if node.returns else [])]
        if isinstance(node, ast.ClassDef):
            roots += [*node.decorator_list, *node.bases]
    return {id(x) for root in roots for x in ast.walk(root)}


def _words(node) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 60 else f"{text[:40]} … {text[-15:]}"


def mutated(source: str, mutant: Mutant) -> ast.Module:
    """The syntax tree of a text with one change."""
    tree = ast.parse(source)
    nodes = list(ast.walk(tree))
    old = nodes[mutant.index]
    new = KINDS[mutant.kind](old)
    if new is not old:
        for parent in nodes:
            for field, value in ast.iter_fields(parent):
                if value is old:
                    setattr(parent, field, new)
                elif isinstance(value, list) and any(x is old for x in value):
                    setattr(parent, field, [new if x is old else x for x in value])
    return ast.fix_missing_locations(tree)
