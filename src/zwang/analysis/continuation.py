"""`zw.continuation`: equilibria and steady motions followed in a parameter, through folds and
branch points.

With unknowns x = (y, γ, s) a branch is a curve r(x) = 0. It is followed by its arc length:
predicted along the tangent, corrected at right angles to it, so that a fold, where s turns round,
is a point like any other. Where an eigenvalue of the linearization passes through zero, the lowest
coefficient of its characteristic polynomial that is not zero throughout changes sign: at a fold if
the tangent's part along s does so too, else at a branch point.

Reference: Allgower and Georg (2003), Introduction to Numerical Continuation Methods, chapters 6-8.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
import scipy.optimize
from jaxtyping import PyTree

from zwang.analysis.branch import Branch, Place
from zwang.analysis.equilibrium import Equilibrium, as_equilibrium, balanced_start
from zwang.arguments import count, host_only, instance, known, listed, number
from zwang.dynamics.model import Model
from zwang.errors import ModelError

if TYPE_CHECKING:
    import xarray as xr

    from zwang.plots import Picture


@dataclasses.dataclass(frozen=True, eq=False)
class SpecialPoint:
    """A fold or a branch point.

    Attributes:
        kind: "fold" or "branch point".
        value: the parameter there.
        q, v: the state.
        tangents: directions of the branches through it, each a pair of dq, shape (nq,), and the
            change of the parameter; of a fold its one tangent.
    """

    kind: str
    value: float
    q: np.ndarray
    v: np.ndarray
    tangents: tuple[tuple[np.ndarray, float], ...]

    def __str__(self) -> str:
        return f"{self.kind} at {self.value:.12g}"


@dataclasses.dataclass(frozen=True, eq=False)
class Continuation:
    """A branch of equilibria or steady motions; `str()` prints it.

    Attributes:
        model, over: the model and the name of the parameter or velocity.
        points: an `Equilibrium` each, in the order in which they were found.
        values: the parameter at each.
        stable: whether each is stable, by its eigenvalues.
        eigenvalues: of the linearization at each, symmetries left out, shape (points, n).
        special: folds and branch points, in order.
    """

    model: Model
    over: str
    points: tuple[Equilibrium, ...]
    values: np.ndarray
    stable: np.ndarray
    eigenvalues: np.ndarray
    special: tuple[SpecialPoint, ...]

    @property
    def folds(self) -> tuple[SpecialPoint, ...]:
        return tuple(x for x in self.special if x.kind == "fold")

    @property
    def branch_points(self) -> tuple[SpecialPoint, ...]:
        return tuple(x for x in self.special if x.kind == "branch point")

    @property
    def q(self) -> np.ndarray:
        """Coordinates, shape (points, nq)."""
        return np.array([point.q for point in self.points])

    @property
    def v(self) -> np.ndarray:
        """Velocities, shape (points, nv)."""
        return np.array([point.v for point in self.points])

    @property
    def dataset(self) -> xr.Dataset:
        """The branch, with the parameter along it, and its special points."""
        import xarray as xr

        system = self.model.system
        data = {
            self.over if self.over not in ("q", "v") else f"parameter {self.over}": (
                "point",
                self.values,
            ),
            "q": (("point", "coordinate"), self.q),
            "v": (("point", "velocity"), self.v),
            "stable": ("point", self.stable),
            "eigenvalues_real": (("point", "eigenvalue"), np.real(self.eigenvalues)),
            "eigenvalues_imaginary": (("point", "eigenvalue"), np.imag(self.eigenvalues)),
            "special_value": ("special", np.array([x.value for x in self.special])),
            "special_kind": ("special", np.array([x.kind for x in self.special], dtype=str)),
        }
        names = {"coordinate": list(system.coordinates), "velocity": list(system.velocities)}
        return xr.Dataset(data, names, {"model": self.model.name, "over": self.over})

    def save(self, path: Path | str) -> Path:
        """Write `dataset` as NetCDF (`.nc`)."""
        from zwang.analysis.saving import save

        return save(self.dataset, path)

    def plot(self, *coordinates: str) -> Picture:
        """Coordinates over the parameter, unstable parts dashed, special points marked.

        Args:
            coordinates: names; those that vary if left out, four at most.
        """
        from zwang.analysis.pictures import branch_picture

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
            lines.append(f"  {x}, tangents: {', '.join(along)} (dq of length one)")
        return "\n".join(lines)


@host_only("follow the branch before, at the numbers of one model")
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
        q: a start near a balance, at the present value of the parameter.
        over: name of a parameter that is a number, or of a velocity that a steady motion has.
        to: the range of the parameter, (lowest, highest): the branch is followed towards the
            farther end first, through folds, until it leaves the range.
        v, t, params, hold: as in `zw.equilibrium`.
        tangent: direction to start in, as of `SpecialPoint.tangents`; without it the parameter
            moves towards the farther end of the range.
        step: length of a step: of a change of coordinates by their own size, or of the parameter
            by the range.
        points: most points.

    Raises:
        ModelError: if the start does not balance, or if a steady motion belongs to a family that
            one parameter does not follow (`hold` velocities).

    Example:
        >>> branch = zw.continuation(model, q=[0.0], over="speed", to=(1.0, 6.0))
        >>> print(branch.branch_points[0].value)
    """
    instance(model, Model, "continuation: model", "a zw.Model")
    limits = listed(to, "to", "two numbers, the lowest and the highest value")
    if len(limits) != 2:
        raise ModelError(f"to has {len(limits)} numbers, expected the lowest and the highest.")
    low, high = sorted(number(x, "an entry of to") for x in limits)
    number(step, "step", above=0)
    count(points, "points", least=2)
    # the start is balanced at its own value of the parameter first
    problem, at = balanced_start(model, q, v, t, params, hold, over)
    branch = Branch.begin(problem, at, over, (low, high), step, tangent)
    places, special = [branch.place(at)], []
    for _ in range(points - 1):
        new = branch.following(places[-1])
        if new is None:
            break
        places.append(new)
        # what is constant along the branch is known from two points on, and is then left out of the
        # test
        if len(places) == 2:
            branch = branch.knowing(places)
        found = _between(branch, places[-2], new)
        if found is not None:
            special.append(found)
        # the point beyond the range is kept, so that a special point just before it is found
        if not low <= new.value <= high:
            break
    made = [as_equilibrium(model, problem, x.point, params) for x in places]
    return Continuation(
        model,
        over,
        tuple(made),
        np.array([x.value for x in places]),
        np.array([x.stable for x in places]),
        np.array([x.eigenvalues for x in places]),
        tuple(special),
    )


def _between(branch: Branch, before: Place, after: Place) -> SpecialPoint | None:
    """The fold or branch point between two neighbors, if there is one."""
    passes = np.sign(branch.test(before)) != np.sign(branch.test(after))
    turns = np.sign(before.tangent_value) != np.sign(after.tangent_value)
    if not (passes or turns):
        return None
    # where an eigenvalue passes zero this is the sharper function: a fold is only where the
    # parameter turns
    measure = branch.test if passes else (lambda place: place.tangent_value)
    found: dict[float, Place] = {}

    def at_length(h: float) -> float:
        place = before if h == 0 else branch.corrected(before, h * after.length)
        if place is None:  # Newton's method fails beside a branch point at most
            return float(measure(before) + h * (measure(after) - measure(before)))
        found[h] = place
        return measure(place)

    if np.sign(at_length(0.0)) == np.sign(at_length(1.0)):
        return None
    root = cast(
        float, scipy.optimize.brentq(at_length, 0.0, 1.0, xtol=1e-13, rtol=np.float64(1e-14))
    )
    at = found.get(root, before)
    # where s turns and no eigenvalue passes, another branch goes through
    kind = "fold" if passes and turns else "branch point"
    tangents = (branch.direction(at, at.tangent),) if kind == "fold" else branch.tangents(at)
    return SpecialPoint(kind, at.value, at.point.q, at.point.v, tangents)
