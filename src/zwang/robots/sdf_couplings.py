"""Joints of an SDF file that follow others: mimics, and gearboxes, which couple two hinges."""

from __future__ import annotations

from collections.abc import Mapping
from xml.etree.ElementTree import Element

import numpy as np

from zwang.errors import ModelError
from zwang.mechanism.loop_rows import PARALLEL
from zwang.robots.description import Coupling, Description, refuse_circles
from zwang.robots.sdf_joints import GEARBOX, TAGS, Joint


def add_couplings(
    made: Description, joints: Mapping[str, Joint], carriers: Mapping[str, str], shown: str
) -> None:
    """Add mimics and gearboxes of joints that carry links.

    Args:
        made: the description so far.
        joints: all joints by name.
        carriers: the joint that carries each link.
        shown: the file, for messages.

    Raises:
        ModelError: for a joint that does not exist, or joints that mimic each other in a circle.
    """
    dropped, loose, leaders = [], [], {}
    carrying = {*carriers.values()}
    hinges = [joints[x] for x in carriers.values() if joints[x].kind == "revolute"]
    for joint in joints.values():
        if joint.type == GEARBOX:
            if (coupling := _gearbox(joint, hinges)) is None:
                loose.append(joint.name)
            else:
                made.couplings[joint.name] = coupling
            continue
        for i, tag in enumerate(TAGS):
            mimic = joint.element.find(f"{tag}/mimic")
            if mimic is None:
                continue
            leader = _leader(joint, mimic, joints, carrying)
            if joint.name not in carrying or i >= len(joint.coordinates) or leader is None:
                dropped.append(joint.name)
                continue
            ratio, offset, reference = (
                joint.number(f"{tag}/mimic/{word}", default)
                for word, default in (("multiplier", 1.0), ("offset", 0.0), ("reference", 0.0))
            )
            name = joint.coordinates[i]
            leaders[name] = leader
            made.couplings[f"mimic {name}"] = Coupling(
                {name: 1.0}, {leader: 1.0}, (offset - ratio * reference, ratio)
            )
    refuse_circles(leaders, shown)
    made.leave_out("mimics of or by joints that close loops or have no such axis", dropped)
    made.leave_out("gearboxes whose wheels are not on hinges of one reference body", loose)


def _leader(
    joint: Joint, mimic: Element, joints: Mapping[str, Joint], carrying: set[str]
) -> str | None:
    """The coordinate that a mimic follows; None if it has none in the tree."""
    given, axis = mimic.get("joint") or "", mimic.get("axis") or TAGS[0]
    found = joints.get(joint.scope.prefix + given)
    if found is None:
        raise ModelError(f"{joint.shown}: mimics {given!r}, which is no joint of the model.")
    if axis not in TAGS:
        raise ModelError(f"{joint.shown}: mimic: axis is {axis!r}, expected axis or axis2.")
    at = TAGS.index(axis)
    in_tree = found.name in carrying and at < len(found.coordinates)
    return found.coordinates[at] if in_tree else None


def _gearbox(gear: Joint, hinges: list[Joint]) -> Coupling | None:
    """θ₂ = −ratio θ₁, for the angles of parent and child on the reference body.

    None unless both turn on it by hinges that carry one of the two.
    """
    ratio = gear.number("gearbox_ratio", 1.0)
    given = (gear.element.findtext("gearbox_reference_body") or "").strip()
    body = gear.scope.link(given, f"joint {gear.name!r}: gearbox_reference_body")
    first, second = (
        _wheel(link, body, axis, hinges)
        for link, axis in zip((gear.parent, gear.child), gear.axes, strict=True)
    )
    if first is None or second is None or ratio == 0:
        return None
    return Coupling({second[0]: second[1]}, {first[0]: first[1]}, (0.0, -ratio))


def _wheel(
    link: str | None, body: str | None, axis: np.ndarray, hinges: list[Joint]
) -> tuple[str, float] | None:
    """The hinge of a wheel on a body, and the sign of its angle about an axis."""
    for hinge in hinges:
        if {hinge.parent, hinge.child} != {link, body}:
            continue
        if np.linalg.norm(np.cross(hinge.axes[0], axis)) > PARALLEL:
            return None
        sense = 1.0 if hinge.child == link else -1.0
        return hinge.name, sense if hinge.axes[0] @ axis > 0 else -sense
    return None
