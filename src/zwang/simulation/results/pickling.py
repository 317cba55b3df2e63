"""Runs as bytes, for other processes: a run holds its model, whose functions are often lambdas or
stand in a user's script, which Python's own `pickle` does not take.
"""

from __future__ import annotations

import importlib
import pickle
from typing import Any

from zwang.errors import ModelError
from zwang.inputs.arrays import require_float64
from zwang.objects.extras import installation

INSTALL = f"install cloudpickle ({installation('pickle')})"


def to_bytes(run) -> bytes:
    """What a run holds, also what was computed of it so far.

    Raises:
        ModelError: if the model has functions that only cloudpickle takes, and it is not installed,
            or if something in it cannot be pickled at all, such as an open file.
    """
    state = vars(run)
    try:
        return pickle.dumps(state)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        refused = error
    try:
        cloudpickle = importlib.import_module("cloudpickle")
    except ImportError:
        raise ModelError(
            f"the run of {run.model.name} cannot be pickled, as its model holds functions that are "
            f"not at the top of a module ({refused}): {INSTALL}, or move them there."
        ) from None
    try:
        return cloudpickle.dumps(state)
    except Exception as error:  # of whatever the user's functions hold
        raise ModelError(
            f"the run of {run.model.name} cannot be pickled: its model holds something that is "
            f"tied to this process ({error}). Let its functions use numbers and arrays only."
        ) from None


def from_bytes(cls, data: bytes):
    """The run again, as `to_bytes` took it.

    Raises:
        ModelError: if JAX computes in float32 here, or if cloudpickle is needed and not installed.
    """
    require_float64()  # or arrays would come back with half their digits
    try:
        state: dict[str, Any] = pickle.loads(data)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != "cloudpickle":
            raise
        raise ModelError(
            f"this run was pickled by cloudpickle, which is missing: {INSTALL}."
        ) from None
    run = cls.__new__(cls)
    vars(run).update(state)
    return run
