"""Pictures as data: curves in panels that share the axis across, drawn as SVG of our own or by
matplotlib.

| file | what |
|---|---|
| `data.py` | `Picture`, `Panel`, `Curve`, `Mark`, `Label`: what is drawn, in its units |
| `axis.py` | from numbers to a place along an axis, linear or logarithmic; round ticks |
| `layout.py` | where panels, axes, ticks and legends stand on the page, in points |
| `svg.py` | the layout as SVG, in plain colors or in those of a page that is light or dark |
| `figure.py` | the layout as a matplotlib figure, for PNG, PDF and further drawing |
| `script.py` | what a script draws and leaves opens when it ends |

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
