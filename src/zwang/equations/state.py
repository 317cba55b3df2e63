"""State of a system: q, v and t."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array, Float

from zwang.inputs.arrays import host_array, is_concrete


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

    def __repr__(self) -> str:
        if not is_concrete(self):
            return f"State(q={self.q}, v={self.v}, t={self.t})"
        digits = {"float_kind": lambda x: f"{x + 0.0:.6g}"}  # a zero has no sign
        shown = {"separator": ", ", "threshold": 24, "formatter": digits}
        q, v = (np.array2string(np.asarray(x), **shown) for x in self[:2])
        return f"State(q={q}, v={v}, t={float(self.t):.6g})"


def host_state(q: ArrayLike, v: ArrayLike, t: ArrayLike) -> State:
    """Return a `State` of NumPy arrays, which are accepted wherever JAX arrays are declared."""
    return State(*map(host_array, (q, v, t)))
