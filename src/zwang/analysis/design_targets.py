"""Targets of a design: costs, which are minimized, and limits, which are inequality constraints.

A cost is a function of a motion that returns a number; a limit returns numbers that must not be
negative. `Sampled` is the argument of both, and of functions given by users.
"""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Callable
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from zwang.algebra.decomposition import singular_values
from zwang.analysis.moving_mechanism import Moving, torques
from zwang.dynamics.equation_of_motion import Dynamics
from zwang.errors import ModelError


@dataclasses.dataclass(frozen=True)
class Sampled:
    """A motion over its input, the argument of costs and limits; part of a compiled program.

    Attributes:
        moving: t, q, v, a, p at the samples; v and a per unit of the input.
        dynamics: the equations with these parameters.
        rate: of the input [unit/s].
        named: maps the name of a coordinate, joint or point to its function.
    """

    moving: Moving
    dynamics: Dynamics
    rate: float
    named: Callable[[str], Callable]

    @property
    def input(self):
        """Values of the input, shape (n,)."""
        return self.moving.t

    @property
    def q(self):
        """Coordinates, shape (n, nq)."""
        return self.moving.q

    def value(self, name: str):
        """A coordinate, a joint or the position of a point, shape (n,) or (n, d)."""
        f, p = self.named(name), self.moving.p
        return jax.vmap(lambda q, t: f(q, t, p))(self.moving.q, self.moving.t)

    def slope(self, name: str):
        """The derivative of `value` by the input."""
        f, p, system = self.named(name), self.moving.p, self.dynamics.system

        def one(q, v, t):
            along = (system.rate(q, v, t, p), jnp.ones_like(t))
            return jax.jvp(lambda q, t: f(q, t, p), (q, t), along)[1]

        return jax.vmap(one)(self.moving.q, self.moving.v, self.moving.t)

    def torque(self):
        """Torque or force on the input, shape (n,)."""
        return torques(self.dynamics, self.moving, self.rate)


class AbstractTarget(abc.ABC):
    """A function of a motion.

    Attributes:
        title: its name in tables, with its fields in braces.
    """

    title: ClassVar[str]

    @property
    def name(self) -> str:
        """Its name in tables."""
        return self.title.format_map(vars(self))

    @abc.abstractmethod
    def __call__(self, m: Sampled) -> Array: ...


class AbstractCost(AbstractTarget):
    """A number that is minimized.

    Attributes:
        weight: factor in the sum of all costs.
    """

    weight: float


class AbstractLimit(AbstractTarget):
    """Numbers that must not be negative, one for each sample."""


@dataclasses.dataclass(frozen=True, eq=False)
class PathThrough(AbstractCost):
    """Mean square distance of a point from given positions, one for each sample [m²].

    Attributes:
        point: name of a point or body.
        places: shape (samples, d).
    """

    point: str
    places: ArrayLike
    weight: float = 1.0
    title = "path of {point}"

    def __call__(self, m):
        there, wanted = m.value(self.point), jnp.asarray(np.asarray(self.places, float))
        if there.shape != wanted.shape:
            raise ModelError(
                f"design: the places for {self.point!r} have shape {wanted.shape}, expected "
                f"{there.shape}: one for each sample."
            )
        return jnp.mean(jnp.sum((there - wanted) ** 2, axis=1))


@dataclasses.dataclass(frozen=True, eq=False)
class StraightLine(AbstractCost):
    """Mean square distance of a point from the best straight line through its path [m²]."""

    point: str
    weight: float = 1.0
    title = "{point} off a straight line"

    def __call__(self, m):
        x = m.value(self.point)
        away = x - jnp.mean(x, axis=0)
        # all principal moments except the largest
        return jnp.sum(singular_values(away)[1:] ** 2) / len(x)


@dataclasses.dataclass(frozen=True, eq=False)
class OutputValues(AbstractCost):
    """Mean square difference of an output from given values, one for each sample (function
    generation).

    Attributes:
        output: name of a coordinate or joint.
        values: shape (samples,).
    """

    output: str
    values: ArrayLike
    weight: float = 1.0
    title = "{output} off its values"

    def __call__(self, m):
        return jnp.mean((m.value(self.output) - jnp.asarray(np.asarray(self.values, float))) ** 2)


@dataclasses.dataclass(frozen=True, eq=False)
class TimeRatio(AbstractCost):
    """Squared difference between the time ratio of an output and a given value, over one turn of
    the input. The time ratio is the duration of the stroke in one direction divided by that in the
    other.

    Attributes:
        output: name of a coordinate or joint.
        ratio: the desired ratio, above 1.
    """

    output: str
    ratio: float
    weight: float = 1.0
    title = "time ratio of {output}"

    def __call__(self, m):
        r, t = m.slope(self.output), m.input
        a, b, h = r[:-1], r[1:], jnp.diff(t)
        # the fraction of each interval in which the rate is positive, by linear interpolation
        cut = jnp.clip(a / jnp.where(a == b, 1.0, a - b), 0.0, 1.0)
        rising = jnp.where(a > 0, jnp.where(b > 0, 1.0, cut), jnp.where(b > 0, 1.0 - cut, 0.0))
        share = jnp.sum(rising * h) / jnp.sum(h)
        longer = jnp.maximum(share, 1.0 - share)
        return (longer / (1.0 - longer) - self.ratio) ** 2


@dataclasses.dataclass(frozen=True, eq=False)
class DrivingEffort(AbstractCost):
    """Mean square torque or force on the input [N² or N²·m²]."""

    weight: float = 1.0
    title = "driving torque"

    def __call__(self, m):
        return jnp.mean(m.torque() ** 2)


@dataclasses.dataclass(frozen=True, eq=False)
class TransmissionAngle(AbstractLimit):
    """A lower bound of the angle between two links, folded into [0, π/2], at all samples [rad].

    Attributes:
        links: names of two angles, of coupler and output link, as in `zw.analysis.kinematics`.
        least: the lower bound [rad].
    """

    links: tuple[str, str]
    least: float
    title = "transmission angle"

    def __call__(self, m):
        apart = m.value(self.links[0]) - m.value(self.links[1])
        # the bound on sin² is equivalent and smooth where the angle passes π/2
        return jnp.sin(apart) ** 2 - jnp.sin(self.least) ** 2


@dataclasses.dataclass(frozen=True, eq=False)
class Within(AbstractLimit):
    """A coordinate or joint between two values at all samples.

    Attributes:
        output: its name.
        low, high: its limits; infinite where there is none.
    """

    output: str
    low: float = -np.inf
    high: float = np.inf
    title = "{output} within its limits"

    def __call__(self, m):
        x = m.value(self.output)
        low = x - self.low if np.isfinite(self.low) else jnp.ones_like(x)
        high = self.high - x if np.isfinite(self.high) else jnp.ones_like(x)
        return jnp.concatenate([low, high])


@dataclasses.dataclass(frozen=True, eq=False)
class Stroke(AbstractLimit):
    """The stroke of a coordinate or joint, from its smallest to its largest value, between two
    limits.

    Attributes:
        output: its name.
        low, high: its limits; infinite where there is none.
    """

    output: str
    low: float = 0.0
    high: float = np.inf
    title = "stroke of {output}"

    def __call__(self, m):
        x = m.value(self.output)
        way = jnp.max(x) - jnp.min(x)
        high = self.high - way if np.isfinite(self.high) else jnp.ones(())
        return jnp.stack([way - self.low, high])
