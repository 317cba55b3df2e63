"""Continuation of equilibria and steady motions in a parameter, through folds and branch points.

With unknowns x = (y, γ, s) a branch is a curve r(x) = 0. It is followed by arc length, with a
prediction along the tangent and a correction orthogonal to it, so that a fold, where s turns round,
needs no special treatment. If an eigenvalue of the linearization passes through zero, the lowest
coefficient of the characteristic polynomial that is not zero along the whole branch changes sign.
The point is a fold if the component of the tangent along s changes sign as well, and a branch point
otherwise. Hopf points and double eigenvalues are found by the test functions of `branch.py`.

Reference: Allgower and Georg (2003), Introduction to Numerical Continuation Methods, chapters 6-8.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import TYPE_CHECKING

import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import PyTree

from zwang.analysis.balance_problem import Point, Problem
from zwang.analysis.balance_search import balanced_start
from zwang.analysis.branch import BalanceBranch, Place, events
from zwang.analysis.constrained_state import dynamics_of
from zwang.analysis.equilibrium import Equilibrium, as_equilibrium
from zwang.analysis.moving_state import Motion, branch_equations, critical_direction
from zwang.analysis.path import zero_between
from zwang.analysis.result import AbstractResult, branch_picture, dataset_of
from zwang.analysis.sensitivity import near_fold
from zwang.compile.compatibility import outside_of_programs
from zwang.dynamics.model import Model
from zwang.errors import ModelError
from zwang.inputs.arguments import count, host_only, instance, known, listed, number, refuse
from zwang.inputs.arrays import vector
from zwang.objects.reporting import report
from zwang.plots.script import opens_in_scripts
from zwang.thresholds import AGREEMENT, AT_INSTANT

if TYPE_CHECKING:
    import xarray as xr

    from zwang.plots import Picture


@dataclasses.dataclass(frozen=True, eq=False)
class SpecialPoint:
    """A fold, a branch point, a Hopf point or a double eigenvalue.

    Attributes:
        kind: "fold", "branch point", "Hopf point" or "double eigenvalue".
        value: the parameter there.
        point: the solution of the equations there.
        tangents: directions of the branches through it, each a pair of dq, shape (nq,), and the
            change of the parameter; a single one except at branch points.
        eigenvalue: [1/s] at a Hopf point, imaginary, and at a double eigenvalue; otherwise 0.
        slope: at a Hopf point, the derivative of the eigenvalue by the parameter along the branch,
            whose real part is the derivative of the growth rate; None at a fold, and at other
            special points.
    """

    kind: str
    value: float
    point: Point
    tangents: tuple[tuple[np.ndarray, float], ...]
    eigenvalue: complex = 0j
    slope: complex | None = None

    @property
    def q(self) -> np.ndarray:
        """Coordinates, shape (nq,)."""
        return self.point.q

    @property
    def v(self) -> np.ndarray:
        """Velocities, shape (nv,)."""
        return self.point.v

    def __str__(self) -> str:
        x = self.eigenvalue
        shown = f"{x.imag:.6g}i" if x.imag else f"{x.real:.6g}"
        text = f"{self.kind} at {self.value:.12g}" + (f", eigenvalue {shown} 1/s" if x else "")
        slope = self.slope
        return text if slope is None else f"{text}, whose real part changes by {slope.real:+.6g}"

    __repr__ = __str__


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Continuation(AbstractResult):
    """A branch of equilibria or steady motions; `str()` prints it.

    Attributes:
        model, over: the model and the name of the parameter or velocity.
        points: an `Equilibrium` each, in the order in which they were found.
        values: the parameter at each point.
        eigenvalues: of the linearization at each point, without symmetries, shape (points, n).
        special: folds, branch points, Hopf points and double eigenvalues, in order.
        problem: the equations of the branch.
    """

    model: Model
    over: str
    points: tuple[Equilibrium, ...]
    values: np.ndarray
    eigenvalues: np.ndarray
    special: tuple[SpecialPoint, ...]
    problem: Problem = dataclasses.field(repr=False)

    @property
    def folds(self) -> tuple[SpecialPoint, ...]:
        return tuple(x for x in self.special if x.kind == "fold")

    @property
    def branch_points(self) -> tuple[SpecialPoint, ...]:
        return tuple(x for x in self.special if x.kind == "branch point")

    @property
    def hopf_points(self) -> tuple[SpecialPoint, ...]:
        return tuple(x for x in self.special if x.kind == "Hopf point")

    @functools.cached_property
    def verdicts(self) -> tuple[str, ...]:
        """The verdict on each point, as `Equilibrium.verdict`: "stable", "unstable", or a statement
        of what is undecided.
        """
        return tuple(point.verdict for point in self.points)

    @property
    def stable(self) -> np.ndarray:
        """True for each point that is proved stable, shape (points,); `verdicts` names undecided
        points.
        """
        return np.array([bool(point.stable) for point in self.points])

    @property
    def q(self) -> np.ndarray:
        """Coordinates, shape (points, nq)."""
        return np.array([point.q for point in self.points])

    @property
    def v(self) -> np.ndarray:
        """Velocities, shape (points, nv)."""
        return np.array([point.v for point in self.points])

    def critical_values(self, params: PyTree) -> Array:
        """The values of `over` at the folds and branch points, folds first, as a function of the
        other parameters, shape (k,); inside `jax.grad` and `jit`. Value and first derivatives are
        exact at the parameters of this result.

        Args:
            params: as in `zw.analysis.continuation`, without `over`.

        Raises:
            ModelError: for a branch point that does not persist under changes of other parameters,
                for example an accidental crossing of two branches.
        """
        model, problem = self.model, self.problem
        symmetric, driven, own = problem.symmetric, problem.driven, self.points[0].params

        def at(given):
            given = {**(own or {}), **(given or {})}
            if driven is None:
                return lambda s: dynamics_of(model, {**given, self.over: s})
            dynamics = dynamics_of(model, given or None)
            return lambda s: dynamics

        found = []
        for special in (*self.folds, *self.branch_points):
            x = np.concatenate([np.zeros(model.system.nv), special.point.gamma])
            free = np.ones(len(x) + len(special.point.multipliers), bool)
            free[model.system.nv : len(x)] = driven is not None  # rates are constant
            x, free = np.concatenate([x, special.point.multipliers]), np.flatnonzero(free)
            fields = (None, None) if symmetric is None else (symmetric.base, symmetric.fields)
            with outside_of_programs():
                here = at({})
                motion = Motion.of(special.q, problem.t, *fields)
                equations = branch_equations(motion, x, free, driven)
                null = critical_direction(
                    motion,
                    equations(here),
                    here(jnp.asarray(special.value)),
                    x,
                    free,
                    special.value,
                )
            solved, moved = near_fold(equations, here, at(params), special.value, x[free], null)
            if not solved.determines(0):
                raise ModelError(
                    f"{model.name}: the {special} does not persist when other parameters change, "
                    "so that it has no derivatives."
                )
            found.append(moved[0])
        return jnp.stack(found) if found else jnp.zeros(0)

    @property
    def dataset(self) -> xr.Dataset:
        """The branch, with the parameter along it, and its special points."""
        data = {
            self.over if self.over not in ("q", "v") else f"parameter {self.over}": (
                "point",
                self.values,
            ),
            "q": (("point", "coordinate"), self.q),
            "v": (("point", "velocity"), self.v),
            "stable": ("point", self.stable),
            "verdict": ("point", np.array(self.verdicts, dtype=str)),
            "eigenvalues_real": (("point", "eigenvalue"), np.real(self.eigenvalues)),
            "eigenvalues_imaginary": (("point", "eigenvalue"), np.imag(self.eigenvalues)),
            "special_value": ("special", np.array([x.value for x in self.special])),
            "special_kind": ("special", np.array([x.kind for x in self.special], dtype=str)),
            "special_growth_slope": (
                "special",
                np.array([np.nan if x.slope is None else x.slope.real for x in self.special]),
            ),
        }
        return dataset_of(self.model, data, over=self.over)

    @opens_in_scripts
    def plot(self, *coordinates: str) -> Picture:
        """Plot coordinates over the parameter, with unstable parts dashed and special points
        marked.

        Args:
            coordinates: names; by default those that vary, four at most.
        """
        for name in coordinates:
            known(name, self.model.system.coordinates, f"{self.model.name} has no coordinate")
        return branch_picture(self, coordinates)

    def __str__(self) -> str:
        low, high = self.values.min(), self.values.max()
        lines = [
            f"{self.model.name}: {len(self.points)} points over {self.over}, from {low:.6g} to "
            f"{high:.6g}; {int(self.stable.sum())} stable"
        ]
        for x in self.special:
            along = [f"{self.over} {np.round(s, 9) + 0.0:+.3g}" for _, s in x.tangents]
            per = "" if x.slope is None else f" per unit of {self.over}"
            lines.append(f"  {x}{per}, tangents: {', '.join(along)} (dq of length one)")
        return "\n".join(lines)


@host_only("call it outside of them, with the numbers of one model")
def continuation(
    model: Model,
    q,
    *,
    over: str,
    to,
    v=None,
    t: float = 0.0,
    params: PyTree = None,
    hold=(),
    tangent: tuple | None = None,
    step: float = 0.05,
    points: int = 200,
) -> Continuation:
    """Follow equilibria or steady motions while a parameter changes.

    Args:
        model: the model.
        q: a guess near a balance, at the present value of the parameter.
        over: name of a scalar parameter, or of a velocity of a steady motion.
        to: the range of the parameter, (lowest, highest). The branch is followed toward the farther
            end first, through folds, until it leaves the range.
        v, t, params, hold: as in `zw.analysis.equilibrium`.
        tangent: initial direction, such as one of `SpecialPoint.tangents`; by default the parameter
            moves toward the farther end of the range.
        step: length of a step, in units of the size of the coordinates and of the range of the
            parameter.
        points: largest number of points.

    Raises:
        ModelError: if forces do not balance at the start, or if a steady motion belongs to a family
            with more than one parameter (use `hold` for velocities).

    Example:
        >>> branch = zw.analysis.continuation(model, q=[0.0], over="speed", to=(1.0, 6.0))
        >>> print(branch.branch_points[0].value)
    """
    instance(model, Model, "continuation: model", "a zw.Model")
    limits = listed(to, "to", "two numbers, the lowest and the highest value")
    if len(limits) != 2:
        raise ModelError(f"to has {len(limits)} numbers, expected the lowest and the highest.")
    low, high = sorted(number(x, "an entry of to") for x in limits)
    number(step, "step", above=0)
    count(points, "points", least=2)
    # first find the balance at the initial value of the parameter
    problem, at = balanced_start(model, q, v, t, params, hold, over)
    first = None if tangent is None else _direction(tangent, model.system.nq)
    branch = BalanceBranch.begin(problem, at, over, (low, high), step, first)
    places, special = [branch.place(at)], []
    for _ in range(points - 1):
        report(f"{len(places)} points, {over} = {places[-1].value:.4g}")
        new = branch.following(places[-1])
        if new is None:
            break
        places.append(new)
        # two points show which eigenvalues are zero along the whole branch; these are left out of
        # the test function
        if len(places) == 2:
            branch = branch.knowing(places)
        special += [x for x in _between(branch, places[-2], new) if not _again(x, special)]
        if _leaves(places[-2].value, new.value, low, high):
            break
    made = [as_equilibrium(model, problem, x.point, params) for x in places]
    return Continuation(
        model,
        over,
        tuple(made),
        np.array([x.value for x in places]),
        np.array([x.eigenvalues for x in places]),
        tuple(special),
        problem,
    )


def _leaves(before: float, value: float, low: float, high: float) -> bool:
    """True if a branch leaves its range by more than round-off, as of a branch point at an end of
    the range. A branch that starts outside may enter the range.
    """
    # a branch may exceed its range by this relative amount and count as being at its end
    slack = AGREEMENT * (high - low)
    return (value > high + slack and value > before) or (value < low - slack and value < before)


def _direction(tangent, nq: int) -> tuple[np.ndarray, float]:
    """A user's change of coordinates and of the parameter, checked."""
    expected = f"(dq, ds), dq of {nq} numbers"
    pair = listed(tangent, "tangent", expected)
    if len(pair) != 2:
        refuse("tangent", tangent, expected)
    dq, ds = np.asarray(vector(pair[0], nq, "dq of tangent")), number(pair[1], "ds of tangent")
    if not np.any(dq) and not ds:
        refuse("tangent", tangent, "a direction that is not zero")
    return dq, ds


def _between(branch: BalanceBranch, before: Place, after: Place) -> list[SpecialPoint]:
    """The special points between two neighboring points, in order."""
    found = []
    passes = np.sign(branch.test(before)) != np.sign(branch.test(after))
    turns = np.sign(before.tangent_value) != np.sign(after.tangent_value)
    if passes or turns:
        measure = branch.test if passes else (lambda place: place.tangent_value)
        root = _located(branch, before, after, measure)
        if root is not None:
            h, at = root
            # if s turns and no eigenvalue passes through zero, another branch passes through this
            # point
            kind = "fold" if passes and turns else "branch point"
            alone = (branch.direction(at, at.tangent),)
            tangents = alone if kind == "fold" else branch.tangents(at)
            found.append((h, SpecialPoint(kind, at.value, at.point, tangents)))
    for event in events(before.eigenvalues, after.eigenvalues, branch.rate):
        root = _located(branch, before, after, lambda x, e=event: e.measure(x.eigenvalues))
        if root is None:
            continue
        h, at = root
        along, value = (branch.direction(at, at.tangent),), event.eigenvalue(at.eigenvalues)
        slope = branch.slope(at, value) if event.kind == "Hopf point" else None
        found.append((h, SpecialPoint(event.kind, at.value, at.point, along, value, slope)))
    return [point for _, point in sorted(found, key=lambda x: x[0])]


def _again(point: SpecialPoint, special: list[SpecialPoint]) -> bool:
    """True if a point at the end of one step was already reported for the step before."""
    near = lambda a, b: np.allclose(a, b, rtol=AGREEMENT, atol=AGREEMENT)
    return any(
        x.kind == point.kind and near(x.value, point.value) and near(x.q, point.q)
        for x in special[-2:]
    )


def _located(
    branch: BalanceBranch, before: Place, after: Place, measure
) -> tuple[float, Place] | None:
    """The zero of a test function between two neighboring points, as a fraction of the step, or
    None.
    """
    found: dict[float, Place] = {}

    def at_length(h: float) -> float:
        place = before if h == 0 else branch.corrected(before, h * after.length)
        if place is None:  # Newton's method fails only near a branch point
            return float(measure(before) + h * (measure(after) - measure(before)))
        found[h] = place
        return measure(place)

    first, last = at_length(0.0), at_length(1.0)
    if abs(first) <= AT_INSTANT * abs(last):
        return 0.0, before
    if np.sign(first) == np.sign(last):
        return None
    root = zero_between(at_length, 0.0, 1.0)
    return root, found.get(root, before)
