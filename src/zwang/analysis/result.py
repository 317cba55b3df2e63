"""What results of analyses have in common."""

from __future__ import annotations

import abc
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from zwang.objects.display import present
from zwang.simulation.results.saving import save

if TYPE_CHECKING:
    import xarray as xr

TABLES = (".nc", ".csv", ".parquet")
"""Endings of files for what is known over an input."""


class AbstractResult(abc.ABC):
    """What an analysis has found: it prints, plots and saves.

    Attributes:
        formats: endings of files that it can be saved as.
    """

    formats: ClassVar[tuple[str, ...]] = (".nc",)

    @property
    @abc.abstractmethod
    def dataset(self) -> xr.Dataset:
        """All of it, by name."""

    def save(self, path: Path | str) -> Path:
        """Write `dataset` as NetCDF (`.nc`), all or nothing; what is known over an input also as a
        table (`.csv`, `.parquet`) with units in its heading.

        Raises:
            ModelError: for another ending, or a folder that does not exist.
        """
        return save(self.dataset, path, self.formats)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return present("notebook_of_result", self)
