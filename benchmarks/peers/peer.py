"""What a peer is: one program, or one way to use it, that solves the problems at settings from
coarse to fine.
"""

from __future__ import annotations

import abc
import dataclasses
import importlib.metadata
import importlib.util
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.peers.problems import SAMPLES, Linkage, Problem, RodChain


@dataclasses.dataclass
class Outcome:
    """What a run found: coordinates of `equations.py`, shapes (samples, n), at the instants of
    `problems.instants` or those in `t`.
    """

    q: np.ndarray
    v: np.ndarray
    t: np.ndarray | None = None


class Peer(abc.ABC):
    """A program set up as one who knows it well would.

    Attributes:
        key: its name in results and on the command line.
        title: its name in tables.
        package: the distribution it needs; empty for none.
        module: what is imported to see whether it is there.
        how: a sentence on the setting.
        compiles: it compiles programs and keeps them for later processes.
        points: it takes linkages in natural coordinates (`points.py`).
        knob: what the numbers of a setting are, with unit.
    """

    key: str
    title: str
    package: str = ""
    module: str = ""
    how: str
    knob: str
    compiles: bool = False
    points: bool = False

    def missing(self) -> str:
        """A sentence if it is not installed."""
        if self.module and importlib.util.find_spec(self.module) is None:
            return (
                f"{self.package} is not installed: make bench-all installs it, where there is a "
                "wheel for this Python"
            )
        return ""

    def version(self) -> str:
        return importlib.metadata.version(self.package) if self.package else ""

    def cannot(self, problem: Problem) -> str:
        """A sentence if the problem is beyond it."""
        if self.points and (isinstance(problem, RodChain) or problem.point_mass):
            return "its coordinates are points already"
        return ""

    @abc.abstractmethod
    def settings(self, problem: Problem) -> tuple[float, ...]:
        """Settings from coarse to fine."""

    @abc.abstractmethod
    def prepare(self, problem: Problem, setting: float) -> Callable[[], Outcome]:
        """Everything that is done once for many runs, and a call that runs."""

    def evaluation(self, problem: Problem) -> tuple[str, Callable[[], float]] | None:
        """What it does again and again, in words, and a call that returns the seconds of one; None
        if it has no such part.
        """
        return None

    def extra(self, problem: Problem, setting: float) -> dict[str, Any]:
        """What else there is to say of the last run that `prepare` made, in numbers."""
        return {}


STEPS = (2e-2, 1e-2, 4e-3, 2e-3, 1e-3, 4e-4, 1e-4)
"""Step lengths [s], before they are made to divide a sampling interval."""


def steps(problem: Problem, step: float) -> tuple[int, float]:
    """Steps in a sampling interval, and the step that divides it."""
    interval = problem.duration / SAMPLES
    count = max(1, round(interval / step))
    return count, interval / count


def turned(poses: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Poses (samples, bodies, 3) with angles made continuous from those of the start."""
    out = poses.copy()
    out[:, :, 2] = (
        start[None, :, 2]
        + np.unwrap(
            np.concatenate([0 * start[None, :, 2], poses[:, :, 2] - start[None, :, 2]]), axis=0
        )[1:]
    )
    return out


def coordinates(problem: Linkage, poses: np.ndarray, rates: np.ndarray) -> Outcome:
    """Poses and rates of all bodies, shapes (samples, bodies, 3), as coordinates of
    `equations.py`.
    """
    keep = 2 if problem.point_mass else 3
    return Outcome(
        poses[:, :, :keep].reshape(len(poses), -1), rates[:, :, :keep].reshape(len(rates), -1)
    )


ENOUGH = 0.2
"""Seconds after which calls are counted."""


def timed(call: Callable[[], Any]) -> Callable[[], float]:
    """Seconds of one call, from as many as fill some tenths of a second."""
    call()
    begun = time.perf_counter()
    call()
    count = max(1, int(ENOUGH / max(time.perf_counter() - begun, 1e-7)))

    def once() -> float:
        begun = time.perf_counter()
        for _ in range(count):
            call()
        return (time.perf_counter() - begun) / count

    return once
