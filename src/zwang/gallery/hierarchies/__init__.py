"""Members assembled from modules, level by level.

| file | what |
|---|---|
| `three_rrr.py` | ten modules, three levels: the mechanism of the paper on recursion |
| `scissor_lift.py` | any number of equal stages, overconstrained |
| `four_bars.py` | N four-bar loops, a loop at a time |
| `stewart.py` | six legs of two bodies each carry a platform in space |
| `delta.py` | three arms with two rods each carry a platform that does not turn |
| `space.py` | joints between rigid bodies in space, for the two above |
"""
