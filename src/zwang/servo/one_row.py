"""Rows of a servo constraint as separate constraints. The rows of one constraint share a relative
degree, but those of a function that returns several rows may have different relative degrees.
"""

from __future__ import annotations

from collections.abc import Callable

from zwang.dynamics.equation_of_motion import Dynamics
from zwang.equations.constraint import AbstractConstraint, Constraints
from zwang.equations.constraint.level import AbstractLevel
from zwang.objects.record import field
from zwang.servo.servo import Servo


class OneRow(AbstractConstraint):
    """One row of a constraint.

    Attributes:
        constraint: the constraint.
        row: index of the row in it.
    """

    name: str = field(static=True)
    nonideal: Callable | None
    constraint: AbstractConstraint
    row: int = field(static=True)

    def __init__(self, constraint: AbstractConstraint, row: int):
        self.name, self.nonideal = f"{constraint.name}[{row}]", None
        self.constraint, self.row = constraint, row

    @property
    def level(self) -> AbstractLevel:
        return self.constraint.level

    @property
    def row_units(self) -> tuple[str, ...]:
        units = self.constraint.row_units
        return units[self.row : self.row + 1] if len(units) > 1 else units

    def position_residual(self, system, q, t, p):
        return self.constraint.position_residual(system, q, t, p)[self.row : self.row + 1]

    def velocity_residual(self, system, q, v, t, p):
        return self.constraint.velocity_residual(system, q, v, t, p)[self.row : self.row + 1]

    def acceleration_rows(self, system, q, v, t, p):
        A, b = self.constraint.acceleration_rows(system, q, v, t, p)
        return A[self.row : self.row + 1], b[self.row : self.row + 1]


def separated(servo: Servo, name: str, dynamics: Dynamics) -> Servo:
    """The servo in which each row of the constraint `name` is a separate constraint, `NAME[0]` and
    so on, with the same gain.
    """
    members, gains = [], dict(servo.gains)
    for c in servo.constraints:
        if c.name != name:
            members.append(c)
            continue
        rows = [OneRow(c, i) for i in range(_rows(c, dynamics))]
        members += rows
        if name in gains:
            gain = gains.pop(name)
            gains |= {row.name: gain for row in rows}
    return Servo(
        members,
        servo.actuation,
        actuators=servo.actuators,
        actuator_units=servo.actuator_units,
        gains=gains,
        null_space=servo.null_space,
        limits=servo.limits,
        pseudoinverse=servo.pseudoinverse,
    )


def _rows(constraint: AbstractConstraint, dynamics: Dynamics) -> int:
    return Constraints([constraint], dynamics.system, dynamics.p).m
