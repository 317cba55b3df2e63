"""The least-squares problem of `fit`: unknowns, observed curves, and their derivative."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping

import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg
import scipy.optimize
from jax.flatten_util import ravel_pytree

from zwang.algebra.decomposition import Decomposition
from zwang.compile import model_program
from zwang.dynamics.consistent_state import consistent_state
from zwang.dynamics.model import Model
from zwang.dynamics.number_range import LARGEST_SIZE
from zwang.equations.state import State
from zwang.errors import ModelError, Result
from zwang.inputs.arguments import real_array, refuse
from zwang.simulation.parameter_names import known_names, read_of, written
from zwang.simulation.sample_times import checked_times
from zwang.simulation.trajectory import Trajectory, trajectory
from zwang.thresholds import ALL_BUT_ZERO, DEFAULT_RTOL, RESOLVED, SMALL_PART


@dataclasses.dataclass(frozen=True)
class Unknowns:
    """The unknowns as one vector: named parameters, then the start along its free directions.

    Attributes:
        guess, lower, upper: shape (n,).
        labels: name of each number.
        split: vector → (parameters by name, free directions of q, free directions of v).
    """

    guess: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    labels: tuple[str, ...]
    split: Callable

    @classmethod
    def of(cls, guess: dict, bounds: Mapping[str, tuple], freedoms: int) -> Unknowns:
        def vector(values: dict, start: float):
            numbers = {name: np.asarray(values[name], float) for name in guess}
            return ravel_pytree((numbers, np.full(freedoms, start), np.full(freedoms, start)))

        low, high = (
            {
                n: np.broadcast_to(bounds.get(n, (-np.inf, np.inf))[i], np.shape(x))
                for n, x in guess.items()
            }
            for i in (0, 1)
        )
        for name, value in guess.items():
            if np.any(np.asarray(value) <= low[name]) or np.any(np.asarray(value) >= high[name]):
                raise ModelError(
                    f"fit: the first guess {value} of {name!r} is not inside its bounds "
                    f"{low[name]} … {high[name]}."
                )
        numbers, split = vector(guess, 0.0)
        labels = [
            f"{n}[{i}]" if np.ndim(guess[n]) else n
            for n in sorted(guess)
            for i in range(np.size(guess[n]))
        ]
        labels += [
            f"start {what} {i}" for what in ("position", "velocity") for i in range(freedoms)
        ]
        lower, upper = np.asarray(vector(low, -np.inf)[0]), np.asarray(vector(high, np.inf)[0])
        return cls(np.asarray(numbers), lower, upper, tuple(labels), split)


@model_program
def _evaluate(
    model: Model,
    split: Callable,
    place: tuple[int, ...],
    max_steps: int,
    start: State,
    free,
    times,
    rtol,
    x,
):
    """Return the derivative of the observed curves with respect to x, and the trajectory. One
    compiled program serves all data of a model.
    """

    def curves(x):
        p, along_q, along_v = split(x)
        q = (
            model.system.move(start.q, free @ along_q, start.t, written(model, p))
            if free.shape[1]
            else start.q
        )
        run = trajectory(
            model,
            q,
            start.v + free @ along_v,
            times,
            params=written(model, p),
            rtol=rtol,
            gradient="forward",
            start_tolerance=np.inf,
            max_steps=max_steps,
        )
        return jnp.concatenate([run.q, run.v], axis=1)[:, jnp.asarray(place)], run

    # few unknowns and many samples: forward mode
    return jax.jacfwd(curves, has_aux=True)(x)


@dataclasses.dataclass
class Problem:
    """Curves of a model with their derivative with respect to the unknowns, and the data.

    Attributes:
        columns: column of (q, v) of each observed name.
        data: shape (samples, observed), NaN where nothing was measured.
        evaluate: vector of unknowns → (derivative of the observed curves, trajectory), compiled.
        rtol: relative error of one integration step.
        evaluations: number of calls of `evaluate`.
        noise: standard deviation of each observed column as given, or None.
        last: vector and result of the last call.
    """

    model: Model
    unknowns: Unknowns
    columns: dict[str, int]
    data: np.ndarray
    evaluate: Callable
    rtol: float = DEFAULT_RTOL
    noise: np.ndarray | None = None
    evaluations: int = 0
    last: tuple | None = None

    @classmethod
    def of(
        cls,
        model: Model,
        times,
        observed,
        parameters,
        q0,
        v0,
        bounds,
        fit_start: bool,
        rtol: float,
        max_steps: int,
    ) -> Problem:
        times = checked_times(times)
        guess = _guess(model, parameters, bounds)
        columns, data = _observations(model, times, observed)
        start = model.state(q0, v0, times[0])
        free = np.zeros((model.system.nv, 0))
        # only motions of the start that satisfy the constraints are unknowns
        if fit_start:
            start = consistent_state(
                model, q0, v0, float(times[0]), params=written(model, guess)
            ).state
            A = np.asarray(model.dynamics(written(model, guess)).matrix(start))
            free = Decomposition(A).kernel if len(A) else np.eye(model.system.nv)
        unknowns = Unknowns.of(guess, bounds, free.shape[1])
        place = tuple(columns.values())

        def evaluate(x):
            return _evaluate(
                model,
                unknowns.split,
                place,
                max_steps,
                start,
                jnp.asarray(free),
                jnp.asarray(times),
                jnp.asarray(rtol),
                x,
            )

        return cls(model, unknowns, columns, data, evaluate, rtol)

    def given_noise(self, noise) -> np.ndarray | None:
        """Return the standard deviation of each observed column, or None if it is to be
        estimated.
        """
        if noise is None:
            return None
        if isinstance(noise, Mapping):
            missing = [n for n in self.columns if n not in noise]
            if missing:
                raise ModelError(f"fit: noise is given per coordinate but not for {missing[0]!r}.")
            noise = [noise[n] for n in self.columns]
        noise = np.asarray(real_array(noise, "fit: noise", "standard deviations"))
        if noise.shape not in ((), (len(self.columns),)):
            raise ModelError(
                f"fit: noise has shape {noise.shape}, expected a number or one per observed curve."
            )
        sigma = np.broadcast_to(noise, (len(self.columns),))
        if not np.all(np.isfinite(sigma) & (sigma > 0)):
            raise ModelError(f"fit: noise is {noise}, expected positive standard deviations.")
        self.noise = sigma
        return sigma

    def at(self, x) -> tuple[np.ndarray, np.ndarray, Trajectory]:
        """Return the curves (samples, observed), their derivative with respect to x, and the run;
        repeated calls with one x evaluate it once.
        """
        # the search requests residual and derivative one after the other at the same x
        if self.last is None or not np.array_equal(self.last[0], x):
            J, run = jax.tree_util.tree_map(np.asarray, self.evaluate(x))
            self.last = (
                np.array(x),
                np.concatenate([run.q, run.v], axis=1)[:, list(self.columns.values())],
                J,
                run,
            )
            self.evaluations += 1
        return self.last[1:]

    def solve(
        self, x, sigma, progress: Callable[[int, float], None]
    ) -> scipy.optimize.OptimizeResult:
        """Search from x with weights 1/σ."""
        known = np.isfinite(self.data)

        def residual(x):
            # NaN where a trial stopped early: the search then takes a shorter step
            y, _, _ = self.at(x)
            r = ((y - self.data) / sigma)[known]
            progress(self.evaluations, float(np.sqrt(np.mean(r**2))))
            return r

        def slope(x):
            return (self.at(x)[1] / sigma[:, None])[known]

        bounds = (self.unknowns.lower, self.unknowns.upper)
        # SciPy's type stub admits no function for the derivative
        search: Callable = scipy.optimize.least_squares
        return search(residual, x, slope, bounds, x_scale="jac", xtol=1e-12, ftol=1e-12)

    def estimated_noise(self, x) -> np.ndarray:
        """Return the RMS of the residual per coordinate, corrected for the number of fitted
        numbers.
        """
        y, _, _ = self.at(x)
        known = np.isfinite(self.data)
        # each fitted number takes one degree of freedom from the residual
        left = 1 - len(x) / known.sum()
        if left <= 0:
            raise ModelError(
                f"fit: {known.sum()} observations for {len(x)} numbers; give more data or the "
                "noise."
            )
        size = np.sqrt(np.nansum((y - self.data) ** 2, axis=0) / known.sum(axis=0) / left)
        return np.maximum(size, 1e-12 * np.nanmax(np.abs(self.data), axis=0) + 1e-300)

    def integration_error(self, y) -> np.ndarray:
        """Return the integration error of each curve, relative to its size, shape (observed,)."""
        return max(self.rtol, RESOLVED) * np.max(np.abs(y), axis=0)

    def check_guess(self) -> None:
        """Refuse a first guess whose trajectory does not reach the end, and unknowns that have no
        effect on the data there.
        """
        x = self.unknowns.guess
        _, J, run = self.at(x)
        if code := int(run.result):
            raise ModelError(
                f"fit: the trajectory of the first guess stops early: {Result(code).sentence}; "
                "start from a better guess."
            )
        if not np.all(np.isfinite(J)):
            raise ModelError(
                "fit: the derivative of the trajectory is not finite at the first guess."
            )
        known = np.isfinite(self.data)
        if known.sum() < len(x):
            raise ModelError(
                f"fit: {known.sum()} observations for {len(x)} numbers; observe more or fix "
                "some of them."
            )
        if unseen := self.unseen(x):
            raise ModelError(f"fit: {unseen}.")

    def unseen(self, x) -> str:
        """Return a sentence about unknowns that the data do not determine at x, alone or in
        combination; "" if they determine all.

        The effect of an unknown is the change of the curves if it changes by its own size (by 1
        where it is 0). It is compared with the smallest change that a curve can show: the
        integration tolerance and round-off relative to the curve's size, and the noise if it is
        given.
        """
        y, J, _ = self.at(x)
        known, labels = np.isfinite(self.data), self.unknowns.labels
        floor = self.integration_error(y)
        if self.noise is not None:
            floor = np.maximum(floor, SMALL_PART * self.noise / np.sqrt(known.sum(axis=0)))
        # changes of an unknown by its own size, so that units do not matter
        effect = J * np.where(x != 0, np.abs(x), 1.0)
        floor = np.where(floor > 0, floor, np.max(floor) or RESOLVED)  # a curve that stays at 0
        shown = (effect / floor[:, None])[known]
        largest = np.max(np.abs(shown), axis=0)
        if np.any(largest <= 1):
            none = np.flatnonzero(largest <= 1)
            size_of_effect = np.max(np.abs(effect[known][:, none[0]]))
            return (
                f"{', '.join(repr(labels[i]) for i in none[:5])} has no effect on the "
                f"data: changed by its own size it moves them by {size_of_effect:.1e}, less "
                f"than their integration error{' or noise' if self.noise is not None else ''}; "
                "fix it, observe more, or begin with a larger first guess if this one is far "
                "too small"
            )
        # columns of unit length: only the directions of effects count, not their sizes
        effects = Decomposition(shown / np.linalg.norm(shown, axis=0))
        # smallest singular value of the effects of the unknowns, each at unit length, below which
        # the data do not distinguish some of them
        if effects.singular_values[-1] > ALL_BUT_ZERO:
            return ""
        last = effects.right[:, -1]
        order = np.argsort(-np.abs(last))
        named = [labels[i] for i in order if abs(last[i]) > 0.1 * abs(last[order[0]])]
        return (
            f"the data cannot tell {', '.join(map(repr, named[:5]))} apart (relative "
            f"effect {effects.singular_values[-1]:.1e}, needed {ALL_BUT_ZERO:.0e}); fix one of "
            "them or observe more"
        )


def _guess(model: Model, parameters, bounds) -> dict:
    """Return the first guess of each parameter by name, checked."""
    if not isinstance(model.params, dict):
        raise ModelError(
            f"fit needs a model whose params is a dictionary of named numbers; {model.name} has "
            f"{model.params!r:.60}."
        )
    if not parameters:
        raise ModelError(
            f"fit got no parameters to find; {model.name} has: {', '.join(known_names(model))}."
        )
    present = {name: read_of(model, name) for name in parameters}
    guess = dict(parameters) if isinstance(parameters, Mapping) else present
    for name, pair in bounds.items():
        if name not in guess:
            raise ModelError(
                f"fit got bounds of {name!r}, which is not among the parameters to find: "
                f"{', '.join(guess)}."
            )
        if not isinstance(pair, (list, tuple, np.ndarray)) or len(pair) != 2:
            refuse(f"fit: bounds of {name!r}", pair, "a pair (lowest, highest)")
        low, high = (np.asarray(real_array(x, f"fit: bounds of {name!r}")) for x in pair)
        if not np.all(low < high):
            raise ModelError(
                f"fit: bounds of {name!r} are {low} … {high}, expected a lowest value below the "
                "highest (-np.inf or np.inf where there is none)."
            )
    for name, value in guess.items():
        if not np.all(np.isfinite(real_array(value, f"fit: the first guess of {name!r}"))):
            raise ModelError(
                f"fit: the first guess of {name!r} is {value}, expected finite numbers."
            )
        if np.shape(value) != present[name].shape:
            raise ModelError(
                f"fit: the first guess of {name!r} has shape {np.shape(value)}, expected "
                f"{present[name].shape}."
            )
    return guess


def _observations(model: Model, times, observed) -> tuple[dict[str, int], np.ndarray]:
    """Return the column of (q, v) of each observed name, and the data, shape (samples,
    observed).
    """
    system = model.system
    known = {n: i for i, n in enumerate(system.coordinates)} | {
        f"d/dt {n}": system.nq + i for i, n in enumerate(system.velocities)
    }
    for name, values in observed.items():
        if name not in known:
            raise ModelError(
                f"fit: {name!r} is no coordinate of {model.name}; there are: "
                f"{', '.join(list(known)[:24])}."
            )
        if np.shape(real_array(values, f"fit: observed {name!r}")) != times.shape:
            raise ModelError(
                f"fit: {name!r} has {np.shape(values)} values for {times.shape} times."
            )
    if not observed:
        raise ModelError("fit got no observations.")
    curves = {n: real_array(v, f"fit: observed {n!r}") for n, v in observed.items()}
    data = np.stack([np.asarray(v) for v in curves.values()], axis=1)
    if np.any(np.abs(data) > LARGEST_SIZE):
        name = list(curves)[int(np.argmax(np.any(np.abs(data) > LARGEST_SIZE, axis=0)))]
        raise ModelError(
            f"fit: observed {name!r} holds {np.nanmax(np.abs(curves[name])):.0e}, expected "
            f"values up to {LARGEST_SIZE:g}, and NaN where nothing was measured."
        )
    empty = [
        n for n, column in zip(observed, data.T, strict=True) if not np.any(np.isfinite(column))
    ]
    if empty:
        raise ModelError(f"fit: {empty[0]!r} has no finite value.")
    return {n: known[n] for n in observed}, data
