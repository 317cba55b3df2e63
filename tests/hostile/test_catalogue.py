"""Every hostile input of the catalogues ends in its sentence and its exit code."""

import contextlib
import importlib
import io
import pkgutil

import pytest

from tests import hostile
from zwang.cli import main

from .case import fault, outcome

CATALOGUES = sorted(
    x.name for x in pkgutil.iter_modules(hostile.__path__) if x.name.startswith("catalogue_")
)
CASES = [
    pytest.param(case, id=f"{name.removeprefix('catalogue_')}-{case.name}")
    for name in CATALOGUES
    for case in importlib.import_module(f"tests.hostile.{name}").CASES
]


def command(words):
    """The command line in this process: exit code, and all that it prints."""
    text = io.StringIO()
    with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
        code = main(list(words))
    return code, text.getvalue()


@pytest.mark.parametrize("case", CASES)
def test_a_hostile_input_ends_in_its_sentence(case, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    wrong = fault(case, *outcome(case, tmp_path, command))
    assert wrong is None, wrong


def test_names_are_unique_and_files_have_more_than_120_cases():
    ids = [x.id for x in CASES]
    assert len(set(ids)) == len(ids)
    assert sum(x.startswith("files-") for x in ids) >= 120
