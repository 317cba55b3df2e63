"""Runs as bytes, for other processes. A run contains its model, whose functions are often lambdas
or defined in a user's script, which Python's own `pickle` does not accept.
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
    """Return the contents of a run, including the results computed from it so far.

    Raises:
        ModelError: if the model has functions that only cloudpickle accepts, and it is not
            installed, or if something in it cannot be pickled at all, such as an open file.
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
    except Exception as error:  # from any object that the user's functions refer to
        raise ModelError(
            f"the run of {run.model.name} cannot be pickled: its model holds something that is "
            f"tied to this process ({error}). Let its functions use numbers and arrays only."
        ) from None


def from_bytes(cls, data: bytes):
    """Return the run that `to_bytes` wrote.

    Raises:
        ModelError: if JAX computes in float32 here, or if cloudpickle is needed and not installed.
    """
    require_float64()  # float32 would lose half the digits of arrays
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
