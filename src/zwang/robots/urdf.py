"""URDF: a tree of links.

Mass, center and inertia are used unchanged, zero included: whether every motion has inertia is
checked for the whole robot, before it is run.
"""

from __future__ import annotations

from pathlib import Path
from xml.etree.ElementTree import Element

import numpy as np

from zwang.bodies import Branch, ball, prismatic
from zwang.bodies.inertia import NO_BODY, NOTHING, impossible
from zwang.errors import ModelError
from zwang.files.limits import limit
from zwang.files.reading import shown_path
from zwang.mechanism.registry import JOINT_KINDS, by_format
from zwang.robots.description import Coupling, Description, refuse_circles, unique
from zwang.robots.text import axes_about, numbers, origin
from zwang.robots.urdf_pictures import add_pictures
from zwang.robots.urdf_specification import judge

KINDS = by_format("urdf")
"""Kinds of joints by their names in URDF."""
FLOATING = "floating"
"""URDF's joint without constraints: three slides and a ball joint."""
GRAVITY = (0.0, 0.0, -9.81)
"""Default gravity [m/s²]; URDF files have none."""
INERTIA = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")


def read(path: Path, root: Element, *, floating: bool | None = None) -> Description:
    """Read the robot of a URDF file.

    Args:
        path: the file.
        root: its element `robot`.
        floating: whether links without a joint are free; they are held by default.

    Raises:
        ModelError: one sentence for an invalid file.
    """
    return _Reading(path, root, floating).description


class _Reading:
    def __init__(self, path: Path, root: Element, floating: bool | None):
        self.path, self.shown, self.floating = path, shown_path(path), floating
        self.links, self.joints = self._by_name(root, "link"), self._by_name(root, "joint")
        if not self.links:
            raise ModelError(f"{self.shown}: the robot has no links.")
        self.ends = {name: self._ends(name, x) for name, x in self.joints.items()}
        self.carriers = self._carriers()
        self.description = Description(root.get("name") or path.stem, [], np.array(GRAVITY))
        self.frames: dict[str, np.ndarray] = {}
        self.several: list[str] = []
        self.strange: list[str] = []
        # in the order of the branches, parents before children
        for link in self._ordered():
            self.description.branches.append(self._branch(link))
        self._couple()
        judge(root, self.description, self.shown)
        add_pictures(root, self.description, path)
        self._tell()

    def _by_name(self, root: Element, tag: str) -> dict[str, Element]:
        """Links or joints by name; a repeated name is refused."""
        made: dict[str, Element] = {}
        for element in root.findall(tag):
            name = element.get("name")
            if not name:
                raise ModelError(f"{self.shown}: a {tag} has no name.")
            if name in made:
                raise ModelError(
                    f"{self.shown}: two {tag}s are named {name!r}; give each its own name."
                )
            made[name] = element
        if len(made) > limit("bodies"):
            raise ModelError(
                f"{self.shown} has {len(made)} {tag}s, expected at most {limit('bodies')}."
            )
        return made

    # --- the tree

    def _ends(self, name: str, joint: Element) -> tuple[str, str]:
        """Names of parent and child."""
        found = []
        for side in ("parent", "child"):
            given = joint.find(side)
            link = None if given is None else given.get("link")
            if link is None:
                raise ModelError(
                    f"{self.shown}: joint {name!r} has no {side}; give <{side} link=…/>."
                )
            if link not in self.links:
                raise ModelError(f"{self.shown}: joint {name!r}: there is no {side} link {link!r}.")
            found.append(link)
        return found[0], found[1]

    def _carriers(self) -> dict[str, str]:
        """The joint that carries each link."""
        carriers: dict[str, str] = {}
        for name, (_, child) in self.ends.items():
            if child in carriers:
                raise ModelError(
                    f"{self.shown}: link {child!r} is carried by two joints, {carriers[child]!r} "
                    f"and {name!r}, but a URDF describes a tree: give each link one parent and "
                    "close the loop by robot.driven(constraints=[zw.Holonomic(...)]), or write it "
                    "as MJCF with <connect>."
                )
            carriers[child] = name
        return carriers

    def _ordered(self) -> list[str]:
        """Links, each followed by all that it carries, in the order of the joints."""
        carried: dict[str, list[str]] = {}
        for parent, child in self.ends.values():
            carried.setdefault(parent, []).append(child)
        made: dict[str, None] = {}
        waiting = [link for link in self.links if link not in self.carriers][::-1]
        while waiting:
            link = waiting.pop()
            made[link] = None
            waiting += carried.get(link, [])[::-1]
        if len(made) < len(self.links):
            left = next(name for name in self.links if name not in made)
            raise ModelError(
                f"{self.shown}: link {left!r} stands on itself, as parents form a circle; a URDF "
                "describes a tree."
            )
        return [*made]

    # --- bodies and joints

    def _branch(self, link: str) -> Branch:
        carrier = self.carriers.get(link)
        if carrier is None:
            parent, frame = None, np.eye(4)
            twists = _free(self._base(), frame) if self.floating else {}
        else:
            parent = self.ends[carrier][0]
            frame = self.frames[parent] @ self._origin(self.joints[carrier], f"joint {carrier!r}")
            twists = self._twists(carrier, frame)
        self.frames[link] = frame
        mass, center, inertia = self._inertial(link, frame)
        return Branch(link, parent, twists, mass, center, inertia, frame)

    def _base(self) -> str:
        """The name of a free joint that the file does not have."""
        taken = [*self.joints, *(b.name for b in self.description.branches if b.joints)]
        made = [name for b in self.description.branches for name in b.joints]
        return unique("base", [*taken, *made])

    def _twists(self, name: str, frame: np.ndarray) -> dict[str, np.ndarray]:
        joint, made = self.joints[name], self.description
        kind = joint.get("type")
        if kind == FLOATING:
            if self.floating is False and self.ends[name][0] not in self.carriers:
                raise ModelError(
                    f"{self.shown}: floating=False, but the joint {name!r} leaves its link free; "
                    "take it out there."
                )
            twists = _free(name, frame)
        elif kind in KINDS:
            equations = JOINT_KINDS[KINDS[kind]].space
            assert equations is not None
            at = frame.copy()
            # A ball joint has no axis: its attitude is in the axes of the joint's frame.
            if equations.freedoms and equations.blind != "both":
                at[:3, :3] = frame[:3, :3] @ axes_about(self._axis(name, joint))
            twists = {f"{name}{end}": twist for end, twist in equations.twists(at).items()}
        else:
            raise ModelError(
                f"{self.shown}: joint {name!r} has the type {kind!r}, expected one of "
                f"{', '.join([*KINDS, FLOATING])}."
            )
        damping = self._number(joint, "dynamics", "damping", f"joint {name!r}", 0.0)
        single = [*twists] == [name]
        if single:
            self._range(name, joint, kind)
            self._resistance(name, joint)
        if damping and single:
            made.damping[name] = damping
        elif damping and twists:
            self.several.append(name)
        return twists

    def _axis(self, name: str, joint: Element) -> np.ndarray:
        axis = joint.find("axis")
        given = None if axis is None else axis.get("xyz")
        direction = numbers(given, 3, f"{self.shown}: joint {name!r}: axis", (1, 0, 0))
        if not np.any(direction):
            raise ModelError(f"{self.shown}: joint {name!r}: axis is zero, expected a direction.")
        return direction / np.linalg.norm(direction)

    def _range(self, name: str, joint: Element, kind: str | None) -> None:
        """Record the range of a joint; a continuous joint has none."""
        given = joint.find("limit")
        if given is None or kind == "continuous":
            return
        try:
            least, most = (float(given.get(side, 0.0)) for side in ("lower", "upper"))
        except ValueError:
            # no effect; it is listed
            return
        if least <= most:
            self.description.ranges[name] = (least, most)

    def _resistance(self, name: str, joint: Element) -> None:
        """Record the dry friction and the largest effort of a joint, if they are numbers."""
        made = self.description
        for found, tag, word in (
            (made.frictions, "dynamics", "friction"),
            (made.efforts, "limit", "effort"),
        ):
            part = joint.find(tag)
            try:
                size = 0.0 if part is None else float(part.get(word, 0.0))
            except ValueError:
                continue
            if 0 < size < np.inf:
                found[name] = size

    def _inertial(self, link: str, frame: np.ndarray):
        """Mass, center and inertia, in the axes of the ground."""
        element, where = self.links[link].find("inertial"), f"link {link!r}"
        if element is None:
            return 0.0, frame[:3, 3], np.zeros((3, 3))
        for tag in ("mass", "inertia"):
            if element.find(tag) is None:
                raise ModelError(
                    f"{self.shown}: {where}: inertial has no {tag}; give it, or leave inertial "
                    "out of a link without mass."
                )
        at = frame @ self._origin(element, f"{where}: inertial")
        mass = self._number(element, "mass", "value", where)
        x, y, z, xy, xz, yz = (
            self._number(element, "inertia", name, where, None if name[1] == name[2] else 0.0)
            for name in INERTIA
        )
        if mass < 0 or min(x, y, z) < -NOTHING * mass:
            raise ModelError(
                f"{self.shown}: {where}: mass {mass:g} kg or a moment of inertia "
                f"({x:g}, {y:g}, {z:g} kg·m²) is negative."
            )
        inertia = np.array([[x, xy, xz], [xy, y, yz], [xz, yz, z]])
        if (moments := impossible(mass, inertia)) is not None:
            self.strange.append(f"{link} ({', '.join(f'{x:.3g}' for x in moments)} kg·m²)")
        return mass, at[:3, 3], at[:3, :3] @ inertia @ at[:3, :3].T

    # --- joints that follow others

    def _couple(self) -> None:
        """Add mimics of and by joints with one coordinate."""
        single = {name for b in self.description.branches for name in b.joints} & {*self.joints}
        single -= {name for name, x in self.joints.items() if x.get("type") == FLOATING}
        drivers, dropped = {}, []
        for name, joint in self.joints.items():
            mimic, where = joint.find("mimic"), f"joint {name!r}: mimic"
            if mimic is None:
                continue
            driver = mimic.get("joint")
            if driver not in self.joints:
                raise ModelError(
                    f"{self.shown}: joint {name!r} mimics {driver!r}, which is no joint of the "
                    "file."
                )
            if not {name, driver} <= single:
                dropped.append(name)
                continue
            drivers[name] = driver
            ratio, offset = (
                numbers(mimic.get(key), 1, f"{self.shown}: {where}: {key}", (default,))[0]
                for key, default in (("multiplier", 1.0), ("offset", 0.0))
            )
            self.description.couplings[f"mimic {name}"] = Coupling(
                {name: 1.0}, {driver: 1.0}, (float(offset), float(ratio))
            )
        refuse_circles(drivers, self.shown)
        self.description.leave_out("mimics of or by joints that neither turn nor slide", dropped)

    # --- what may be wrong

    def _tell(self) -> None:
        made = self.description
        made.leave_out("damping of joints with several coordinates", self.several)
        if self.strange:
            made.notes.append(f"{NO_BODY}: {'; '.join(self.strange)}")
        roots = [link for link in self.links if link not in self.carriers]
        if len(roots) > 1:
            made.notes.append(
                f"links that no joint carries, where a URDF has one: {', '.join(roots)}"
            )

    # --- numbers

    def _origin(self, element: Element, what: str) -> np.ndarray:
        return origin(element, f"{self.shown}: {what}: origin")

    def _number(
        self, element: Element, tag: str, attribute: str, where: str, default: float | None = None
    ) -> float:
        """A number of a child of an element; a default of None means that it is required."""
        child = element.find(tag)
        given = None if child is None else child.get(attribute)
        what = f"{self.shown}: {where}: {tag} {attribute}"
        return float(numbers(given, 1, what, None if default is None else (default,))[0])


def _free(name: str, frame: np.ndarray) -> dict[str, np.ndarray]:
    """Three slides and a ball joint in the axes of a frame."""
    axes = zip("xyz", frame[:3, :3].T, strict=True)
    slides = {f"{name}.{c}": prismatic(axis) for c, axis in axes}
    return slides | {name: ball(frame[:3, 3], frame[:3, :3])}
