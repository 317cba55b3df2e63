"""What the library and the command line advise is there, and is what the reader can do."""

from __future__ import annotations

import ast
import functools
import inspect
import re
from pathlib import Path

import pytest

import zwang as zw
from zwang.cli import COMMANDS
from zwang.cli.advice import REMEDIES, fitted, options_of
from zwang.errors import _SAID_OF, Result

SOURCE = Path(zw.__file__).parent
OPTION = re.compile(r"(?<![\w`-])--([a-z][a-z-]+)")
NAMED = re.compile(r"\bzw\.((?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*)(?:\(([^()]*)\))?")
ADVISES = re.compile(r"zw\.|[a-z]=|rtol|max_steps|start_tolerance|longest_step")
"""What the command line may have to say otherwise."""
ANYWHERE = {"debug", "help", "version"}
"""Options of every command."""


@functools.cache
def sentences() -> dict[str, list[str]]:
    """Texts of each file of the library which are no documentation; what is filled in is "…"."""
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        skipped = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                skipped.add(node.value)
            if isinstance(node, ast.JoinedStr):
                skipped |= set(node.values)
        texts = []
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and node not in skipped:
                texts += [node.value] if isinstance(node.value, str) else []
            elif isinstance(node, ast.JoinedStr):
                parts = [x.value if isinstance(x, ast.Constant) else "…" for x in node.values]
                texts.append("".join(map(str, parts)))
        found[path.relative_to(SOURCE).as_posix()] = [x for x in texts if " " in x]
    return found


def results() -> list[str]:
    """Sentences of result codes, which end compiled motions."""
    return [x.sentence for x in Result] + [y for x in _SAID_OF.values() for y in x.values()]


def test_names_of_the_library_that_are_advised_exist():
    missing = []
    for file, texts in sentences().items():
        for text in texts:
            for name, arguments in NAMED.findall(text):
                place = zw
                try:
                    for part in name.split("."):
                        place = getattr(place, part)
                except AttributeError:
                    missing.append(f"{file}: zw.{name} in {text[:80]!r}")
                    continue
                keys = re.findall(r"(?<![\w.])([a-z]\w*)=", arguments)
                takes = inspect.signature(place).parameters if keys else {}
                missing += [
                    f"{file}: zw.{name} takes no {key}=" for key in keys if key not in takes
                ]
    assert not missing, "\n".join(missing)


def test_options_that_a_command_speaks_of_are_its_own():
    wrong = []
    every = {x for y in COMMANDS.values() for x in options_of(y)}
    for file, texts in sentences().items():
        if not file.startswith("cli/") or file == "cli/advice.py":
            continue
        module = Path(file).stem
        own = options_of(module) if module in COMMANDS.values() else every
        for text in texts:
            if "zwang " in text:  # speaks of another command
                continue
            wrong += [
                f"{file}: --{name} in {text[:80]!r}"
                for name in OPTION.findall(text)
                if name not in own | ANYWHERE
            ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("command", COMMANDS.values())
def test_advice_of_the_library_is_fitted_to_what_a_command_takes(command):
    own = options_of(command)
    wrong = []
    for text in [*results(), *(x for y in sentences().values() for x in y if ADVISES.search(x))]:
        said = fitted(text, command)
        for name in set(OPTION.findall(said)) - set(OPTION.findall(text)):
            if name not in own and f"zwang export --{name}" not in said:
                wrong.append(f"--{name}: {said[:120]}")
        wrong += [x for x in re.findall(r"`zwang ([a-z-]+)", said) if x not in COMMANDS]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("command", ["run", "sweep"])
def test_no_result_of_a_motion_advises_python_on_a_command_line(command):
    # a pseudoinverse that a sweep has is of a .py file, in which the advice can be followed
    fitted_texts = [fitted(x, command) for x in results()]
    left = [x for x in fitted_texts if "zw." in x and not re.search(r"pseudoinverse=", x)]
    assert not left


@pytest.mark.parametrize("phrase", REMEDIES)
def test_every_phrase_is_still_said_by_the_library(phrase):
    texts = [x for file, y in sentences().items() if file != "cli/advice.py" for x in y]
    assert any(re.search(phrase, x.replace("…", "x")) for x in texts), phrase


@pytest.mark.parametrize(
    ("sentence", "command", "said"),
    [
        (Result.TOO_MANY_STEPS.sentence, "run", "--max-steps, loosen --rtol or take --integrator"),
        (Result.TOO_MANY_STEPS.sentence, "sweep", "long before the end: loosen --rtol"),
        ("give inputs= to zw.linearize.", "linearize", "give --input to `zwang linearize`."),
        ("take zw.Dopri8()", "run", "take --integrator dopri8"),
        ("take zw.Dopri8()", "check", "take zw.Dopri8()"),
        ("it goes on by zw.resume('a/b')", "run", "it goes on by zwang run --resume a/b"),
        ("give zw.simulate(..., loop=zw.Loop())", "run", "zw.simulate(..., loop=zw.Loop())"),
    ],
)
def test_advice_in_words_of_a_command(sentence, command, said):
    assert said in fitted(sentence, command)


def test_the_library_does_not_advise_options_to_readers_in_python():
    fitted_texts = [
        f"{file}: {text[:90]!r}"
        for file, texts in sentences().items()
        if not file.startswith("cli/")
        for text in texts
        if OPTION.search(text)
        and "zwang " not in text
        and "(--" not in text
        and file != "study/result.py"  # writes the command line of a case
    ]
    assert not fitted_texts, "\n".join(fitted_texts)
