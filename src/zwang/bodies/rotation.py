"""Rotation in space by unit quaternions q = (w, x, y, z), with angular velocity ω in body axes.

    R(q)            body axes → space
    q̇ = ½ E(q) ω    E(q) ω = q ∘ (0, ω)
    q ⊕ w = q ∘ exp(w),  exp(w) = (cos |w|/2, sin(|w|/2) w/|w|)

All functions take any number of leading axes, so that several bodies cost one call. R and E have
two implementations: by components, which is fast, and as a product with a table of numbers, which
is slower by a tenth but compiles in a fraction of the time; by components, R is most of the
operations of a model in space.

Reference: Shabana (2013), Dynamics of Multibody Systems, section 3.2 (Euler parameters).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from jaxtyping import Array, Float

from zwang.compile.engine import is_native
from zwang.compile.hints import traced_once
from zwang.inputs.arithmetic import xp

IDENTITY = (1.0, 0.0, 0.0, 0.0)
"""The quaternion of the identity."""
SERIES = 1e-4
"""Squared half angle [rad²] below which sine and cosine are summed as series. They and their
derivatives are exact up to round-off, also at zero."""


def _of_components(rows: Callable) -> np.ndarray:
    """Return a matrix that is linear in (w, x, y, z), from its values at the unit vectors: axis
    0.
    """
    return np.array([rows(*unit) for unit in np.eye(4)])


def _body_axes(w, x, y, z) -> list[tuple]:
    """Return the rows of E(q)."""
    return [(-x, -y, -z), (w, -z, y), (z, w, -x), (-y, x, w)]


BODY_AXES = _of_components(_body_axes)
"""E(q) with q ∘ (0, u) = E(q) u."""
SPACE_AXES = _of_components(
    lambda w, x, y, z: [(-x, -y, -z), (w, z, -y), (-z, w, x), (y, -x, w)],
)
"""G(q) with (0, u) ∘ q = G(q) u."""
_BOTH = np.einsum("aki,bkj->abij", SPACE_AXES, BODY_AXES)
_ONCE = np.triu(np.ones((4, 4))) - 0.5 * np.eye(4)
ROTATION = (_ONCE[..., None, None] * (_BOTH + _BOTH.swapaxes(0, 1))).reshape(16, 9)
"""R of a unit quaternion, G(q)ᵀ E(q), from the products of components, each pair of them once."""


def _by_table(q: Array) -> bool:
    """Return whether to multiply by a table: in NumPy, and in native code, which omits its
    zeros.
    """
    return isinstance(q, np.ndarray) or is_native()


@traced_once
def rotation_matrix(q: Float[Array, "... 4"]) -> Float[Array, "... 3 3"]:
    """Return R with x_space = R x_body. It is the same for every length of q, so that the growth of
    |q| in a step does not deform bodies.
    """
    if _by_table(q):
        pairs = (q[..., :, None] * q[..., None, :]).reshape(*q.shape[:-1], 16)
        R = (pairs @ ROTATION.astype(q.dtype)).reshape(*q.shape[:-1], 3, 3)
        return R / (q * q).sum(axis=-1)[..., None, None]
    w, x, y, z = xp.moveaxis(q, -1, 0)
    R = xp.stack(
        [
            xp.stack(
                [w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y)], axis=-1
            ),
            xp.stack(
                [2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x)], axis=-1
            ),
            xp.stack(
                [2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z], axis=-1
            ),
        ],
        axis=-2,
    )
    # one division instead of a normalization before: two square roots fewer
    return R / (w * w + x * x + y * y + z * z)[..., None, None]


def quaternion(R: Float[Array, "... 3 3"]) -> Float[Array, "... 4"]:
    """Return a unit quaternion of a rotation matrix, the inverse of `rotation_matrix` up to the
    sign: the longest column of q qᵀ.
    """
    trace = xp.trace(R, axis1=-2, axis2=-1)[..., None, None]
    axis = xp.stack([R[..., k, j] - R[..., j, k] for j, k in ((1, 2), (2, 0), (0, 1))], axis=-1)[
        ..., None
    ]
    spatial = R + xp.swapaxes(R, -1, -2) + (1 - trace) * xp.eye(3)
    # 4 q qᵀ
    square = xp.concatenate(
        [
            xp.concatenate([1 + trace, axis], axis=-2),
            xp.concatenate([xp.swapaxes(axis, -1, -2), spatial], axis=-2),
        ],
        axis=-1,
    )
    # the longest column is the most accurate one: no entry of it suffers cancellation
    longest = xp.argmax(xp.diagonal(square, axis1=-2, axis2=-1), axis=-1)
    return normalized(xp.take_along_axis(square, longest[..., None, None], axis=-1)[..., 0])


def product(a: Float[Array, "... 4"], b: Float[Array, "... 4"]) -> Float[Array, "... 4"]:
    """Return `a ∘ b`: first the rotation b, then a; R(a ∘ b) = R(a) R(b)."""
    aw, ax, ay, az = xp.moveaxis(xp.asarray(a), -1, 0)
    bw, bx, by, bz = xp.moveaxis(xp.asarray(b), -1, 0)
    return xp.stack(
        [
            aw * bw - ax * bx - ay * by - az * bz,
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
        ],
        axis=-1,
    )


def conjugate(q: Float[Array, "... 4"]) -> Float[Array, "... 4"]:
    """Return the inverse rotation."""
    return q * np.array([1.0, -1.0, -1.0, -1.0])


def rate_map(q: Float[Array, "... 4"]) -> Float[Array, "... 4 3"]:
    """Return `½ E(q)` with `q̇ = ½ E(q) ω`, ω in body axes [rad/s]."""
    if _by_table(q):
        E = q @ BODY_AXES.reshape(4, 12).astype(q.dtype)
        return 0.5 * E.reshape(*q.shape[:-1], 4, 3)
    rows = _body_axes(*xp.moveaxis(q, -1, 0))
    return 0.5 * xp.stack([xp.stack(row, axis=-1) for row in rows], axis=-2)


def exponential(w: Float[Array, "... 3"]) -> Float[Array, "... 4"]:
    """Return the quaternion of the rotation vector w = axis · angle [rad]; smooth at zero."""
    square = 0.25 * xp.sum(w * w, axis=-1)
    small = square < SERIES
    # √0 has no derivative, and `where` differentiates both of its branches
    half = xp.sqrt(xp.where(small, 1.0, square))
    cosine = xp.where(small, 1 - square / 2 * (1 - square / 12 * (1 - square / 30)), xp.cos(half))
    ratio = xp.where(
        small, 1 - square / 6 * (1 - square / 20 * (1 - square / 42)), xp.sin(half) / half
    )
    return xp.concatenate([cosine[..., None], 0.5 * ratio[..., None] * w], axis=-1)


def rotation_vector(q: Float[Array, "... 4"]) -> Float[Array, "... 3"]:
    """Return the rotation vector [rad] of a unit quaternion, of length at most π: the inverse of
    `exponential`; smooth at zero.
    """
    # q and −q are the same rotation; the nearer one rotates by π at most
    q = xp.where(q[..., :1] < 0, -q, q)
    square = xp.sum(q[..., 1:] ** 2, axis=-1)
    small = square < SERIES
    sine = xp.sqrt(xp.where(small, 1.0, square))
    series = 2 * (1 + square / 6 * (1 + square * 9 / 20 * (1 + square * 25 / 42)))
    ratio = xp.where(small, series, 2 * xp.arctan2(sine, q[..., 0]) / sine)
    return ratio[..., None] * q[..., 1:]


def from_axis_angle(axis, angle) -> Float[Array, "... 4"]:
    """Return the quaternion of a rotation by `angle` [rad] about `axis`, of any nonzero length."""
    axis = xp.asarray(axis, float)
    return exponential(
        axis / xp.linalg.norm(axis, axis=-1, keepdims=True) * xp.asarray(angle)[..., None]
    )


def normalized(q: Float[Array, "... 4"]) -> Float[Array, "... 4"]:
    """Return q at unit length."""
    return q / xp.sqrt(xp.sum(q * q, axis=-1, keepdims=True))


def moved(q: Float[Array, "... 4"], w: Float[Array, "... 3"]) -> Float[Array, "... 4"]:
    """Return `q ⊕ w`: q rotated by the rotation vector w [rad] in body axes, at unit length."""
    return normalized(product(q, exponential(w)))
