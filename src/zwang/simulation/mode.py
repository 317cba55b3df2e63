"""The equations that are active at a state of a model with inequalities or dry friction."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from jaxtyping import PyTree

from zwang.dynamics.equation_of_motion import Dynamics
from zwang.dynamics.model import Model
from zwang.dynamics.vector_field import HELD_OFF, HELD_ON, ConstrainedVectorField, is_spent
from zwang.equations.constraint import (
    AbstractConstraint,
    DryFriction,
    Holonomic,
    Inequality,
    Nonholonomic,
)
from zwang.equations.state import State
from zwang.errors import ModelError
from zwang.inputs.arguments import instance
from zwang.inputs.arrays import on_device
from zwang.inputs.call import misfits_named
from zwang.objects.record import Record, field, replace
from zwang.simulation.contact import Contacts
from zwang.simulation.listener import Listener
from zwang.simulation.monitor import MotionEndError
from zwang.simulation.run_setup import RunRequest, set_up
from zwang.simulation.switching import refuse_switches
from zwang.thresholds import ACCEPTED_VIOLATION, DEFAULT_RTOL


class ClosedRows(Record):
    """Some rows of a gap, `(q, t, p)` or `(q, v, t, p)` → shape (rows,)."""

    gap: Inequality
    rows: tuple[int, ...] = field(static=True)

    def __call__(self, *given):
        one_way = self.gap.velocity
        residual = self.gap.velocity_residual if one_way else self.gap.position_residual
        return residual(None, *given)[np.array(self.rows)]


class Mode(NamedTuple):
    """The active equations of all inequalities and dry frictions from a state on.

    Attributes:
        model: the model with these equations; friction that slides continues to slide.
        held: mode of each, in words, by name.
        on: which rows of the given model are active, shape (m,).
        sliding: as in `Constraints`, zero where nothing slides.
        names: name of each row that is a gap.
        dynamics, state: the active equations of the given model, and the state.
    """

    model: Model
    held: dict[str, str]
    on: np.ndarray
    sliding: np.ndarray
    names: dict[int, str]
    dynamics: Dynamics
    state: State


@misfits_named
def contact_mode(model: Model, q, v=None, t: float = 0.0, *, params: PyTree = None) -> Model:
    """Return the model of the motion from a state on, until a gap opens or closes, or a friction
    sticks or slides. Closed gaps and sticking frictions become equations, open gaps and the
    frictions that they load are left out, and sliding friction continues to slide.

    Every analysis of one state or a short motion takes such a model: `zw.analysis.linearize`,
    `zw.motion`, `zw.trajectory` with its gradients, generated code. The model does not detect the
    end of its mode.

    Args:
        model: the model.
        q, v: the state, shapes (nq,) and (nv,); v is zero by default. If a gap closes with a
            velocity, the mode is that after the impact.
        t: time [s].
        params: parameters that differ from the model's, used to determine the mode; the result has
            the model's own.

    Raises:
        ModelError: for a state that penetrates a gap, or from which no forces continue the motion.

    Example:
        >>> mode = zw.analysis.contact_mode(model, q)
        >>> print(zw.analysis.linearize(mode, q))
    """
    instance(model, Model, "contact_mode: model", "a zw.Model")
    refuse_switches(model, "zw.analysis.contact_mode")
    return mode_of(model, q, v, t, params).model if model.constraints.loose else model


def mode_of(
    model: Model, q, v, t: float, params: PyTree, start_tolerance: float = ACCEPTED_VIOLATION
) -> Mode:
    """Return the mode of a model with inequalities or dry friction at a state; see
    `contact_mode`.
    """
    v = np.zeros(model.system.nv) if v is None else v
    # the beginning of a run of one second determines the mode; no step is taken
    asked = RunRequest(
        model=model,
        state=model.state(q, v, t, on_host=True),
        instants=np.array([t + 1.0]),
        span=1.0,
        rtol=DEFAULT_RTOL,
        params=params,
        start_tolerance=start_tolerance,
        max_steps=1,
    )
    setup = set_up(asked)
    run = setup.run(Listener(None), model=model)
    run.begin()
    try:
        for x in run.monitors:
            x.begin(run)
    except MotionEndError as end:
        raise ModelError(
            f"{model.name}: no motion continues from this state: {end.result.sentence}: "
            f"{end.detail}."
        ) from None
    assert setup.switching is not None and setup.switching.contacts is not None
    modes = np.asarray(run.here.controller_state)
    contacts = setup.switching.contacts
    words = [_in_words(mode, k < len(contacts.gaps)) for k, mode in enumerate(modes)]
    rows = held_rows(run.flow, contacts, modes)
    held = dict(zip(contacts.names, words, strict=True))
    here = run.flow.with_input(on_device(modes)).dynamics, run.flow.state(run.here.t, run.here.y)
    return Mode(with_equations(model, *rows), held, *rows, *here)


def held_rows(
    flow: ConstrainedVectorField, contacts: Contacts, modes: np.ndarray
) -> tuple[np.ndarray, np.ndarray, dict[int, str]]:
    """Return which rows are active in a mode, which slide and how, and the names of gaps by their
    rows.
    """
    c = flow.with_input(on_device(modes)).dynamics.constraints
    sliding = np.zeros(c.m) if c.sliding is None else np.asarray(c.sliding)
    names = dict(zip(contacts.gaps.tolist(), contacts.names, strict=False))
    return np.asarray(c.on), sliding, names


def _in_words(mode: float, is_gap: bool) -> str:
    if is_gap:
        return "closed" if mode > HELD_OFF else "open"
    if mode == HELD_OFF:
        return "not loaded"
    return "sticks" if mode == HELD_ON or is_spent(mode) else "slides"


def with_equations(
    model: Model, on: np.ndarray, sliding: np.ndarray, names: Mapping[int, str]
) -> Model:
    """Return the model with equations in place of inequalities and dry frictions. The arguments are
    those of `Mode`.
    """
    members: list[AbstractConstraint] = []
    kept: list[int] = []
    for c in model.constraints.members:
        rows = np.arange(len(on))[model.constraints.rows_of(c)]
        first = int(rows[0])
        if isinstance(c, Inequality):
            rows = rows[on[rows]]
        if isinstance(c, Inequality) and len(rows):
            same = c.unit[:1] if len(set(c.unit)) == 1 else ()
            phi = ClosedRows(c, tuple((rows - first).tolist()))
            parts = [names[i] for i in rows]
            kind = Nonholonomic if c.velocity else Holonomic
            members.append(kind(phi, name=c.name, parts=parts, unit=same))
        elif isinstance(c, DryFriction) and on[first] and not np.any(sliding[rows]):
            members.append(Nonholonomic(c.sliding_velocity, name=c.name, unit=c.row_units))
        elif not c.level.lets_go or np.any(sliding[rows]):
            members.append(c)
        else:
            continue
        kept += rows.tolist()
    found = model.with_parts(constraints=members, servo=model.servo)
    if not np.any(sliding[kept]):
        return found
    held = replace(found.constraints, on=on[kept], sliding=sliding[kept])
    return replace(found, constraints=held)


def without(model: Model, left_out: Callable[[AbstractConstraint], bool]) -> Model:
    """Return the model without those of its constraints for which `left_out` is true."""
    kept = [c for c in model.constraints.members if not left_out(c)]
    if len(kept) == len(model.constraints.members):
        return model
    return model.with_parts(constraints=kept, servo=model.servo)
