"""The workspace of a mechanism on one branch, with its conditioning and singularities."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Generic, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import PyTree

from zwang.algebra.decomposition import conditioning
from zwang.algebra.pseudoinverse.proximal import Proximal
from zwang.analysis.result import AbstractResult, dataset_of, with_unit
from zwang.analysis.subject import Quantity, Subject, subject_of
from zwang.analysis.workspace_fill import Edges, Grid, Held, edge_inputs, filled, nearby
from zwang.dynamics.equation_of_motion import Dynamics
from zwang.dynamics.model import Model
from zwang.equations.constraint.units import MODEL_UNITS
from zwang.errors import ModelError
from zwang.inputs.arguments import count, host_only, mapping, number, real_array, refuse
from zwang.inputs.arrays import AnyArray
from zwang.plots import Curve as Line
from zwang.plots import Panel, Picture
from zwang.plots.script import opens_in_scripts

if TYPE_CHECKING:
    import xarray as xr

LEVELS = (0.0, 0.1, 0.25, 0.5, 0.75, 1.0)
"""Bounds of the classes of conditioning in a picture."""
COLORS = ("#d55e00", "#e69f00", "#f0e442", "#56b4e9", "#0072b2")
"""Colors of these classes, from nearly singular to isotropic."""
MOST_PLACES = 200_000
"""Largest number of grid points."""


class Moved(NamedTuple, Generic[AnyArray]):
    """A workspace at other parameters.

    Attributes:
        places: the positions of the point at the reached grid points, shape (k, d).
        conditioning: the conditioning there, shape (k,).
    """

    places: AnyArray
    conditioning: AnyArray


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Workspace(AbstractResult):
    """The workspace of a mechanism over a grid of its inputs; `str()` prints a summary.

    Attributes:
        model: the model.
        names, units: of the inputs.
        axes: values of each input, arrays of lengths n₁, n₂ …
        point, point_unit: name and unit of the moving point.
        reached: mask of the grid points that the branch of the start reaches, shape (n₁, n₂, …).
        q: coordinates there, NaN elsewhere, shape (n₁, …, nq).
        places: positions of the point there, shape (n₁, …, d).
        conditioning: ratio of the smallest to the largest singular value of the derivative of the
            point by the inputs, in their units: 1 if it moves equally in all directions, 0 if it
            loses one.
        orientation: sign of the determinant of that derivative, if it is square.
        smallest: smallest singular value of the rows of unit length with the inputs locked, 0 if
            the mechanism can still move.
        edges: edges of the grid that contain `boundary` and `lost`.
        grid: the equations that are solved at the grid points.
    """

    model: Model
    names: tuple[str, ...]
    units: tuple[str, ...]
    axes: tuple[np.ndarray, ...]
    point: str
    point_unit: str
    reached: np.ndarray
    q: np.ndarray
    places: np.ndarray
    conditioning: np.ndarray
    orientation: np.ndarray
    smallest: np.ndarray
    edges: tuple[Edges, Edges]
    grid: Grid

    @property
    def boundary(self) -> tuple[np.ndarray, np.ndarray]:
        """Inputs and positions on the boundary of the reached region inside the grid, shapes (k,
        inputs) and (k, d): singularities of the second kind.
        """
        return self.edges[0].u, self.edges[0].place

    @property
    def lost(self) -> tuple[np.ndarray, np.ndarray]:
        """Inputs and positions at which the point loses a direction, with the same shapes:
        singularities of the first kind.
        """
        return self.edges[1].u, self.edges[1].place

    def moved(self, params: PyTree) -> Moved:
        """Positions and conditioning at the reached inputs as functions of parameters; inside
        `jax.grad` and `jit`. Values and first derivatives are exact at the parameters of this
        result.

        Args:
            params: as in `zw.analysis.workspace`.
        """
        grid = dataclasses.replace(self.grid, dynamics=self._dynamics(params))
        inputs = np.stack(np.meshgrid(*self.axes, indexing="ij"), axis=-1)
        found = nearby(grid, self.q[self.reached], inputs[self.reached])
        return Moved(found.place, jax.vmap(conditioning)(found.slope))

    def boundary_inputs(self, params: PyTree) -> Array:
        """The inputs of `boundary` as a function of parameters, each along its edge of the grid, as
        `moved`, shape (k, inputs).
        """
        return edge_inputs(self.grid, self.edges[0], True, self._dynamics(params))

    def lost_inputs(self, params: PyTree) -> Array:
        """The inputs of `lost`, as `boundary_inputs`."""
        return edge_inputs(self.grid, self.edges[1], False, self._dynamics(params))

    def _dynamics(self, params: PyTree) -> Dynamics:
        return self.model.dynamics(params, Proximal())

    @property
    def share(self) -> float:
        """Fraction of the grid that is reached."""
        return float(np.mean(self.reached))

    @cached_property
    def extent(self) -> np.ndarray:
        """Least and greatest coordinate of the point, shape (2, d)."""
        seen = self.places[self.reached]
        return np.array([seen.min(axis=0), seen.max(axis=0)])

    @property
    def dataset(self) -> xr.Dataset:
        """The grid with all quantities by name."""
        names = [x.replace("/", "_") for x in self.names]
        coords: dict = {
            name: (name, axis, {"units": unit or MODEL_UNITS})
            for name, axis, unit in zip(names, self.axes, self.units, strict=True)
        }
        coords["axis"] = list("xyz"[: self.places.shape[-1]])
        data: dict = {
            "reached": (names, self.reached),
            "q": ([*names, "coordinate"], self.q),
            "place": ([*names, "axis"], self.places, {"units": self.point_unit or MODEL_UNITS}),
            "conditioning": (names, self.conditioning),
            "smallest_singular_value": (names, self.smallest),
        }
        for what, (inputs, places) in (("boundary", self.boundary), ("lost", self.lost)):
            data[f"{what}_input"] = ((what, "input"), inputs)
            data[f"{what}_place"] = ((what, "axis"), places)
        return dataset_of(self.model, data, coords, point=self.point)

    @opens_in_scripts
    def plot(self, axes: tuple[int, int] = (0, 1)) -> Picture:
        """Plot the reached positions, colored by conditioning, with singularities of both kinds;
        `axes` selects two axes of space.
        """
        i, j = axes
        labels = [with_unit("xyz"[k], self.point_unit) for k in axes]
        lines = self._classes(self.places[..., i], self.places[..., j])
        for (_, places), name, color in self._singular():
            if len(places):
                lines.append(_spots(places[:, i], places[:, j], name, color))
        panel = Panel(lines, labels[1])
        title = f"{self.model.name}: what {self.point} reaches"
        return Picture([panel], labels[0], title, height=4.5, equal=True)

    @opens_in_scripts
    def plot_inputs(self) -> Picture:
        """Plot the same over the first two inputs; with a single input, plot the conditioning over
        it.
        """
        labels = [with_unit(*x) for x in zip(self.names, self.units, strict=True)]
        title = f"{self.model.name}: {self.point}"
        if len(self.axes) == 1:
            panel = Panel([Line(self.axes[0], self.conditioning)], "conditioning [1]")
            return Picture([panel], labels[0], title)
        grid = np.meshgrid(*self.axes, indexing="ij")
        lines = self._classes(grid[0], grid[1])
        for (inputs, _), name, color in self._singular():
            if len(inputs):
                lines.append(_spots(inputs[:, 0], inputs[:, 1], name, color))
        panel = Panel(lines, labels[1])
        return Picture([panel], labels[0], title, height=4.5)

    def _singular(self):
        return (
            (self.boundary, "boundary (second kind)", "#1f2328"),
            (self.lost, "direction lost (first kind)", "#8250df"),
        )

    def _classes(self, x: np.ndarray, y: np.ndarray) -> list[Line]:
        lines = []
        for low, high, color in zip(LEVELS, LEVELS[1:], COLORS, strict=False):
            own = self.reached & (self.conditioning >= low) & (self.conditioning <= high)
            if np.any(own):
                lines.append(_spots(x[own], y[own], f"conditioning {low:g} to {high:g}", color, 3))
        return lines

    def __str__(self) -> str:
        low, high = self.extent
        span = ", ".join(
            f"{'xyz'[i]} {a:.4g} to {b:.4g}" for i, (a, b) in enumerate(zip(low, high, strict=True))
        )
        seen = self.conditioning[self.reached]
        best = np.unravel_index(np.nanargmax(self.conditioning), self.conditioning.shape)
        at = ", ".join(
            f"{name} = {axis[i]:.4g}"
            for name, axis, i in zip(self.names, self.axes, best, strict=True)
        )
        return (
            f"{self.model.name}: {int(self.reached.sum())} of {self.reached.size} places of "
            f"{' and '.join(self.names)} reached on this branch\n"
            f"  {self.point:<17} {span} {self.point_unit}\n"
            f"  conditioning      {seen.min():.3g} to {seen.max():.3g}, best at {at}\n"
            f"  second kind       {len(self.boundary[0])} places on the boundary, where the "
            "mechanism can move with its inputs held\n"
            f"  first kind        {len(self.lost[0])} places where the point loses a direction"
        )


def _spots(x, y, label: str, color: str, size: float = 4.0) -> Line:
    return Line(x, y, label, color=color, width=0.0, marker="s", size=size)


@host_only("map the workspace once, with numbers")
def workspace(
    model,
    inputs: Mapping,
    point,
    *,
    q=None,
    params: PyTree = None,
    samples: int = 61,
    t: float = 0.0,
) -> Workspace:
    """The positions that a point of a mechanism reaches over a grid of inputs, on the branch of a
    start.

        φ(q) = 0,   x(q) = u,   u in a grid;    J = ∂(point)/∂u

    The grid is filled from the start outward, by Newton's iteration from a neighbor's
    configuration. A step across a singular configuration, which would change the orientation of the
    rows, is rejected, so that the map belongs to one branch. If a neighbor cannot be reached, the
    boundary on the edge between is located by bisection.

    Args:
        model: a `zw.Model` with holonomic constraints, or a `zw.Mechanism` (without its drives).
        inputs: range of each input by name, {"left.angle": (0, 3.1), "right.angle": (0, 3.1)}, or
            all values, increasing; as many inputs as degrees of freedom.
        point: the moving point: "body.point" of a mechanism, a body, a function `(q, t, p)`, or a
            list of names of coordinates.
        q: a configuration on the desired branch; by default the initial configuration of a
            mechanism.
        params: parameters that differ from the model's.
        samples: number of values of each input if only two are given.
        t: time [s], of a model whose constraints depend on it.

    Returns:
        A `Workspace`: `.places`, `.conditioning`, `.boundary`, `.lost`; can be printed, plotted and
        saved.

    Raises:
        ModelError: for unknown names, a number of inputs that does not fit the degrees of freedom,
            a grid that is too large, or a start outside all ranges.

    Reference: Gosselin and Angeles (1990), IEEE Trans. Robot. Autom. 6, 281-290 (kinds of
        singularities).
    """
    t = number(t, "workspace: t", unit="s")
    subject = subject_of(model, q, params, "workspace", t=t)
    given = mapping(inputs, "workspace: inputs", '{"left.angle": (0.0, 3.1)}')
    if not given:
        raise ModelError("workspace: inputs is empty, expected the range of each input by name.")
    quantities = tuple(subject.quantity(name, "workspace: inputs") for name in given)
    axes = tuple(_axis(name, x, samples) for name, x in given.items())
    if np.prod([len(x) for x in axes]) > MOST_PLACES:
        raise ModelError(
            f"workspace: the grid has {np.prod([len(x) for x in axes])} places, more than "
            f"{MOST_PLACES}; take fewer samples."
        )
    where = _point(subject, point)
    # inputs are parameters of `Held`, not constraints
    dynamics = subject.model.dynamics(params, Proximal())
    grid = Grid(dynamics, tuple(Held(x, i) for i, x in enumerate(quantities)), where.value, t)
    return Workspace(
        subject.model,
        tuple(x.name for x in quantities),
        tuple(x.unit for x in quantities),
        axes,
        where.name,
        where.unit,
        *filled(grid, axes, subject.q, subject.model.name),
        grid,
    )


def _axis(name: str, given, samples: int) -> np.ndarray:
    values = np.asarray(real_array(given, f"workspace: the range of {name!r:.60}"))
    if values.ndim != 1 or len(values) < 2 or not np.all(np.diff(values) > 0):
        raise ModelError(
            f"workspace: the range of {name!r:.60} is expected to be its first and its last value, "
            "or all values, increasing."
        )
    if len(values) > 2:
        return values
    return np.linspace(values[0], values[1], count(samples, "workspace: samples", least=2))


def _point(subject: Subject, given) -> Quantity:
    """A position, or several coordinates as one quantity."""
    if not isinstance(given, (list, tuple)):
        return subject.point(given, "workspace: point")
    if not given:
        refuse("workspace: point", given, "a place, or the names of coordinates")
    parts = [subject.quantity(x, "workspace: point") for x in given]
    value = lambda q, t, p: jnp.stack([x.value(q, t, p) for x in parts])
    return Quantity(", ".join(x.name for x in parts), value, parts[0].unit)
