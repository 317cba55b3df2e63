"""ZYZ Euler angles: R = R_z(φ) R_y(ψ) R_z(γ)."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

DEGENERATE = 1e-15
"""sin ψ below this is round-off of a rotation matrix and has no direction: φ and γ are then one
rotation, and φ is set to 0."""


class ZYZ(NamedTuple):
    """Angles [rad]: `phi` and `gamma` about z, `psi` about y between them."""

    phi: Float[Array, "..."]
    psi: Float[Array, "..."]
    gamma: Float[Array, "..."]


def zyz_matrix(phi, psi, gamma) -> Float[Array, "... 3 3"]:
    """Return R of ZYZ angles [rad], scara paper eq. (42)."""
    (cf, sf), (cp, sp), (cg, sg) = (
        (jnp.cos(x), jnp.sin(x)) for x in jnp.broadcast_arrays(phi, psi, gamma)
    )
    rows = [
        (cf * cp * cg - sf * sg, -cf * cp * sg - sf * cg, cf * sp),
        (sf * cp * cg + cf * sg, -sf * cp * sg + cf * cg, sf * sp),
        (-sp * cg, sp * sg, cp),
    ]
    return jnp.stack([jnp.stack(row, axis=-1) for row in rows], axis=-2)


def zyz_angles(R: Float[Array, "... 3 3"]) -> ZYZ:
    """Return the ZYZ angles of a rotation, with 0 ≤ ψ ≤ π, scara paper eq. (44), and (45) where sin
    ψ = 0.

        φ = atan2(r₂₃, r₁₃), or 0 if both vanish,   ψ = atan2(√(r₁₃² + r₂₃²), r₃₃)
        γ = atan2(r₂₁ cos φ − r₁₁ sin φ, r₂₂ cos φ − r₁₂ sin φ)

    γ is the remaining rotation after R_z(−φ). Where sin ψ ≠ 0 it equals atan2(r₃₂, −r₃₁), at ψ = 0
    the atan2(−r₁₂, r₁₁) of (45), at ψ = π its counterpart. Unlike (44) it loses no digits close to
    them, and the angles always reproduce R up to round-off.

    Args:
        R: rotation matrices.
    """
    R = jnp.asarray(R)
    x, y = R[..., 0, 2], R[..., 1, 2]
    turned = x * x + y * y > DEGENERATE**2
    x, y = jnp.where(turned, x, 1.0), jnp.where(turned, y, 0.0)  # keeps derivatives finite, too
    phi = jnp.arctan2(y, x)
    sine = jnp.where(turned, jnp.hypot(x, y), 0.0)
    c, s = jnp.cos(phi), jnp.sin(phi)
    gamma = jnp.arctan2(R[..., 1, 0] * c - R[..., 0, 0] * s, R[..., 1, 1] * c - R[..., 0, 1] * s)
    return ZYZ(phi, jnp.arctan2(sine, R[..., 2, 2]), gamma)
