"""Models of the gallery that are mechanism files in this folder. Any other mechanism file becomes
an `Example` in the same way.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from zwang.gallery.example import Example
from zwang.mechanism import Mechanism, read
from zwang.mechanism.drawing import motion_picture, start_picture
from zwang.mechanism.reactions import reactions
from zwang.mechanism.scene import scene
from zwang.objects.provenance import remember, source_of

FOLDER = Path(__file__).parent


def build(name: str, **settings) -> Example:
    """An assembled model of the gallery."""
    return assembled(read(FOLDER / f"{name}.toml", **settings))


def assembled(mechanism: Mechanism) -> Example:
    """An assembled mechanism with its initial state, its settings and its picture.

    Raises:
        AssemblyError: if it cannot be assembled.
    """
    start, run, model = mechanism.start_state, mechanism.run, mechanism.model
    remember(model, source_of(mechanism))
    return Example(
        model,
        np.asarray(start.q),
        np.asarray(start.v),
        run.duration,
        mechanism.description,
        rtol=run.rtol,
        figures={"At the start": start_picture(mechanism), "Motion": motion_picture(mechanism)},
        simulate={"samples": run.samples},
        scene=scene(mechanism),
        reactions=lambda run: reactions(mechanism, run),
        mechanism=mechanism,
    )
