"""Opening of a file as the run that it was saved from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import PyTree

from zwang.algebra.pseudoinverse import AbstractPseudoinverse
from zwang.archive.growing import folder_of, opened_growing
from zwang.archive.sources import Rebuilt, rebuilt
from zwang.dynamics.drift import AbstractDrift
from zwang.dynamics.evaluation import evaluate
from zwang.dynamics.formulation.base import AbstractFormulation
from zwang.dynamics.model import Model
from zwang.equations.state import host_state
from zwang.errors import ModelError, Result
from zwang.files.reading import file_name, shown_path
from zwang.inputs.arguments import flag, known, optional
from zwang.inputs.arrays import require_float64
from zwang.inputs.call import misfits_named
from zwang.objects.provenance import Source
from zwang.simulation.results import Crossing, Run, Steps, Switched, Variables
from zwang.simulation.results.interpolate import Interpolant
from zwang.simulation.results.presentation import Presentation
from zwang.simulation.results.saving import opened
from zwang.simulation.results.stored import (
    PARAMETER,
    SCALES,
    TIMES,
    stored_leaves,
    stored_steps,
    with_leaves,
    with_scales,
)
from zwang.simulation.results.strategies import made
from zwang.simulation.results.variables import RENAMED
from zwang.simulation.simulate import simulate
from zwang.stepping import AbstractIntegrator
from zwang.thresholds import DEFAULT_RTOL

STRATEGIES = {
    "integrator": AbstractIntegrator,
    "drift": AbstractDrift,
    "pseudoinverse": AbstractPseudoinverse,
    "formulation": AbstractFormulation,
}
"""Methods of a run that a file describes."""
OPTIONS = (*STRATEGIES, "loop", "switches")
COMPARED, SAME_ACCELERATION = 7, 1e-5
"""Number of samples at which a given model must reproduce the accelerations of the file, and the
tolerance relative to the largest acceleration: the last steps of a run and its samples are solved
differently.
"""

OTHER_VIOLATION = 1e-6
"""Violation of a state of the file that indicates another model; a run keeps 1e-10."""


@misfits_named
def load(path: Path | str, *, model: Model | None = None, trust: bool = False, **options) -> Run:
    """Open the run that a file was saved from.

    Variables, figures, crossings and warnings are read from the file as they were computed. The
    model is built only when something needs it: `run.at(t)` between steps, `run.view()`,
    `run.model`. In the folder of a long run, all steps are read when one is needed;
    `LongRun.blocks` reads several thousand at a time.

    Args:
        path: a `.nc`, `.h5` or `.zarr` that `run.save` or `zwang run` has written, or the folder
            that `zw.study.long_run` writes, up to its present length. Files of version 0.1 hold
            samples instead of steps: `run.at(t)` gives these only.
        model: the model of the run, if the file does not state how to build it, for example because
            it was defined in a notebook.
        trust: True if the Python file or module that the file names may be executed.
        options: `loop`, `switches` or methods of the run that a file cannot contain, because they
            contain functions, as `zw.simulate` accepts them.

    Returns:
        A `Run`, with the record of how it was computed as `run.record`.

    Raises:
        ModelError: for a file that is not a saved run; and, when the model is first needed, if it
            cannot be built or differs from that of the file.

    Example:
        >>> zw.gallery.load("pendulum").run().save("run.nc")
        >>> zw.load("run.nc").at(0.5)
    """
    require_float64()
    optional(model, Model, "load: model", "a zw.Model")
    for name in options:
        known(name, OPTIONS, "load has no option")
    path = file_name(path, "load: path")
    if (folder := folder_of(path)) is not None:
        found = opened_growing(folder)
        restored = _Restored(found.variables, found.part, model, flag(trust, "trust"), options)
        restored.read_steps = found.steps
        return restored.run(computed=False)
    variables, part = opened(path)
    # Any NetCDF file may be given; a few names distinguish a run from others.
    missing = [name for name in ("time", "q", "v") if name not in variables]
    missing += [name for name in ("model", "result") if name not in variables.attrs]
    if missing:
        raise ModelError(
            f"{shown_path(path)} is no saved run: it has no {missing[0]!r}; expected what run.save "
            "has written (what zw.batch or zw.sweep has saved, xarray.open_dataset reads)."
        )
    return _Restored(variables, part, model, flag(trust, "trust"), options).run()


class _Restored:
    """The content of a file, and the objects that are built from it on demand.

    Args:
        variables, part: content of the file.
        model, trust, options: as in `load`.
    """

    def __init__(
        self,
        variables: Variables,
        part: Variables | None,
        model: Model | None,
        trust: bool,
        options: Mapping[str, Any],
    ):
        self.variables = variables if part is not None else _with_new_names(variables)
        self.part, self.trust, self.options = part, trust, options
        self.given = model
        record = {} if part is None else json.loads(part.attrs["record"])
        self.record: dict[str, Any] = record
        self.read_steps = lambda: (
            _samples_as_steps(variables) if part is None else stored_steps(part)
        )
        self.times = np.asarray((variables["time"] if part is None else part[TIMES]).values, float)

    def run(self, computed: bool = True) -> Run:
        """Create the run without its model.

        `computed` is True if the file contains the observed variables of the motion.
        """
        attrs = self.variables.attrs
        # `__init__` needs a model, which is built only on demand.
        run = Run.__new__(Run)
        kept = {name: x for name, x in attrs.items() if name not in _COMPUTED}
        entries = {
            "times": self.times,
            "result": Result[str(attrs["result"])],
            "attrs": {**kept, **self.record.get("attrs", {})},
            "stopped_by": str(attrs.get("stopped_by", "")) or None,
            "switches": [Switched(**_tuples(x)) for x in _listed(attrs, "switches")],
            "crossings": [Crossing(**_tuples(x)) for x in _listed(attrs, "crossings")],
            "warnings": tuple(_listed(attrs, "warnings")),
            "variables": self.variables,
            "_observed": self.variables,
            "record": self.record,
            "_part": self.part,
            "_restore": {
                "steps": lambda: self.steps,
                "model": lambda: self.model,
                "flow": lambda: self.flow,
                "_between": lambda: self.between,
                "presentation": lambda: self.origin.presentation,
            },
        }
        if "active" in self.variables:
            entries["active"] = self.variables["active"].values.astype(bool)
        if not computed:
            for name in _OBSERVED:
                entries.pop(name, None)
        vars(run).update(entries)
        return run

    @cached_property
    def steps(self) -> Steps:
        """Every step, read when it is first needed: a run may be long."""
        return self.read_steps()

    @cached_property
    def source(self) -> Source | None:
        """The source of the model according to the file."""
        recorded = self.record.get("model", {}).get("source")
        if recorded is not None:
            return Source.from_record(recorded)
        return _source_of_command(self.variables.attrs)

    @cached_property
    def origin(self) -> Rebuilt:
        """The model built again, or the one that was given."""
        if self.given is not None:
            return Rebuilt(self.given, presentation=Presentation())
        if self.source is None:
            raise ModelError(
                f"the file does not say how to make the model {self.variables.attrs['model']!r} "
                "again; give it: zw.load(path, model=...)."
            )
        return rebuilt(self.source, self.trust)

    @cached_property
    def model(self) -> Model:
        """The model, which must be that of the file; a given model must also have the same
        motion.
        """
        # A run without its loop or switches cannot be evaluated, so only names are compared.
        known = {"loop", "switches"} & set(self.options)
        lacks = [x for x in ("loop", "switches") if self.record.get(f"has_{x}") and x not in known]
        if self.given is not None and self.part is not None and not lacks:
            _ = self.between  # The property refuses another model, also under `python -O`.
        return self._named

    @cached_property
    def _named(self) -> Model:
        """The model, with the coordinates and constraints of the file."""
        model = self.origin.model
        for what, own in (
            ("coordinate", model.system.coordinates),
            ("constraint", model.constraints.names),
        ):
            stored = [str(x) for x in self.variables[what].values]
            # A model with other names would be read with the wrong columns.
            if list(own) != stored:
                raise ModelError(
                    f"the model has the {what}s {', '.join(own) or 'none'}; the file was written "
                    f"by one with {', '.join(stored) or 'none'}."
                )
        return model

    @cached_property
    def _motion(self) -> Run:
        """Repeat the run's first step, which determines the scales and the methods."""
        if self.part is None:
            raise ModelError(
                "a file of version 0.1 holds samples only; run the model again to know the motion "
                "between them."
            )
        nq = self.variables["q"].shape[1]
        brought = self.origin.options
        options = {name: brought[name] for name in ("switches", "loop") if name in brought}
        for name in ("loop", "switches"):
            # A run with switches must not silently be taken for one without.
            if self.record.get(f"has_{name}") and name not in {**options, **self.options}:
                raise ModelError(
                    f"the run had {name}, which contain functions and are not in the file; give "
                    f"them: zw.load(path, {name}=...)."
                )
        methods = {
            name: made(self.record["methods"].get(name), kind, name)
            for name, kind in STRATEGIES.items()
            if name not in self.options
        }
        tolerances = self.record.get("tolerances", {})
        fixed = {"step": 1e-3 * float(self.times[-1] - self.steps.t0)}
        integrator = methods.get("integrator")
        needs_step = integrator is not None and not integrator.estimates
        return simulate(
            self._named,
            self.steps.y[0, :nq],
            self.steps.y[0, nq:],
            times=self.times.tolist(),
            t0=self.steps.t0,
            params=self.parameters,
            start_tolerance=np.inf,
            max_steps=1,
            throw=False,
            rtol=float(tolerances.get("rtol", DEFAULT_RTOL)),
            **(fixed if needs_step else {}),
            **{**methods, **options, **self.options},
        )

    @property
    def parameters(self) -> PyTree:
        """The parameters of the run, in the structure that the model has."""
        assert self.part is not None
        own = self._named.parameters()
        return with_leaves(own, stored_leaves(self.part, PARAMETER), "parameter")

    @cached_property
    def flow(self):
        """The flow, with the scales and the target that the run had at its end."""
        assert self.part is not None or self._motion
        return with_scales(self._motion.flow, stored_leaves(self.part or {}, SCALES))

    @cached_property
    def between(self):
        """The interpolant between the steps."""
        if self.part is None:
            return _SamplesOnly(self.steps)
        steps = self.steps
        found = Interpolant(self.flow, steps.t, steps.y, steps.applied, self._motion.integrator)
        if self.given is not None and "acceleration" in self.variables:
            self._refuse_another(found)
        return found

    def _refuse_another(self, found: Interpolant) -> None:
        """Refuse a model whose accelerations are not those of the file.

        Raises:
            ModelError: with the difference.
        """
        samples = np.linspace(0, len(self.times) - 1, COMPARED).astype(int)
        at = np.flatnonzero(np.isin(self.steps.sample, samples))
        steps, nq = self.steps, self.variables["q"].shape[1]
        stored = np.asarray(self.variables["acceleration"].values)[steps.sample[at]]
        off = np.abs(found.rates(at)[:, nq:] - stored).max(axis=1)
        size = np.max(np.abs(stored), initial=0.0)
        # One sample next to a loss of rank may differ, because two methods need not agree there.
        if np.sum(~(off <= SAME_ACCELERATION * size)) > 1:
            raise ModelError(
                f"the model given is not that of the file: at its states it accelerates otherwise, "
                f"by up to {np.max(off):.3g} (model units); give the one that the run was made "
                "with."
            )
        last, dynamics = at[-1], found.flow.dynamics
        q, v = steps.y[last, :nq], steps.y[last, nq:]
        violation = float(
            dynamics.violation(evaluate(dynamics, host_state(q, v, steps.t[last])).phi)
        )
        if violation > OTHER_VIOLATION + 10 * steps.violation[last]:
            raise ModelError(
                f"the model given is not that of the file, whose states are off its constraints "
                f"(relative {violation:.1e}); give the one that the run was made with."
            )


class _SamplesOnly:
    """States of a file that holds samples only."""

    integrator = None

    def __init__(self, steps: Steps):
        self.steps = steps

    def __call__(self, times: np.ndarray) -> np.ndarray:
        # The error names the nearest sample.
        near = np.abs(self.steps.t[None, :] - times[:, None]).argmin(axis=1)
        apart = np.flatnonzero(self.steps.t[near] != times)
        if len(apart):
            raise ModelError(
                f"t = {times[apart[0]]:.6g} s is between samples, and a file of version 0.1 holds "
                f"samples only; the nearest is t = {self.steps.t[near[apart[0]]]:.6g} s."
            )
        return self.steps.y[near]


_OBSERVED = ("variables", "_observed", "crossings", "warnings", "active", "_part")
"""Variables that a run computes from its steps if the file does not hold them."""
_COMPUTED = (
    *("crossings", "switches", "warnings"),
    *("result", "result_sentence", "stopped_by", "model"),
)
"""Attributes of a dataset that a run has as objects."""


def _with_new_names(data: Variables) -> Variables:
    """Rename variables of version 0.1 to their present names."""
    taken = lambda given: {
        RENAMED.get(name) or name: (x.dims, x.values, x.attrs) for name, x in given.items()
    }
    return Variables(taken(data.data), taken(data.coordinates), data.attrs)


def _listed(attrs: Mapping[str, Any], name: str) -> list:
    return json.loads(str(attrs.get(name) or "[]"))


def _tuples(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Convert an entry's lists, which JSON has made from tuples, back to tuples."""
    as_tuple = lambda x: tuple(x) if isinstance(x, list) else x
    return {
        name: {k: as_tuple(v) for k, v in x.items()} if isinstance(x, dict) else as_tuple(x)
        for name, x in entry.items()
    }


def _samples_as_steps(data: Variables) -> Steps:
    """Use the samples of a file of version 0.1 in place of steps."""
    t = np.asarray(data["time"].values, float)
    unknown = np.zeros(len(t))
    return Steps(
        t,
        np.hstack([data["q"].values, data["v"].values]),
        np.arange(len(t)),
        np.full(len(t), np.nan),
        unknown,
        unknown,
        np.zeros((len(t), 0)),
    )


def _source_of_command(attrs: Mapping[str, Any]) -> Source | None:
    """The gallery name in the command line that a file of version 0.1 records."""
    import shlex

    from zwang.gallery.index import ENTRIES

    words = shlex.split(str(attrs.get("command", "")))
    if words[:2] != ["zwang", "run"]:
        return None
    name = next((word for word in words[2:] if word in ENTRIES), None)
    if name is None:
        return None
    shown = json.loads(str(attrs.get("settings", "{}")))
    known_settings = ENTRIES[name].settings
    settings = {}
    for key, text in shown.items():
        if key in known_settings:
            settings[key] = type(known_settings[key].default)(text)
    return Source("gallery", name, settings)
