"""Models assembled from modules, level by level.

| file | content |
|---|---|
| `three_rrr.py` | ten modules, three levels: the mechanism of the paper on recursion |
| `scissor_lift.py` | any number of equal stages, overconstrained |
| `four_bars.py` | N four-bar loops, one loop at a time |
| `stewart.py` | a platform in space on six legs of two bodies each |
| `delta.py` | three arms with two rods each carry a platform that does not rotate |
| `space.py` | joints between rigid bodies in space, for these two |
"""
