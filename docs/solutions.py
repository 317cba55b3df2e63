"""Solutions of exercises, folded until the reader opens them.

:::{dropdown-solution}
…
:::
"""

from docutils import nodes
from sphinx.util.docutils import SphinxDirective


class Solution(SphinxDirective):
    """A block that the reader unfolds."""

    has_content = True

    def run(self):
        opened = nodes.raw("", "<details><summary>Solution</summary>", format="html")
        return [opened, *self.parse_content_to_nodes(), nodes.raw("", "</details>", format="html")]


def setup(app):
    app.add_directive("dropdown-solution", Solution)
    return {"parallel_read_safe": True}
