"""Results: a run's steps, its variables, its crossings of singular configurations.

| file | what |
|---|---|
| `record.py` | `Run`: what was computed, `at`, `plot`, `save` |
| `steps.py` | `Steps`: every accepted step |
| `saving.py`, `formats.py` | files: which formats there are, what each holds |
| `stored.py`, `strategies.py` | what a file holds beyond the variables; methods as data |
| `presentation.py` | figures, scene and words that a model brings along |
| `observe.py` | everything that is known at one instant, as arrays |
| `interpolate.py` | states between the steps |
| `dataset.py` | which variables a run has, with names and units |
| `units.py` | units of the variables, and of what is conjugate to a residual |
| `work.py`, `energy.py` | the work along a run, and how well it kept its energy |
| `worst.py`, `warnings.py` | largest residuals; what a user must know, one sentence each |
| `variables.py` | `Variables`: arrays with named dimensions, as NetCDF and as an xarray dataset |
| `crossing.py` | where the constraints lose rank, and which rows |
| `branch_taken.py` | which branch of motion a run took there |
| `switched.py` | where constraints were switched on or off |
"""

from zwang.simulation.results.crossing import Crossing as Crossing
from zwang.simulation.results.record import Run as Run
from zwang.simulation.results.steps import Steps as Steps
from zwang.simulation.results.switched import Switched as Switched
from zwang.simulation.results.variables import Variable as Variable
from zwang.simulation.results.variables import Variables as Variables
