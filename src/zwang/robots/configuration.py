"""Configurations of a robot: prescribed joints, the others moved to close loops and couplings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from zwang.bodies.shape import UNIT_ATTITUDE_ERROR
from zwang.dynamics.initial_conditions import PlacementError, placed, worst_violation
from zwang.dynamics.model import Model
from zwang.equations.constraint import Holonomic
from zwang.equations.state import State
from zwang.errors import ModelError
from zwang.inputs.arguments import known, mapping, real_array, refuse

if TYPE_CHECKING:
    from zwang.robots.robot import Robot

HELD = "held"
"""Name of the constraint, and of its parameters, that holds joints while the others are moved."""


def configured(robot: Robot, start: Mapping | str | None, near: Mapping | None) -> State:
    """The state at rest with prescribed joints `start`, the others moved least from `near`.

    `near` may be a named configuration of the file; the default is the file's own.

    Raises:
        ModelError: for an unknown name or a wrong value, or if loops and couplings do not allow it.
    """
    guess, name = dict(robot.description.start), robot.name
    what = f"{name}: state"
    near = {} if near is None else _values(robot, near, f"{what}: near")
    if isinstance(start, str):
        at = known(start, robot.keyframes, f"{name} has no configuration")
        given, guess = {}, guess | robot.description.keyframes[at] | near
    else:
        given = {} if start is None else _values(robot, start, f"{what}: start")
        guess = _followed(robot, guess | near | given, {*near, *given})
    q = robot.filled(guess, "coordinate", robot.tree.home)
    entries = np.concatenate([np.zeros(0, int), *(robot.tree.coordinate(n) for n in given)])
    v = np.zeros(robot.tree.system.nv)
    if not robot.constraints:
        return robot.model.state(q, v)
    if not len(entries):
        return placed(robot.model, q, v).state
    values = q[entries]
    asked = {HELD: {"entries": np.eye(len(q))[entries].ravel(), "values": values}}
    model = _holding(robot, len(entries)).with_params({**robot.model.params, **asked})
    try:
        found = placed(model, q, v, parts=(robot.model, (HOLD,))).state
    except PlacementError as error:
        wanted = ", ".join(f"{n} = {_shown(x)}" for n, x in given.items())
        left = worst_violation(robot.model, error.placement.state, None)
        raise ModelError(
            f"{what}: no configuration with {wanted} closes the loops and couplings: "
            f"{left} remains; ask for fewer or other coordinates, or give a guess of further ones "
            "by near={…}."
        ) from None
    q = np.array(found.q)
    # removes the round-off of the last step
    q[entries] = values
    return robot.model.state(q, v)


def _held(q, t, p):
    # one row, as zeros of two-dimensional tables become part of a program (`flat.with_known_zeros`)
    return p[HELD]["entries"].reshape(-1, len(q)) @ q - p[HELD]["values"]


HOLD = Holonomic(_held, name=HELD)


def _holding(robot: Robot, number: int) -> Model:
    """The robot's model with a number of held coordinates, which its parameters select.

    There is one object for each number, as making a model takes longer than finding a
    configuration.
    """
    if number not in robot.holding:
        base, nq = robot.model, robot.tree.system.nq
        none = {HELD: {"entries": np.zeros(number * nq), "values": np.zeros(number)}}
        robot.holding[number] = Model(
            base.system, [*robot.constraints, HOLD], {**base.params, **none}, name=robot.name
        )
    return robot.holding[number]


def _values(robot: Robot, given: Mapping, what: str) -> dict[str, np.ndarray]:
    """Coordinates by joint, of the size that each joint has."""
    made = {}
    for name, value in mapping(given, what, '{"elbow": 0.3}').items():
        size = len(robot.tree.coordinate(name))
        x = np.atleast_1d(real_array(value, f"{what}: {name!r}"))
        unit = size == 1 or (
            x.shape == (4,) and abs(np.linalg.norm(x) - 1.0) <= UNIT_ATTITUDE_ERROR
        )
        if x.shape != (size,) or not np.all(np.isfinite(x)) or not unit:
            expected = "a finite number" if size == 1 else "a unit quaternion (w, x, y, z)"
            refuse(f"{what}: {name!r}", value, expected)
        made[name] = x if size == 1 else x / np.linalg.norm(x)
    return made


def _followed(robot: Robot, guess: dict, kept: set[str]) -> dict:
    """A guess in which joints that follow others satisfy their couplings.

    Only a joint that is alone on its side of a coupling is set; the joints on the other side then
    need not move.
    """
    couplings = robot.description.couplings.values()
    made = dict(guess)
    # The couplings are applied in turn; a chain of couplings is no longer than their number.
    for _ in couplings:
        before = dict(made)
        for coupling in couplings:
            if len(coupling.first) != 1 or {*coupling.first} & kept:
                continue
            ((name, weight),) = coupling.first.items()
            if not weight or len(robot.tree.coordinate(name)) != 1:
                continue
            y = sum(w * float(np.squeeze(made.get(n, 0.0))) for n, w in coupling.second.items())
            x = np.polynomial.polynomial.polyval(y - coupling.rest[1], coupling.polynomial)
            made[name] = np.array([(x + coupling.rest[0]) / weight])
        if all(np.array_equal(made[n], before.get(n, np.nan)) for n in made):
            break
    return made


def _shown(value: np.ndarray) -> str:
    return f"{value[0]:.6g}" if len(value) == 1 else f"({', '.join(f'{x:.6g}' for x in value)})"
