"""Switches of a mechanism: joints, laws and drives that hold for a part of the time.

They are `zw.Switch` with formulas as conditions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import jax.numpy as jnp
import numpy as np

from zwang.inputs.suggestions import did_you_mean
from zwang.mechanism.field_types import PartError
from zwang.mechanism.gaps import RATE
from zwang.mechanism.joint_constraints import JointConstraints
from zwang.mechanism.laws import named_coordinates
from zwang.mechanism.relative_pose import value_and_rate
from zwang.mechanism.resolution import Ends
from zwang.mechanism.schema import Toggle
from zwang.simulation.switching import Switch

if TYPE_CHECKING:
    from zwang.mechanism.compiler import CompiledMechanism

EFFORT, LOAD = "effort", "load"
"""Names in a condition to switch off: λ of a part with one row, and the size of the force that its
rows transmit.
"""


def resolved_switches(compiled: CompiledMechanism) -> tuple[Switch, ...]:
    """The switches of a mechanism, checked.

    Raises:
        PartError: for an invalid switch, by name.
    """
    declared = compiled.declared
    return tuple(_resolved(name, given, compiled) for name, given in declared.switches.items())


def idle_at_start(switches: Mapping[str, Toggle]) -> list[str]:
    """Names of parts that do not hold at the start: those switched on, unless `initially`."""
    on = lambda x: not _several(x.on) if x.initially is None else x.initially
    return [name for name, given in switches.items() if not on(given)]


def _several(given) -> tuple:
    return given if isinstance(given, tuple) else (given,)


def _resolved(name: str, given: Toggle, compiled: CompiledMechanism) -> Switch:
    where, declared, joints = ("switches", name), compiled.declared, compiled.joints
    parts = {**declared.joints, **declared.laws, **declared.drives}
    if name not in parts:
        raise PartError(
            where, f"there is no joint, law or drive {name!r}{did_you_mean(name, parts)}"
        )
    if name in compiled.carrying:
        raise PartError(
            where,
            "carries a body in joint coordinates, so that it always holds: give coordinates = "
            '"maximal".',
        )
    if given.transition not in ("impulsive", "impact-free"):
        raise PartError(
            (*where, "transition"),
            f"is {given.transition!r}, expected 'impulsive' or 'impact-free'.",
        )
    if not _several(given.on) and not _several(given.off):
        raise PartError(where, "expected on or off: a time [s] or a formula, or a list of these.")
    ends = named_coordinates(given.of, joints, (*where, "of"))
    for short in ends:
        if short in ("value", "rate", LOAD, EFFORT) or short.removesuffix(RATE) in {*ends} - {
            short
        }:
            raise PartError((*where, "of", short), "has a meaning of its own; take another name.")
    own = _own_coordinate(name, compiled)
    if own is not None:
        ends["value"] = own
    for short, at in ends.items():
        joints.turns.count(at, name if short == "value" else f"{name}.{short}")
    conditions = _Conditions(ends, joints, compiled.rate, _places(name, compiled))
    on, off = (
        [conditions.of(x, side == "off", (*where, side)) for x in _several(getattr(given, side))]
        for side in ("on", "off")
    )
    return Switch(
        name,
        on=on,
        off=off,
        transition=given.transition,  # type: ignore[arg-type]
        initially=given.initially,
    )


def _own_coordinate(name: str, compiled: CompiledMechanism) -> Ends | None:
    """The coordinate of a joint or drive of that name, if it has one."""
    declared, joints = compiled.declared, compiled.joints
    if name in declared.drives:
        return joints.acted_on(declared.drives[name], ("drives", name))
    if name in declared.joints and joints.kind(name).coordinate is not None:
        return joints.of(name, None, ("switches", name))
    return None


def _places(name: str, compiled: CompiledMechanism) -> np.ndarray:
    """Mask of a joint's position rows, whose multipliers are forces [N]; all rows of others."""
    declared = compiled.declared
    if name not in declared.joints:
        return np.ones(1, bool)
    equations = compiled.joints.kind(name).equations(declared.d)
    assert equations is not None
    return equations.places


class _Conditions:
    """Conditions as functions that `zw.Switch` takes.

    Args:
        ends: coordinates by their names in formulas.
        joints: the mechanism's joints.
        rate: `(q, v, t, p)` → q̇.
        places: which multipliers are forces.
    """

    def __init__(
        self, ends: dict[str, Ends], joints: JointConstraints, rate: Callable, places: np.ndarray
    ):
        self.coordinates = {name: joints.coordinate(at) for name, at in ends.items()}
        self.joints, self.rate, self.places = joints, rate, places
        # The rate of a joint's own coordinate has the same name as in forces.
        self.rates = {n: "rate" if n == "value" else f"{n}{RATE}" for n in ends}

    def of(self, given, off: bool, where) -> float | Callable:
        """Return a time unchanged, or a function whose rise through zero is an event."""
        if not isinstance(given, str):
            return float(given)
        names = [*self.coordinates, *self.rates.values(), "t"]
        if off:
            names += [LOAD] if len(self.places) > 1 else [LOAD, EFFORT]
        formula = self.joints.formula(given, tuple(names), where)
        if not formula.names & set(names):
            raise PartError(
                where,
                f"{given!r} never changes: give a time [s] as a number, or a formula of "
                f"{', '.join(names)}.",
            )
        coordinates, rates, rate, places = self.coordinates, self.rates, self.rate, self.places
        used = {n for n in coordinates if {n, rates[n]} & formula.names}

        def value(q, v, t, p, further):
            found = {**p["parameters"], "t": t, **further}
            for name in used:
                x = lambda q, name=name: coordinates[name](q, p)
                found[name], found[rates[name]] = value_and_rate(x, q, rate(q, v, t, p))
            return formula.traced(found)

        def condition_on(q, v, t, p):
            return value(q, v, t, p, {})

        def condition_off(q, v, t, p, multipliers):
            size = jnp.linalg.norm(multipliers[: len(places)] * places[: len(multipliers)])
            further = {LOAD: size, EFFORT: multipliers[0]}
            return value(q, v, t, p, further)

        return condition_off if off else condition_on
