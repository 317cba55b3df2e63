"""Conversion of arguments to gains, and the check that an error decays under a gain."""

from __future__ import annotations

import jax
import numpy as np

from zwang.errors import ModelError
from zwang.inputs.arguments import instance
from zwang.inputs.arrays import is_concrete
from zwang.servo.gains.base import AbstractGain, numbers
from zwang.servo.gains.rate import Rate
from zwang.thresholds import ROOT_OF_ROUND_OFF

MARGINAL = 1e-12
"""A pole whose real part is smaller than this fraction of the largest pole counts as undamped,
because the roots of a polynomial are known only to round-off.
"""


def as_gain(value, name: str = "the constraint") -> AbstractGain:
    """Return a gain unchanged, and a number as `Rate`; `name` is the name of the constraint."""
    what = f"Servo: gain of {name!r}"
    if isinstance(value, type):
        instance(value, AbstractGain, what, "a number [1/s], zw.servo.Poles(...) or another gain")
    return value if isinstance(value, AbstractGain) else Rate(numbers(value, what))


def fit_rows(name: str, gain: AbstractGain, order: int, rows: int) -> None:
    """Refuse a gain whose number of entries differs from the number of rows of its servo
    constraint.

    Raises:
        ModelError: if a coefficient is neither a number, nor one per row, nor a matrix on the rows.
    """
    for shape in map(np.shape, gain.coefficients(order)):
        if shape not in ((), (1,), (rows,), (rows, rows)):
            raise ModelError(
                f"Servo: the gain of {name!r}, {type(gain).__name__}, has coefficients of shape "
                f"{shape}, but the constraint has {rows} row{'s' * (rows > 1)}: give a number, or "
                "one for each row."
            )


def require_decay(name: str, gain: AbstractGain, order: int) -> None:
    """Refuse a gain under which the error of a servo constraint does not decay.

    Args:
        name: of the servo constraint.
        gain: its gain; a gain with traced numbers is not checked.
        order: of its error dynamics.

    Raises:
        ModelError: if the gain does not fit the order, is not finite, or has a pole whose real part
            is not negative.
    """
    # check that the coefficients fit the order; traced only, because executing this would compile
    # each operation
    jax.eval_shape(lambda: gain.coefficients(order))
    if not is_concrete(gain):
        return
    poles = gain.error_poles(order)
    real, size = np.real(poles), float(np.max(np.abs(poles), initial=0.0))
    of = f"Servo: the gain of {name!r}, {type(gain).__name__},"
    if not np.all(np.isfinite(poles)):
        raise ModelError(f"{of} holds NaN or inf, expected finite numbers.")
    if not len(poles) or np.max(real) < -MARGINAL * size:
        return
    if size == 0:
        raise ModelError(
            f"{of} has all poles at 0: an error would stay, or grow if it has a rate. Give a "
            "positive gain, or leave the gain out for a start without error."
        )
    grows = np.max(real) > MARGINAL * size
    listed = ", ".join(_shown(s) for s in poles[np.argsort(-real)][:6])
    behavior = "grow without bound" if grows else "oscillate or stay and never decay"
    raise ModelError(
        f"{of} makes an error {behavior}: the poles of the error dynamics are {listed} 1/s, "
        "expected negative real parts; zw.servo.Rate(k) and zw.servo.Poles(p1, ...) take the decay "
        "rates as positive numbers."
    )


def require_real(name: str, gain: AbstractGain, order: int) -> None:
    """Refuse a gain under which an inequality could be violated.

    Raises:
        ModelError: if the gain is not linear, or has poles that are not real.
    """
    if not is_concrete(gain):
        return
    poles = gain.error_poles(order)
    # a double pole is known only to the square root of round-off
    if not len(poles) or np.any(np.abs(np.imag(poles)) > ROOT_OF_ROUND_OFF * np.abs(poles)):
        shown = ", ".join(_shown(s) for s in poles[:6]) or "of no linear law"
        raise ModelError(
            f"Servo: the gain of the inequality {name!r}, {type(gain).__name__}, has the poles "
            f"{shown}, expected real ones, or it would swing below zero: give a number, "
            "zw.servo.Rate(k) or zw.servo.Poles(p1, ...)."
        )


def _shown(pole: complex) -> str:
    """A pole in a few digits, a real pole without an imaginary part."""
    if abs(pole.imag) <= MARGINAL * abs(pole):
        return f"{pole.real:.4g}"
    return f"{pole.real:.4g}{pole.imag:+.4g}i"
