"""Names and units of the numbers of a model at one instant."""

from __future__ import annotations

from typing import NamedTuple

from zwang.equations.system import System


class Labels(NamedTuple):
    """Names and units of the numbers of one instant, static, so that they pass through `jit`.

    Attributes:
        model: name of the model.
        velocities, velocity_units: names and units of the velocities.
        energy_unit: unit of energy, from which units of generalized forces follow.
        actuators, actuator_units: names and units of the controls.
        singular_mass: whether directions without mass have no acceleration of their own.
    """

    model: str
    velocities: tuple[str, ...]
    velocity_units: tuple[str, ...]
    energy_unit: str
    actuators: tuple[str, ...] = ()
    actuator_units: tuple[str, ...] = ()
    singular_mass: bool = False


def labels_of(name: str, system: System, singular_mass: bool = False) -> Labels:
    """Return the names and units of a system, with the name of its model."""
    velocities, units = tuple(system.velocities), tuple(system.velocity_units)
    unit = system.energy_unit
    return Labels(name, velocities, units, unit, singular_mass=singular_mass)
