"""Files are short and well named, and no file contains a fixed download address."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "zwang"
MOST_LINES = 440
SAYS_NOTHING = {"utils", "util", "core", "helpers", "helper", "common", "manager", "misc"}
ADDRESS = re.compile(r"\w+://|--(extra-)?index-url|--find-links|\s@\s")


COLUMNS = 100
TEXTS = {".py", ".pyi", ".md", ".toml", ".txt", ".cff", ".c", ".h", ".in", ".js", ".css", ".html"}
"""Files that people write. Pictures (.svg) and reference values (.json) are written by programs."""
FOLDERS = ("src", "tests", "benchmarks", "docs", "examples", ".ci")
KEPT = {*FOLDERS, "paper", "verification", ".editorconfig", ".gitignore", "Makefile", "LICENSE"}
KEPT |= {"README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "CITATION.cff"}
KEPT |= {"pyproject.toml", "constraints.txt", ".githooks"}
"""What lies in the root of the repository: nothing that a download or a run left there."""
BUILT = {"_build", "jupyter_execute", "mathjax", "__pycache__"}
WIDE = {
    "src/zwang/output/viewer/three.js": "a bundle that esbuild writes",
    "src/zwang/output/report/uplot.js": "the program of uPlot as published",
    "src/zwang/output/report/uplot.css": "the style sheet of uPlot as published",
    "docs/performance.md": "tables of measured values, written by `python -m benchmarks page`",
    "tests/hostile/catalogue_arguments.py": "a table, one case a row",
    "tests/hostile/catalogue_calls.py": "a table, one case a row",
}
"""Files that may have longer lines, with the reason."""


def source_files():
    files = sorted(SOURCE.rglob("*.py"))
    assert files, f"no Python file in {SOURCE}"
    return files


def project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def canonical(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def test_a_file_fits_in_the_head():
    lengths = {
        path.relative_to(ROOT): len(path.read_text().splitlines()) for path in source_files()
    }
    too_long = {str(path): lines for path, lines in lengths.items() if lines > MOST_LINES}
    assert not too_long, f"more than {MOST_LINES} lines: {too_long}"


MADE_BY_DOCS = ("docs/gallery/", "docs/joints.md")
"""Pages that `make docs` writes, which nobody commits."""


def written_files():
    """Every file in the repository that people write."""
    files = [path for path in ROOT.iterdir() if path.is_file()]
    files += [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.is_file()]
    for path in files:
        named = path.suffix in TEXTS or path.name in {"Makefile", "LICENSE", "run"}
        place = path.relative_to(ROOT)
        made = place.as_posix().startswith(MADE_BY_DOCS)
        if named and not made and not BUILT & {*place.parts}:
            yield path


def test_the_root_holds_what_belongs_there():
    if not (ROOT / ".git").exists():
        pytest.skip("not a checkout")
    names = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout
    assert {name.split("/")[0] for name in names.split("\0") if name} == KEPT


def test_a_line_fits_on_a_screen():
    """A line that is one word, such as an address, cannot be broken; all others can."""
    long = []
    for path in written_files():
        name = path.relative_to(ROOT).as_posix()
        lines = path.read_text(encoding="utf-8").splitlines()
        over = [i for i, line in enumerate(lines, 1) if len(line) > COLUMNS and " " in line.strip()]
        if name in WIDE:
            assert over, f"{name} needs no exception any more"
        else:
            long += [f"{name}:{i}" for i in over]
    assert not long, f"more than {COLUMNS} columns: {long}"


def test_a_name_says_what_is_inside():
    paths = {path.relative_to(SOURCE) for path in source_files()}
    wrong = sorted(
        str(path)
        for path in paths
        if SAYS_NOTHING & {part.strip("_") for part in path.with_suffix("").parts}
    )
    assert not wrong, f"name these after what they hold: {wrong}"


def test_the_package_says_that_it_is_typed():
    assert (SOURCE / "py.typed").is_file()


def test_constraints_are_names_and_versions_only():
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    assert lines
    wrong = [line for line in lines if not re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.]+", line)]
    assert not wrong, f"not `name==version`: {wrong}"


def test_every_dependency_is_pinned():
    table = project()["project"]
    required = [
        *table["dependencies"],
        *(r for extra in table["optional-dependencies"].values() for r in extra),
    ]
    names = {
        canonical(re.match(r"[A-Za-z0-9._-]+", requirement)[0]) for requirement in required
    } - {"zwang"}
    pinned = {
        canonical(line.split("==")[0])
        for line in (ROOT / "constraints.txt").read_text().splitlines()
    }
    assert names <= pinned, f"add to constraints.txt: {sorted(names - pinned)}"


@pytest.mark.parametrize("name", ["constraints.txt", "pyproject.toml", "Makefile", ".ci/run"])
def test_no_file_records_where_packages_are_downloaded(name):
    text = (ROOT / name).read_text()
    for homepage in project()["project"].get("urls", {}).values():
        text = text.replace(homepage, "")
    wrong = [
        line
        for line in text.splitlines()
        if ADDRESS.search(line) and not line.lstrip().startswith("@")
    ]
    assert not wrong, f"{name} names an address: {wrong}"


def test_the_files_that_contributors_are_sent_to_exist():
    named = re.findall(r"`(src/zwang/[\w/.]+)`", (ROOT / "CONTRIBUTING.md").read_text())
    assert len(named) > 20
    missing = [path for path in named if not (ROOT / path).exists()]
    assert not missing
