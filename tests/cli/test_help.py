"""Fast answers without slow imports: help, the version, and the list of models."""

import ast
import importlib
import inspect
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import zwang.cli as zwang_cli

from .command_line import zwang

PROGRAM = """
import json, sys
from zwang.cli import main
codes = [main(words) for words in (["--help"], ["run", "--help"], ["list"], [])]
slow = {"jax", "equinox", "numpy", "scipy", "xarray", "matplotlib", "jinja2"}
print(json.dumps([codes, sorted(slow & set(sys.modules))]))
"""


def test_help_and_list_import_nothing_slow():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        capture_output=True,
        text=True,
        env={**os.environ, "TERM": "dumb"},
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == [[0, 0, 0, 0], []]


def test_help_teaches_by_example():
    text = " ".join(re.sub(r"\x1b\[[0-9;]*m|│", "", zwang("run", "--help").out).split())
    assert "zwang run n-four-bar --set N=3 --duration 10 --rtol 1e-10" in text
    assert "Default: 201" in text and "[s]" in text


def test_paragraphs_are_filled(monkeypatch):
    """At the width of the terminal, not where a line of the source ends."""
    monkeypatch.setenv("COLUMNS", "80")
    text = zwang("export", "--help").out
    assert "before it is written. An FMU with Python inside holds" in text
    assert "of freedom, consistency, kind of each constraint." in zwang().out


def test_no_word_of_help_is_cut(monkeypatch):
    """What an option takes, in a column of its own, is cut where it is wider than that."""
    monkeypatch.setenv("COLUMNS", "80")
    for command in re.findall(r"│ ([a-z-]+) ", zwang().out):
        for line in zwang(command, "--help").out.splitlines():
            assert not re.search(r"<[a-z][^>│]*│", line), (command, line)


def test_units_in_brackets_are_shown():
    """Rich takes an unescaped bracket for its markup, and shows nothing."""
    wrong = []
    for file in Path(zwang_cli.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.keyword) and node.arg == "help":
                text = ast.unparse(node.value)
                wrong += re.findall(r"(?<!\\\\)\[(?!bold\]|/\])[^\]]*\]", text)
    assert not wrong


def test_who_reads_no_further_is_no_fault():
    """`zwang list | head -1`, and the same of help, which ends in another exception."""
    for words in (["list"], ["list", "--help"]):
        process = subprocess.Popen(
            [sys.executable, "-m", "zwang", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        process.wait()


def test_version():
    import zwang as package

    assert zwang("--version").out.strip() == f"zwang {package.__version__}"


def test_the_list_has_every_model_with_its_settings():
    from zwang.gallery.index import ENTRIES

    out = zwang("list").out
    assert {"pendulum", "five-bar", "n-four-bar"} <= set(ENTRIES)
    for name, entry in ENTRIES.items():
        assert name in out
        assert all(setting in out for setting in entry.settings)


def test_the_list_can_be_searched():
    assert "n-four-bar" in zwang("list", "four-bar").out
    assert "pendulum" not in zwang("list", "four-bar").out


def _examples() -> list[str]:
    """The commands that `--help` teaches by, less those that need a file of the user's, serve, run
    for long, or need an extra.
    """
    left_out = r"my_|view|--resume|--stream|reproduce|> |fmu|export|derive scara"
    found: set[str] = set()
    for file in Path(zwang_cli.__file__).parent.rglob("*.py"):
        text = re.sub(r"\s+\\?\s*", " ", file.read_text(encoding="utf-8"))
        found |= set(re.findall(r"\[cyan\]zwang ([^\[]*)\[/\]", text))
    return sorted(x.strip() for x in found if not re.search(left_out, x))


def test_examples_are_found():
    assert len(_examples()) > 20


def test_files_of_examples_are_the_users_by_their_name():
    assert not [words for words in _examples() if re.search(r"\.(toml|py|urdf|xml|nc)\b", words)]


@pytest.mark.slow
@pytest.mark.parametrize("words", _examples())
def test_every_example_of_help_runs(words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    answer = zwang(*shlex.split(words))
    assert answer.code == 0, answer.err


def test_every_command_is_listed_with_what_it_says_of_itself():
    listed = " ".join(re.sub(r"\x1b\[[0-9;]*m|│", "", zwang("--help").out).split())
    for name, module in zwang_cli.COMMANDS.items():
        made = importlib.import_module(f"zwang.cli.{module}").command
        first = " ".join((inspect.getdoc(made) or "").split("\n\n")[0].split())
        assert f"{name} {first}" in listed


@pytest.mark.parametrize(
    ("line", "found"), [("zwang equ", "equilibrium"), ("zwang run --max", "--max-steps")]
)
def test_a_shell_completes_commands_and_options(line, found, monkeypatch):
    monkeypatch.setenv("_ZWANG_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(line.count(" ")))
    answer = zwang()
    assert (answer.code, answer.out.split(), answer.err) == (0, [found], "")
