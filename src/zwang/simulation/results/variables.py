"""Arrays with named dimensions and units, from which `run.dataset` and `run.nc` are made. They do
not need xarray, whose import takes longer than most runs.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from zwang.objects.display import present

if TYPE_CHECKING:
    import xarray as xr


RENAMED = {"rank": "constraint_rank"}
"""Former names of variables that are still accepted; `rank` is hidden by a method of xarray's
datasets."""
ADDED = "added"
"""Attribute of a variable that `run.add` has created."""


@dataclasses.dataclass(frozen=True)
class Variable:
    """An array whose dimensions have names.

    Attributes:
        name, dims: its name, and those of its dimensions.
        values: the array.
        attrs: `units` and `long_name`, possibly more.
        labels: the labels along each of its dimensions.
    """

    name: str
    dims: tuple[str, ...]
    values: np.ndarray
    attrs: dict[str, Any]
    labels: Mapping[str, np.ndarray]

    def __repr__(self) -> str:
        sizes = " × ".join(f"{n} {x}" for n, x in zip(self.shape, self.dims, strict=True))
        return f"Variable({self.name} [{self.attrs.get('units') or 1}]: {sizes}; .values)"

    @property
    def shape(self) -> tuple[int, ...]:
        return self.values.shape

    def __len__(self) -> int:
        return len(self.values)


class Variables(Mapping[str, Variable]):
    """Variables by name.

    Attributes:
        data: the variables.
        coordinates: labels along their dimensions, each with one dimension; also found by name.
        attrs: attributes of the whole set.
    """

    def __init__(
        self, data: dict[str, tuple], coordinates: dict[str, tuple], attrs: dict[str, Any]
    ):
        """Create variables; each of `data` and `coordinates` is (dimensions, values,
        attributes).
        """
        labels = {name: np.asarray(values) for name, (_, values, _) in coordinates.items()}

        def variable(name, dims, values, attrs):
            return Variable(name, dims, np.asarray(values), attrs, {d: labels[d] for d in dims})

        self.data = {name: variable(name, *given) for name, given in data.items()}
        self.coordinates = {name: variable(name, *given) for name, given in coordinates.items()}
        self.attrs = attrs

    def __repr__(self) -> str:
        return present("text_of", self, "variables")

    def __getitem__(self, name: str) -> Variable:
        if name in RENAMED and name not in self:
            warnings.warn(
                f"the variable {name!r} is called {RENAMED[name]!r}; the old name will go.",
                DeprecationWarning,
                stacklevel=2,
            )
            name = RENAMED[name]
        return self.data[name] if name in self.data else self.coordinates[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.data)

    def __len__(self) -> int:
        return len(self.data)

    def __contains__(self, name: object) -> bool:
        return name in self.data or name in self.coordinates

    def add(self, more: Variables) -> None:
        """Add the variables of another set, and the coordinates of their dimensions; an existing
        name is unchanged.
        """
        self.data |= {name: x for name, x in more.data.items() if name not in self}
        self.coordinates |= {name: x for name, x in more.coordinates.items() if name not in self}

    def set(self, name: str, values: np.ndarray, attrs: dict[str, Any]) -> None:
        """Set a variable over time, whose entries are counted along new dimensions."""
        sizes = {f"{name}_{i}": n for i, n in enumerate(values.shape[1:], start=1)}
        entries = {d: ((d,), np.arange(n), {}) for d, n in sizes.items()}
        times = {"time": (("time",), self.coordinates["time"].values, {})}
        own = Variables({name: (("time", *entries), values, attrs)}, times | entries, {})
        for replaced in (name, *entries):
            self.data.pop(replaced, None)
            self.coordinates.pop(replaced, None)
        self.add(own)

    def to_xarray(self) -> xr.Dataset:
        import xarray as xr

        return xr.Dataset(
            {name: (x.dims, x.values, x.attrs) for name, x in self.data.items()},
            coords={name: (x.dims, x.values, x.attrs) for name, x in self.coordinates.items()},
            attrs=self.attrs,
        )

    @classmethod
    def from_xarray(cls, data: xr.Dataset) -> Variables:
        """Return the variables of a dataset; dimensions without labels are counted."""
        counted = {
            str(d): ((str(d),), np.arange(n), {}) for d, n in data.sizes.items() if d not in data
        }

        def taken(arrays):
            return {
                str(n): (x.dims, x.values.astype(str) if x.dtype.kind == "O" else x.values, x.attrs)
                for n, x in arrays.items()
            }

        return cls(taken(data.data_vars), {**taken(data.coords), **counted}, dict(data.attrs))

    def netcdf(self, groups: Mapping[str, Variables] = MappingProxyType({})) -> bytes:
        """Return NetCDF 4 by the conventions of xarray: NaN for missing values, `coordinates` for
        further labels.

        Args:
            groups: further variables by the name of their group.
        """
        import h5netcdf
        import h5py

        # HDF5 keeps the file in memory: on a full disk it would end the process
        memory = h5py.File("in memory", "w", driver="core", backing_store=False, track_order=True)
        with memory, h5netcdf.File(memory, "w") as file:
            write_group(file, self)
            for name, group in groups.items():
                write_group(file.create_group(name), group)
            file.flush()
            memory.flush()
            return memory.id.get_file_image()


def write_group(file, data: Variables) -> None:
    """Write variables into a file or group of h5netcdf."""
    import h5py

    file.attrs.update(data.attrs)
    file.dimensions = {
        name: x.shape[0] for name, x in data.coordinates.items() if x.dims == (name,)
    }
    # labels first: a dimension that gets them later is detached from every variable that has it
    for name, x in {**data.coordinates, **data.data}.items():
        text = x.values.dtype.kind in "UO"
        filler = {"fillvalue": np.nan} if x.values.dtype.kind == "f" else {}
        written = file.create_variable(
            name,
            x.dims,
            dtype=h5py.string_dtype() if text else x.values.dtype,
            data=x.values.astype(object) if text else x.values,
            **filler,
        )
        written.attrs.update(x.attrs)
    for name, x in data.data.items():  # as xarray does, which then reads them as coordinates
        if further := [
            c for c, y in data.coordinates.items() if y.dims != (c,) and y.dims[0] in x.dims
        ]:
            file.variables[name].attrs["coordinates"] = " ".join(further)


def read_group(file) -> Variables:
    """Read the variables of a file or group of h5netcdf."""
    data, coordinates, further = {}, {}, set()
    for name, x in file.variables.items():
        attrs = {key: _plain(value) for key, value in x.attrs.items() if key != "_FillValue"}
        further |= set(str(attrs.pop("coordinates", "")).split())
        values = np.asarray(x[...])
        text = values.dtype.kind in "OS"
        data[name] = (tuple(x.dimensions), values.astype(str) if text else values, attrs)
    for name in list(data):
        if data[name][0] == (name,) or name in further:
            coordinates[name] = data.pop(name)
    for name, dimension in file.dimensions.items():
        coordinates.setdefault(name, ((name,), np.arange(dimension.size), {}))
    return Variables(data, coordinates, {key: _plain(x) for key, x in file.attrs.items()})


def _plain(value):
    """Return an attribute as Python's own number or string."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    array = np.asarray(value)
    return array.item() if array.size == 1 and array.dtype.kind in "iufb" else value
