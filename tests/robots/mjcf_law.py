"""What becomes of each element and attribute of MJCF: the rules, read off MuJoCo's own schema.

A rule is a pattern of element and attribute and what becomes of them; the first that fits holds.
"""

import ctypes
import fnmatch
import importlib.util
import re
from pathlib import Path

ACTS, LISTED, OTHER = "changes the model", "listed by name", "no part of a motion"
CONTACT, SOLVER = "contacts, which are listed", "MuJoCo's own solver; rows are hard here"

RULES = {
    "*/name": OTHER,
    "*/user": OTHER,
    "*/class": ACTS,
    "*/childclass": ACTS,
    "mujoco/model": OTHER,
    "*sensor*": OTHER,
    "*visual*": OTHER,
    "*/camera/*": OTHER,
    "*/light/*": OTHER,
    "*custom*": OTHER,
    "mujoco/size/*": OTHER,
    "mujoco/statistic/*": OTHER,
    "*keyframe*": LISTED,
    "*extension*": LISTED,
    "*/plugin*": LISTED,
    "*deformable*": LISTED,
    "*flex*": LISTED,
    "*skin*": OTHER,
    "*/solref*": SOLVER,
    "*/solimp*": SOLVER,
    "*/solmix": CONTACT,
    "*contact*": CONTACT,
    "*/pair/*": CONTACT,
    "*hfield*": CONTACT,
    "*texture*": OTHER,
    "*/material*": OTHER,
    "*/rgba": OTHER,
    "*asset/model/*": ACTS,
    "*asset/mesh/*": ACTS,
    "mujoco/compiler/lengthrange/*": LISTED,
    "mujoco/compiler/*": ACTS,
    "mujoco/option/flag/gravity": ACTS,
    "mujoco/option/flag/damper": ACTS,
    "mujoco/option/flag/spring": ACTS,
    "mujoco/option/flag/equality": ACTS,
    "mujoco/option/flag/constraint": ACTS,
    "mujoco/option/flag/actuation": ACTS,
    "mujoco/option/flag/*": SOLVER,
    "mujoco/option/gravity": ACTS,
    "mujoco/option/actuatorgroupdisable": ACTS,
    "mujoco/option/density": LISTED,
    "mujoco/option/viscosity": LISTED,
    "mujoco/option/wind": LISTED,
    "mujoco/option/*": SOLVER,
    "*body/mocap": LISTED,
    "*body/gravcomp": LISTED,
    "*body/sleep": SOLVER,
    "*body/simple": SOLVER,
    "*body/*/group": OTHER,
    "*default/*/group": OTHER,
    "mujoco/tendon/*/group": OTHER,
    "*joint/actuatorfrc*": LISTED,
    "*joint/actuatorgravcomp": LISTED,
    "*joint/limited": LISTED,
    "*joint/range": LISTED,
    "*joint/margin": SOLVER,
    "*joint/frictionloss": LISTED,
    "*joint/springyield": LISTED,
    "*geom/adhesion": CONTACT,
    "*geom/condim": CONTACT,
    "*geom/conaffinity": CONTACT,
    "*geom/contype": CONTACT,
    "*geom/friction": CONTACT,
    "*geom/gap": CONTACT,
    "*geom/margin": CONTACT,
    "*geom/priority": CONTACT,
    "*geom/surfacevel": CONTACT,
    "*geom/fluid*": LISTED,
    "*geom/castshadow": OTHER,
    "mujoco/equality/*": ACTS,
    "*tendon/spatial*": LISTED,
    "*/fixed/joint/*": ACTS,
    "*/width": OTHER,
    "*tendon*/*": LISTED,
    "*default/equality/active": ACTS,
    "*/gear": ACTS,
    "*/actuator/*/joint": ACTS,
    "*/actuator/*/tendon": ACTS,
    "*/actuator/*/group": ACTS,
    "*actuator/*": LISTED,
    **{
        f"*default/{kind}/*": LISTED
        for kind in (
            "general motor position velocity intvelocity orientation pid damper cylinder muscle "
            "adhesion dcmotor"
        ).split()
    },
    "*body*": ACTS,
    "*default*": ACTS,
    "mujoco*/": OTHER,
}


def schema() -> list[tuple[str, str]]:
    """Elements, by their way from the root, with each of their attributes."""
    spec = importlib.util.find_spec("mujoco")
    assert spec is not None and spec.origin is not None
    (library,) = Path(spec.origin).parent.glob("libmujoco.*")
    buffer = ctypes.create_string_buffer(2**20)
    ctypes.CDLL(str(library)).mj_printSchema(None, buffer, len(buffer), 0, 0)
    way: list[str] = []
    found = []
    for line in buffer.value.decode().splitlines():
        if header := re.match(r"( *)(\S+) \([!?*R]\)(.*)", line):
            way = [*way[: len(header[1]) // 3], header[2].replace("(world)", "")]
            line = header[3]
            found.append(("/".join(way), ""))
        found += [("/".join(way), name) for name in line.split()]
    return found


def rule(element: str, attribute: str) -> str | None:
    """What becomes of an attribute, or of the element itself; None if no rule fits."""
    way = f"{element}/{attribute}"
    return next((x for p, x in RULES.items() if fnmatch.fnmatch(way, p)), None)


def table() -> str:
    """Elements with their attributes, by what becomes of them."""
    lines = ["| element | what becomes of its attributes |", "|---|---|"]
    fates: dict[str, dict[str, list[str]]] = {}
    for element, attribute in schema():
        if attribute:
            by_fate = fates.setdefault(element, {})
            by_fate.setdefault(str(rule(element, attribute)), []).append(attribute)
    for element, by_fate in fates.items():
        said = "; ".join(
            f"{fate}: {', '.join(f'`{x}`' for x in names) if len(by_fate) > 1 else 'all'}"
            for fate, names in by_fate.items()
        )
        lines.append(f"| `{element.removeprefix('mujoco/')}` | {said} |")
    return "\n".join(lines) + "\n"
