"""Every public name has an entry in the reference with an example that runs."""

import importlib
import inspect
import re
import sys
from pathlib import Path

import pytest

import zwang as zw
from zwang.inputs.call import public_names

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "docs"))

from name_examples import EXAMPLES, SAME, pages, program  # noqa: E402 - found beside the pages

NAMES = sorted({*public_names(), *zw._modules})


def entries() -> set[str]:
    """Names that the reference describes, members of modules included."""
    text = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    found = {x.rpartition(".")[2] for x in re.findall(r"auto(?:class|function):: ([\w.]+)", text)}
    for path, options in re.findall(r"automodule:: ([\w.]+)\n((?:   .*\n)*)", text):
        found.add(path.rpartition(".")[2])
        listed = re.search(r":members: (.+(?:\n      .+)*)", options)
        if listed:
            found |= set(re.findall(r"\w+", listed[1]))
        elif ":members:" in options:
            module = importlib.import_module(path)
            found |= {
                name
                for name, x in vars(module).items()
                if (inspect.isclass(x) or inspect.isfunction(x))
                and (x.__module__ == path or ":imported-members:" in options)
            }
    return found


def test_every_public_name_has_an_entry():
    others = {"robot": "read"}  # the name at home
    assert not [name for name in NAMES if others.get(name, name) not in entries()]


def test_every_public_name_has_an_example():
    used = pages()
    assert not [name for name in NAMES if name not in used and program(name) is None]
    # none is left over for a name that is gone, of what functions return as well
    assert not {*EXAMPLES, *SAME} - {*NAMES, "sampling"} - entries()


@pytest.mark.slow
@pytest.mark.parametrize("name", EXAMPLES)
def test_the_example_of_a_name_runs(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    exec(compile(EXAMPLES[name], f"<example of {name}>", "exec"), {})
    shown = capsys.readouterr().out
    assert shown.strip() or name in ("testing", "fmu")
    assert "ArrayImpl" not in shown and "object at 0x" not in shown
