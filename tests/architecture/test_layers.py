"""A file imports only from the layers below its own; the layers are listed in pyproject.toml."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from zwang.objects.families import INTEGRATORS

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


CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"][
    "contracts"
]
LAYERS = {
    contract["id"]: [set(re.findall(r"\w+", layer)) for layer in contract["layers"]]
    for contract in CONTRACTS
}
"""The layers of each contract, from the top, each the names of the files or packages in it."""
PAGE = (ROOT / "docs" / "architecture.md").read_text()


def listed_for(package: str) -> list[set[str]]:
    """The layers of a package as the page on architecture lists them."""
    (row,) = re.findall(rf"^\* - `{package}`\n  - (`.*?;.*?)(?=^\*|^```)", PAGE, re.M | re.S)
    return [set(re.findall(r"`(\w+)`", layer)) for layer in row.split(";")]


@pytest.mark.parametrize("package", ["simulation", "dynamics", "algebra", "equations"])
def test_the_page_on_architecture_lists_the_layers_of_a_package(package):
    assert listed_for(package) == LAYERS[package]


def test_the_page_on_architecture_names_every_package_and_no_file_that_is_not_there():
    packages = {name for layer in LAYERS["layers"] for name in layer} - {"__main__"}
    assert not {name for name in packages if f"`{name}`" not in PAGE}
    named = re.findall(r"(?<![\w/])([a-z_]+/[\w/]*(?:\.py)?)", PAGE)
    below = [path for path in named if path.partition("/")[0] in packages]
    assert len(below) > 30
    assert not {path for path in below if not (ROOT / "src" / "zwang" / path).exists()}
