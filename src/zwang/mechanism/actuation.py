"""Actuators and servo constraints of a mechanism as one `zw.Servo`.

B = (∂ẋ/∂v)ᵀ        x: the coordinates that the actuators work on (virtual power, as for springs)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import jax
import jax.numpy as jnp
import numpy as np

from zwang.equations.constraint import AbstractConstraint, Holonomic, Nonholonomic
from zwang.mechanism.layout import GROUND
from zwang.mechanism.pairs import ANGULAR, along, wrapped
from zwang.mechanism.parts import Actuator, PartError, ServoConstraint
from zwang.mechanism.rows import Ends, Joints, checked, known_coordinate
from zwang.servo import Limits, Servo


def servo(
    wanted: Mapping[str, ServoConstraint],
    actuators: Mapping[str, Actuator],
    joints: Joints,
    taken: tuple[str, ...],
    rate: Callable,
    nv: Callable[[], int],
) -> Servo | None:
    """The servo of a mechanism, or None if it has no servo constraint.

    Args:
        wanted: the servo constraints, by name.
        actuators: by name.
        joints: the mechanism's joints.
        taken: names of its passive constraints.
        rate: `(q, v, t, p)` → q̇.
        nv: number of velocities, asked for when a force is first computed.

    Raises:
        PartError: for a part that makes no sense, naming it.
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
                [along(lambda q, x=x: x(q, p), q, rate(q, v, t, p))[1] for x in coordinates]
            )

        return jax.jacrev(rates)(jnp.zeros(nv())).T

    limits = {
        side: np.array([getattr(a, side) for a in actuators.values()], float)
        for side in ("lower", "upper")
    }
    return Servo(
        constraints,
        actuation,
        actuators=list(actuators),
        actuator_units=["N m" if x.coordinate in ANGULAR else "N" for x in ends],
        gains={name: part.gain for name, part in wanted.items()},
        limits=Limits(**limits) if np.isfinite([*limits.values()]).any() else None,
    )


def _actuated(name: str, actuator: Actuator, joints: Joints) -> Ends:
    where = ("actuators", name)
    if (actuator.between is None) == (actuator.joint is None):
        raise PartError(where, "expected either between or joint.")
    if not actuator.lower < actuator.upper:
        raise PartError(
            where,
            f"lower is {actuator.lower:g} and upper {actuator.upper:g}, expected lower below upper.",
        )
    if actuator.joint is not None:
        return joints.of(actuator.joint, actuator.coordinate, where)
    ends = joints.between(actuator.between, where)
    return Ends(
        ends.a,
        ends.b,
        known_coordinate(actuator.coordinate or "distance", (*where, "coordinate"), name),
    )


def _constraint(
    name: str, part: ServoConstraint, joints: Joints, taken: tuple[str, ...], rate: Callable
) -> AbstractConstraint:
    """A servo constraint: of a place, of a coordinate, or of a coordinate's rate."""
    where, d = ("servo", name), joints.layout.d
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
        ends = Ends(
            joints.layout.point(GROUND, where), joints.layout.point(part.on, (*where, "on")), "gap"
        )
    elif part.on is not None:
        ends = joints.between((GROUND, part.on), where)
        ends = Ends(ends.a, ends.b, known_coordinate(part.coordinate, (*where, "coordinate"), name))
    else:
        ends = joints.of(part.joint, part.coordinate, where)  # type: ignore[arg-type]
    which = "value" if part.rate is None else "rate"
    given = getattr(part, which)
    formulas = given if isinstance(given, tuple) else (given,)
    if len(formulas) != (expected := d if ends.coordinate == "gap" else 1):
        raise PartError((*where, which), f"has {len(formulas)} formulas, expected {expected}.")
    laws = [checked(x, ("t", *joints.formulas), (*where, which)) for x in formulas]
    x, turning = joints.coordinate(ends), d == 3 and ends.coordinate in ANGULAR

    def asked(t, p):
        values = [law.traced({**p["parameters"], "t": t}) for law in laws]
        return jnp.stack(values) if ends.coordinate == "gap" else values[0]

    if which == "rate":
        return Nonholonomic(
            lambda q, v, t, p: along(lambda q: x(q, p), q, rate(q, v, t, p))[1] - asked(t, p),
            name=name,
        )
    miss = lambda q, t, p: x(q, p) - asked(t, p)
    return Holonomic(
        lambda q, t, p: wrapped(miss(q, t, p)) if turning else miss(q, t, p), name=name
    )
