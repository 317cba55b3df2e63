"""Contents of the file of a run other than its variables: every step, the parameters, and a record
of the settings and versions that produced it.
"""

from __future__ import annotations

import datetime
import json
import platform
import shlex
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from jaxtyping import PyTree

from zwang.dynamics.vector_field import ConstrainedVectorField
from zwang.errors import ModelError
from zwang.objects.provenance import source_of, versions
from zwang.objects.record import replace
from zwang.simulation.results.strategies import described
from zwang.simulation.results.variables import Variables

if TYPE_CHECKING:
    from zwang.simulation.results.record import Run
    from zwang.simulation.results.steps import Steps

STEP_VARIABLES = {
    "t": ("s", "time of the accepted step"),
    "y": ("1", "coordinates and velocities after the step"),
    "sample": ("1", "index of the sample time that the step ended on, or -1"),
    "log_det": ("1", "log-determinant of the rows at unit length"),
    "violation": ("1", "dimensionless position violation after the step"),
    "residual": ("1", "relative residual of A vdot = b at the start of the step"),
    "applied": ("1", "what is held from this step on: a sampled control, or switches"),
}
"""Unit and long name of the fields of `Steps` in a file."""
SCALES, PARAMETER, TIMES = "scale", "parameter", "requested_time"


def stored_part(run: Run) -> Variables:
    """Return steps, sample times, parameters and record of a run, as one group of a file."""
    steps, data, coordinates = run.steps, {}, {}
    for name, (unit, long) in STEP_VARIABLES.items():
        values = np.asarray(getattr(steps, name))
        if values.ndim == 2 and not values.shape[1]:
            continue  # empty; NetCDF would take a dimension of size 0 as unlimited
        dims = ("step", f"{name}_entry")[: values.ndim]
        data[f"step_{name}"] = (dims, values, {"units": unit, "long_name": long})
        if values.ndim == 2:
            coordinates[dims[1]] = ((dims[1],), np.arange(values.shape[1]), {})
    coordinates["step"] = (("step",), np.arange(len(steps.t)), {})
    about = {"units": "s", "long_name": "sample time that was asked for"}
    data[TIMES] = ((TIMES + "_index",), np.asarray(run.times), about)
    coordinates[TIMES + "_index"] = ((TIMES + "_index",), np.arange(len(run.times)), {})
    dynamics = run.flow.dynamics
    held = {PARAMETER: dynamics.p, SCALES: (dynamics.scales, run.flow.target)}
    for prefix, tree in held.items():
        for i, (name, values) in enumerate(leaves_by_name(tree)):
            dims = tuple(f"{prefix}_{i}_{axis}" for axis in range(values.ndim))
            if 0 in values.shape:
                continue
            data[f"{prefix}_{i}"] = (dims, values, {"name": name})
            for dim, size in zip(dims, values.shape, strict=True):
                coordinates[dim] = ((dim,), np.arange(size), {})
    return Variables(data, coordinates, {"record": json.dumps(record_of(run), ensure_ascii=False)})


def record_of(run: Run) -> dict[str, Any]:
    """Return the record of a run: model, methods, tolerances, versions, command, seed."""
    if (kept := vars(run).get("record")) is not None:
        return kept  # a loaded run keeps its record
    dynamics, source = run.flow.dynamics, source_of(run.model)
    return {
        "format": 2,  # files of version 0.1 have no record and count as 1
        "written": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "model": {
            "name": run.model.name,
            "coordinates": list(run.model.system.coordinates),
            "constraints": list(run.model.constraints.names),
            "source": None if source is None else source.as_record(),
        },
        "methods": {
            "integrator": described(run.integrator),
            "drift": described(run.flow.drift),
            "pseudoinverse": described(dynamics.pseudoinverse),
            "formulation": described(dynamics.formulation),
        },
        "tolerances": {
            name: run.attrs[name]
            for name in ("rtol", "atol", "step", "longest_step", "start_tolerance", "max_steps")
            if name in run.attrs
        },
        "attrs": _plain(run.attrs),
        "result": run.result.name,
        "stopped_by": run.stopped_by or "",
        "has_loop": bool(run.attrs.get("loop")),
        "has_switches": run.flow.switched is not None,
        "versions": versions(),
        "platform": platform.platform(),
        "command": run.attrs.get("command") or shlex.join(sys.orig_argv),
        "seed": run.attrs.get("seed"),
    }


def leaves_by_name(tree: PyTree) -> list[tuple[str, np.ndarray]]:
    """Return every number or array of a pytree with its path."""
    found, _ = jax.tree_util.tree_flatten_with_path(tree)
    return [(jax.tree_util.keystr(path), np.asarray(x)) for path, x in found]


def with_scales(
    flow: ConstrainedVectorField, stored: Mapping[str, np.ndarray]
) -> ConstrainedVectorField:
    """Return a flow with the stored scales and target."""
    given = flow.dynamics.scales, flow.target
    scales, target = with_leaves(given, stored, "scale")
    return replace(flow, dynamics=replace(flow.dynamics, scales=scales), target=target)


def with_leaves(tree: PyTree, stored: Mapping[str, np.ndarray], what: str) -> PyTree:
    """Return a pytree with the numbers of a file in place of its own.

    Raises:
        ModelError: if the file contains others than the pytree has.
    """
    leaves, structure = jax.tree_util.tree_flatten_with_path(tree)
    made = []
    for path, own in leaves:
        name = jax.tree_util.keystr(path)
        value = stored.get(name)
        value = np.zeros(np.shape(own)) if value is None and 0 in np.shape(own) else value
        if value is None or np.shape(value) != np.shape(own):
            raise ModelError(
                f"the {what} {name} of the model has shape {np.shape(own)}, the file holds "
                f"{'none' if value is None else np.shape(value)}: it was written by another model."
            )
        made.append(np.asarray(value, np.asarray(own).dtype))
    return jax.tree_util.tree_unflatten(structure, made)


def stored_leaves(part: Mapping[str, Any], prefix: str) -> dict[str, np.ndarray]:
    """Return the numbers of a group of a file by their paths."""
    return {
        str(part[name].attrs["name"]): np.asarray(part[name].values)
        for name in part
        if name.rpartition("_")[0] == prefix
    }


def stored_steps(part: Mapping[str, Any]) -> Steps:
    """Return the steps of a file."""
    from zwang.simulation.results.steps import Steps

    count = len(part["step_t"].values)
    fields = {
        name: np.asarray(part[f"step_{name}"].values)
        if f"step_{name}" in part
        else np.zeros((count, 0))
        for name in STEP_VARIABLES
    }
    return Steps(**fields)


def _plain(attrs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes that JSON can represent."""
    found = {}
    for name, value in attrs.items():
        try:
            found[name] = json.loads(json.dumps(value))
        except (TypeError, ValueError):
            continue
    return found
