"""A study as data and functions, with the computation of each part.

The computation is the same in this process and on a worker. A part has a fixed number of cases, the
last one repeated if necessary, so that there is one shape, one compiled program, and the same
digits wherever a part is computed.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import PyTree

from zwang.dynamics.model import Model
from zwang.errors import ModelError, Result
from zwang.inputs.arguments import mapping, numbers, refuse
from zwang.inputs.arrays import vector
from zwang.inputs.tracing import called
from zwang.simulation.batch import CHUNK_OF_MEMBERS, changes, prepare
from zwang.simulation.batch_result import Batch
from zwang.simulation.parameter_names import read_of, unit_of, written
from zwang.simulation.simulate import simulate
from zwang.study.content import content_digest
from zwang.study.outputs import Output

if TYPE_CHECKING:
    import pyarrow

    from zwang.simulation.results import Run

REFUSED = "REFUSED"
"""Result of a case whose start or loop was invalid; its sentence gives the reason."""
ONE_BY_ONE = ("loop", "stop", "switches")
"""Options that `zw.batch` does not have; with them every case is a `zw.simulate`."""
COLUMNS = {
    "case": "number of the case",
    "result": "how the motion ended",
    "sentence": "why it ended early",
    "loop_seed": "seed of the noise of a closed loop, of a study with one",
    "steps": "accepted steps",
    "violation": "largest dimensionless position violation",
}
"""Columns of every table in addition to quantities and outputs."""


@dataclasses.dataclass(frozen=True)
class Plan:
    """All data that a part needs.

    Attributes:
        model: the model.
        values: quantities by name, shape (cases,) each; of `share`, those of one part only.
        inputs: names of `values` that are not parameters: only `start` and `loop` read them.
        start: (q0, v0), or `values` → (q0, v0) or (q0, v0, parameters by name).
        times: sample times [s].
        outputs: the outputs.
        options: of `zw.batch` or `zw.simulate`; functions of `values` for `ONE_BY_ONE`.
        size: cases of a part.
        trajectories: whether the motions are stored, too.
        sampling: how the cases were chosen, for the record.
        said_units: units of quantities and outputs for which the model has none.
        first: number of the first case in `values`.
        mechanism: that the model was made from, if outputs need its reactions.
    """

    model: Model
    values: dict[str, np.ndarray]
    inputs: tuple[str, ...]
    start: Callable | tuple
    times: np.ndarray
    outputs: tuple[Output, ...]
    options: dict[str, Any]
    size: int
    trajectories: bool = False
    sampling: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    said_units: Mapping[str, str] = dataclasses.field(default_factory=dict)
    first: int = 0
    mechanism: object = None

    @property
    def cases(self) -> int:
        """Number of cases."""
        return len(next(iter(self.values.values())))

    @property
    def is_one_by_one(self) -> bool:
        """Return whether every case is a `zw.simulate`."""
        return (
            any(name in self.options for name in ONE_BY_ONE)
            or any(x.transmitted for x in self.outputs)
            or changes(self.model)
        )

    @property
    def parts(self) -> int:
        """Number of parts."""
        return -(-self.cases // self.size)

    @cached_property
    def units(self) -> dict[str, str]:
        """Unit of each quantity and output."""
        known = {n: "" if n in self.inputs else unit_of(self.model, n) for n in self.values}
        known |= {x.name: x.unit for x in self.outputs}
        return {name: unit or self.said_units.get(name, "") for name, unit in known.items()}

    @cached_property
    def program_digest(self) -> str:
        """Digest of everything that the compiled program depends on.

        Other values, and any number of whole chunks, use the same program.
        """
        chunk = min(self.size, CHUNK_OF_MEMBERS)
        found = hashlib.sha256(self.times.tobytes() + str(chunk).encode())
        found.update(f"{content_digest(self.model)} {content_digest(self.options)}".encode())
        return found.hexdigest()

    @cached_property
    def digest(self) -> str:
        """Digest of everything that the table depends on, the same in every process."""
        found = hashlib.sha256()
        for name, x in self.values.items():
            found.update(f"{name}:{len(x)}".encode() + np.ascontiguousarray(x).tobytes())
        # The size of a part is included: another size rounds differently in the last digits.
        found.update(self.times.tobytes() + str((self.size, self.trajectories)).encode())
        for thing in (self.model, self.start, self.outputs, self.options, self.inputs):
            found.update(content_digest(thing).encode())
        return found.hexdigest()

    def case(self, index: int) -> dict[str, Any]:
        """The quantities of one case by name, with its number as "case"."""
        at = index - self.first
        return {**{n: float(x[at]) for n, x in self.values.items()}, "case": int(index)}

    def values_of(self, part: int) -> dict[str, np.ndarray]:
        """The values of the cases of a part."""
        first = part * self.size
        return {name: x[first : first + self.size] for name, x in self.values.items()}

    def share(self, part: int, values: dict[str, np.ndarray]) -> Plan:
        """The study restricted to one part, whose cases keep their numbers."""
        found = dataclasses.replace(self, values=values, first=part * self.size)
        # The digest is the same for every part, and computing it traces functions.
        vars(found)["program_digest"] = self.program_digest
        return found

    def compute(
        self,
        progress: Callable[[float], None] | None = None,
        pool: ThreadPoolExecutor | None = None,
    ) -> Part:
        """Compute all cases of this study.

        `progress` is called between chunks, which may run in the threads of a `pool`; an exception
        that it raises ends the computation.
        """
        cases = np.arange(self.first, self.first + self.cases)
        if self.is_one_by_one:
            return self._one_by_one(cases)
        return self._together(cases, progress, pool)

    def _together(
        self,
        cases: np.ndarray,
        progress: Callable[[float], None] | None,
        pool: ThreadPoolExecutor | None,
    ) -> Part:
        starts, sentences = self._starts(cases)
        made = np.flatnonzero([x is not None for x in starts])
        # No case could be started; the table says why.
        if not len(made):
            return self._part(cases, None, made, sentences)
        # A case that could not be started is replaced by another one.
        rows = np.concatenate([made, np.full(self.size - len(made), made[-1])])
        q0, v0, further = zip(*(starts[i] for i in rows), strict=True)
        # Whole arrays come first, as quantities may be entries of them.
        params = {}
        for n in dict.fromkeys(n for x in further for n in x):
            # A start may give a parameter in only some of the cases.
            own = np.asarray(read_of(self.model, n))
            params[n] = np.stack([x.get(n, own) for x in further])
        params |= {n: x[rows] for n, x in self.values.items() if n not in self.inputs}
        # All parts have one shape, so this compiles once.
        program = _program(self, np.stack(q0), np.stack(v0), params)
        batch = program.with_members(np.stack(q0), np.stack(v0), params)(progress, pool)
        return self._part(cases, batch, made, sentences)

    def _starts(self, cases: np.ndarray) -> tuple[list, dict[int, str]]:
        """Start of each case: (q0, v0, further parameters), or None with a sentence."""
        found, sentences = [], {}
        for i, case in enumerate(cases):
            try:
                found.append(self.started(int(case)))
            except ModelError as error:
                found.append(None)
                sentences[i] = str(error)
        return found, sentences

    def started(self, case: int) -> tuple[np.ndarray, np.ndarray, Mapping[str, Any]]:
        """Start of one case, with the parameters that it gives."""
        if not callable(self.start):
            return *self.start, {}
        found = called(self.start, "start(values)", self.case(case))
        if not isinstance(found, (tuple, list)) or len(found) not in (2, 3):
            refuse("what start(values) returns", found, "(q0, v0), or (q0, v0, parameters by name)")
        system = self.model.system
        q0 = vector(found[0], system.nq, "q0 of start(values)", system.coordinates)
        v0 = vector(found[1], system.nv, "v0 of start(values)", system.velocities)
        further = found[2] if len(found) == 3 else {}
        return np.asarray(q0), np.asarray(v0), self._own(further)

    def _own(self, further: PyTree) -> dict[str, np.ndarray]:
        """The parameters that the start of a case gives, in the model's shapes."""
        found = mapping(further, "what start(values) returns third", "{'length': 1.0}")
        for name, x in found.items():
            what = f"parameter {name!r} of start(values)"
            x = found[name] = np.asarray(numbers(x, what))
            if x.shape != (own := np.shape(read_of(self.model, name))):
                raise ModelError(f"{what} has shape {x.shape}, expected {own}.")
        return found

    def run(self, case: int, **changes):
        """Compute one case by `zw.simulate`."""
        q0, v0, further = self.started(case)
        values = self.case(case)
        given = {n: x for n, x in values.items() if n not in (*self.inputs, "case")}
        options = self.options_of(values)
        span: dict[str, Any] = {"t0": float(self.times[0])}
        if not {"duration", "times"} & set(changes):
            span["times"] = self.times.tolist()
        span["params"] = written(self.model, {**further, **given}) if given or further else None
        return simulate(self.model, q0, v0, **{**span, "throw": False, **options, **changes})

    def options_of(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The options of a case, which may be functions of its values."""
        return {
            name: called(x, f"{name}(values)", values) if name in ONE_BY_ONE and callable(x) else x
            for name, x in self.options.items()
        }

    def _one_by_one(self, cases: np.ndarray) -> Part:
        sentences, made, runs = {}, [], []
        seeds = np.full(len(cases), -1)
        for i, case in enumerate(cases):
            try:
                loop = self.options_of(self.case(int(case))).get("loop")
                seeds[i] = getattr(loop, "seed", -1)
                run = self.run(int(case))
            except ModelError as error:
                sentences[i] = str(error)
                continue
            if run.result is Result.INTERRUPTED:
                raise KeyboardInterrupt
            made.append(i)
            runs.append(run)
        at = np.asarray(made, int)
        batch = Batch.of_runs(self.model, self.times, runs) if runs else None
        further = {"loop_seed": seeds} if self.options.get("loop") is not None else {}
        return self._part(cases, batch, at, sentences, further, runs)

    def _part(
        self,
        cases,
        batch: Batch | None,
        made: np.ndarray,
        sentences,
        further: Mapping[str, Any] | None = None,
        runs: Sequence[Run] = (),
    ) -> Part:
        """Make the table of some cases.

        `made` has the rows of the cases in the batch, in order; `further` columns come after the
        outputs; `runs` are the motions of the batch, if cases are computed one by one.
        """
        n = len(cases)
        columns: dict[str, Any] = {"case": cases}
        columns |= self.values
        numbers = {x.name: np.full(n, np.nan) for x in self.outputs}
        result, text = np.full(n, REFUSED, dtype=object), np.full(n, "", dtype=object)
        steps, violation = np.zeros(n, np.int64), np.full(n, np.nan)
        for i, sentence in sentences.items():
            text[i] = sentence
        if batch is not None:
            k = len(made)
            codes = [Result(int(x)) for x in batch.result[:k]]
            result[made] = [x.name for x in codes]
            text[made] = ["" if x is Result.SUCCESS else x.sentence for x in codes]
            steps[made] = batch.steps[:k]
            with np.errstate(invalid="ignore"):
                violation[made] = batch.violation[:k].max(axis=1)
            # A failed motion has no outputs: its last state is not an answer.
            ended = np.array([not x.is_failure for x in codes])
            forces = [x for x in self.outputs if x.transmitted]
            for x in self.outputs if ended.any() else ():
                if not x.transmitted:
                    found = x.of(batch.t, batch.q[:k][ended], batch.v[:k][ended])
                    numbers[x.name][made[ended]] = found
            for i in np.flatnonzero(ended).tolist() if forces else ():
                from zwang.mechanism import Mechanism
                from zwang.mechanism.reactions import reactions

                assert isinstance(self.mechanism, Mechanism)
                transmitted = reactions(self.mechanism, runs[i])
                for x in forces:
                    numbers[x.name][made[i]] = x.of_reactions(transmitted)
        columns |= {**numbers, **(further or {}), "result": result, "sentence": text}
        columns |= {"steps": steps, "violation": violation}
        kept = batch if self.trajectories and batch is not None else None
        motions = None if kept is None else (made, kept.q[: len(made)], kept.v[: len(made)])
        return Part(columns, motions)

    def table(self, columns: Mapping[str, Any]) -> pyarrow.Table:
        """Columns with their units as an Arrow table."""
        import pyarrow

        texts = ("result", "sentence")
        kinds = {name: pyarrow.string() for name in texts}
        fields = [
            pyarrow.field(
                name,
                kinds.get(name, pyarrow.from_numpy_dtype(np.asarray(x).dtype)),
                metadata={"units": self.units.get(name, "")},
            )
            for name, x in columns.items()
            if name not in texts
        ]
        fields += [pyarrow.field(name, kinds[name]) for name in texts]
        schema = pyarrow.schema(fields)
        return pyarrow.table({name: columns[name] for name in schema.names}, schema=schema)


@dataclasses.dataclass(frozen=True)
class Part:
    """The results of some cases.

    Attributes:
        columns: of the table, by name.
        motions: which rows have a motion, and their q and v; None if motions are not stored.
    """

    columns: dict[str, Any]
    motions: tuple[np.ndarray, np.ndarray, np.ndarray] | None


_PROGRAMS: dict[tuple, Any] = {}
"""The last compiled program of this process, by what it depends on."""
_COMPILING = threading.Lock()
"""Held during compilation, which parallel parts must not repeat."""


def _program(plan: Plan, q0, v0, params):
    """The program of a study, compiled once in a process."""
    shapes = tuple((n, np.shape(x)[1:]) for n, x in params.items())
    key = plan.program_digest, shapes
    with _COMPILING:
        if key not in _PROGRAMS:
            _PROGRAMS.clear()  # studies follow one another, so older programs are not needed
            _PROGRAMS[key] = prepare(
                plan.model,
                q0,
                v0,
                plan.times,
                params=params,
                chunk=CHUNK_OF_MEMBERS,
                cores=1,  # else the chunk size, which affects the last digits, would vary
                **plan.options,
            )
        return _PROGRAMS[key]


def described_plan(plan: Plan) -> str:
    """The manifest of a study as text."""
    record = {
        "digest": plan.digest,
        "model": plan.model.name,
        "cases": plan.cases,
        "size": plan.size,
        "quantities": {name: plan.units[name] for name in plan.values},
        "outputs": {x.name: x.unit for x in plan.outputs},
        "sample": dict(plan.sampling),
        "times": [float(plan.times[0]), float(plan.times[-1]), len(plan.times)],
    }
    return json.dumps(record, indent=1, ensure_ascii=False)
