"""Pictures that a script draws but does not show or save are shown at its end."""

import subprocess
import sys
from pathlib import Path

from zwang.analysis.kinematics_result import Kinematics
from zwang.simulation.results import Run

SCRIPT = """
from zwang.plots import Curve, Panel, Picture
from zwang.plots.script import opens_in_scripts

@opens_in_scripts
def plot(*where):
    made = Picture([Panel([Curve([0.0, 1.0], [0.0, 1.0])], "y")])
    return made.save(*where) if where else made

"""


def ended(tmp_path, lines: str) -> Path | None:
    """What the script says that it opened."""
    (tmp_path / "draws.py").write_text(SCRIPT + lines)
    done = subprocess.run(
        [sys.executable, "draws.py"],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        # a browser that opens everything
        env={"BROWSER": f"{sys.executable} --version %s", "PYTHONPATH": ":".join(sys.path)},
    )
    assert not done.stdout.replace(f"Python {sys.version.split()[0]}\n", "")
    return Path(done.stderr.removeprefix("opened ").rstrip("\n")) if done.stderr else None


def test_a_picture_that_a_script_leaves_opens_at_its_end(tmp_path):
    seen = ended(tmp_path, "plot()\nplot('kept.png')\nplot().save('too.svg')\nplot().figure()")
    assert seen is not None and seen.read_bytes().startswith(b"\x89PNG")


def test_several_open_as_one_page(tmp_path):
    page = ended(tmp_path, "def draw():\n    plot()\ndraw()\nplot()")
    assert page is not None and page.suffix == ".html"
    text = page.read_text()
    assert [x for x in page.parent.glob("*.png") if x.name not in text] == []
    assert text.count("<img") == 2


def test_what_a_script_shows_or_saves_does_not_open_again(tmp_path):
    assert ended(tmp_path, "plot().savefig('a.png')\nplot().figure().savefig('b.png')") is None


def test_pictures_of_runs_and_results_open_so():
    for plot in (Run.plot, Kinematics.plot, Kinematics.plot_traces):
        assert hasattr(plot, "__wrapped__")
