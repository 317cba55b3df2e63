"""The viewer: `view.html`, one file that plays a run in a browser without network access.

| file | content |
|---|---|
| `motion.py` | a run and its scene as numbers at 30 frames per second |
| `sketch.py` | these numbers as lines on a canvas, for notebooks |
| `page.py` | assembles these numbers, `view.html`, `view.css` and the scripts into one file |
| `view.js` | plays them; `unpack.js` unpacks them, `parts.js` draws equal shapes in one call |
| `contact.js` | contacts: bands below the slider, forces in their friction cones |
| `live.js` | simulates in the browser, with the program of `live.py` |
| `mode.py` | the page of a mode of a linearization |
| `free_motion.py` | the page of a direction that the constraints leave free |
| `oscillation.py` | an oscillation, which both of them show |
| `server.py` | serves the files of a run on 127.0.0.1, for `zwang view` |
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
