"""Results: steps of a run, its variables, and its crossings of singular configurations.

| file | content |
|---|---|
| `record.py` | `Run`: the result, with `at`, `plot`, `save` |
| `steps.py` | `Steps`: every accepted step |
| `saving.py`, `formats.py` | files: the formats, and the contents of each |
| `stored.py`, `strategies.py` | contents of a file other than variables; methods as data |
| `presentation.py` | figures, scene and text that a model provides |
| `observe.py` | all quantities at one instant, as arrays |
| `interpolate.py` | states between the steps |
| `dataset.py` | the variables of a run, with names and units |
| `units.py` | units of variables, and of quantities conjugate to a residual |
| `work.py`, `energy.py` | work along a run, and its energy balance |
| `worst.py`, `warnings.py` | largest residuals; warnings for the user, one sentence each |
| `variables.py` | `Variables`: arrays with named dimensions, as NetCDF and as an xarray dataset |
| `crossing.py` | crossings where the constraints lose rank, with the dependent rows |
| `branch_taken.py` | the branches of motion of a run at its crossings |
| `switched.py` | records of mode changes |
"""

from zwang.simulation.results.crossing import Crossing as Crossing
from zwang.simulation.results.record import Run as Run
from zwang.simulation.results.steps import Steps as Steps
from zwang.simulation.results.switched import Switched as Switched
from zwang.simulation.results.variables import Variable as Variable
from zwang.simulation.results.variables import Variables as Variables
