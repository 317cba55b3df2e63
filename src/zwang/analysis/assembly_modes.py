"""All configurations of a mechanism at given inputs: its assembly modes.

If the rows are quadratic in coordinates, cosines and sines (loops in the plane), or in Study's
parameters of one body in space (a platform on legs), a homotopy (`homotopy.py`) follows all
solutions from those of simple equations and finds all of them with probability one. Otherwise
Newton's iteration on all rows is started from many random configurations at once, and equal results
are merged, with angles modulo whole turns. Solutions in which the axis of a hinge points in the
opposite direction are discarded.

The second half of the starts tests whether there were enough: if n of them converge, and k of these
reach a mode that the first half did not find, this bounds the probability of unseen modes at a
given confidence (Clopper and Pearson). A mode with a share ρ of all starts is missed with
probability (1 − ρ)^N. The share of starts whose mode was found only once estimates the probability
that one more start finds a new mode (Good and Turing).

Reference: Good (1953), The population frequencies of species and the estimation of population
parameters, Biometrika 40, 237-264; Clopper and Pearson (1934), The use of confidence or fiducial
limits illustrated in the case of the binomial, Biometrika 26, 404-413.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import PyTree

from zwang.algebra.metric import dense_metric
from zwang.algebra.pseudoinverse.proximal import Proximal
from zwang.analysis.distinct import attitudes, distinct, same_senses, telling
from zwang.analysis.kinematics import Constant
from zwang.analysis.moving_mechanism import closed as closed_at
from zwang.analysis.moving_mechanism import damped, newton, rows_at
from zwang.analysis.quadratic_loops import Found, all_configurations
from zwang.analysis.quadratic_postures import all_postures
from zwang.analysis.result import AbstractResult, dataset_of, with_unit
from zwang.analysis.subject import subject_of, with_inputs
from zwang.compile import program
from zwang.compile.hints import over_rows
from zwang.dynamics.equation_of_motion import Dynamics
from zwang.dynamics.model import Model
from zwang.dynamics.number_range import LARGEST_SIZE
from zwang.errors import ModelError
from zwang.inputs.arguments import choice, count, host_only, known, mapping, number, real_array
from zwang.inputs.text import counted
from zwang.mechanism.drawing import picture
from zwang.mechanism.mechanism import Mechanism
from zwang.objects.reporting import report
from zwang.plots import Curve as Line
from zwang.plots import Panel, Picture
from zwang.plots.script import opens_in_scripts
from zwang.thresholds import ALIKE, ALL_BUT_ZERO, RESOLVED

if TYPE_CHECKING:
    import xarray as xr

METHODS = ("auto", "homotopy", "starts")
BOXES_AT_ONCE = 512
"""Number of starts in one batch."""


@dataclasses.dataclass(frozen=True, repr=False)
class AssemblyModes(AbstractResult):
    """The configurations found; `str()` prints them.

    Attributes:
        model: the model with its inputs as constraints.
        q: one configuration per mode, shape (modes, nq), the most frequent first.
        found: number of starts that led to each mode, shape (modes,).
        starts: number of starts, or of paths of the homotopy.
        smallest: smallest singular value of the independent rows at each mode, 0 where modes meet.
        method: "homotopy", which finds all modes with probability one, or "starts".
        solutions: number of isolated solutions of the homotopy, including complex ones.
        failed: number of paths of the homotopy that could not be followed to their ends.
        tried, surprises: number of starts in the second half that converged, and of these the
            number that reached a new mode.
        t: time [s].
        mechanism: the mechanism that the model was built from, for pictures.
    """

    model: Model
    q: np.ndarray
    found: np.ndarray
    starts: int
    smallest: np.ndarray
    method: str = "starts"
    solutions: int = 0
    failed: int = 0
    tried: int = 0
    surprises: int = 0
    t: float = 0.0
    mechanism: Mechanism | None = None

    def configurations(self, params: PyTree) -> Array:
        """The modes as a function of parameters, shape (modes, nq); inside `jax.grad` and `jit`.
        Value and first derivatives are exact at the parameters of this result, except where modes
        meet.

        Args:
            params: as in `zw.analysis.assembly_modes`.
        """
        dynamics = self.model.dynamics(params, Proximal())
        one = lambda q: closed_at(dynamics, q, jnp.asarray(self.t), 1)
        return jax.vmap(one)(jnp.asarray(self.q))

    @property
    def complete(self) -> bool:
        """True if all modes were found with probability one."""
        return self.method == "homotopy" and not self.failed

    def __len__(self) -> int:
        return len(self.q)

    @property
    def unseen(self) -> float:
        """Estimate of the probability that one more converging start would find a new mode."""
        if self.method == "homotopy":
            return self.failed / self.starts
        return float(np.sum(self.found == 1)) / max(float(np.sum(self.found)), 1.0)

    def unseen_bound(self, confidence: float = 0.95) -> float:
        """Bound of the probability that a converging start leads to a mode that is not in the list.
        It holds with the given confidence for every distribution of modes.
        """
        level = number(confidence, "unseen_bound: confidence", above=0.0, most=1 - 1e-9)
        if self.method == "homotopy":
            return 0.0 if self.complete else 1.0
        if self.surprises >= self.tried:
            return 1.0
        from scipy.stats import beta

        return float(beta.ppf(level, self.surprises + 1, self.tried - self.surprises))

    def missed(self, share: float) -> float:
        """Probability that a mode to which a share `share` of random starts leads was missed."""
        share = number(share, "missed: share", least=0.0, most=1.0)
        if self.complete:
            return 0.0
        return float((1 - share) ** self.starts)

    @property
    def dataset(self) -> xr.Dataset:
        """The configurations with their names and how often each was found."""
        data = {
            "q": (("mode", "coordinate"), self.q),
            "found": ("mode", self.found),
            "smallest_singular_value": ("mode", self.smallest),
        }
        attrs = {
            "method": self.method,
            "starts": self.starts,
            "unseen_bound_95": self.unseen_bound(),
            "solutions": self.solutions,
            "complete": int(self.complete),
        }
        units = {"coordinate_unit": ("coordinate", list(self.model.system.units))}
        return dataset_of(self.model, data, units, **attrs)

    @property
    def _counted(self) -> str:
        return f"{self.model.name}: {counted(len(self), 'assembly mode')}"

    @opens_in_scripts
    def plot(self, *coordinates: str) -> Picture:
        """Plot the modes of a mechanism side by side, or as points in two coordinates: the given
        ones, by default those that differ most.
        """
        if self.mechanism is not None and not coordinates:
            return picture(self.mechanism, self.q)
        names, units = self.model.system.coordinates, self.model.system.units
        given = coordinates or [names[k] for k in telling(self.q, 2)]
        for name in given:
            known(name, names, "plot: there is no coordinate")
        i, j = names.index(given[0]), names.index(given[-1])
        points = Line(self.q[:, i], self.q[:, j], width=0.0, marker="o")
        label = lambda k: with_unit(names[k], units[k])
        title = self._counted
        alike = bool(units[i]) and units[i] == units[j]
        return Picture([Panel([points], label(j))], label(i), title, height=3.5, equal=alike)

    def __str__(self) -> str:
        tried = f"{self.starts} random starts, {int(np.sum(self.found))} of which converged"
        lines = [
            f"{self._counted} from {tried}",
            f"  with 95 % confidence one more start finds a new one with a probability below "
            f"{self.unseen_bound():.1e};",
            f"  a mode that one start in 100 leads to was missed with {self.missed(0.01):.1e}",
        ]
        if self.method == "homotopy":
            sure = "all with probability one" if self.complete else f"{self.failed} paths failed"
            real = f"the real ones of {self.solutions} solutions, from {self.starts} paths"
            lines = [f"{self._counted}, {real} of a homotopy: {sure}"]
        chosen = telling(np.asarray(self.q[:50]), 6)
        system = self.model.system
        names = [
            f"{x} [{unit}]" if unit else x
            for x, unit in zip(system.coordinates, system.units, strict=True)
        ]
        which = "those that differ most: " if len(names) > len(chosen) else ""
        lines.append(f"  {which}{', '.join(names[k] for k in chosen)}")
        for i, (q, n) in enumerate(zip(self.q[:50], self.found, strict=False)):
            shown = ", ".join(f"{q[k]:.5g}" for k in chosen)
            # below this singular value, modes meet at this configuration
            meets = "  (singular)" if self.smallest[i] < ALL_BUT_ZERO else ""
            often = "" if self.method == "homotopy" else f"  found {n} times"
            lines.append(f"  {i}  {shown}{often}{meets}")
        return "\n".join(lines)


@host_only("list the modes of numbers")
def assembly_modes(
    model,
    inputs=None,
    *,
    q=None,
    params: PyTree = None,
    starts: int = 2048,
    spread: float | None = None,
    t: float = 0.0,
    seed: int = 0,
    method: str = "auto",
) -> AssemblyModes:
    """All configurations of a mechanism at given inputs, by a homotopy for loops in the plane and
    for one body in space; otherwise those that random starts find.

    Args:
        model: a `zw.Model` with holonomic constraints, or a `zw.Mechanism` (without its drives).
        inputs: values of inputs by name, {"crank.angle": 0.3}; as many as degrees of freedom.
        q: coordinates, shape (nq,), about which starts are scattered; by default the initial
            configuration of the mechanism.
        params: parameters that differ from the model's.
        starts: number of random starts.
        spread: half the width of the box of random starts for coordinates other than angles [their
            unit]; by default 1.5 times the largest distance among such coordinates of q, and at
            least 1.5.
        t: time [s], of a model whose constraints depend on it.
        seed: of the random starts.
        method: "homotopy" for rows that are quadratic in coordinates, cosines and sines, or of one
            body in space; "starts"; "auto" uses the homotopy if it is applicable.

    Returns:
        `AssemblyModes`: `.q`, and statistics on modes that may be missing.

    Raises:
        ModelError: for unknown inputs, configurations that are not isolated, or rows that are not
            quadratic with method="homotopy".
    """
    choice(method, "assembly_modes: method", METHODS)
    starts = count(starts, "assembly_modes: starts", least=1)
    t, seed = number(t, "assembly_modes: t", unit="s"), count(seed, "assembly_modes: seed")
    subject = subject_of(model, q, params, "assembly_modes", t=t, place=False)
    inputs = {} if inputs is None else inputs
    given = mapping(inputs, "assembly_modes: inputs", '{"crank.angle": 0.3}')
    held = [
        (
            subject.quantity(name, "assembly_modes: inputs"),
            Constant(float(number(x, f"assembly_modes: input {name!r}"))),
        )
        for name, x in given.items()
    ]
    drawn = subject.mechanism and subject.mechanism.with_params(params or {})
    closed = with_inputs(subject.model, tuple(held))
    dynamics = closed.dynamics(params, Proximal())
    _refuse_loose(closed, dynamics, subject.q, t)
    if method != "starts":
        size = _spread(subject.model, subject.q, spread)
        values = tuple((x, f.value) for x, f in held)
        # inputs are passed separately: as exact angles they make rows linear and paths fewer
        plain = subject.model.dynamics(params, Proximal())
        for solver in (all_configurations, all_postures):
            found = solver(plain, values, subject.q, t, size)
            if found is not None:
                if subject.mechanism is not None:
                    own = same_senses(subject.mechanism, dynamics.p, subject.q, found.q)
                    found = found._replace(q=found.q[own])
                return _from_homotopy(closed, dynamics, found, t, drawn)
        if method == "homotopy":
            raise ModelError(
                f"{closed.name}: its rows are not quadratic in coordinates, cosines and sines, nor "
                "in the parameters of one body in space, are too many, or leave no isolated "
                'configurations; take method="starts".'
            )
    begin = _starts(subject.model, subject.q, starts, spread, np.random.default_rng(seed))
    ends = []
    for i in range(0, starts, BOXES_AT_ONCE):
        report(f"{i} of {starts} starts", i / starts)
        # the last batch is padded by repetition, because another shape would need a new compilation
        chunk = np.resize(begin[i : i + BOXES_AT_ONCE], (BOXES_AT_ONCE, begin.shape[1]))
        at, residual, _ = (np.asarray(x) for x in _solved(dynamics, chunk, np.float64(t)))
        at = np.where(residual[:, None] < RESOLVED, at, np.nan)
        ends.append(at[: len(begin[i : i + BOXES_AT_ONCE])])
    every = np.concatenate(ends)
    if subject.mechanism is not None:
        every[~same_senses(subject.mechanism, dynamics.p, subject.q, every)] = np.nan
    first, second = (x[np.isfinite(x[:, 0])] for x in np.split(every, [starts // 2]))
    known, _ = _distinct(dynamics, first, t)
    found, times = _distinct(dynamics, np.concatenate([first, second]), t)
    # both lists represent a mode of the first half by the same first start
    new = [not any(np.array_equal(x, y) for y in known) for x in found]
    held_out = len(second), int(np.sum(times[new]))
    if not len(found):
        raise ModelError(
            f"{closed.name}: no configuration was found at these inputs from {starts} starts; it "
            "may not reach them."
        )
    smallest = np.array([_smallest(dynamics, x, t) for x in found])
    # a few modes may be singular by chance; if most of them are, an input is missing
    loose = sum(rank < closed.system.nv for rank, _ in smallest)
    if loose > len(found) / 2:
        raise ModelError(
            f"{closed.name}: configurations are not isolated at these inputs: give as many inputs "
            "as degrees of freedom."
        )
    sigma = np.array([x for _, x in smallest])
    return AssemblyModes(closed, found, times, starts, sigma, "starts", 0, 0, *held_out, t, drawn)


def _refuse_loose(closed: Model, dynamics: Dynamics, q, t: float) -> None:
    """Refuse a problem whose rows and inputs are too few, before minutes are spent on the
    search.
    """
    nv = closed.system.nv
    if not closed.constraints.m:
        raise ModelError(f"{closed.name}: has no loop or other constraint that modes could meet.")
    # configurations at which the rank of rows and inputs is computed before the search
    places = np.vstack([q, _starts(closed, q, 3, None, np.random.default_rng(0))])
    rank = max(_smallest(dynamics, x, t)[0] for x in places)
    if rank < nv:
        raise ModelError(
            f"{closed.name}: configurations are not isolated at these inputs: rows and inputs are "
            f"of rank {rank} for {nv} velocities, so that inputs for {nv - rank} more are needed, "
            f"such as {closed.system.coordinates[0]!r}."
        )


def _from_homotopy(
    closed: Model, dynamics: Dynamics, found: Found, t: float, drawn: Mechanism | None
) -> AssemblyModes:
    """The real solutions, corrected on the original rows to round-off."""
    if not len(found.q):
        raise ModelError(
            f"{closed.name}: no configuration was found at these inputs: none of {found.solutions} "
            f"solutions is a real one ({found.paths} paths of a homotopy, {found.failed} failed)."
        )
    # padding to a multiple of 8 keeps shapes few, so that other inputs need no new compilation
    size = 8 * -(-len(found.q) // 8)
    filled = np.resize(found.q, (size, found.q.shape[1]))
    solved = (np.asarray(x) for x in _solved(dynamics, filled, np.float64(t)))
    at, residual, before = (x[: len(found.q)] for x in solved)
    # squared distances have additional solutions at which the distances themselves are not met
    own = before < ALIKE * (1 + np.max(np.abs(found.q)))
    kept = own & (residual < RESOLVED)
    q, times = _distinct(dynamics, at[kept], t)
    if not len(q):
        raise ModelError(
            f"{closed.name}: no configuration was found at these inputs: none of "
            f"{found.solutions} solutions is a real one."
        )
    failed = found.failed + int(np.sum(own & ~kept))
    smallest = np.array([_smallest(dynamics, x, t)[1] for x in q])
    return AssemblyModes(
        closed,
        q,
        times,
        found.paths,
        smallest,
        "homotopy",
        found.solutions,
        failed,
        t=t,
        mechanism=drawn,
    )


def _starts(model: Model, q, count: int, spread, random) -> np.ndarray:
    """Random configurations: angles over a turn, uniform attitudes, the rest in a box about q."""
    system, size = model.system, _spread(model, q, spread)
    angle = np.array([u == "rad" for u in system.units])
    begin = np.asarray(q) + size * random.uniform(-1, 1, (count, system.nq))
    begin[:, angle] = random.uniform(-np.pi, np.pi, (count, int(angle.sum())))
    return real_array(begin, "assembly_modes: starts")


def _spread(model: Model, q, spread) -> float:
    """Half the size of the box for coordinates other than angles."""
    if spread is not None:
        return float(number(spread, "assembly_modes: spread", above=0.0, most=LARGEST_SIZE))
    # the initial positions of the bodies show the size of a mechanism
    own = np.asarray(q)[[u != "rad" for u in model.system.units]]
    return 1.5 * max(float(np.ptp(own)) if len(own) else 0.0, 1.0)


@program
def _solved(dynamics: Dynamics, begin, t):
    """Newton's iteration from many starts; q, and the residuals after and before the iteration."""
    return over_rows(lambda q: _one(dynamics, q, t))(begin)


def _one(dynamics: Dynamics, q, t):
    # normalize quaternions to unit length
    q = dynamics.system.move(q, jnp.zeros(dynamics.system.nv), t, dynamics.p)
    given = rows_at(dynamics, t)

    def rows(q):
        A, r = given(q)
        # rows of unit length, so that one tolerance applies to angles and lengths
        length = jnp.maximum(jnp.linalg.norm(A, axis=1), 1e-8)
        return A / length[:, None], r / length

    before = jnp.max(jnp.abs(rows(q)[1]))
    # damped steps of at most one radian or unit of length lead each start to a nearby mode
    q = newton(dynamics, rows, q, t, 60, longest=1.0, solve=damped)
    residual = jnp.max(jnp.abs(rows(q)[1]))
    return q, jnp.where(jnp.isfinite(residual), residual, jnp.inf), before


def _distinct(dynamics: Dynamics, q: np.ndarray, t) -> tuple[np.ndarray, np.ndarray]:
    """Distinct configurations, and how often each was found."""
    angle = np.array([u == "rad" for u in dynamics.system.units], bool)
    return distinct(q, angle, attitudes(dynamics, t))


def _smallest(dynamics: Dynamics, q, t) -> tuple[int, float]:
    """Rank of the rows of unit length, and their nv-th singular value."""
    c, nv = dynamics.constraints, dynamics.system.nv
    A = np.asarray(c.matrix(jnp.asarray(q), jnp.zeros(nv), jnp.asarray(t), dynamics.p))
    rows = dense_metric(np.ones(nv)).rows(A)
    if len(A) < nv:
        return len(A), 0.0
    return rows.rank, float(rows.split.singular_values[nv - 1])
