"""Ready models, each with an initial state, a duration, figures and, if known, its exact solution.

Each model is one file: a Python file with an `ENTRY` and a function `build`, or a mechanism file in
`mechanisms/`. `zwang list` shows all of them.

`index/` lists them with their settings without importing JAX; `load` builds one:

    example = zw.gallery.load("five-bar", angle=60.0)
    run = example.run(rtol=1e-10)
    example.error(run)
"""

from __future__ import annotations

import importlib

from zwang.errors import ModelError
from zwang.gallery.example import Example as Example
from zwang.gallery.index import ENTRIES as ENTRIES
from zwang.gallery.index import NAMES as NAMES
from zwang.inputs.suggestions import did_you_mean
from zwang.objects.provenance import Source, remember

LARGEST = 100_000
"""Largest number of bodies, stages or loops of a model; a larger number is probably a mistake."""


def load(name: str, **settings) -> Example:
    """Build a model of the gallery.

    Args:
        name: one of `NAMES`.
        settings: settings that differ from their defaults (`ENTRIES[name].settings`).

    Raises:
        ModelError: for an unknown name or setting, or an invalid value.

    Example:
        >>> run = load("n-four-bar", N=3).run()
    """
    # imported here, because the list of models must not import slow modules
    from zwang.inputs.arguments import count, label, number
    from zwang.inputs.arrays import require_float64

    require_float64()
    if name not in ENTRIES:
        raise ModelError(f"the gallery has no model {name!r:.100}{did_you_mean(name, NAMES)}")
    entry = ENTRIES[name]
    for setting in settings:
        if setting not in entry.settings:
            raise ModelError(
                f"{name} has no setting {setting!r}{did_you_mean(setting, entry.settings)}"
            )
        kind = type(entry.settings[setting].default)
        what = f"{name}: {setting}"
        if kind is int:
            settings[setting] = count(settings[setting], what, most=LARGEST)
        elif check := {float: number, str: label}.get(kind):
            settings[setting] = check(settings[setting], what)
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
