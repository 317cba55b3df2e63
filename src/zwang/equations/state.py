"""Where a system is: q, v and t."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Array, Float


class State(NamedTuple):
    """An instant of a motion.

    Attributes:
        q: generalized coordinates, shape (nq,).
        v: generalized velocities, shape (nv,), with `q̇ = N(q) v`.
        t: time [s].
    """

    q: Float[Array, " nq"]
    v: Float[Array, " nv"]
    t: Float[Array, ""]


def host_state(q: Any, v: Any, t: Any) -> State:
    """A `State` of NumPy's arrays, which do where JAX's are declared."""
    held: Any = (np.asarray(q), np.asarray(v), np.float64(t))
    return State(*held)
