"""A run on the disk that grows: rows of a Zarr store, and a marker that says how many count.

| file | what |
|---|---|
| `run.json`, `start.npz` | what is run: model, methods, tolerances, versions; start, parameters |
| `run.zarr` | every accepted step, one array for each of `STEP_VARIABLES` (Zarr, version 3) |
| `switches-000000.json` | changes of topology, a thousand each |
| `checkpoint-000000001024-….npz` | all that the next step depends on, after that many steps |
| `committed.json` | the marker: how many steps and switches count, written last |

Every file is written all or nothing (`zwang.files`). Of what is rewritten, the beginning that an
earlier marker speaks of stays as it is. So a kill at any moment leaves what the marker says.
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
"""Rows and bytes of a chunk of an array; the last chunk is written anew whenever it has grown."""
TURNS_OF_A_FILE = 1000
"""Changes of topology in a file."""


@dataclasses.dataclass(frozen=True)
class Marker:
    """What counts of a growing run.

    Attributes:
        steps, turns: number of rows, and of changes of topology.
        time: of the last step [s].
        checkpoint, digest: name of the checkpoint's file, and SHA-256 of its content.
        result: how the run has ended; empty while it has not.
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
        folder: where it is; `begin` makes it.
    """

    def __init__(self, folder: Path | str):
        self.folder = Path(folder)
        self._last_chunk: dict[str, np.ndarray] | None = None

    @property
    def exists(self) -> bool:
        """Whether a run has been begun here."""
        return is_file(self.folder / MANIFEST)

    def begin(self, manifest: Mapping[str, Any], start: Mapping[str, np.ndarray]) -> None:
        """Say what is run.

        Raises:
            OutputError: if the folder cannot be written to.
        """
        FORMATS[".zarr"].require(self.folder)
        make_folder(self.folder)
        write_bytes(self.folder / START, _npz(start))
        self.describe(manifest)

    def describe(self, manifest: Mapping[str, Any]) -> None:
        """Say anew what is run."""
        write_text(self.folder / MANIFEST, json.dumps(manifest, indent=1, ensure_ascii=False))

    @property
    def manifest(self) -> dict[str, Any]:
        """What is run.

        Raises:
            ModelError: if nothing has been begun here.
        """
        if not self.exists:
            raise ModelError(
                f"{shown_path(self.folder)} holds no run that was begun by zw.long_run or by "
                "zwang run --stream."
            )
        return json.loads(read_text(self.folder / MANIFEST, "result_size"))

    @property
    def start(self) -> dict[str, np.ndarray]:
        """Start, sample times and parameters."""
        return _arrays(read_bytes(self.folder / START, "result_size"))

    @property
    def marker(self) -> Marker | None:
        """What counts; None before the first commit."""
        if not is_file(self.folder / MARKER):
            return None
        return Marker(**json.loads(read_text(self.folder / MARKER, "toml_size")))

    def checkpoint(self, marker: Marker) -> dict[str, np.ndarray]:
        """All that the next step depends on.

        Raises:
            ModelError: if its file is not what was written.
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
        """Add rows and changes of topology after those that count, and let them count.

        Raises:
            OutputError: if a file cannot be written; what counted still does.
        """
        first = 0 if before is None else before.steps
        steps = first + len(rows.t)
        # rows beyond the marker do not count, so that a commit cut off here is simply written again
        self._write_rows(first, rows)
        self._write_turns(0 if before is None else before.turns, turns)
        content = _npz(checkpoint)
        digest = hashlib.sha256(content).hexdigest()
        marker = Marker(
            steps,
            len(turns) + (0 if before is None else before.turns),
            float(rows.t[-1]) if len(rows.t) or before is None else before.time,
            f"checkpoint-{steps:012d}-{digest[:8]}.npz",  # never that of the marker that counts
            digest,
            result,
            stopped_by,
        )
        write_bytes(self.folder / marker.checkpoint, content)
        # the marker is replaced last: a process killed before this line leaves the old commit whole
        write_text(self.folder / MARKER, json.dumps(dataclasses.asdict(marker)))
        # the old checkpoint may go only now that no marker names it; one that stays does no harm
        for old in self.folder.glob("checkpoint-*.npz"):
            if old.name != marker.checkpoint:
                with contextlib.suppress(OSError):
                    old.unlink()
        return marker

    def rows(self, first: int = 0, last: int | None = None) -> Steps:
        """Rows that count, from `first` up to `last`, as they were added.

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
        """Changes of topology that count."""
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
            # entries after those that count are from a commit that was cut off
            earlier = json.loads(read_text(file, "result_size"))[:kept] if kept else []
            taken, added = added[: TURNS_OF_A_FILE - kept], added[TURNS_OF_A_FILE - kept :]
            write_text(file, json.dumps(earlier + taken, ensure_ascii=False))
            first += len(taken)

    def _write_rows(self, first: int, rows: Steps) -> None:
        """Add rows to the store: chunks first, sizes of the arrays after them."""
        if not len(rows.t):
            return
        columns = {name: np.asarray(getattr(rows, name)) for name in STEP_VARIABLES}
        # large states get fewer rows to a chunk, since a chunk is written again until it is full
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
    """Files of a Zarr store whose arrays end with these rows; only chunks from row `first` on, with
    the sizes of the arrays last.
    """
    import zarr
    from zarr.storage import MemoryStore

    content: dict[str, Any] = {}
    group = zarr.create_group(MemoryStore(content), zarr_format=3)
    for name, values in columns.items():
        # Zarr has no chunks of size zero; a reader fills such columns in again
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
    # sizes last, so that a reader never finds rows promised that are not written yet
    return dict(sorted(made.items(), key=lambda item: item[0].endswith("zarr.json")))


def folder_of(path: Path) -> Path | None:
    """The folder of a growing run, if a path is one, or the store in one."""
    for folder in (path, path.parent) if path.name == STORE else (path,):
        if is_file(folder / MANIFEST) and is_file(folder / MARKER):
            return folder
    return None


class OpenedRun(NamedTuple):
    """What a folder says of a run.

    Attributes:
        variables: names only; what is observed of a motion is computed when it is asked for.
        part: sample times, parameters, scales and record, as a file holds them.
        steps: reads the steps, which may be more than anybody needs at once.
    """

    variables: Variables
    part: Variables
    steps: Callable[[], Steps]


def opened_growing(folder: Path) -> OpenedRun:
    """What counts of a growing run.

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
    # up to here, as the run may go on while somebody looks at it
    return OpenedRun(variables, part, lambda: Steps.joined([grown.rows(0, marker.steps)]))


def switched(entry: Mapping[str, Any]) -> Switched:
    """A change of topology from what JSON has made of it."""
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
