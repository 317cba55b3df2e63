"""Packages needed at run time have version bounds, which include the versions of the tests."""

import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import zwang

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
NEEDED = [Requirement(x) for x in PROJECT["dependencies"]]
PINNED = {
    canonicalize_name(name): version
    for name, _, version in (
        line.partition("==")
        for line in (ROOT / "constraints.txt").read_text().splitlines()
        if "==" in line and not line.startswith("#")
    )
}
EXTRAS = PROJECT["optional-dependencies"]
TOOLS = ("test", "docs", "dev", "bench", "bench-drake", "robots-test", "all")
"""Extras of developers, which are installed at the versions in constraints.txt."""
OPTIONAL = [
    Requirement(x)
    for name, extra in EXTRAS.items()
    if name not in TOOLS
    for x in extra
    if not x.startswith("zwang[")
]
UNANNOUNCED = {"xarray", "distributed", "flatbuffers", "pyarrow"}
"""Packages whose version is a date, or has a new first number every quarter: it announces no break.
"""


@pytest.mark.parametrize("needed", [*NEEDED, *OPTIONAL], ids=lambda x: x.name)
def test_a_package_of_the_library_has_both_bounds_and_its_version_fits(needed):
    operators = {x.operator for x in needed.specifier}
    assert operators == ({">="} if needed.name in UNANNOUNCED else {">=", "<"})
    assert needed.specifier.contains(PINNED[canonicalize_name(needed.name)])


def test_every_other_requirement_has_a_lower_bound_and_its_version_fits():
    for text in (x for extra in EXTRAS.values() for x in extra if not x.startswith("zwang[")):
        needed = Requirement(text)
        assert any(x.operator in (">=", "==") for x in needed.specifier), text
        pinned = PINNED.get(canonicalize_name(needed.name))
        assert pinned is not None and needed.specifier.contains(pinned), text


def test_the_version_is_one():
    citation = (ROOT / "CITATION.cff").read_text().splitlines()
    assert PROJECT["version"] == zwang.__version__
    assert f"version: {zwang.__version__}" in citation
