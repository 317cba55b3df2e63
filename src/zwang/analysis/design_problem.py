"""The numbers of a design problem: parameters from design variables; costs, limits and singular
values with their derivatives.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from zwang.algebra.decomposition import orientation, pivots
from zwang.algebra.metric import dense_metric
from zwang.algebra.pseudoinverse.proximal import Proximal
from zwang.analysis.design_targets import AbstractCost, AbstractLimit, Sampled
from zwang.analysis.inputs import chosen_inputs, with_entries
from zwang.analysis.kinematics_result import Kinematics
from zwang.analysis.local_equations import by_parameters
from zwang.analysis.moving_mechanism import Moving, moving
from zwang.analysis.subject import Subject
from zwang.compile import program
from zwang.dynamics.equation_of_motion import Dynamics
from zwang.dynamics.model import Model
from zwang.errors import ModelError
from zwang.inputs.arguments import real_array
from zwang.inputs.suggestions import did_you_mean
from zwang.mechanism import Mechanism
from zwang.mechanism.toml import parsed
from zwang.objects.provenance import source_of
from zwang.objects.record import replace
from zwang.thresholds import AGREEMENT

DIFFERENCE = 1e-6
"""Relative step of the finite differences of a mechanism's parameters, which follow from
formulas.
"""


class Variables(NamedTuple):
    """The map from design variables to parameters.

    Attributes:
        names, low, high, start: of the variables.
        model: the model that they belong to.
        slopes: x → derivatives of its parameters, with a leading axis of variables.
        given: x → parameters of the model, in the form given by a user.
        settings: x → entries of parameters, or settings of a mechanism file, that correspond to x.
    """

    names: tuple[str, ...]
    low: np.ndarray
    high: np.ndarray
    start: np.ndarray
    model: Model
    slopes: Callable[[np.ndarray], PyTree]
    given: Callable[[np.ndarray], dict]
    settings: Callable[[np.ndarray], dict]

    def params(self, x: np.ndarray) -> PyTree:
        """Parameters in the form that functions of the model accept."""
        return self.model.parameters(self.given(x))


def variables_of(subject, model: Model, params, vary: Mapping) -> Variables:
    """The design variables of a model, by names of its parameters; of a mechanism file, by the
    parameters of its formulas; or of a function that builds a mechanism.

    Raises:
        ModelError: for an unknown name, or bounds that are not two increasing numbers.
    """
    names = tuple(vary)
    bounds = []
    for name in names:
        pair = np.asarray(real_array(vary[name], f"design: vary[{name!r}]", "two numbers"))
        if pair.shape != (2,) or not pair[0] < pair[1]:
            raise ModelError(
                f"design: vary[{name!r}] is {vary[name]!r:.60}, expected its lowest and its "
                "highest value."
            )
        bounds.append(pair)
    low, high = np.array(bounds).T
    if isinstance(subject, Mechanism):
        return _of_formulas(subject, model, names, low, high)
    # an entry such as lengths[2] is first selected by the name of its array
    entries = chosen_inputs(model, params, [x.partition("[")[0] for x in names])
    wanted = [entries.names.index(x) for x in names]
    chosen = dataclasses.replace(entries, parameters=tuple(entries.parameters[i] for i in wanted))
    given = lambda x: with_entries(model, params, chosen, x)
    directions = jax.tree_util.tree_map(lambda d: d[np.array(wanted)], entries.directions)
    start = entries.nominal[np.array(wanted)]
    return Variables(names, low, high, start, model, lambda x: directions, given, given)


def _of_formulas(m: Mechanism, model: Model, names, low, high) -> Variables:
    source = source_of(m)
    if source is None or source.kind != "mechanism":
        raise ModelError(
            "design: a mechanism made in Python has no formulas to vary; read it from a file, or "
            "give its model and vary entries of the model's parameters."
        )
    for name in names:
        if name not in m.parameters:
            raise ModelError(
                f"design: {m.name} has no parameter {name!r:.60}{did_you_mean(name, m.parameters)}"
            )
    values = {k: float(x) for k, x in m.parameters.items()}  # type: ignore[arg-type]
    start = np.array([values[name] for name in names])
    settings = lambda x: dict(zip(names, map(float, x), strict=True))

    def given(x) -> dict:
        # the file is read again, because formulas may use a parameter anywhere
        other = parsed(source.text, Path(source.name), {**values, **settings(x)})
        return dataclasses.replace(other, servo={}, actuators={}, drives={}).params

    def slopes(x):
        columns = []
        for i in range(len(x)):
            step = np.zeros(len(x))
            # the step of a variable that starts at zero follows from its bounds
            step[i] = DIFFERENCE * max(abs(x[i]), 0.1 * (high[i] - low[i]))
            above, below = (model.parameters(given(y)) for y in (x + step, x - step))
            difference = lambda a, b, h=step[i]: (np.asarray(a, float) - np.asarray(b)) / (2 * h)
            columns.append(jax.tree_util.tree_map(difference, above, below))
        return jax.tree_util.tree_map(lambda *x: np.stack(x), *columns)

    return Variables(names, low, high, start, model, slopes, given, settings)


class Values(NamedTuple):
    """Costs, limits and smallest singular values of one design, with derivatives by its variables.

    Attributes:
        costs: shape (c,); limits: an array for each limit.
        clear: smallest singular value at each sample, shape (n,).
        cost_slopes, limit_slopes, clear_slopes: with a last axis of variables.
    """

    costs: np.ndarray
    limits: tuple[np.ndarray, ...]
    clear: np.ndarray
    cost_slopes: np.ndarray
    limit_slopes: tuple[np.ndarray, ...]
    clear_slopes: np.ndarray


class BranchLeftError(Exception):
    """Configurations of a trial could not be followed from those of a known design."""


@dataclasses.dataclass(eq=False)
class DesignProblem:
    """A design problem about a motion of a first design.

    Attributes:
        subject: names of coordinates and points.
        motion: of the initial design, from which the branch is followed.
        variables: the design variables.
        costs, limits: the targets.
        rate: of the input.
    """

    subject: Subject
    motion: Kinematics
    variables: Variables
    costs: tuple[AbstractCost, ...]
    limits: tuple[AbstractLimit, ...]
    rate: float

    def __post_init__(self):
        self.dynamics = self.motion.model.dynamics(self.motion.params, Proximal())
        self.known = (self.variables.start, np.asarray(self.motion.q))
        self.seen: dict[bytes, Values] = {}

    def followed(self, x: np.ndarray) -> np.ndarray:
        """Configurations at x, followed from those of the last known design in small steps.

        Raises:
            BranchLeftError: if the mechanism cannot be assembled, or passes a singular
                configuration.
        """
        start, q = self.known
        way = (x - start) / (self.variables.high - self.variables.low)
        # a large change could close the loops in another assembly mode, so variables change by at
        # most a twentieth of their range per step
        parts = max(1, int(np.ceil(20 * np.max(np.abs(way), initial=0.0))))
        signs = self._signs(q, self.variables.params(start))
        for i in range(1, parts + 1):
            p = self.variables.params(start + i / parts * (x - start))
            found = _closed(self.dynamics, q, self.motion.input, p)
            new, left = np.asarray(found.q), np.asarray(found.residual)
            # residual of rows of unit length below which loops count as closed
            if not np.all(left < AGREEMENT):
                raise BranchLeftError("the mechanism does not close at all values of its input")
            # the determinant changes sign when a motion passes a singular configuration
            if not np.array_equal(signs, self._signs(new, p)):
                raise BranchLeftError("a singular configuration lies between")
            q = new
        return q

    def _signs(self, q: np.ndarray, p) -> np.ndarray:
        """Orientation of the rows at each sample, which changes only at singular configurations."""
        A = np.asarray(_rows(self.dynamics, q, self.motion.input, p))
        return orientation(A[:, self.rows]) if self.rows is not None else np.ones(len(A))

    @cached_property
    def rows(self) -> np.ndarray | None:
        """Rows that are independent at all samples of the initial design, as many as velocities."""
        start, q = self.variables.start, np.asarray(self.motion.q)
        p = self.variables.params(start)
        A = np.asarray(_rows(self.dynamics, q, self.motion.input, p))
        chosen = pivots(dense_metric(np.ones(A.shape[2])).rows(A[0]).C.T)
        return chosen if len(chosen) == A.shape[2] else None

    def at(self, x: np.ndarray) -> Values:
        """All numbers at x.

        Raises:
            BranchLeftError: as `followed`.
        """
        # the optimizer requests costs, limits and slopes separately at the same x
        key = np.asarray(x, float).tobytes()
        if key not in self.seen:
            q = self.followed(np.asarray(x, float))
            p, slopes = self.variables.params(x), self.variables.slopes(x)
            value, slope = _numbers(self, q, p, slopes)
            numbers = jax.tree_util.tree_map(np.asarray, value)
            self.seen[key] = Values(*numbers, *jax.tree_util.tree_map(np.asarray, slope))
            # the next trial is near this one, so it is followed from here
            self.known = (np.array(x, float), q)
        return self.seen[key]

    def named(self, name: str) -> Callable:
        """The function of a coordinate, a joint or a point."""
        try:
            return self.subject.quantity(name, "design").value
        except ModelError:
            return self.subject.point(name, "design").value


@program
def _closed(dynamics: Dynamics, q, t, p) -> Moving:
    # eight steps of Newton's iteration after each change of the variables
    return moving(replace(dynamics, p=p), q, t, 8)


@program
def _rows(dynamics: Dynamics, q, t, p):
    still = jnp.zeros(dynamics.system.nv)
    return jax.vmap(lambda q, t: dynamics.constraints.matrix(q, still, t, p))(q, t)


@program
def _numbers(problem: DesignProblem, q, p, slopes):
    """(costs, limits, clearances) and their derivatives along slopes of the parameters."""

    def numbers(p) -> tuple:
        dynamics = replace(problem.dynamics, p=p)
        m = moving(dynamics, q, jnp.asarray(problem.motion.input))
        seen = Sampled(m, dynamics, problem.rate, problem.named)
        costs = [jnp.asarray(x.weight * x(seen), float) for x in problem.costs]
        limits = tuple(jnp.ravel(jnp.asarray(x(seen), float)) for x in problem.limits)
        # the smallest singular values are returned as well; a lower bound on them keeps the design
        # away from singular configurations
        return jnp.stack(costs), limits, m.smallest

    return numbers(p), by_parameters(numbers, p, slopes)
