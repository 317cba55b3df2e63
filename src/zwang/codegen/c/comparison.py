"""Comparison of generated C with its model."""

from __future__ import annotations

import numpy as np

from zwang.codegen.c.library import Library
from zwang.codegen.c.source import CCode
from zwang.codegen.samples import samples
from zwang.errors import ModelError
from zwang.simulation.mode import without

AGREES = 1e-9
"""Largest relative difference that is accepted; the conditioning of A at random states costs the
missing digits."""


def agreement(code: CCode, q0=None, v0=None, states: int = 1000, seed: int = 1) -> dict[str, float]:
    """Return the largest relative differences between compiled code and the numeric model at random
    states.

    Args:
        code: the code.
        q0, v0: a state around which the random ones are drawn.
        states: number of states.
        seed: of the states.

    Returns:
        "acceleration", "constraint_force" and, with a servo, "control" → difference, relative to
        the terms of each.

    Raises:
        ModelError: without a C compiler, or if one differs by more than 1e-9.
    """
    library = Library(code)
    open_model = without(code.functions.model, lambda c: c.level.lets_go)
    given = samples(open_model, q0, v0, states, seed=seed)
    reference = given.reference()
    found = [library.motion(*x) for x in zip(given.q, given.v, given.t, given.p, strict=True)]
    vdot, forces, u = (np.array([f[i] for f in found]) for i in range(3))
    terms = np.abs(reference.free_acceleration).max(axis=1)
    # a force balances others, and is accurate up to the round-off of these
    applied = np.abs(reference.applied).max(axis=1)
    errors = {
        "acceleration": given.error(vdot, reference.acceleration, terms),
        "constraint_force": given.error(forces, reference.constraint_force, applied),
    }
    if library.nu:
        errors["control"] = given.error(u, reference.u, applied)
    for name, error in errors.items():
        if not error <= AGREES:
            raise ModelError(
                f"{code.name}: the {name} of the generated C differs from the numeric model by "
                f"{error:.2g}, expected at most {AGREES:g}; choose q0 and v0 where the constraints "
                "keep their rank and the servo its authority."
            )
    return errors
