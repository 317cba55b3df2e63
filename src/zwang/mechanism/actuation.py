"""Actuators and servo constraints of a mechanism as one `zw.Servo`.

B = (∂ẋ/∂v)ᵀ        x: the coordinates that the actuators act on (virtual power, as for springs)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import jax
import jax.numpy as jnp
import numpy as np

from zwang.equations.constraint import AbstractConstraint
from zwang.mechanism.field_types import PartError
from zwang.mechanism.geometry import GROUND
from zwang.mechanism.joint_constraints import JointConstraints
from zwang.mechanism.prescribed_motion import following
from zwang.mechanism.relative_pose import DISPLACEMENT, value_and_rate
from zwang.mechanism.resolution import Ends, coordinate_between
from zwang.mechanism.schema import Actuator, ServoConstraint
from zwang.servo import Limits, Servo


def servo(
    wanted: Mapping[str, ServoConstraint],
    actuators: Mapping[str, Actuator],
    joints: JointConstraints,
    taken: tuple[str, ...],
    rate: Callable,
    velocities: Callable,
) -> Servo | None:
    """Make the servo of a mechanism; None without servo constraints.

    Args:
        wanted: the servo constraints, by name.
        actuators: by name.
        joints: the mechanism's joints.
        taken: names of its passive constraints.
        rate: `(q, v, t, p)` → q̇.
        velocities: `q` → number of velocities.

    Raises:
        PartError: for an invalid part, by name.
    """
    ends = [_actuated(name, actuator, joints) for name, actuator in actuators.items()]
    constraints = [_constraint(name, part, joints, taken, rate) for name, part in wanted.items()]
    if not wanted:
        if actuators:
            raise PartError(
                ("actuators", next(iter(actuators))),
                "has nothing to do: there is no servo constraint in [servo].",
            )
        return None
    if not actuators:
        raise PartError(("servo", next(iter(wanted))), "needs actuators: name them in [actuators].")
    coordinates = [joints.coordinate(x) for x in ends]

    def actuation(q, t, p):
        def rates(v):
            return jnp.stack(
                [
                    value_and_rate(lambda q, x=x: x(q, p), q, rate(q, v, t, p))[1]
                    for x in coordinates
                ]
            )

        # ẋ is linear in v, so its derivative may be taken at v = 0.
        return jax.jacrev(rates)(jnp.zeros(velocities(q))).T

    limits = {
        side: np.array([getattr(a, side) for a in actuators.values()], float)
        for side in ("lower", "upper")
    }
    return Servo(
        constraints,
        actuation,
        actuators=list(actuators),
        actuator_units=["N m" if x.coordinate.angular else "N" for x in ends],
        gains={name: part.gain for name, part in wanted.items() if part.gain},
        limits=Limits(**limits) if np.isfinite([*limits.values()]).any() else None,
    )


def _actuated(name: str, actuator: Actuator, joints: JointConstraints) -> Ends:
    where = ("actuators", name)
    if not actuator.lower < actuator.upper:
        raise PartError(
            where,
            f"lower is {actuator.lower:g} and upper {actuator.upper:g}, "
            "expected lower below upper.",
        )
    return joints.acted_on(actuator, where)


def _constraint(
    name: str,
    part: ServoConstraint,
    joints: JointConstraints,
    taken: tuple[str, ...],
    rate: Callable,
) -> AbstractConstraint:
    """A servo constraint: of a position, of a coordinate, or of a coordinate's rate."""
    where, geometry = ("servo", name), joints.geometry
    if name in taken:
        raise PartError(where, "has the name of a joint or drive; give each its own.")
    if (part.on is None) == (part.joint is None):
        raise PartError(where, "expected either on or joint.")
    if (part.value is None) == (part.rate is None):
        raise PartError(where, "expected either value or rate.")
    if not part.gain >= 0:
        raise PartError(
            (*where, "gain"),
            f"is {part.gain:g}, expected a positive number, or 0 to keep an error as it is.",
        )
    if part.on is not None and part.coordinate is None:
        points = geometry.point(GROUND, where), geometry.point(part.on, (*where, "on"))
        ends = Ends(*points, DISPLACEMENT)
    elif part.on is not None:
        ends = coordinate_between((GROUND, part.on), geometry, where, part.coordinate)
    else:
        assert part.joint is not None
        ends = joints.of(part.joint, part.coordinate, where)
    which = "value" if part.rate is None else "rate"
    given, place = getattr(part, which), ends.coordinate == DISPLACEMENT
    formulas = given if isinstance(given, tuple) else (given,)
    if len(formulas) != (expected := geometry.d if place else 1):
        raise PartError((*where, which), f"has {len(formulas)} formulas, expected {expected}.")
    laws = [joints.formula(x, ("t",), (*where, which)) for x in formulas]

    def asked(t, p):
        values = [law.traced({**p["parameters"], "t": t}) for law in laws]
        return jnp.stack(values) if place else values[0]

    if which == "value":
        joints.turns.count(ends, name)
    return following(name, joints, ends, asked, rate if which == "rate" else None)
