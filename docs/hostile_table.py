"""A directive that puts the catalogue of hostile input into a page, read off `tests/hostile` when
the page is built:

    ```{hostile-table}
    ```
"""

import sys
from pathlib import Path

import jax
from sphinx.util.docutils import SphinxDirective

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
jax.config.update("jax_enable_x64", True)

from tests.hostile import CATALOGUES  # noqa: E402
from tests.hostile.case import table  # noqa: E402


class HostileTable(SphinxDirective):
    def run(self):
        for file in (ROOT / "tests" / "hostile").glob("*.py"):
            self.env.note_dependency(str(file))
        return self.parse_text_to_nodes(table(CATALOGUES))


def setup(app):
    app.add_directive("hostile-table", HostileTable)
    return {"parallel_read_safe": True}
