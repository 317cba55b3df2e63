"""Limits of the copies that an MJCF file requests, checked before they are made.

MuJoCo makes all of them first, and would fail for lack of memory only after a minute.
"""

from __future__ import annotations

import math
from xml.etree.ElementTree import Element

from zwang.errors import ModelError
from zwang.files.limits import limit

COUNTED = ("grid", "box", "cylinder", "ellipsoid", "square", "disc", "circle")
"""Kinds of deformable bodies (flexcomp) whose points are generated in the number given by `count`.
"""


def refuse_many_copies(element: Element, shown: str, copies: int = 1) -> None:
    """Refuse an element below which copies make more bodies or points than a robot may have.

    Args:
        element: the root of an MJCF file.
        shown: the file, for messages.
        copies: number of copies of the element itself.

    Raises:
        ModelError: one sentence that names the limit.
    """
    for child in element:
        times = copies
        if child.tag == "replicate":
            # MuJoCo refuses invalid numbers
            times *= (_whole_numbers(child.get("count", "1")) or [1])[0]
            if times > limit("bodies"):
                raise ModelError(
                    f"{shown}: replicate makes {times} copies, expected at most "
                    f"{limit('bodies')} bodies."
                )
        if child.tag == "flexcomp":
            _refuse_many_points(child, times, shown)
        refuse_many_copies(child, shown, times)


def _refuse_many_points(flexcomp: Element, copies: int, shown: str) -> None:
    """Refuse a deformable body with too many points; each becomes a body unless it is pinned."""
    if flexcomp.get("type", "grid").strip() not in COUNTED:
        return
    points = copies * math.prod(_whole_numbers(flexcomp.get("count", "10 10 10")) or [1])
    free = flexcomp.get("rigid", "false").strip() != "true" and flexcomp.find("pin") is None
    bodies = free and flexcomp.get("dof", "full").strip() == "full"
    # Interior points of a box, a cylinder and an ellipsoid are counted, but not made.
    bodies = bodies and flexcomp.get("type", "grid").strip() in ("grid", "square", "circle")
    most, what = (limit("bodies"), "bodies") if bodies else (limit("flex_points"), "points")
    if points > most:
        raise ModelError(
            f"{shown}: flexcomp makes {points} {what}, expected at most {most}: take a smaller "
            "count."
        )


def _whole_numbers(text: str) -> list[int] | None:
    """Parse integers; None for any other text."""
    words = text.split()
    if not all(x.isascii() and x.isdigit() and len(x) < 20 for x in words):
        return None
    return [int(x) for x in words]
