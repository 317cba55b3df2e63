"""`python -m verification SUITE`: recompute a suite and keep its lines for the documentation."""

import argparse
import importlib
from pathlib import Path

from verification.line import keep
from zwang.cli.startup import start_jax
from zwang.papers.index import PAPERS

SUITES = {
    "chrono": "chrono",
    "modelica": "modelica",
    "iftomm": "iftomm",
    "siconos": "siconos",
    "fclib": "fclib",
    "exact": "own",
    "ivp": "ivp",
    "analyses": "analyses",
    "control": "control",
    "uncertain": "control",
    "robots": "robots",
    "states": "robot_states",
    "legs": "legs",
    "contact": "contact",
    "random": "letting_go",
    "gradients": "gradients.suite",
    "pages": "pages",
    **dict.fromkeys(PAPERS, "own"),
}
NEED_DATA = ("chrono", "modelica", "iftomm", "siconos", "fclib", "robots", "states", "legs")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m verification", description=__doc__)
    parser.add_argument("suite", choices=SUITES)
    parser.add_argument("--data", type=Path, help="the suite's repository, cloned by you")
    parser.add_argument("--count", type=int, default=100, help="random: number of mechanisms")
    parser.add_argument("--span", type=float, default=100.0, help="random: length of a run [s]")
    parser.add_argument(
        "--resume", action="store_true", help="random: only mechanisms without a line of this run"
    )
    parser.add_argument(
        "--cases", nargs="*", default=(), help="pages, control, uncertain: these alone"
    )
    given = parser.parse_args()
    if given.suite in NEED_DATA and given.data is None:
        parser.error(f"{given.suite} compares with data of another project: give --data FOLDER")
    start_jax()
    module = importlib.import_module(f"verification.{SUITES[given.suite]}")
    if given.suite == "random":
        if not given.resume:
            keep("random", ())
        for line in module.lines(given.count, given.span, given.resume):
            keep("random", [line], [line.case])
        return
    if given.suite in ("control", "uncertain"):
        made = module.lines(given.suite, given.cases)
    elif given.suite == "pages":
        made = module.lines(given.cases)
    else:
        made = module.lines(given.data if given.suite in NEED_DATA else given.suite)
    keep(given.suite, made, given.cases)


if __name__ == "__main__":
    main()
