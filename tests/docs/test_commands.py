"""Every command in the documentation and the README runs (slow), like those of `--help`
(`tests/cli/test_help.py`), and names an existing command and an existing model.
"""

import re
import shlex
from pathlib import Path

import pytest

from tests.cli.command_line import PENDULUM, write, zwang
from zwang.cli import COMMANDS
from zwang.gallery.index import ENTRIES

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PLACEHOLDER = re.compile(r"\b(FILE|MODEL|NAME|WORD|DIR|CODE|robot\.yaml)\b")
ELSEWHERE = {
    "view": "opens a browser and serves until it is stopped: tests/output/viewer/test_command.py",
    "reproduce": "each paper is a test of its own: tests/papers",
}


def shown() -> set[str]:
    """The commands in code blocks and in backticks, except those with a placeholder."""
    found: set[str] = set()
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        # fences open and close in turn
        for block in re.split(r"^```", text, flags=re.MULTILINE)[1::2]:
            found |= set(re.findall(r"^zwang +([^\n#]*)", block, re.MULTILINE))
        found |= set(re.findall(r"`zwang +([^`\n]*)`", text))
    # a word alone is the name of a command
    whole = (" ".join(x.split()) for x in found if not PLACEHOLDER.search(x))
    return {x for x in whole if x in ("list", "--help") or re.search(r"^\S+ [^-]", x)}


def test_commands_are_found():
    assert {"list", "check five-bar --set angle=0", "run my_model.py --duration 5"} <= shown()
    assert len(shown()) > 22


@pytest.mark.parametrize("words", sorted(shown()))
def test_a_command_names_what_exists(words):
    command, *rest = shlex.split(words)
    if command != "--help":
        assert command in COMMANDS
    if rest and command not in ("explain", "list", "reproduce") and "." not in rest[0]:
        assert rest[0].removeprefix("results/") in ENTRIES


@pytest.mark.slow
@pytest.mark.parametrize("words", sorted(x for x in shown() if x.split()[0] not in ELSEWHERE))
def test_a_command_of_the_documentation_runs(words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("model.py", "my_model.py"):
        write(tmp_path, PENDULUM, name)
    # what the page of joints calls its examples, all of which tests/mechanism runs
    for name in ("four-bar.toml", "example.toml"):
        write(tmp_path, zwang("list", "four-bar", "--file").out, name)
    answer = zwang(*shlex.split(words))
    assert answer.code == 0, answer.err
