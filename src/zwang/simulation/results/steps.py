"""The accepted steps of a run."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Mapping

import numpy as np

from zwang.stepping.step_loop import History


@dataclasses.dataclass(frozen=True)
class Steps:
    """Every accepted step.

    Attributes:
        t: time [s], shape (steps,).
        y: (q, v), shape (steps, nq + nv).
        sample: index of the sample time at which the step ended, or −1.
        log_det: log-determinant of the rows at unit length, which has dips at singular
            configurations.
        violation: dimensionless position violation after the step.
        residual: residual of `A v̇ = b` at the step's start, relative to the accelerations in it.
        applied: values that are constant from this step on (for the last one: up to it), shape
            (steps, k): the control of a sampled controller, or the mode of each switch, gap and
            friction, 1 if it is on and 0 if it is off; (steps, 0) without any. At a mode change
            there are two steps at one time, the second one after it.
    """

    t: np.ndarray
    y: np.ndarray
    sample: np.ndarray
    log_det: np.ndarray
    violation: np.ndarray
    residual: np.ndarray
    applied: np.ndarray

    def __repr__(self) -> str:
        if not len(self.t):
            return "Steps(none)"
        span = f"t = {self.t[0]:.6g} to {self.t[-1]:.6g} s"
        entries = f"y of {self.y.shape[1]} entries"
        return f"Steps({len(self.t)} states, {span}, {entries}; .t, .y, .violation, .residual)"

    def limit(self, attrs: Mapping[str, object]) -> str:
        """Return a remark where samples instead of the tolerance determine the steps of a run with
        these attributes; empty otherwise.
        """
        ended = np.count_nonzero(self.sample[1:] >= 0)
        close = attrs.get("step") == "adaptive" and ended > 0.9 * (len(self.t) - 1)
        return "; samples, not rtol, determine their length" if close and ended > 9 else ""

    @classmethod
    def start(cls, t0: float, y0: np.ndarray, sample: int, applied: np.ndarray) -> Steps:
        """Return a start, or a state after a change, on its own; `sample` is its sample or −1,
        `applied` the values from it on, shape (k,).
        """
        scalars = np.array([sample]), np.array([np.nan]), np.array([0.0]), np.array([0.0])
        return cls(np.array([t0]), np.asarray(y0)[None], *scalars, np.asarray(applied, float)[None])

    @classmethod
    def of(cls, history: History, offset: int) -> Steps:
        """Return one chunk, whose sample indices count from `offset`."""
        n = int(history.count)
        t, y, target, log_det, violation, residual, applied = (
            np.asarray(x)[:n]
            for x in (
                history.t,
                history.y,
                history.target,
                history.log_det,
                history.violation,
                history.residual,
                history.applied,
            )
        )
        sample = np.where(target >= 0, target + offset, -1)
        return cls(t, y, sample, log_det, violation, residual, applied)

    def first(self, count: int) -> Steps:
        """Return the first `count` steps."""
        return Steps(*(getattr(self, f.name)[:count] for f in dataclasses.fields(self)))

    def without_samples_from(self, t: float) -> Steps:
        """Return the same steps, of which those at t or later are no samples: the sample there is
        the state after a mode change.
        """
        return dataclasses.replace(self, sample=np.where(self.t >= t, -1, self.sample))

    @classmethod
    def joined(cls, parts: list[Steps]) -> Steps:
        """Return consecutive chunks as one."""
        joined = cls(
            *(
                np.concatenate([getattr(part, f.name) for part in parts])
                for f in dataclasses.fields(cls)
            )
        )
        # a state at which no step ended has no log-determinant of its own
        starts = np.flatnonzero(np.isnan(joined.log_det[:-1]))
        joined.log_det[starts] = joined.log_det[starts + 1]
        joined.applied[:-1] = joined.applied[1:]  # values during the step after
        return joined

    @property
    def spans(self) -> list[slice]:
        """Steps between mode changes, one slice each."""
        cuts = [0, *(np.flatnonzero(np.diff(self.t) == 0) + 1), len(self.t)]
        return [slice(int(i), int(j)) for i, j in zip(cuts, cuts[1:], strict=False)]

    @property
    def t0(self) -> float:
        """Time of the start [s]."""
        return float(self.t[0])

    @property
    def volume(self) -> np.ndarray:
        """`log_det`, by its name in version 0.1."""
        warnings.warn("Steps.volume is now log_det.", DeprecationWarning, stacklevel=2)
        return self.log_det

    @property
    def samples(self) -> int:
        """Number of sample times reached."""
        return int(np.sum(self.sample >= 0))
