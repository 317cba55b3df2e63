"""A flow with a manifold to stay on: what a step asks of the motion that it integrates."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from jaxtyping import Array, Bool, Float

from zwang.stepping.base import Flow


class Landing(NamedTuple):
    """A step brought back to its constraints.

    Attributes:
        y, error: state and error estimate.
        violation: dimensionless position violation left.
        slip: velocity residual left, relative to the velocities in it.
        creep: rate at which it would let the dimensionless violation grow [1/s]; inf if unknown.
        converged: whether the projection came to an end.
        log_det: log-determinant of the rows at unit length, which dips where they lose rank.
    """

    y: Float[Array, " n"]
    error: Float[Array, " n"]
    violation: Float[Array, ""]
    slip: Float[Array, ""]
    creep: Float[Array, ""]
    converged: Bool[Array, ""]
    log_det: Float[Array, ""]


class ManifoldFlow(Flow, Protocol):
    """A flow whose steps can be brought back to its constraints, and which may change at
    instants.
    """

    @property
    def moves_by_velocity(self) -> bool:
        """Whether velocities are the rates of the coordinates."""
        raise NotImplementedError

    def longest_step(self, t, y) -> Float[Array, ""] | None:
        """Upper limit of the step from (t, y) [s]; None where only its error limits it."""
        raise NotImplementedError

    def project_step(self, t, y, error) -> Landing:
        """The step after the drift treatment."""
        raise NotImplementedError

    def held_input(self, controller_state) -> Float[Array, " k"]:
        """What acts between two changes, according to the controller state; empty if the flow
        never changes.
        """
        raise NotImplementedError

    def with_input(self, u: Float[Array, " k"]) -> ManifoldFlow:
        """The flow while u acts."""
        raise NotImplementedError

    def next_sample_time(self, controller_state) -> Float[Array, ""]:
        """Time of the next change."""
        raise NotImplementedError

    def update_sample(self, due, t, y, controller_state):
        """The controller state from (t, y) on, if a change is due."""
        raise NotImplementedError
