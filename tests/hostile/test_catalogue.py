"""Every hostile input of the catalogues gives its sentence and its exit code."""

import contextlib
import io

import pytest

from tests.hostile import CATALOGUES
from zwang.cli import main

from .case import CLASSES, fault, outcome, table

LONG = {
    "three rows within 1e-5 of each other",
    "a lift of 10 stages",
    "grad of a vmapped trajectory",
    "grad of a forward trajectory",
}
"""Cases that take a second, and whose like are shorter."""
CASES = [
    pytest.param(
        case, id=f"{name}-{case.name}", marks=[pytest.mark.slow] if case.name in LONG else []
    )
    for name, catalogue in CATALOGUES.items()
    for case in catalogue.CASES
]


def command(words):
    """The command line in this process: exit code, and all that it prints."""
    text = io.StringIO()
    with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
        code = main(list(words))
    return code, text.getvalue()


@pytest.mark.one_in(5)
@pytest.mark.parametrize("case", CASES)
def test_a_hostile_input_ends_in_its_sentence(case, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    wrong = fault(case, *outcome(case, tmp_path, command))
    assert wrong is None, wrong


def test_names_are_unique_and_every_class_has_its_cases():
    ids = [x.id for x in CASES]
    assert len(set(ids)) == len(ids) >= 300
    assert sum(x.startswith("files-") for x in ids) >= 120
    assert {x.values[0].line for x in CASES} == set(CLASSES)


def test_the_page_has_a_row_for_every_case():
    rows = [x for x in table(CATALOGUES).splitlines() if x.startswith("| ") and "what is" not in x]
    assert len(rows) == len(CASES)
    assert all(len(row.replace("\\|", "").split("|")) == 6 for row in rows)
