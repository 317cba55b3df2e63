"""The result of a study."""

from __future__ import annotations

import html
import shlex
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from zwang.errors import ModelError
from zwang.inputs.arguments import known
from zwang.inputs.text import counted
from zwang.objects.provenance import source_of
from zwang.simulation.results import Run
from zwang.study.folder import PartFolder
from zwang.study.plan import Plan
from zwang.study.sampling import Sample, problem_of
from zwang.study.success import Condition, Rate, conditions, rate

if TYPE_CHECKING:
    import pandas
    import pyarrow
    import xarray


class Sweep:
    """The cases of a study, one row each.

    Attributes:
        plan: the study.
        sample: how the cases were chosen.
        computed: parts that this call computed; the others existed before.
        again: command line that computes the study; empty for one from Python.
        conditions: of success in addition to reaching the end, for the text and the report.
    """

    again: str = ""

    def __init__(
        self,
        plan: Plan,
        sample: Sample,
        tables: Sequence[pyarrow.Table],
        folder: PartFolder | None,
        computed: int,
        conditions: Sequence[Condition] = (),
    ):
        self.conditions = tuple(conditions)
        self.plan, self.sample, self.computed = plan, sample, computed
        self._tables, self._folder = list(tables), folder

    @cached_property
    def arrow(self) -> pyarrow.Table:
        """The Arrow table, with units in the metadata of its fields."""
        import pyarrow

        return pyarrow.concat_tables(self._tables)

    @cached_property
    def table(self) -> pandas.DataFrame:
        """One row for each case: quantities, outputs, how it ended."""
        return self.arrow.to_pandas()

    def __len__(self) -> int:
        return self.plan.cases

    @property
    def quantities(self) -> list[str]:
        """Names of the varied quantities."""
        return list(self.plan.values)

    @property
    def outputs(self) -> list[str]:
        """Names of the outputs."""
        return [x.name for x in self.plan.outputs]

    @property
    def failures(self) -> pandas.DataFrame:
        """The cases that did not reach their end, with their sentence."""
        ended = self.table["result"].isin(["SUCCESS", "STOPPED"])
        return self.table.loc[~ended]

    @cached_property
    def dataset(self) -> xarray.Dataset:
        """The study as an xarray dataset.

        Quantities of a grid are dimensions, others are coordinates of `case`.
        """
        import xarray

        data, units = self.table, self.plan.units
        grid = self.sample.kind == "grid"
        shape = [len(np.unique(x)) for x in self.plan.values.values()] if grid else [len(self)]
        dims = tuple(self.quantities) if grid and np.prod(shape) == len(self) else ("case",)
        shape = shape if dims != ("case",) else [len(self)]
        about = lambda name: {"units": units.get(name, "")}
        columns = {
            name: (dims, data[name].to_numpy().reshape(shape), about(name))
            for name in (*self.outputs, "result", "sentence", "steps", "violation")
        }
        along = {
            name: (name, np.asarray(list(dict.fromkeys(x))), about(name))
            if dims != ("case",)
            else ("case", x, about(name))
            for name, x in self.plan.values.items()
        }
        return xarray.Dataset(columns, along, {"model": self.plan.model.name})

    def success(
        self,
        holds: str | Sequence[str | Condition] | Callable[[pandas.DataFrame], Any] | None = None,
    ) -> Rate:
        """The rate of motions that meet some conditions.

        Args:
            holds: conditions such as "x.max < 1.2", all of which have to hold; or the table →
                whether each case meets them. A failed case never does. By default the conditions of
                the study (`conditions`), or reaching the end.
        """
        holds = self.conditions if holds is None else holds
        good = self.table["result"].isin(["SUCCESS", "STOPPED"]).to_numpy()
        if callable(holds):
            good = good & np.asarray(holds(self.table), bool)
        else:
            for one in conditions(holds, (*self.quantities, *self.outputs)):
                good = good & one.holds(self.table[one.name].to_numpy(float))
        return rate(int(good.sum()), len(good), self.sample.kind != "grid")

    def worst(self, output: str, number: int = 5, *, least: bool = False) -> pandas.DataFrame:
        """The cases with the largest or smallest values of an output, with their commands."""
        known(output, self.outputs, "the study has no output")
        found = self.table.dropna(subset=[output]).sort_values(output, ascending=least)
        found = found.head(number).copy()
        found["command"] = [self.command(int(case)) for case in found["case"]]
        return found

    def command(self, case: int) -> str:
        """The command line that runs one case again; `run` does it in Python."""
        if self.again:
            return f"{self.again} --case {case}"
        source = source_of(self.plan.model)
        known = source is not None and source.kind in ("gallery", "mechanism", "robot", "script")
        if source is None or not known or self.plan.is_one_by_one or self.plan.inputs:
            return f"study.run({case})"
        words = ["zwang", "run", source.name]
        given = dict(source.settings) if source.kind in ("gallery", "mechanism") else {}
        given |= {n: float(x[case]) for n, x in self.plan.values.items()}
        for name, value in given.items():
            words += ["--set", f"{name}={value!r}" if not isinstance(value, str) else value]
        words += ["--rtol", repr(x)] if (x := self.plan.options.get("rtol")) else []
        return shlex.join([*words, "--duration", repr(float(np.ptp(self.plan.times)))])

    def run(self, case: int, **changes) -> Run:
        """Run one case again and return the complete `Run`: forces, crossings, figures.

        Args:
            case: its number.
            changes: arguments of `zw.simulate` that differ.
        """
        if not 0 <= case < len(self):
            raise ModelError(f"there is no case {case}; expected 0 … {len(self) - 1}.")
        return self.plan.run(case, **changes)

    def motion(self, case: int) -> tuple[np.ndarray, np.ndarray]:
        """q and v of one case at the sample times, if the study has `trajectories=True`."""
        if not self.plan.trajectories or self._folder is None:
            raise ModelError(
                "the study kept no motions; ask for them by trajectories=True, or take "
                f"study.run({case})."
            )
        kept = self._folder.motions(case // self.plan.size)
        at = np.flatnonzero(kept["case"] == case)
        if not len(at):
            raise ModelError(f"case {case} has no motion: {self.table['sentence'][case]}")
        return kept["q"][at[0]], kept["v"][at[0]]

    def sobol_indices(self, output: str) -> pandas.DataFrame:
        """First-order and total Sobol indices of an output, with their confidence intervals.

            S₁ = V(E(y | x)) / V(y),    S_T = 1 − V(E(y | all but x)) / V(y)

        Args:
            output: its name.

        Raises:
            ModelError: if the sample does not allow them, cases failed, or all are equal.
        Reference: Saltelli et al. (2010), Computer Physics Communications 181, 259-270.
        """
        import pandas

        known(output, self.outputs, "the study has no output")
        if not self.sample.indices:
            raise ModelError(
                "Sobol indices need their own points: sample=zw.study.sobol(512, indices=True)."
            )
        y = self.table[output].to_numpy(float)
        if not np.all(np.isfinite(y)):
            raise ModelError(
                f"{output} is not known for {np.sum(~np.isfinite(y))} of {len(y)} cases, and "
                "Sobol indices need all of them: narrow the ranges."
            )
        if np.ptp(y) == 0:
            raise ModelError(f"{output} is {y[0]:g} in all cases: it has no variance to share out.")
        from SALib.analyze import sobol

        # of the intervals; SALib takes 0 for none
        seed = self.sample.seed + 1
        found = sobol.analyze(
            problem_of(len(self.quantities)), y, calc_second_order=False, seed=seed
        )
        columns = {"first": "S1", "first_interval": "S1_conf", "total": "ST"}
        columns["total_interval"] = "ST_conf"
        return pandas.DataFrame(
            {name: np.asarray(found[key]) for name, key in columns.items()}, self.quantities
        )

    def summary(self) -> pandas.DataFrame:
        """Count, mean, spread and quantiles of every output."""
        return self.table[self.outputs].describe().T

    def save(self, path: Path | str) -> Path:
        """Write the table (`.csv` or `.parquet`) or the dataset (`.nc`)."""
        from zwang.files import write_bytes
        from zwang.simulation.results.formats import netcdf_bytes
        from zwang.study.folder import table_bytes

        path = Path(path)
        made = {
            ".csv": lambda: self.table.to_csv(index=False).encode(),
            ".parquet": lambda: table_bytes(self.arrow),
            ".nc": lambda: bytes(netcdf_bytes(self.dataset)),
        }
        known(path.suffix.lower(), made, "a study cannot be saved as")
        write_bytes(path, made[path.suffix.lower()]())
        return path

    def report(self, path: Path | str) -> Path:
        """Write the page of the study: summary, maps, parallel coordinates with filters, cases."""
        from zwang.study.report import write_report

        return write_report(self, Path(path))

    def __repr__(self) -> str:
        varied = ", ".join(self.quantities)
        return f"<Sweep of {self.plan.model.name}: {counted(len(self), 'case')} over {varied}>"

    def __str__(self) -> str:
        """A few lines: cases, failures, each output."""
        lines = [
            f"{self.plan.model.name}: {counted(len(self), 'case')} over "
            f"{', '.join(self.quantities)}"
        ]
        lines.append(f"  reached the end    {self.success([])}")
        if self.conditions:
            asked = " and ".join(map(str, self.conditions))
            lines.append(f"  {asked}    {self.success()}")
        for sentence, count in self.failures["sentence"].value_counts().head(5).items():
            lines.append(f"  {counted(count, 'case')}: {sentence}")
        wide = max((len(str(name)) for name in self.summary().index), default=0) + 1
        for name, row in self.summary().iterrows():
            unit = self.plan.units[str(name)]
            span = f"{row['min']:.6g} … {row['max']:.6g} {unit}, mean {row['mean']:.6g}"
            reached = self.table[str(name)].notna().to_numpy().any()
            lines.append(f"  {name!s:{wide}s} {span if reached else 'not known of any case'}")
        if self._folder is not None:
            lines.append(f"  the table is pandas.read_parquet({str(self._folder.path)!r})")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """The HTML that a notebook shows."""
        return f"<pre>{html.escape(str(self))}</pre>{self.table.head(10).to_html(index=False)}"
