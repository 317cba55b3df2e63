"""The test of a step along a curve `G(y) = 0`, of numbers by NumPy and of many curves at once by
JAX.

At a point of the curve, with J = [A | ∂φ/∂t] in scaled directions, τ its null vector and N an
orthonormal basis of the rest, every nearby configuration is `σ τ + N n`. A step of length h is
certified if the interval Newton (Krawczyk) operator of n, for all σ in [0, h] at once, maps the box
|n| ≤ w into its inside:

    |Y G| + ½ h² |Y [H] τ τ| + |Y [J] N − I| w  <  w,     Y = (J N)⁻¹,   [J] ⊂ J + [H] (σ τ + N n)

where [H] encloses the second derivatives of G over the box. Then the curve has exactly one point in
the box for each σ: what a corrector finds there lies on the branch that it started from.

Reference: Kearfott and Xing (1994), An interval step control for continuation methods, SIAM J.
Numer. Anal. 31, 892-914.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Generic, NamedTuple

import numpy as np

from zwang.algebra.decomposition import full_svd, solve_square
from zwang.inputs.arrays import AnyArray


class Split(NamedTuple, Generic[AnyArray]):
    """Directions at a point of a curve.

    Attributes:
        tangent: τ, the null direction of J, shape (n,); normal: N, its complement, in which
            corrections are made, shape (n, n − 1).
        inverse: Y = (J N)⁻¹.
    """

    tangent: AnyArray
    normal: AnyArray
    inverse: AnyArray


def split_by(xp: ModuleType, J, along) -> Split:
    """The directions of independent rows, τ along an earlier one."""
    U, S, Vt = full_svd(J)
    tangent, normal = Vt[-1], Vt[:-1].T
    return Split(xp.where(tangent @ along < 0, -tangent, tangent), normal, (U / S).T)


def across(J, normal, x):
    """The n with `J N n = x`: what a corrector adds for a residual x."""
    return solve_square(J @ normal, x)


def carried(tangent, normal, J):
    """The tangent at a point of a segment whose σ increases, in the directions of its start."""
    return tangent - normal @ across(J, normal, J @ tangent)


class Krawczyk(NamedTuple, Generic[AnyArray]):
    """The verdict on a step.

    Attributes:
        good: whether the operator maps the box into its inside.
        ratio: the largest one of what it maps the box to and its width.
        width: of the box, shape (n − 1,).
    """

    good: AnyArray
    ratio: AnyArray
    width: AnyArray


def krawczyk(xp: ModuleType, split: Split, scale, over: Callable, start, ahead, h) -> Krawczyk:
    """The interval Newton operator of n for a step of length h, see above.

    Args:
        xp: NumPy, or `jax.numpy` inside a program.
        split: directions at the begin of the step; start: |Y G| there.
        over: y low, high → middle and radius of the second derivatives in scaled directions.
        ahead: the middle of the step [unscaled].
    """
    tangent, normal, inverse = split
    line = scale * xp.abs(tangent) * h / 2

    def bounds(reach):
        middle, radius = over(ahead - reach, ahead + reach)
        middle = xp.tensordot(inverse, middle, 1)  # Y H, shape (nv, n, n)
        radius = xp.tensordot(xp.abs(inverse), radius, 1)
        bend = xp.abs(middle @ tangent @ tangent) + radius @ xp.abs(tangent) @ xp.abs(tangent)
        return middle, radius, start + h**2 / 2 * bend

    error = bounds(line)[2]
    # every normal direction at least as wide as round-off, and none much narrower than others
    width = 2.2 * xp.maximum(error, 0.02 * xp.max(error)) + 1e-13
    # the box is widened by what the correction may add, and bounded once more
    fat = xp.abs(normal) @ width
    middle, radius, error = bounds(line + scale * fat)
    across, reach = middle @ normal, h * xp.abs(tangent) + fat  # Y H N, shape (nv, n, nv)
    turned = h * xp.abs(xp.einsum("ijk,j->ik", across, tangent))
    spread = xp.abs(xp.einsum("ijk,jl->ilk", across, normal))
    turned += xp.einsum("ilk,l->ik", spread, width)
    turned += xp.einsum("ijk,j->ik", radius @ xp.abs(normal), reach)
    image = error + turned @ width
    return Krawczyk(xp.all(image < width), xp.max(image / width), width)  # false for NaN, too


def growth(good, ratio):
    """By what a step that was tried is to be multiplied for the next one: what is mapped to what
    may be is 1/2 + contraction, which grows with h.
    """
    beyond = np.maximum(ratio - 0.5, 1e-3)
    shrunk = np.where(np.isnan(ratio), 0.3, np.clip(0.4 / beyond, 0.1, 0.7))
    return np.where(good, np.clip(0.35 / beyond, 0.5, 3.0), shrunk)
