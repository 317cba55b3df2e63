"""What will be wanted later, compiled ahead on another core: the energies that the results of a
run tell, and the step loop of a model for its later runs.

A run steps on the host at first and ends before a loop would be compiled, if it is short. The next
one would step twenty times as fast with it, so a process that outlives the run compiles it, at the
lowest priority and one at a time.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zwang.cli.failure import UserError
from zwang.cli.target import Target

if TYPE_CHECKING:
    from zwang.compile.background import Background
from zwang.cli.terminal import say

WORTH = 0.25
"""Seconds of stepping on the host from which on a compiled loop is worth its while."""
SHORTENED = 1e-6
"""Part of the run whose steps compile the loop."""
LOCK = "compiling.lock"
"""File in the folder for caches that the process at work has locked."""
LOWEST = 19
"""Priority of the process, as `nice` has it."""
OPTION = "--compile-only"
SLOW = 1.0
"""Seconds of compiling in a run from which on what follows the steps is compiled while they are
taken: the energies take a tenth of the evaluation, and a thread must pay for itself."""
NO_CACHE = "unset ZWANG_KEEP and ZWANG_COMPILER, or name a writable folder by ZWANG_CACHE"


def is_wanted(asked: bool | None, model: str, run: Any, seconds: float) -> bool:
    """Whether a loop is to be compiled behind a run that has ended.

    Args:
        asked: by the option or the variable; None for whether a terminal is watching, and no file
            of Python would have to be executed once more.
        model: as on the command line.
        run: the run.
        seconds: how long its integration took.
    """
    if asked is False or run.result.is_failure or seconds < WORTH:
        return False
    from zwang.compile import keeps_programs

    if not run.attrs["execution"].startswith("host") or "compiled" in run.attrs["execution"]:
        return False  # it has its loop, or its integrator has no other way
    if not keeps_programs():
        return False
    return bool(asked) or (sys.stdout.isatty() and not model.endswith(".py"))


def begin(words: Sequence[str], quiet: bool) -> None:
    """Start the process that compiles the loop of a run, if the system lets it.

    Args:
        words: the run's command line, after `zwang`.
        quiet: whether nothing is said.
    """
    command = [sys.executable, "-m", "zwang", *words, OPTION, "--quiet"]
    silent = subprocess.DEVNULL
    apart: dict[str, Any] = {"start_new_session": True}
    if sys.platform == "win32":
        below = subprocess.BELOW_NORMAL_PRIORITY_CLASS | subprocess.DETACHED_PROCESS
        apart = {"creationflags": below}
    try:
        process = subprocess.Popen(command, stdin=silent, stdout=silent, stderr=silent, **apart)
    except OSError:
        return  # no more processes, or no memory: the next run steps as this one did
    if sys.platform != "win32":
        with contextlib.suppress(OSError):  # it may have ended already
            os.setpriority(os.PRIO_PROCESS, process.pid, LOWEST)
    if not quiet:
        say("the step loop is being compiled for later runs (--no-behind: not)")


def compile_loop(target: Target, options: dict[str, Any]) -> str:
    """Compile the loop and keep it; a sentence about what came of it.

    Raises:
        UserError: if it cannot be kept.
    """
    import jax

    from zwang.compile import NOT_CACHED, cache_folder, finish_keeping, keeps_programs
    from zwang.simulation.simulate import simulate

    if not keeps_programs():
        raise UserError(f"{OPTION} has no use where no programs are kept: {NO_CACHE}.")
    reasons: list[str] = []

    def heard(event: str, **about: str | int) -> None:
        if event == NOT_CACHED:
            reasons.append(str(about.get("reason", "")))

    few = {
        "duration": SHORTENED * float(options["duration"]),
        "samples": 2,
        "execution": "compiled",
    }
    given = options | few | {"params": target.params or None, "throw": False}
    with _alone(cache_folder()) as alone:
        if not alone:
            return "another process is compiling a step loop; nothing was done"
        jax.monitoring.register_event_listener(heard)
        try:
            simulate(target.model, target.q0, target.v0, **given).compile_between()
            finish_keeping()
        finally:
            jax.monitoring.unregister_event_listener(heard)
    if reasons:
        raise UserError(f"the step loop of {target.name} cannot be kept: {reasons[0]}.")
    return "the step loop is compiled and kept for later runs"


class ResultsAhead:
    """What the results of a run need beside its steps, compiled while these are taken: energies,
    and the coordinates of a mechanism's joints.
    """

    def __init__(self, target: Target):
        self._target = target
        self._behind: Background | None = None

    def begin(self, compiled: float) -> None:
        """Begin once, if what the run has waited for, `compiled` [s], says that it is worth it."""
        if self._behind is not None or compiled < SLOW:
            return
        from zwang.compile.background import Background

        self._behind = Background(self._compile)

    def wait(self) -> None:
        """Return when nothing is being compiled any more."""
        if self._behind is not None:
            self._behind.wait()

    def _compile(self) -> None:
        import numpy as np

        from zwang.simulation.results.host_samples import energies_of

        model, start = self._target.model, (self._target.q0, self._target.v0)
        dynamics = model.dynamics(self._target.params or None)
        example = [np.asarray(x, float) for x in start]
        energies_of(dynamics.system, dynamics.p, *example)
        if self._target.mechanism is not None:
            from zwang.mechanism.joint_motion import coordinates_program

            coordinates_program(self._target.mechanism, *example)


def require_alone(compile_only: bool, resume: object, stream: bool) -> None:
    """Refuse what has no meaning where nothing is run."""
    if compile_only and (resume is not None or stream):
        given = "--stream" if stream else "--resume"
        raise UserError(f"{OPTION} runs nothing, so that {given} has no meaning; give one of them.")


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[bool]:
    """Whether no other process compiles a loop; none begins one within the context."""
    try:
        import fcntl
    except ImportError:  # Windows: two may do the same
        yield True
        return
    with (folder / LOCK).open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
        else:
            yield True
