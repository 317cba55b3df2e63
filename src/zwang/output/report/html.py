"""Rendering of templates to HTML: one skeleton and one style sheet for every page of zwang."""

from __future__ import annotations

import contextlib
from pathlib import Path

import jinja2
from markupsafe import Markup

from zwang.compile import cache_folder, keeps_programs
from zwang.version import __version__

HERE = Path(__file__).parent


def render(template: Path, **values) -> str:
    """Render a page.

    Args:
        template: a file that extends `skeleton.html`, which is in this folder with `page.css`.
        values: of its variables; escaped, unless they are `Markup`.
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
    """Cache of compiled templates on disk, shared between processes, if a folder is writable."""

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
