"""Shapes of the links of a URDF; those that cannot be drawn are listed, not refused."""

from __future__ import annotations

import contextlib
from pathlib import Path
from xml.etree.ElementTree import Element

from zwang.bodies.shape import Shape
from zwang.errors import ModelError
from zwang.files import is_file
from zwang.robots.description import Description
from zwang.robots.text import (
    COLORS,
    MESHES,
    PICTURES,
    color_of,
    found,
    numbers,
    origin,
    shape,
)

SIZES: dict[str, tuple[tuple[str, str], ...]] = {
    "box": (("size", ""),),
    "sphere": (("radius", ""),),
    "cylinder": (("radius", ""), ("length", "")),
    "capsule": (("radius", ""), ("length", "")),
    "mesh": (("scale", "1 1 1"),),
}
"""Numbers of a shape, with default values."""
FILE = "filename"


def add_pictures(root: Element, made: Description, path: Path) -> None:
    """Add the shapes of all links, or those for contacts if a link has no others."""
    materials = {m.get("name"): m for m in root.findall("material")}
    odd, colorless, lost = [], [], []
    for link in root.findall("link"):
        name = link.get("name", "")
        for visual in [*link.findall("visual")] or [*link.findall("collision")]:
            color, given = None, _color(visual, materials)
            if given is not None and (color := color_of(given)) is None:
                colorless.append(name)
            try:
                drawn = _shape(visual, color, path)
            except ModelError:
                odd.append(name)
                continue
            made.shapes.setdefault(name, []).append(drawn)
            if drawn.file is not None and not is_file(drawn.file):
                lost.append(f"{drawn.file} ({name})")
        for collision in link.findall("collision"):
            # unknown shapes stay listed among the contacts
            with contextlib.suppress(ModelError):
                made.touching.setdefault(name, []).append(_shape(collision, None, path))
    made.leave_out(PICTURES, odd)
    made.leave_out(MESHES, lost)
    made.leave_out(COLORS, colorless)


def _shape(visual: Element, color, path: Path) -> Shape:
    geometry = visual.find("geometry")
    what = geometry[0] if geometry is not None and len(geometry) == 1 else None
    if what is None or what.tag not in SIZES or (what.tag == "mesh" and not what.get(FILE)):
        raise ModelError("no geometry that is known.")
    words = " ".join(what.get(attribute, default) for attribute, default in SIZES[what.tag])
    size = numbers(words, len(words.split()), what.tag)
    file = found(what.get(FILE, ""), path) if what.tag == "mesh" else None
    return shape(what.tag, size, origin(visual, "origin"), color, file)


def _color(visual: Element, materials: dict[str | None, Element]) -> str | None:
    """The text of a picture's color, its own or that of a material by its name."""
    own = visual.find("material")
    if own is None:
        return None
    named = materials.get(own.get("name"))
    color = own.find("color")
    color = named.find("color") if color is None and named is not None else color
    return None if color is None else color.get("rgba")
