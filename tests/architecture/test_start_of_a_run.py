"""Imports and compilations that a run from the command line must not need, because they would take
longer than the run.
"""

import subprocess
import sys

NOT_NEEDED = """
import sys
import zwang.gallery.five_bar, zwang.simulation.results.dataset, zwang.output.viewer.page
import zwang.mechanism, zwang.gallery.hierarchies.stewart
slow = ("scipy.special", "scipy.interpolate", "scipy.optimize", "scipy.spatial", "scipy.linalg")
# what emits code is for programs that are not kept
print([name for name in (*slow, "zwang.native.translation") if name in sys.modules])
"""
ANALYSES = """
import sys
import zwang.analysis.continuation, zwang.analysis.kinematics, zwang.analysis.lqr
print([name for name in ("scipy.signal", "scipy.stats") if name in sys.modules])
"""
WORDS = """
import sys
from zwang.cli import main
assert main(["run", "no-such-model", "--set", "a=1", "--set", "b=2", "--out", "results"]) == 2
print("pydantic" in sys.modules)
"""
AT_THE_END = """
import atexit, gc
# called after what is registered later
atexit.register(lambda: print(gc.get_freeze_count() > 1000))
from zwang.cli import main
main(["--version"])
"""


def last_line(program):
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout.splitlines()[-1]


def test_words_that_are_taken_as_they_are_need_no_pydantic():
    assert last_line(WORDS) == "False"


def test_a_run_imports_no_splines_no_rotations_no_elliptic_functions_and_no_rules():
    assert last_line(NOT_NEEDED) == "[]"


def test_an_analysis_imports_neither_filters_nor_statistics():
    """A second of a processor."""
    assert last_line(ANALYSES) == "[]"


def test_a_process_ends_without_a_last_search_for_garbage():
    assert last_line(AT_THE_END) == "True"
