"""Sphinx: pages in MyST Markdown, their code executed at every build, nothing loaded from the
network by a reader.
"""

import sys
from importlib.metadata import version as installed_version
from pathlib import Path

project = "zwang"
author = "The zwang developers"
copyright = "The zwang developers"  # Sphinx reads this name
version = release = installed_version("zwang")

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "family_table",
    "gallery_pages",
    "hostile_table",
    "robot_table",
    "live",
    "name_examples",
    "notebooks",
    "solutions",
    "verification_table",
]
sys.path.insert(0, str(Path(__file__).parent))  # the extensions beside this file
exclude_patterns = ["_build", "jupyter_execute"]
html_theme = "furo"
html_title = f"zwang {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
nitpicky = False

# Pages
myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

# Code in pages runs when a page changes (`make clean` runs all of it again); a page whose code
# raises fails the build.
nb_execution_mode = "cache"
nb_execution_cache_path = str(Path(__file__).parent / "_build" / ".jupyter_cache")
nb_execution_raise_on_error = True
nb_execution_show_tb = True
nb_execution_timeout = 900
nb_ipywidgets_js = {}  # no page has widgets, and these would come from a content-delivery network

# Docstrings: `single backquotes` hold code and equations.
default_role = "code"
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True  # as they are written, and not as Python prints them
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_attr_annotations = False  # shapes and units are in the sentences
# A list of fields like the arguments: as objects of their own, attributes would be described twice
# where autodoc lists them too, and names that share a line, "q, v: …", would be one odd name.
napoleon_custom_sections = [("Attributes", "params_style")]

# `make docs` puts this one file, all of MathJax, beside the pages.
mathjax_path = "mathjax/tex-svg-full.js"


def as_restructured_text(app, what, name, obj, options, lines):
    """Docstrings are written to be read in an editor: their Markdown tables become tables, indented
    lines after a blank one, which hold equations or code, stay as they are.
    """
    out, inside = [], ""
    for before, line in zip(["", *lines], lines, strict=False):
        if line.startswith("|"):
            if inside != "table":
                out += [".. list-table::", "   :header-rows: 1", ""]
            cells = [
                cell.strip().replace("`", "") if i == 0 else cell.strip()
                for i, cell in enumerate(line.strip("|").split("|"))
            ]
            if set("".join(cells)) - set("-: "):
                out += [f"   {'* -' if i == 0 else '  -'} {cell}" for i, cell in enumerate(cells)]
            inside = "table"
            continue
        if line and not line[0].isspace():
            inside = "section" if line.endswith(":") and line.count(" ") <= 1 else ""
        elif line and not before and not inside:
            out += ["::", ""]
            inside = "display"
        out.append(line)
    lines[:] = out


COLON = "\uf03a"
"""Stands for a colon while napoleon reads a docstring; a character of the private use area."""


def hide_colon(app, what, name, obj, options, lines):
    """Napoleon would take the words before a colon in an attribute's docstring for its type."""
    if what in ("attribute", "data", "property") and lines:
        lines[0] = lines[0].replace(":", COLON)


def show_colon(app, what, name, obj, options, lines):
    """Undo `hide_colon`."""
    lines[:] = [line.replace(COLON, ":") for line in lines]


def setup(app):
    # napoleon, which reads the sections, has priority 500
    app.connect("autodoc-process-docstring", as_restructured_text, priority=100)
    app.connect("autodoc-process-docstring", hide_colon, priority=110)
    app.connect("autodoc-process-docstring", show_colon, priority=900)
