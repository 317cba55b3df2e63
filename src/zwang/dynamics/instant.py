"""The motion of a model at one instant, and what its numbers are called."""

from __future__ import annotations

from typing import NamedTuple

import equinox as eqx
from jaxtyping import Array, Bool, Float, Int

from zwang.algebra.elimination.matrix import SparseMatrix
from zwang.arrays import is_concrete
from zwang.display import present
from zwang.equations.system import System


class Labels(NamedTuple):
    """What the numbers of one instant are called, for people: static, so that it passes through
    `jit`.

    Attributes:
        model: name of the model.
        velocities, velocity_units: names and units of the velocities.
        energy_unit: unit of energy, from which units of generalized forces follow.
        actuators, actuator_units: names and units of the controls.
    """

    model: str
    velocities: tuple[str, ...]
    velocity_units: tuple[str, ...]
    energy_unit: str
    actuators: tuple[str, ...] = ()
    actuator_units: tuple[str, ...] = ()


def labels_of(name: str, system: System) -> Labels:
    """The names and units of a system, under the name of its model."""
    velocities, units = tuple(system.velocities), tuple(system.velocity_units)
    return Labels(name, velocities, units, system.energy_unit)


class Motion(eqx.Module):
    """The motion of a model at one instant; every member is an array, so it passes through `jit`,
    `vmap` and `grad`.

    Attributes:
        acceleration: v̇, shape (nv,).
        free_acceleration: a = M⁻¹F, shape (nv,), F with the force of the actuators; of the
            augmented system if the mass is singular.
        constraint_force: what the constraints add to F, ideal and nonideal [N, N·m …], shape (nv,).
        ideal_force: Q_c = Aᵀλ, shape (nv,).
        nonideal_force: M (I − A⊕A) M⁻¹c, shape (nv,).
        by_constraint: generalized force of each constraint, by name, shape (nv,).
        multipliers: λ, shape (m,), in the order of the rows; of least norm, rows at unit length,
            where rows are redundant.
        matrix, rhs: A and b; A holds only its entries where the sparse path is taken.
        rank: rank of A by the pseudoinverse's threshold.
        residual: largest entry of `|A v̇ − b|` beside the terms that it is made of
            (`zwang.algebra.judgement`).
        accuracy: estimate of the relative error of v̇: the round-off of `A v̇ = b`, or what is left
            of it, over the smallest singular value of the rows at unit length.
        result: a `Result` code.
        labels: names and units, by which it prints itself; None where it was not asked for by
            `zw.motion`.
    """

    acceleration: Float[Array, " nv"]
    free_acceleration: Float[Array, " nv"]
    constraint_force: Float[Array, " nv"]
    ideal_force: Float[Array, " nv"]
    nonideal_force: Float[Array, " nv"]
    by_constraint: dict[str, Float[Array, " nv"]]
    multipliers: Float[Array, " m"]
    matrix: Float[Array, "m nv"] | SparseMatrix
    rhs: Float[Array, " m"]
    rank: Int[Array, ""]
    residual: Float[Array, ""]
    accuracy: Float[Array, ""]
    mass_is_positive: Bool[Array, ""]
    result: Int[Array, ""]
    labels: Labels | None = eqx.field(static=True, default=None)

    def __str__(self) -> str:
        """Accelerations and forces by name, with units."""
        return present("text_of_motion", self) if is_concrete(self) else eqx.tree_pformat(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return present("notebook_of_motion", self)
