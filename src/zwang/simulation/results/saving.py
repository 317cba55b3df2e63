"""Results as files, and files as variables; `formats.py` lists the formats."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from zwang.errors import ModelError
from zwang.files.reading import file_name, refuse_no_folder, shown_path
from zwang.simulation.results.formats import FORMATS as FORMATS
from zwang.simulation.results.formats import csv_text as csv_text
from zwang.simulation.results.formats import format_of
from zwang.simulation.results.formats import netcdf_bytes as netcdf_bytes
from zwang.simulation.results.variables import Variables

if TYPE_CHECKING:
    import xarray as xr


def save(
    data: Variables | xr.Dataset,
    path: Path | str,
    formats: Sequence[str] = tuple(FORMATS),
    part: Variables | None = None,
) -> Path:
    """Write results in the format of the file's ending; a failed write leaves no partial file.

    Args:
        data: the results.
        path: the file.
        formats: endings of `FORMATS` in which the results can be saved.
        part: contents of a run other than its variables; tables omit them.

    Raises:
        ModelError: for another ending, or a folder that does not exist.
        OutputError: if the file cannot be written; an earlier one is unchanged.
    """
    path = file_name(path, "save: path")
    found = format_of(path, {ending: FORMATS[ending] for ending in formats}, "save")
    refuse_no_folder(path)
    found.write(data, part, path)
    return path


def opened(path: Path | str) -> tuple[Variables, Variables | None]:
    """Return the variables of a file, and its further contents of a run; None in files of version
    0.1.

    Raises:
        ModelError: for a format that contains no whole run, or a file that cannot be read.
    """
    path = Path(path)
    if path.suffix.lower() in FORMATS and FORMATS[path.suffix.lower()].read is None:
        whole = ", ".join(ending for ending, x in FORMATS.items() if x.read is not None)
        raise ModelError(
            f"{shown_path(path)} holds {FORMATS[path.suffix.lower()].what}, not a whole run; "
            f"save the run as {whole} to load it again."
        )
    readable = {ending: x for ending, x in FORMATS.items() if x.read is not None}
    read = format_of(path, readable, "load").read
    assert read is not None
    return read(path)
