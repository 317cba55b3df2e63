"""Coordinates that follow a formula, as constraints: drives, servo constraints, start values.

φ = x − w(t)    or    ψ = ẋ − w(t)        x: a coordinate of two points
"""

from __future__ import annotations

from collections.abc import Callable

import jax.numpy as jnp

from zwang.equations.constraint import AbstractConstraint, Holonomic, Nonholonomic
from zwang.mechanism.field_types import PartError
from zwang.mechanism.joint_constraints import JointConstraints
from zwang.mechanism.relative_pose import value_and_rate, wrapped
from zwang.mechanism.resolution import Ends
from zwang.mechanism.schema import Drive


def following(
    name: str, joints: JointConstraints, ends: Ends, asked: Callable, rate: Callable | None
) -> AbstractConstraint:
    """A coordinate, or its rate, that follows a function of time.

    Args:
        name: of the constraint.
        joints: the mechanism's joints.
        ends: the points and their coordinate.
        asked: `(t, p)` → the value, or the rate.
        rate: `(q, v, t, p)` → q̇ for a prescribed rate; None for a value.
    """
    x = joints.coordinate(ends)
    # In space an angle that does not count turns is known modulo 2π.
    turning = (
        joints.geometry.d == 3 and ends.coordinate.angular and joints.turns.entry(ends) is None
    )

    def phi(q, t, p):
        error = x(q, p) - asked(t, p)
        return wrapped(error) if turning else error

    def psi(q, v, t, p):
        assert rate is not None
        return value_and_rate(lambda q: x(q, p), q, rate(q, v, t, p))[1] - asked(t, p)

    unit = ends.coordinate.unit
    if rate is None:
        return Holonomic(phi, name=name, unit=unit)
    return Nonholonomic(psi, name=name, unit=f"{unit}/s")


def drive_constraint(
    name: str, drive: Drive, joints: JointConstraints, rate: Callable
) -> AbstractConstraint:
    """A drive as a constraint on the coordinate, or on its rate.

    Raises:
        PartError: for an invalid drive.
    """
    where = ("drives", name)
    ends = joints.acted_on(drive, where)
    which, asked = _asked(drive, joints, where)
    return following(name, joints, ends, asked, rate if which == "rate" else None)


def still_drive(name: str, drive: Drive, joints: JointConstraints) -> AbstractConstraint | None:
    """A drive of a coordinate, frozen at t = 0; None for a drive of a rate.

    A drive of a rate allows every position.
    """
    where = ("drives", name)
    which, asked = _asked(drive, joints, where)
    if which == "rate":
        return None
    ends = joints.acted_on(drive, where)
    return following(name, joints, ends, lambda t, p: asked(jnp.asarray(0.0), p), None)


def driven(drive: Drive, joints: JointConstraints, params: dict) -> dict[str, float]:
    """The value and the rate of a drive at t = 0, if it prescribes them."""
    which, asked = _asked(drive, joints, ())
    if which == "rate":
        return {"rate": float(asked(0.0, params))}
    value, rate = value_and_rate(lambda t: asked(t, params), jnp.zeros(()), jnp.ones(()))
    return {"value": float(value), "rate": float(rate)}


def _asked(drive: Drive, joints: JointConstraints, where) -> tuple[str, Callable]:
    """The kind of prescribed quantity, value or rate, and the function `(t, p)` → number."""
    if (drive.value is None) == (drive.rate is None):
        raise PartError(where, "expected either value or rate.")
    which = "value" if drive.rate is None else "rate"
    given = joints.formula(getattr(drive, which), ("t",), (*where, which))
    return which, lambda t, p: given.traced({**p["parameters"], "t": t})
