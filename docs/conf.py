"""Sphinx: pages in MyST Markdown, their code executed at every build, nothing loaded from the network by a reader."""

from importlib.metadata import version as installed_version
from pathlib import Path

project = "zwang"
author = "The zwang developers"
copyright = "The zwang developers"  # Sphinx reads this name
version = release = installed_version("zwang")

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.mathjax", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
exclude_patterns = ["_build", "jupyter_execute"]
html_theme = "furo"
html_title = f"zwang {release}"
html_static_path = ["_static"]
nitpicky = False

# Pages
myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

# Code in pages runs when a page changes (`make clean` runs all of it again); a page whose code raises fails the build.
nb_execution_mode = "cache"
nb_execution_cache_path = str(Path(__file__).parent / "_build" / ".jupyter_cache")
nb_execution_raise_on_error = True
nb_execution_show_tb = True
nb_execution_timeout = 300
nb_ipywidgets_js = {}  # no page has widgets, and these would come from a content-delivery network

# Docstrings: `single backquotes` hold code and equations.
default_role = "code"
autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_google_docstring = True
napoleon_numpy_docstring = False

# `make docs` puts this one file, all of MathJax, beside the pages.
mathjax_path = "mathjax/tex-svg-full.js"
