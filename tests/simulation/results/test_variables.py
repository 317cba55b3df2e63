"""A run's variables compared with xarray: the same dataset, the same file."""

import numpy as np
import pytest
import xarray as xr

from zwang.simulation.results import Variables


def made(columns: int) -> Variables:
    rng = np.random.default_rng(3)
    values = rng.standard_normal((4, columns))
    values[1:2, :1] = np.nan
    return Variables(
        {
            "q": (
                ("time", "coordinate"),
                values,
                {"units": "", "long_name": "generalized coordinate"},
            ),
            "rank": (("time",), np.arange(4), {"units": "1"}),
            "active": (("time", "coordinate"), np.ones((4, columns), np.int8), {}),
        },
        {
            "time": (("time",), np.linspace(0, 1, 4), {"units": "s"}),
            "coordinate": (
                ("coordinate",),
                np.array(["θ", "a long name", "x"][:columns], dtype=str),
                {},
            ),
            "coordinate_unit": (
                ("coordinate",),
                np.array(["rad", "m", ""][:columns], dtype=str),
                {},
            ),
        },
        {"model": "made up, with an ü", "steps": 3, "tolerance": 1e-9},
    )


@pytest.mark.parametrize("columns", [0, 1, 3])
def test_the_file_is_read_back_as_the_dataset(columns, tmp_path):
    variables = made(columns)
    (tmp_path / "ours.nc").write_bytes(variables.netcdf())
    dataset = variables.to_xarray()
    dataset.to_netcdf(tmp_path / "theirs.nc", engine="h5netcdf")
    with (
        xr.open_dataset(tmp_path / "ours.nc") as ours,
        xr.open_dataset(tmp_path / "theirs.nc") as theirs,
    ):
        xr.testing.assert_identical(ours.load(), dataset)
        for name in theirs.variables:
            assert ours[name].dtype == theirs[name].dtype
            assert ours[name].encoding.keys() == theirs[name].encoding.keys()


def test_a_variable_knows_what_stands_along_it():
    variables = made(3)
    assert list(variables) == ["q", "rank", "active"] and "coordinate_unit" in variables
    assert (
        variables["q"].labels["coordinate"][0] == "θ"
        and variables["q"].shape == (4, 3)
        and len(variables["rank"]) == 4
    )
    with pytest.raises(KeyError):
        variables["energy"]
