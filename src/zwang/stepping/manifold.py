"""Interface of a flow on a constraint manifold, which a step integrates."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from jaxtyping import Array, Bool, Float

from zwang.stepping.base import Flow


class Landing(NamedTuple):
    """End of a step after the projection onto the constraints.

    Attributes:
        y, error: state and error estimate.
        violation: remaining dimensionless position violation.
        slip: remaining velocity residual, relative to the velocities in it.
        creep: rate at which `slip` increases the dimensionless violation [1/s]; inf if unknown.
        converged: whether the projection converged.
        log_det: log-determinant of the rows at unit length, which has a minimum where they lose
            rank.
    """

    y: Float[Array, " n"]
    error: Float[Array, " n"]
    violation: Float[Array, ""]
    slip: Float[Array, ""]
    creep: Float[Array, ""]
    converged: Bool[Array, ""]
    log_det: Float[Array, ""]


class ManifoldFlow(Flow, Protocol):
    """Flow whose steps can be projected onto its constraints, and which may change at given
    instants.
    """

    def longest_step(self, t, y) -> Float[Array, ""] | None:
        """Return the upper limit of the step from (t, y) [s]; None if only the error limits it."""
        raise NotImplementedError

    def project_step(self, t, y, error) -> Landing:
        """Return the step after the drift treatment."""
        raise NotImplementedError

    def held_input(self, controller_state) -> Float[Array, " k"]:
        """Return the input that is held between two changes, from the controller state; empty if
        the flow never changes.
        """
        raise NotImplementedError

    def with_input(self, u: Float[Array, " k"]) -> ManifoldFlow:
        """Return the flow with the input u."""
        raise NotImplementedError

    def next_sample_time(self, controller_state) -> Float[Array, ""]:
        """Return the time of the next change."""
        raise NotImplementedError

    def update_sample(self, due, t, y, controller_state):
        """Return the controller state from (t, y) on, if a change is due."""
        raise NotImplementedError
