"""Parameter studies: many cases of one model, computed in parts.

| file | content |
|---|---|
| `sampling.py` | sampling of the cases: `grid`, `sobol`, `draws` over ranges and distributions |
| `outputs.py` | the outputs of a motion: numbers by name |
| `plan.py` | a study as data and functions: the computation of each part |
| `content.py` | a digest of everything that a study depends on |
| `folder.py` | the parts on disk, one Parquet file each, with a manifest |
| `engine.py` | parallel parts in this process, or on workers of dask.distributed |
| `sweep.py` | `sweep`: the study from its arguments to its result |
| `monte_carlo.py` | `monte_carlo`: a study of a closed loop with random numbers |
| `success.py` | conditions of success, and rates with their confidence intervals |
| `result.py` | `Sweep`: the table, failures, indices, worst cases |
| `report.py` | the page of a study |
| `long_run.py` | `long_run`, `resume`: a run that survives its process |
| `keeper.py` | the monitor that writes its steps to disk |
| `checkpoint.py` | all that its next step depends on |
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from zwang.namespace import offer

if TYPE_CHECKING:
    from zwang.study.long_run import long_run as long_run
    from zwang.study.long_run import resume as resume
    from zwang.study.monte_carlo import monte_carlo as monte_carlo
    from zwang.study.sampling import draws as draws
    from zwang.study.sampling import grid as grid
    from zwang.study.sampling import sobol as sobol

offer(__name__)
