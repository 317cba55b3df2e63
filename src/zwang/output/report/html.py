"""Templates to HTML text: one skeleton and one style sheet for every page that zwang writes."""

from __future__ import annotations

from pathlib import Path

import jinja2
from markupsafe import Markup

from zwang.version import __version__

HERE = Path(__file__).parent


def render(template: Path, **values) -> str:
    """The text of a page.

    Args:
        template: a file that extends `skeleton.html`, which stands beside this file with
            `page.css`.
        values: what it shows; escaped, unless it is `Markup`.
    """
    loader = jinja2.FileSystemLoader([template.parent, HERE])
    environment = jinja2.Environment(
        loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    css = Markup((HERE / "page.css").read_text(encoding="utf-8"))
    return environment.get_template(template.name).render(css=css, version=__version__, **values)
