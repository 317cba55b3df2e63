"""XML and numbers of robot files, read without entities or external content."""

from __future__ import annotations

from pathlib import Path
from xml.etree.ElementTree import Element

import numpy as np
from scipy.spatial.transform import Rotation

from zwang.bodies.shape import Shape
from zwang.errors import ModelError
from zwang.files import is_file, read_text
from zwang.files.limits import limit
from zwang.files.reading import shown_path
from zwang.files.xml import parsed_xml

PICTURES, COLORS = "pictures that cannot be drawn", "colors that are none"
MESHES = "meshes that are not found, which are for pictures only"
"""Words under which omitted pictures are listed."""


def parsed(path: Path) -> tuple[str, Element]:
    """Text and root element of a file.

    Raises:
        ModelError: for a file that cannot be read, is not XML, or declares a document type, in
            which entities could hide.
    """
    text = read_text(path, "xml_size")
    return text, parsed_xml(text, shown_path(path))


def numbers(text: str | None, count: int, where: str, default=None) -> np.ndarray:
    """Parse a given count of numbers.

    Raises:
        ModelError: for any other text, naming where.
    """
    if text is None:
        if default is None:
            raise ModelError(f"{where}: {count} numbers are missing.")
        return np.asarray(default, float)
    try:
        values = np.array([float(x) for x in text.split()])
    except ValueError:
        values = np.zeros(0)
    if values.shape != (count,) or not np.all(np.abs(values) <= 10.0 ** limit("magnitude")):
        raise ModelError(
            f"{where}: {text.strip()!r:.60}, expected {count} number{'s' * (count > 1)} up to "
            f"1e{limit('magnitude')} in size."
        )
    return values


def placed(place, angles) -> np.ndarray:
    """The rigid motion (4, 4) of a position [m] and roll, pitch, yaw [rad] about fixed axes."""
    return _motion(place, Rotation.from_euler("xyz", angles))


def of_quaternion(place, quaternion) -> np.ndarray:
    """The rigid motion (4, 4) of a position [m] and a quaternion (w, x, y, z)."""
    return _motion(place, Rotation.from_quat(np.roll(quaternion, -1)))


def _motion(place, turned: Rotation) -> np.ndarray:
    made = np.eye(4)
    made[:3, :3], made[:3, 3] = turned.as_matrix(), place
    return made


def axes_about(axis: np.ndarray) -> np.ndarray:
    """Axes in columns whose z is a given unit vector, by the rotation of least angle."""
    x, y, z = axis
    # halfway between z and the axis; 1 + z would lose digits for nearly opposite directions
    half = np.array([1.0 + z if z > 0 else (x * x + y * y) / (1.0 - z), -y, x, 0.0])
    half = half / np.max(np.abs(half)) if np.any(half) else np.array([0.0, 1.0, 0.0, 0.0])
    turned = Rotation.from_quat(np.roll(half, -1)).as_matrix()
    return np.column_stack([*turned.T[:2], axis])


def origin(element: Element, where: str) -> np.ndarray:
    """The frame (4, 4) of a URDF's element in the enclosing one, from its `origin`."""
    child = element.find("origin")
    given = {} if child is None else child.attrib
    place = numbers(given.get("xyz"), 3, where, (0, 0, 0))
    if "quat_xyzw" not in given:
        return placed(place, numbers(given.get("rpy"), 3, where, (0, 0, 0)))
    if "rpy" in given:
        raise ModelError(f"{where} has rpy and quat_xyzw, expected one of them.")
    turned = numbers(given["quat_xyzw"], 4, where)
    if not np.any(turned):
        raise ModelError(f"{where}: quat_xyzw is zero, expected a quaternion.")
    return of_quaternion(place, np.roll(turned, 1))


def quaternion(frame: np.ndarray) -> tuple[float, ...]:
    """(w, x, y, z) of a rigid motion."""
    return tuple(
        float(x) for x in np.roll(Rotation.from_matrix(np.array(frame)[:3, :3]).as_quat(), 1)
    )


def shape(kind: str, size, frame: np.ndarray, color=None, file: str | None = None) -> Shape:
    """A geometry of a body."""
    plain = lambda numbers: tuple(float(x) for x in numbers)
    return Shape(
        kind,
        plain(size),
        plain(frame[:3, 3]),
        quaternion(frame),
        None if color is None else plain(color),
        file,
    )


def color_of(text: str | np.ndarray) -> np.ndarray | None:
    """Red, green, blue and opacity between 0 and 1, or None for anything else."""
    try:
        values = numbers(text, 4, "color") if isinstance(text, str) else np.asarray(text, float)
    except ModelError:
        return None
    return values if np.all((values >= 0) & (values <= 1)) else None


def found(address: str, beside: Path) -> str:
    """The path of a file that a robot file names.

    The name may begin with `package://`, `model://` or `file://`, or be relative to the robot file.
    It is returned unchanged if there is no such file.
    """
    scheme, _, rest = address.rpartition("://")
    if scheme in ("package", "model"):
        for folder in beside.resolve().parents:
            for name in (rest, rest.partition("/")[2]):
                if name and is_file(folder / name):
                    return str(folder / name)
        return address
    here = Path(rest) if Path(rest).is_absolute() else beside.parent / rest
    return str(here) if is_file(here) else address
