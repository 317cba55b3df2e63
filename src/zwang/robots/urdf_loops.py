"""Closed loops of a URDF from a YAML file in its folder.

The format is that of the models of example-parallel-robots (V. Batto and L. De Matteis, LAAS-CNRS
and Inria; https://github.com/Gepetto/example-parallel-robots, `completeRobotLoader`).

    closed_loop: [[frame, frame], ...]   frames that coincide: links, or joints for their children
    type: [6d, 3d, ...]                  of each loop: position and attitude, or position alone
    name_mot: [joint, ...]               joints with a motor
    joint_name: [joint, ...]             joints of another kind than the URDF says
    joint_type: [SPHERICAL, ...]         their kinds; also FIXED, UJOINT_XY and other pairs of axes

Joints of `UJOINT_XY` are two hinges, named with the suffixes `_X` and `_Y`, about these axes of the
joint's frame. The text is parsed to plain words alone: tags of YAML construct nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from xml.etree.ElementTree import Element, SubElement

import numpy as np

from zwang.errors import ModelError
from zwang.files import is_file, read_text
from zwang.files.reading import shown_path
from zwang.inputs.suggestions import did_you_mean
from zwang.objects.extras import require
from zwang.robots.description import Description, Loop
from zwang.robots.text import parsed
from zwang.robots.urdf import read as read_urdf

LOOPS = {"6d": "fixed", "3d": "spherical"}
"""Kinds of joints that close loops, by their names in the format."""
AXES = {"X": "1 0 0", "Y": "0 1 0", "Z": "0 0 1"}
CROSSES = {f"UJOINT_{a}{b}": (a, b) for a, b in itertools.permutations(AXES, 2)}
JOINTS = {"SPHERICAL": "spherical", "FIXED": "fixed"}
"""Types of URDF, including Bullet's spherical one, by their names in the format."""
KEYS = ("closed_loop", "type", "name_mot", "joint_name", "joint_type")
ACTING = ("limit", "dynamics", "safety_controller", "calibration", "mimic")
"""Elements of a joint that do not apply to the two hinges that replace it."""


def read(path: Path, *, floating: bool | None = None) -> Description:
    """Read the robot of a YAML file: a URDF with loops, motors and kinds of joints.

    Args:
        path: the file; the URDF in its folder has its name, or is the only one.
        floating: as in `zwang.robots.urdf.read`.

    Raises:
        ModelError: one sentence for an invalid file.
    """
    shown = shown_path(path)
    given = _contents(path, shown)
    urdf = _urdf_beside(path, shown)
    root = parsed(urdf)[1]
    if root.tag != "robot":
        raise ModelError(
            f"{shown_path(urdf)}: its root is the element {root.tag:.40}, expected robot (URDF)."
        )
    dropped = _change_joints(root, given, shown)
    made = read_urdf(urdf, root, floating=floating)
    made.leave_out("elements of joints that are two hinges now", dropped)
    _close(made, root, given, shown)
    if "name_mot" in given:
        _drive(made, root, given["name_mot"], shown)
    return made


def _urdf_beside(path: Path, shown: str) -> Path:
    named = path.with_suffix(".urdf")
    if is_file(named):
        return named
    found = [x for x in sorted(path.parent.glob("*.urdf")) if is_file(x)]
    if len(found) != 1:
        raise ModelError(
            f"{shown} closes the loops of a URDF, expected beside it as {named.name!r:.60} or as "
            f"the only .urdf of its folder, which has {len(found)}; rename one of them."
        )
    return found[0]


# --- the text


def _contents(path: Path, shown: str) -> dict[str, list]:
    """The lists of the file by key: of pairs of words under `closed_loop`, of words otherwise."""
    require("yaml", "robots", "a file of loops (YAML)")
    import yaml

    text = read_text(path, "toml_size")
    try:
        # Nodes only: no tag of the file is resolved to an object, and no name to a number.
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        mark, what = getattr(error, "problem_mark", None), getattr(error, "problem", None)
        at = "" if mark is None else f", line {mark.line + 1}"
        raise ModelError(
            f"{shown}{at}: no YAML: {what or getattr(error, 'reason', 'it cannot be parsed')}."
        ) from None
    except RecursionError:
        raise ModelError(
            f"{shown}: lists within lists without end, expected lists of names."
        ) from None
    if not isinstance(root, yaml.MappingNode):
        raise ModelError(f"{shown}: expected keys with lists, such as closed_loop: [[a, b]].")
    made: dict[str, list] = {}
    for key, node in root.value:
        name = key.value if isinstance(key, yaml.ScalarNode) else "a list"
        where = f"{shown}, line {key.start_mark.line + 1}"
        if name not in KEYS:
            raise ModelError(f"{where}: there is no key {name!r:.60}{did_you_mean(name, KEYS)}")
        if name in made:
            raise ModelError(f"{where}: {name} stands twice; give one list.")
        made[name] = _words(node, f"{where}: {name}", 1 + (name == "closed_loop"))
    if "closed_loop" not in made:
        raise ModelError(f"{shown}: closed_loop is missing, expected pairs of frames.")
    for names, kinds in (("closed_loop", "type"), ("joint_name", "joint_type")):
        count, other = (len(made.get(x, [])) for x in (names, kinds))
        if count != other:
            raise ModelError(
                f"{shown}: {names} has {count} entries and {kinds} {other}; give one for each."
            )
    return made


def _words(node, where: str, depth: int) -> list:
    """Words of a list, or of a list of pairs for a depth of two."""
    import yaml

    if not isinstance(node, yaml.SequenceNode):
        raise ModelError(f"{where} is no list; write [...].")
    if depth > 1:
        pairs = [_words(x, where, depth - 1) for x in node.value]
        for pair in pairs:
            if len(pair) != 2:
                raise ModelError(
                    f"{where}: a loop has {len(pair)} frames, expected two: [[a, b], ...]."
                )
        return pairs
    for x in node.value:
        if not isinstance(x, yaml.ScalarNode):
            raise ModelError(f"{where}: a list stands where a name is expected.")
    return [x.value for x in node.value]


# --- what it says


def _change_joints(root: Element, given: dict[str, list], shown: str) -> list[str]:
    """Change the kinds of joints as the file says; returns the elements that are lost."""
    joints = {x.get("name"): x for x in root.findall("joint")}
    expected, dropped = [*JOINTS, *CROSSES], []
    changed: set[str] = set()
    for name, kind in zip(given.get("joint_name", []), given.get("joint_type", []), strict=True):
        _require_name(name, joints, f"{shown}: joint_name", "joint")
        if name in changed:
            raise ModelError(f"{shown}: joint_name has {name!r:.60} twice; give one kind.")
        changed.add(name)
        joint, other = joints[name], kind.upper()
        if other in JOINTS:
            joint.set("type", JOINTS[other])
        elif other in CROSSES:
            dropped += [f"{x.tag} of {name}" for x in joint if x.tag in ACTING]
            _cross(root, joint, CROSSES[other])
        else:
            raise ModelError(
                f"{shown}: joint {name!r:.60} has the joint_type {kind!r:.60}, expected one of "
                f"{', '.join(expected)}."
            )
    return dropped


def _cross(root: Element, joint: Element, axes: tuple[str, str]) -> None:
    """Replace a joint by two hinges, about axes of its frame."""
    name = joint.get("name")
    link = f"{name}_{axes[0]}"
    first, second = (
        Element("joint", {"name": f"{name}_{axis}", "type": "continuous"}) for axis in axes
    )
    for part in joint:
        if part.tag in ("origin", "parent"):
            first.append(part)
        elif part.tag == "child":
            second.append(part)
    SubElement(first, "child", {"link": link})
    SubElement(second, "parent", {"link": link})
    for made, axis in zip((first, second), axes, strict=True):
        SubElement(made, "axis", {"xyz": AXES[axis]})
    at = list(root).index(joint)
    root.remove(joint)
    for made in (second, first, Element("link", {"name": link})):
        root.insert(at, made)


def _close(made: Description, root: Element, given: dict[str, list], shown: str) -> None:
    """Add the loops."""
    frames = {b.name: b.name for b in made.branches}
    for joint in root.findall("joint"):
        name, link = str(joint.get("name")), str(joint.find("child").get("link"))  # pyright: ignore
        if frames.setdefault(name, link) != link and any(name in x for x in given["closed_loop"]):
            raise ModelError(
                f"{shown}: closed_loop: {name!r:.60} is a link, and a joint that carries "
                f"{link!r:.60}; rename one of them in the URDF."
            )
    for pair, kind in zip(given["closed_loop"], given["type"], strict=True):
        for name in pair:
            _require_name(name, frames, f"{shown}: closed_loop", "link or joint")
        if kind.lower() not in LOOPS:
            raise ModelError(
                f"{shown}: type {kind!r:.60} of the loop {'-'.join(pair):.80}, expected 6d or 3d."
            )
        name = "-".join(pair)
        if name in made.loops:
            raise ModelError(f"{shown}: closed_loop has {name:.80} twice; give it once.")
        first, second = ((frames[x], np.eye(4)) for x in pair)
        made.loops[name] = Loop(LOOPS[kind.lower()], first, second)


def _drive(made: Description, root: Element, motors: Sequence[str], shown: str) -> None:
    """Add motors at joints with one coordinate."""
    joints = {x.get("name"): x for x in root.findall("joint")}
    alone = [b.joints for b in made.branches if len(b.joints) == 1]
    single = {n for twists in alone for n, twist in twists.items() if np.ndim(twist) == 1}
    for name in motors:
        _require_name(name, joints, f"{shown}: name_mot", "joint")
        if name in single:
            made.actuators[name] = {name: np.ones(1)}
    made.leave_out(
        "motors of joints without a coordinate, or with several",
        [x for x in motors if x not in single],
    )


def _require_name(name: str, known, where: str, what: str) -> None:
    if name not in known:
        raise ModelError(f"{where}: the URDF has no {what} {name!r:.60}{did_you_mean(name, known)}")
