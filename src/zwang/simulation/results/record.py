"""The result of a run."""

from __future__ import annotations

import dataclasses
import inspect
import json
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from zwang.dynamics.model import Model
from zwang.dynamics.vector_field import ConstrainedVectorField
from zwang.errors import ModelError, Result
from zwang.inputs.arguments import function, label, real_array, text
from zwang.objects.display import present
from zwang.plots.script import opens_in_scripts
from zwang.simulation.results.branch_taken import with_branches
from zwang.simulation.results.crossing import Crossing, find_crossings
from zwang.simulation.results.dataset import variables_of
from zwang.simulation.results.interpolate import Interpolant
from zwang.simulation.results.observe import Observation, observe_all
from zwang.simulation.results.pickling import from_bytes, to_bytes
from zwang.simulation.results.presentation import Presentation, presentation_of
from zwang.simulation.results.saving import save
from zwang.simulation.results.steps import Steps
from zwang.simulation.results.stored import stored_part
from zwang.simulation.results.switched import Switched
from zwang.simulation.results.uniqueness import ALL_UNIQUE, Labels, labels_of
from zwang.simulation.results.variables import ADDED, Variables
from zwang.simulation.results.warnings import warnings_of
from zwang.simulation.results.worst import contact_residuals, tracking, tracking_error, worst
from zwang.stepping import AbstractIntegrator

if TYPE_CHECKING:
    import xarray as xr


class Run:
    """A finished (or interrupted) simulation. It can be pickled, with its model and all results
    computed from it; functions that are not at the top level of a module need cloudpickle for that.

    Attributes:
        model: the model that was run.
        steps: every accepted step.
        result: the `Result` with which it ended.
        attrs: settings and counts.
        stopped_by: name of the stop condition that ended it, or the reason for a failed mode
            change, or None.
        switches: all mode changes, a `Switched` each.
        variables: all quantities at the sample times, with names and units (computed at the first
            access).
        dataset: the same as an xarray dataset.
        warnings: sentences about results that a user may not expect: a servo constraint that could
            not be met, actuators at their limits, energy that was lost, a start that was moved,
            nearly parallel rows, accelerations less accurate than `rtol` asks for; computed with
            `variables`.
        presentation: figures, scene and text that the model provides, or None.
    """

    presentation: Presentation | None = None

    def __init__(
        self,
        model: Model,
        flow: ConstrainedVectorField,
        steps: Steps,
        times: np.ndarray,
        result: Result,
        attrs: dict,
        stopped_by=None,
        integrator: AbstractIntegrator | None = None,
        switches: Sequence[Switched] = (),
    ):
        self.model, self.flow, self.steps, self.times = model, flow, steps, times
        self.result, self.attrs, self.stopped_by, self.switches = (
            result,
            attrs,
            stopped_by,
            list(switches),
        )
        self._between = Interpolant(flow, steps.t, steps.y, steps.applied, integrator)

    def __reduce__(self):
        return from_bytes, (type(self), to_bytes(self))

    def __getattr__(self, name: str):
        """Restore a part of a loaded run at its first access: its model and its motion."""
        restore = vars(self).get("_restore", {}).get(name)
        if restore is None:
            # the steps exist before any other attribute is accessed
            kept = not name.startswith("_") and "steps" in vars(self) and name in self.variables
            where = f"; it is run.dataset[{name!r}]" if kept else ""
            said = f"'Run' object has no attribute {name!r}{where}"
            raise AttributeError(said, name=name, obj=self)
        vars(self)[name] = found = restore()
        return found

    def __repr__(self) -> str:
        reached = f"{len(self.steps.t) - 1} steps to t = {self.steps.t[-1]:.6g} s"
        return f"<Run of {self.name}: {reached}, {self.sentence}>"

    def __str__(self) -> str:
        """Return a few lines: model, result, duration, steps, largest violation and warnings."""
        data, ended = self.variables, f": {self.stopped_by}" if self.stopped_by else ""
        reached, asked = (float(x[-1] - self.steps.t0) for x in (self.steps.t, self.times))
        rejected = self.attrs.get("steps_rejected")
        lines = [
            f"{self.name}: {self.sentence}{ended}",
            f"  simulated time     {reached:.6g} s of {asked:.6g} s, {len(self.t)} samples",
            f"  steps              {len(self.steps.t) - 1} accepted"
            + ("" if rejected is None else f", {rejected} rejected")
            + self.steps.limit(self.attrs),
        ]
        every = range(len(data["constraint"].values))
        for name, symbol in (("violation", "|phi|"), ("velocity_violation", "|psi|")):
            if (w := worst(data, name, every)) is not None:
                at = f"constraint {w.constraint}, t = {w.time:.4g} s"
                lines.append(f"  {name.replace('_', ' '):18s} {symbol} up to {w.value:.2e} ({at})")
        if residuals := contact_residuals(self.attrs):
            said = ", ".join(f"{kind} {x:.1e}" for kind, x in residuals.items())
            lines.append(f"  contact residuals  {said}")
        if (said := str(data.attrs.get("uniqueness", ""))) not in ("", ALL_UNIQUE):
            lines.append(f"  uniqueness         {said}")
        if "control" in data and (said := tracking_error(data)):
            lines.append(f"  tracking error     {said}")
        for heading, found in (("switches", self.switches), ("crossings", self.crossings)):
            more = len(found) - 3
            listed = [*map(str, found[:3]), *([f"and {more} more"] if more > 0 else [])]
            for i, sentence in enumerate(listed):
                lines.append(f"  {heading if i == 0 else '':18s} {sentence}")
        heading = "warning" + "s" * (len(self.warnings) != 1)
        for i, sentence in enumerate(self.warnings or ("none",)):
            lines.append(f"  {heading if i == 0 else '':18s} {sentence}")
        return "\n".join(lines)

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        return warnings_of(self, self._observed)

    @property
    def ending(self) -> str:
        """A sentence that states when and why a run ended that did not reach its end."""
        detail = f": {self.stopped_by}" if self.stopped_by else ""
        return f"stopped at t = {self.steps.t[-1]:.6g} s: {self.sentence}{detail}"

    @property
    def saved(self) -> np.ndarray:
        """Indices of the steps that are samples; the last step is one if the run stopped early."""
        index = np.flatnonzero(self.steps.sample >= 0)
        last = len(self.steps.t) - 1
        return index if self.result is Result.SUCCESS or last in index else np.append(index, last)

    @property
    def t(self) -> np.ndarray:
        """Sample times [s], shape (samples,)."""
        return self.steps.t[self.saved]

    @property
    def q(self) -> np.ndarray:
        """Coordinates, shape (samples, nq)."""
        return self.steps.y[self.saved, : self._nq]

    @property
    def v(self) -> np.ndarray:
        """Velocities, shape (samples, nv)."""
        return self.steps.y[self.saved, self._nq :]

    @property
    def name(self) -> str:
        """Name of the model."""
        loaded = "variables" in vars(self) and "model" not in vars(self)
        return str(self.variables.attrs["model"]) if loaded else self.model.name

    @property
    def sentence(self) -> str:
        """The sentence of the result."""
        return self.result.said_of(str(self.attrs.get("integrator", "")))

    @property
    def _nq(self) -> int:
        """Number of coordinates, which a loaded run knows without its model."""
        loaded = "variables" in vars(self) and "model" not in vars(self)
        return self.variables["q"].shape[1] if loaded else self.model.system.nq

    @property
    def integrator(self) -> AbstractIntegrator | None:
        """The integrator of the run."""
        return self._between.integrator

    @cached_property
    def observation(self) -> Observation:
        """Motion, forces, residuals and energy at the samples, each with a leading time axis."""
        return observe_all(self.flow, self.t, self.q, self.v, self.steps.applied[self.saved])

    @cached_property
    def variables(self) -> Variables:
        self._observed.attrs["warnings"] = json.dumps(self.warnings, ensure_ascii=False)
        return self._observed

    @cached_property
    def _observed(self) -> Variables:
        """The variables before warnings are added."""
        crossings = [dataclasses.asdict(c) for c in self.crossings]
        switches = [dataclasses.asdict(s) for s in self.switches]
        attrs = {
            **self.attrs,
            "result": self.result.name,
            "result_sentence": self.sentence,
            "stopped_by": self.stopped_by or "",
            "crossings": crossings,
            **({"switches": switches} if switches else {}),
        }
        if (labels := self.labels) is not None:
            attrs["uniqueness"], labels = labels.sentence, labels.at(self.saved)
        given = self.model, self.t, self.q, self.v, self.observation, attrs, self.active
        return variables_of(*given, self.switches, labels)

    @cached_property
    def labels(self) -> Labels | None:
        """Uniqueness labels after every step, from the rank of the active rows; None for a model
        without constraints, and for one that is too large.
        """
        return labels_of(self)

    @cached_property
    def dataset(self) -> xr.Dataset:
        return self.variables.to_xarray()

    @cached_property
    def active(self) -> np.ndarray:
        """Activity of the constraints at the samples, shape (samples, constraints)."""
        rows = [s.start for s in self.model.constraints.row_slices.values()]
        if self.flow.switched is None:
            return np.ones((len(self.t), len(rows)), bool)
        switch = np.asarray(self.flow.switched)[rows]
        return (switch < 0) | (self.steps.applied[self.saved] > 0)[:, switch]

    @cached_property
    def crossings(self) -> list[Crossing]:
        """Singular configurations that the run crossed, found from every accepted step."""
        return with_branches(self, [x for x in self._passed if x.lost])

    @property
    def stepped_across(self) -> list[Crossing]:
        """Instants at which the run stepped across a gap between two branches that almost meet."""
        return [x for x in self._passed if not x.lost]

    @cached_property
    def _passed(self) -> list[Crossing]:
        slices = self.model.constraints.row_slices
        labels = [(n, f"{n}[{i}]") for n, s in slices.items() for i in range(s.stop - s.start)]
        found = []
        for span in self.steps.spans:
            t = self.steps.t[span]
            low, high = t[0] if span.start == 0 else np.nextafter(t[0], np.inf), t[-1]
            high = high if span.stop == len(self.steps.t) else np.nextafter(high, -np.inf)
            rows = lambda times, glance=False, low=low, high=high: self._between.rows(
                np.clip(times, low, high), glance
            )
            found += find_crossings(t, self.steps.log_det[span], rows, labels)
        return found

    def add(self, name: str, quantity: Callable, unit: str = "") -> None:
        """Add a quantity to the variables. It is plotted, reported and saved like any other.

            run.add("theta", lambda q, v, t: np.arctan2(q[0], -q[1]), "rad")

        Args:
            name: of the variable; it replaces one of this name that was added before.
            quantity: (q, v, t), or (q, v, t, p) with the parameters, at a sample → a number, or a
                list of numbers.
            unit: its unit.

        Raises:
            ModelError: for a name that is a variable or a coordinate of the run, a function that
                fails or returns no numbers of one shape.
        """
        name, unit = label(name, "run.add: name"), text(unit, "run.add: unit")
        with_params = inspect.isfunction(quantity) and quantity.__code__.co_argcount == 4
        p = (self.flow.dynamics.p,) if with_params else ()
        function(quantity, "run.add: quantity", "(q, v, t, p)" if p else "(q, v, t)")
        own = self.variables
        taken = name in own and not own[name].attrs.get(ADDED)
        if taken or name in self.model.system.coordinates:
            what = "variable" if taken else "coordinate"
            raise ModelError(f"run.add: {name!r} is a {what} of the run; take another name.")
        at_samples = zip(self.q, self.v, self.t, strict=True)
        try:
            values = np.array([np.asarray(quantity(*at, *p), float) for at in at_samples])
        except (TypeError, ValueError, IndexError) as error:
            raise ModelError(
                f"run.add: {name!r} failed ({error}); expected a function (q, v, t) of one sample "
                "that returns a number or numbers of one shape."
            ) from error
        attrs = {"units": unit, "long_name": name, ADDED: 1}
        own.set(name, values, attrs)
        if "dataset" in vars(self):
            self.dataset[name] = own[name].dims, values, attrs

    def at(self, t) -> tuple[np.ndarray, np.ndarray]:
        """Return q and v at any time of the run, or at many, shapes (nq,) and (nv,) or (times, nq)
        and (times, nv): a polynomial of degree 7 through four steps, projected onto the
        constraints; at a mode change, the state after it.
        """
        times = np.asarray(real_array(t, "at: t", "times [s]"))
        ts = self.steps.t
        inside = (times >= ts[0]) & (times <= ts[-1])
        if times.ndim > 1 or not np.all(inside):
            outside = np.atleast_1d(times)[~np.atleast_1d(inside)]
            what = (
                f"t = {outside[0]:.6g} s is outside the run"
                if len(outside)
                else f"t has shape {times.shape}"
            )
            raise ModelError(
                f"{what}; expected a time or a list of times within {ts[0]:.6g} … {ts[-1]:.6g} s."
            )
        y = self._between(np.atleast_1d(times)).reshape(*times.shape, -1)
        return y[..., : self._nq], y[..., self._nq :]

    def near(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return `at` for many times without projection: q and v violate the constraints by about
        the tolerance of the run, at a tenth of the cost.
        """
        y = self._between.near(t)
        return y[:, : self._nq], y[:, self._nq :]

    def save(self, path: str | Path) -> Path:
        """Write the run in the format of the file's ending; a failed write leaves no partial file.

        Args:
            path: `.nc` (NetCDF), `.h5` (HDF5) and `.zarr` contain the whole run, which `zw.load`
                restores; `.mat` (MATLAB) its variables and steps; `.csv` and `.parquet` a table of
                all variables that are numbers or vectors over time.

        Raises:
            ModelError: for another ending, or a folder that does not exist.
            OutputError: if the file cannot be written; an earlier one is unchanged.
        """
        # the user may have added variables to the dataset
        data = self.dataset if "dataset" in vars(self) else self.variables
        # a run of version 0.1 has no record of its steps, and is written as it was
        unrecorded = vars(self).get("record") == {}
        part = None if unrecorded else vars(self).get("_part") or stored_part(self)
        return save(data, path, part=part)

    def report(self, path: str | Path, **parts) -> Path:
        """Write the report: one HTML page with figures, tables and settings.

        Args:
            path: the page; its curves are written into the folder `data` next to it.
            parts: fields of `zwang.simulation.results.presentation.Presentation` that differ from
                those of the model, e.g. `figures={"Orbit": draw}`, or `derivation=zw.derive(model,
                q0, v0)` for a section with the formulas.

        Raises:
            OutputError: if a file cannot be written.
        """
        return present("report", self, path, presentation_of(self, parts))

    def view(self, path: str | Path | None = None, **parts):
        """Play the run in the browser, or write the page that plays it. *Let go* simulates on from
        the instant that is shown, if the model's steps can be computed in a browser.

        Args:
            path: the HTML page; without it the page is temporary and opens in the browser, or below
                the cell of a notebook.
            parts: as in `report`: `scene=zw.Scene(...)` for a model that has none.

        Raises:
            ModelError: if there is no scene to draw.
        """
        return present("view", self, path, presentation_of(self, parts, "scene"))

    def page(self, path: str | Path | None = None, **parts):
        """Write or open the page of `view`, and raise an error if it cannot simulate: points can be
        dragged and released, and numbers of the model changed by sliders.

        Args:
            path, parts: as in `view`.

        Raises:
            ModelError: as for `view`, and for a model whose steps cannot be computed in a browser.
        """
        shown = presentation_of(self, parts, "scene")
        return present("view", self, path, shown, must_simulate=True)

    def animate(self, path: str | Path | None = None, **parts) -> Path:
        """Write the motion as a film: `.mp4`, `.gif`, or `.html`, the page of `view`; without a
        path play it in the browser.

        Raises:
            ModelError: for another ending, without a scene to draw, or if the program that encodes
                films is not installed.
        """
        return present("animate", self, path, presentation_of(self, parts, "scene"))

    def _repr_html_(self) -> str:
        """Return the HTML that a notebook shows: the summary, the motion to play, and figures."""
        return present("notebook", self)

    @opens_in_scripts
    def plot(self, variables: str | Sequence[str] | None = None, path: str | Path | None = None):
        """Return a matplotlib figure of some of the dataset's variables over time, with names and
        units.

        Args:
            variables: a name or several, of variables or of coordinates; by default q, v, violation
                and energy, and for a closed loop also the control and the tracking error.
            path: a file for the figure (`.svg`, `.png`, `.pdf`, …), which is then returned. A
                figure that a script neither shows nor saves opens when the script ends, which
                prints its place; `.show()` opens it at once, `.savefig(path)` saves it.
        """
        from zwang.simulation.results.plot import plot

        if variables is None:
            added = (n for n, x in self.variables.items() if x.attrs.get(ADDED))
            variables = (*added, "q", "v", "violation", "energy")
            if "control" in self.variables:
                variables += ("control", tracking(self.variables))
        picture = plot(self.variables, variables)
        return picture.figure() if path is None else picture.save(path)
