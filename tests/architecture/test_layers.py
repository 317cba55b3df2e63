"""A file imports only from the layers below its own; the layers are listed in pyproject.toml."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

from zwang.families import INTEGRATORS

ROOT = Path(__file__).resolve().parents[2]


def test_a_file_imports_only_from_layers_below():
    program = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run(
        [program, "--no-cache", "--no-logo"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={**os.environ, "NO_COLOR": "1"},
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_file_of_stepping_that_has_no_layer_holds_a_method():
    """The contract of `stepping` does not list methods, so that a new one is one file only."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    (layers,) = (c["layers"] for c in contracts["contracts"] if c["id"] == "stepping")
    listed = {name.strip("() ") for layer in layers for name in layer.split("|")}
    methods = {member.module.rpartition(".")[2] for member in INTEGRATORS.members.values()}
    files = {file.stem for file in (ROOT / "src/zwang/stepping").glob("[!_]*.py")}
    assert files == listed | methods
