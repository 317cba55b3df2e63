"""Computation of a state on the constraints near a guess."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import PyTree

from zwang.algebra.pseudoinverse import AbstractPseudoinverse
from zwang.dynamics.initial_conditions import PlacementError, placed
from zwang.dynamics.model import Model
from zwang.dynamics.placement import Placement
from zwang.equations.constraint import AbstractConstraint, Holonomic
from zwang.inputs.arguments import host_only, instance, known, texts
from zwang.thresholds import CONVERGED


@host_only("move the start before, or give it to zw.trajectory, which moves it")
def consistent_state(
    model: Model,
    q,
    v=None,
    t=0.0,
    *,
    keep: Sequence[str] = (),
    params: PyTree = None,
    pseudoinverse: AbstractPseudoinverse | None = None,
) -> Placement:
    """Compute a state on the constraints near a guess. Each correction has the least norm in the
    mass metric.

        q ← q ⊖ A⊕ φ  until φ = 0,    v ← v − A⊕ ψ

    Args:
        model: the model.
        q: guess of the coordinates, shape (nq,).
        v: guess of the velocities, shape (nv,); zero by default.
        t: time [s].
        keep: names of coordinates that remain unchanged, with their rates if `v` is given.
        params, pseudoinverse: as in `zw.motion`.

    Returns:
        A `Placement`: `.state.q`, `.state.v`, their changes (`.moved_q`, `.moved_v`) and the
            violation before and after.

    Raises:
        ModelError: if no consistent state is found from this guess, with the constraint of the
            largest violation, or for a name that is no coordinate.
    """
    instance(model, Model, "consistent_state: model", "a zw.Model")
    given, v = v is not None, np.zeros(model.system.nv) if v is None else v
    options = {"params": params, "pseudoinverse": pseudoinverse}
    if not (keep := texts(keep, "consistent_state: keep")):
        return placed(model, q, v, t, **options)
    kept = _kept(model, q, v, t, keep, params)
    held = Model(model.system, [*model.constraints.members, kept], model.params, name=model.name)
    try:
        found = placed(held, q, v, t, **options)
    except PlacementError as error:
        # rates that are not given follow from the constraints, which may move
        if given or error.placement.violation_after > CONVERGED:
            raise PlacementError(
                f"{str(error).rstrip('.')}, with {', '.join(keep)} kept; keep fewer coordinates, "
                "or give another guess of the others.",
                error.placement,
            ) from None
        found = error.placement
    return found if given else placed(model, found.state.q, v, t, **options)


def _kept(model: Model, q, v, t, keep: Sequence[str], params: PyTree) -> AbstractConstraint:
    """Return the constraint that keeps some coordinates at their values, and at their rates."""
    coordinates = model.system.coordinates
    for name in keep:
        known(name, coordinates, f"{model.name} has no coordinate")
    entries = np.array([coordinates.index(name) for name in keep])
    state = model.state(q, v, t)
    rate = model.system.rate(state.q, state.v, state.t, model.parameters(params))
    place, speed = np.asarray(state.q)[entries], np.asarray(rate)[entries]
    return Holonomic(lambda q, t, p: q[entries] - place - speed * (t - state.t), name="kept")
