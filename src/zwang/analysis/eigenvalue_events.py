"""Where eigenvalues of a linearization meet or cross the imaginary axis along a branch: Hopf points
and double eigenvalues.

| event | what changes | measure that passes through zero |
|---|---|---|
| Hopf point | a pair of complex eigenvalues crosses the imaginary axis | its real part |
| double eigenvalue | two real ones become a pair, or two leave the axis | `(λ₁ − λ₂)²` |

Where two imaginary ones meet and leave the axis is the Hamiltonian Hopf point, at which a
conservative system loses its stability by flutter. `(λ₁ − λ₂)²` is a smooth function of the
parameter where the eigenvalues themselves have a square root.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from zwang.thresholds import ALL_BUT_ZERO

EVENT_ZERO = 1e-3
"""Eigenvalues below this times the largest are left to folds and branch points."""


class Event(NamedTuple):
    """A kind of event, the measure that passes through zero at it, and the eigenvalue there."""

    kind: str
    measure: Callable[[np.ndarray], float]
    eigenvalue: Callable[[np.ndarray], complex]


class _Counts(NamedTuple):
    """How many eigenvalues away from zero are real, and how many pairs lie left, on, right."""

    real: int
    left: int
    center: int
    right: int


def events(before: np.ndarray, after: np.ndarray, rate: float) -> list[Event]:
    """What happens between two neighbors on a branch, by the eigenvalues at both.

    Args:
        before, after: eigenvalues, shape (n,).
        rate: size of eigenvalues [1/s].
    """
    a, b = _counts(before, rate), _counts(after, rate)
    found = []
    # a neighbor may lie on the axis itself
    if a.real == b.real and abs(a.center - b.center) <= 1 and abs(a.right - b.right) == 1:
        found.append(Event("Hopf point", lambda x: _crossing(x, rate).real, _upright(rate)))
    elif abs(a.real - b.real) == 2 and a.center == b.center and _pairs(before, after, rate):
        found.append(Event("double eigenvalue", lambda x: _gap(_real_pair(x, rate)), _mean(rate)))
    elif a.real == b.real and abs(a.center - b.center) == 2 and a.right != b.right:
        found.append(
            Event(
                "double eigenvalue",
                lambda x: _gap(_closest(_upper(x, rate))),
                lambda x: complex(0, np.mean(_closest(_upper(x, rate))).imag),
            )
        )
    return found


def _counts(values: np.ndarray, rate: float) -> _Counts:
    away = values[np.abs(values) > EVENT_ZERO * rate]
    pairs = away[np.imag(away) > ALL_BUT_ZERO * rate]
    sides = np.sign(np.where(np.abs(np.real(pairs)) > ALL_BUT_ZERO * rate, np.real(pairs), 0.0))
    real = int(np.sum(np.abs(np.imag(away)) <= ALL_BUT_ZERO * rate))
    return _Counts(real, *(int(np.sum(sides == side)) for side in (-1, 0, 1)))


def _upper(values: np.ndarray, rate: float) -> np.ndarray:
    return values[(np.imag(values) > ALL_BUT_ZERO * rate) & (np.abs(values) > EVENT_ZERO * rate)]


def _crossing(values: np.ndarray, rate: float) -> complex:
    """The pair that is nearest to the imaginary axis."""
    pairs = _upper(values, rate)
    return complex(pairs[np.argmin(np.abs(np.real(pairs)))])


def _upright(rate: float) -> Callable[[np.ndarray], complex]:
    return lambda x: complex(0, _crossing(x, rate).imag)


def _closest(values: np.ndarray) -> np.ndarray:
    """The two values of several that are closest to each other."""
    apart = np.abs(values[:, None] - values) + np.where(np.eye(len(values)), np.inf, 0.0)
    return values[list(np.unravel_index(np.argmin(apart), apart.shape))]


def _pairs(before: np.ndarray, after: np.ndarray, rate: float) -> bool:
    """Whether both neighbors have pairs away from zero: one that comes out of zero is no event."""
    return all(len(_choices(x, rate)) for x in (before, after))


def _real_pair(values: np.ndarray, rate: float) -> np.ndarray:
    """The two eigenvalues that are real on one side and conjugate on the other: those closest to
    each other among conjugates and neighbors on the real axis.
    """
    return min(_choices(values, rate), key=lambda pair: abs(pair[0] - pair[1]))


def _choices(values: np.ndarray, rate: float) -> list[np.ndarray]:
    """Conjugates, and neighbors on the real axis."""
    away = values[np.abs(values) > EVENT_ZERO * rate]
    real = np.sort(np.real(away[np.abs(np.imag(away)) <= ALL_BUT_ZERO * rate]))
    pairs = away[np.imag(away) > ALL_BUT_ZERO * rate]
    choices = [np.array([x, np.conj(x)]) for x in pairs]
    return choices + [np.array([x, y], complex) for x, y in zip(real, real[1:], strict=False)]


def _mean(rate: float) -> Callable[[np.ndarray], complex]:
    return lambda x: complex(np.mean(_real_pair(x, rate)).real)


def _gap(pair: np.ndarray) -> float:
    """`(λ₁ − λ₂)²`, which is real for both kinds of pairs."""
    return float(np.real((pair[0] - pair[1]) ** 2))
