"""A page for every member of the gallery and for every kind of joint and constraint, written before
the pages are read, so that a new member has one without being entered anywhere.

    ```{gallery-index}
    ```
"""

import ast
import html
import subprocess
import sys
from pathlib import Path

from constraint_examples import EXAMPLES as CONSTRAINTS_SHOWN
from docutils import nodes
from joint_examples import EXAMPLES as JOINTS
from sphinx.util.docutils import SphinxDirective
from thumbnails import thumbnail

from zwang.gallery.index import ENTRIES
from zwang.gallery.index.entry import Entry
from zwang.gallery.index.files import file_of
from zwang.objects.families import CONSTRAINTS

HERE = Path(__file__).parent
ROOT = HERE.parent


def settings(entry: Entry) -> list[str]:
    """The settings of a member as a table."""
    if not entry.settings:
        return []
    lines = ["## Settings", "", "| setting | default | meaning |", "|---|---|---|"]
    for name, x in entry.settings.items():
        lines.append(f"| `{name}` | {x.default} {x.unit} | {x.description} |")
    return [*lines, ""]


def member_page(entry: Entry) -> str:
    """The page of a member: what it is, its motion, its command, its equations and its file."""
    file = file_of(entry)
    language = "toml" if file.suffix == ".toml" else "python"
    stated = [] if language == "toml" else docstring(file)
    first = next(iter(entry.settings), None)
    change = f" --set {first}={entry.settings[first].default}" if first else ""
    return "\n".join(
        [
            f"# {entry.name}",
            "",
            f"{entry.summary[:1].upper()}{entry.summary[1:]}. Source: {entry.source}.",
            "",
            f"```{{live}} {entry.name}",
            "```",
            "",
            "```",
            f"zwang run {entry.name}{change}",
            f"zwang list {entry.name} --file    # the file below, to start from",
            "```",
            "",
            *stated,
            *settings(entry),
            "## The file",
            "",
            f"```{{literalinclude}} {Path('..') / '..' / file.relative_to(ROOT)}",
            f":language: {language}",
            "```",
            "",
        ]
    )


def docstring(file: Path) -> list[str]:
    """The docstring of a member's file, which states its equations."""
    text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    return ["## Equations", "", "```text", text, "```", ""] if text else []


def joint_page() -> str:
    """One page with an example for every kind of joint."""
    parts = [
        "# Every kind of joint and constraint",
        "",
        "Each of these files is complete: save it as `example.toml` and run `zwang run "
        "example.toml`. They are made from the registry of joints, and a test runs every one. "
        "[Mechanisms](mechanisms.md) explains the tables, [the reference](reference.md) each "
        "field.",
        "",
    ]
    for example in JOINTS:
        parts += [
            f"## {example.kind.name}, in {'the plane' if example.world == 'plane' else 'space'}",
            "",
            f"{example.kind.summary[:1].upper()}{example.kind.summary[1:]}. It removes "
            f"{example.removes} degrees of freedom.",
            "",
            f"![The motion that it leaves](_static/joints/{example.name}.svg)",
            "",
            "```toml",
            example.text,
            "```",
            "",
        ]
    return "\n".join(parts + constraint_parts())


def constraint_parts() -> list[str]:
    """A program for every kind of constraint."""
    parts = ["## Constraints as functions", ""]
    for member in CONSTRAINTS.members.values():
        parts += [f"### {member.name}", "", f"{member.summary}.", ""]
        parts += ["```python", CONSTRAINTS_SHOWN[member.name].strip(), "```", ""]
    return parts


class GalleryIndex(SphinxDirective):
    """All members as cards, each with its picture."""

    def run(self):
        cards = []
        for entry in ENTRIES.values():
            name = entry.name
            tags = ", ".join(entry.tags)
            cards.append(
                f'<a class="card" href="gallery/{name}.html">{thumbnail(name)}'
                f"<strong>{name}</strong><span>{html.escape(entry.summary)}</span>"
                f"<small>{html.escape(tags)}</small></a>"
            )
        return [nodes.raw("", f'<div class="cards">{"".join(cards)}</div>', format="html")]


def write_pages(app) -> None:
    """Write the pages; a file that has not changed is left alone, so that it is not built again."""
    folder = HERE / "gallery"
    folder.mkdir(exist_ok=True)
    texts = {folder / f"{entry.name}.md": member_page(entry) for entry in ENTRIES.values()}
    texts[HERE / "joints.md"] = joint_page()
    # in a process of its own: builders fork, which threads of JAX do not survive
    subprocess.run([sys.executable, HERE / "joint_pictures.py"], check=True)
    for stale in set(folder.glob("*.md")) - set(texts):
        stale.unlink()
    for path, text in texts.items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def setup(app):
    app.connect("builder-inited", write_pages)
    app.add_directive("gallery-index", GalleryIndex)
    return {"parallel_read_safe": True}
