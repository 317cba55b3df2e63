"""The counts of `tests.architecture.table` do not grow unnoticed."""

from pathlib import Path

import pytest
from tests.architecture import table

MOST = {
    "classes that apply A⊕": 3,
    "classes that factor M": 4,
    "files that call a user's mass matrix": 1,
    "files with factorizations outside algebra": 2,
    "Newton iterations onto φ": 4,
    "thresholds in core and analysis": 45,
    "core classes": 225,
    "core functions": 638,
    "core constants": 147,
    "annotations `Any` and casts": 60,
    "names at the top": 45,
}
"""What each of them is now: lower it where it falls."""
MEASURES = {what: measure for what, measure, _, _ in table.MEASURES}


@pytest.mark.parametrize("what", MOST)
def test_a_count_does_not_grow(what):
    found = MEASURES[what](table.tree_of(table.ROOT))
    assert len(found) <= MOST[what], found


def test_things_are_counted_by_what_they_do_and_not_by_their_names(tmp_path: Path):
    """A class that applies A⊕, one that factors M, and a file that calls a user's mass matrix."""
    source = tmp_path / "src" / "zwang" / "dynamics"
    source.mkdir(parents=True)
    (source.parent / "__init__.py").write_text("")
    (source / "twin.py").write_text(
        "import numpy as np\n"
        "class Twin:\n"
        "    def __init__(self, system, q):\n"
        "        self.L = np.linalg.cholesky(system.mass_matrix(q, 0.0, None))\n"
        "        self.correct = lambda r: r\n"
    )
    found = {what: MEASURES[what](table.Tree(tmp_path)) for what in MOST}
    assert [len(x) for x in found.values()] == [1, 1, 1, 1, 0, 0, 1, 0, 0, 0, 0]
