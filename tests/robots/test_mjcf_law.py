"""No element or attribute of MJCF is ignored silently: each has a rule, and a file with a change of
it gives another model, or another list of omitted parts, or is refused.

The meaning of an attribute for MuJoCo is determined from the numbers of its compiled model that
change.
"""

import re
from fnmatch import fnmatch
from xml.etree import ElementTree

import numpy as np
import pytest

import zwang as zw

from .mjcf_law import ACTS, FAR, LISTED, OTHER, SOLVER, rule, schema
from .mjcf_probes import TOUCHING, WORLD, files, joined, pair, picture
from .mjcf_values import known
from .test_files import saved

mujoco = pytest.importorskip(
    "mujoco", reason="the extra `robots` is not installed: pip install 'zwang[robots]'"
)
from zwang.robots.mujoco_reader import _Reading  # noqa: E402

NO_PART = re.compile(
    r"n?names?(_map)?|nnames_map|name_.*|(stat|vis)\..*|signature|key_time|site_(size|type|dataid)|"
    r"n?(sensor|mat|tex|cam|light|skin|numeric|text|tuple|user|mesh|oct|bvh|paths).*|nbuffer|"
    r"narena|"
    r".*(_user|_rgba|_matid|_group|_bvh(adr|num)|pathadr|historyadr|sameframe|texcoord.*)|nhistory|"
    r"nconmax|njmax|geom_(castshadow|aabb|rbound)|tendon_width|flex_flatskin|opt\.disableflags|"
    r"actuator_(ctrlspec|cranklength|lengthrange)|n(tex|skin|tuple|bvh).*"
)
"""Numbers of pictures, names, sensors and memory, and those that do nothing alone."""
OF_SOLVER = re.compile(
    r".*(solref|solimp).*|.*invweight0|tree_sleep_policy|body_simple|dof_simplenum|"
    r"(jnt|tendon)_margin|opt\.(timestep|(ls_|ccd_)?tolerance|solver|(ls_|ccd_)?iterations|"
    r"noslip.*|cone|jacobian|impratio|integrator|o_.*|sdf_.*|sleep_.*|magnetic|enableflags)"
)
"""Numbers of MuJoCo's solver."""
REFUSED = {
    "compiler/lengthrange/inttotal": "the search for a range needs time",
    "compiler/autolimits": "every range of the file would have to say that it is one",
    "default/class": "the outermost class has its name",
    "default/texture/nchannel": "textures that are made have three",
    "default/geom/f*": "of all geometries, among them planes",
    "default/geom/hfield": "of all geometries, among them planes",
    "default/geom/mesh": "of all geometries, among them planes",
    "default/geom/shellinertia": "of all geometries, among them planes",
    "default/site/fromto": "of all sites, which have a place",
    "extension/plugin/plugin": "the mesh needs the one that it has",
    "asset/mesh/plugin/plugin": "the mesh needs the one that is declared",
    "*skin/file": "beside data",
    "body/geom/hfield": "on a body that moves",
    "body/plugin/*": "no plugin that comes with MuJoCo acts on bodies",
    "body/flexcomp/plugin/*": "no plugin that comes with MuJoCo acts on bodies",
    "deformable/flex/dof": "needs as many nodes",
    "deformable/flex/node": "needs as many as `dof` says",
    "equality/flexstrain/flex": "there is one with nodes",
    "actuator/orientation/site": "needs another beside it",
    "actuator/plugin/instance": "needs one of its own",
    "actuator/plugin/config/key": "needs an activation",
    "sensor/*/cutoff": "of directions",
    "sensor/tactile/geom": "needs another that touches",
    "sensor/plugin/*": "of the one sensor that comes with MuJoCo",
    "compiler/inertiagrouprange": "leaves bodies without mass",
}
"""Attributes for which no value of ours gives a file that MuJoCo takes, and why."""
IDLE = {
    "compiler/balanceinertia": "a test of its own has a file that needs it",
    "compiler/eulerseq": "of angles that stand alone",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the files that probes refer to."""
    made = tmp_path_factory.mktemp("probes")
    (made / "sub" / "sub").mkdir(parents=True)
    for name, text in files().items():
        saved(made, text, name)
    (made / "gray.png").write_bytes(picture())
    return made


def compiled(folder, root: ElementTree.Element):
    """MuJoCo's model, without a process of its own, which takes most of a reader's time."""
    path = saved(folder, ElementTree.tostring(root, encoding="unicode"), "probe.xml")
    spec = mujoco.MjSpec.from_file(str(path))
    spec.compiler.fusestatic = False
    return spec.compile()


def numbers(model) -> dict[str, np.ndarray]:
    """All numbers of a compiled model by name."""
    found = {}
    for name in dir(model):
        value = getattr(model, name)
        if name in ("opt", "stat"):
            parts = [x for x in dir(value) if not x.startswith("_")]
            found |= {f"{name}.{x}": np.array(getattr(value, x)) for x in parts}
        elif not name.startswith("_") and not callable(value) and name != "vis":
            found[name] = np.array(value)
    return found


def changed_numbers(first, second) -> list[str]:
    """Names of numbers in which two models differ."""
    one, two = numbers(first), numbers(second)
    return [x for x in one if not np.array_equal(one[x], two[x])]


def taken(folder, model) -> tuple[str, list[str]]:
    """What a robot is, as a text, and what it leaves out."""
    made = _Reading(mujoco, model, folder / "probe.xml").description
    parts = [made.branches, made.gravity, made.armature, made.damping, made.stiffness, made.rest]
    parts += [made.start, made.loops, made.couplings, made.actuators, made.ranges, made.keyframes]
    with np.printoptions(precision=17, threshold=10**6):
        return repr(parts), made.unsupported


def probed(folder, element: str, attribute: str):
    """The models of a pair of files and what differs; None if MuJoCo takes no such file."""
    best = None
    for before, after in pair(element, attribute):
        try:
            models = compiled(folder, before), compiled(folder, after)
        except ValueError:
            continue
        differing = changed_numbers(*models)
        best = best if best is not None and not differing else (*models, differing)
        if differing or known(element, attribute):
            break
    return best


def wrong(folder, element: str, attribute: str) -> str | None:
    """What is wrong with an attribute: None if its rule holds."""
    way, fate = f"{element.removeprefix('mujoco/')}/{attribute}", str(rule(element, attribute))
    found = probed(folder, element, attribute)
    if found is None:
        return None if any(fnmatch(way, x) for x in REFUSED) else "no file has it"
    before, after, differing = found
    moves = [x for x in differing if not NO_PART.fullmatch(x) and not OF_SOLVER.fullmatch(x)]
    (robot, _), (other, left_out) = taken(folder, before), taken(folder, after)
    same = robot == other and taken(folder, before)[1] == left_out
    if fate in (OTHER, SOLVER):
        return f"has no part in the motion, but changes {moves}" if moves else None
    if fate == ACTS:
        return "changes nothing" if same and way not in IDLE else None
    heads = [*fate.removeprefix(LISTED).split(", or "), FAR.removeprefix(LISTED)]
    said = any(x.startswith(head) for x in left_out for head in heads)
    if moves and not said:
        return f"changes {moves} and is not listed: {left_out}"
    return "acts" if robot != other and not said else None


def test_every_element_and_attribute_of_the_schema_has_a_rule():
    found = schema()
    assert len(found) > 1000
    assert not [x for x in found if rule(*x) is None]


ELEMENTS = list(dict.fromkeys(element for element, _ in schema()))
QUICK = {"mujoco/option", "mujoco/body/inertial", "mujoco/equality/weld", "mujoco/actuator/pid"}


@pytest.mark.one_in(4)
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    "element", [x if x in QUICK else pytest.param(x, marks=pytest.mark.slow) for x in ELEMENTS]
)
def test_another_value_of_an_attribute_acts_or_is_listed_or_is_idle(folder, element):
    found = {x: wrong(folder, element, x) for e, x in schema() if e == element and x}
    assert not {x: sentence for x, sentence in found.items() if sentence}


ADDED = {
    "contact": '<contact><pair geom1="g" geom2="gc"/></contact>',
    "mocap": '<worldbody><body name="moved" mocap="true"/></worldbody>',
    "adhesion": '<actuator><adhesion name="grip" body="c" ctrlrange="0 1"/></actuator>',
    "ball": '<worldbody><body name="z"><joint name="z" type="ball" stiffness="1"/>'
    '<geom size="0.1"/></body></worldbody>',
    "a body": TOUCHING,
    "nothing to move": '<sensor><jointpos joint="j"/></sensor>',
}


@pytest.mark.parametrize("name", ADDED)
def test_an_element_more_is_listed_or_changes_the_model(folder, name):
    plain = taken(folder, compiled(folder, ElementTree.fromstring(WORLD)))
    more = taken(folder, compiled(folder, joined(ElementTree.fromstring(WORLD), ADDED[name])))
    assert (more == plain) == (name == "nothing to move")


UNBALANCED = """<mujoco><compiler balanceinertia="{}"/><worldbody><body name="a"><joint/>
<inertial pos="0 0 0" mass="1" diaginertia="1 1 3"/></body></worldbody></mujoco>"""


def test_inertia_that_no_body_has_is_refused_or_balanced(tmp_path):
    with pytest.raises(zw.ModelError, match="MuJoCo, which reads MJCF, says"):
        zw.robot(saved(tmp_path, UNBALANCED.format("false"), "a.xml"))
    robot = zw.robot(saved(tmp_path, UNBALANCED.format("true"), "a.xml"))
    np.testing.assert_allclose(robot.params["inertia"][0], np.eye(3) * 5 / 3)


MANY = """<mujoco><worldbody>
<body name="a"><joint name="b" type="ball"/><geom size=".1" pos=".1 0 0"/></body>
<body name="c" pos="1 0 0"><joint name="h"/><geom size=".1" pos=".1 0 0"/></body></worldbody>
<actuator><orientation name="o" joint="b" ctrlrange="-1 1"/><pid name="p" joint="h" gear="3"
input="pos vel ff"/><motor name="m" joint="h" gear="5"/></actuator></mujoco>"""


def test_actuators_of_several_signals_and_forces_keep_their_neighbors_right(tmp_path):
    robot = zw.robot(saved(tmp_path, MANY, "many.xml"))
    assert robot.actuators == ("p", "m")
    np.testing.assert_array_equal(robot.actuation_matrix[3], [3.0, 5.0])
    listed = " | ".join(robot.unsupported)
    assert "neither a joint nor a tendon of joints: o" in listed and "control laws" in listed


PLUGGED = """<mujoco><extension><plugin plugin="mujoco.pid"/></extension><worldbody>
<body><joint name="h"/><geom size=".1" pos=".1 0 0"/></body></worldbody><actuator>
<plugin name="law" plugin="mujoco.pid" joint="h"/></actuator></mujoco>"""


def test_the_law_of_an_actuator_by_plugin_is_listed(tmp_path):
    robot = zw.robot(saved(tmp_path, PLUGGED, "plugged.xml"))
    assert robot.actuators == ("law",)
    assert any(
        x.startswith("control laws of actuators") and x.endswith(": law") for x in robot.unsupported
    )
