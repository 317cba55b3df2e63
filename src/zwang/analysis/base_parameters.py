"""`zw.analysis.base_parameters`: which masses and inertias of a closed chain its motors' torques
tell, and what they are.

    M a − F = Y θ + e₀ = B u + Aᵀλ,    Nᵀ Y θ = Nᵀ (B u − e₀),    A N = 0

N spans what the constraints leave free (it is the range of I − A⊕A, for any masses), so that no
reaction appears. Of the regressor W, all samples' Nᵀ Y, the singular values tell the rank r: r
combinations of parameters, the base parameters, are identifiable, and null vectors are changes of
parameters that no motor notices.

Source: Gautier (1991), Numerical calculation of the base inertial parameters of robots, J. Robotic
    Systems 8, 485-506 (base parameters by a pivoted factorization of W); Udwadia and Kalaba for the
    projector.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import jax
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import PyTree

from zwang.algebra.decomposition import Decomposition, pivots
from zwang.analysis.base_parameters_result import BaseParameters
from zwang.compile.blocks import mapped
from zwang.dynamics import functions
from zwang.dynamics.model import Model
from zwang.errors import ModelError
from zwang.inputs.arguments import host_only, instance, known, labels, real_array
from zwang.objects.record import Record, field
from zwang.servo.actuation import Constant
from zwang.thresholds import AGREEMENT, DERIVED


@host_only("find them before, with the numbers of one motion")
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
    """Combinations of parameters that the controls along a motion tell.

    Args:
        model: the model; the parameters enter M and F linearly (masses, moments of inertia, first
            moments, stiffnesses, viscous friction), and no constraint.
        parameters: names of entries of the model's parameters, each with all of its numbers.
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
    Y, e0, A, pushed = map(np.asarray, mapped(_at, (rows, theta), *samples))
    other = np.asarray(mapped(_at, (rows, 1.5 * theta + 0.1), *samples)[0])
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
    # beside what accelerations in any direction would show: a crank that turns evenly shows none of
    # its inertia, but round-off
    signs = np.random.default_rng(1991).choice([-1.0, 1.0], samples[2].shape)
    shaken = np.max(np.abs(samples[2])) * signs
    most = np.asarray(mapped(_at, (rows, theta), *samples[:2], shaken, samples[3])[0])
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
    """Y, e₀, A and B at a sample, as functions of the parameters that are asked for."""

    model: Model
    names: tuple[str, ...] = field(static=True)
    actuation: Callable

    def __call__(self, theta, q, v, a, t):
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


def _at(rows: LinearEquations, theta, q, v, a, t):
    return rows(theta, q, v, a, t)


def _labels(model: Model, names: tuple[str, ...]) -> tuple[str, ...]:
    """A name for every number: `crank.mass` where the system says what an entry belongs to."""
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
