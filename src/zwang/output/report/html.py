"""Templates to HTML text: one skeleton and one style sheet for every page that zwang writes."""

from __future__ import annotations

import contextlib
from pathlib import Path

import jinja2
from markupsafe import Markup

from zwang.compile import cache_folder, keeps_programs
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
        loader=loader,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        bytecode_cache=_kept(),
    )
    css = Markup((HERE / "page.css").read_text(encoding="utf-8"))
    return environment.get_template(template.name).render(css=css, version=__version__, **values)


class _Kept(jinja2.FileSystemBytecodeCache):
    """Templates that are compiled once for many processes, where a folder can be written to."""

    def dump_bytecode(self, bucket) -> None:
        with contextlib.suppress(OSError):
            super().dump_bytecode(bucket)


def _kept() -> _Kept | None:
    if not keeps_programs():
        return None
    folder = cache_folder() / "pages"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return _Kept(str(folder))
