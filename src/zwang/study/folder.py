"""Parts of a study on disk, one Parquet file each, written atomically.

Only the tables are in the folder, so that programs that read Parquet open it as one data set. These
programs ignore names with a leading underscore, as those of the manifest and the motions.
"""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from zwang.errors import ModelError
from zwang.files import is_file, make_folder, read_text, write_bytes, write_text
from zwang.files.reading import shown_path
from zwang.objects.provenance import source_of, versions
from zwang.study.plan import Part, Plan, described_plan

if TYPE_CHECKING:
    import pyarrow

MANIFEST, MOTIONS = "_sweep.json", "_motions"


class PartFolder:
    """The folder of the parts of a study.

    Args:
        plan: the study.
        path: the folder; made if it does not exist.

    Raises:
        ModelError: if the folder holds another study.
        OutputError: if it cannot be written to.
    """

    def __init__(self, plan: Plan, path: Path | str):
        self.plan, self.path = plan, Path(path)
        for folder in (self.path, *([self.path / MOTIONS] if plan.trajectories else ())):
            make_folder(folder)
        manifest = self.path / MANIFEST
        if is_file(manifest):
            found = json.loads(read_text(manifest, "toml_size"))
            if found.get("digest") != plan.digest:
                raise ModelError(
                    f"{shown_path(path)} holds another study ({found.get('cases')} cases of "
                    f"{found.get('model')}): its model, values, outputs or options differ; give "
                    "another folder."
                )
            return
        source = source_of(plan.model)
        record = json.loads(described_plan(plan))
        record |= {"versions": versions(), "source": None if source is None else source.as_record()}
        write_text(manifest, json.dumps(record, indent=1, ensure_ascii=False))

    def file(self, part: int) -> Path:
        """The file of a part."""
        return self.path / f"part-{part:06d}.parquet"

    @property
    def missing(self) -> list[int]:
        """Parts that are not on disk yet."""
        motions = self.plan.trajectories
        return [
            i
            for i in range(self.plan.parts)
            if not is_file(self.file(i)) or (motions and not is_file(self._motions(i)))
        ]

    def write(self, part: int, made: Part) -> None:
        """Write a part, the motions first: if the table exists, they exist, too."""
        if made.motions is not None or self.plan.trajectories:
            write_bytes(self._motions(part), motions_bytes(made))
        write_bytes(self.file(part), table_bytes(self.plan.table(made.columns)))

    def read(self, part: int) -> pyarrow.Table:
        """Read the table of a part.

        Raises:
            ModelError: if the file is damaged.
        """
        import pyarrow
        import pyarrow.parquet

        try:
            # Threads cost more than they save on one small file.
            return pyarrow.parquet.read_table(self.file(part), use_threads=False)
        except (OSError, pyarrow.ArrowException) as error:
            raise ModelError(
                f"{shown_path(self.file(part))} is damaged ({str(error)[:80]}); remove it, and the "
                "study computes this part again."
            ) from None

    def motions(self, part: int) -> dict[str, np.ndarray]:
        """Read rows, q and v of the motions of a part."""
        with np.load(self._motions(part)) as content:
            return dict(content)

    def _motions(self, part: int) -> Path:
        return self.path / MOTIONS / f"part-{part:06d}.npz"


def table_bytes(table: pyarrow.Table) -> bytes:
    """Encode a table as a Parquet file."""
    import pyarrow.parquet

    memory = io.BytesIO()
    pyarrow.parquet.write_table(table, memory)
    return memory.getvalue()


def motions_bytes(made: Part) -> bytes:
    """Encode the motions of a part as a file."""
    rows, q, v = (np.zeros(0),) * 3 if made.motions is None else made.motions
    memory = io.BytesIO()
    arrays: dict[str, Any] = {"case": np.asarray(made.columns["case"])[rows.astype(int)]}
    np.savez_compressed(memory, q=q, v=v, **arrays)
    return memory.getvalue()
