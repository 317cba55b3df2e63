"""Hostile scripts, names, words of the command line and output paths: input → sentence."""

from __future__ import annotations

from pathlib import Path

import jax.numpy as jnp
import numpy as np

import zwang as zw
from zwang.files import make_folder, page, write_bytes
from zwang.plots import Curve, Panel, Picture
from zwang.simulation.results import Variables
from zwang.simulation.results.saving import save

from .case import Case
from .catalogue_files import LONG, call, device, fifo, loop, words


def script(name: str, text: str | bytes, says: str, line: int = 12) -> Case:
    return Case(name, line, says, argv=("check", "s.py"), code=2, files={"s.py": text})


# --- scripts, which are trusted, but not to end well
SCRIPTS = [
    script("a script that exits with 0", "raise SystemExit(0)", "line 1: SystemExit"),
    script("a script that calls exit", "import sys\nsys.exit('no')", "line 2: SystemExit: no"),
    script("a BaseException of a script", "class X(BaseException): pass\nraise X('y')",
           "line 2: X: y"),
    script("a GeneratorExit", "raise GeneratorExit", "GeneratorExit"),
    script("a cancelled task", "import asyncio\nraise asyncio.CancelledError", "CancelledError"),
    script("a group of exceptions", "raise ExceptionGroup('g', [ValueError(1)])", "ExceptionGroup"),
    script("an exception that cannot be shown",
           "class X(Exception):\n def __str__(self): raise ValueError\nraise X", "line 3: X"),
    script("an endless recursion", "def f(): f()\nf()", "RecursionError"),
    script("a script without memory", "raise MemoryError", "MemoryError"),
    script("control codes in an error", "raise ValueError('\\x1b[31mred\\x07')",
           r"\\x1b\[31mred\\x07"),
    script("an error of 1e5 characters", "raise ValueError('y' * 10**5)", "ValueError: y+ …"),
    script("NUL in a script", b"a = 1\0", "null bytes"),
    script("an unknown encoding of a script", "# coding: nonsense\nx = 1", "nonsense"),
    script("a script in Latin-1", "x = 'é'".encode("latin-1"), "syntax error|utf-8"),
    script("1000 brackets in a script", "(" * 1000 + ")" * 1000, "too many nested|s_push|line"),
    script("an integer of 10000 digits", "x = " + "9" * 10_000, "digits"),
    script("a model that exits in its function",
           "import zwang as zw, sys\nimport jax.numpy as jnp\n"
           "def force(q, v, t, p): sys.exit(3)\n"
           "system = zw.System(1, lambda q, t, p: jnp.ones(1), force)\n"
           "model = zw.Model(system)\nq0 = v0 = [0.0]", "SystemExit|exit|force"),
]  # fmt: skip

# --- names in Python


def system(**options) -> zw.System:
    return zw.System(1, lambda q, t, p: jnp.ones(1), lambda q, v, t, p: jnp.zeros(1), **options)


def model(name: str = "model", rod: str = "rod") -> zw.Model:
    return zw.Model(system(), [zw.Holonomic(lambda q, t, p: q[0], name=rod)], name=name)


BAD_NAMES = {
    "NUL": ("a\0", r"U\+0000"),
    "an escape code": ("\x1b[31m", r"U\+001B"),
    "a surrogate": ("\ud800", r"U\+D800"),
    "a line break": ("a\nb", r"U\+000A"),
    "a reversed text": ("\u202etxet", r"U\+202E"),
    "5000 characters": (LONG, "5000 characters"),
    "nothing": ("", "is empty"),
    "a number": (3, "expected a text"),
}
NAMES = [
    case
    for what, (bad, says) in BAD_NAMES.items()
    for case in (
        call(f"{what} as a coordinate's name", 12, lambda _, x=bad: system(coordinates=[x]), says),
        call(f"{what} as a model's name", 12, lambda _, x=bad: model(name=x), says),
        call(f"{what} as a constraint's name", 12, lambda _, x=bad: model(rod=x), says),
    )
]

# --- words of the command line
WORDS = [
    words("a setting of 5000 brackets", 12, ("check", "pendulum", "--set", "mass=" + "[" * 5000),
          "mass is"),
    words("a setting of 4400 digits", 12, ("check", "pendulum", "--set", "mass=" + "9" * 4400),
          "mass is"),
    words("a setting of 1e400", 12, ("check", "pendulum", "--set", "mass=1e400"), "finite number"),
    words("a setting that is no number", 12, ("check", "pendulum", "--set", "mass=nan"),
          "finite number"),
    words("a setting with a long name", 12, ("check", "pendulum", "--set", f"{LONG}=1"),
          "unknown setting"),
    words("a setting with an escape code", 12, ("check", "pendulum", "--set", "\x1b[2J=1"),
          r"\\x1b"),
    words("a whole number of 4400 digits", 12, ("check", "n-four-bar", "--set", "N=" + "9" * 4400),
          "whole number"),
    words("a model with an escape code", 12, ("check", "\x1b[2J"), r"\\x1b\[2J"),
    words("a model with a long name", 12, ("check", LONG), "unknown model|no file"),
    words("a word to look for with NUL", 12, ("list", "\0\x1b"), r"\\x00\\x1b"),
    words("a command with an escape code", 12, ("\x1b[2J",), r"\\x1b"),
    words("an option with an escape code", 12, ("run", "pendulum", "--\x1b[2J"), r"\\x1b"),
    words("no step at all", 13, ("run", "pendulum", "--max-steps", "0"), "--max-steps"),
    words("half a step", 13, ("run", "pendulum", "--max-steps", "2.5"), "--max-steps"),
    words("a page with NUL in its name", 12, ("view", "a\0b"), "null byte|there is no run"),
    words("a page with a long name", 12, ("view", LONG), "there is no run"),
    words("a page with an escape code", 12, ("view", "\x1b[2J"), r"no run \\x1b"),
    words("a paper with an escape code", 12, ("reproduce", "\x1b[2J"), r"\\x1b"),
    words("papers into a file", 9, ("reproduce", "scara", "--out", "/dev/null/x"),
          "cannot make the folder"),
    words("papers into NUL", 12, ("reproduce", "scara", "--out", "a\0b"),
          "null byte|no folder can have this name"),
    words("papers into a long name", 12, ("reproduce", "scara", "--out", LONG),
          "cannot make the folder"),
]  # fmt: skip

# --- places to write to


def results() -> Variables:
    return Variables(
        {"q": (("time",), np.zeros(2), {})}, {"time": (("time",), np.arange(2), {})}, {}
    )


def picture() -> Picture:
    return Picture([Panel([Curve([0.0, 1.0], [0.0, 1.0])], "y")])


def _taken(folder: Path, name: str) -> Path:
    (folder / name).mkdir()
    return folder / name


UNKNOWN_ENDING = "names no format; expected .nc .*, .csv"
OUTPUT = [
    *(
        call(f"results as {ending or 'nothing'}", 6,
             lambda f, e=ending: save(results(), f / f"a{e}"), UNKNOWN_ENDING)
        for ending in (".txt", ".hdf", ".xlsx", ".npz", "", ".nc.gz", ".json")
    ),
    call("a picture as .xyz", 6, lambda f: picture().save(f / "a.xyz"), "names no format"),
    call("a picture as nothing", 6, lambda f: picture().save(f / "a"), "names no format"),
    call("results into no folder", 9, lambda f: save(results(), f / "b" / "a.nc"),
         "does not exist"),
    call("results onto a folder", 9, lambda f: save(results(), _taken(f, "a.nc")),
         "it is a folder"),
    call("a table onto a folder", 9, lambda f: save(results(), _taken(f, "a.csv")),
         "it is a folder"),
    call("a page as .gif", 6, lambda f: page(f / "a.gif"), "names no page; expected .html"),
    call("a page without a name", 12, lambda f: page(None), "path is None, expected the name"),
    call("a picture onto a folder", 9, lambda f: picture().save(_taken(f, "a.svg")),
         "it is a folder"),
    call("results onto a pipe", 9, lambda f: save(results(), fifo(f, ".nc")), "no regular file"),
    call("results onto a device", 9, lambda f: save(results(), device(f, ".nc")),
         "no regular file"),
    call("results under a long name", 9, lambda f: save(results(), f / f"{LONG}.nc"),
         "name too long"),
    call("results under a name with NUL", 12, lambda f: save(results(), f / "a\0.nc"), "this name"),
    call("results onto a link to itself", 9, lambda f: save(results(), loop(f, ".nc")),
         "cannot write"),
    call("a folder under a file", 9, lambda f: make_folder(Path("/dev/null") / "a"), "cannot make"),
    call("a folder with a long name", 9, lambda f: make_folder(f / LONG), "name too long"),
    call("a file in no folder", 9, lambda f: write_bytes(f / "b" / "c", b""), "no such file"),
]  # fmt: skip

CASES = (*SCRIPTS, *NAMES, *WORDS, *OUTPUT)
