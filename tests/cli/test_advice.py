"""The advice of the library and of the command line exists and is applicable."""

from __future__ import annotations

import ast
import functools
import inspect
import re
from pathlib import Path

import pytest

import zwang as zw
from tests.cli.command_line import spoken_to
from zwang.cli import COMMANDS
from zwang.cli.advice import fitted, options_of
from zwang.errors import _ENDS_OF, Result
from zwang.remedy import Remedy, advice

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
    """Sentences of result codes, which end compiled motions, as they are said now."""
    others = [x.said_of(name) for name, ends in _ENDS_OF.items() for x in ends]
    return [x.sentence for x in Result] + others


def remedies() -> list[tuple[str, str]]:
    """Options that remedies of the library name, each with its words."""
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "Remedy":
                pairs = [x for x in ast.walk(node) if isinstance(x, ast.Tuple) and len(x.elts) == 2]
                texts = [[ast.unparse(y) for y in x.elts] for x in pairs]
                found += [(a.strip("'"), b) for a, b in texts if a.startswith("'")]
    return found


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
        module = file.removeprefix("cli/").removesuffix(".py").replace("/", ".")
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
    with spoken_to(command):
        said_now = results()
    for text in [*said_now, *(x for y in sentences().values() for x in y if ADVISES.search(x))]:
        said = fitted(text, command)
        for name in set(OPTION.findall(said)) - set(OPTION.findall(text)):
            if name not in own and f"zwang export --{name}" not in said:
                wrong.append(f"--{name}: {said[:120]}")
        wrong += [x for x in re.findall(r"`zwang ([a-z-]+)", said) if x not in COMMANDS]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("command", ["run", "sweep"])
def test_no_result_of_a_motion_advises_python_on_a_command_line(command):
    # a pseudoinverse that a sweep has is of a .py file, in which the advice can be followed
    with spoken_to(command):
        fitted_texts = [fitted(x, command) for x in results()]
    left = [x for x in fitted_texts if "zw." in x and not re.search(r"pseudoinverse=", x)]
    assert not left


@pytest.mark.slow
def test_options_of_remedies_are_those_of_a_command():
    every, found = {x for y in COMMANDS.values() for x in options_of(y)}, remedies()
    assert len(found) > 20
    assert not [(name, words) for name, words in found if name and name not in every]
    assert not [(name, words) for name, words in found if name and f"--{name}" not in words]
    assert not [
        x for _, words in found for x in re.findall(r"`zwang ([a-z-]+)", words) if x not in COMMANDS
    ]


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("run", "the limit: raise --max-steps, loosen --rtol or take --integrator kvaerno5 for a"),
        ("sweep", "the limit: raise --max-steps or loosen --rtol"),
        (
            "analyses.check",
            "the limit: raise max_steps, loosen rtol or take integrator=zw.methods.Kvaerno5",
        ),
    ],
)
def test_remedies_are_those_that_a_command_has(command, said):
    with spoken_to(command):
        ended = Result.TOO_MANY_STEPS.sentence
    assert ended.replace(ended.split(":")[0], "the limit").startswith(said)
    assert advice(Remedy("a"), Remedy("b", options=())) == "a or b"
    with spoken_to(command):  # of a remedy for programs alone nothing is left
        assert advice(Remedy("a"), Remedy("b", options=())) == "a"


@pytest.mark.parametrize(
    ("sentence", "command", "said"),
    [
        (
            "give inputs= to zw.analysis.linearize.",
            "analyses.linearize",
            "give --input to `zwang linearize`.",
        ),
        ("take zw.methods.Dopri8()", "run", "take --integrator dopri8"),
        ("take zw.methods.Dopri8()", "analyses.check", "take zw.methods.Dopri8()"),
        ("give zw.simulate(..., loop=zw.Loop())", "run", "zw.simulate(..., loop=zw.Loop())"),
    ],
)
def test_advice_in_words_of_a_command(sentence, command, said):
    assert said in fitted(sentence, command)


@pytest.mark.slow
def test_the_library_does_not_advise_options_to_readers_in_python():
    of_commands = {ast.literal_eval(words) for _, words in remedies() if words.startswith("'")}
    fitted_texts = [
        f"{file}: {text[:90]!r}"
        for file, texts in sentences().items()
        if not file.startswith("cli/")
        for text in texts
        if OPTION.search(text)
        and "zwang " not in text
        and text not in of_commands
        and file != "study/result.py"  # writes the command line of a case
    ]
    assert not fitted_texts, "\n".join(fitted_texts)
