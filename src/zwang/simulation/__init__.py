"""Motions over time: simulation, derivatives, batches, and parameters fitted to data.

| file | content |
|---|---|
| `simulate.py` | `simulate`: a run from a model, a start and a time span |
| `driver.py` | one run: calls the compiled loop over steps, one chunk after another |
| `monitor.py` | the interface of monitors, and the state of a run that they share |
| `watch.py`, `vanishing.py`, `jumps.py`, `pace.py`, `endings.py` | monitors of every run |
| `reached.py` | progress of a run: time, speed, violation, remaining time |
| `switching.py` | constraints that are switched on and off: conditions, impacts, refusals |
| `contact.py` | inequalities and dry friction: impacts, and the modes after them |
| `contact_modes.py` | active set and modes, by Gauss's principle with inequalities |
| `turning.py` | all mode changes at one instant of a run |
| `mode.py` | the equations that are active at a state, as a model |
| `project.py` | differentiable projection of a state onto its constraints |
| `trajectory.py` | `trajectory`: one motion inside `jit`, `vmap`, `grad` and `jacfwd` |
| `batch.py` | `batch`: many motions of one model, in chunks; `prepare`: compiles them only |
| `single_precision.py` | evaluation of a program in 32-bit numbers |
| `fit.py` | `fit`: parameters from a measured trajectory, with their uncertainty |
| `fit_problem.py` | the least-squares problem of `fit` |
| `parameter_names.py` | names of parameters in a nested dictionary |
| `results/` | the result of a run: steps, dataset, crossings |
"""

from zwang.simulation.simulate import simulate as simulate
from zwang.simulation.stop import Stop as Stop
