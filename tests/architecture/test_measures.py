"""Measures of the source: lengths of functions, comments, suppressions, constants, words.

One limit holds for every file; there is no exception.
"""

import ast
import collections
import functools
import io
import re
import tokenize
from pathlib import Path

from tests.architecture.table import ROOT, tree_of

MOST_LINES_OF_A_FUNCTION = 80
TYPE_IGNORES = 20
SKIPS_OF_THE_FORMATTER = 30
COMMENTS = (0.025, 0.08)
"""Least and most share of comments in the lines of functions, of all files together."""


def files() -> dict[str, str]:
    """Text of every file by its path below `zwang`."""
    return tree_of(ROOT).text


def tree(path: str) -> ast.Module:
    return tree_of(ROOT).syntax[path]


def functions(path: str):
    """Functions of a file, nested ones as well."""
    for node in tree_of(ROOT).inside[path]:
        if isinstance(node, ast.FunctionDef):
            yield node


def docstring_lines(node) -> range:
    """Lines of a function's docstring."""
    if ast.get_docstring(node) is None:
        return range(0)
    first = node.body[0]
    return range(first.lineno, first.end_lineno + 1)


@functools.cache
def comments(path: str) -> dict[int, str]:
    """Comments of a file by line."""
    tokens = tokenize.generate_tokens(io.StringIO(files()[path]).readline)
    return {token.start[0]: token.string for token in tokens if token.type == tokenize.COMMENT}


def test_a_function_fits_on_a_screen():
    """Without its docstring, with the functions inside it."""
    long = {}
    for path in files():
        for node in functions(path):
            lines = node.end_lineno - node.lineno + 1 - len(docstring_lines(node))
            if lines > MOST_LINES_OF_A_FUNCTION:
                long[f"{path}: {node.name}"] = lines
    assert not long


def test_types_are_rarely_ignored():
    ignored = [
        (path, text)
        for path in files()
        for text in comments(path).values()
        if re.match(r"# *(type|pyright): *ignore", text)
    ]
    assert len(ignored) <= TYPE_IGNORES, ignored


def test_the_formatter_is_skipped_for_tables_of_numbers_only():
    skipped = [
        (path, line)
        for path in files()
        for line, comment in comments(path).items()
        if re.search(r"fmt: *(skip|off)", comment)
    ]
    assert len(skipped) <= SKIPS_OF_THE_FORMATTER
    for path, line in skipped:
        lines = files()[path].splitlines()
        first = next(node.lineno for node in tree(path).body if node.end_lineno == line)
        table = "".join(lines[first - 1 : line])
        assert len(re.findall(r"[\d.]+", table)) > 2 * (line - first), (path, line)


def share_of_comments(paths) -> float:
    """Comments inside functions, over the lines of code of functions."""
    code, said = set(), set()
    for path in paths:
        lines = files()[path].splitlines()
        for node in functions(path):
            inside = set(range(node.lineno, node.end_lineno + 1)) - {*docstring_lines(node)}
            code |= {(path, line) for line in inside if lines[line - 1].strip()}
            said |= {
                (path, line)
                for line in inside & comments(path).keys()
                if not re.match(r"# *(type|noqa|fmt|pyright)", comments(path)[line])
            }
    return len(said) / len(code)


def test_functions_have_comments_that_say_why():
    """What they say is for readers to judge; that they are there can be counted."""
    least, most = COMMENTS
    assert least <= share_of_comments(files()) <= most


def numbers(path: str):
    """Constants of a file that are numbers, with their values."""
    for node in tree(path).body:
        if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
            continue
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            pairs = [(target, node.value)]
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                pairs = list(zip(target.elts, node.value.elts, strict=True))
            for name, value in pairs:
                if isinstance(name, ast.Name) and re.fullmatch(r"[A-Z][A-Z0-9_]{2,}", name.id):
                    text = ast.unparse(value)
                    if re.fullmatch(r"[-+*/.() e\d]+", text):
                        yield name.id, eval(text)


def test_a_number_that_has_a_name_has_one_value():
    values = collections.defaultdict(dict)
    for path in sorted(files()):
        for name, value in numbers(path):
            values[name][path] = value
    several = {name: found for name, found in values.items() if len({*found.values()}) > 1}
    assert not several


PRIVATE = re.compile(r"\b(told|besides|as a rule|so many|of zwang's|unless given)\b", re.IGNORECASE)
"""Words that the documentation does without: each has a plainer one."""
NO_NAMES = {"abreast", "early", "follow", "known_", "course", "prolonged", "told", "settled"}
"""Words that name nothing to a reader from outside, and are neither functions nor classes."""


def docstrings(path: str):
    """Docstrings of a file, also those below constants, and its comments."""
    for node in tree_of(ROOT).inside[path]:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            if isinstance(node.value.value, str):
                yield node.value.value
    yield from comments(path).values()


def test_the_prose_uses_no_private_language():
    where = [
        f"{path}: {word}"
        for path in files()
        for text in docstrings(path)
        for word in PRIVATE.findall(" ".join(text.split()))
    ]
    assert not where
    pages = [*(ROOT / "docs").glob("*.md"), *ROOT.glob("*.md")]
    assert not {p.name: w for p in pages if (w := PRIVATE.findall(" ".join(p.read_text().split())))}


def test_names_are_words_that_a_reader_knows():
    """Of functions, classes and files."""
    names = {
        (path, node.name.strip("_").lower())
        for path in files()
        for node in tree_of(ROOT).inside[path]
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    } | {(path, Path(path).stem) for path in files()}
    assert not {(path, name) for path, name in names if name in NO_NAMES}
