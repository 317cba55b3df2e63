"""Shapes of the links of an SDF file; those that cannot be drawn are listed, not refused."""

from __future__ import annotations

import contextlib
from pathlib import Path
from xml.etree.ElementTree import Element

import numpy as np

from zwang.bodies.screws.twist import inverse
from zwang.bodies.shape import Shape
from zwang.errors import ModelError
from zwang.files import is_file
from zwang.robots.description import Description
from zwang.robots.sdf_scopes import Scope
from zwang.robots.sdf_specification import SIZES
from zwang.robots.text import COLORS, MESHES, PICTURES, color_of, found, numbers, shape


def add_pictures(scopes: list[Scope], made: Description) -> None:
    """Add the shapes of all links."""
    odd, colorless, lost = [], [], []
    for scope in scopes:
        for name, link in scope.parts["link"].items():
            back, full = inverse(scope.local(name)), scope.prefix + name
            for visual in link.findall("visual"):
                given = visual.findtext("material/ambient") or visual.findtext("material/diffuse")
                color = None if given is None else color_of(given)
                if given is not None and color is None:
                    colorless.append(full)
                # An invalid frame is not an error of shapes and is raised.
                frame = back @ scope.pose(visual, scope.local(name), f"link {name!r}: visual")
                try:
                    drawn = _shape(visual, frame, color, scope.source.path)
                except ModelError:
                    odd.append(full)
                    continue
                if drawn is None:
                    continue
                made.shapes.setdefault(full, []).append(drawn)
                if drawn.file is not None and not is_file(drawn.file):
                    lost.append(f"{drawn.file} ({full})")
            for collision in link.findall("collision"):
                with contextlib.suppress(ModelError):
                    frame = back @ scope.pose(
                        collision, scope.local(name), f"link {name!r}: collision"
                    )
                    shape = _shape(collision, frame, None, scope.source.path)
                    if shape is not None:
                        made.touching.setdefault(full, []).append(shape)
    made.leave_out(PICTURES, odd)
    made.leave_out(MESHES, lost)
    made.leave_out(COLORS, colorless)


def _shape(visual: Element, frame: np.ndarray, color, path: Path) -> Shape | None:
    geometry = visual.find("geometry")
    what = geometry[0] if geometry is not None and len(geometry) else None
    if what is None or what.tag == "empty":
        return None
    if what.tag == "mesh":
        uri = (what.findtext("uri") or "").strip()
        if not uri:
            raise ModelError("a mesh without a file.")
        scale = numbers(what.findtext("scale"), 3, "scale", (1, 1, 1))
        return shape("mesh", scale, frame, color, found(uri, path))
    if what.tag not in SIZES:
        raise ModelError("no geometry that is known.")
    words = " ".join(what.findtext(name) or "" for name in SIZES[what.tag])
    return shape(what.tag, numbers(words, len(words.split()), what.tag), frame, color)
