"""A small MJCF file for every element of the schema, and another value for every attribute of it.

`pair` gives two files that differ only in one attribute.
"""

import copy
import struct
from collections.abc import Iterator
from fnmatch import fnmatch
from xml.etree import ElementTree
from xml.etree.ElementTree import Element
from zlib import compress, crc32

from .mjcf_values import POOL, known

WORLD = """<mujoco model="m"><compiler angle="radian"/>
<default><default class="other"><mesh scale="2 2 2"/><texture width="8"/>
<material rgba="1 0 0 1"/><joint damping="0.7"/><geom density="300"/><site pos="0.3 0 0"/>
<camera fovy="30"/><light cutoff="30"/><pair condim="1"/><equality active="false"/>
<tendon stiffness="2"/><general ctrlrange="0 2"/></default></default>
<asset><texture name="x" type="2d" builtin="checker" rgb1="1 0 0" width="4" height="4"/>
<texture name="x2" type="2d" builtin="flat" width="8" height="4"/>
<material name="paint" texture="x"/>
<mesh name="tet" vertex="0 0 0 .2 0 0 0 .3 0 0 0 .4"/>
<mesh name="tet2" vertex="0 0 0 .2 0 0 0 .3 0 0 0 .5"/>
<hfield name="hills" nrow="2" ncol="2" size="1 1 .1 .1" elevation="0 1 2 3"/>
<hfield name="hills2" nrow="2" ncol="2" size="2 1 .1 .1"/></asset>
<worldbody><geom name="floor" type="plane" size="1 1 1" contype="0" conaffinity="0"/>
<site name="g0" pos="0 0 1"/><camera name="eye0"/>
<body name="a" pos="0.1 0 0"><inertial mass="1" pos="0.1 0 0.2" quat="0.8 0.6 0 0"
diaginertia="0.2 0.3 0.25"/><joint name="j" axis="0 1 0"/><site name="s" pos="0.1 0 0.2"/>
<geom name="ga" size="0.2 0.2 0.3" contype="0" conaffinity="0"/>
<body name="b" pos="0.5 0 0.3"><joint name="k" type="slide" axis="1 0 0"/>
<geom name="g" type="box" size="0.1 0.2 0.3" contype="0" conaffinity="0"/>
<site name="t" pos="0 0.1 0"/></body></body>
<body name="c" pos="0 2 0"><freejoint name="f"/><geom name="gc" type="box" size="0.1 0.2 0.3"
contype="0" conaffinity="0"/><site name="u" pos="0 0 0.1"/></body>
<body name="d" pos="0 3 0"><joint name="l" type="ball"/><geom name="gd" type="mesh" mesh="tet"
contype="0" conaffinity="0"/></body>
<body name="e" pos="0 4 0"><joint name="h"/><joint name="i" axis="1 0 0"/>
<geom name="ge" size="0.1 0.2 0.3" pos="0.2 0 0" contype="0" conaffinity="0"/></body></worldbody>
<tendon><fixed name="T"><joint joint="j" coef="1"/></fixed>
<fixed name="U"><joint joint="h" coef="2"/></fixed></tendon></mujoco>"""
"""Without anything that is left out."""
OWN = '<body name="own" pos="0 5 0"><joint name="own" axis="0 1 0"/>{}</body>'
"""A body with a part, whose mass may come from it."""
SOLID = '<geom name="own" type="box" size="0.1 0.2 0.3" contype="0" conaffinity="0"/>'
PID = '<extension><plugin plugin="mujoco.pid"/></extension>'
GRID = '<extension><plugin plugin="mujoco.sensor.touch_grid"/></extension>'
TORUS = (
    '<extension><plugin plugin="mujoco.sdf.torus"><instance name="S"><config key="radius1" '
    'value="0.3"/></instance></plugin></extension><asset><mesh name="torus"><plugin instance="S"/>'
    "</mesh></asset>"
)
SOFT = (
    '<body name="on"><flexcomp name="soft" type="grid" count="3 3 1" spacing=".1 .1 .1" '
    'mass="1" dim="2" radius=".01" pos="0 0 3"><edge equality="true"/>{}</flexcomp></body>'
)
FLEX = (
    '<worldbody><body name="p1"><joint type="slide"/><geom size=".1" mass="1"/></body>'
    '<body name="p2" pos="1 0 0"><joint type="slide"/><geom size=".1" mass="1"/></body>'
    '<body name="p3" pos="0 1 0"><joint type="slide"/><geom size=".1" mass="1"/></body>'
    '</worldbody><deformable><flex name="F" dim="2" body="p1 p2 p3" vertex="0 0 0 0 0 0 0 0 0" '
    'element="0 1 2">{}</flex></deformable>'
)
SKIN = (
    '<{0}><skin name="K" vertex="0 0 0 1 0 0 0 1 0" face="0 1 2" texcoord="0 0 1 0 0 1">'
    '<bone body="a" bindpos="0 0 0" bindquat="1 0 0 0" vertid="0 1 2" vertweight="1 1 1"/>'
    "</skin></{0}>"
)
SPATIAL = (
    '<worldbody><geom name="wrapped" size=".2" contype="0" conaffinity="0"/></worldbody><tendon>'
    '<spatial name="S" stiffness="1"><site site="s"/><geom geom="ge" sidesite="g0"/>'
    '<site site="u"/><pulley divisor="2"/><site site="t"/><site site="u"/></spatial></tendon>'
)
ACTUATORS = {
    "adhesion": 'body="c" ctrlrange="0 1"',
    "dcmotor": 'joint="h" motorconst="0.1 0.1" resistance="1"',
    "orientation": 'joint="l" ctrlrange="-1 1"',
    "position": 'joint="lim" kp="1"',
    **dict.fromkeys(("general", "intvelocity", "pid"), 'joint="lim"'),
    "muscle": 'joint="h" lengthrange="0.1 1"',
    "damper": 'joint="h" ctrlrange="0 1"',
}
"""Attributes that actuators of these kinds need; others take a joint alone."""
SENSORS = {
    **dict.fromkeys(
        "touch accelerometer velocimeter gyro force torque magnetometer rangefinder".split(),
        'site="s"',
    ),
    "camprojection": 'site="s" camera="eye0"',
    **dict.fromkeys("jointpos jointvel jointactuatorfrc".split(), 'joint="j"'),
    **dict.fromkeys("ballquat ballangvel".split(), 'joint="l"'),
    **dict.fromkeys("jointlimitpos jointlimitvel jointlimitfrc".split(), 'joint="lim"'),
    **dict.fromkeys("tendonpos tendonvel tendonactuatorfrc".split(), 'tendon="T"'),
    **dict.fromkeys("tendonlimitpos tendonlimitvel tendonlimitfrc".split(), 'tendon="lim"'),
    **dict.fromkeys("actuatorpos actuatorvel actuatorfrc".split(), 'actuator="act"'),
    **dict.fromkeys("subtreecom subtreelinvel subtreeangmom".split(), 'body="a"'),
    "insidesite": 'site="s" objtype="body" objname="a"',
    **dict.fromkeys("distance normal fromto".split(), 'geom1="g" geom2="gc" cutoff="1"'),
    "contact": 'geom1="g" geom2="gc"',
    **dict.fromkeys("e_potential e_kinetic clock".split(), ""),
    "tactile": 'geom="touched" mesh="tet"',
    "user": 'dim="1"',
    "plugin": 'plugin="mujoco.sensor.touch_grid" objtype="site" objname="s">'
    '<config key="nchannel" value="1"/><config key="size" value="2 2"/><config key="fov" '
    'value="90 90"/></plugin><user name="own" dim="1"',
}
"""Attributes that sensors of these kinds need; others observe a body."""
LIMITED = (
    '<worldbody><camera name="eye1"/><body name="lim" pos="0 6 0">'
    '<joint name="lim" range="-1 1"/><geom size="0.1" contype="0" conaffinity="0"/></body>'
    '</worldbody><tendon><fixed name="lim" range="-1 1"><joint joint="lim" coef="1"/></fixed>'
    "</tendon>"
)


def own(part: str) -> str:
    """A body with a hinge and a part."""
    return f"<worldbody>{OWN.format(part)}</worldbody>"


def soft(part: str) -> str:
    """A soft plate."""
    return f"<worldbody>{SOFT.format(part)}</worldbody>"


FORCES = (
    own(SOLID).replace("/>", ' stiffness="1" damping="1"/>', 1)
    + '<equality><joint name="Q" joint1="h" joint2="i"/></equality><actuator><motor name="act" '
    'joint="h"/></actuator>'
)
"""Something for every flag to disable."""
TOUCHING = own(SOLID + '<geom name="own 2" size=".2 .3 .2" pos=".1 0 0" group="3"/>')
"""A body with contacts."""
NEEDED = {
    "option*": FORCES,
    "compiler/lengthrange": own(SOLID).replace("<joint", '<joint range="-1 1"')
    + '<actuator><muscle name="act" joint="own"/></actuator>',
    "compiler": TOUCHING
    + '<worldbody><body pos="0 9 0" euler="0.1 0.2 0.3"><freejoint/><geom name="fitted" type="box" '
    'mesh="tet" contype="0" conaffinity="0"/></body><body pos="0 9 9"><joint range="-1 1"/>'
    '<geom name="filed" type="mesh" mesh="filed" contype="0" conaffinity="0"/></body></worldbody>'
    '<asset><mesh name="filed" file="sub/tet.obj"/></asset>',
    "touching": TOUCHING,
    "body": own(SOLID),
    "body/inertial": own('<inertial mass="1" pos="0 0 0" diaginertia="1 1.2 1.3"/>'),
    "body/joint": own(SOLID),
    "body/freejoint": '<worldbody><body name="own" pos="0 5 0"><freejoint name="own"/>'
    '<geom name="own" type="box" size="0.1 0.2 0.3" pos="0.1 0 0" contype="0" conaffinity="0"/>'
    "</body></worldbody>",
    "body/geom": own(SOLID),
    "body/geom/plugin*": TORUS
    + own(
        SOLID + '<geom name="own 2" type="sdf" mass="0" mesh="torus" contype="0" conaffinity="0">'
        '<plugin plugin="mujoco.sdf.torus"><config key="radius1" value="0.3"/></plugin></geom>'
    ),
    "asset/mesh/plugin*": TORUS
    + '<asset><mesh name="torus 2"><plugin plugin="mujoco.sdf.torus"><config key="radius1" '
    'value="0.3"/></plugin></mesh></asset>',
    "extension*": TORUS,
    "body/site": own(SOLID + '<site name="own"/>')
    + '<equality><connect name="own" site1="own" site2="g0"/></equality>',
    "body/camera": own(SOLID + '<camera name="own"/>'),
    "body/light": own(SOLID + '<light name="own"/>'),
    "body/attach": '<asset><model name="part" file="part.xml"/><model name="part2" '
    'file="part2.xml"/></asset><worldbody><body name="on"><attach model="part" body="arm" '
    'prefix="one "/></body></worldbody>',
    "asset/model": '<asset><model name="part" file="part.xml"/></asset><worldbody><body name="on">'
    '<attach model="part" body="arm" prefix="one "/></body></worldbody>',
    "body/flexcomp/elasticity": soft('<elasticity young="1"/>').replace(
        '<edge equality="true"/>', "<edge/>"
    ),
    "body/flexcomp": soft(""),
    "body/flexcomp/edge": soft(""),
    "body/flexcomp/contact": soft("<contact/>"),
    "body/flexcomp/pin": soft('<pin id="0"/>'),
    "deformable/flex": FLEX.format(""),
    "deformable/flex/contact": FLEX.format("<contact/>"),
    "deformable/flex/edge": FLEX.format("<edge/>"),
    "deformable/flex/elasticity": FLEX.format('<elasticity young="1"/>'),
    "deformable/skin*": SKIN.format("deformable"),
    "asset/skin*": SKIN.format("asset"),
    "contact/pair": '<contact><pair name="P" geom1="g" geom2="gc"/></contact>',
    "contact/exclude": TOUCHING + '<contact><exclude name="E" body1="a" body2="c"/></contact>',
    "tendon/spatial*": SPATIAL,
    "tendon/fixed/joint": '<actuator><motor name="act" tendon="U"/></actuator>',
    "equality/connect": '<equality><connect name="Q" body1="b" body2="c" anchor="0.1 0 0"/>'
    "</equality>",
    "equality/weld": '<equality><weld name="Q" body1="b" body2="c" anchor="0.1 0 0"/></equality>',
    "equality/joint": '<equality><joint name="Q" joint1="h" joint2="i"/></equality>',
    "equality/tendon": '<equality><tendon name="Q" tendon1="T" tendon2="U"/></equality>',
    "equality/flex": soft("")
    + soft("").replace('"soft"', '"soft 2"').replace('"on"', '"by"')
    + '<equality><flex name="Q" flex="soft"/></equality>',
    "equality/flexstrain": soft("")
    .replace('count="3 3 1"', 'count="3 3 3" dof="trilinear" cellcount="1 1 1"')
    .replace('dim="2"', 'dim="3"')
    .replace('<edge equality="true"/>', "")
    + '<equality><flexstrain name="Q" flex="soft" cell="0 0 0"/></equality>',
    **{
        f"sensor/{kind}*": LIMITED
        + (GRID if kind == "plugin" else "")
        + LIMITED.replace("lim", "lim 2").replace("eye1", "eye2").replace("0 6 0", "0 7 0")
        + '<worldbody><body pos="0 8 0"><joint name="l 2" type="ball"/><geom size="0.1" '
        'contype="0" conaffinity="0"/></body></worldbody><actuator><motor name="act" joint="j"/>'
        '<motor name="act 2" joint="h"/></actuator>'
        + (own(SOLID + '<geom name="touched" size=".1"/>') if kind == "tactile" else "")
        + f'<sensor><{kind} name="sense" {needs}/></sensor>'
        for kind, needs in SENSORS.items()
    },
    "sensor/subtree*": '<sensor><{tag} name="sense" body="a"/></sensor>',
    "sensor/frame*": '<sensor><{tag} name="sense" objtype="body" objname="a"/></sensor>',
    "custom/numeric": '<custom><numeric name="n" data="1 2"/></custom>',
    "custom/text": '<custom><text name="n" data="word"/></custom>',
    "custom/tuple*": '<custom><tuple name="n"><element objtype="body" objname="a"/></tuple>'
    "</custom>",
    "keyframe/key": '<keyframe><key name="home"/></keyframe><worldbody><body name="moved" '
    'mocap="true"/></worldbody><actuator><intvelocity name="act" joint="j" actrange="-1 1"/>'
    "</actuator>",
    "actuator/orientation": '<worldbody><body pos="0 8 0"><joint name="l 2" type="ball"/>'
    '<geom size="0.1" contype="0" conaffinity="0"/></body></worldbody><actuator><orientation '
    'name="act" joint="l" ctrlrange="-1 1"/></actuator>',
    "actuator/*/config": PID + '<actuator><plugin name="act" joint="h" plugin="mujoco.pid">'
    '<config key="kp" value="4"/></plugin></actuator>',
    "actuator/plugin": PID
    + '<actuator><plugin name="act" joint="h" plugin="mujoco.pid"/></actuator>',
    "actuator/*": LIMITED + '<actuator><{tag} name="act" {needs}/></actuator>',
    "default/material/layer": '<default><material><layer role="metallic" texture="x"/></material>'
    '</default><asset><material name="own"/></asset>',
    "asset/material/layer": '<asset><material name="own"><layer role="metallic" texture="x"/>'
    "</material></asset>",
    "asset/mesh": '<asset><mesh name="own" vertex="0 0 0 .2 0 0 0 .3 0 0 0 .4"/></asset>'
    + own('<geom name="own" type="mesh" mesh="own" contype="0" conaffinity="0"/>'),
    "asset/hfield": '<worldbody><geom type="hfield" hfield="hills2"/></worldbody>',
    "asset/material": '<asset><material name="own"/></asset>',
    "asset/texture": '<asset><texture name="own" type="2d" builtin="checker" width="4" height="4"'
    "/></asset>",
}
"""What brings an element into the file, by element; the first that fits."""


OWNERS = {
    **{x: f"asset/{x}" for x in ("mesh", "texture", "material")},
    **{x: f"body/{x}" for x in ("joint", "site", "camera", "light")},
    "geom": "touching",
    "pair": "contact/pair",
    "equality": "equality/connect",
    "tendon": "tendon/fixed",
}
"""Elements that defaults apply to; all others apply to actuators."""


SIZES = {"": 0.2, "sub/": 0.3, "sub/sub/": 0.4}
"""Of one mesh in three folders."""


def files() -> dict[str, str]:
    """Files that the probes refer to, by name."""
    arms = OWN.format(SOLID).replace("own", "arm"), OWN.format(SOLID).replace("own", "other arm")
    part = "<mujoco><worldbody>{}<frame name='frame' pos='0 0 1'>{}</frame></worldbody></mujoco>"
    part = part.format(*arms)
    tetrahedron = "v 0 0 0\nv {0} 0 0\nv 0 .3 0\nv 0 0 .6\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
    return {
        **{f"{at}tet.obj": tetrahedron.format(x) for at, x in SIZES.items()},
        "part.xml": part,
        "part2.xml": part.replace("0.3", "0.4"),
    }


def picture() -> bytes:
    """A gray PNG file of 4 × 4 pixels, all of them different."""
    rows = b"".join(bytes([0, *range(40 * i, 40 * i + 4)]) for i in range(4))

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", crc32(kind + data))

    header = struct.pack(">IIBBBBB", 4, 4, 8, 0, 0, 0, 0)
    parts = chunk(b"IHDR", header) + chunk(b"IDAT", compress(rows)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + parts


def base(element: str) -> tuple[Element, Element]:
    """A file that has an element, by its way from the root, and the element in it."""
    root, way = ElementTree.fromstring(WORLD), element.split("/")[1:]
    brought = way
    if way[:1] == ["default"] and len(way) > 1:
        brought = OWNERS.get(way[1], f"actuator/{way[1]}").split("/")
    _bring(root, brought)
    if (found := _last(root, way)) is not None:
        return root, found
    found = root
    for tag in way:
        below = found.findall("worldbody/body" if tag == "body" else tag)
        # the first default is that of everything
        found = below[0] if below else ElementTree.SubElement(found, tag)
    for name, value in REQUIRED.get("/".join(way), {}).items():
        found.set(name, value)
    return root, found


def _bring(root: Element, way: list[str]) -> None:
    tag = way[1] if len(way) > 1 else ""
    text = next((x for p, x in NEEDED.items() if fnmatch("/".join(way), p)), "")
    text = text.replace("{tag}", tag).replace("{needs}", ACTUATORS.get(tag, 'joint="h"'))
    joined(root, text)


def joined(root: Element, text: str) -> Element:
    """A file with more parts."""
    for part in ElementTree.fromstring(f"<all>{text}</all>"):
        same = root.find(part.tag)
        root.append(part) if same is None else same.extend(list(part))
    return root


def _last(root: Element, way: list[str]) -> Element | None:
    at = [root]
    for tag in way:
        below = [x.iter("body") if tag == "body" and x is root else x.findall(tag) for x in at]
        at = [x for some in below for x in some]
    return (
        at[-1]
        if at and way != ["default"]
        else root.find("default")
        if way == ["default"]
        else None
    )


REQUIRED = {
    "default/material/layer": {"role": "metallic", "texture": "x"},
    "default/dcmotor": {"motorconst": "0.1 0.1", "resistance": "1"},
    "default/damper": {"ctrlrange": "0 1"},
}
"""Attributes without which an element is refused."""


def pair(element: str, attribute: str) -> Iterator[tuple[Element, Element]]:
    """Files without and with an attribute, or with another value of it.

    Where the attribute stands instead of another one, the first file with all that is beside it is
    no file, and the next has the element as it was.
    """
    value, beside = known(element, attribute) or (None, {})
    plain, found = base(element)
    at = [*plain.iter()].index(found)
    for choice in POOL if value is None else (value,):
        changed = copy.deepcopy(plain)
        same = [*changed.iter()][at]
        _set(changed, same, beside)
        before = copy.deepcopy(changed)
        [*before.iter()][[*changed.iter()].index(same)].attrib.pop(attribute, None)
        if attribute in beside:
            before = copy.deepcopy(changed)
        elif same.get(attribute) is not None and not beside:
            before = copy.deepcopy(plain)
        if attribute == "name" and same.get("name"):
            renamed(changed, same.get("name", ""), choice)
        same.set(attribute, choice)
        yield before, changed
        if beside:
            yield plain, changed


def _set(root: Element, found: Element, beside: dict[str, str | None]) -> None:
    above = {below: x for x in root.iter() for below in x}
    for name, value in beside.items():
        at = above[found] if name.startswith("^") else found
        if name.startswith("/"):
            tag, _, key = name[1:].partition("@")
            one = root.find(tag)
            one = ElementTree.SubElement(root, tag) if one is None else one
            one.attrib.pop(key, None) if value is None else one.set(key, value)
        elif value is not None:
            at.set(name.removeprefix("^"), value)
        elif name.startswith("*"):
            for x in found.findall(name[1:]):
                found.remove(x)
        else:
            at.attrib.pop(name, None)


def renamed(root: Element, old: str, new: str) -> None:
    """Give a name, and all that refers to it, another one."""
    for element in root.iter():
        for key, value in element.attrib.items():
            if value == old:
                element.set(key, new)
