"""The exact decay of the error of a servo constraint, a part of every closed form of a closed
loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.linalg import expm

from zwang.servo.gains import AbstractGain, as_gain

COMPLEX_STEP = 1e-60
"""Imaginary step of a derivative: for analytic functions it is exact to round-off, because nothing
is subtracted.
"""


def decay(gain: AbstractGain | float, start: Sequence[float], t) -> np.ndarray:
    """The error and its derivatives under its gain,

        y^(r) + c_{r−1} y^(r−1) + … + c_0 y = 0

    Args:
        gain: of the servo constraint; a number k places all poles at −k, and 0 keeps the error.
        start: y, ẏ … y^(r−1) at t = 0, shape (r,).
        t: times [s], of any shape, which may be complex.

    Returns:
        y, ẏ … y^(r−1) and y^(r), shape (r + 1, *t.shape).
    """
    t, order = np.asarray(t), len(start)
    # the error obeys a linear equation with constant coefficients, so the matrix exponential is
    # exact
    companion = np.diag(np.ones(order - 1), 1)
    companion[-1] = [-float(c) for c in as_gain(gain).coefficients(order)]
    chain = np.moveaxis(expm(t[..., None, None] * companion) @ np.asarray(start, float), -1, 0)
    return np.concatenate([chain, (companion @ chain.reshape(order, -1))[-1:].reshape(1, *t.shape)])


def along(place: Callable, t: float) -> tuple[np.ndarray, np.ndarray]:
    """A position that depends on time, and its rate, at one time.

    Args:
        place: t → coordinates, an analytic function of complex t.
        t: time [s].
    """
    found = np.asarray(place(np.asarray(t + 1j * COMPLEX_STEP)))
    rate = np.imag(found)
    # smaller values are of the order of COMPLEX_STEP squared
    return np.real(found), np.where(np.abs(rate) > COMPLEX_STEP**1.5, rate, 0.0) / COMPLEX_STEP
