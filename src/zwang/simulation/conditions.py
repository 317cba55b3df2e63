"""Checks of the functions whose zeros end a run or switch a constraint."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np

from zwang.dynamics.model import Model
from zwang.dynamics.run_events import Events
from zwang.errors import ModelError, Result
from zwang.inputs.tracing import outcome, returned
from zwang.simulation.monitor import AbstractMonitor, Chunk, RunState
from zwang.stepping.step import Progress

EXPECTED = "expected one real number that passes zero where the condition is met"
_CHECKED: weakref.WeakKeyDictionary[Callable, set] = weakref.WeakKeyDictionary()
"""Conditions that passed the check, with the shapes of their arguments; each check takes a
millisecond.
"""


def conditions_of(
    events: Events, stops: Sequence[str], switches: Sequence[str], loose: Sequence[str]
) -> list[str]:
    """Return the names of the functions of `events` in messages, from the names of the stop
    conditions, the switched constraints, and the inequalities and dry frictions (`loose`).
    """
    switching = [
        f"condition {'off' if condition.off else 'on'}= of zw.Switch {switches[condition.switch]!r}"
        for condition in events.conditions
    ]
    return [
        *(f"stop condition {name!r}" for name in stops),
        *switching,
        *(f"constraint {name!r}" for name in loose),
    ]


def check_condition(function: Callable, what: str, model: Model, p, *further) -> None:
    """Raise unless a condition of a stop or a switch returns one real number. Nothing is compiled.

    Args:
        function: `(q, v, t, p, *further) -> number`.
        what: name of the condition, at the beginning of the message.
        model: gives the shapes of q and v.
        p: parameters of the run.
        further: further arguments of the function: the multipliers of the rows that it switches
            off.

    Raises:
        ModelError: if the function fails, or does not return one real number.
    """
    system = model.system
    leaves, tree = jax.tree_util.tree_flatten((p, further))
    key = (system.nq, system.nv, tree, tuple(jnp.shape(x) for x in leaves))
    try:
        known = _CHECKED.setdefault(function, set())
    except TypeError:  # an object that cannot be a key is checked in every run
        known = set()
    if key in known:
        return
    q, v = np.zeros(system.nq), np.zeros(system.nv)
    one = lambda q, v, t, p, *x: jnp.asarray(returned(function(q, v, t, p, *x), what))
    shape = outcome(one, what, q, v, np.zeros(()), p, *further).shape
    if shape not in ((), (1,)):
        raise ModelError(
            f"{what} returns shape {shape}, {EXPECTED}: "
            "jnp.min or jnp.max of them, or a condition for each."
        )
    known.add(key)


def refuse_undefined(here: Progress, names: Sequence[str]) -> None:
    """Raise if a condition was not a number at a state of the run, because its zero may have been
    missed there.

    Raises:
        ModelError: if a condition was NaN.
    """
    # The loop keeps the largest value of each condition so far, in which a NaN stays.
    bad = np.flatnonzero(np.isnan(np.asarray(here.largest)))
    if len(bad):
        now = np.isnan(np.asarray(here.events)[bad[0]])
        when = "is NaN at" if now else "was NaN before"
        raise ModelError(
            f"{names[bad[0]]} {when} t = {float(here.t):.6g} s, {EXPECTED}; make it defined "
            "at every state of the run."
        )


class ConditionWatch(AbstractMonitor):
    """Refuses a condition that was NaN at a state of the run.

    Args:
        names: names of the conditions in messages.
    """

    def __init__(self, names: Sequence[str]):
        self.names = tuple(names)

    def judge(self, run: RunState, chunk: Chunk, result: Result) -> Result:
        refuse_undefined(run.here, self.names)
        return result
