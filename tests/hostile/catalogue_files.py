"""Hostile files, and paths that are not regular files: input → sentence."""

from __future__ import annotations

import importlib.util
import os
import socket
from collections.abc import Callable
from pathlib import Path

import zwang as zw
from zwang.files import read_bytes
from zwang.files.limits import limit
from zwang.mechanism import read

from .case import Case

LONG = "x" * 5000
BODY = "[bodies.a]\nlength = 1.0\nmass = 1.0\n"
JOINT = 'kind = "revolute"\nbetween = ["ground", "a.start"]\n'
MACHINE = f"{BODY}[joints.A]\n{JOINT}"


def toml(name: str, line: int, text: str | bytes, says: str) -> Case:
    return Case(name, line, says, argv=("check", "m.toml"), code=2, files={"m.toml": text})


def robot(name: str, line: int, text: str | bytes, says: str, ending: str = "sdf") -> Case:
    file = f"r.{ending}"
    return Case(name, line, says, argv=("check", file), code=2, files={file: text})


def words(name: str, line: int, argv: tuple[str, ...], says: str, code: int = 2) -> Case:
    return Case(name, line, says, argv=argv, code=code)


def call(name: str, line: int, do: Callable[[Path], object], says: str) -> Case:
    return Case(name, line, says, do=do)


# --- mechanism files

UNKNOWN_KEYS = {
    "the file": f"odd = 1\n{MACHINE}",
    "a body": f"{BODY}odd = 1\n[joints.A]\n{JOINT}",
    "a joint": f"{MACHINE}odd = 1\n",
    "a point": f"{BODY}[bodies.a.points.P]\nat = [0.0, 0.0]\nodd = 1\n",
    "a shape": f'{BODY}[[bodies.a.shapes]]\nkind = "sphere"\nsize = [1.0]\nodd = 1\n',
    "a drive": f'{MACHINE}[drives.d]\njoint = "A"\nrate = "t"\nodd = 1\n',
    "a spring": f'{MACHINE}[springs.s]\nbetween = ["ground", "a.end"]\nstiffness = 1.0\nodd = 1\n',
    "a bushing": f'{MACHINE}[bushings.s]\nbetween = ["ground", "a.end"]\n'
    "stiffness = [1.0, 1.0, 1.0]\nodd = 1\n",
    "a force": f'{MACHINE}[forces.f]\non = "a.end"\neffort = [1.0, 0.0]\nodd = 1\n',
    "a start": f"{MACHINE}[start.A]\nrate = 1.0\nodd = 1\n",
    "an actuator": f'{MACHINE}[actuators.u]\njoint = "A"\nodd = 1\n',
    "a servo constraint": f'{MACHINE}[servo.s]\njoint = "A"\nodd = 1\n',
}
TOML = [
    *(
        toml(f"an unknown key in {where} of a mechanism file", 6, text, "there is no 'odd' here")
        for where, text in UNKNOWN_KEYS.items()
    ),
    toml(
        "an unknown key of a parameter", 6, "[parameters]\nm = {value=1, odd=2}", "expected value"
    ),
    toml("an integer of 4400 digits", 12, "a = " + "9" * 4400, "line 1: a number has 4400 digits"),
    toml("a float of 4400 digits", 12, f"a = 0.{'1' * 4400}", "4400 digits in a row"),
    toml("a hexadecimal number of 5000 digits", 12, "a = 0x" + "f" * 5000, "digits in a row"),
    toml("5000 nested lists", 12, "a=" + "[" * 5000 + "]" * 5000, "nested deeper than 32"),
    toml("5000 nested tables", 12, "a=" + "{a=" * 5000 + "1" + "}" * 5000, "nested deeper than 32"),
    toml("a bracket 5000 times", 12, "[" * 5000, "nested deeper than 32"),
    toml("a dotted key of 1e5 parts", 10, ".".join("a" * 100_000) + "=1", "more than 16 parts"),
    toml("a dotted key of 1e5 texts", 10, ".".join(['"a"'] * 10**5) + "=1", "more than 16 parts"),
    toml("a table with 1e4 parts", 10, "[" + ".".join("a" * 10_000) + "]", "more than 16 parts"),
    toml("a dotted key in a list", 10, "a=[{" + "a." * 100 + "b=1}]", "more than 16 parts"),
    toml("1e5 keys", 10, "\n".join(f"a{i}=1" for i in range(10**5)), "more than 50000 entries"),
    toml("1e5 tables", 10, "[[a]]\n" * 10**5, "more than 50000 entries"),
    toml("1e5 numbers in a list", 10, "a=[" + "1," * 10**5 + "]", "more than 50000 entries"),
    toml("quotes that never close", 10, 'a="""' + '"\\' * 10**5, "no closing quote"),
    toml("1e5 single quotes", 10, "'" * 10**5 + "'", "line 1"),
    toml("too large a file", 10, b"#" * (limit("toml_size") + 1), "has more than 1048576 bytes"),
    toml(
        "a name of 5000 characters", 12, f"[bodies.{LONG}]\nmass=1", "5000 characters .*at most 200"
    ),
    toml("a parameter of 5000 characters", 12, f"[parameters]\n{LONG}=1", "5000 characters"),
    toml("NUL in a name", 12, '[bodies."a\\u0000"]\nmass=1', r"control character U\+0000"),
    toml("an escape code in a name", 12, '[bodies."\\u001b[31m"]\nmass=1', r"character U\+001B"),
    toml("DEL in a name", 12, '[bodies."a\\u007f"]\nmass=1', r"control character U\+007F"),
    toml("a C1 code in a name", 12, '[bodies."a\\u009b"]\nmass=1', r"control character U\+009B"),
    toml("a line separator in a name", 12, '[bodies."a\\u2028"]\nmass=1', r"character U\+2028"),
    toml("a reversed text as name", 12, '[bodies."a\\u202e"]\nmass=1', r"character U\+202E"),
    toml("a line break in a name", 12, '[bodies."a\\nb"]\nmass=1', r"control character U\+000A"),
    toml("an empty name", 12, '[bodies.""]\nmass=1', "is empty"),
    toml("a surrogate in a name", 12, '[bodies."\\ud800"]\nmass=1', "not a Unicode scalar value"),
    toml("NUL in a text", 12, 'description = "a\\u0000"', r"control character U\+0000"),
    toml(
        "an escape code in a text", 12, 'description = "\\u001b[2J"', r"control character U\+001B"
    ),
    toml(
        "a mass of 1e200",
        12,
        "[bodies.a]\nmass=1e200",
        "line 2: bodies.a.mass: is 1e\\+200, .* up to 1e100",
    ),
    toml("a length of -1e200", 12, "[bodies.a]\nlength=-1e200", "up to 1e100"),
    toml("a mass of infinity", 12, "[bodies.a]\nlength=1.0\nmass=inf", "expected a finite number"),
    toml("a mass that is no number", 12, "[bodies.a]\nlength=1.0\nmass=nan", "mass"),
    toml("a formula of 1e200", 12, "[parameters]\nm = '1e200*1e200'", "expected a finite number"),
    toml(
        "a formula of 4400 digits", 12, f"[parameters]\nm = '{'9' * 4400}'", "expected at most 500"
    ),
    toml(
        "a formula of 200 brackets",
        12,
        f"[parameters]\nm = '{'(' * 240}1{')' * 240}'",
        "no formula",
    ),
    toml("a formula of 400 signs", 12, f"[parameters]\nm = '{'-' * 400}1'", "m"),
    toml("a power of powers", 12, "[parameters]\nm = '9**9**9**9**9'", "m"),
    toml("a call in a formula", 12, "[parameters]\nm = '__import__(1)'", "no function"),
    toml("UTF-16", 12, MACHINE.encode("utf-16"), "not a text file in UTF-8"),
    toml("Latin-1", 12, 'name = "é"'.encode("latin-1"), r"not a text file in UTF-8 \(line 1\)"),
    toml("UTF-7 in a name", 12, "[bodies.+AGE-]\nmass=1", "line 1"),
    toml("a binary file", 12, bytes(range(256)), "not a text file in UTF-8"),
    toml("NUL between keys", 12, "a = 1\0\nb = 2", "m.toml"),
    toml("half a file", 12, MACHINE[: len(MACHINE) // 2], "m.toml"),
    toml("an empty file", 12, "", "m.toml"),
    toml("a date that does not exist", 12, "a = 2024-02-31", "m.toml"),
    toml("a key twice", 6, "[bodies.a]\nmass=1\nmass=2", "only once|overwrite"),
    toml("a table twice", 6, "[bodies.a]\nmass=1\n[bodies.a]\nmass=2", "only once|twice"),
    toml(
        "a mesh with NUL in its name",
        12,
        f'{BODY}shapes=[{{kind="mesh", file="a\\u0000.stl"}}]',
        "U",
    ),
    toml(
        "a mesh with a long name",
        12,
        f'{BODY}shapes=[{{kind="mesh", file="{LONG}.stl"}}]',
        "no file",
    ),
    toml("a mesh that is a folder", 12, f'{BODY}shapes=[{{kind="mesh", file="."}}]', "no file"),
]

# --- robot files


def sdf(inside: str, version: str = "1.7") -> str:
    return f'<sdf version="{version}"><model name="m">{inside}</model></sdf>'


LINKS = '<link name="a"/><link name="b"/>'


def sdf_joint(name: str, parent: str, child: str, kind: str = "revolute") -> str:
    axis = "<axis><xyz>0 0 1</xyz></axis><axis2><xyz>0 1 0</xyz></axis2>"
    return (
        f'<joint name="{name}" type="{kind}"><parent>{parent}</parent><child>{child}</child>'
        f"{axis}</joint>"
    )


ARM = LINKS + sdf_joint("j", "world", "a", "fixed")
BODY_MJCF = '<body><joint/><geom size="1"/></body>'


def flexcomp(attributes: str) -> str:
    """An MJCF file with a deformable body."""
    made = f'<flexcomp name="f" dim="3" spacing=".1 .1 .1" radius=".01" {attributes}/>'
    return f"<mujoco><worldbody>{made}</worldbody></mujoco>"


ROBOTS = [
    robot("two joints of one name", 6, sdf(ARM + sdf_joint("j", "a", "b")),
          "two joints are named 'j'"),
    robot("two links of one name", 6, sdf(f'{ARM}<link name="a"/>'), "two links are named 'a'"),
    robot("a joint named like a part of another", 6,
          sdf(LINKS + sdf_joint("j", "world", "a", "universal") + sdf_joint("j.first", "a", "b")),
          "two joints move by a coordinate 'j.first'"),
    robot("a joint of a link with itself", 6, sdf(LINKS + sdf_joint("j", "a", "a")), "to itself"),
    robot("a joint that carries the world", 6, sdf(LINKS + sdf_joint("j", "world", "world")),
          "exchange the two"),
    robot("frames in a circle", 6,
          sdf('<link name="a"><pose relative_to="b"/></link><link name="b"><pose relative_to="a"/>'
              "</link>"), "relative to each other in a circle"),
    robot("frames attached to each other", 6,
          sdf('<frame name="f" attached_to="g"/><frame name="g" attached_to="f"/>' + LINKS
              + sdf_joint("j", "f", "a")), "in a circle"),
    robot("two masses of a link", 6,
          sdf('<link name="a"><inertial><mass>1</mass><mass>2</mass></inertial></link>'),
          "has two elements mass"),
    robot("a cross of oblique axes", 6,
          sdf(LINKS + sdf_joint("j", "world", "a", "universal").replace("0 1 0", "0 1 1")),
          "expected a right angle"),
    robot("a file that includes itself", 10,
          sdf(LINKS + "<include><uri>r.sdf</uri></include>"), "includes itself"),
    robot("a version that is no version", 12, sdf(LINKS, "2.0"), "such as 1.9 or 1.12"),
    robot("a truth value that is none", 12, sdf('<link name="a"><gravity>down</gravity></link>'),
          "expected true or false"),
    robot("joints that mimic each other", 6,
          sdf(LINKS + "".join(
              sdf_joint(n, "world", child).replace("</axis>", f'<mimic joint="{m}"/></axis>', 1)
              for n, m, child in (("j", "k", "a"), ("k", "j", "b")))),
          "mimic each other in a circle"),
    robot("a link without a name", 6, sdf("<link/>"), "a link has no name"),
    robot("two models", 6, f'<sdf>{"<model/>" * 2}</sdf>', "has 2 models"),
    robot("a pose of 1e200", 12, sdf('<link name="a"><pose>1e200 0 0 0 0 0</pose></link>'),
          "1e100"),
    robot("a pose that is no number", 12, sdf('<link name="a"><pose>nan 0 0 0 0 0</pose></link>'),
          "nan"),
    robot("an infinite mass of a link", 12,
          sdf('<link name="a"><inertial><mass>inf</mass></inertial></link>'), "inf"),
    robot("a mass of zero", 6, sdf('<link name="a"><inertial><mass>0</mass></inertial></link>'),
          "not positive"),
    robot("3000 links", 10, sdf("".join(f'<link name="l{i}"/>' for i in range(3000))),
          "at most 2000"),
    robot("a version of 4400 digits", 12, sdf(LINKS, "9" * 4400), "expected 1 number"),
    *(
        case
        for ending, root in (("sdf", "sdf"), ("urdf", "robot"), ("xml", "mujoco"))
        for case in (
            robot(f"1e5 nested elements in {ending}", 12,
                  "<a>" * 10**5 + "</a>" * 10**5, "nested deeper than 200", ending),
            robot(f"2e5 elements in {ending}", 10,
                  f"<{root}>{'<b/>' * 200_000}</{root}>", "more than 100000 elements", ending),
            robot(f"entities in {ending}", 12, f"<!DOCTYPE a [<!ENTITY b 'c'>]><{root}/>",
                  "declares a document type or entities", ending),
            robot(f"a document type in small letters in {ending}", 12, f"<!doctype a><{root}/>",
                  "document type", ending),
            robot(f"UTF-7 in {ending}", 12, f'<?xml version="1.0" encoding="utf-7"?><{root}/>',
                  "declares the encoding 'utf-7'", ending),
            robot(f"an unknown encoding in {ending}", 12,
                  f'<?xml version="1.0" encoding="{"q" * 500}"?><{root}/>', "expected UTF-8",
                  ending),
            robot(f"UTF-16 in {ending}", 12, f"<{root}/>".encode("utf-16"), "not a text file",
                  ending),
            robot(f"NUL in {ending}", 12, f"<{root}>\0</{root}>", "no XML", ending),
            robot(f"an empty {ending} file", 12, "", "no XML: no element", ending),
            robot(f"half of an {ending} file", 12, f"<{root}><link name=", "no XML", ending),
            robot(f"a name of 5000 characters in {ending}", 12,
                  f'<{root} name="{LONG}"/>', "5000 characters", ending),
            robot(f"a C1 code in a name in {ending}", 12,
                  f'<{root} name="a&#x9b;31m"/>', r"U\+009B", ending),
            robot(f"a line break in a name in {ending}", 12,
                  f'<{root} name="a&#10;b"/>', r"U\+000A", ending),
            robot(f"a surrogate in {ending}", 12, f'<{root} name="&#xd800;"/>', "no XML", ending),
            robot(f"too large an {ending} file", 10, b" " * (limit("xml_size") + 1),
                  "more than 16777216 bytes", ending),
        )
    ),
    robot("replicate 1e7 times", 10,
          f'<mujoco><worldbody><replicate count="10000000">{BODY_MJCF}'
          "</replicate></worldbody></mujoco>",
          "replicate makes 10000000 copies", "xml"),
    robot("replicate 1000 times in replicate 1000 times", 10,
          f'<mujoco><worldbody><replicate count="1000"><replicate count="1000">{BODY_MJCF}'
          "</replicate></replicate></worldbody></mujoco>", "1000000 copies", "xml"),
    robot("a deformable body of 1e10 bodies", 10, flexcomp('count="10000 10000 100"'),
          "flexcomp makes 10000000000 bodies, expected at most 2000", "xml"),
    robot("a rigid deformable body of 1e10 points", 10,
          flexcomp('count="10000 10000 100" rigid="true"'),
          "flexcomp makes 10000000000 points, expected at most 100000", "xml"),
    robot("1000 deformable bodies of 1000 bodies", 10,
          flexcomp("").replace("<flexcomp", '<replicate count="1000"><flexcomp')
          .replace("/></world", "/></replicate></world"), "makes 1000000 bodies", "xml"),
]  # fmt: skip
if importlib.util.find_spec("mujoco"):  # read in a process of its own, which takes most of a second
    ROBOTS += [
        robot("a texture of 60000 x 60000", 10,
              '<mujoco><asset><texture name="t" type="2d" builtin="flat" width="60000" '
              'height="60000"/>'
              f"</asset><worldbody>{BODY_MJCF}</worldbody></mujoco>", "4096 MiB of memory", "xml"),
        robot("a field of 40000 x 40000 heights", 10,
              '<mujoco><asset><hfield name="h" nrow="40000" ncol="40000" size="1 1 1 1"/></asset>'
              f"<worldbody>{BODY_MJCF}</worldbody></mujoco>", "4096 MiB of memory", "xml"),
        robot("a radius of 1e200", 12,
              '<mujoco><worldbody><body><joint/><geom size="1e200"/></body></worldbody></mujoco>',
              "not finite or beyond 1e100", "xml"),
    ]  # fmt: skip

# --- things that are no regular files


def fifo(folder: Path, ending: str) -> Path:
    path = folder / f"pipe{ending}"
    os.mkfifo(path)
    return path


def device(folder: Path, ending: str) -> Path:
    path = folder / f"device{ending}"
    path.symlink_to("/dev/zero")
    return path


def subfolder(folder: Path, ending: str) -> Path:
    path = folder / f"folder{ending}"
    path.mkdir()
    return path


def socket_file(folder: Path, ending: str) -> Path:
    path = folder / f"socket{ending}"
    here = os.getcwd()
    os.chdir(folder)  # the address of a socket is at most 108 characters long
    try:
        socket.socket(socket.AF_UNIX).bind(path.name)
    finally:
        os.chdir(here)
    return path


def loop(folder: Path, ending: str) -> Path:
    path = folder / f"loop{ending}"
    path.symlink_to(path)
    return path


KINDS = {
    "a pipe": (fifo, r"is a pipe \(FIFO\), expected a regular file"),
    "a device": (device, "is a device, expected a regular file"),
    "a folder": (subfolder, "is a folder, expected a regular file"),
    "a socket": (socket_file, "is a socket, expected a regular file"),
    "a link to itself": (loop, "cannot read"),
    "a name of 5000 characters": (lambda folder, e: folder / f"{LONG}{e}", "cannot read|no file"),
    "a name with NUL": (lambda folder, e: folder / f"a\0{e}", "no file can have this name|no file"),
    "a missing file": (lambda folder, e: folder / f"a{e}", "no such file|no file"),
    "a name with an escape code": (lambda folder, e: folder / f"\x1b[31m{e}", r"\\x1b\[31m"),
}
READERS = {".toml": read, ".urdf": zw.robot, ".xml": zw.robot, ".sdf": zw.robot}
NO_FILES = [
    call(f"{kind} as {ending}", 10, lambda f, m=make, e=ending, r=reader: r(m(f, e)), says)
    for kind, (make, says) in KINDS.items()
    for ending, reader in READERS.items()
] + [
    call(
        "a pipe as mesh",
        10,
        lambda f: read_bytes(fifo(f, ".stl"), "mesh_size", "the mesh"),
        "pipe",
    ),
    words("a folder as a model", 10, ("check", "."), "no regular file"),
    words("a folder with an ending", 10, ("check", "/"), "unknown model|no regular file"),
    words("a device as a model", 10, ("check", "/dev/zero"), "no regular file"),
    words("a script with a long name", 12, ("check", f"{LONG}.py"), "there is no file x+ … x+"),
    words("a script with NUL in its name", 12, ("check", "a\0.py"), "there is no file|null byte"),
    words("a mechanism with an escape code", 12, ("check", "\x1b[2Jm.toml"), r"no file \\x1b\[2Jm"),
    words("a script with a surrogate in its name", 12, ("check", "\udcff.py"), r"\\udcff"),
]

CASES = (*TOML, *ROBOTS, *NO_FILES)
