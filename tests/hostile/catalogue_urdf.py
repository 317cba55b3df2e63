"""URDF files with duplicate, contradictory or endless content; and valid files that a simulator
would refuse by its own rules.
"""

from __future__ import annotations

from pathlib import Path

import zwang as zw
from tests.hostile.case import Case
from tests.hostile.catalogue_files import robot

INERTIA = '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
MASS = f'<inertial><mass value="1"/>{INERTIA}</inertial>'


def link(name: str, inside: str = MASS) -> str:
    return f'<link name="{name}">{inside}</link>'


def joint(name: str, parent: str, child: str, inside: str = "", kind: str = "continuous") -> str:
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f"{inside}</joint>"
    )


def urdf(*parts: str) -> str:
    return f'<robot name="r"><link name="base"/>{"".join(parts)}</robot>'


def wrong(name: str, line: int, text: str, says: str) -> Case:
    return robot(f"URDF: {name}", line, text, says, "urdf")


def right(name: str, text: str, says: str) -> Case:
    """A file that is read: what is listed and noted of it."""

    def read(folder: Path) -> str:
        (folder / "r.urdf").write_text(text)
        made = zw.robot(folder / "r.urdf")
        return "; ".join([f"{made.tree.system.nv} freedoms", *made.unsupported, *made.notes])

    return Case(f"URDF: {name}", 0, says, do=read)


ARM = link("a") + joint("j", "base", "a")
CHAIN = "".join(link(f"l{i}") + joint(f"j{i}", f"l{i - 1}", f"l{i}") for i in range(1, 2500))
CASES = (
    wrong("two links of one name", 6, urdf(ARM, link("a")), "two links are named 'a'"),
    wrong("two joints of one name", 6, urdf(ARM, link("b"), joint("j", "a", "b")),
          "two joints are named 'j'"),
    wrong("two masses", 6,
          urdf(link("a", MASS.replace("<mass", '<mass value="2"/><mass')), joint("j", "base", "a")),
          r"link/inertial \(a\) has two elements mass, expected one"),
    wrong("two axes", 6,
          urdf(link("a"), joint("j", "base", "a", '<axis xyz="1 0 0"/><axis xyz="0 1 0"/>')),
          r"joint \(j\) has two elements axis"),
    wrong("two mimics", 6,
          urdf(ARM, link("b"), joint("k", "a", "b", '<mimic joint="j"/><mimic joint="j"/>')),
          "two elements mimic"),
    wrong("a link with two parents", 1, urdf(ARM, link("b"), joint("k", "b", "a")),
          "carried by two joints, 'j' and 'k'.*close the loop by robot.driven"),
    wrong("parents in a circle", 1, urdf(link("a"), link("b"), joint("j", "a", "b"),
          joint("k", "b", "a")), "link 'a' stands on itself"),
    wrong("mimics in a circle", 1,
          urdf(link("a"), link("b"), joint("j", "base", "a", '<mimic joint="k"/>'),
               joint("k", "a", "b", '<mimic joint="j"/>')),
          "joints mimic each other in a circle: j, k"),
    wrong("rpy beside a quaternion", 6,
          urdf(link("a"), joint("j", "base", "a", '<origin rpy="1 0 0" quat_xyzw="1 0 0 0"/>')),
          "rpy and quat_xyzw, expected one"),
    wrong("a quaternion of zeros", 12,
          urdf(link("a"), joint("j", "base", "a", '<origin quat_xyzw="0 0 0 0"/>')),
          "quat_xyzw is zero"),
    wrong("an axis of zeros", 2, urdf(link("a"), joint("j", "base", "a", '<axis xyz="0 0 0"/>')),
          "axis is zero"),
    wrong("a negative mass", 12,
          urdf(link("a", MASS.replace('mass value="1"', 'mass value="-1"')),
               joint("j", "base", "a")), "mass -1 kg .* is negative"),
    wrong("a mass that is no number", 12,
          urdf(link("a", MASS.replace('mass value="1"', 'mass value="nan"')),
               joint("j", "base", "a")), "mass value: 'nan', expected 1 number"),
    wrong("damping of 1e200", 12,
          urdf(link("a"), joint("j", "base", "a", '<dynamics damping="1e200"/>')), "up to 1e100"),
    wrong("a joint of an unknown type", 12, urdf(link("a"), joint("j", "base", "a", kind="ball")),
          "type 'ball', expected one of .*floating"),
    wrong("what xacro has to write out", 6, urdf(ARM, "<xacro:arm/>"), "xacro FILE"),
    wrong("2500 links", 10, f'<robot name="r">{link("l0")}{CHAIN}</robot>', "at most 2000"),
    wrong("a joint that moves no mass", 5, urdf(link("a", ""), joint("j", "base", "a")),
          "'j' has neither mass nor a constraint"),
    wrong("another root", 12, "<worlds/>", "its root is the element worlds, expected robot"),
    right("a link without mass between two hinges",
          urdf(link("x", ""), joint("k", "base", "x"), link("a"),
               joint("j", "x", "a", '<axis xyz="0 1 0"/>')), "^2 freedoms$"),
    right("an inertia past the triangle inequality",
          urdf(link("a", MASS.replace('ixx="1"', 'ixx="5"')), joint("j", "base", "a")),
          r"no body has such principal moments .*: a \(1, 1, 5 kg"),
    right("a floating joint below the root",
          urdf(ARM, link("b"), joint("f", "a", "b", kind="floating")), "^7 freedoms$"),
    right("a box of no size",
          urdf(link("a", f'{MASS}<visual><geometry><box size="0 0 0"/></geometry></visual>'),
               joint("j", "base", "a")), "^1 freedoms; pictures that cannot be drawn: a$"),
    right("a color of three numbers",
          urdf(link("a", f'{MASS}<visual><geometry><sphere radius="1"/></geometry><material '
               'name="m"><color rgba="1 0 0"/></material></visual>'), joint("j", "base", "a")),
          "^1 freedoms; colors that are none: a$"),
    right("a prefix that is not declared", urdf(ARM, "<ctl:gains/>"),
          "^1 freedoms; elements for other programs: ctl:gains$"),
    right("a damper of 1e11",
          urdf(link("a"), joint("j", "base", "a", '<dynamics damping="1e11"/>')),
          r"Kvaerno5\(\), or a fixed joint: j \(1e\+11/s\)"),
)  # fmt: skip
