"""A directive that puts what becomes of each element and attribute of MJCF into a page, by the
schema of the MuJoCo that is installed and the rules in `tests/robots`:

    ```{mjcf-table}
    ```
"""

import sys
from pathlib import Path

from sphinx.util.docutils import SphinxDirective

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.robots.mjcf_law import table  # noqa: E402


class MjcfTable(SphinxDirective):
    def run(self):
        self.env.note_dependency(str(ROOT / "tests" / "robots" / "mjcf_law.py"))
        return self.parse_text_to_nodes(table())


def setup(app):
    app.add_directive("mjcf-table", MjcfTable)
    return {"parallel_read_safe": True}
