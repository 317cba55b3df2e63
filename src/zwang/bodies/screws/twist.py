"""Twists ξ = (v, ω), shape (6,), and the rigid motions that they generate, 4 × 4 matrices g = [[R,
p], [0, 1]].

    e^(ξ̂ q) = [[e^(ω̂ q), q (v + ω̂² v) − sin q ω̂² v + (1 − cos q) ω̂ v], [0, 1]]
    Ad_g ξ = (R v + p × R ω, R ω)          the same twist after the motion g
    [ξ₁, ξ₂] = (ω₁ × v₂ − ω₂ × v₁, ω₁ × ω₂)   d/dq Ad_(e^(ξ̂₁ q)) ξ₂ at q = 0

The exponential is valid for ‖ω‖ = 1, where v + ω̂²v = ω ωᵀv is the advance along the axis, and for
ω = 0, so that one formula serves both kinds of joints. All functions of g and ξ take any number of
leading axes.
"""

from __future__ import annotations

from types import ModuleType

import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array, Float

from zwang.errors import ModelError
from zwang.inputs.arithmetic import on_host, traced, xp
from zwang.inputs.arrays import AnyArray, is_concrete


def revolute(axis, point=(0.0, 0.0, 0.0)) -> np.ndarray:
    """Return the twist `(−ω × L, ω)` of a revolute joint.

    Args:
        axis: its direction, shape (3,), of any nonzero length.
        point: any point L on it [m], shape (3,).

    Raises:
        ModelError: for an axis without direction.
    """
    with _home(axis, point):
        w = _direction(axis, "axis of a revolute joint")
        # no −0
        return xp.concatenate([-xp.cross(w, _vector(point, "point of a revolute joint")), w]) + 0.0


def prismatic(direction) -> np.ndarray:
    """Return the twist `(v, 0)` of a prismatic joint.

    Args:
        direction: shape (3,), of any nonzero length.

    Raises:
        ModelError: for a direction of length zero.
    """
    with _home(direction):
        way = _direction(direction, "direction of a prismatic joint")
        return xp.concatenate([way, np.zeros(3)])


def hat(w: AnyArray) -> AnyArray:
    """Return ŵ with ŵ x = w × x, shapes (…, 3) and (…, 3, 3)."""
    x, y, z = xp.moveaxis(w, -1, 0)
    zero = xp.zeros_like(x)
    entries = xp.stack([zero, -z, y, z, zero, -x, -y, x, zero], axis=-1)
    return entries.reshape(*entries.shape[:-1], 3, 3)


def motion(R: AnyArray, place: AnyArray) -> AnyArray:
    """Return g of a rotation (…, 3, 3) and a place [m], (…, 3), shape (…, 4, 4)."""
    bottom = xp.broadcast_to(xp.array([0.0, 0.0, 0.0, 1.0]), (*R.shape[:-2], 1, 4))
    return xp.concatenate([xp.concatenate([R, place[..., None]], axis=-1), bottom], axis=-2)


def exponential(twist: AnyArray, q: ArrayLike) -> AnyArray:
    """Return `e^(ξ̂ q)`, the motion of a joint, shape (…, 4, 4).

    Args:
        twist: shape (…, 6), with ‖ω‖ = 1 or ω = 0, as `revolute` and `prismatic` return it.
        q: angle [rad], or distance [m] where ω = 0.
    """
    v, w, q = twist[..., :3], hat(twist[..., 3:]), xp.asarray(q)[..., None]
    s, c = xp.sin(q), xp.cos(q)
    wv = (w @ v[..., None])[..., 0]
    wwv = (w @ wv[..., None])[..., 0]
    R = xp.eye(3) + s[..., None] * w + (1 - c)[..., None] * (w @ w)
    return motion(R, q * (v + wwv) - s * wwv + (1 - c) * wv)


def inverse(g: AnyArray) -> AnyArray:
    """Return g⁻¹ = [[Rᵀ, −Rᵀp], [0, 1]], shapes (…, 4, 4); as a NumPy array if g is one."""
    own: ModuleType = g.__array_namespace__()
    back = own.swapaxes(g[..., :3, :3], -1, -2)
    top = own.concatenate([back, -(back @ g[..., :3, 3:])], axis=-1)
    return own.concatenate([top, g[..., 3:, :]], axis=-2)


def adjoint(g: AnyArray) -> AnyArray:
    """Return Ad_g = [[R, p̂R], [0, R]], shapes (…, 4, 4) and (…, 6, 6)."""
    R, p = g[..., :3, :3], g[..., :3, 3]
    upper = xp.concatenate([R, hat(p) @ R], axis=-1)
    return xp.concatenate([upper, xp.concatenate([xp.zeros_like(R), R], axis=-1)], axis=-2)


def bracket(a: Float[Array, "... 6"], b: Float[Array, "... 6"]) -> Float[Array, "... 6"]:
    """Return `[a, b] = ad_a b`, the Lie bracket of two twists."""
    (va, wa), (vb, wb) = xp.split(a, 2, axis=-1), xp.split(b, 2, axis=-1)
    return xp.concatenate([xp.cross(wa, vb) - xp.cross(wb, va), xp.cross(wa, wb)], axis=-1)


def _home(*given):
    """Return the context in which twists are computed: on the host unless they are traced."""
    return on_host() if is_concrete(given) else traced()


def _direction(given, what: str) -> np.ndarray:
    vector = _vector(given, what)
    length = xp.linalg.norm(vector)
    if is_concrete(length) and not length > 0:
        raise ModelError(
            f"the {what} is {vector.tolist()}, which has no direction; give a vector other than "
            "zero."
        )
    return vector / length


def _vector(given, what: str) -> np.ndarray:
    vector = xp.asarray(given, float)
    known = is_concrete(vector)
    if vector.shape != (3,) or (known and not np.isfinite(vector).all()):
        raise ModelError(f"the {what} is {given!r}, expected three finite numbers.")
    return vector
