"""How an object is shown: by a function of `zwang.output.present`, which stands above the objects
that it shows and is therefore found by name.
"""

from __future__ import annotations

import importlib


def present(kind: str, shown: object, *details, **options):
    """A page of something.

    Args:
        kind: a function of `zwang.output.present`.
        shown: a run, a batch, a diagnosis or a motion.
        details, options: further arguments of the function.
    """
    return getattr(importlib.import_module("zwang.output.present"), kind)(
        shown, *details, **options
    )
