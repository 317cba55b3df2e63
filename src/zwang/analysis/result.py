"""What results of analyses have in common."""

from __future__ import annotations

import abc
from pathlib import Path
from typing import TYPE_CHECKING

from zwang.display import present
from zwang.simulation.results.saving import save

if TYPE_CHECKING:
    import xarray as xr


class AbstractResult(abc.ABC):
    """What an analysis has found: it prints, plots and saves."""

    @property
    @abc.abstractmethod
    def dataset(self) -> xr.Dataset:
        """All of it, by name."""

    def save(self, path: Path | str) -> Path:
        """Write `dataset` as NetCDF (`.nc`), all or nothing.

        Raises:
            ModelError: for another ending, or a folder that does not exist.
        """
        return save(self.dataset, path, (".nc",))

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return present("notebook_of_result", self)
