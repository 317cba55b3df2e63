"""Results of analyses as files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from zwang.simulation.results.saving import save as save_dataset

if TYPE_CHECKING:
    import xarray as xr


def save(data: xr.Dataset, path: Path | str) -> Path:
    """Write a dataset as NetCDF (`.nc`), all or nothing.

    Raises:
        ModelError: for another ending, or a folder that does not exist.
    """
    return save_dataset(data, path, (".nc",))
