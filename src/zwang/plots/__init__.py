"""Pictures as data: curves in panels with a common x axis, drawn as SVG or by matplotlib.

| file | content |
|---|---|
| `data.py` | `Picture`, `Panel`, `Curve`, `Mark`, `Label`: the content, in its units |
| `axis.py` | maps numbers to positions on an axis, linear or logarithmic; round ticks |
| `layout.py` | positions of panels, axes, ticks and legends on the page, in points |
| `points.py` | selection of the points of a curve that are drawn |
| `svg.py` | the layout as SVG, in plain colors or in those of a page that is light or dark |
| `figure.py` | the layout as a matplotlib figure, for PNG, PDF and further drawing |
| `script.py` | opens pictures at the end of a script that has neither shown nor saved them |
| `bodies.py` | styles of bodies, joints and springs |

A function of a run that returns a picture:

    from zwang.plots import Curve, Panel, Picture

    def speed(run):
        return Picture([Panel([Curve(run.t, abs(run.v[:, 0]))], "speed [m/s]")])
"""

from zwang.plots.data import Curve as Curve
from zwang.plots.data import Label as Label
from zwang.plots.data import Mark as Mark
from zwang.plots.data import Panel as Panel
from zwang.plots.data import Picture as Picture
from zwang.plots.data import joined as joined
from zwang.plots.data import projected as projected
