"""One page explains every end of a run, every warning and every error."""

import ast
import functools
import importlib.util
import pickle
import traceback
from pathlib import Path

import jax.numpy as jnp
import pytest

import zwang as zw
from tests.cli.command_line import PENDULUM, write, zwang
from tests.cli.test_advice import sentences
from tests.conftest import ROOT
from zwang.cli.explain import LINK, explained
from zwang.errors import ExplainedError, ModelError, Result
from zwang.mechanism.toml import read
from zwang.messages import OF_ANY, code_of_module, messages

FORCE = lambda q, v, t, p: jnp.zeros(1)
MASS = lambda q, t, p: jnp.ones(1)
PLAIN_MODEL = zw.Model(zw.System(nq=1, mass_matrix=MASS, force=FORCE))
PLAIN = {Result.SUCCESS, Result.STOPPED, Result.INTERRUPTED, Result.NOT_MET}
"""Ends that say all there is to say."""


@pytest.mark.parametrize("result", [x for x in Result if x not in PLAIN])
def test_every_end_is_explained(result):
    assert "(zwang explain " in explained(f"model: {result.sentence}.")


@pytest.mark.parametrize("message", messages().values(), ids=lambda x: x.code)
def test_every_message_leads_to_a_page_that_there_is(message):
    pages = LINK.findall(message.text)
    assert pages
    for title, page in pages:
        assert f"# {title}\n" in (ROOT / "docs" / page).read_text(encoding="utf-8")


def test_words_of_messages_are_said_by_the_library():
    texts = [x for file, y in sentences().items() if file != "cli/explain.py" for x in y]
    texts += [x.sentence for x in Result]
    own = [x for x in messages().values() if not x.modules and x.code != OF_ANY]
    assert not [x.code for x in own if not any(map(x.says, texts))]


WARNED_IN = ("energy", "servo_warnings", "warnings")
"""Files of `zwang.simulation.results` whose sentences are the warnings of a run."""


def test_every_warning_of_a_run_has_a_section():
    known = [x for x in messages().values() if not x.modules and x.code != OF_ANY]
    texts = [x for name in WARNED_IN for x in sentences()[f"simulation/results/{name}.py"]]
    warned = [x for x in texts if x.endswith(".")]
    assert len(warned) > 10
    ended = f"is not kept at … {Result.NOT_KEPT.sentence}"  # which closes with that of an end
    said = [ended if "is not kept at" in x else x for x in warned]
    assert not [x for x in said if not any(message.says(x) for message in known)]


SHARED = ("zwang.inputs", "zwang.analysis.inputs", "zwang.analysis.subject", "zwang.objects.extras")
"""Checks that many parts call: those who call them are explained, or the words."""


@functools.cache
def raising() -> set[str]:
    """Modules that make an error whose sentence users see."""
    errors = {"UserError"} | {x.__name__ for x in descendants(ExplainedError)}
    found = set()
    for path in sorted((ROOT / "src").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
                continue
            if node.func.id in errors:
                parts = path.relative_to(ROOT / "src").with_suffix("").parts
                found.add(".".join(x for x in parts if x != "__init__"))
    return found


def descendants(kind: type) -> set[type]:
    below = {y for x in kind.__subclasses__() for y in descendants(x)}
    return {kind, *kind.__subclasses__()} | below


def test_every_module_that_raises_has_a_section():
    assert len(raising()) > 200
    lost = [x for x in raising() if code_of_module(x) is None and not x.startswith(SHARED)]
    assert not lost


def test_sections_name_modules_that_there_are():
    """Each once, and none that a section of its package explains already."""
    named = [(name, x.code) for x in messages().values() for name in x.modules]
    assert len(dict(named)) == len(named) > 100
    assert not [name for name, _ in named if importlib.util.find_spec(name) is None]
    assert not [n for n, code in named if code_of_module(n.rpartition(".")[0]) == code]


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda: zw.System(nq="a", mass_matrix=1.0, force=1.0), "model"),
        (lambda: zw.simulate(PLAIN_MODEL, [0.0], [0.0], duration=-1.0), "simulation"),
        (lambda: zw.simulate(PLAIN_MODEL, [0.0], [0.0], durration=1.0), "simulation"),
        (lambda: zw.simulate(PLAIN_MODEL, [0.0, 1.0], [0.0], duration=1.0), "model"),
        (lambda: zw.Model(zw.System(nq=1, mass_matrix=MASS, force=lambda *x: None)), "functions"),
        (lambda: read(Path("none.toml")), "files"),
        (lambda: zw.analysis.kinematics(PLAIN_MODEL, "y"), "kinematics"),
        (lambda: zw.sweep(PLAIN_MODEL, over={}), "studies"),
        (lambda: zw.gallery.load("five-bra"), "gallery"),
        (lambda: zw.batch(PLAIN_MODEL, [0.0], [0.0], duration=1.0), "many-motions"),
    ],
)
def test_an_error_says_what_explains_it(call, code):
    with pytest.raises(ModelError) as caught:
        call()
    error = caught.value
    assert error.code == code
    assert f"(zwang explain {code})\n" in traceback.format_exception(error)
    error.add_note("more")
    assert error.__notes__[-1] == "more"
    again = pickle.loads(pickle.dumps(error))
    assert again.__notes__ == error.__notes__ and str(again) == str(error)


def test_a_message_is_found_by_code_by_its_words_and_by_itself(tmp_path):
    assert len(messages()) > 25
    by_code = zwang("explain", "start-off")
    assert by_code.code == 0 and "consistent_state" in by_code.out
    assert zwang("explain", "the", "start", "is", "off", "the", "constraints").out == by_code.out
    path = write(tmp_path, PENDULUM.replace("[1.0, 0.0], [0.0", "[1.1, 0.0], [0.0"))
    refused = zwang("run", path, "--out", tmp_path / "out")
    assert refused.code == 2 and refused.err.rstrip().endswith("(zwang explain start-off).")
    assert zwang("explain", refused.err.strip()).out == by_code.out
    assert all(code in zwang("explain").out for code in messages())
    missing = zwang("explain", "strat-off")
    assert missing.code == 2 and "did you mean 'start-off'" in missing.err
    assert zwang("explain", "painlevé").out.startswith("paradox: ")


def test_a_wrong_argument_of_a_command_is_explained(tmp_path):
    for words, code in (
        (["run", "five-bra"], "command-line"),
        (["run", "none.toml"], "command-line"),
        (["run", "five-bar", "--durration", "1"], "command-line"),
        (["run", "five-bar", "--duration", "-1"], "simulation"),
    ):
        refused = zwang(*words)
        assert refused.code == 2 and refused.err.rstrip().endswith(f"(zwang explain {code}).")
        assert zwang("explain", refused.err.strip()).out == zwang("explain", code).out


def test_a_function_in_a_file_is_explained_as_in_python(tmp_path):
    answer = zwang("check", write(tmp_path, PENDULUM.replace("q @ q", "q @ lenght", 1)))
    assert answer.code == 2 and "lenght" in answer.err
    assert answer.err.rstrip().endswith("(zwang explain functions).")


def test_a_choice_that_does_not_exist_is_named_without_the_words_of_the_parser():
    answer = zwang("export", "pendulum", "--as", "cc")
    assert answer.code == 2 and "'--as': 'cc' is not one of 'c', 'fmu2'" in answer.err
