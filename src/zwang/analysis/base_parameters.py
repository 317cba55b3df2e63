"""`zw.analysis.base_parameters`: masses and inertias of a closed chain that can be identified from
the torques of its motors.

    M a − F = Y θ + e₀ = B u + Aᵀλ,    Nᵀ Y θ = Nᵀ (B u − e₀),    A N = 0

N spans the null space of A (it is the range of I − A⊕A, for any masses), so that no reaction
appears. The singular values of the regressor W, which stacks Nᵀ Y of all samples, give its rank r:
r combinations of parameters, the base parameters, are identifiable. Null vectors are changes of
parameters that affect no motor torque.

Source: Gautier (1991), Numerical calculation of the base inertial parameters of robots, J. Robotic
    Systems 8, 485-506 (base parameters by a pivoted factorization of W); Udwadia and Kalaba for the
    projector.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import jax
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import PyTree

from zwang.algebra.decomposition import Decomposition, pivots, symmetric_root
from zwang.algebra.spectrum import principal
from zwang.analysis.result import AbstractResult
from zwang.compile.blocks import mapped
from zwang.dynamics import functions
from zwang.dynamics.model import Model
from zwang.errors import ModelError
from zwang.inputs.arguments import host_only, instance, known, labels, number, real_array
from zwang.inputs.text import counted
from zwang.objects.record import Record, field
from zwang.servo.actuation import Constant
from zwang.thresholds import AGREEMENT, DERIVED, ROUND_OFF

if TYPE_CHECKING:
    import xarray as xr


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class BaseParameters(AbstractResult):
    """The identifiable combinations of parameters; `str()` prints them.

    Attributes:
        names: of all requested parameters, in the order of columns.
        regressor: W, shape (equations, parameters).
        reduced: Nᵀ B of every sample, shape (samples, freedom, nu).
        offset: Nᵀ e₀ of every sample, shape (samples, freedom).
        rank: r.
        singular_values: of W with columns at unit length, shape (parameters,).
        base: columns of the parameters that represent the base parameters, shape (r,).
        combination: K: the base parameters are `θ[base] + K θ[others]`, shape (r, parameters − r).
        null: changes of all parameters that affect no torque, in columns.
        values: the parameters of the model, shape (parameters,).
    """

    names: tuple[str, ...]
    regressor: np.ndarray
    reduced: np.ndarray
    offset: np.ndarray
    rank: int
    singular_values: np.ndarray
    base: np.ndarray
    combination: np.ndarray
    null: np.ndarray
    values: np.ndarray

    @property
    def others(self) -> np.ndarray:
        """Columns of the parameters outside the base."""
        return np.setdiff1d(np.arange(len(self.names)), self.base)

    @property
    def gap(self) -> float:
        """Ratio of the smallest singular value that counts to the largest that does not."""
        beyond = self.singular_values[self.rank :]
        return (
            float(self.singular_values[self.rank - 1] / max(beyond[0], 1e-300))
            if len(beyond)
            else np.inf
        )

    @property
    def condition(self) -> float:
        """Condition number of the base columns of W, each in units of its own base parameter of the
        model (of the column's length where that is zero). The smaller it is, the better a motion
        identifies all of them.

        Reference: Gautier and Khalil (1992), Exciting trajectories for the identification of base
            inertial parameters of robots, Int. J. Robotics Research 11, 362-375.
        """
        columns = self.regressor[:, self.base]
        values = np.abs(self.of(self.values))
        length = np.linalg.norm(columns, axis=0)
        sigma = Decomposition(columns * np.where(values > 0, values, 1 / length)).singular_values
        return float(sigma[0] / sigma[-1])

    def physical(self, identified: Identified, least=0.0) -> np.ndarray:
        """All parameters nearest to the identified values under the condition that none is below
        `least`. For masses and moments of inertia about a center of mass, these are parameters of
        real bodies.

        The distance is measured in the metric of the covariance. Along directions that affect no
        torque, the parameters are nearest to those of the model, each divided by its own size.

        Args:
            identified: the result of `identify`.
            least: lower bound of each parameter, a number or shape (parameters,); −inf for a
                parameter that may be negative.

        Returns:
            The parameters θ, shape (parameters,). `identified.distance(found.of(θ))`, compared with
            the χ² distribution with r degrees of freedom, tests whether real bodies explain the
            measurement.
        """
        from scipy.optimize import lsq_linear

        lower = np.broadcast_to(
            np.asarray(real_array(least, "physical: least"), float), len(self.names)
        )
        combine = np.zeros((self.rank, len(self.names)))
        combine[:, self.base], combine[:, self.others] = np.eye(self.rank), self.combination
        whiten = Decomposition(symmetric_root(identified.covariance)).inverse
        size = np.where(self.values != 0, np.abs(self.values), 1.0)
        # so weak that the attraction to the model matters only along null directions
        weak = AGREEMENT * np.linalg.norm(whiten @ combine * size, 2)
        rows = np.vstack([whiten @ combine * size, weak * np.eye(len(size))])
        right = np.concatenate([whiten @ identified.values, weak * self.values / size])
        found = lsq_linear(rows, right, (lower / size, np.inf), tol=ROUND_OFF, lsmr_tol=ROUND_OFF)
        return np.maximum(found.x * size, lower)

    @property
    def base_names(self) -> tuple[str, ...]:
        """The base parameters in words, such as `rod.mass + 0.5 slider.mass`."""
        others = [self.names[i] for i in self.others]
        return tuple(
            _combined([1.0, *row], [self.names[i], *others])
            for i, row in zip(self.base, self.combination, strict=True)
        )

    @property
    def null_names(self) -> tuple[str, ...]:
        """Changes of parameters that affect no torque, in words."""
        return tuple(_combined(x / x[np.argmax(np.abs(x))], self.names) for x in self.null.T)

    def of(self, values) -> np.ndarray:
        """Base parameters for given values of all parameters."""
        theta = np.asarray(real_array(values, "values"))
        return theta[self.base] + self.combination @ theta[self.others]

    def identify(self, u, noise: float | None = None) -> Identified:
        """Base parameters from measured controls, by least squares.

        Args:
            u: at the samples, shape (samples, nu).
            noise: standard deviation of every control, normal and independent; estimated from the
                residuals by default.

        Raises:
            ModelError: for controls of another shape, or fewer equations than base parameters.
        """
        samples, freedom, nu = self.reduced.shape
        u = np.asarray(real_array(u, "identify: u"))
        if u.shape != (samples, nu):
            raise ModelError(f"identify: u has shape {u.shape}, expected {(samples, nu)}.")
        if samples * freedom <= self.rank:
            raise ModelError(
                f"identify: {samples * freedom} equations for {self.rank} base parameters; give "
                "more samples."
            )
        right = np.einsum("kfu,ku->kf", self.reduced, u) - self.offset
        whiten = self._whiten
        W = (whiten @ self.regressor.reshape(samples, freedom, -1)).reshape(-1, len(self.names))
        y = np.einsum("kfg,kg->kf", whiten, right).ravel()
        split = Decomposition(W[:, self.base])
        found = split.solve(y)
        left = y - W[:, self.base] @ found
        freedom_left = len(y) - self.rank
        sigma = (
            float(np.sqrt(left @ left / freedom_left))
            if noise is None
            else number(noise, "identify: noise", above=0.0)
        )
        inverse = split.inverse
        degrees = float(freedom_left) if noise is None else np.inf
        covariance = sigma**2 * inverse @ inverse.T
        return Identified(self.base_names, found, covariance, sigma, degrees)

    @property
    def _whiten(self) -> np.ndarray:
        """Matrices that give every equation unit noise for unit noise of u, shape (samples, f,
        f).
        """
        values, axes = principal(self.reduced @ np.swapaxes(self.reduced, 1, 2))
        if np.min(values[:, 0] / values[:, -1]) < AGREEMENT:
            raise ModelError(
                "identify: no control acts along a direction in which the model can move, so the "
                "noise cannot be estimated; remove that degree of freedom."
            )
        return np.swapaxes(axes, 1, 2) / np.sqrt(values)[..., None]

    @property
    def dataset(self) -> xr.Dataset:
        """Singular values, null vectors and base parameters with their names."""
        import xarray as xr

        return xr.Dataset(
            {
                "singular_value": ("number", self.singular_values),
                "null": (("parameter", "direction"), self.null),
                "value": ("base_parameter", self.of(self.values)),
            },
            {"parameter": list(self.names), "base_parameter": list(self.base_names)},
        )

    def __str__(self) -> str:
        lines = [
            f"{counted(self.rank, 'base parameter')} of {len(self.names)} "
            f"(gap of singular values {self.gap:.2g})"
        ]
        lines += [
            f"  {name} = {x:.6g}"
            for name, x in zip(self.base_names, self.of(self.values), strict=True)
        ]
        lines += [f"  no motor notices: {name}" for name in self.null_names]
        return "\n".join(lines)


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Identified(AbstractResult):
    """The identified base parameters.

    Attributes:
        names: in words.
        values: shape (r,).
        covariance: of the values, shape (r, r).
        noise: standard deviation of the controls, as given or estimated.
        degrees: degrees of freedom of the estimate of the noise; infinite if the noise was given.
    """

    names: tuple[str, ...]
    values: np.ndarray
    covariance: np.ndarray
    noise: float
    degrees: float

    @property
    def uncertainty(self) -> np.ndarray:
        """Half the width of the 95 % interval of each value, by Student's distribution."""
        from scipy.special import ndtri, stdtrit

        upper = 0.975
        factor = ndtri(upper) if np.isinf(self.degrees) else stdtrit(self.degrees, upper)
        return factor * np.sqrt(np.diag(self.covariance))

    def distance(self, values) -> float:
        """Squared distance of other values in the metric of the covariance; they agree with the
        measurement if it is below the χ² quantile with r degrees of freedom.
        """
        off = self.values - np.asarray(real_array(values, "values"))
        return float(off @ Decomposition(self.covariance).solve(off))

    @property
    def dataset(self) -> xr.Dataset:
        """Values and covariance with their names."""
        import xarray as xr

        return xr.Dataset(
            {
                "value": ("base_parameter", self.values),
                "covariance": (("base_parameter", "base_parameter_"), self.covariance),
            },
            {"base_parameter": list(self.names), "base_parameter_": list(self.names)},
            {"noise": self.noise},
        )

    def __str__(self) -> str:
        rows = zip(self.names, self.values, self.uncertainty, strict=True)
        lines = [f"  {name} = {x:.6g} ± {s:.2g} (95 %)" for name, x, s in rows]
        return "\n".join([f"noise of the controls {self.noise:.3g}", *lines])


def _combined(coefficients, names: Sequence[str]) -> str:
    """A combination in words, without parts that are round-off."""
    terms = [
        f"{'-' if x < 0 else '+'} {'' if abs(abs(x) - 1) < DERIVED else f'{abs(x):.4g} '}{name}"
        for x, name in zip(coefficients, names, strict=True)
        if abs(x) > DERIVED
    ]
    return " ".join(terms).removeprefix("+ ")


@host_only("call it outside of them, with the numbers of one motion")
def base_parameters(
    model: Model,
    parameters: Sequence[str],
    q,
    v,
    a,
    t,
    actuation: Callable | ArrayLike,
    *,
    params: PyTree = None,
) -> BaseParameters:
    """Combinations of parameters that can be identified from the controls along a motion.

    Args:
        model: the model; the parameters enter M and F linearly (masses, moments of inertia, first
            moments, stiffnesses, viscous friction), and no constraint.
        parameters: names of entries of the model's parameters; all numbers of an entry are
            included.
        q, v, a, t: the motion: coordinates, velocities, accelerations and times at samples, shapes
            (samples, nq), (samples, nv), (samples, nv) and (samples,).
        actuation: B of the measured controls, as in `zw.Servo`: `(q, t, p)` → (nv, nu), or a
            matrix.
        params: parameters that differ from the model's.

    Returns:
        A `BaseParameters`: `.rank`, `.gap`, `.base_names`, `.null_names`, `.identify(u)`.

    Raises:
        ModelError: for an unknown name, samples of another shape, or a parameter that does not
            enter linearly.

    Example:
        >>> found = zw.analysis.base_parameters(model, ["mass", "inertia"], run.q, run.v,
        ...     run.dataset.acceleration.values, run.t, B)
        >>> print(found.identify(measured))
    """
    instance(model, Model, "base_parameters: model", "a zw.Model")
    names = labels(parameters, "base_parameters: parameters")
    model = model.passive.with_params(params)
    own, system = model.params, model.system
    given = own if isinstance(own, dict) else {}
    names = tuple(known(n, given, f"base_parameters: {model.name} has no") for n in names)
    samples = [np.asarray(real_array(x, "base_parameters: samples"), float) for x in (q, v, a, t)]
    count = len(samples[3])
    expected = [(count, system.nq), (count, system.nv), (count, system.nv), (count,)]
    if [x.shape for x in samples] != expected:
        raise ModelError(
            f"base_parameters: q, v, a and t have shapes {[x.shape for x in samples]}, expected "
            f"{expected}."
        )
    B = actuation if callable(actuation) else Constant(actuation, "base_parameters")
    theta = np.concatenate([np.ravel(np.asarray(given[n], float)) for n in names])
    rows = LinearEquations(model, names, B)
    Y, e0, A, pushed = map(np.asarray, mapped(LinearEquations.at, (rows, theta), *samples))
    other = np.asarray(mapped(LinearEquations.at, (rows, 1.5 * theta + 0.1), *samples)[0])
    if np.max(np.abs(other - Y)) > DERIVED * np.max(np.abs(Y)):
        raise ModelError(
            f"base_parameters: {', '.join(names)} do not enter M and F linearly; leave out those "
            "that are lengths or angles."
        )
    free = [Decomposition(x).kernel for x in A]
    if len({x.shape for x in free}) > 1:
        raise ModelError(
            "base_parameters: the motion passes a singular configuration, where the number of free "
            "directions changes; leave these samples out."
        )
    N = np.swapaxes(np.array(free), 1, 2)
    W = (N @ Y).reshape(-1, len(theta))
    length = np.linalg.norm(W, axis=0)
    # compared with columns for random accelerations: a crank at constant speed shows only round-off
    # in the column of its inertia
    signs = np.random.default_rng(1991).choice([-1.0, 1.0], samples[2].shape)
    shaken = np.max(np.abs(samples[2])) * signs
    most = np.asarray(
        mapped(LinearEquations.at, (rows, theta), *samples[:2], shaken, samples[3])[0]
    )
    shown = length > AGREEMENT * np.linalg.norm(most, axis=(0, 1))
    W = np.where(shown, W, 0.0)
    unit = W / np.where(shown, length, 1.0)
    split = Decomposition(unit, AGREEMENT)
    rank = split.rank
    base = np.sort(pivots(unit, AGREEMENT)[:rank])
    others = np.setdiff1d(np.arange(len(theta)), base)
    K = Decomposition(W[:, base], AGREEMENT).solve(W[:, others])
    K = np.where(np.abs(K) > DERIVED * max(np.max(np.abs(K), initial=0.0), 1e-300), K, 0.0)
    null = np.zeros((len(theta), len(others)))
    null[others] = np.eye(len(others))
    null[base] = -K
    reduced = N @ pushed
    offset = np.einsum("kfv,kv->kf", N, e0)
    entries = _labels(model, names)
    sigma = split.singular_values
    return BaseParameters(entries, W, reduced, offset, rank, sigma, base, K, null, theta)


class LinearEquations(Record):
    """Y, e₀, A and B at a sample, as functions of the requested parameters."""

    model: Model
    names: tuple[str, ...] = field(static=True)
    actuation: Callable

    def at(self, theta, q, v, a, t):
        model, own = self.model, dict(self.model.params)

        def packed(theta):
            given, at = dict(own), 0
            for name in self.names:
                shape = np.shape(own[name])
                size = int(np.prod(shape))
                given[name] = theta[at : at + size].reshape(shape)
                at += size
            return given if model.layout is None else model.layout.packed(given)

        def inertial(theta):
            p = packed(theta)
            moved = functions.inertial_force(model.system, q, t, p, a)
            return moved - functions.force(model.system, q, v, t, p)

        p = packed(theta)
        Y = jax.jacfwd(inertial)(theta)
        A = model.dynamics().constraints.matrix(q, v, t, p)
        return Y, inertial(theta) - Y @ theta, A, self.actuation(q, t, p)


def _labels(model: Model, names: tuple[str, ...]) -> tuple[str, ...]:
    """A name for every number, such as `crank.mass` if the system names the owner of an entry."""
    entries = {name: own for name, own, _ in model.system.parameters}
    found = []
    for name in names:
        shape = np.shape(model.params[name])
        for index in np.ndindex(*shape):
            first, rest = index[:1], index[1:]
            owner = entries.get(name, ())
            if first and len(owner) == shape[0]:
                found.append(f"{owner[first[0]]}.{name}{list(rest) if rest else ''}")
            else:
                single = int(np.prod(shape)) == 1
                found.append(name if single else f"{name}{list(index)}")
    return tuple(found)
