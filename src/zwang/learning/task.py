"""Definition of an episode: initial states, observations, rewards and ends."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

from zwang.equations.state import State
from zwang.errors import ModelError
from zwang.inputs.arguments import (
    count,
    function,
    instance,
    number,
    optional_function,
    real_array,
    refuse,
)
from zwang.inputs.arrays import select, vector
from zwang.learning.plant import Plant
from zwang.servo import Servo


@dataclasses.dataclass(frozen=True, eq=False)
class Task:
    """A plant with a reward. All random numbers are arguments of its methods.

    Attributes:
        plant: the plant.
        reward: (q, v, u, t, p) → a number, at the end of a step.
        observe: (q, v, t, p) → an array.
        terminated: (q, v, t, p) → True if the episode ends there; or None.
        low, high: limits of the input, shape (nu,).
        spread_q, spread_v: standard deviations of the initial state, shape (nv,).
        horizon: number of steps after which an episode is truncated.
    """

    plant: Plant
    reward: Callable
    observe: Callable
    terminated: Callable | None
    low: np.ndarray
    high: np.ndarray
    spread_q: np.ndarray
    spread_v: np.ndarray
    horizon: int

    def input(self, action):
        """The input [N, N·m …] of an action, whose entries from −1 to 1 are mapped to the
        limits.
        """
        return self.low + 0.5 * (jnp.clip(action, -1.0, 1.0) + 1.0) * (self.high - self.low)

    def action(self, u):
        """The action that gives an input."""
        return 2.0 * (u - self.low) / (self.high - self.low) - 1.0

    @property
    def observation_size(self) -> int:
        """Number of entries of an observation."""
        return int(np.size(self.seen(self.plant.start)))

    def seen(self, s: State):
        """The observation of a state, flattened."""
        found = self.observe(s.q, s.v, s.t, self.plant.parameters())
        return jnp.asarray(found, jnp.float64).ravel()

    def started(self, noise) -> State:
        """An initial state on the constraints from standard normal numbers, shape (2, nv)."""
        at, system = self.plant.start, self.plant.model.system
        moved = self.spread_q * noise[0]
        q = system.move(at.q, moved, at.t, self.plant.parameters())
        return self.plant.place(State(q, at.v + self.spread_v * noise[1], at.t))

    def advanced(self, s: State, action) -> tuple[State, Any, Any, Any]:
        """The next state, its reward, True if the episode ends there, and True if the step is
        finite.

        If the step is not finite, the episode ends at the state before it.
        """
        u = self.input(action)
        after = self.plant.step(s, u)
        # a single NaN makes a learner useless, so none is returned
        finite = jnp.all(jnp.isfinite(after.q)) & jnp.all(jnp.isfinite(after.v))
        after = select(finite, after, s)
        p = self.plant.parameters(u)
        state = after.q, after.v
        reward = jnp.asarray(self.reward(*state, u, after.t, p), jnp.float64).reshape(())
        over = jnp.asarray(False)
        if self.terminated is not None:
            over = jnp.asarray(self.terminated(*state, after.t, p), bool).reshape(())
        return after, reward, over | ~finite, finite


def task(
    plant: Plant,
    reward: Callable,
    *,
    limits=None,
    observe: Callable | None = None,
    terminated: Callable | None = None,
    spread_q=0.05,
    spread_v=0.05,
    horizon: int = 500,
) -> Task:
    """A checked `Task`; see `zw.environment`.

    Raises:
        ModelError: for a wrong argument.
    """
    instance(plant, Plant, "environment: plant", "a zw.Plant(model, inputs)")
    low, high = _limits(plant, limits)
    nv = plant.model.system.nv
    return Task(
        plant,
        function(reward, "environment: reward", "(q, v, u, t, p) → a number"),
        optional_function(observe, "environment: observe", "(q, v, t, p) → an array")
        or _everything,
        optional_function(terminated, "environment: terminated", "(q, v, t, p) → true or false"),
        low,
        high,
        _spread(spread_q, "spread_q", nv),
        _spread(spread_v, "spread_v", nv),
        count(horizon, "environment: horizon", least=1),
    )


def _everything(q, v, t, p):
    return jnp.concatenate([q, v])


def _limits(plant: Plant, given) -> tuple[np.ndarray, np.ndarray]:
    if given is None:
        law = plant.source.servo
        limits = law.limits if isinstance(law, Servo) else None
        if limits is None or limits.lower is None or limits.upper is None:
            raise ModelError(
                "environment: limits= is missing: a number for ±, or (low, high), each a number or "
                f"one for each of {', '.join(plant.input_names)}."
            )
        given = limits.lower, limits.upper
    pair = given if isinstance(given, (tuple, list)) and len(given) == 2 else (None, given)
    high = _broadcast(pair[1], "limits", plant.nu)
    low = -high if pair[0] is None else _broadcast(pair[0], "limits", plant.nu)
    if not np.all((low < high) & np.isfinite(high - low)):
        raise ModelError(
            f"environment: limits are {low} and {high}, expected finite numbers, low below high."
        )
    return low, high


def _broadcast(given, name: str, size: int) -> np.ndarray:
    if np.ndim(given) == 0:
        return np.full(size, number(given, f"environment: {name}"))
    return np.asarray(vector(given, size, f"environment: {name}"))


def _spread(given, name: str, nv: int) -> np.ndarray:
    found = np.asarray(real_array(given, f"environment: {name}", "standard deviations"))
    if found.shape not in ((), (nv,)) or not np.all((found >= 0) & np.isfinite(found)):
        refuse(f"environment: {name}", given, f"a finite number or shape ({nv},), 0 or more")
    return np.broadcast_to(found, nv)
