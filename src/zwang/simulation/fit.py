"""Parameters of a model from a measured trajectory, with their uncertainty."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from zwang.algebra.decomposition import inverse_of_gram
from zwang.dynamics.model import Model
from zwang.equations.state import State
from zwang.inputs.arguments import (
    count,
    flag,
    host_only,
    instance,
    labels,
    mapping,
    optional_function,
    real_array,
)
from zwang.objects.record import replace
from zwang.simulation.fit_problem import Problem
from zwang.simulation.listener import Listener
from zwang.simulation.parameter_names import written
from zwang.simulation.switching import refuse_switches
from zwang.simulation.tolerances import checked_rtol
from zwang.simulation.trajectory import Trajectory
from zwang.thresholds import ALL_BUT_ZERO, DEFAULT_RTOL


@dataclasses.dataclass(frozen=True)
class Fit:
    """Result of `fit`.

    Attributes:
        model: the model with the fitted parameters.
        parameters: name → value.
        uncertainty: name → standard deviation (1σ), of the parameter's shape; infinite for a number
            that the data do not depend on.
        covariance: of all fitted numbers, in the order of `labels`, shape (n, n).
        labels: name of each fitted number, `mass[0]` …, then those of the start if it was fitted.
        at_bound: names that ended on a bound; the uncertainty of the others is computed with these
            fixed.
        noise: observed coordinate → standard deviation of its noise, as given or as estimated.
        residual: observed minus fitted, in units of the noise, shape (observations,).
        start: the start of the fitted trajectory.
        trajectory: the fitted trajectory at the times of the data.
        evaluations: number of evaluations of the trajectory with its derivative.
        message: reason why the search ended.
        warnings: one sentence for each reason to doubt the result, such as a curve that does not
            follow its data; empty without one.
    """

    model: Model
    parameters: dict[str, np.ndarray]
    uncertainty: dict[str, np.ndarray]
    covariance: Float[np.ndarray, "n n"]
    labels: tuple[str, ...]
    at_bound: tuple[str, ...]
    noise: dict[str, float]
    residual: Float[np.ndarray, " observations"]
    start: State
    trajectory: Trajectory
    evaluations: int
    message: str
    warnings: tuple[str, ...]

    @property
    def correlation(self) -> Float[np.ndarray, "n n"]:
        """Correlation of the fitted numbers."""
        sigma = np.sqrt(np.diag(self.covariance))
        return self.covariance / np.outer(sigma, sigma)

    def __str__(self) -> str:
        sigma = np.sqrt(np.diag(self.covariance))
        values = np.concatenate([np.ravel(x) for x in self.parameters.values()])
        rows = [
            f"{name:24s} {x: .6g} ± {s:.2g}"
            for name, x, s in zip(self.labels, values, sigma, strict=False)
        ]
        worst = float(np.sqrt(np.mean(self.residual**2)))
        return "\n".join(
            [
                *rows,
                f"{len(self.residual)} observations; residuals are {worst:.3g} times their noise "
                f"(root mean square); {self.message}",
                *(f"warning: {sentence}" for sentence in self.warnings),
            ]
        )

    __repr__ = __str__


@host_only("differentiate zw.trajectory(..., gradient='reverse') in its place")
def fit(
    model: Model,
    times: Sequence[float],
    observed: Mapping[str, Sequence[float]],
    parameters: Mapping[str, object] | Sequence[str],
    *,
    q0,
    v0,
    bounds: Mapping[str, tuple] | None = None,
    noise: float | Mapping[str, float] | None = None,
    fit_start: bool = False,
    rtol: float = DEFAULT_RTOL,
    max_steps: int = 4096,
    progress: Callable[[int, float], None] | None = None,
) -> Fit:
    """Fit parameters of a model to a measured trajectory by nonlinear least squares.

        min Σ ((observed − q(t; p)) / σ)²,    covariance  (JᵀJ)⁻¹,  J = ∂(q/σ)/∂p

    The derivative J is exact through projections and singular configurations (`zw.trajectory`).

    Args:
        model: the model; `model.params` is a dictionary.
        times: instants of the data [s], increasing; the first is the start.
        observed: coordinate (or velocity, as `d/dt name`) → its measured values at `times`; NaN
            where there is none.
        parameters: names of the parameters to fit, or name → first guess; by default the model's
            values. A name may refer to groups and single entries: `springs.slide.damping`,
            `mass[1]`.
        q0, v0: start, projected onto the constraints for every trial of the parameters. The data at
            the start may be NaN.
        bounds: name → (lowest, highest), numbers or arrays of the parameter's shape.
        noise: standard deviation of the data, one for all or per coordinate; by default estimated
            per coordinate from the residual of a first fit.
        fit_start: fit the start as well, along the directions that the constraints leave free.
        rtol, max_steps: of the integration.
        progress: called with the number of evaluations and the present mean residual.

    Returns:
        A `Fit`.

    Raises:
        ModelError: for unknown names, wrong shapes, a first guess outside its bounds or whose
            trajectory does not reach the end, or parameters that have no effect on the data or
            whose effects the data cannot distinguish.
    """
    instance(model, Model, "fit: model", "a zw.Model")
    refuse_switches(model, "zw.fit")
    observed = mapping(observed, "observed", "coordinate -> measured values")
    if isinstance(parameters, Mapping):
        parameters = mapping(parameters, "parameters", "name -> first guess")
    else:
        parameters = labels(parameters, "parameters")
    bounds = mapping({} if bounds is None else bounds, "bounds", "name -> (lowest, highest)")
    rtol = checked_rtol(rtol)
    max_steps = count(max_steps, "max_steps", least=1, most=2**31)
    flag(fit_start, "fit_start")
    optional_function(progress, "progress", "(evaluations, mean residual)")
    problem = Problem.of(
        model,
        np.asarray(real_array(times, "times", "instants [s]")),
        observed,
        parameters,
        q0,
        v0,
        bounds,
        fit_start,
        rtol=rtol,
        max_steps=max_steps,
    )
    sigma = problem.given_noise(noise)
    problem.check_guess()
    weighed = np.ones(len(problem.columns)) if sigma is None else sigma
    heard = Listener.of(progress)
    try:
        best = problem.solve(problem.unknowns.guess, weighed, heard)
        # without given noise: first with equal weights, then with those from the residuals of that
        # fit
        if sigma is None:
            weighed = problem.estimated_noise(best.x)
            best = problem.solve(best.x, weighed, heard)
    except KeyboardInterrupt:
        heard.refuse(f"fit of {model.name}", "nothing of the search is kept")
        raise
    return _answer(problem, best, weighed)


def _answer(problem: Problem, best, sigma) -> Fit:
    """Return the fit at the end of the search; a number at a bound is given an uncertainty of
    zero.
    """
    y, J, run = problem.at(best.x)
    known = np.isfinite(problem.data)
    # a number at its bound cannot move, and its covariance would be meaningless
    active = _on_bound(problem, best)
    slope = (J / sigma[:, None])[known]
    blind = ~np.any(slope, axis=0) & ~active
    covariance = np.diag(np.where(blind, np.inf, 0.0))
    inside = np.flatnonzero(~active & ~blind)
    covariance[inside[:, None], inside] = inverse_of_gram(slope[:, inside])
    numbers = lambda x: {n: np.asarray(v) for n, v in problem.unknowns.split(x)[0].items()}
    fitted, labels = numbers(best.x), problem.unknowns.labels
    params = written(problem.model, {n: jnp.asarray(x) for n, x in fitted.items()})
    model = replace(problem.model, params=params)
    noise = {n: float(s) for n, s in zip(problem.columns, sigma, strict=True)}
    return Fit(
        model,
        fitted,
        numbers(np.sqrt(np.diag(covariance))),
        covariance,
        labels,
        tuple(labels[i] for i in np.flatnonzero(active)),
        noise,
        ((problem.data - y) / sigma)[known],
        State(jnp.asarray(run.q[0]), jnp.asarray(run.v[0]), jnp.asarray(run.t[0])),
        run,
        problem.evaluations,
        best.message,
        tuple(_doubts(problem, best, sigma)),
    )


def _on_bound(problem: Problem, best) -> np.ndarray:
    """Return which numbers a bound keeps from a better value; the search stays just inside the
    bounds.
    """
    x, unknowns = best.x, problem.unknowns
    near = lambda limit: np.isclose(x, limit, rtol=ALL_BUT_ZERO, atol=0.0)
    down, up = near(unknowns.lower) & (best.grad > 0), near(unknowns.upper) & (best.grad < 0)
    return (best.active_mask != 0) | down | up


def _doubts(problem: Problem, best, sigma) -> Iterator[str]:
    """Generate reasons to doubt a fit: a search that ends in a local minimum, or with a model that
    cannot follow the data, ends like any other.
    """
    y, _, _ = problem.at(best.x)
    labels, known = problem.unknowns.labels, np.isfinite(problem.data)
    if not best.success:
        yield f"the search did not converge: {best.message}"
    bound = _on_bound(problem, best)
    if at_bound := [labels[i] for i in np.flatnonzero(bound)]:
        yield (
            f"{', '.join(map(repr, at_bound[:5]))} ended on a bound: widen it unless it is certain"
        )
    off = np.where(known, problem.data - y, np.nan)
    remedy = "begin elsewhere, and check the model and the units of the data"
    if problem.noise is not None:
        count = known.sum()
        ratio = float(np.sqrt(np.nanmean((off / sigma) ** 2)))
        # the threshold is five standard deviations of the estimated ratio
        if ratio > 1 + 5 / np.sqrt(2 * count):
            yield f"the residual is {ratio:.3g} times the noise that was given: {remedy}"
    else:
        scatter, left = np.nanstd(problem.data, axis=0), np.sqrt(np.nanmean(off**2, axis=0))
        part = 0.5
        beyond = left > np.maximum(part * scatter, problem.integration_error(y))
        if names := [n for n, bad in zip(problem.columns, beyond, strict=True) if bad]:
            yield (
                f"the curves of {', '.join(map(repr, names[:5]))} do not follow their data, of "
                f"which they leave more than {part:.0%} of the scatter: {remedy}"
            )
    # with numbers on a bound, the effects of the others are not checked
    if not np.any(bound) and (unseen := problem.unseen(best.x)):
        yield f"where the search ended, {unseen}"
