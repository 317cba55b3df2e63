"""Table of the formats of results: contents, writer and reader of each.

Files that libraries write are first assembled in memory: on a full disk HDF5 would end the process
instead of the call, and the threads of Zarr would continue.
"""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from zwang.equations.constraint.units import per_second
from zwang.errors import ModelError
from zwang.files import read_bytes, write_bytes, write_folder
from zwang.files.reading import shown_path
from zwang.objects.extras import require
from zwang.simulation.results.units import SEE
from zwang.simulation.results.variables import Variables, read_group, write_group

if TYPE_CHECKING:
    import xarray as xr

PART = "run"
"""Group of a file that contains steps, parameters and record of a run."""


@dataclasses.dataclass(frozen=True)
class Format:
    """A file format.

    Attributes:
        what: its contents, in a few words.
        write: (variables, further group or None, path) → writes the file; a failed write leaves no
            partial file.
        read: path → (variables, further group or None); None if a file contains a table only.
        needs: the required package, and the extra that installs it; empty without.
    """

    what: str
    write: Callable[[Any, Variables | None, Path], None]
    read: Callable[[Path], tuple[Variables, Variables | None]] | None = None
    needs: tuple[str, str] | tuple[()] = ()

    def require(self, path: Path) -> None:
        """Raise a sentence if the package that the format needs is not installed."""
        if self.needs:
            require(*self.needs, f"{shown_path(path)}: this format")


RATES = {"q": 0, "v": 0, "acceleration": 1, "free_acceleration": 1} | {
    "a": 1,
    "output_value": 0,
    "output_rate": 1,
    "output_acceleration": 2,
}
"""Variables whose entries have different units, and how often these are divided by time."""


def columns(data: Mapping[Any, Any]) -> Iterator[tuple[str, np.ndarray]]:
    """Generate one column for each entry of every variable that is a number or a vector over time,
    or over the values of an input.

    The heading of a column is the variable's name, the entry's label in brackets, and the unit:
    `q[x] (m)`. Matrices over time, and labels, are not part of tables.
    """
    over = "time" if "time" in data else "sample"
    if over == "time":
        yield "time (s)", np.asarray(data["time"].values)
    for name in data:
        x = data[name]
        values, dims = np.asarray(x.values), tuple(x.dims)
        if dims[:1] != (over,) or values.ndim > 2 or values.dtype.kind not in "fiub":
            continue
        shared = x.attrs.get("units", "")
        if values.ndim == 1:
            yield _heading(str(name), None, shared), values
            continue
        labels, units = _along(data, dims[1]), _units(data, str(name), dims[1], shared)
        for i in range(values.shape[1]):
            label = i if labels is None else labels[i]
            unit = shared if units is None else units[i]
            yield _heading(str(name), label, unit), values[:, i]


def _along(data: Mapping[Any, Any], name: str) -> np.ndarray | None:
    return np.asarray(data[name].values) if name in data else None


def _units(data: Mapping[Any, Any], name: str, along: str, shared: str) -> list[str] | None:
    """Return the unit of each entry of a variable, if they differ."""
    if shared.startswith(SEE):
        found = _along(data, shared.removeprefix(SEE).partition(",")[0])
    else:
        found = _along(data, f"{along}_unit") if name in RATES else None
    if found is None:
        return None
    units = list(map(str, found))
    for _ in range(RATES.get(name, 0)):
        units = list(map(per_second, units))
    return units


def _heading(name: str, label: object, unit: str) -> str:
    entry = "" if label is None else f"[{label}]"
    return f"{name}{entry}" + (f" ({unit})" if unit and unit != "1" else "")


# --- one file that holds everything


def netcdf_bytes(data: Variables | xr.Dataset, part: Variables | None = None) -> bytes | memoryview:
    """Return NetCDF 4 by the conventions of xarray, with `part` as its group "run"."""
    if isinstance(data, Variables):
        return data.netcdf({} if part is None else {PART: part})
    written = cast(memoryview, data.to_netcdf(engine="h5netcdf"))
    if part is None:
        return written
    import h5netcdf

    memory = io.BytesIO(written)
    with h5netcdf.File(memory, "a") as file:
        write_group(file.create_group(PART), part)
    return memory.getvalue()


def _write_netcdf(data, part: Variables | None, path: Path) -> None:
    write_bytes(path, netcdf_bytes(data, part))


def _read_netcdf(path: Path) -> tuple[Variables, Variables | None]:
    import h5netcdf

    content = read_bytes(path, "result_size", "the results")
    try:
        with h5netcdf.File(io.BytesIO(content), "r", decode_vlen_strings=True) as file:
            part = read_group(file.groups[PART]) if PART in file.groups else None
            return read_group(file), part
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        raise ModelError(
            f"{shown_path(path)} is no NetCDF file, or is damaged; expected one that run.save has "
            f"written ({str(error)[:80]})."
        ) from None


def _write_zarr(data, part: Variables | None, path: Path) -> None:
    from zarr.storage import MemoryStore

    # threads of Zarr continue to write files after a failed one, so that a folder could not be
    # removed: the store is created in memory, as those of HDF5
    content: dict[str, Any] = {}
    store = MemoryStore(content)
    settings: dict[str, Any] = {"zarr_format": 3, "consolidated": False}
    _zarr_dataset(data).to_zarr(store, mode="w", **settings)
    if part is not None:
        _zarr_dataset(part).to_zarr(store, mode="a", group=PART, **settings)
    write_folder(path, {name: x.to_bytes() for name, x in content.items()})


def _zarr_dataset(data: Variables | xr.Dataset) -> xr.Dataset:
    """Return text with variable length: Zarr v3 does not specify text of a fixed width."""
    data = data.to_xarray() if isinstance(data, Variables) else data
    text = {n: x.astype(object) for n, x in data.variables.items() if x.dtype.kind == "U"}
    return data.assign({n: x for n, x in text.items() if n not in data.coords}).assign_coords(
        {n: x for n, x in text.items() if n in data.coords}
    )


def _read_zarr(path: Path) -> tuple[Variables, Variables | None]:
    import xarray as xr

    def opened(group):
        with xr.open_zarr(path, group=group, consolidated=False) as data:
            return Variables.from_xarray(data.load())

    if not (path / "zarr.json").is_file():
        raise ModelError(f"{shown_path(path)} is no Zarr store (version 3); it has no zarr.json.")
    try:
        return opened(None), opened(PART) if (path / PART).is_dir() else None
    except (OSError, ValueError, KeyError) as error:
        raise ModelError(
            f"{shown_path(path)} is damaged: {str(error)[:120]}; run again and save anew."
        ) from None


def _write_matlab(data, part: Variables | None, path: Path) -> None:
    """Write variables as arrays, their units and labels as structures, in MATLAB's format 5."""
    import scipy.io

    data = data if isinstance(data, Variables) else Variables.from_xarray(data)
    content: dict[str, Any] = {}
    for name, x in {**data.data, **data.coordinates}.items():
        text = x.values.dtype.kind in "UO"
        content[name] = np.array(x.values, dtype=object) if text else x.values
    content["units"] = {name: str(x.attrs.get("units", "")) for name, x in data.data.items()}
    content["attributes"] = {
        n: v for n, v in data.attrs.items() if isinstance(v, (str, int, float))
    }
    if part is not None:
        content["steps"] = {n: x.values for n, x in part.data.items() if n.startswith("step_")}
        content["record"] = part.attrs["record"]
    memory = io.BytesIO()
    scipy.io.savemat(memory, content, long_field_names=True, do_compression=True)
    write_bytes(path, memory.getvalue())


# --- tables over time


def csv_text(data: Mapping[Any, Any]) -> str:
    """Return the columns of a table as CSV, 17 digits."""
    import csv

    found = list(columns(data))
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow([heading for heading, _ in found])
    for row in zip(*(values.tolist() for _, values in found), strict=True):
        writer.writerow([f"{x:.17g}" if isinstance(x, float) else x for x in row])
    return text.getvalue()


def _write_csv(data, part: Variables | None, path: Path) -> None:
    write_bytes(path, csv_text(data).encode("utf-8", "backslashreplace"))


def _write_parquet(data, part: Variables | None, path: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    table = pyarrow.table(dict(columns(data)))
    if part is not None:
        table = table.replace_schema_metadata({"record": part.attrs["record"]})
    memory = io.BytesIO()
    pyarrow.parquet.write_table(table, memory)
    write_bytes(path, memory.getvalue())


FORMATS = {
    ".nc": Format("NetCDF, with everything", _write_netcdf, _read_netcdf),
    ".h5": Format("HDF5 by the same layout", _write_netcdf, _read_netcdf),
    ".zarr": Format(
        "a Zarr v3 store, with everything", _write_zarr, _read_zarr, ("zarr", "formats")
    ),
    ".mat": Format("variables and steps for MATLAB", _write_matlab),
    ".csv": Format("a table over time", _write_csv),
    ".parquet": Format("a table over time", _write_parquet, needs=("pyarrow", "formats")),
}
"""All formats by the ending of their files."""


def format_of(path: Path, known: Mapping[str, Format], to_do: str) -> Format:
    """Return the format for the ending of a file.

    Raises:
        ModelError: for an ending that is not in `known`, or a package that is not installed.
    """
    found = known.get(path.suffix.lower())
    if found is None:
        listed = ", ".join(f"{ending} ({x.what})" for ending, x in known.items())
        raise ModelError(
            f"cannot {to_do} {shown_path(path)}: the ending {path.suffix!r:.40} names no format; "
            f"expected {listed}."
        )
    found.require(path)
    return found
