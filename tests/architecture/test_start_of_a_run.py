"""What a run from the command line does without, because it would take longer than the run."""

import subprocess
import sys

NOT_NEEDED = """
import sys
import zwang.gallery.five_bar, zwang.simulation.results.dataset, zwang.output.viewer
print([name for name in ("scipy.special", "scipy.interpolate", "scipy.optimize") if name in sys.modules])
"""  # noqa: E501
AT_THE_END = """
import atexit, gc
atexit.register(lambda: print(gc.get_freeze_count() > 1000))  # called after what is registered later
from zwang.cli import main
main(["--version"])
"""  # noqa: E501


def last_line(program):
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout.splitlines()[-1]


def test_a_run_imports_no_splines_and_no_elliptic_functions():
    assert last_line(NOT_NEEDED) == "[]"


def test_a_process_ends_without_a_last_search_for_garbage():
    assert last_line(AT_THE_END) == "True"
