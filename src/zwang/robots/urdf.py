"""What MuJoCo does not tell of a URDF: pictures, limits of speed, and elements of other
programs.
"""

from __future__ import annotations

from pathlib import Path
from xml.etree.ElementTree import Element

import numpy as np

from zwang.bodies.shape import Shape
from zwang.errors import ModelError
from zwang.robots.description import Description
from zwang.robots.text import found, numbers, placed, shape

KNOWN = ("link", "joint", "material", "mujoco")


def add_urdf(root: Element, made: Description, path: Path) -> None:
    """Add a URDF's pictures and name what is left out of it."""
    colors = {m.get("name"): m.find("color") for m in root.findall("material")}
    for link in root.findall("link"):
        name = link.get("name", "")
        # shapes for collisions are drawn where a link has no others
        for visual in [*link.findall("visual")] or [*link.findall("collision")]:
            if (drawn := _shape(visual, f"{path}: link {name!r}", colors, path)) is not None:
                made.shapes.setdefault(name, []).append(drawn)
    joints = root.findall("joint")
    made.leave_out(
        "contacts of bodies",
        [x.get("name") for x in root.findall("link") if x.find("collision") is not None],
    )
    made.leave_out(
        "limits of speed",
        [
            j.get("name")
            for j in joints
            for x in j.findall("limit")
            if np.any(numbers(x.get("velocity"), 1, f"{path}: limit", (0,)))
        ],
    )
    _tell_mimics(joints, made, path)
    made.leave_out(
        "safety controllers",
        [j.get("name") for j in joints if j.find("safety_controller") is not None],
    )
    made.leave_out(
        "transmissions (take Robot.actuation)",
        [x.get("name") for x in root.findall("transmission")],
    )
    made.leave_out(
        "elements for other programs",
        [x.tag for x in root if x.tag not in (*KNOWN, "transmission")],
    )


def _tell_mimics(joints: list[Element], made: Description, path: Path) -> None:
    """Name the joints that are to follow another and do not: MuJoCo drops these."""
    names, following = (
        {j.get("name") for j in joints},
        {n for c in made.couplings.values() for n in c.first},
    )
    for joint in joints:
        # MuJoCo ignores such a joint without a word
        mimic = joint.find("mimic")
        if mimic is not None and mimic.get("joint") not in names:
            raise ModelError(
                f"{path}: joint {joint.get('name')!r} mimics {mimic.get('joint')!r}, which is "
                "no joint of the file."
            )
    dropped = [
        j.get("name")
        for j in joints
        if j.find("mimic") is not None and j.get("name") not in following
    ]
    made.leave_out("mimics of or by joints that neither turn nor slide", dropped)


def _shape(visual: Element, where: str, colors: dict, path: Path) -> Shape | None:
    origin, geometry = visual.find("origin"), visual.find("geometry")
    if geometry is None or not len(geometry):
        raise ModelError(f"{where}: a picture or collision has no geometry.")
    given = {} if origin is None else origin.attrib
    frame = placed(
        numbers(given.get("xyz"), 3, where, (0, 0, 0)),
        numbers(given.get("rpy"), 3, where, (0, 0, 0)),
    )
    material, what = visual.find("material"), geometry[0]
    tint = None if material is None else material.find("color")
    tint = colors.get(material.get("name")) if tint is None and material is not None else tint
    color = None if tint is None else numbers(tint.get("rgba"), 4, where)
    if what.tag == "mesh":
        scale = numbers(what.get("scale"), 3, where, (1, 1, 1))
        return shape("mesh", scale, frame, color, found(what.get("filename", ""), path))
    sizes = {
        "box": ("size", 3),
        "sphere": ("radius", 1),
        "cylinder": ("radius length", 2),
        "capsule": ("radius length", 2),
    }
    if what.tag not in sizes:
        return None
    names, count = sizes[what.tag]
    return shape(
        what.tag,
        numbers(" ".join(what.get(n, "") for n in names.split()), count, f"{where}: {what.tag}"),
        frame,
        color,
    )
