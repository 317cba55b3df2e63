"""The equations that hold at a state of a model whose constraints may let go."""

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
    """How everything that may let go is held from a state on.

    Attributes:
        model: with the equations that hold; friction that slides goes on sliding.
        held: in words, by name.
        on: which rows of the model as given hold, shape (m,).
        sliding: as of `Constraints`, zero where nothing slides.
        names: name of each row that is a gap.
        dynamics, state: the equations of the model as given that hold, and the state.
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
    """The model as it moves from a state on, until something opens, closes, sticks or slides: gaps
    that are closed and friction that sticks are equations, what is open or loaded by it is left
    out, and friction that slides goes on sliding.

    Everything that looks at one state or a short motion takes such a model:
    `zw.analysis.linearize`, `zw.motion`, `zw.trajectory` with its gradients, code. It does not know
    where its mode ends.

    Args:
        model: the model.
        q, v: the state, shapes (nq,) and (nv,); v is zero if left out. Where a gap closes with a
            speed, what holds after the impact is meant.
        t: time [s].
        params: parameters that differ from the model's, by which it is decided; the result has the
            model's own.

    Raises:
        ModelError: for a state that penetrates a gap, or that no forces go on from.

    Example:
        >>> mode = zw.contact_mode(model, q)
        >>> print(zw.analysis.linearize(mode, q))
    """
    instance(model, Model, "contact_mode: model", "a zw.Model")
    refuse_switches(model, "zw.contact_mode")
    return mode_of(model, q, v, t, params).model if model.constraints.loose else model


def mode_of(
    model: Model, q, v, t: float, params: PyTree, start_tolerance: float = ACCEPTED_VIOLATION
) -> Mode:
    """The mode of a model with constraints that may let go, at a state; see `contact_mode`."""
    v = np.zeros(model.system.nv) if v is None else v
    # the beginning of a motion of a second says what holds: no step of it is taken
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
            f"{model.name}: no motion goes on from this state: {end.result.sentence}: {end.detail}."
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
    """Which rows hold in a mode, which slide and how, and the names of the gaps by their rows."""
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
    """The model with equations in place of what may let go; the arguments are those of `Mode`."""
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
    """The model without some of its constraints."""
    kept = [c for c in model.constraints.members if not left_out(c)]
    if len(kept) == len(model.constraints.members):
        return model
    return model.with_parts(constraints=kept, servo=model.servo)
