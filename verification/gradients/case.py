"""A system whose motion is differentiated, and the reduced equations that are its reference."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from scipy.integrate import solve_ivp

import zwang as zw

Values = dict[str, complex]
"""Values of the parameters that are varied, by name."""
SMALL = 1e-30
"""Imaginary part of the complex step: its square is below round-off, so that a derivative has
no error of differences.
"""
REFERENCE_RTOL = 1e-13
"""SciPy's least is 2.3e-14; at this one its motions are off by some 1e-12."""
RTOL = 1e-12


@dataclasses.dataclass(frozen=True)
class Case:
    """d(final state)/d(parameters) of one system, asked of zwang and known otherwise.

    Attributes:
        name: of the system.
        shows: what makes its derivative difficult.
        model: the model in redundant coordinates.
        values: the parameters that are varied, with their values.
        params: values → the model's parameters that differ.
        start: values → q0 and v0.
        seconds: length of the run.
        seen: (q, v) → what is compared.
        rate: (t, y, values) → dy/dt of the reduced equations, for complex numbers.
        begin: values → y at the start.
        of: (y, values) → what is compared.
    """

    name: str
    shows: str
    model: zw.Model
    values: dict[str, float]
    params: Callable
    start: Callable
    seconds: float
    seen: Callable
    rate: Callable
    begin: Callable
    of: Callable

    def answers(self, mode: str) -> Callable[[float], tuple[np.ndarray, np.ndarray]]:
        """A function of a change of the start, relative to it: what is compared at the end of
        zwang's run, shape (compared,), and its derivatives, shape (compared, parameters).

        Args:
            mode: forward or reverse.
        """
        x = jnp.array(list(self.values.values()))
        by = jax.jacfwd if mode == "forward" else jax.jacrev

        def final(x, change):
            values = dict(zip(self.values, x, strict=True))
            found = zw.trajectory(
                self.model,
                *[(1 + change) * part for part in self.start(values)],
                jnp.array([0.0, self.seconds]),
                params=self.params(values),
                gradient=mode,
                rtol=RTOL,
            )
            end = self.seen(found.q[-1], found.v[-1])
            return end, end

        program = zw.program(by(final, has_aux=True))
        return lambda change: tuple(map(np.asarray, program(x, jnp.asarray(change))))[::-1]

    def reference(self) -> tuple[np.ndarray, np.ndarray]:
        """The same of the reduced equations: DOP853 of SciPy with a complex step."""
        columns = []
        for name in self.values:
            values: Values = {
                k: v + (SMALL * 1j if k == name else 0) for k, v in self.values.items()
            }
            found = solve_ivp(
                lambda t, y, values=values: np.asarray(self.rate(t, y, values)),
                (0.0, self.seconds),
                np.asarray(self.begin(values), complex),
                method="DOP853",
                rtol=REFERENCE_RTOL,
                atol=1e-14,
            )
            end = self.of(found.y[:, -1], values)
            columns.append(np.imag(end) / SMALL)
        return np.real(end), np.array(columns).T


def single_freedom(parts: Sequence[tuple], slope: complex, rate: complex) -> complex:
    """Acceleration θ̈ of a mechanism with one freedom θ.

        Σ (m |x'|² + J φ'²) θ̈ = −Σ (m x'·x'' + J φ' φ'') θ̇² − V',   ' = d/dθ

    Args:
        parts: of each body m, J, x' and x'' (shape (2,)), φ' and φ''.
        slope: V'.
        rate: θ̇.
    """
    mass = sum(m * (a @ a) + J * f * f for m, J, a, _, f, _ in parts)
    bend = sum(m * (a @ b) + J * f * g for m, J, a, b, f, g in parts)
    return -(bend * rate**2 + slope) / mass
