"""Tasks as environments of gymnasium, for libraries of reinforcement learning."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from zwang.compile import BoundProgram, Many, program
from zwang.equations.state import State
from zwang.errors import ModelError
from zwang.inputs.arguments import choice, count, optional
from zwang.inputs.arrays import select, vector
from zwang.inputs.call import misfits_named
from zwang.learning.plant import Plant
from zwang.learning.task import Task, task
from zwang.objects.display import present
from zwang.objects.extras import require
from zwang.scene import Scene
from zwang.simulation.results.presentation import presentation_of_model

try:
    import gymnasium
except ImportError:
    require("gymnasium", "learning", "an environment")
    raise
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

RENDER_MODES = ["rgb_array"]
"""Modes in which an environment can be drawn."""
WORTH_A_THREAD = 1_000_000
"""Number of instructions that justify a separate thread: they take a millisecond, and starting a
thread takes 0.1 ms.
"""


@misfits_named
def environment(
    plant: Plant,
    reward: Callable,
    *,
    limits=None,
    observe: Callable | None = None,
    terminated: Callable | None = None,
    spread_q=0.05,
    spread_v=0.05,
    horizon: int = 500,
    members: int | None = None,
    render_mode: str | None = None,
    scene: Scene | None = None,
) -> Environment | Environments:
    """A model as an environment of gymnasium.

    Args:
        plant: a `zw.Plant`: the model, its inputs and the time between two of them.
        reward: (q, v, u, t, p) → a number, evaluated at the end of each step, with functions of
            JAX.
        limits: of the inputs: a number for ±, or (low, high), each a number or shape (nu,); by
            default those of the servo whose actuators are the inputs. Actions from −1 to 1 are
            mapped to inputs from low to high, and clipped beyond; `env.task.input(action)` and
            `env.task.action(u)` convert between them.
        observe: (q, v, t, p) → observation; q and v together by default.
        terminated: (q, v, t, p) → True if the episode ends; never by default.
        spread_q, spread_v: standard deviations of initial states about that of the plant, a number
            or shape (nv,); initial states are projected onto the constraints.
        horizon: number of steps after which an episode is truncated.
        members: number of environments that are stepped together, as a
            `gymnasium.vector.VectorEnv`, which restarts an ended episode in its next step; a single
            `gymnasium.Env` by default.
        render_mode: "rgb_array" if `env.render()` is to draw the present state; None by default.
        scene: the scene to draw; by default that of the model, which robots, mechanisms and models
            of the gallery have.

    Returns:
        An `Environment`, or `Environments` with a leading axis of members.

    Raises:
        ModelError: for a wrong argument, or without gymnasium (extra `learning`).

    Reference: Towers et al. (2024), Gymnasium: a standard interface for reinforcement learning.

    Example:
        >>> plant = zw.Plant(cart_pole, ["cart.x"], q0=upright)
        >>> env = zw.environment(plant, lambda q, v, u, t, p: q[3] - 0.01 * u @ u, limits=20.0)
        >>> observation, info = env.reset(seed=0)
    """
    chosen = task(
        plant,
        reward,
        limits=limits,
        observe=observe,
        terminated=terminated,
        spread_q=spread_q,
        spread_v=spread_v,
        horizon=horizon,
    )
    shown = optional(scene, Scene, "environment: scene", "a zw.Scene(points=..., seen=...)")
    if render_mode is not None:
        choice(render_mode, "environment: render_mode", RENDER_MODES)
        shown = shown or presentation_of_model(plant.source).scene
        if shown is None:
            raise ModelError(
                f"{plant.model.name}: the model has no scene; give scene=, a zw.Scene."
            )
    if members is None:
        return Environment(chosen, render_mode, shown)
    number = count(members, "environment: members", least=1)
    return Environments(chosen, number, render_mode, shown)


def _spaces(chosen: Task):
    size = chosen.observation_size
    seen = gymnasium.spaces.Box(-np.inf, np.inf, (size,), np.float64)
    return seen, gymnasium.spaces.Box(-1.0, 1.0, chosen.low.shape, np.float64)


def _drawn(chosen: Task, scene: Scene, q, t) -> np.ndarray:
    """A picture of a state, shape (height, width, 3)."""
    start = np.asarray(chosen.plant.start.q)
    return present("frame", scene, start, np.asarray(q), float(t))


class Environment(gymnasium.Env):
    """A `Task` as one environment; see `zw.environment`.

    Attributes:
        task: the task.
        state: the present state of the episode, a `State`.
    """

    metadata = {"render_modes": RENDER_MODES}

    def __init__(self, chosen: Task, render_mode: str | None = None, scene: Scene | None = None):
        self.render_mode, self.scene = render_mode, scene
        self.metadata = {**self.metadata, "render_fps": 1.0 / chosen.plant.length}
        self.task, self.state, self._steps = chosen, chosen.plant.start, 0
        self.observation_space, self.action_space = _spaces(chosen)
        begun = jax.tree_util.tree_map(np.asarray, chosen.plant.start)
        # a call that inspects its arguments takes longer than the step
        self._advance = BoundProgram(self._advanced, (), (begun, np.zeros(chosen.plant.nu)))
        self._start, self._see = program(chosen.started), program(chosen.seen)

    def __repr__(self) -> str:
        return present("text_of_environment", self)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        """Start an episode, at `options["q"]` and `options["v"]` if they are given.

        Returns:
            The observation and an empty dictionary.
        """
        super().reset(seed=seed)
        plant = self.task.plant
        system, given = plant.model.system, options or {}
        if "q" in given or "v" in given:
            q = vector(given.get("q", plant.start.q), system.nq, "reset: q", system.coordinates)
            v = vector(given.get("v", plant.start.v), system.nv, "reset: v", system.velocities)
            self.state = plant.place(State(q, v, plant.start.t))
        else:
            self.state = self._start(self.np_random.standard_normal((2, system.nv)))
        self._steps = 0
        return np.asarray(self._see(self.state)), {}

    def step(self, action):
        """Apply an input for one step, by an action of −1 to 1.

        Returns:
            observation, reward, terminated, truncated, info; `info["failed"]` is true if the step
            failed (its end is not finite, or constraints contradict each other). The episode then
            ends at the state before the step, and `env.task.plant.reason(env.state,
            env.task.input(action))` gives the reason.
        """
        plant = self.task.plant
        u = vector(action, plant.nu, "step: action", plant.input_names, on_host=True)
        self.state, seen, reward, over, finite = self._advance(*self.state, u)
        self._steps += 1
        info = {} if finite else {"failed": True}
        cut = self._steps >= self.task.horizon
        return seen, float(reward), bool(over), cut, info

    def render(self):
        """A picture of the present state, shape (480, 640, 3), if `render_mode` requests it."""
        if self.render_mode is None or self.scene is None:
            return None
        return _drawn(self.task, self.scene, self.state.q, self.state.t)

    def _advanced(self, state: State, u):
        """One step, with the observation after it."""
        after, *rest = self.task.advanced(state, u)
        return after, self.task.seen(after), *rest


class Environments(VectorEnv):
    """A `Task` as many environments that are stepped in one compiled call; see `zw.environment`.

    Attributes:
        task: the task.
        state: the present states of the episodes, a `State` with a leading axis.
    """

    metadata = {"render_modes": RENDER_MODES, "autoreset_mode": AutoresetMode.NEXT_STEP}

    def __init__(
        self,
        chosen: Task,
        members: int,
        render_mode: str | None = None,
        scene: Scene | None = None,
    ):
        self.render_mode, self.scene = render_mode, scene
        self.task, self.num_envs = chosen, members
        self.single_observation_space, self.single_action_space = _spaces(chosen)
        self.observation_space = batch_space(self.single_observation_space, members)
        self.action_space = batch_space(self.single_action_space, members)
        self._over, self._steps = np.zeros(members, bool), np.zeros(members, int)
        # one member each, because the program is the same for every number of members
        u, noise = np.zeros((1, chosen.plant.nu)), np.zeros((1, 2, chosen.plant.model.system.nv))
        state = jax.tree_util.tree_map(lambda x: np.asarray(x)[None], chosen.plant.start)
        self._advance = Many(self._advanced, (0, 0, 0, 0), (state, u, noise, np.zeros(1, bool)))
        self._start = Many(chosen.started, (0,), (noise,))
        self._see = Many(chosen.seen, (0,), (state,))
        shares = members * self._advance.instructions // WORTH_A_THREAD
        self._cores = max(1, min(os.cpu_count() or 1, shares))
        self.state = None

    def __repr__(self) -> str:
        return present("text_of_environment", self)

    def _noise(self):
        return self.np_random.standard_normal((self.num_envs, 2, self.task.plant.model.system.nv))

    def reset(self, *, seed=None, options=None):
        """Start all episodes; `seed` is one number."""
        if isinstance(seed, (list, tuple)):
            raise ModelError("reset: seed is a list, expected one number for all environments.")
        super().reset(seed=seed, options=options)
        self.state = self._start(self._noise())
        self._over[:], self._steps[:] = False, 0
        return np.asarray(self._see(self.state)), {}

    def _advanced(self, state: State, u, noise, over):
        """One step, or a new start for episodes that were over."""
        after, reward, ended, finite = self.task.advanced(state, u)
        # both are computed, because a data-dependent choice is compiled to both anyway
        fresh = self.task.started(noise)
        after = select(over, fresh, after)
        seen = self.task.seen(after)
        return after, seen, jnp.where(over, 0.0, reward), ended & ~over, finite | over

    def render(self):
        """A picture of each episode, if `render_mode` requests it."""
        if self.render_mode is None or self.scene is None or self.state is None:
            return None
        states = zip(np.asarray(self.state.q), np.asarray(self.state.t), strict=True)
        return tuple(_drawn(self.task, self.scene, q, t) for q, t in states)

    def step(self, actions):
        """Apply an action to each environment, shape (members, nu); restart episodes that had
        ended.
        """
        u = np.asarray(actions, float)
        if u.shape != (self.num_envs, self.task.plant.nu):
            raise ModelError(
                f"step: actions have shape {u.shape}, expected "
                f"({self.num_envs}, {self.task.plant.nu})."
            )
        if self.state is None:
            raise ModelError("step: call reset() first.")
        over = self._over
        given = self.state, u, self._noise(), over
        self.state, seen, reward, ended, finite = self._advance(*given, cores=self._cores)
        self._steps = np.where(over, 0, self._steps + 1)
        cut = self._steps >= self.task.horizon
        self._over = np.asarray(ended) | cut
        info = {} if np.all(finite) else {"failed": ~np.asarray(finite)}
        return np.asarray(seen), np.asarray(reward), np.asarray(ended), cut, info
