"""Rules for the treatment of each element and attribute of MJCF, from MuJoCo's own schema.

A rule consists of a pattern of element and attribute, and their treatment; the first match applies.
"""

import ctypes
import fnmatch
import importlib.util
import re
from pathlib import Path

ACTS, OTHER, LISTED = "changes the model", "no part of a motion", "listed: "
SOLVER = "MuJoCo's own solver; rows are hard here"


def listed(*sentences: str) -> str:
    """Listed under the first or another of some headings, by the name of what has it."""
    return LISTED + ", or ".join(sentences)


TOUCH, PAIR = listed("contacts of bodies"), listed("contacts by pair")
LAW = listed("control laws of actuators", "internal dynamics of actuators")
RANGE = listed("ranges of actuators", "internal dynamics of actuators")
FAR = listed("actuators that pull at neither a joint nor a tendon of joints")
MEDIUM = listed("forces of a surrounding medium")
TENDON = listed("springs, dampers and inertia of tendons")
SOFT, OTHER_ROW = listed("deformable bodies"), listed("equality constraints of another kind")
PLUGIN = listed("plugins")
ACTUATORS = (
    "general motor position velocity intvelocity orientation pid damper cylinder muscle adhesion "
    "dcmotor plugin"
).split()

RULES = {
    "mujoco/compiler/discardvisual": ACTS,
    "*/name": OTHER,
    "*/user": OTHER,
    "mujoco/default/class": OTHER,
    "*/texture/class": OTHER,
    "*/material/class": OTHER,
    "*/camera/class": OTHER,
    "*/light/class": OTHER,
    "*actuator/*/class": RANGE,
    "*contact/pair/class": PAIR,
    "*equality/flex*/class": OTHER_ROW,
    "*tendon/spatial/class": TENDON,
    "*tendon/fixed/class": TENDON,
    "*/class": ACTS,
    "*/childclass": ACTS,
    "mujoco/model": OTHER,
    "*sensor/plugin/config*": PLUGIN,
    "*sensor*": OTHER,
    "*visual*": OTHER,
    "*/camera/*": OTHER,
    "*/light/*": OTHER,
    "*custom*": OTHER,
    "mujoco/size/nkey": ACTS,
    "mujoco/size/*": OTHER,
    "mujoco/statistic/*": OTHER,
    "*keyframe/key/qpos": ACTS,
    "*keyframe/key/time": OTHER,
    "*keyframe/key/m*": listed("bodies moved from outside (mocap)"),
    "*keyframe/key/plastic": listed("springs that yield"),
    "*keyframe*": listed("velocities, controls and forces of configurations"),
    "*extension*": PLUGIN,
    "*actuator/plugin/plugin": LAW,
    "*actuator/plugin/instance": LAW,
    "*actuator/plugin/config*": LAW,
    "*/plugin*": PLUGIN,
    "*equality/flex*": OTHER_ROW,
    "*flexcomp/name": SOFT,
    "*flex*/rgba": OTHER,
    "*flex*": SOFT,
    "*skin*": OTHER,
    "*/solref*": SOLVER,
    "*/solimp*": SOLVER,
    "*/pair/*": PAIR,
    "*contact/exclude/*": TOUCH,
    "*contact*": TOUCH,
    "*asset/hfield/*": TOUCH,
    "*texture*": OTHER,
    "*/material*": OTHER,
    "*/rgba": OTHER,
    "*asset/model/content_type": OTHER,
    "*asset/model/*": ACTS,
    "*mesh/normal": OTHER,
    "*mesh/smoothnormal": OTHER,
    "*mesh/texcoord": OTHER,
    "*mesh/maxhullvert": TOUCH,
    "*mesh/content_type": OTHER,
    "*asset/mesh/*": ACTS,
    "mujoco/compiler/lengthrange/*": LAW,
    "mujoco/compiler/save*": OTHER,
    "mujoco/compiler/usethread": OTHER,
    "mujoco/compiler/passthrough": OTHER,
    "mujoco/compiler/conflict": OTHER,
    "mujoco/compiler/coordinate": OTHER,
    "mujoco/compiler/texturedir": OTHER,
    "mujoco/compiler/fusestatic": OTHER,
    "mujoco/compiler/*": ACTS,
    **{
        f"mujoco/option/flag/{x}": ACTS
        for x in ("gravity", "damper", "spring", "equality", "constraint", "actuation")
    },
    "mujoco/option/flag/sensor": OTHER,
    "mujoco/option/flag/*": SOLVER,
    "mujoco/option/gravity": ACTS,
    "mujoco/option/actuatorgroupdisable": ACTS,
    "mujoco/option/density": MEDIUM,
    "mujoco/option/viscosity": MEDIUM,
    "mujoco/option/wind": MEDIUM,
    "mujoco/option/*": SOLVER,
    "*body/mocap": listed("bodies moved from outside (mocap)"),
    "*body/gravcomp": listed("compensation of gravity"),
    "*body/sleep": SOLVER,
    "*body/simple": SOLVER,
    "*body/fuse": OTHER,
    "*body/*/group": OTHER,
    "*default/*/group": OTHER,
    "mujoco/tendon/*/group": OTHER,
    "*joint/actuatorfrc*": listed("limits of the force at joints"),
    "*joint/actuatorgravcomp": listed("compensation of gravity"),
    "*joint/limited": listed("joint limits"),
    "*joint/range": listed("joint limits"),
    "*joint/margin": SOLVER,
    "*joint/frictionloss": listed("dry friction in joints"),
    "*joint/springyield": listed("springs that yield"),
    **{
        f"*geom/{x}": TOUCH
        for x in (
            "adhesion condim conaffinity contype friction gap margin priority surfacevel solmix"
        ).split()
    },
    "*geom/fluid*": MEDIUM,
    "*geom/castshadow": OTHER,
    "*site/size": OTHER,
    "*site/type": OTHER,
    "*site/mesh": OTHER,
    "mujoco/equality/*": ACTS,
    "*/fixed/joint/*": ACTS,
    "*/width": OTHER,
    "*tendon*/margin": SOLVER,
    "*tendon*/range": listed("limits of tendons"),
    "*tendon*/limited": listed("limits of tendons"),
    "*tendon*/actuatorfrc*": listed("limits of the force at tendons"),
    "*tendon*/frictionloss": listed("dry friction in tendons"),
    "*tendon*/springyield": listed("springs that yield"),
    "*tendon*/*": TENDON,
    "*default/equality/active": ACTS,
    "*/gear": ACTS,
    "*/actuator/orientation/joint": FAR,
    "*/actuator/*/joint": ACTS,
    "*/actuator/*/tendon": ACTS,
    "*/actuator/*/group": ACTS,
    **{f"*actuator/*/{x}": FAR for x in ("body", "*site", "cranklength", "jointinparent")},
    **{
        f"*{where}/{kind}/{x}": fate
        for where in ("actuator", "default")
        for kind in ACTUATORS
        for names, fate in (
            ("armature damping", listed("inertia and damping of actuators")),
            ("delay nsample interp", listed("delays of actuators")),
            ("cranklength", FAR),
            ("ctrl* force[rl]* inheritrange ffrange posrange velrange actrange", RANGE),
            ("*", LAW),
        )
        for x in names.split()
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
