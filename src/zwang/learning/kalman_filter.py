"""A Kalman filter whose estimate satisfies the constraints: extended, or with sigma points.

Let x = (q, v) be on the constraints, d unknown inputs, and P = L Lᵀ the covariance of the error
along (δq, δv, δd). Then

    x ← step(x, u + d, w),   L ← [∂step/∂(x, d) L   ∂step/∂w σ]      prediction
    K = [D 0] [D  R^½]⁺,     y ← K (z − h(x, d)),  D = ∂h/∂(x, d) L  the kernel of `zw.enforce`
    x ← x ⊞ L y, projected   L ← [L (I − K D)  L K R^½], with it     measurement

The prior is conditioned on the constraints by the same kernel, as measurements without noise. From
then on the columns of L are tangent to the constraints, because steps and projections keep them
tangent. Measurements therefore need no further treatment of the constraints, and redundant rows
have no effect.

The unscented filter replaces derivatives by 2 r sigma points at ±√r times the columns of L, each on
the constraints. The contribution of even terms to the covariance of the measurement counts as
measurement noise.

Reference: Orsino (2017), Proc. R. Soc. A 473, eq. (4.14)-(4.18) (the kernel); Julier and Uhlmann
    (2004), Unscented filtering and nonlinear estimation, Proc. IEEE 92, 401-422.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from zwang.algebra.decomposition import compressed
from zwang.algebra.mass_matrix import DiagonalMass
from zwang.algebra.pseudoinverse import SVD, Pseudoinverse
from zwang.compile import program
from zwang.dynamics.equation_of_motion import Dynamics
from zwang.equations.state import State
from zwang.errors import ModelError
from zwang.hierarchy.recursion import ABSOLUTE, Step, Weights, step
from zwang.inputs.arguments import real_array
from zwang.inputs.arrays import without_derivative
from zwang.inputs.text import counted
from zwang.objects.record import Record, field, replace
from zwang.servo.loop import AbstractObserver
from zwang.simulation.project import project
from zwang.thresholds import AGREEMENT, ROUND_OFF

if TYPE_CHECKING:
    from zwang.learning.plant import Plant

LEADS_BACK = 3
"""Number of corrections of the displacement between two configurations; they converge
quadratically.
"""


class Estimate(Record):
    """The estimate of the state after a measurement; every entry is an array.

    Attributes:
        state: q, v and t, on the constraints.
        unknown: estimates of the unknown inputs, shape (k,).
        spread: L, a root of the covariance of (δq, δv, δd), shape (2 nv + k, r).
        innovation: z − h of the last measurement, shape (m,).
        surprise: squared norm of the innovation in the metric of its covariance; it is χ²
            distributed with m degrees of freedom if model and noise are correct.
    """

    state: State
    unknown: Float[Array, " k"]
    spread: Float[Array, "n r"]
    innovation: Float[Array, " m"]
    surprise: Float[Array, ""]

    @property
    def covariance(self) -> Float[Array, "n n"]:
        """P of (δq, δv, δd), δq along the velocities."""
        return self.spread @ jnp.swapaxes(self.spread, -1, -2)

    @property
    def deviation(self) -> Float[Array, " n"]:
        """Standard deviations of (δq, δv, δd)."""
        return jnp.sqrt(jnp.sum(self.spread**2, axis=-1))


class KalmanFilter(AbstractObserver):
    """A Kalman filter of a plant, constructed by `zw.Plant.kalman_filter`.

    Attributes:
        plant: the observed plant; its inputs include unknown inputs and random forces.
        places: indices of the plant's own inputs, of the unknown inputs, and of random forces.
        measure: (q, v, t, p) → z.
        root: R^½ of the noise of z, shape (m, m).
        force_noise: standard deviations of the random forces, shape (w,).
        drift: standard deviation of the change of each unknown input per step, shape (k,).
        unscented: True if sigma points are used.
        start: the estimate before the first measurement.
    """

    plant: Plant = field(static=True)
    places: tuple[tuple[int, ...], ...] = field(static=True)
    measure: Callable
    root: Float[Array, "m m"]
    force_noise: Float[Array, " w"]
    drift: Float[Array, " k"]
    unscented: bool = field(static=True)
    start: PyTree

    def __repr__(self) -> str:
        return (
            f"{'unscented' if self.unscented else 'extended'} Kalman filter of "
            f"{self.plant.model.name}: {counted(len(self.root), 'output')}, "
            f"{counted(len(self.drift), 'unknown input')}"
        )

    @property
    def length(self) -> float:
        return self.plant.length

    def step(self, estimate: Estimate, u, z) -> Estimate:
        """The estimate one step later, after the input u over the step and the measurement z at its
        end. A pure function.

        Args:
            estimate: the previous estimate.
            u: inputs of the plant, shape (nu,).
            z: the measurement, shape (m,).
        """
        return self.corrected(self.predicted(estimate, u), z)

    def run(self, u, z) -> Estimate:
        """Estimates after each of many measurements, with a leading axis.

        Args:
            u: inputs over the step before each measurement, shape (samples, nu).
            z: measurements, shape (samples, m).
        """
        u, z = (np.asarray(real_array(x, f"run: {n}"), float) for n, x in (("u", u), ("z", z)))
        expected = (len(z), len(self.places[0])), (len(z), len(self.root))
        if (u.shape, z.shape) != expected:
            raise ModelError(
                f"run: u and z have shapes {u.shape} and {z.shape}, expected {expected[0]} and "
                f"{expected[1]}."
            )
        return _run(self, u, z)

    def predicted(self, estimate: Estimate, u) -> Estimate:
        """The estimate one step later, without a measurement."""
        width, k = estimate.spread.shape[1], len(self.drift)

        def after(y):
            s, d = self.at(estimate, y[:width], self.unscented)
            return self.plant.step(s, self.inputs(u, d, self.force_noise * y[width:])), d

        (state, unknown), spread = self._moved(after, width + len(self.force_noise))
        grown = jnp.concatenate([jnp.zeros((len(spread) - k, k)), jnp.diag(self.drift)])
        spread = compressed(jnp.concatenate([spread, grown], axis=1), width)
        return replace(estimate, state=state, unknown=unknown, spread=spread)

    def corrected(self, estimate: Estimate, z) -> Estimate:
        """The estimate corrected by a measurement at its time."""
        width = estimate.spread.shape[1]

        def seen(y):
            s, d = self.at(estimate, y, self.unscented)
            return self.seen(s, self.plant.parameters(self.inputs(None, d)))

        if self.unscented:
            plus, minus = _points(seen, width)
            expected = 0.5 * jnp.mean(plus + minus, axis=0)
            D, even = _parts(plus - expected, minus - expected)
            noise = jnp.concatenate([even, self.root], axis=1)
        else:
            expected, D, noise = *_linear(seen, width), self.root
        innovation = jnp.asarray(z, float) - expected
        found = measured(D, innovation, noise)
        both = Pseudoinverse(ABSOLUTE, jnp.concatenate([D, noise], axis=1))
        moved = lambda y: self.at(estimate, found.a + y, True)
        (state, unknown), carried = self._linear_motion(moved, width)
        spread = compressed(carried @ found.spread, width)
        surprise = jnp.sum(both.solve(innovation) ** 2)
        return Estimate(state, unknown, spread, innovation, surprise)

    def distance(self, estimate: Estimate, state: State, unknown=None) -> Float[Array, ""]:
        """Squared distance of a state from an estimate in the metric of its covariance. For a
        consistent filter it is χ² distributed with as many degrees of freedom as `spread` has
        columns.
        """
        unknown = estimate.unknown if unknown is None else jnp.asarray(unknown, float)
        off = self._displacement((state, unknown), (estimate.state, estimate.unknown))
        return jnp.sum(Pseudoinverse(SVD(ROUND_OFF), estimate.spread).solve(off) ** 2)

    def seen(self, s: State, p: PyTree) -> Float[Array, " m"]:
        return jnp.atleast_1d(jnp.asarray(self.measure(s.q, s.v, s.t, p), jnp.float64))

    def believed(self, dynamics: Dynamics, estimate: Estimate) -> Dynamics:
        if not len(self.drift):
            return dynamics
        u, acting = self.inputs(None, estimate.unknown), self.plant._inputs
        assert callable(acting.actuation)
        force = Disturbed(dynamics.system.force, acting.actuation, u[len(acting.parameters) :])
        return replace(
            dynamics,
            system=replace(dynamics.system, force=force),
            p=self.plant.parameters(u) if acting.parameters else dynamics.p,
        )

    def inputs(self, u, d, w=0.0) -> Float[Array, " inputs"]:
        """Inputs of the plant; the nominal ones if u is None."""
        own, unknown, random = (np.array(x, int) for x in self.places)
        given = jnp.asarray(self.plant.nominal)
        given = given if u is None else given.at[own].set(u)
        return given.at[unknown].add(d).at[random].add(w)

    def at(self, estimate: Estimate, y, on: bool):
        """State and unknown inputs at `x ⊞ L y`, projected onto the constraints if `on` is true."""
        return self._beside(estimate.state, estimate.unknown, estimate.spread @ y, on)

    def _beside(self, s: State, unknown, change, on: bool):
        """State and unknown inputs at `x ⊞ change`."""
        system = self.plant.model.system
        dq, dv, dd = jnp.split(change, (system.nv, 2 * system.nv))
        d = unknown + dd
        u = self.inputs(None, d)
        moved = State(system.move(s.q, dq, s.t, self.plant.parameters(u)), s.v + dv, s.t)
        return (self._placed(moved, u) if on else moved), d

    def _placed(self, s: State, u) -> State:
        plant = self.plant
        known: dict[str, PyTree] = {"t": s.t, "params": plant._merged(u, None)}
        return project(plant.model, s.q, s.v, **known)

    def _moved(self, function, width: int):
        """Mean and spread of the state and unknown inputs given by a function of y, where y has
        unit covariance.
        """
        if not self.unscented:
            return self._linear_motion(function, width)
        plus, minus = _points(function, width)
        s, d = function(jnp.zeros(width))
        off = lambda points, at: jax.vmap(lambda x: self._displacement(x, at))(points)
        mean = 0.5 * jnp.mean(off(plus, (s, d)) + off(minus, (s, d)), axis=0)
        center = self._beside(s, d, mean, True)
        return center, jnp.concatenate(_parts(off(plus, center), off(minus, center)), axis=1)

    def _linear_motion(self, function, width: int):
        """The same by linearization."""

        def moved(y):
            point = function(y)
            return self._displacement(point, without_derivative(point)), point

        J, center = jax.jacfwd(moved, has_aux=True)(jnp.zeros(width))
        return center, J

    def _displacement(self, to, here):
        """(δq, δv, δd) from one state to another, `q ⊞ δq`."""
        (s, d), (at, before), system = to, here, self.plant.model.system
        if system.moves_by_velocity and system.retract is None:
            return jnp.concatenate([s.q - at.q, s.v - at.v, d - before])
        p = self.plant.parameters(self.inputs(None, d))
        N = jax.vmap(lambda w: system.along(at.q, w, at.t, p), out_axes=1)(jnp.eye(system.nv))
        back = Pseudoinverse(ABSOLUTE, N)
        dq = jnp.zeros(system.nv)
        for _ in range(LEADS_BACK):
            dq = dq + back.solve(s.q - system.move(at.q, dq, at.t, p))
        return jnp.concatenate([dq, s.v - at.v, d - before])


class Disturbed(Record):
    """F of a system with unknown inputs that act on it."""

    force: Callable
    actuation: Callable
    u: Float[Array, " nu"]

    def __call__(self, q, v, t, p) -> Float[Array, " nv"]:
        return self.force(q, v, t, p) + self.actuation(q, t, p) @ self.u


@program
def _run(observer: KalmanFilter, u, z) -> Estimate:
    def advanced(estimate, given):
        found = observer.step(estimate, *given)
        return found, found

    return jax.lax.scan(advanced, observer.start, (u, z))[1]


def measured(D, asked, noise) -> Step:
    """The recursive least-squares kernel, in coordinates in which the covariance is the
    identity.
    """
    width = D.shape[1]
    unit = Weights(DiagonalMass(jnp.ones(width)), None, jnp.zeros(width))
    return step(unit, *unit.begin(), D, asked, noise, AGREEMENT, projector=noise is None)


def _linear(function, width: int):
    """A function and its derivative at y = 0."""
    J, value = jax.jacfwd(lambda y: (function(y),) * 2, has_aux=True)(jnp.zeros(width))
    return value, J


def _points(function, width: int):
    """Values of a function at the sigma points ±√width."""
    y = np.sqrt(width) * np.eye(width)
    return jax.vmap(function)(y), jax.vmap(function)(-y)


def _parts(plus, minus):
    """Odd and even parts of the values at sigma points, as columns of a root of their
    covariance.
    """
    root = np.sqrt(len(plus))
    return 0.5 * (plus - minus).T / root, 0.5 * (plus + minus).T / root
