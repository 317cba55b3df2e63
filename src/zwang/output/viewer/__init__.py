"""A run to look at: `view.html`, one file that plays it in a browser and asks the network for
nothing.

| file | what |
|---|---|
| `motion.py` | a run and its scene as numbers at 30 frames per second |
| `sketch.py` | these numbers as lines on a canvas, for notebooks |
| `page.py` | these numbers with `view.html`, `view.css` and its programs in one file |
| `view.js` | plays them; `unpack.js` reads them, `parts.js` draws parts of one shape by one call |
| `contact.js` | what may let go: bands below the slider, forces in their cones |
| `live.js` | simulates, from what `live.py` gives |
| `mode.py` | the same for a mode of a linearization |
| `free_motion.py` | the same for a direction that constraints leave free |
| `oscillation.py` | a swing to and fro, which both of them show |
| `server.py` | the files of a run on 127.0.0.1, for `zwang view` |
| `three.js` | the parts of three.js that `three.entry.js` names; from `make three` |
"""

from typing import TYPE_CHECKING

from zwang.namespace import offer

if TYPE_CHECKING:
    from zwang.output.viewer.free_motion import write_free_motion as write_free_motion
    from zwang.output.viewer.mode import write_mode as write_mode
    from zwang.output.viewer.page import write_view as write_view
    from zwang.output.viewer.server import serving as serving

offer(__name__)
