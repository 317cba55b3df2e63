"""Results as files. What HDF5 writes is collected in memory first: on a full disk it would end the
process, not the call.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from zwang.errors import ModelError
from zwang.files import write_bytes, write_text
from zwang.files.reading import shown_path
from zwang.simulation.results.variables import Variables

if TYPE_CHECKING:
    import xarray as xr

FORMATS = {".nc": "NetCDF, with everything", ".csv": "a table over time"}
"""Endings of files that results can be saved as."""


def save(
    data: Variables | xr.Dataset, path: Path | str, formats: Sequence[str] = tuple(FORMATS)
) -> Path:
    """Write results, all or nothing, in the format that the ending of the file names.

    Args:
        data: the results.
        path: the file.
        formats: endings of `FORMATS` that the results can be saved as.

    Raises:
        ModelError: for another ending, or a folder that does not exist.
        OutputError: if the file cannot be written; an earlier one is unchanged.
    """
    path = Path(path)
    if path.suffix.lower() not in formats:
        known = ", ".join(f"{ending} ({FORMATS[ending]})" for ending in formats)
        raise ModelError(
            f"cannot save {shown_path(path)}: the ending {path.suffix!r:.40} names no format; "
            f"expected {known}."
        )
    if not path.parent.is_dir():
        raise ModelError(
            f"cannot save {shown_path(path)}: folder {shown_path(path.parent)} does not exist."
        )
    if path.suffix.lower() == ".csv":
        write_text(path, csv_text(data))
    else:
        write_bytes(path, netcdf_bytes(data))
    return path


def netcdf_bytes(data: Variables | xr.Dataset) -> bytes | memoryview:
    """NetCDF 4, by the conventions that xarray reads back."""
    if isinstance(data, Variables):
        return data.netcdf()
    return cast(memoryview, data.to_netcdf(engine="h5netcdf"))


def csv_text(data: Mapping[Any, Any]) -> str:
    """What is a number or a vector at each instant, one column for each entry, 17 digits.

    The heading of a column is the variable's name, the entry's label in brackets, and the unit:
    `q[x] (m)`. Matrices over time, and labels, are in NetCDF only.
    """
    columns = list(_columns(data))
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow([heading for heading, _ in columns])
    for row in zip(*(values.tolist() for _, values in columns), strict=True):
        writer.writerow([f"{x:.17g}" if isinstance(x, float) else x for x in row])
    return text.getvalue()


def _columns(data: Mapping[Any, Any]) -> Iterator[tuple[str, np.ndarray]]:
    yield "time (s)", np.asarray(data["time"].values)
    for name in data:
        x = data[name]
        values, dims = np.asarray(x.values), tuple(x.dims)
        if dims[:1] != ("time",) or values.ndim > 2 or values.dtype.kind not in "fiub":
            continue
        shared = x.attrs.get("units", "")
        if values.ndim == 1:
            yield _heading(str(name), None, shared), values
            continue
        labels, units = (_along(data, key) for key in (dims[1], f"{dims[1]}_unit"))
        for i in range(values.shape[1]):
            label = i if labels is None else labels[i]
            unit = units[i] if units is not None and not shared and name in ("q", "v") else shared
            yield _heading(str(name), label, str(unit)), values[:, i]


def _along(data: Any, name: str) -> np.ndarray | None:
    return np.asarray(data[name].values) if name in data else None


def _heading(name: str, label: Any, unit: str) -> str:
    entry = "" if label is None else f"[{label}]"
    return f"{name}{entry}" + (f" ({unit})" if unit and unit != "1" else "")
