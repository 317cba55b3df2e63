"""Abstract integrator: one step of `ẏ = f(t, y)` with an error estimate, for y = (q, v)."""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import ClassVar, NamedTuple, Protocol

import numpy as np
from jaxtyping import Array, Bool, Float

from zwang.objects.record import Record


class Flow(Protocol):
    """Interface of the motion that an integrator uses; y = (q, v) is one vector of size nq + nv."""

    def rate(self, t: Float[Array, ""], y: Float[Array, " n"]) -> Float[Array, " n"]:
        """`ẏ`."""
        raise NotImplementedError

    def rate_and_residual(
        self, t: Float[Array, ""], y: Float[Array, " n"], asked: Bool[Array, ""] | bool = True
    ) -> tuple[Float[Array, " n"], Float[Array, ""]]:
        """Return `ẏ` and a number: if `asked`, the residual of `A v̇ = b` relative to its
        accelerations; otherwise the smallest singular value of the rows at unit length if the flow
        `keeps_clear`, or 0.
        """
        raise NotImplementedError

    @property
    def keeps_clear(self) -> bool:
        """True if stages must keep a distance from singular configurations, as for a derivative."""
        raise NotImplementedError

    @property
    def moves_by_velocity(self) -> bool:
        """Whether velocities are the rates of the coordinates."""
        raise NotImplementedError

    def split(self, y: Float[Array, " n"]) -> tuple[Float[Array, " nq"], Float[Array, " nv"]]:
        """Return q and v."""
        raise NotImplementedError

    def newton(
        self, t, y, step: Float[Array, ""]
    ) -> Callable[[Float[Array, " n"]], Float[Array, " n"]]:
        """Return `r ↦ (I − step·∂f/∂y)⁻¹ r` without some terms, whose omission costs iterations of
        Newton's method but no accuracy; NaN if the matrix cannot be factored.
        """
        raise NotImplementedError

    @property
    def target(self) -> Float[Array, ""]:
        """Size of a position residual that counts as round-off."""
        raise NotImplementedError

    def free_acceleration(self, t: Float[Array, ""], q: Float[Array, " nq"]) -> Float[Array, " nv"]:
        """Return `a = M⁻¹F` at rest."""
        raise NotImplementedError

    def normals(
        self, t: Float[Array, ""], q: Float[Array, " nq"]
    ) -> Callable[[Float[Array, " m"]], Float[Array, " nv"]]:
        """Return `r ↦ A⊕ r` of the position constraints."""
        raise NotImplementedError

    def position_residual(self, t, q) -> tuple[Float[Array, " m"], Float[Array, ""]]:
        """Return `φ` and its dimensionless size."""
        raise NotImplementedError

    def velocity_residual(self, t, q, v) -> Float[Array, " m"]:
        """`ψ`."""
        raise NotImplementedError

    def speed(self, t, q, v) -> Float[Array, ""]:
        """`√(vᵀMv)`."""
        raise NotImplementedError


class Step(NamedTuple):
    """Trial step.

    Attributes:
        y: solution at the end of the step.
        error: error estimate of y.
        solved: whether the equations of the stages were solved (always, for an explicit method).
        residual: residual of `A v̇ = b` at the start of the step, which is on the constraints.
        clear: step lengths that keep stages away from a singular configuration
            (`zwang.stepping.explicit.clear_lengths`); None if not requested.
    """

    y: Float[Array, " n"]
    error: Float[Array, " n"]
    solved: Bool[Array, ""]
    residual: Float[Array, ""]
    clear: Float[Array, "2"] | None = None


class AbstractIntegrator(Record):
    """Abstract one-step method.

    Attributes:
        estimates: whether steps have an error estimate.
        implicit: whether stages are solved by `Flow.newton`.
        impulsive: whether gaps and dry friction are treated by an impulse at the end of every step,
            without event location.
    """

    estimates: ClassVar[bool] = True
    implicit: ClassVar[bool] = False
    impulsive: ClassVar[bool] = False

    @property
    @abc.abstractmethod
    def order(self) -> int:
        """Order of the solution; the error estimate is one lower."""

    @abc.abstractmethod
    def step(
        self,
        flow: Flow,
        t: Float[Array, ""],
        y: Float[Array, " n"],
        h: Float[Array, ""],
        weight: Float[Array, " n"],
    ) -> Step:
        """Take one step of length h; `weight` is the size of an acceptable error of each entry."""

    def refuse(self, model, flow, state, instants: np.ndarray, step: float | None) -> None:
        """Raise a `ModelError` if this method cannot integrate a model from a state to given
        instants.
        """

    def watch(self, flow, t: np.ndarray, y: np.ndarray) -> None:
        """Raise a `ModelError` if the accepted steps (t, y), shapes (steps,) and (steps, n), show
        that this method cannot integrate the model and `refuse` could not detect it before. The
        first entry is the start of the run.
        """
