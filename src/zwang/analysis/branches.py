"""The branches of motion through a singular configuration, by second-order analysis.

Each tangent (`zwang.dynamics.tangent_cone`) is tested: points at two small distances along it must
stay near it when they are projected onto the constraints.
"""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
from jaxtyping import PyTree

from zwang.algebra.pseudoinverse.proximal import Proximal
from zwang.analysis.result import with_unit
from zwang.analysis.subject import subject_of
from zwang.dynamics.consistent_state import consistent_state
from zwang.dynamics.equation_of_motion import Dynamics
from zwang.dynamics.evaluation import moved
from zwang.dynamics.initial_conditions import PlacementError
from zwang.dynamics.model import Model
from zwang.dynamics.tangent_cone import TangentCone, tangent_cone
from zwang.equations.state import State
from zwang.errors import ModelError
from zwang.inputs.arguments import host_only, instance, number
from zwang.inputs.arrays import vector
from zwang.inputs.call import misfits_named
from zwang.inputs.text import counted
from zwang.plots import Curve as Line
from zwang.plots import Panel, Picture
from zwang.plots.script import opens_in_scripts
from zwang.simulation.results import Run
from zwang.thresholds import ALL_BUT_ZERO, DERIVED, SHORT_WAY


@dataclasses.dataclass(frozen=True)
class Branch:
    """One branch of motion.

    Attributes:
        tangent: velocities along it, shape (nv,), with kinetic energy ½ in the model's units; the
            branch also runs along −tangent.
        verified: True if points along it, on at least one side, lie on the constraints.
        error: distance by which the projection moves these points, relative to their distance from
            q.
    """

    tangent: np.ndarray
    verified: bool
    error: float

    def __repr__(self) -> str:
        # the six largest velocities are enough to distinguish branches
        largest = sorted(np.argsort(-np.abs(self.tangent))[:6])
        shown = ", ".join(f"v[{i}] = {self.tangent[i]:+.4g}" for i in largest)
        kept = "verified" if self.verified else "not verified"
        return f"Branch({kept}; largest along it: {shown})"


@dataclasses.dataclass(frozen=True)
class Branches:
    """The branches through a configuration; `str()` prints them.

    Attributes:
        model, params: the model and its parameters.
        q, t: the configuration.
        branches: a `Branch` each; empty if the tangents form a continuum.
        cone: the tangents by second-order analysis.
    """

    model: Model
    params: PyTree
    q: np.ndarray
    t: float
    branches: tuple[Branch, ...]
    cone: TangentCone

    @property
    def rank(self) -> int:
        """Rank of A there."""
        return self.cone.rank

    @property
    def freedom(self) -> int:
        """Dimension of ker A."""
        return self.model.system.nv - self.rank

    @property
    def isolated(self) -> bool:
        """True if there are finitely many tangents."""
        return self.cone.isolated

    def __len__(self) -> int:
        return len(self.branches)

    def __getitem__(self, i: int) -> Branch:
        return self.branches[i]

    def taken(self, v) -> tuple[int, float]:
        """Index of the branch that a velocity belongs to, and the angle between them in the mass
        metric [rad].

        Args:
            v: velocities, shape (nv,), not zero.
        """
        v = np.asarray(vector(v, self.model.system.nv, "v"))
        if not self.branches or not np.any(v):
            raise ModelError("branches: a velocity of zero, or no isolated branch, to compare.")
        return self.cone.taken(v)

    def start(self, i: int, *, energy: float = 0.5, backward: bool = False) -> State:
        """The state that leaves along a branch, for `zw.simulate`.

        Args:
            i: index of the branch.
            energy: kinetic energy [J].
            backward: leave along −tangent.
        """
        energy = number(energy, "Branches.start: energy", least=0.0)
        v = np.sqrt(2 * energy) * self.branches[i].tangent * (-1 if backward else 1)
        return self.model.state(self.q, v, self.t)

    @opens_in_scripts
    def plot(self, x: int | None = None, y: int | None = None) -> Picture:
        """Plot the tangents as lines through the configuration, in two velocities given by index;
        by default in those in which they differ most.
        """
        system = self.model.system
        x, y = self._apart() if x is None or y is None else (x, y)
        names = list(map(with_unit, system.velocities, system.velocity_units))
        lines = [
            Line(
                np.array([-1.0, 1.0]) * b.tangent[x],
                np.array([-1.0, 1.0]) * b.tangent[y],
                f"branch {i}",
            )
            for i, b in enumerate(self.branches)
        ]
        title = f"{self.model.name}: branches"
        return Picture([Panel(lines, names[y])], names[x], title, height=3.5, equal=True)

    def _apart(self) -> tuple[int, int]:
        """Two velocities in which the smallest angle between two tangents is largest."""
        nv, best = self.model.system.nv, (-1.0, 0, min(1, self.model.system.nv - 1))
        tangents = np.array([b.tangent for b in self.branches]).reshape(-1, nv)
        # lengths and angles have no common scale, so only velocities of one unit are compared
        moving = [i for i in range(nv) if np.ptp(np.abs(tangents[:, i]), axis=0) > ALL_BUT_ZERO]
        # at most 60 velocities are searched for the pair that distinguishes branches best
        for i, j in itertools.combinations(moving[:60], 2):
            if self.model.system.velocity_units[i] != self.model.system.velocity_units[j]:
                continue
            flat = tangents[:, [i, j]]
            size = np.linalg.norm(flat, axis=1)
            if np.min(size) < ALL_BUT_ZERO:
                continue
            unit = flat / size[:, None]
            across = np.outer(unit[:, 0], unit[:, 1])
            cross = np.abs(across - across.T)  # sines of the angles between them
            least = float(np.min(cross + np.eye(len(unit)) * 2, initial=2.0))
            best = max(best, (least, i, j))
        return best[1], best[2]

    def __str__(self) -> str:
        names = self.model.system.velocities
        rows = [
            f"{self.model.name}: rank {self.rank}, {counted(self.freedom, 'direction')} of "
            "velocity, "
            + (counted(len(self), "branch", "es") if self.isolated else "a continuum of tangents")
        ]
        for i, x in enumerate(self.branches):
            order = np.argsort(-np.abs(x.tangent))[:5]
            shown = [
                f"{names[j]} {x.tangent[j]:+.4g}" for j in order if abs(x.tangent[j]) > DERIVED
            ]
            sure = "" if x.verified else "  (second order only: no motion found along it)"
            rows.append(f"  {i}  {', '.join(shown)}{sure}")
        return "\n".join(rows)

    __repr__ = __str__


@host_only("call it outside of them, with the numbers of one configuration")
def branches(model, q=None, t=0.0, *, params: PyTree = None) -> Branches:
    """The branches of motion through a configuration at which rows of constraints lose rank.

    Args:
        model: a `zw.Model` with holonomic constraints, or a `zw.Mechanism`.
        q: the configuration, shape (nq,), on the constraints to about 1e-9.
        t: time [s].
        params: parameters that differ from the model's.

    Returns:
        `Branches`: `[i].tangent`, `.taken(v)`, `.start(i)`; can be printed and plotted. At a
        regular configuration with one degree of freedom there is one branch.

    Raises:
        ModelError: for constraints that are not holonomic, or a q that does not satisfy them.
    """
    subject = subject_of(model, q, params, "branches", t=t)
    model, q = subject.model, subject.q
    dynamics = model.dynamics(params, Proximal())
    cone = tangent_cone(dynamics, q, t)
    found = [_tried(model, dynamics, q, t, v, params) for v in cone.tangents]
    return Branches(model, params, q, float(t), tuple(found), cone)


def _tried(model: Model, dynamics: Dynamics, q, t, v: np.ndarray, params) -> Branch:
    """Test a tangent at two distances on both sides."""
    # distance along a tangent at which it is tested: 0.02 m or rad of its largest coordinate
    reach, errors = 0.02 / max(np.max(np.abs(v)), 1e-300), []
    for sign in (1, -1):
        pair = []
        for distance in (reach, reach / 2):
            near = moved(dynamics, q, sign * distance * v, t)
            try:
                placed = consistent_state(model, near, t=t, params=params)
            except PlacementError:
                pair.append(np.inf)
                continue
            off = np.asarray(placed.state.q) - near
            pair.append(float(np.max(np.abs(off))) / (distance * np.max(np.abs(v))))
        # the error decreases like the square of the distance on a tangent, otherwise like the
        # distance
        errors.append(pair[0] if pair[1] < 0.7 * pair[0] or pair[1] < DERIVED else np.inf)
    error = min(errors)
    return Branch(v, error < 0.3, error)


# --- the branch that a run takes


@dataclasses.dataclass(frozen=True)
class Passage:
    """A run's passage through a singular configuration.

    Attributes:
        time: instant of the passage [s].
        branches: the branches through the configuration.
        before, after: indices of the branches on which the run arrives and leaves.
        angle: the larger of the angles between velocity and branch before and after, in the mass
            metric [rad].
    """

    time: float
    branches: Branches
    before: int
    after: int
    angle: float

    @property
    def changed(self) -> bool:
        """True if the run leaves on another branch."""
        return self.before != self.after

    def __str__(self) -> str:
        what = f"changed from branch {self.before} to" if self.changed else "stayed on branch"
        return f"t = {self.time:.6f} s: {what} {self.after} of {len(self.branches)}"

    __repr__ = __str__


@misfits_named
def passages(run: Run) -> list[Passage]:
    """The branch that a run takes at each of its singular configurations, determined from its
    velocities.

    Args:
        run: a run of `zw.simulate` for a model with holonomic constraints.
    """
    instance(run, Run, "passages: run", "a run of zw.simulate")
    found = []
    for crossing in run.crossings:
        t = crossing.time
        there = branches(run.model.passive, run.at(t)[0], t, params=run.flow.dynamics.p)
        if not there.branches:
            continue
        span = SHORT_WAY * float(run.t[-1] - run.t[0])
        ends = max(t - span, float(run.t[0])), min(t + span, float(run.t[-1]))
        (before, one), (after, other) = (there.taken(run.at(s)[1]) for s in ends)
        found.append(Passage(t, there, before, after, max(one, other)))
    return found
