"""Display of an object by a function of `zwang.output.present`.

That package is in a layer above the objects that it shows, so its function is found by name.
"""

from __future__ import annotations

import importlib


def present(kind: str, shown: object, *details, **options):
    """Make a page of an object.

    Args:
        kind: a function of `zwang.output.present`.
        shown: a run, a batch, a diagnosis or a motion.
        details, options: further arguments of the function.
    """
    return getattr(importlib.import_module("zwang.output.present"), kind)(
        shown, *details, **options
    )
