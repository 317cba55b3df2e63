"""Motions over time: simulated, differentiated, many at once, fitted to data.

| file | what |
|---|---|
| `simulate.py` | `simulate`: a model, a start and a time span in, a run out |
| `driver.py` | a run from start to end: the compiled loop called again and again |
| `monitor.py` | what a run is watched for: the interface of monitors, the state of a run |
| `watch.py`, `vanishing.py`, `jumps.py`, `pace.py`, `endings.py` | monitors of every run |
| `reached.py` | how far a run is: time, speed, violation, what is left |
| `switching.py` | constraints that are switched on and off: conditions, impacts, refusals |
| `contact.py` | gaps and dry frictions that may let go: impacts, and what holds afterwards |
| `contact_modes.py` | what holds, by Gauss's principle with inequalities |
| `turning.py` | all of that at one instant of a run |
| `mode.py` | the equations that hold at a state, as a model of their own |
| `project.py` | a state put onto its constraints, to differentiate |
| `trajectory.py` | `trajectory`: one motion inside `jit`, `vmap`, `grad` and `jacfwd` |
| `batch.py` | `batch`: many motions of one model, in chunks; `prepare`: the same, compiled only |
| `single_precision.py` | a program in 32-bit numbers |
| `fit.py` | `fit`: parameters from a measured trajectory, with their uncertainty |
| `fit_problem.py` | the least-squares problem behind it |
| `parameter_names.py` | parameters by name in a nested dictionary |
| `results/` | what a run computed: steps, dataset, crossings |
"""

from zwang.simulation.simulate import simulate as simulate
from zwang.simulation.stop import Stop as Stop
