"""The result of `zw.analysis.kinematics`: a table over the input that can be printed, plotted and
saved.
"""

from __future__ import annotations

import dataclasses
from functools import cached_property
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import PyTree

from zwang.algebra.pseudoinverse.proximal import Proximal
from zwang.analysis.curve import Curve, Frame
from zwang.analysis.moving_mechanism import (
    Moving,
    closed,
    moving,
    over_input,
    over_output,
    rows_and_rates,
)
from zwang.analysis.path import Limit, Meeting
from zwang.analysis.result import TABLES, AbstractResult, dataset_of, with_unit
from zwang.analysis.sensitivity import last_direction, near_fold
from zwang.analysis.subject import Quantity, quantity_rates
from zwang.compile.compatibility import outside_of_programs
from zwang.dynamics.equation_of_motion import Dynamics
from zwang.dynamics.model import Model
from zwang.equations.constraint.units import MODEL_UNITS, per_second
from zwang.inputs.text import unit_of_rate
from zwang.plots import Curve as Line
from zwang.plots import Mark, Panel, Picture
from zwang.plots.script import opens_in_scripts
from zwang.simulation.results.units import SEE

if TYPE_CHECKING:
    import xarray as xr


@dataclasses.dataclass(frozen=True)
class Watched:
    """Rate of a quantity along the tangent of a curve. Its zeros are the dead points of the
    quantity.
    """

    quantity: Quantity
    curve: Curve

    def __call__(self, point: Frame) -> float:
        dynamics, still = self.curve.dynamics, np.zeros(len(point.tangent) - 1)
        along = point.tangent * self.curve.scale
        moved = quantity_rates(self.quantity, dynamics, point.q, along[:-1], still, point.t)[1]
        alone = quantity_rates(self.quantity, dynamics, point.q, still, still, point.t)[1]
        return float(moved - alone + along[-1] * alone)


@dataclasses.dataclass(frozen=True)
class Trace:
    """A quantity over the samples: a number, shape (n,), or a position, shape (n, d), with its rate
    and acceleration.
    """

    name: str
    unit: str
    value: np.ndarray
    rate: np.ndarray
    acceleration: np.ndarray

    def __repr__(self) -> str:
        ends = zip(
            np.atleast_1d(np.nanmin(self.value, axis=0)),
            np.atleast_1d(np.nanmax(self.value, axis=0)),
            strict=True,
        )
        shown = ", ".join(f"{low:.6g} to {high:.6g} {self.unit}".rstrip() for low, high in ends)
        return f"Trace({self.name}: {shown} over {len(self.value)} samples)"


@dataclasses.dataclass(frozen=True, repr=False)
class Kinematics(AbstractResult):
    """Configurations of a mechanism over its input, on one branch; `str()` prints a summary.

    Attributes:
        model: the model with its input as a constraint.
        params: parameters that differ from the model's.
        input_name, input_unit: of the input.
        rate: rate of the input [unit/s].
        input: values of the input, shape (n,).
        q, v, a: coordinates, velocities and accelerations, shapes (n, nq), (n, nv), (n, nv).
        outputs, traces: the requested quantities and points, a `Trace` each.
        transmission: transmission angle [rad], shape (n,), or None.
        limits: limit positions, where the input turns back (singularities of the second kind: the
            mechanism can move while the input is locked).
        dead_points: by output, the pairs of input and q at which the output's rate vanishes
            (singularities of the first kind: the output cannot drive the input).
        singular: singular configurations, where branches may meet.
        certified: True if every step between singular configurations is proved to stay on its
            branch.
        steps: number of certified steps.
        ended: reason why the path ended: "range", "limit", "singular", "closed" or "lost".
        quantities: the functions of `outputs`.
    """

    model: Model
    params: PyTree
    input_name: str
    input_unit: str
    rate: float
    input: np.ndarray
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    outputs: tuple[Trace, ...]
    limits: tuple[Limit, ...]
    dead_points: dict[str, tuple[tuple[float, np.ndarray], ...]]
    singular: tuple[Meeting, ...]
    certified: bool
    steps: int
    ended: str
    transmission: np.ndarray | None = None
    traces: tuple[Trace, ...] = ()
    quantities: tuple[Quantity, ...] = dataclasses.field(default=(), repr=False)

    def output(self, name: str) -> Trace:
        """An output or a traced point by name."""
        return next(x for x in (*self.outputs, *self.traces) if x.name == name)

    @property
    def mechanical_advantage(self) -> dict[str, np.ndarray]:
        """Force on each output divided by force on the input, without friction and inertia: the
        ratio of input rate to output rate, shape (n,); infinite at a dead point.
        """
        with np.errstate(divide="ignore"):
            return {x.name: self.rate / x.rate for x in self.outputs if x.rate.ndim == 1}

    @cached_property
    def _here(self) -> Dynamics:
        """The dynamics at the parameters of this result."""
        with outside_of_programs():
            return self.model.dynamics(self.params, Proximal())

    def configurations(self, params: PyTree) -> Array:
        """The coordinates at the same inputs as a function of parameters, shape (n, nq); inside
        `jax.grad`, `jax.jacfwd` and `jit`.

            q(p) = q* − A⊕ φ(q*, p)

        One step of Newton's iteration from this result. Value and first derivatives are exact at
        the parameters of this result.

        Args:
            params: as in `zw.analysis.kinematics`.
        """
        dynamics = self.model.dynamics(params, Proximal())
        one = lambda q, t: closed(dynamics, q, t, 1)
        return jax.vmap(one)(jnp.asarray(self.q), jnp.asarray(self.input))

    def motion(self, params: PyTree) -> Moving:
        """Configurations with velocities and accelerations at the `rate` as functions of
        parameters, as `configurations`: `.q`, `.v`, `.a`.
        """
        dynamics = self.model.dynamics(params, Proximal())
        found = moving(dynamics, jnp.asarray(self.q), jnp.asarray(self.input))
        return found._replace(v=found.v * self.rate, a=found.a * self.rate**2)

    def limit_inputs(self, params: PyTree) -> Array:
        """The input at each of `limits` as a function of parameters, as `configurations`.

        A limit is a fold of the configurations over t (`zwang.analysis.sensitivity.fold`).
        """
        here, there = self._here, self.model.dynamics(params, Proximal())
        still, moved = np.zeros(here.system.nv), []
        for x in self.limits:
            null = last_direction(rows_and_rates(here, x.q, x.t)[0])
            z = near_fold(over_input(x.q), here, there, x.t, still, null)[1]
            moved.append(z[0])
        return jnp.stack(moved)

    def dead_inputs(self, params: PyTree) -> dict[str, Any]:
        """The input at each of `dead_points` by output, as a function of parameters, as
        `configurations`, shape (k,).
        """
        here, there = self._here, self.model.dynamics(params, Proximal())
        nv, found = here.system.nv, {}
        still = np.zeros(nv)
        value = lambda x, t, q: float(quantity_rates(x, here, q, still, still, t)[0])
        for x in self.quantities:
            inputs = []
            for t, q in self.dead_points[x.name]:
                null = last_direction(np.column_stack(rows_and_rates(here, q, t)))
                y = np.append(still, t)
                z = near_fold(over_output(x.value, q), here, there, value(x, t, q), y, null)[1]
                inputs.append(z[1 + nv])
            found[x.name] = jnp.stack(inputs) if inputs else jnp.zeros(0)
        return found

    formats = TABLES

    def _advantage_unit(self, unit: str) -> str:
        """Unit of the mechanical advantage of an output with this unit; empty if one of the units
        is not stated.
        """
        own = self.input_unit
        return ("1" if own == unit else f"{own}/{unit}") if own and unit else ""

    @cached_property
    def dataset(self) -> xr.Dataset:
        """All results by name, with dimensions `sample`, `coordinate`, `velocity`, `output`."""
        system, advantage = self.model.system, self.mechanical_advantage
        data: dict[str, Any] = {
            "input": ("sample", self.input, {"units": self.input_unit or MODEL_UNITS}),
            "q": (("sample", "coordinate"), self.q),
            "v": (("sample", "velocity"), self.v),
            "a": (("sample", "velocity"), self.a),
        }
        coords: dict[str, Any] = {
            "coordinate_unit": ("coordinate", list(system.units)),
            "velocity_unit": ("velocity", list(system.velocity_units)),
        }
        plain = [x for x in self.outputs if x.value.ndim == 1]
        if plain:
            coords["output"] = [x.name for x in plain]
            coords["output_unit"] = ("output", [x.unit for x in plain])
            for what in ("value", "rate", "acceleration"):
                name = "output" if what == "value" else f"output_{what}"
                columns = np.column_stack([getattr(x, what) for x in plain])
                data["output_value" if what == "value" else name] = (("sample", "output"), columns)
            columns = np.column_stack([advantage[x.name] for x in plain])
            about = {"units": SEE + "advantage_unit"}
            data["mechanical_advantage"] = (("sample", "output"), columns, about)
            coords["advantage_unit"] = ("output", [self._advantage_unit(x.unit) for x in plain])
        if self.transmission is not None:
            data["transmission_angle"] = ("sample", self.transmission, {"units": "rad"})
        for x in self.traces:
            axes = x.value.shape[-1]
            coords[f"axis{axes}"] = list("xyz"[:axes])
            for order, what in enumerate(("value", "rate", "acceleration")):
                label = x.name if what == "value" else f"{x.name} {what}"
                about = {"units": unit_of_rate(x.unit, order)}
                data[label] = (("sample", f"axis{axes}"), getattr(x, what), about)
        attrs = {
            "input": self.input_name,
            "rate": self.rate,
            "certified": int(self.certified),
            "ended": self.ended,
            "limits": [x.t for x in self.limits],
            "singular": [x.t for x in self.singular],
        }
        return dataset_of(self.model, data, coords, **attrs)

    @opens_in_scripts
    def plot(self) -> Picture:
        """Plot outputs, or coordinates if there are none, with their rates, transmission angle and
        mechanical advantage over the input; limits and singular configurations are marked.
        """
        system, marks = self.model.system, []
        if self.limits:
            marks.append(Mark([x.t for x in self.limits], ["limit"] * len(self.limits)))
        if self.singular:
            names = ["singular"] * len(self.singular)
            marks.append(Mark([x.t for x in self.singular], names, dash=(0.9, 1.8)))
        dead = [t for points in self.dead_points.values() for t, _ in points]
        if dead:
            marks.append(Mark(dead, ["dead point"] * len(dead), dash=(0.9, 1.8)))
        panels = []
        if self.outputs:
            for x in (x for x in self.outputs if x.value.ndim == 1):
                panels.append(Panel([Line(self.input, x.value)], with_unit(x.name, x.unit)))
                label = with_unit("its rate", per_second(x.unit))
                panels.append(Panel([Line(self.input, x.rate)], label))
                advantage = self.mechanical_advantage[x.name]
                # infinite at dead points; the picture has a gap beyond ten times the least value
                size = np.abs(advantage)
                clipped = np.where(size <= 10.0 * size.min(), advantage, np.nan)
                unit = self._advantage_unit(x.unit)
                panels.append(Panel([Line(self.input, clipped)], with_unit("advantage", unit)))
        else:
            for unit in dict.fromkeys(system.units):
                own = [i for i, u in enumerate(system.units) if u == unit][:12]  # 12 a panel
                lines = [Line(self.input, self.q[:, i], system.coordinates[i]) for i in own]
                panels.append(Panel(lines, with_unit("q", unit)))
        if self.transmission is not None:
            line = Line(self.input, np.degrees(self.transmission))
            panels.append(Panel([line], "transmission [deg]", limits=(0.0, 90.0)))
        panels = [dataclasses.replace(x, marks=marks) for x in panels]
        return Picture(panels, with_unit(self.input_name, self.input_unit), self.model.name)

    @opens_in_scripts
    def plot_traces(self, axes: tuple[int, int] = (0, 1)) -> Picture:
        """Plot the paths of the traced points (coupler curves) at equal scale; `axes` selects two
        axes of space.
        """
        i, j = axes
        lines = [Line(x.value[:, i], x.value[:, j], x.name, dot=True) for x in self.traces]
        unit = self.traces[0].unit if self.traces else ""
        labels = [with_unit("xyz"[k], unit) for k in (i, j)]
        panel = Panel(lines, labels[1])
        return Picture([panel], labels[0], self.model.name, height=4.0, equal=True)

    def __str__(self) -> str:
        return "\n".join(_lines(self))


def _lines(k: Kinematics):
    unit = f" {k.input_unit}" if k.input_unit else ""
    yield (
        f"{k.model.name}: {len(k.input)} configurations over {k.input_name} from "
        f"{k.input[0]:.6g} to {k.input[-1]:.6g}{unit}"
    )
    proof = "every step certified" if k.certified else "not certified: steps judged by samples"
    yield f"  branch            {k.steps} steps, {proof}"
    yield f"  ended             {ENDINGS[k.ended]}"
    for x in k.limits:
        kind = "largest" if x.maximum else "smallest"
        yield f"  limit position    {k.input_name} = {x.t:.10g}{unit}, its {kind} value"
    for name, points in k.dead_points.items():
        for t, _ in points:
            yield f"  dead point        {name} stands still at {k.input_name} = {t:.10g}{unit}"
    for x in k.singular:
        yield (
            f"  singular          branches may meet at {k.input_name} = {x.t:.10g}{unit}; the "
            "path goes straight on (zw.analysis.branches shows all)"
        )
    if k.transmission is not None:
        low, high = np.degrees([k.transmission.min(), k.transmission.max()])
        yield f"  transmission      {low:.1f} to {high:.1f} deg"
    for x in k.outputs:
        if x.value.ndim == 1:
            yield (
                f"  {x.name:<17} {x.value.min():.6g} to {x.value.max():.6g} {x.unit}, rate "
                f"{x.rate.min():.4g} to {x.rate.max():.4g}"
            )


ENDINGS = {
    "range": "at the last value of the input",
    "limit": "at a limit position: the input cannot go further on this branch",
    "singular": "at a singular configuration",
    "closed": "where it began: the branch is a closed curve",
    "lost": "where no step could be certified; the values before are on the branch",
}
"""Reasons why a path ends, as text."""
