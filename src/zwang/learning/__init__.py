"""Models as environments for learning: a pure step with an input, and the interface of gymnasium.

| file | content |
|---|---|
| `plant.py` | `zw.Plant`: `step(state, u)`, for `jit`, `vmap` and `grad` |
| `kalman_filter.py` | `KalmanFilter` of a plant: prediction, measurement, estimates |
| `filter_setup.py` | construction of a filter from a user's arguments, with its prior |
| `task.py` | starts, observations, rewards and ends of an episode |
| `environment.py` | `zw.environment`: a task as an environment of gymnasium, one or many |

The environments need the extra `learning` (gymnasium); the step needs no extra.
"""

from __future__ import annotations
