"""Count the files of zwang that execute code for three calls: `python -m
tests.architecture.executed`.

This is not a test: executed files include checks of arguments, the cache of programs, and all
methods from which a default is chosen, which a reader need not open (`test_walks`).
"""

import collections
import operator
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import jax

import zwang as zw
from zwang import gallery
from zwang.inputs.call import public_names

PACKAGE = Path(str(zw.__file__)).parent


def executed(call: Callable[[], object]) -> set[str]:
    """Files of zwang in which a function was called, in this thread or another one."""
    found = set()

    def seen(frame, event, _):
        file, name = frame.f_code.co_filename, frame.f_code.co_name
        if event == "call" and name != "<module>" and file.startswith(str(PACKAGE)):
            found.add(Path(file).relative_to(PACKAGE).as_posix())

    for module in (sys, threading):
        module.setprofile(seen)
    try:
        call()
    finally:
        for module in (sys, threading):
            module.setprofile(None)
    return found


def main() -> None:
    jax.config.update("jax_enable_x64", True)
    for name in public_names().values():  # what executes because it is imported does not count
        operator.attrgetter(name.removeprefix("zw."))(zw)
    five_bar, robots = gallery.load("five-bar"), gallery.load("coordinated-robots")
    file = next(PACKAGE.rglob("four-bar.toml"))
    model, servo = robots.model.passive, robots.model.servo
    for what, call in {
        "from zw.simulate to run.dataset": lambda: (
            zw.simulate(five_bar.model, five_bar.q0, five_bar.v0, duration=0.2).dataset
        ),
        "from a mechanism file to its model": lambda: zw.mechanism.read(file).model,
        "from a servo to u": lambda: zw.control(model, servo, robots.q0, robots.v0).u,
    }.items():
        found = executed(call)
        parts = collections.Counter(path.partition("/")[0] for path in found).most_common()
        print(f"{what}: {len(found)} files; {', '.join(f'{part} {n}' for part, n in parts)}")


if __name__ == "__main__":
    main()
