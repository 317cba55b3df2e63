"""Pages whose code runs as Jupyter notebooks: a link under the title of each, and the file that it
leads to, written beside the built pages.
"""

import re
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

FOLDER = "notebooks"
HERE = Path(__file__).parent
LEFT_OUT = ("index",)
"""The front page reads measurements that lie beside it."""
HEAD = "---\nfile_format: mystnb\n"
CODE = re.compile(r"^```\{code-cell\}[^\n]*\n((?::[^\n]*\n)*)(.*?)^```$", re.DOTALL | re.MULTILINE)
DIRECTIVE = re.compile(r"^```\{([\w-]+)\}[^\n]*\n(.*?)^```\n", re.DOTALL | re.MULTILINE)
SOLUTION = re.compile(r"^:::\{dropdown-solution\}[^\n]*\n(.*?)^:::$", re.DOTALL | re.MULTILINE)
TO_PAGE = re.compile(r"(?<!!)\[([^\]]+)\]\((?!https?://)[^)]+\)")
PICTURE = re.compile(r"!\[([^\]]*)\]\([^)]+\)(<br>)?")
LINK = (
    '<p><a href="{up}' + FOLDER + '/{name}.ipynb" download>Download this page as a notebook</a></p>'
)


def pages() -> list[str]:
    """The names of the pages whose code runs, in alphabetical order."""
    found = (path for path in HERE.glob("*.md") if path.read_text("utf-8").startswith(HEAD))
    return sorted(path.stem for path in found if path.stem not in LEFT_OUT)


def notebook(name: str) -> nbformat.NotebookNode:
    """A page as a notebook, without the directives that only the site understands.

    Args:
        name: of the page, without `.md`.
    """
    text = (HERE / f"{name}.md").read_text(encoding="utf-8")
    body = text.split("\n---\n", 1)[1]
    said = (
        f"*The page `{name}` of zwang's documentation. It needs zwang and matplotlib; links "
        "to other pages are left out.*"
    )
    cells = [new_markdown_cell(said)]
    # between prose stand a cell's options, which only the site needs, and its code
    prose, _, code = (CODE.split(body)[i::3] for i in range(3))
    for text, program in zip(prose, [*code, ""], strict=True):
        if shown := _prose(text):
            cells.append(new_markdown_cell(shown))
        if program:
            cells.append(new_code_cell(program.strip("\n")))
    for i, cell in enumerate(cells):
        cell["id"] = f"cell-{i}"  # by itself each would be another at every build
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return new_notebook(cells=cells, metadata={"kernelspec": kernel})


def _prose(text: str) -> str:
    """Markdown that every notebook shows."""
    text = SOLUTION.sub(r"<details><summary>Solution</summary>\n\n\1\n</details>", text)
    text = DIRECTIVE.sub(lambda m: _table(m[2]) if m[1] == "list-table" else "", text)
    return TO_PAGE.sub(r"\1", PICTURE.sub("", text)).strip("\n")


def _table(text: str) -> str:
    """A list-table as a table of Markdown, its first row the head."""
    rows = re.split(r"^\* - ?", text, flags=re.MULTILINE)[1:]
    cells = [[" ".join(cell.split()) for cell in re.split(r"\n  - ?", row)] for row in rows]
    lines = ["| " + " | ".join(x.replace("|", r"\|") for x in row) + " |" for row in cells]
    return "\n".join([lines[0], "|---" * len(cells[0]) + "|", *lines[1:]]) + "\n"


def link(app, docname: str, source: list[str]) -> None:
    """Put the link under the title of a page whose code runs."""
    if source[0].startswith(HEAD) and docname not in LEFT_OUT:
        shown = LINK.format(up="../" * docname.count("/"), name=docname)
        source[0] = re.sub(
            r"^# .*\n",
            lambda m: f"{m[0]}\n```{{raw}} html\n{shown}\n```\n",
            source[0],
            count=1,
            flags=re.MULTILINE,
        )


def write(app, error) -> None:
    """Write the notebooks once the pages are built."""
    if error is None and app.builder.format == "html":
        folder = Path(app.outdir) / FOLDER
        folder.mkdir(exist_ok=True)
        for name in pages():
            nbformat.write(notebook(name), folder / f"{name}.ipynb")


def setup(app):
    app.connect("source-read", link)
    app.connect("build-finished", write)
    return {"parallel_read_safe": True}
