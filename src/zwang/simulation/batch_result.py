"""The result of a batch: motions, failures and warnings of its members."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Int

from zwang.dynamics.model import Model
from zwang.equations.state import State, host_state
from zwang.errors import Result
from zwang.inputs.arguments import count
from zwang.objects.display import present
from zwang.simulation.endings import why_ended
from zwang.simulation.parameter_names import place_of, unit_of, write
from zwang.simulation.results import Run, Switched, servo_warnings
from zwang.simulation.results.saving import save

if TYPE_CHECKING:
    import xarray


@dataclasses.dataclass(frozen=True)
class Batch:
    """Motions of one model at common sample times, on the host.

    Attributes:
        model: the model.
        t: sample times [s], shape (samples,).
        q, v: shapes (members, samples, nq) and (members, samples, nv); NaN after an early stop.
        violation: dimensionless position violation, shape (members, samples).
        start_violation: that of each start as given, shape (members,).
        steps, rejected: numbers of accepted and rejected steps, shape (members,).
        result: a `Result` code per member.
        memory_per_member: bytes that the compiled program needs for each member of a chunk, results
            included.
        end: end of each motion, at the last sample or earlier: times [s], shape (members,),
            coordinates, (members, nq), and velocities, (members, nv).
        varied: parameters that differ between members, by name, with a leading batch axis.
        shared: parameters that differ from the model's and are shared by all members, by name.
        reasons: reason for the end of each member that was run by `zw.simulate` and did not reach
            its end, by its index.
        switches: mode changes of each member, for a model with inequalities, dry friction or
            switched constraints; empty for others.
    """

    model: Model
    t: Float[np.ndarray, " samples"]
    q: Float[np.ndarray, "members samples nq"]
    v: Float[np.ndarray, "members samples nv"]
    violation: Float[np.ndarray, "members samples"]
    start_violation: Float[np.ndarray, " members"]
    steps: Int[np.ndarray, " members"]
    rejected: Int[np.ndarray, " members"]
    result: Int[np.ndarray, " members"]
    memory_per_member: int
    end: State
    varied: dict[str, np.ndarray] = dataclasses.field(default_factory=dict)
    shared: dict[str, np.ndarray] = dataclasses.field(default_factory=dict)
    reasons: dict[int, str] = dataclasses.field(default_factory=dict)
    switches: tuple[tuple[Switched, ...], ...] = ()

    @classmethod
    def of_runs(cls, model: Model, times: np.ndarray, runs: Sequence[Run], **given) -> Batch:
        """Return the batch of motions that were run one after another at the same sample times."""
        count, members = len(times), len(runs)
        q = np.full((members, count, model.system.nq), np.nan)
        v = np.full((members, count, model.system.nv), np.nan)
        violation = np.full((members, count), np.nan)
        for i, run in enumerate(runs):
            # a motion that ended early has fewer samples; its remaining entries stay NaN
            n = min(len(run.t), count)
            q[i, :n], v[i, :n] = run.q[:n], run.v[:n]
            violation[i, :n] = run.steps.violation[run.saved][:n]
        ends = [np.array([getattr(x, name)[-1] for x in runs]) for name in ("q", "v", "t")]
        reasons = {i: run.ending for i, run in enumerate(runs) if run.result is not Result.SUCCESS}
        return cls(
            model=model,
            t=times,
            q=q,
            v=v,
            violation=violation,
            start_violation=violation[:, :1].ravel(),
            steps=np.array([run.attrs["steps_accepted"] for run in runs], int),
            rejected=np.array([run.attrs["steps_rejected"] for run in runs], int),
            result=np.array([run.result.value for run in runs], int),
            memory_per_member=0,
            end=host_state(*ends),
            reasons=reasons,
            switches=tuple(tuple(run.switches) for run in runs),
            **given,
        )

    @property
    def failures(self) -> dict[int, str]:
        """Time and reason of each failure, by the index of the member; empty if all reached the end
        or a stop condition. Constraints are named for the first 32 failures; `reason`
        names them for any member.
        """
        results = {int(i): Result(int(self.result[i])) for i in np.flatnonzero(self.result)}
        failed = [i for i, result in results.items() if result.is_failure]
        return {
            i: self.reason(i)
            if place < 32  # constraints are identified on the host
            else f"stopped at t = {self.end.t[i]:.6g} s: {results[i].sentence}"
            for place, i in enumerate(failed)
        }

    def reason(self, member: int) -> str:
        """Return a sentence that states when a member ended, and which constraints ended it.

        Raises:
            ModelError: if there is no such member.
        """
        i = count(member, "Batch.reason: member", least=0, most=len(self.result) - 1)
        if i in self.reasons:
            return self.reasons[i]
        end = State(self.end.q[i], self.end.v[i], self.end.t[i])
        start = State(self.q[i, 0], self.v[i, 0], self.t[0])
        return why_ended(self.model, int(self.result[i]), start, end, self._params_of(i))

    @functools.cached_property
    def warnings(self) -> dict[int, tuple[str, ...]]:
        """Warnings of the servo of each member, by its index, as in `Trajectory.warnings`; empty
        without a servo or without warnings.

        The first access evaluates the control at all samples of all members.
        """
        if self.model.servo is None:
            return {}
        said = {
            i: servo_warnings.of_motion(self.model, self._params_of(i), self.t, q, v)
            for i, (q, v) in enumerate(zip(self.q, self.v, strict=True))
        }
        return {i: sentences for i, sentences in said.items() if sentences}

    def _params_of(self, member: int) -> dict | None:
        """Parameters of a member that differ from the model's."""
        varied = {name: x[member] for name, x in self.varied.items()}
        return whole_params(self.model, {**self.shared, **varied})

    @property
    def dataset(self) -> xarray.Dataset:
        """All results as an xarray dataset with dimensions `member`, `time`, `coordinate` and
        `velocity`.
        """
        import xarray

        system = self.model.system
        return xarray.Dataset(
            {
                "q": (("member", "time", "coordinate"), self.q),
                "v": (("member", "time", "velocity"), self.v),
                "violation": (
                    ("member", "time"),
                    self.violation,
                    {"long_name": "position violation (dimensionless)"},
                ),
                "start_violation": ("member", self.start_violation),
                "end_time": ("member", self.end.t, {"units": "s"}),
                "end_q": (("member", "coordinate"), self.end.q),
                "end_v": (("member", "velocity"), self.end.v),
                "steps": ("member", self.steps),
                "rejected": ("member", self.rejected),
                "result": (
                    "member",
                    self.result,
                    {"meanings": "; ".join(f"{r.value} {r.sentence}" for r in Result)},
                ),
            },
            {
                "time": ("time", self.t, {"units": "s"}),
                "coordinate": list(system.coordinates),
                "velocity": list(system.velocities),
                **{name: self._coordinate(name, x) for name, x in self.varied.items()},
            },
            {"model": self.model.name},
        )

    def _coordinate(self, name: str, values: np.ndarray) -> tuple:
        """Return a varied parameter as a coordinate along the members."""
        dims = ("member", *(f"{name} entry {i}" for i in range(1, values.ndim)))
        return dims, values, {"units": unit_of(self.model, name), "long_name": f"parameter {name}"}

    def __str__(self) -> str:
        """Return the number of members by result, and the range of each coordinate at the end."""
        return present("text_of", self, "batch")

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Return the HTML that a notebook shows."""
        return present("notebook_of_batch", self)

    def save(self, path: str | Path) -> Path:
        """Write the dataset as NetCDF (`.nc`); a failed write leaves no partial file.

        Raises:
            ModelError: for another ending, or a folder that does not exist.
            OutputError: if the file cannot be written; an earlier one is unchanged.
        """
        return save(self.dataset, path, formats=(".nc",))


def whole_params(model: Model, values: dict) -> dict | None:
    """Return parameters as `zw.trajectory` takes them: whole entries of the model's dictionary."""
    if not values:
        return None
    places = {place_of(model, name): value for name, value in values.items()}
    whole = {place.split(".")[0].split("[")[0] for place in places}
    if whole == set(places):
        return places
    changed = write(model.params, places)
    return {name: changed[name] for name in whole}
