"""Kinetostatics: the torque that drives a mechanism through a given motion, and its reactions."""

from __future__ import annotations

import dataclasses
from functools import cached_property
from typing import TYPE_CHECKING

import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import PyTree

from zwang.algebra.metric import dense_metric
from zwang.algebra.pseudoinverse.proximal import Proximal
from zwang.analysis.kinematics import kinematics
from zwang.analysis.kinematics_result import Kinematics
from zwang.analysis.moving_mechanism import moving, push_and_force, torques
from zwang.analysis.result import TABLES, AbstractResult, with_unit
from zwang.compile.blocks import mapped
from zwang.dynamics.equation_of_motion import Dynamics
from zwang.equations.constraint.units import MODEL_UNITS
from zwang.errors import ModelError
from zwang.inputs.arguments import host_only
from zwang.inputs.text import counted
from zwang.plots import Curve as Line
from zwang.plots import Panel, Picture
from zwang.plots.script import opens_in_scripts

if TYPE_CHECKING:
    import xarray as xr

UNITS = {"rad": "N·m", "m": "N"}
"""Unit of the generalized force for each unit of a coordinate."""


@dataclasses.dataclass(frozen=True, repr=False)
class DrivingTorque(AbstractResult):
    """The torque that drives a mechanism, and its reactions; `str()` prints a summary.

    Attributes:
        motion: the `Kinematics` that it belongs to.
        torque: force or torque on the input [N or N·m], shape (n,).
        inertia: the part of it that accelerates masses at this rate; the rest balances applied
            forces.
        power: of the input [W], shape (n,).
        multipliers: λ of all other rows, shape (n, m), in `Q_c = +Aᵀλ`; of least norm where rows
            are redundant.
        unique: mask of the multipliers that are unique at all samples, shape (m,).
        by_constraint: generalized force of each constraint, shape (n, nv).
    """

    motion: Kinematics
    torque: np.ndarray
    inertia: np.ndarray
    power: np.ndarray
    multipliers: np.ndarray
    unique: np.ndarray
    by_constraint: dict[str, np.ndarray]

    def torques(self, params: PyTree) -> Array:
        """The torque at the same inputs as a function of parameters, shape (n,); inside `jax.grad`
        and `jit`. Value and first derivatives are exact at the parameters of this result.

        Args:
            params: as in `zw.analysis.kinematics`.
        """
        k = self.motion
        dynamics = k.model.dynamics(params, Proximal())
        return torques(dynamics, moving(dynamics, jnp.asarray(k.q), jnp.asarray(k.input)), k.rate)

    @property
    def unit(self) -> str:
        """Unit of the torque."""
        return UNITS.get(self.motion.input_unit, MODEL_UNITS)

    formats = TABLES

    @cached_property
    def dataset(self) -> xr.Dataset:
        """Torque, its parts, power and generalized forces of constraints over the input."""

        data = {
            "torque": ("sample", self.torque, {"units": self.unit}),
            "inertia": ("sample", self.inertia, {"units": self.unit}),
            "power": ("sample", self.power, {"units": "W"}),
            "constraint_force": (
                ("sample", "constraint", "velocity"),
                np.stack(list(self.by_constraint.values()), axis=1),
            ),
        }
        return self.motion.dataset.assign_coords(constraint=list(self.by_constraint)).assign(data)

    @property
    def _what(self) -> str:
        """Name of the load: "force" for an input that is a length, "torque" for an angle."""
        return "force" if self.unit == "N" else "torque"

    @opens_in_scripts
    def plot(self) -> Picture:
        """Plot torque with its parts, and power, over the input."""
        k, x = self.motion, self.motion.input
        lines = [
            Line(x, self.torque, "driving"),
            Line(x, self.inertia, "inertia"),
            Line(x, self.torque - self.inertia, "static"),
        ]
        panels = [
            Panel(lines, with_unit(self._what, self.unit)),
            Panel([Line(x, self.power)], "power [W]"),
        ]
        return Picture(panels, with_unit(k.input_name, k.input_unit), k.model.name)

    def __str__(self) -> str:
        k, i = self.motion, int(np.argmax(np.abs(self.torque)))
        mean = np.trapezoid(self.torque, k.input) / (k.input[-1] - k.input[0])
        return (
            f"{k.model.name}: driven at {k.input_name} with {k.rate:g} {k.input_unit}/s\n"
            f"  {f'largest {self._what}':<14}  {self.torque[i]:.6g} {self.unit} at "
            f"{k.input[i]:.6g} {k.input_unit}\n"
            f"  {f'mean {self._what}':<14}  {mean:.6g} {self.unit}\n"
            f"  {'unique':<14}  {int(np.sum(self.unique))} of "
            f"{counted(len(self.unique), 'multiplier')}"
        )


@host_only("compute the torque of numbers, or differentiate .torques(params)")
def driving_torque(model, input, over, *, rate: float = 1.0, **options) -> DrivingTorque:
    """Torque or force that moves a mechanism through a range of its input at a constant rate, and
    the forces of all constraints.

        τ x′ = q′ᵀ (M v̇ − F),     Aᵀ λ = M v̇ − F − τ ∂x/∂q

    The torque is unique even if rows are redundant, because it follows from the power of the single
    remaining motion.

    Args:
        model, input, over: as in `zw.analysis.kinematics`; one input.
        rate: rate of the input [unit/s], constant; use a small rate to approach 0.
        options: all other options of `zw.analysis.kinematics`.

    Returns:
        A `DrivingTorque`: `.torque`, `.power`, `.by_constraint`, `.motion`.

    Raises:
        ModelError: as `zw.analysis.kinematics`; for nonideal constraints, whose forces depend on
            the reactions; and for several inputs.
    """
    motion = kinematics(model, input, over, rate=rate, **options)
    held = motion.model
    last = held.constraints.names[-1]
    if last != f"input {motion.input_name}":
        raise ModelError("driving_torque: input is expected to be one coordinate or joint.")
    nonideal = [c.name for c in held.constraints.members if c.nonideal is not None]
    if nonideal:
        raise ModelError(
            f"driving_torque: constraint {nonideal[0]!r} is nonideal; its force depends on the "
            "reactions: use zw.servo.inverse_dynamics."
        )
    dynamics = held.dynamics(motion.params, Proximal())
    slices, when = held.constraints.row_slices, (motion.input - motion.input[0]) / motion.rate
    given = motion.q, motion.v, motion.a, motion.input, when
    push, force, A = map(np.asarray, mapped(_forces, (dynamics,), *given))
    along = motion.v / motion.rate
    inertia, torque = (np.einsum("ki,ki->k", along, x) for x in (push, push - force))
    load = push - force - torque[:, None] * A[:, slices[last].start]
    A = np.delete(A, slices[last], axis=1)
    rows = [dense_metric(np.ones(A.shape[2])).rows(x) for x in A]
    multipliers = np.array([x.multipliers(y) for x, y in zip(rows, load, strict=True)])
    by_constraint = {
        name: np.einsum("kij,ki->kj", A[:, s], multipliers[:, s])
        for name, s in slices.items()
        if name != last
    }
    unique = np.all([x.unique for x in rows], axis=0)
    power = torque * motion.rate
    return DrivingTorque(motion, torque, inertia, power, multipliers, unique, by_constraint)


def _forces(dynamics: Dynamics, q, v, a, t, when):
    A = dynamics.constraints.matrix(q, v, t, dynamics.p)
    return *push_and_force(dynamics, q, v, a, t, when), A
