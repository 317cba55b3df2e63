"""Parameter studies: many cases of one model, in parts that are finished one by one.

| file | what |
|---|---|
| `sampling.py` | which cases: `grid`, `sobol`, `draws` over ranges, values and distributions |
| `outputs.py` | what is kept of a motion: numbers by name |
| `plan.py` | a study as data and functions: what each part computes |
| `content.py` | what a study depends on, as a digest |
| `folder.py` | parts on the disk: one Parquet file each, and what they belong to |
| `engine.py` | parts side by side in this process, or on workers of dask.distributed |
| `sweep.py` | `sweep`: the study from its arguments to its result |
| `success.py` | conditions of success, and rates with their confidence |
| `result.py` | `Sweep`: the table, failures, indices, worst cases |
| `report.py` | the page of a study |
| `long_run.py` | `long_run`, `resume`: a run that outlives its process |
| `keeper.py` | what keeps its steps while it goes on |
| `checkpoint.py` | all that its next step depends on |
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from zwang.namespace import offer

if TYPE_CHECKING:
    from zwang.study.sampling import draws as draws
    from zwang.study.sampling import grid as grid
    from zwang.study.sampling import sobol as sobol

offer(__name__)
