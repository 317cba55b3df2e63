"""Notebooks generated from pages of the documentation: they are valid and free of the markup of the
site; slow tests run them from the first cell to the last in an empty folder.
"""

import re
import sys
from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat")
sys.path.append(str(Path(__file__).resolve().parents[2] / "docs"))

from notebooks import notebook, pages  # noqa: E402 - found beside the pages


def test_there_is_a_notebook_of_every_page_whose_code_runs():
    assert {"start", "mechanisms", "course", "servo", "robots"} <= set(pages())


@pytest.mark.parametrize("name", pages())
def test_a_notebook_is_valid_and_speaks_plain_markdown(name):
    made = notebook(name)
    nbformat.validate(made)
    page = (Path(__file__).resolve().parents[2] / "docs" / f"{name}.md").read_text("utf-8")
    assert sum(cell.cell_type == "code" for cell in made.cells) == page.count("```{code-cell}")
    for cell in made.cells:
        if cell.cell_type == "markdown":
            assert not re.search(r"```\{|^:::|\.md\)|_static", cell.source, re.MULTILINE), cell


@pytest.mark.slow
@pytest.mark.parametrize("name", pages())
def test_a_notebook_runs(name, tmp_path):
    nbclient = pytest.importorskip("nbclient")
    nbclient.NotebookClient(
        notebook(name), timeout=900, resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
