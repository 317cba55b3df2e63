"""The exact solution of the pendulum equation, `α̈ = −k sin α`."""

from __future__ import annotations

import numpy as np

from zwang.gallery.elliptic import amplitude, first_kind, jacobi


def swing(k: float, angle: float, rate: float, t: np.ndarray) -> np.ndarray:
    """Angle from the stable equilibrium, by elliptic functions of parameter μ = (½ α̇² + k (1 − cos
    α)) / 2k:

        μ < 1, oscillation:   tan(α/2) = √μ sn(u, μ) / dn(u, μ),    u = √k t + u₀
        μ ≥ 1, rotation:      α/2 = ± am(u, 1/μ),                   u = √(kμ) t + u₀

    Args:
        k: stiffness [1/s²], e.g. g / length.
        angle, rate: α [rad] and α̇ [rad/s] at t = 0.
        t: times [s], shape (samples,).

    Returns:
        α [rad], shape (samples,); it counts full turns.

    Reference: Whittaker (1937), A Treatise on the Analytical Dynamics of Particles and Rigid
        Bodies, section 44.
    """
    t = np.asarray(t, float)
    if k == 0 or (rate == 0 and np.sin(angle / 2) ** 2 in (0.0, 1.0)):
        return angle + rate * t
    if k < 0:
        return np.pi + swing(-k, angle - np.pi, rate, t)
    turns = 2 * np.pi * np.round(angle / (2 * np.pi))
    half = (angle - turns) / 2
    parameter = rate**2 / (4 * k) + np.sin(half) ** 2
    if parameter < 1:
        phase = first_kind(np.arctan2(np.sin(half), rate / (2 * np.sqrt(k))), parameter)
        sn, _, dn = jacobi(np.sqrt(k) * t + phase, parameter)
        return turns + 2 * np.arctan2(np.sqrt(parameter) * sn, dn)
    way = np.sign(rate)
    phase = first_kind(way * half, 1 / parameter)
    return turns + 2 * way * amplitude(np.sqrt(k * parameter) * t + phase, 1 / parameter)
