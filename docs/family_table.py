"""A directive that puts the members of a family into a page as a table, read off when the page is
built, so that no page has to be edited for a new member:

    ```{family-table} integrators
    ```
"""

from pathlib import Path

import jax
from sphinx.util.docutils import SphinxDirective

jax.config.update("jax_enable_x64", True)

import zwang.gallery.index  # noqa: E402
import zwang.mechanism.keys  # noqa: E402
import zwang.mechanism.registry  # noqa: E402
from zwang.objects.families import ALL_FAMILIES, PACKAGE  # noqa: E402
from zwang.robots import sdf_specification, specification, urdf_specification  # noqa: E402

TABLES = {family.name.replace(" ", "-"): family.table for family in ALL_FAMILIES} | {
    "joints": zwang.mechanism.registry.table,
    "keys": zwang.mechanism.keys.table,
    "gallery": zwang.gallery.index.table,
    "urdf": lambda: specification.table(urdf_specification.RULES),
    "sdf": lambda: specification.table(sdf_specification.RULES),
}
FOLDERS = {family.name.replace(" ", "-"): family.place for family in ALL_FAMILIES} | {
    "joints": "mechanism.joints",
    "keys": "mechanism.schema",
    "gallery": "gallery",
    "urdf": "robots.urdf_specification",
    "sdf": "robots.sdf_specification",
}


class FamilyTable(SphinxDirective):
    required_arguments = 1

    def run(self):
        name = self.arguments[0]
        place = PACKAGE.joinpath(*FOLDERS[name].split("."))
        # the page is built anew when a member changes, or when the folder gets a file more
        for file in (
            (place, *place.rglob("*.py")) if place.is_dir() else (place.with_suffix(".py"),)
        ):
            self.env.note_dependency(str(Path(file)))
        return self.parse_text_to_nodes(TABLES[name]())


def setup(app):
    app.add_directive("family-table", FamilyTable)
    return {"parallel_read_safe": True}
