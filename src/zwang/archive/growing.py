"""A growing run on disk: rows of a Zarr store, and a marker with the number of valid rows.

| file | content |
|---|---|
| `run.json`, `start.npz` | the setup: model, methods, tolerances, versions; start, parameters |
| `run.zarr` | every accepted step, one array for each of `STEP_VARIABLES` (Zarr, version 3) |
| `switches-000000.json` | changes of topology, a thousand in each file |
| `checkpoint-000000001024-….npz` | all data that the next step depends on, after 1024 steps |
| `committed.json` | the marker: numbers of valid steps and switches, written last |

Every file is written atomically (`zwang.files`). A file that is rewritten begins with the same data
that an earlier marker refers to. Therefore a kill at any moment leaves the data of the marker.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import io
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from zwang.errors import ModelError, Result
from zwang.files import is_file, make_folder, read_bytes, read_text, write_bytes, write_text
from zwang.files.reading import shown_path
from zwang.simulation.results import Steps, Switched, Variables
from zwang.simulation.results.formats import FORMATS
from zwang.simulation.results.stored import PARAMETER, SCALES, STEP_VARIABLES, TIMES

MARKER, MANIFEST, START, STORE = "committed.json", "run.json", "start.npz", "run.zarr"
ROWS_OF_A_CHUNK, BYTES_OF_A_CHUNK = 4096, 2**22
"""Rows and bytes of a chunk of an array; the last chunk is rewritten whenever it has grown."""
TURNS_OF_A_FILE = 1000
"""Changes of topology in one file."""


@dataclasses.dataclass(frozen=True)
class Marker:
    """The valid part of a growing run.

    Attributes:
        steps, turns: number of rows, and of changes of topology.
        time: of the last step [s].
        checkpoint, digest: name of the checkpoint's file, and SHA-256 of its content.
        result: how the run ended; empty before its end.
        stopped_by: as in `Run`.
    """

    steps: int
    turns: int
    time: float
    checkpoint: str
    digest: str
    result: str = ""
    stopped_by: str = ""


class GrowingRun:
    """The folder of a growing run.

    Args:
        folder: its path; `begin` creates it.
    """

    def __init__(self, folder: Path | str):
        self.folder = Path(folder)
        self._last_chunk: dict[str, np.ndarray] | None = None

    @property
    def exists(self) -> bool:
        """Return True if a run has been begun here."""
        return is_file(self.folder / MANIFEST)

    def begin(self, manifest: Mapping[str, Any], start: Mapping[str, np.ndarray]) -> None:
        """Write the setup of a run.

        Raises:
            OutputError: if the folder cannot be written to.
        """
        FORMATS[".zarr"].require(self.folder)
        make_folder(self.folder)
        write_bytes(self.folder / START, _npz(start))
        self.describe(manifest)

    def describe(self, manifest: Mapping[str, Any]) -> None:
        """Write the setup again."""
        write_text(self.folder / MANIFEST, json.dumps(manifest, indent=1, ensure_ascii=False))

    @property
    def manifest(self) -> dict[str, Any]:
        """Read the setup of the run.

        Raises:
            ModelError: if nothing has been begun here.
        """
        if not self.exists:
            raise ModelError(
                f"{shown_path(self.folder)} holds no run that was begun by zw.study.long_run or by "
                "zwang run --stream."
            )
        return json.loads(read_text(self.folder / MANIFEST, "result_size"))

    @property
    def start(self) -> dict[str, np.ndarray]:
        """Read start, sample times and parameters."""
        return _arrays(read_bytes(self.folder / START, "result_size"))

    @property
    def marker(self) -> Marker | None:
        """Read the marker; None before the first commit."""
        if not is_file(self.folder / MARKER):
            return None
        return Marker(**json.loads(read_text(self.folder / MARKER, "toml_size")))

    def checkpoint(self, marker: Marker) -> dict[str, np.ndarray]:
        """Read all data that the next step depends on.

        Raises:
            ModelError: if the content of its file has changed.
        """
        content = read_bytes(self.folder / marker.checkpoint, "result_size", "the checkpoint")
        if hashlib.sha256(content).hexdigest() != marker.digest:
            raise ModelError(
                f"{shown_path(self.folder / marker.checkpoint)} is damaged: its content is not "
                "what was written; run again in another folder."
            )
        return _arrays(content)

    def commit(
        self,
        before: Marker | None,
        rows: Steps,
        turns: Sequence[Switched],
        checkpoint: Mapping[str, np.ndarray],
        result: str = "",
        stopped_by: str = "",
    ) -> Marker:
        """Append rows and changes of topology to the valid ones and make them valid.

        Raises:
            OutputError: if a file cannot be written; the earlier part stays valid.
        """
        first = 0 if before is None else before.steps
        steps = first + len(rows.t)
        # Rows beyond the marker are invalid, so an interrupted commit is simply written again.
        self._write_rows(first, rows)
        self._write_turns(0 if before is None else before.turns, turns)
        content = _npz(checkpoint)
        digest = hashlib.sha256(content).hexdigest()
        marker = Marker(
            steps,
            len(turns) + (0 if before is None else before.turns),
            float(rows.t[-1]) if len(rows.t) or before is None else before.time,
            f"checkpoint-{steps:012d}-{digest[:8]}.npz",  # differs from the current name
            digest,
            result,
            stopped_by,
        )
        write_bytes(self.folder / marker.checkpoint, content)
        # The marker is replaced last: a process killed before this line leaves the old commit
        # valid.
        write_text(self.folder / MARKER, json.dumps(dataclasses.asdict(marker)))
        # The old checkpoint is removed only now that no marker names it; a remaining one does no
        # harm.
        for old in self.folder.glob("checkpoint-*.npz"):
            if old.name != marker.checkpoint:
                with contextlib.suppress(OSError):
                    old.unlink()
        return marker

    def rows(self, first: int = 0, last: int | None = None) -> Steps:
        """Read valid rows from `first` up to `last`.

        Raises:
            ModelError: if the store is damaged.
        """
        import zarr

        marker = self.marker
        count = 0 if marker is None else marker.steps
        last = count if last is None else min(last, count)
        try:
            group = zarr.open_group(self.folder / STORE, mode="r")
            held: dict[str, Any] = {name: group[name] for name in STEP_VARIABLES if name in group}
            found = {name: np.asarray(array[first:last]) for name, array in held.items()}
        except (OSError, ValueError, KeyError) as error:
            raise ModelError(
                f"{shown_path(self.folder / STORE)} is damaged ({str(error)[:80]}); run again in "
                "another folder."
            ) from None
        found.setdefault("applied", np.zeros((max(last - first, 0), 0)))
        return Steps(**found)

    def turns(self) -> list[Switched]:
        """Read the valid changes of topology."""
        marker = self.marker
        count, found = 0 if marker is None else marker.turns, []
        for i in range(-(-count // TURNS_OF_A_FILE)):
            found += json.loads(read_text(self._turns_file(i), "result_size"))
        return [switched(x) for x in found[:count]]

    def _turns_file(self, index: int) -> Path:
        return self.folder / f"switches-{index:06d}.json"

    def _write_turns(self, first: int, turns: Sequence[Switched]) -> None:
        added = [dataclasses.asdict(x) for x in turns]
        while added:
            index, kept = divmod(first, TURNS_OF_A_FILE)
            file = self._turns_file(index)
            # Entries beyond the valid ones are from an interrupted commit.
            earlier = json.loads(read_text(file, "result_size"))[:kept] if kept else []
            taken, added = added[: TURNS_OF_A_FILE - kept], added[TURNS_OF_A_FILE - kept :]
            write_text(file, json.dumps(earlier + taken, ensure_ascii=False))
            first += len(taken)

    def _write_rows(self, first: int, rows: Steps) -> None:
        """Append rows to the store: chunks first, then the sizes of the arrays."""
        if not len(rows.t):
            return
        columns = {name: np.asarray(getattr(rows, name)) for name in STEP_VARIABLES}
        # Chunks of large states have fewer rows, since a chunk is rewritten until it is full.
        chunk = int(np.clip(BYTES_OF_A_CHUNK // (8 * rows.y.shape[1]), 64, ROWS_OF_A_CHUNK))
        begun = first - first % chunk
        if self._last_chunk is None:
            known = self.rows(begun, first) if begun < first else rows.first(0)
            self._last_chunk = {name: np.asarray(getattr(known, name)) for name in columns}
        whole = {n: np.concatenate([self._last_chunk[n], x]) for n, x in columns.items()}
        for name, content in _encoded(whole, begun, chunk).items():
            make_folder((self.folder / STORE / name).parent)
            write_bytes(self.folder / STORE / name, content)
        rest = (first + len(rows.t)) % chunk
        self._last_chunk = {n: x[len(x) - rest :] for n, x in whole.items()}


def _encoded(columns: Mapping[str, np.ndarray], first: int, chunk: int) -> dict[str, bytes]:
    """Files of a Zarr store whose arrays end with these rows.

    They are the chunks from row `first` on, followed by the sizes of the arrays.
    """
    import zarr
    from zarr.storage import MemoryStore

    content: dict[str, Any] = {}
    group = zarr.create_group(MemoryStore(content), zarr_format=3)
    for name, values in columns.items():
        # Zarr has no chunks of size zero; the reader restores such columns.
        if 0 in values.shape[1:]:
            continue
        units, long_name = STEP_VARIABLES[name]
        array = group.create_array(
            name,
            shape=(first + len(values), *values.shape[1:]),
            chunks=(chunk, *values.shape[1:]),
            dtype=values.dtype,
            dimension_names=("step", f"{name}_entry")[: values.ndim],
            attributes={"units": units, "long_name": long_name},
        )
        array[first:] = values
    made = {name: x.to_bytes() for name, x in content.items()}
    # Sizes come last, so that a reader never finds rows announced that are not written yet.
    return dict(sorted(made.items(), key=lambda item: item[0].endswith("zarr.json")))


def folder_of(path: Path) -> Path | None:
    """Return the folder of a growing run if a path is one, or is the store in one."""
    for folder in (path, path.parent) if path.name == STORE else (path,):
        if is_file(folder / MANIFEST) and is_file(folder / MARKER):
            return folder
    return None


class OpenedRun(NamedTuple):
    """Content of the folder of a run.

    Attributes:
        variables: names only; observed variables are computed on demand.
        part: sample times, parameters, scales and record, as a file holds them.
        steps: reads the steps, which may be too many to hold in memory.
    """

    variables: Variables
    part: Variables
    steps: Callable[[], Steps]


def opened_growing(folder: Path) -> OpenedRun:
    """Open the valid part of a growing run.

    Raises:
        ModelError: if the folder is damaged.
    """
    grown = GrowingRun(folder)
    manifest, marker, start = grown.manifest, grown.marker, grown.start
    assert marker is not None
    checkpoint, about = grown.checkpoint(marker), manifest["record"]["model"]
    data: dict[str, tuple] = {TIMES: ((TIMES,), start["times"], {})}
    leaves = {PARAMETER: (start, PARAMETER), SCALES: (checkpoint, SCALES)}
    for prefix, (held, before) in leaves.items():
        named = [(n.removeprefix(before), x) for n, x in held.items() if n.startswith(before)]
        for i, (name, values) in enumerate(named):
            data[f"{prefix}_{i}"] = (
                tuple(f"{prefix}_{i}_{axis}" for axis in range(values.ndim)),
                values,
                {"name": name},
            )
    nq = len(about["coordinates"])
    names = {key: np.asarray(about[f"{key}s"], str) for key in ("coordinate", "constraint")}
    attrs = {
        "model": about["name"],
        "result": marker.result or Result.INTERRUPTED.name,
        "stopped_by": marker.stopped_by,
        "switches": json.dumps([dataclasses.asdict(x) for x in grown.turns()]),
    }
    variables = Variables(
        {"q": (("time", "coordinate"), np.zeros((0, nq)), {})},
        {"time": (("time",), np.zeros(0), {}), **{n: ((n,), x, {}) for n, x in names.items()}},
        attrs,
    )
    dims = {d: x[1].shape[i] for x in data.values() for i, d in enumerate(x[0])}
    part = Variables(
        data,
        {d: ((d,), np.arange(n), {}) for d, n in dims.items()},
        {"record": json.dumps(manifest["record"])},
    )
    # The upper limit is fixed here, as the run may continue meanwhile.
    return OpenedRun(variables, part, lambda: Steps.joined([grown.rows(0, marker.steps)]))


def switched(entry: Mapping[str, Any]) -> Switched:
    """Convert a change of topology from JSON."""
    as_tuple = lambda x: tuple(x) if isinstance(x, list) else x
    given: dict[str, Any] = {name: as_tuple(x) for name, x in entry.items()}
    given["multipliers"] = {name: tuple(x) for name, x in entry["multipliers"].items()}
    return Switched(**given)


def _npz(arrays: Mapping[str, np.ndarray]) -> bytes:
    memory = io.BytesIO()
    given: dict[str, Any] = dict(arrays)
    np.savez(memory, **given)
    return memory.getvalue()


def _arrays(content: bytes) -> dict[str, np.ndarray]:
    with np.load(io.BytesIO(content), allow_pickle=False) as found:
        return dict(found)
