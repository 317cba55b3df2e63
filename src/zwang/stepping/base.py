"""What an integrator is: one step of `ẏ = f(t, y)` with an error estimate, for y = (q, v)."""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import ClassVar, NamedTuple, Protocol

import numpy as np
from jaxtyping import Array, Bool, Float

from zwang.objects.record import Record


class Flow(Protocol):
    """What an integrator may ask of the motion that it integrates; y = (q, v) as one vector of size
    nq + nv.
    """

    def rate(self, t: Float[Array, ""], y: Float[Array, " n"]) -> Float[Array, " n"]:
        """`ẏ`."""
        raise NotImplementedError

    def rate_and_residual(
        self, t: Float[Array, ""], y: Float[Array, " n"], asked: Bool[Array, ""] | bool = True
    ) -> tuple[Float[Array, " n"], Float[Array, ""]]:
        """`ẏ` and the residual of `A v̇ = b` relative to its accelerations, if it is `asked` for;
        otherwise the smallest singular value of the rows at unit length, of a flow that
        `keeps_clear`, or 0.
        """
        raise NotImplementedError

    @property
    def keeps_clear(self) -> bool:
        """Whether stages are to keep clear of singular configurations, as for a derivative."""
        raise NotImplementedError

    @property
    def moves_by_velocity(self) -> bool:
        """Whether velocities are the rates of the coordinates."""
        raise NotImplementedError

    def split(self, y: Float[Array, " n"]) -> tuple[Float[Array, " nq"], Float[Array, " nv"]]:
        """q and v."""
        raise NotImplementedError

    def newton(
        self, t, y, step: Float[Array, ""]
    ) -> Callable[[Float[Array, " n"]], Float[Array, " n"]]:
        """`r ↦ (I − step·∂f/∂y)⁻¹ r`, but for terms that cost Newton's method iterations and no
        accuracy; NaN if that cannot be.
        """
        raise NotImplementedError

    @property
    def target(self) -> Float[Array, ""]:
        """Size of a position residual that counts as round-off."""
        raise NotImplementedError

    def free_acceleration(self, t: Float[Array, ""], q: Float[Array, " nq"]) -> Float[Array, " nv"]:
        """`a = M⁻¹F` at rest."""
        raise NotImplementedError

    def normals(
        self, t: Float[Array, ""], q: Float[Array, " nq"]
    ) -> Callable[[Float[Array, " m"]], Float[Array, " nv"]]:
        """`r ↦ A⊕ r` of position constraints."""
        raise NotImplementedError

    def position_residual(self, t, q) -> tuple[Float[Array, " m"], Float[Array, ""]]:
        """`φ` and its size, free of units."""
        raise NotImplementedError

    def velocity_residual(self, t, q, v) -> Float[Array, " m"]:
        """`ψ`."""
        raise NotImplementedError

    def speed(self, t, q, v) -> Float[Array, ""]:
        """`√(vᵀMv)`."""
        raise NotImplementedError


class Step(NamedTuple):
    """One trial step.

    Attributes:
        y: solution at its end.
        error: error estimate of y.
        solved: whether its equations were solved (always, for an explicit method).
        residual: what was left of `A v̇ = b` at its start, which is on the constraints.
        clear: lengths that keep stages clear of a singular configuration
            (`zwang.stepping.explicit.clear_lengths`); None if nobody asks.
    """

    y: Float[Array, " n"]
    error: Float[Array, " n"]
    solved: Bool[Array, ""]
    residual: Float[Array, ""]
    clear: Float[Array, "2"] | None = None


class AbstractIntegrator(Record):
    """A one-step method.

    Attributes:
        estimates: whether its steps come with an error estimate.
        implicit: whether its stages are solved by `Flow.newton`.
        impulsive: whether gaps and dry friction are met by an impulse at the end of every step, and
            no instant is located.
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
        """One step of length h; `weight` is the size of an acceptable error of each entry."""

    def refuse(self, model, flow, state, instants: np.ndarray, step: float | None) -> None:
        """Raise a `ModelError` if this method cannot integrate a model from a state to some
        instants.
        """

    def watch(self, flow, t: np.ndarray, y: np.ndarray) -> None:
        """Raise a `ModelError` if the accepted steps (t, y), shapes (steps,) and (steps, n), met
        what this method cannot integrate and `refuse` could not foresee; the first one is the start
        of the run.
        """
