"""Where a system is: q, v and t."""

from __future__ import annotations

from typing import NamedTuple, cast

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


def host_state(q, v, t) -> State:
    """A state of NumPy arrays, which compiled programs and host code take as well as JAX's own."""
    return State(*(cast(Array, np.asarray(x)) for x in (q, v, t)))
