"""Dry friction with sticking, in joints and between coordinates, as `zw.DryFriction`.

s = (slide rate, radius · angle rate) of a joint,  N = |force of its position rows|
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping

import jax.numpy as jnp
import numpy as np

from zwang.equations.constraint import DryFriction
from zwang.inputs.suggestions import did_you_mean
from zwang.mechanism.contact_schema import Contact, Slip
from zwang.mechanism.expression import Expression
from zwang.mechanism.field_types import PartError
from zwang.mechanism.gaps import RATE, values_and_rates
from zwang.mechanism.joint_constraints import JointConstraints
from zwang.mechanism.laws import named_coordinates
from zwang.mechanism.relative_pose import value_and_rate
from zwang.mechanism.resolution import Ends

RUBS = " friction"
"""Suffix of the name of the friction of a joint or a contact."""


@dataclasses.dataclass(frozen=True)
class ResolvedSlip:
    """A dry friction between coordinates with resolved names.

    Attributes:
        name: of the friction.
        slip: its formula.
        static, kinetic: coefficients of a `zw.DryFriction`.
        load: formula of the load, or the name of the constraint whose force it is.
        load_rows: which rows of that constraint are forces.
        ends: the points and coordinates by their names in the formula.
    """

    name: str
    slip: Expression
    load: Expression | str
    static: Callable
    kinetic: Callable
    load_rows: tuple[int, ...]
    ends: Mapping[str, Ends]

    def constraint(self, joints: JointConstraints, rate: Callable) -> DryFriction:
        """The friction as a constraint; `rate` is `(q, v, t, p)` → q̇."""
        coordinates = {name: joints.coordinate(ends) for name, ends in self.ends.items()}
        slip, load = self.slip, self.load

        def sliding(q, v, t, p):
            values = values_and_rates(coordinates, q, rate(q, v, t, p), p)
            return slip.traced({**p["parameters"], **values, "t": t})

        return DryFriction(
            sliding,
            load=load if isinstance(load, str) else lambda p: load.traced(p["parameters"]),
            static=self.static,
            kinetic=self.kinetic,
            name=self.name,
            load_rows=self.load_rows,
        )


def resolved_slip(
    name: str, given: Slip, joints: JointConstraints, loads: Iterable[str]
) -> ResolvedSlip:
    """Resolve the coordinates and the load of a friction.

    Args:
        loads: names of possible loads in addition to joints.

    Raises:
        PartError: for an invalid friction, by name.
    """
    where = ("frictions", name)
    if not given.of:
        raise PartError((*where, "of"), "is empty; name the coordinates that the formula relates.")
    ends = named_coordinates(given.of, joints, (*where, "of"))
    rates = [f"{short}{RATE}" for short in ends]
    slip = joints.formula(given.slip, (*ends, *rates, "t"), (*where, "slip"))
    if not slip.names & {*rates}:
        raise PartError(
            (*where, "slip"), f"is no velocity: expected a formula of {' or '.join(rates)}."
        )
    for short in slip.names & {*ends}:
        joints.turns.count(ends[short], f"{name}.{short}")
    load, rows = given.load, ()
    if isinstance(load, str) and load in joints.joints:
        rows = force_rows(load, joints)
    elif not (isinstance(load, str) and load in {*loads}):
        try:
            load = joints.formula(load, (), (*where, "load"))
        except PartError as error:
            known = (*joints.joints, *loads)
            raise PartError(
                error.where, f"{error.message.rstrip('.')}{did_you_mean(str(given.load), known)}"
            ) from None
    return ResolvedSlip(name, slip, load, *coefficients(given, joints, where), rows, ends)


def coefficients(
    given: Contact | Slip, joints: JointConstraints, where: tuple[str, ...]
) -> tuple[Callable, Callable]:
    """`static` and `kinetic` of a `zw.DryFriction`, from formulas."""
    static = joints.formula(given.static, (), (*where, "static"))
    sliding = given.static if given.kinetic is None else given.kinetic
    kinetic = joints.formula(sliding, ("speed",), (*where, "kinetic"))
    slides = lambda speed, p: kinetic.traced({**p["parameters"], "speed": speed})
    return (lambda p: static.traced(p["parameters"])), slides


def joint_slip(name: str, joints: JointConstraints, rate: Callable) -> DryFriction:
    """The friction of a joint that sticks.

    Raises:
        PartError: for a joint without one or two sliding velocities.
    """
    kind, given = joints.kind(name), joints.joints[name].friction
    equations = kind.equations(joints.geometry.d)
    assert given is not None and equations is not None and kind.rubs is not None
    own = [x.coordinate for x in equations.freedoms]
    turning = [x.angular for x in own]
    chosen = [
        (x, angular)
        for x, angular in zip(own, turning, strict=True)
        if ("turning" if angular else "sliding") in kind.rubs
    ]
    if len(chosen) not in (1, 2):
        raise PartError(
            ("joints", name, "friction", "static"),
            f"a {kind.name} joint does not stick in this model: leave static out.",
        )
    ends = joints.ends[name][0]
    parts = [
        (joints.coordinate(dataclasses.replace(ends, coordinate=x)), angular)
        for x, angular in chosen
    ]
    smooth = given.stribeck is not None

    def sliding(q, v, t, p):
        along, radius = rate(q, v, t, p), p["friction"][name]["radius"]
        rates = [value_and_rate(lambda q, x=x: x(q, p), q, along)[1] for x, _ in parts]
        return jnp.stack(
            [radius * x if angular else x for x, (_, angular) in zip(rates, parts, strict=True)]
        )

    def kinetic(speed, p):
        given = p["friction"][name]
        least, most = given["kinetic"], given["static"]
        if not smooth:
            return least
        return least + (most - least) * jnp.exp(-((speed / given["stribeck"]) ** 2))

    return DryFriction(
        sliding,
        load=name,
        static=lambda p: p["friction"][name]["static"],
        kinetic=kinetic,
        name=f"{name}{RUBS}",
        unit="m/s",
        load_rows=force_rows(name, joints),
    )


def force_rows(name: str, joints: JointConstraints) -> tuple[int, ...]:
    """Position rows of a joint, whose multipliers are forces [N]; all rows of other joints."""
    equations = joints.kind(name).equations(joints.geometry.d)
    assert equations is not None
    return tuple(np.flatnonzero(equations.places).tolist())
