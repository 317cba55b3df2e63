"""Ready models, each with a start, a duration, figures and, where one is known, its exact solution.

| model | what it shows | exact solution |
|---|---|---|
| `pendulum` | a first model: one mass, one constraint | elliptic functions |
| `double-pendulum` | redundant coordinates, chaos | none |
| `latching-pendulums` | a constraint switched on, with an impact, and off | elliptic functions |
| `log-spiral` | constraints that fix the motion entirely | closed form |
| `five-bar` | a redundant linkage through singular configurations | elliptic functions |
| `n-four-bar` | any number of loops through singular configurations | elliptic functions |
| `spherical-pendulum` | a rigid body on a ball joint, unit quaternion | elliptic functions |
| `free-body` | torque-free rotation, unit quaternion | elliptic functions |
| `rolling-disk` | contact and rolling, holonomic and nonholonomic together | steady motion |
| `knife-edge` | a nonholonomic constraint | closed form |
| `appell-hamel` | a constraint nonlinear in the velocities | closed form |
| `rough-incline` | Coulomb friction as a nonideal constraint | closed form |
| `rough-circle` | the same on a curve | closed form |
| `two-mass-spring` | a servo constraint with one actuator for two masses | closed form |
| `coordinated-robots` | redundant actuation: six torques, three degrees of freedom | closed form |
| `flexible-joint` | motors behind springs: relative degree three and four | closed form for link angles |
| `scara` | full actuation, with the error dynamics of its paper | closed form |
| `crane` | trolley and hoist carry a load along a path: underactuated, flat | closed form |
| `cart-pole-track` | what a servo constraint leaves free, stable or not | one quadrature |
| `five-bar-driven` | one, two or three motors on one degree of freedom: shared effort, preload | closed form |
| `3rrr` | ten modules on three levels | minimal coordinates, in the tests |
| `scissor-lift` | any number of equal stages, redundant rows everywhere | energy |
| `four-bars` | `n-four-bar` as a hierarchy | elliptic functions |
| `motor-linkage` | variables of first and second order together | one variable left, in the tests |
| `jerk-track` | variables of third order, a programme of jerk | closed form |
| `stewart`, `delta` | parallel robots in space from equal legs and arms | energy |

`index/` lists them with their settings and imports no JAX; `load` builds one:

    example = zw.gallery.load("five-bar", angle=60.0)
    run = example.run(rtol=1e-10)
    example.error(run)
"""  # noqa: E501

from __future__ import annotations

import importlib

from zwang.errors import ModelError
from zwang.gallery.example import Example as Example
from zwang.gallery.index import ENTRIES as ENTRIES
from zwang.gallery.index import NAMES as NAMES
from zwang.provenance import Source, remember
from zwang.suggestions import did_you_mean


def load(name: str, **settings) -> Example:
    """Build a model of the gallery.

    Args:
        name: one of `NAMES`.
        settings: settings that differ from their defaults (`ENTRIES[name].settings`).

    Raises:
        ModelError: for an unknown name or setting, or a value that makes no sense.

    Example:
        >>> run = load("n-four-bar", N=3).run()
    """
    from zwang.arrays import require_float64  # the list of models imports nothing slow

    require_float64()
    if name not in ENTRIES:
        raise ModelError(f"the gallery has no model {name!r:.100}{did_you_mean(name, NAMES)}")
    entry = ENTRIES[name]
    for setting in settings:
        if setting not in entry.settings:
            raise ModelError(
                f"{name} has no setting {setting!r}{did_you_mean(setting, entry.settings)}"
            )
    defaults = {key: setting.default for key, setting in entry.settings.items()}
    built = {**defaults, **settings}
    module = importlib.import_module(entry.module)
    example = (
        module.build(name, **built)
        if entry.module == "zwang.gallery.mechanisms"
        else module.build(**built)
    )
    remember(example.model, Source("gallery", name, built))
    return example
