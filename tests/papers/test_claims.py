"""Claims, pages and the command, for an artificial paper; and the cheap parts of the real
papers.
"""

import subprocess
import sys

import pytest

import zwang as zw
from tests.cli.command_line import zwang
from zwang import papers
from zwang.papers.claim import Claim, Grid, Page, Verdict, compared
from zwang.papers.page import write_page


def page_of(*claims):
    return Page(
        "review",
        "What was found.",
        ("a choice",),
        list(claims),
        [Grid("Table 1: numbers", ("a", "b"), [["x", "1.5"]])],
        [],
    )


GOOD = Claim("eq. (1)", "a value", "1", "1", Verdict.REPRODUCED)
WRONG = Claim("Table 9", "a <changed> value", "1", "2", Verdict.NOT, expected=Verdict.REPRODUCED)


def test_a_verdict_follows_from_the_comparison():
    assert compared(True) is Verdict.REPRODUCED
    assert compared(True, "a sign") is Verdict.CORRECTED
    assert compared(False) is compared(False, "a sign") is Verdict.NOT
    assert not GOOD.changed and WRONG.changed and page_of(GOOD, WRONG).changed == [WRONG]


def test_the_page_holds_claims_and_tables_and_escapes_them(tmp_path):
    write_page(page_of(GOOD, WRONG), tmp_path / "page.html", seconds=1.0)
    text = (tmp_path / "page.html").read_text()
    assert "a &lt;changed&gt; value" in text and "Table 1: numbers" in text and "a choice" in text
    assert "1 of 2 verdicts changed" in text


def test_a_changed_verdict_fails_the_command_and_names_the_row(tmp_path, monkeypatch):
    monkeypatch.setattr(papers, "reproduce", lambda name, progress: page_of(GOOD, WRONG))
    answer = zwang("reproduce", "review", "--out", str(tmp_path))
    assert answer.code == 4
    assert (
        "review, Table 9, a <changed> value: not reproducible, expected: reproduced (printed 1, "
        "ours 2)" in answer.err
    )
    assert (tmp_path / "review.html").exists()


def test_expected_verdicts_end_with_zero(tmp_path, monkeypatch):
    monkeypatch.setattr(papers, "reproduce", lambda name, progress: page_of(GOOD))
    answer = zwang("reproduce", "review", "--out", str(tmp_path))
    assert answer.code == 0 and answer.err == ""


def test_all_means_every_paper_in_the_index(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(
        papers, "reproduce", lambda name, progress: asked.append(name) or page_of(GOOD)
    )
    assert zwang("reproduce", "all", "--out", str(tmp_path)).code == 0
    assert asked == list(papers.PAPERS)


def test_an_unknown_paper_is_refused_with_the_known_ones():
    answer = zwang("reproduce", "reviev")
    assert (
        answer.code == 2
        and "there is no paper 'reviev'; did you mean 'review'?" in answer.err
        and "pseudoinverse" in zwang("reproduce", "qwertz").err
    )
    with pytest.raises(zw.ModelError, match="there is no paper 'reviev'; there are: "):
        papers.reproduce("reviev")


def test_names_of_papers_and_help_import_nothing_slow():
    program = (
        "import sys; from zwang.cli import main; main(['reproduce', '--help']); "
        "print(sorted({'jax', 'numpy', 'scipy', 'matplotlib', 'sksundae'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]" and "pseudoinverse" in done.stdout


def test_without_its_integrator_the_pseudoinverse_paper_says_what_to_install(monkeypatch):
    from zwang.papers import pseudoinverse

    monkeypatch.setitem(sys.modules, "sksundae", None)
    with pytest.raises(zw.ModelError, match=r"in a clone of zwang, pip install '.\[papers\]'"):
        pseudoinverse.reproduce(lambda fraction, what: None)
