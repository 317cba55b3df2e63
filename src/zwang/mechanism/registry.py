"""All kinds of joints, found in the folder `joints`.

The schema, the equations, pictures, the viewer, readers of robot files, the documentation and the
tests take them from here.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable

from zwang.mechanism import joints
from zwang.mechanism.joint_kind import JointKind, Option
from zwang.mechanism.relative_pose import ANGLE, DISTANCE, SLIDE, PoseCoordinate

ORDER = (
    "revolute",
    "prismatic",
    "cylindrical",
    "universal",
    "spherical",
    "planar",
    "fixed",
    "slot",
    "rod",
    "screw",
    "rolling",
    "knife",
    "path",
    "gear",
    "belt",
    "rack",
    "cam",
)
"""Kinds whose rows come first in a model, in this order; all others follow by name. Another order
changes results in their last digits.
"""


def _discovered() -> dict[str, JointKind]:
    """The `JOINT` of every file in the folder, in the order of their rows."""
    # from the folder itself, so that no list has to be kept
    modules = [
        importlib.import_module(f"{joints.__name__}.{found.name}")
        for found in pkgutil.iter_modules(joints.__path__)
    ]
    kinds = {module.JOINT.name: module.JOINT for module in modules}
    return {name: kinds[name] for name in (*ORDER, *sorted(kinds.keys() - {*ORDER}))}


JOINT_KINDS: dict[str, JointKind] = _discovered()
"""All kinds of joints, by name."""


def _options(kinds: Iterable[JointKind]) -> dict[str, dict[str, Option]]:
    """Every option by name and kind of joint.

    A name has one type in all kinds, because it is one field of `Joint`.
    """
    found: dict[str, dict[str, Option]] = {}
    for kind in kinds:
        for option in kind.options:
            same = found.setdefault(option.name, {})
            if any(option.kind != other.kind for other in same.values()):
                raise TypeError(
                    f"option {option.name!r} of a {kind.name} joint is a {option.kind}, but not of "
                    f"a {' or '.join(same)} joint; give it another name."
                )
            same[kind.name] = option
    return found


OPTIONS = _options(JOINT_KINDS.values())
"""All options, by name and kind of joint."""


def _coordinates(kinds: Iterable[JointKind]) -> dict[str, PoseCoordinate]:
    found = {coordinate.name: coordinate for coordinate in (ANGLE, SLIDE, DISTANCE)}
    for kind in kinds:
        for equations in (kind.plane, kind.space):
            for freedom in equations.freedoms if equations is not None else ():
                own = freedom.coordinate
                if found.setdefault(own.name, own) != own:
                    raise TypeError(f"two coordinates of joints are called {own.name!r}.")
    return found


COORDINATES = _coordinates(JOINT_KINDS.values())
"""Coordinates of two points, by name: `angle`, `slide`, `distance`, and those of joints."""


def by_format(format: str) -> dict[str, str]:
    """Kinds of joints by their names in another file format, such as "sdf"."""
    return {
        other: kind.name for kind in JOINT_KINDS.values() for other in kind.formats.get(format, ())
    }


def table() -> str:
    """All kinds of joints as a table for the documentation."""
    lines = [
        "| joint | what it does | rows in the plane | rows in space | options | own coordinate |",
        "|---|---|---|---|---|---|",
    ]
    for kind in JOINT_KINDS.values():
        rows = ["" if e is None else str(e.removes) for e in (kind.plane, kind.space)]
        options = ", ".join(
            f"`{option.name}`{f' [{option.unit}]' if option.unit else ''}"
            for option in kind.options
        )
        own = f"`{kind.coordinate.name}`" if kind.coordinate else ""
        lines.append(f"| {' | '.join((f'`{kind.name}`', kind.summary, *rows, options, own))} |")
    return "\n".join(lines) + "\n"
