"""Derivations printed as programs and pages.

| file | language | executed by |
|---|---|---|
| `python.py` | Python with NumPy | itself |
| `c.py` | C99 | the C compiler |
| `octave.py` | MATLAB and Octave | Octave |
| `julia.py` | Julia | Julia |
| `latex.py`, `text.py` | LaTeX, plain text | nothing |
| `page.py` | a page of HTML with MathML | a browser |
"""

from __future__ import annotations

import dataclasses

import numpy as np

from zwang.codegen.names import identifier
from zwang.codegen.samples import Samples
from zwang.errors import ModelError
from zwang.symbolic.conversion import TAKEN
from zwang.symbolic.derivation import Derivation
from zwang.symbolic.printing import c, julia, latex, octave, page, python
from zwang.symbolic.printing.routine import routines

LANGUAGES = {"Python": python, "C": c, "Octave": octave, "Julia": julia}
AGREES = 1e-9
"""Largest accepted relative difference of a printed function; the conditioning of A at random
states costs digits, and the difference that was found is printed.
"""


def printed_and_checked(found: Derivation, given: Samples) -> Derivation:
    """Print the programs of a derivation, execute and compare each function.

    Raises:
        ModelError: if one does not agree with the numeric model.
    """
    name = identifier(found.model.name)
    name = f"{name}_model" if name in TAKEN else name
    listed, reference = routines(found), given.reference()
    expected = {
        "acceleration": reference.acceleration,
        "constraint_force": reference.constraint_force,
        "control": reference.u,
    }
    write = lambda note: {
        key: value
        for module in LANGUAGES.values()
        for key, value in module.source(name, listed, found, note).items()
    }
    digits: dict[str, float | None] = {}
    sources = write("")
    for language, module in LANGUAGES.items():
        values = module.results(sources, name, listed, given)
        for routine in listed:
            error = None
            if values is not None:
                error = difference(
                    values[routine.name], expected[routine.name], routine.name, given
                )
                _require(error, language, routine.name, found)
            digits[f"{language}: {routine.name}"] = error
    checked = dataclasses.replace(found, digits=digits, states=len(given.q))
    note = checked.verdict()
    sources = write(note) | c.driver(name, listed, given, expected)
    sources |= latex.document(checked, name, note) | page.document(checked, name)
    return dataclasses.replace(checked, sources=sources)


def difference(found: np.ndarray, expected: np.ndarray, name: str, given: Samples) -> float:
    """Largest relative difference over the states.

    An acceleration is relative to the free acceleration as well, forces of constraints and
    actuators relative to all applied forces.
    """
    reference = given.reference()
    terms = np.zeros((len(expected), 1))
    if name == "acceleration":
        terms = reference.free_acceleration
    else:  # Forces balance others, and are known up to the round-off of these.
        terms = reference.applied
    terms = np.abs(terms).max(axis=1, initial=0.0)
    return given.error(found, expected, terms)


def _require(error: float, language: str, name: str, found: Derivation) -> None:
    if not error <= AGREES:
        raise ModelError(
            f"{found.model.name}: the printed {name} in {language} differs from the numeric model "
            f"by {error:.2g}, expected at most {AGREES:g}; choose q0 and v0 where the constraints "
            "keep their rank and the servo its authority."
        )
