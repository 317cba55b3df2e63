"""Dimensions of a mechanism that optimize its motion on one branch."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np
import scipy.optimize
from jaxtyping import PyTree

from zwang.analysis.design_problem import BranchLeftError, DesignProblem, variables_of
from zwang.analysis.design_targets import AbstractCost, AbstractLimit, TransmissionAngle
from zwang.analysis.kinematics import kinematics
from zwang.analysis.kinematics_result import Kinematics
from zwang.analysis.result import AbstractResult, rounded, table, with_unit
from zwang.analysis.subject import subject_of
from zwang.errors import ModelError
from zwang.inputs.arguments import count, host_only, listed, mapping, number
from zwang.inputs.text import counted
from zwang.plots import Curve as Line
from zwang.plots import Panel, Picture
from zwang.plots.script import opens_in_scripts
from zwang.thresholds import ALL_BUT_ZERO

if TYPE_CHECKING:
    import xarray as xr


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Design(AbstractResult):
    """Result of `zw.analysis.design`; `str()` prints it.

    Attributes:
        values: the design variables, by name.
        start: their initial values.
        params: parameters of the model at the design, as `zw.analysis.kinematics` accepts them; for
            a mechanism file the settings for `zwang.mechanism.read`.
        before, after: motions of the initial and of the final design, a `Kinematics` each.
        costs, first_costs: weighted costs by name, of the final and of the initial design.
        limits: the least value of each limit, by name; it is satisfied if this is zero or more.
        clearance: smallest singular value along the motion; it is zero at the ends of the branch.
        same_branch: True if the final design was reached from the initial one without leaving its
            branch, and each step of its motion was certified.
        steps: iterations of the optimizer.
        message: message of the optimizer.
        converged: True if the optimizer reports convergence.
    """

    values: dict[str, float]
    start: dict[str, float]
    params: dict
    before: Kinematics
    after: Kinematics
    costs: dict[str, float]
    first_costs: dict[str, float]
    limits: dict[str, float]
    clearance: float
    same_branch: bool
    steps: int
    message: str
    converged: bool

    @property
    def cost(self) -> float:
        """Sum of all costs."""
        return float(sum(self.costs.values()))

    @property
    def first_cost(self) -> float:
        """Sum of all costs of the initial design."""
        return float(sum(self.first_costs.values()))

    @property
    def dataset(self) -> xr.Dataset:
        """The motion of the final design, with variables and costs."""
        names = list(self.values)
        data = {
            "design": ("variable", np.array([self.values[x] for x in names])),
            "first_design": ("variable", np.array([self.start[x] for x in names])),
            "cost": ("target", np.array(list(self.costs.values()))),
            "first_cost": ("target", np.array(list(self.first_costs.values()))),
        }
        coords = {"variable": names, "target": list(self.costs)}
        return self.after.dataset.assign_coords(coords).assign(data)

    @opens_in_scripts
    def plot(self) -> Picture:
        """Plot traced points and outputs of the initial design, dashed, and of the final one."""
        pairs = list(zip(self.before.outputs, self.after.outputs, strict=True))
        if self.after.traces:
            lines = []
            for a, b in zip(self.before.traces, self.after.traces, strict=True):
                lines.append(Line(a.value[:, 0], a.value[:, 1], f"{a.name} before", dash=(4, 2)))
                lines.append(Line(b.value[:, 0], b.value[:, 1], f"{b.name} after"))
            panel = Panel(lines, "y [m]")
            return Picture([panel], "x [m]", self.after.model.name, height=4.0, equal=True)
        panels = [
            Panel(
                [
                    Line(self.before.input, a.value, "before", dash=(4, 2)),
                    Line(self.after.input, b.value, "after"),
                ],
                with_unit(b.name, b.unit),
            )
            for a, b in pairs
        ]
        k = self.after
        if not panels:
            return k.plot()
        return Picture(panels, with_unit(k.input_name, k.input_unit), k.model.name)

    def __str__(self) -> str:
        rows = [("variable", "first", "found")]
        rows += [(x, rounded(self.start[x]), rounded(y)) for x, y in self.values.items()]
        lines = [
            f"{self.after.model.name}: design of {counted(len(self.values), 'variable')}, cost "
            f"{self.first_cost:.6g} to {self.cost:.6g} in {self.steps} steps",
            *table(rows),
            *table(
                [("cost", "first", "found")]
                + [(x, f"{self.first_costs[x]:.6g}", f"{y:.6g}") for x, y in self.costs.items()]
            ),
        ]
        for name, least in self.limits.items():
            kept = "kept" if least >= -ALL_BUT_ZERO else "violated"
            lines.append(f"  {name}: {kept}, least margin {least:.3g}")
        branch = "the same, every step certified" if self.same_branch else "not certified"
        lines.append(f"  branch: {branch}; smallest singular value {self.clearance:.3g}")
        if not self.converged:
            lines.append(f"  the optimizer stopped early: {self.message}")
        return "\n".join(lines)


@host_only("design once, with numbers")
def design(
    model,
    vary: Mapping,
    targets,
    *,
    input,
    over,
    q=None,
    params: PyTree = None,
    rate: float = 1.0,
    samples: int = 61,
    clear: float = 0.02,
    steps: int = 100,
    **options,
) -> Design:
    """Optimize dimensions for a desired motion without leaving its branch.

        Σ weight · cost(q(t; x), x) → min    with limits ≥ 0 and σ_min ≥ clear at all samples

    by sequential quadratic programming (SLSQP of SciPy) with exact derivatives through the
    configurations. Every trial is followed from a known design in small steps, so that its
    configurations belong to the same branch. A trial that leaves the branch, or cannot be assembled
    at some value of the input, is rejected.

    Args:
        model: a `zw.Model`, or a `zw.Mechanism` read from a file.
        vary: bounds by name, {"coupler": (1.0, 3.0)}: parameters of a mechanism file's formulas, or
            of the model, "lengths[1]" for one entry of an array.
        targets: costs and limits of `zwang.analysis.design_targets`, such as
            `StraightLine("coupler.tip")` and `TransmissionAngle(("coupler.angle",
            "rocker.angle"), 0.7)`, or functions of a `Sampled` motion that return a cost.
        input, over: as in `zw.analysis.kinematics`, one input.
        q, params: the initial design, as in `zw.analysis.kinematics`.
        rate: rate of the input for torques [unit/s].
        samples: number of values of the input at which targets are evaluated.
        clear: lower bound of the smallest singular value of the rows of unit length, at all
            samples.
        steps: largest number of iterations.
        options: `output`, `trace` and others of `zw.analysis.kinematics`, for the motions before
            and after.

    Returns:
        A `Design`: `.values`, `.params`, `.before`, `.after`; can be printed, plotted and saved.

    Raises:
        ModelError: for unknown names, no cost, or an initial design that does not reach all values
            of the input.

    Example:
        >>> found = zw.analysis.design(linkage, {"coupler": (2, 4)}, [StraightLine("coupler.tip")],
        ...                   input="A", over=(0.2, 1.4), trace="coupler.tip")
    """
    mapping(vary, "design: vary", '{"coupler": (1.0, 3.0)}')
    costs, limits = _sorted(listed(targets, "design: targets", "costs and limits"))
    number(clear, "design: clear", least=0.0)
    count(steps, "design: steps", least=1)
    ask = {"rate": number(rate, "design: rate"), "samples": samples, **options}
    before = kinematics(model, input, over, q=q, params=params, **ask)
    if before.ended != "range":
        raise ModelError(
            f"design: the first design does not reach {np.ravel(over)[-1]:g} on this branch; start "
            "from one that does, or take a shorter range."
        )
    subject = subject_of(model, q, params, "design")
    for limit in limits:
        for link in limit.links if isinstance(limit, TransmissionAngle) else ():
            subject.link(link, "design: TransmissionAngle")
    variables = variables_of(model, subject.model, params, vary)
    problem = DesignProblem(subject, before, variables, costs, limits, float(rate))
    first = problem.at(variables.start)
    answer = _optimized(problem, first, clear, steps)
    last = problem.at(answer.x)
    start, given = problem.followed(answer.x)[0], variables.given(answer.x)
    after = kinematics(model, input, over, q=start, params=given, **ask)
    names = variables.names
    reached = after.ended == "range" and after.certified
    same = bool(reached and np.allclose(after.q, problem.followed(answer.x), atol=ALL_BUT_ZERO))
    return Design(
        dict(zip(names, map(float, answer.x), strict=True)),
        dict(zip(names, map(float, variables.start), strict=True)),
        variables.settings(answer.x),
        before,
        after,
        dict(zip(_names(costs), map(float, last.costs), strict=True)),
        dict(zip(_names(costs), map(float, first.costs), strict=True)),
        dict(zip(_names(limits), (float(np.min(x)) for x in last.limits), strict=True)),
        float(np.min(last.clear)),
        same,
        int(answer.nit),
        str(answer.message),
        bool(answer.success),
    )


@dataclasses.dataclass(frozen=True, eq=False)
class UserCost(AbstractCost):
    """A cost given as a function of a `Sampled` motion."""

    function: Callable
    weight: float = 1.0

    @property
    def name(self) -> str:
        return getattr(self.function, "__name__", "cost").strip("<>")

    def __call__(self, m):
        return self.function(m)


def _sorted(given) -> tuple[tuple[AbstractCost, ...], tuple[AbstractLimit, ...]]:
    limits = tuple(x for x in given if isinstance(x, AbstractLimit))
    costs = []
    for x in given:
        if isinstance(x, AbstractLimit):
            continue
        if not callable(x):
            raise ModelError(
                f"design: targets contain {x!r:.60}, expected costs and limits of "
                "zwang.analysis.design_targets or functions of a motion."
            )
        costs.append(x if isinstance(x, AbstractCost) else UserCost(x))
    if not costs:
        raise ModelError(
            "design: targets contain no cost, so there is nothing to minimize; give a cost."
        )
    return tuple(costs), limits


def _names(targets) -> list[str]:
    """Names of targets, made distinct."""
    made: list[str] = []
    for x in targets:
        same = sum(y == x.name or y.startswith(f"{x.name} (") for y in made)
        made.append(f"{x.name} ({same + 1})" if same else x.name)
    return made


def _optimized(problem: DesignProblem, first, clear: float, steps: int):
    """SLSQP over variables scaled to [0, 1], with costs in units of the initial cost."""
    v = problem.variables
    width, size = v.high - v.low, max(float(np.sum(first.costs)), 1e-300)
    begin = np.clip((v.start - v.low) / width, 0.0, 1.0)
    known = {"cost": np.ones(1), "limit": np.zeros(1)}

    def at(z):
        try:
            return problem.at(v.low + width * np.asarray(z, float))
        except BranchLeftError:
            return None

    def cost(z) -> float:
        found = at(z)
        # cost of a trial that leaves its branch, in units of the initial cost
        return 10.0 if found is None else float(np.sum(found.costs)) / size

    def slope(z):
        found = at(z)
        if found is not None:
            known["cost"] = np.sum(found.cost_slopes, axis=0) * width / size
        return known["cost"]

    def margin(z):
        found = at(z)
        if found is None:
            return -np.ones_like(known["limit"])
        known["limit"] = np.concatenate([*found.limits, found.clear - clear])
        return known["limit"]

    def margin_slope(z):
        found = at(z)
        if found is not None:
            known["margin"] = np.vstack([*found.limit_slopes, found.clear_slopes]) * width
        return known["margin"]

    # for a trial that leaves its branch, the last known slopes are returned
    for first_asked in (slope, margin, margin_slope):
        first_asked(begin)
    answer = scipy.optimize.minimize(
        cost,
        begin,
        jac=slope,
        bounds=[(0.0, 1.0)] * len(begin),
        constraints=[{"type": "ineq", "fun": margin, "jac": margin_slope}],
        method="SLSQP",
        options={"maxiter": steps, "ftol": 1e-10},
    )
    answer.x = v.low + width * np.clip(answer.x, 0.0, 1.0)
    return answer
