"""The Python part of a functional mock-up unit: a model with its options, and the run that a master
advances.
"""

from __future__ import annotations

import dataclasses
import importlib
import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jaxtyping import PyTree

from zwang.codegen.names import parameter_names
from zwang.dynamics.model import Model
from zwang.errors import ModelError
from zwang.inputs.arguments import known
from zwang.inputs.arrays import require_float64
from zwang.objects.extras import require
from zwang.simulation.piecewise import PiecewiseRun, Snapshot
from zwang.simulation.switching import declared_switches

UNIT_FILE = "unit.pickle"
"""Name of the file among a unit's resources."""
OPTIONS = ("rtol", "atol", "loop", "switches", "integrator", "step", "longest_step")
"""Options of `zw.simulate` that a unit accepts."""
ONE_TIME = 1e-9
"""Largest difference of two times that count as equal, relative to the communication step."""


@dataclasses.dataclass(frozen=True)
class PythonUnit:
    """Contents of a unit with Python.

    Attributes:
        model: the model.
        q0, v0: start, on the constraints.
        options: of `zw.simulate`.
        parameters: name and value of each number among the model's parameters.
        actuators: names of the controls.
    """

    model: Model
    q0: np.ndarray
    v0: np.ndarray
    options: Mapping[str, Any]
    parameters: tuple[tuple[str, float], ...]
    actuators: tuple[str, ...]

    @classmethod
    def of(cls, model: Model, q0, v0, options: Mapping[str, Any]) -> PythonUnit:
        """Create a unit whose run has been started once, so that a model that cannot run is refused
        here.

        Raises:
            ModelError: for an option that a unit does not accept, or as `zw.simulate` does.
        """
        require_float64()
        for name in options:
            known(name, OPTIONS, "fmu: option")
        system, servo = model.system, model.servo
        q0 = np.ones(system.nq) if q0 is None else q0
        v0 = np.zeros(system.nv) if v0 is None else v0
        # the declarations of a model are not transferred to another process
        options = {"switches": declared_switches(model), **options}
        begun = PiecewiseRun(model, q0, v0, **options)
        leaves = jax.tree_util.tree_leaves(model.params)
        values = [float(x) for leaf in leaves for x in np.asarray(leaf).ravel()]
        actuators = ()
        if servo is not None:
            actuators = servo.names(servo.checked(model.passive.dynamics()))
        return cls(
            model,
            begun.q,
            begun.v,
            dict(options),
            tuple(zip(parameter_names(model.params), values, strict=True)),
            tuple(actuators),
        )

    def to_bytes(self) -> bytes:
        """Return the unit for another process, with the functions of the user's own files.

        Raises:
            ModelError: without cloudpickle, or if the functions refer to objects of this process.
        """
        require("cloudpickle", "pickle", "an FMU with Python inside")
        cloudpickle = importlib.import_module("cloudpickle")
        try:
            return cloudpickle.dumps(self)
        except Exception as error:  # from any object that the user's functions refer to
            raise ModelError(
                f"{self.model.name} cannot be put into an FMU: it holds something that is tied to "
                f"this process ({type(error).__name__}: {str(error)[:120]}). Let its functions use "
                "numbers and arrays only."
            ) from None

    @classmethod
    def read(cls, folder: Path) -> PythonUnit:
        """Read the unit from a folder of resources."""
        return pickle.loads((folder / UNIT_FILE).read_bytes())

    def params(self, values: np.ndarray) -> PyTree:
        """Return the model's parameters from their numbers in order."""
        leaves, tree = jax.tree_util.tree_flatten(self.model.params)
        shapes = [np.shape(x) for x in leaves]
        ends = np.cumsum([0, *(int(np.prod(s)) for s in shapes)])
        cut = zip(ends[:-1], ends[1:], shapes, strict=True)
        return jax.tree_util.tree_unflatten(tree, [values[i:j].reshape(s) for i, j, s in cut])


class Session:
    """One instance of a unit, which answers the requests of `process.c.in`.

    Args:
        unit: the unit.

    Attributes:
        size: number of variables.
    """

    def __init__(self, unit: PythonUnit):
        self.unit = unit
        nq, nv = unit.model.system.nq, unit.model.system.nv
        lengths = 1, nq, nv, nq, nv, nv, len(unit.parameters), nv, len(unit.actuators), 1
        ends = np.cumsum(lengths)
        self.size = int(ends[-1])
        self._slices = [slice(int(b - n), int(b)) for n, b in zip(lengths, ends, strict=True)]
        self._run: PiecewiseRun | None = None
        self._given = np.zeros(0)
        self._snapshots: dict[int, tuple[Snapshot | None, np.ndarray]] = {}
        self._last = 0

    def answer(self, code: int, a: float, b: float, values: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the number and the variables that answer a request.

        Args:
            code: number of the request in `process.c.in`.
            a, b: its arguments.
            values: all variables of the master.
        """
        begin, evaluate, advance, save, restore, forget = range(6)
        if code == begin or (code == evaluate and self._run is None):
            self._begin(values)
            if code == evaluate:
                found = self._variables(values)
                self._run = None  # the next values may differ in many numbers
                return 0.0, found
        elif code == evaluate:
            self._change(values)
        elif code == advance:
            self._advance(a, b, values)
        elif code == save:
            self._last += 1
            here = None if self._run is None else self._run.saved()
            self._snapshots[self._last] = here, self._given
            return float(self._last), values
        elif code == restore:
            self._restore(int(a))
            return 0.0, values
        elif code == forget:
            self._snapshots.pop(int(a), None)
            return 0.0, values
        return 0.0, self._variables(values)

    def _begin(self, values: np.ndarray) -> None:
        time, q, v, *_ = self._parts(values)
        self._run = PiecewiseRun(
            self.unit.model,
            q,
            v,
            t0=float(time[0]),
            params=self._params(values),
            applied=self._parts(values)[5],
            **self.unit.options,
        )
        self._given = self._inputs(values)

    def _advance(self, time: float, size: float, values: np.ndarray) -> None:
        assert self._run is not None
        self._change(values)
        if abs(time - self._run.t) > ONE_TIME * max(size, abs(time)):
            raise ModelError(
                f"{self.unit.model.name}: the master steps on from t = {time:.9g} s, expected "
                f"t = {self._run.t:.9g} s, where this unit is; restore a state to go back."
            )
        self._run.advance(size)

    def _restore(self, number: int) -> None:
        snapshot, self._given = self._snapshots[number]
        if snapshot is None:
            self._run = None
        elif self._run is not None:
            self._run.restore(snapshot)

    def _change(self, values: np.ndarray) -> None:
        """Apply the master's changes of applied forces and parameters."""
        assert self._run is not None
        now = self._inputs(values)
        if not np.array_equal(now, self._given):
            self._run.change(applied=self._parts(values)[5], params=self._params(values))
            self._given = now

    def _parts(self, values: np.ndarray) -> list[np.ndarray]:
        """Split into time, q, v, q̇, v̇, applied force, parameters, constraint force, u and
        violation.
        """
        return [values[s] for s in self._slices]

    def _inputs(self, values: np.ndarray) -> np.ndarray:
        return np.concatenate(self._parts(values)[5:7])

    def _params(self, values: np.ndarray) -> PyTree:
        return self.unit.params(self._parts(values)[6]) if self.unit.parameters else None

    def _variables(self, values: np.ndarray) -> np.ndarray:
        """Return the present values of all variables."""
        assert self._run is not None
        run, at = self._run, self._run.observed()
        applied, parameters = self._parts(values)[5:7]
        states = [run.t], run.q, run.v, at.rate, at.acceleration
        outputs = at.constraint_force, at.control, [at.violation]
        return np.concatenate([*states, applied, parameters, *outputs])
