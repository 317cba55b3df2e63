"""Every end of a run and every warning is explained, by words that the library says."""

import pytest

from tests.cli.command_line import PENDULUM, write, zwang
from tests.cli.test_advice import sentences
from tests.conftest import ROOT
from zwang.cli.explain import LINK, explained, messages
from zwang.errors import Result

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
    assert not [x.code for x in messages().values() if not any(map(x.says, texts))]


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
