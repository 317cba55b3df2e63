"""What a run computed."""

from __future__ import annotations

import dataclasses
from functools import cached_property
from pathlib import Path

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from scipy.interpolate import KroghInterpolator

from zwang.errors import ModelError, Result
from zwang.flow import MotionFlow
from zwang.integrate.loop import History
from zwang.model import Model
from zwang.kernel import row_lengths, row_scale
from zwang.run.crossing import Crossing, find_crossings
from zwang.run.observe import Observation, observe_all


@dataclasses.dataclass
class Steps:
    """Every accepted step: time, y = (q, v), the sample it ended on or −1, log-determinant and violation.

    Collected chunk by chunk as lists, turned into arrays by `finish`.
    """

    t0: float
    t: list | np.ndarray
    y: list | np.ndarray
    sample: list | np.ndarray
    volume: list | np.ndarray
    violation: list | np.ndarray

    @classmethod
    def begin(cls, t0: float, y0: np.ndarray, sample: int) -> Steps:
        return cls(t0, [np.array([t0])], [y0[None]], [np.array([sample])], [np.array([np.nan])], [np.array([0.0])])

    def append(self, history: History, offset: int) -> int:
        """Add a chunk whose sample indices count from `offset`; returns how many samples it reached."""
        n = int(history.count)
        target = np.asarray(history.target)[:n]
        for own, new in zip(
            (self.t, self.y, self.sample, self.volume, self.violation),
            (history.t, history.y, np.where(target >= 0, target + offset, -1), history.volume, history.violation),
            strict=True,
        ):
            own.append(np.asarray(new)[:n])  # type: ignore
        return int(np.sum(target >= 0))

    def finish(self) -> Steps:
        t, y, sample, volume, violation = (
            np.concatenate(x) for x in (self.t, self.y, self.sample, self.volume, self.violation)
        )
        if len(volume) > 1:
            volume[0] = volume[1]
        return Steps(self.t0, t, y, sample, volume, violation)


class Run:
    """A finished (or interrupted) simulation.

    Attributes:
        model: the model that was run.
        steps: every accepted step.
        result: how it ended.
        attrs: settings and counts.
        stopped_by: name of the stop condition that ended it, or None.
        dataset: xarray dataset at the sample times (computed when first asked for).
        crossings: singular configurations passed, each a `Crossing`.
    """

    def __init__(self, model: Model, flow: MotionFlow, steps: Steps, times: np.ndarray, result: Result, attrs: dict, stopped_by=None):
        self.model, self.flow, self.steps, self.result, self.attrs, self.stopped_by = model, flow, steps, result, attrs, stopped_by
        self.times = times

    def __repr__(self) -> str:
        return f"<zwang.Run of {self.model.name}: {len(self.steps.t) - 1} steps to t = {self.steps.t[-1]:.6g} s, {self.result.sentence}>"

    @property
    def saved(self) -> np.ndarray:
        """Indices of the steps that are samples; the last step is one where the run stopped early."""
        index = np.flatnonzero(np.asarray(self.steps.sample) >= 0)
        last = len(self.steps.t) - 1
        return index if self.result is Result.SUCCESS or last in index else np.append(index, last)

    @property
    def t(self) -> np.ndarray:
        """Sample times [s], shape (samples,)."""
        return np.asarray(self.steps.t)[self.saved]

    @property
    def q(self) -> np.ndarray:
        """Coordinates, shape (samples, nq)."""
        return np.asarray(self.steps.y)[self.saved, : self.model.system.nq]

    @property
    def v(self) -> np.ndarray:
        """Velocities, shape (samples, nv)."""
        return np.asarray(self.steps.y)[self.saved, self.model.system.nq :]

    @cached_property
    def observation(self) -> Observation:
        """Motion, forces, residuals and energy at the samples, each with a leading time axis."""
        return observe_all(self.flow.dynamics, self.t, self.q, self.v)

    @cached_property
    def dataset(self):
        from zwang.run.dataset import dataset  # xarray takes a second to import

        crossings = [dataclasses.asdict(c) for c in self.crossings]
        ended = {"result": self.result.name, "result_sentence": self.result.sentence, "stopped_by": self.stopped_by or ""}
        return dataset(self.model, self.t, self.q, self.v, self.observation, {**self.attrs, **ended, "crossings": crossings})

    @cached_property
    def crossings(self) -> list[Crossing]:
        """Singular configurations that the run passed, from every accepted step."""
        labels = [(n, f"{n}[{i}]") for n, s in self.model.constraints.row_slices.items() for i in range(s.stop - s.start)]
        return find_crossings(np.asarray(self.steps.t), np.asarray(self.steps.volume), self._scaled_rows, labels)

    def at(self, t: float) -> tuple[np.ndarray, np.ndarray]:
        """q and v at any time of the run: a polynomial of degree 7 through four steps, projected onto the constraints."""
        ts = np.asarray(self.steps.t)
        if not ts[0] <= t <= ts[-1]:
            raise ModelError(f"t = {t} s is outside the run, which covers {ts[0]:.6g} … {ts[-1]:.6g} s.")
        exact = int(np.searchsorted(ts, t))
        if ts[exact] == t:
            y = np.asarray(self.steps.y[exact])
        else:
            first = int(np.clip(exact - 2, 0, max(len(ts) - 4, 0)))
            near = slice(first, first + 4)
            rates = [np.asarray(_rate(self.flow, ts[i], self.steps.y[i])) for i in range(*near.indices(len(ts)))]
            values = np.stack([np.asarray(self.steps.y[near]), np.stack(rates)], axis=1).reshape(-1, self.steps.y.shape[1])
            y = np.asarray(_settle(self.flow, t, KroghInterpolator(np.repeat(ts[near], 2), values)(t)))
        nq = self.model.system.nq
        return y[:nq], y[nq:]

    def _scaled_rows(self, t: float) -> np.ndarray:
        q, v = self.at(t)
        return np.asarray(_rows(self.flow, t, np.concatenate([q, v])))

    def save(self, path: str | Path) -> Path:
        """Write the dataset as NetCDF (`.nc`), readable by xarray, MATLAB, Octave and ncdump."""
        path = Path(path)
        if not path.parent.is_dir():
            raise ModelError(f"cannot save {path}: folder {path.parent} does not exist.")
        self.dataset.to_netcdf(path, engine="h5netcdf")
        return path

    def plot(self, variables: tuple[str, ...] = ("q", "v", "violation", "energy")):
        """A matplotlib figure of some of the dataset's variables over time, with names and units."""
        from zwang.run.plot import plot  # matplotlib takes a second to import

        return plot(self.dataset, variables)


@eqx.filter_jit
def _rate(flow: MotionFlow, t, y):
    return flow.rate(jnp.asarray(t), jnp.asarray(y))


@eqx.filter_jit
def _settle(flow: MotionFlow, t, y):
    return flow.settle(jnp.asarray(t), jnp.asarray(y), jnp.zeros_like(y)).y


@eqx.filter_jit
def _rows(flow: MotionFlow, t, y):
    dynamics, state = flow.dynamics, flow.state(jnp.asarray(t), jnp.asarray(y))
    A = dynamics.matrix(state)
    C = dynamics.mass(state, A).weigh(A)
    return row_scale(row_lengths(C))[:, None] * C
