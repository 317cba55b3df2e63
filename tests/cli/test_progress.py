"""The progress that a command shows while it computes."""

import sys
from pathlib import Path

import pytest

from zwang.cli import COMMANDS, OWN_BAR, progress
from zwang.cli import _command as found
from zwang.cli.progress import Bar, with_bar
from zwang.cli.terminal import say
from zwang.objects.reporting import listening, report

FOLDER = Path(progress.__file__).parent


def test_a_report_reaches_who_listens_and_nobody_else():
    heard = []
    with listening(lambda *words: heard.append(words)):
        report("places", 0.5)
        report("boundary")
    report("unheard", 1.0)
    assert heard == [("places", 0.5), ("boundary", None)]


@pytest.mark.parametrize("fails", [False, True])
def test_the_bar_of_a_command_ends_before_it_says_something(monkeypatch, capsys, fails):
    monkeypatch.setattr(progress, "DELAY", 0.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    bars, made = [], Bar.__init__

    def kept(self, wanted):
        made(self, wanted)
        bars.append(self)

    monkeypatch.setattr(Bar, "__init__", kept)

    def command(words: str) -> int:
        report("three of four", 0.75)
        task = bars[0]._progress.tasks[0]
        assert (task.completed, task.fields["reached"]) == (0.75, "three of four")
        assert not bars[0]._closed
        if fails:
            raise ValueError(words)
        say(words)
        assert bars[0]._closed
        return 0

    shown = with_bar(command)
    if fails:
        with pytest.raises(ValueError):
            shown("done")
    else:
        assert shown("done") == 0
    assert bars[0]._closed and capsys.readouterr().out == ("" if fails else "done\n")


def test_every_command_shows_that_it_is_at_work():
    """Those with a bar of their own show more; `list` is done at once, `view` serves."""
    assert set(OWN_BAR) < set(COMMANDS.values())
    for module in ("run", "sweep", "reproduce"):
        assert "with Bar(" in (FOLDER / f"{module}.py").read_text(encoding="utf-8")
    # of every command that it is interrupted is heard; some are given a bar as well
    bars = [
        hasattr(found(name).__wrapped__, "__wrapped__") for name in ("analyses.workspace", "run")
    ]
    assert bars == [True, False]
