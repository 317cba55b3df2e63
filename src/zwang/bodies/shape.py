"""Shapes fixed to a body, for pictures and the viewer; they have no mass and no contacts."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from zwang.errors import ModelError

SIZES: dict[str, tuple[str, ...]] = {
    "box": ("length along x", "length along y", "length along z"),
    "sphere": ("radius",),
    "ellipsoid": ("half axis along x", "half axis along y", "half axis along z"),
    "cylinder": ("radius", "length along z"),
    "capsule": ("radius", "length along z between the centers of its caps"),
    "mesh": ("scale along x", "scale along y", "scale along z"),
}
"""The kinds of shapes, and the meaning of the numbers of `Shape.size` for each [m; scales without
unit]."""

MESHES = (".stl", ".obj")
"""Formats of meshes that the viewer reads."""


@dataclasses.dataclass(frozen=True)
class Shape:
    """A shape fixed to a body, centered at its own origin with its axis along its own z.

    Attributes:
        kind: one of `SIZES`.
        size: its numbers, in the order of `SIZES` [m]; a mesh has scales, (1, 1, 1) by default.
        position: of its origin in the body's axes [m], shape (3,).
        orientation: of its axes in the body's, a unit quaternion (w, x, y, z).
        color: red, green, blue and opacity between 0 and 1; by default the viewer's own.
        file: of a mesh: its path (.stl or .obj).

    Raises:
        ModelError: for an invalid kind, size, orientation, color or file.
    """

    kind: str
    size: Sequence[float] = ()
    position: Sequence[float] = (0.0, 0.0, 0.0)
    orientation: Sequence[float] = (1.0, 0.0, 0.0, 0.0)
    color: Sequence[float] | None = None
    file: str | Path | None = None

    def __post_init__(self):
        if self.kind not in SIZES:
            raise ModelError(f"there is no shape {self.kind!r}; there are: {', '.join(SIZES)}.")
        if (self.kind == "mesh") != (self.file is not None):
            wants = "needs a file" if self.kind == "mesh" else "takes no file"
            raise ModelError(f"a shape of kind {self.kind!r} {wants}; got file={self.file!r}.")
        if self.kind == "mesh" and not len(self.size):
            object.__setattr__(self, "size", (1.0, 1.0, 1.0))
        expected = SIZES[self.kind]
        size = np.asarray(self.size, float)
        if (
            size.shape != (len(expected),)
            or not np.all(np.isfinite(size))
            or (self.kind != "mesh" and np.any(size <= 0))
        ):
            raise ModelError(
                f"a {self.kind} has size {self.size!r}, expected positive numbers: "
                f"{', '.join(expected)}."
            )
        for name, length in (("position", 3), ("orientation", 4)):
            if np.shape(getattr(self, name)) != (length,) or not np.all(
                np.isfinite(np.asarray(getattr(self, name), float))
            ):
                raise ModelError(
                    f"a {self.kind} has {name} {getattr(self, name)!r}, expected {length} numbers."
                )
        if abs(np.linalg.norm(np.asarray(self.orientation, float)) - 1.0) > UNIT_ATTITUDE_ERROR:
            raise ModelError(
                f"a {self.kind} has orientation {self.orientation!r}, expected a unit "
                "quaternion (w, x, y, z)."
            )
        color = self.color
        if color is not None and (
            len(color) != 4 or not all(0.0 <= float(x) <= 1.0 for x in color)
        ):
            raise ModelError(
                f"a {self.kind} has color {color!r}, expected red, green, blue and opacity "
                "between 0 and 1."
            )


UNIT_ATTITUDE_ERROR = 1e-6
"""Largest deviation of a quaternion's length from 1; it is invisible in a drawing, and files round
to six digits."""
