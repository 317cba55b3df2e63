"""Every kind of joint, a few lines each: rows that vanish, written with the gap and turn of two
points (`pairs.py`).

| joint | plane: rows | space: rows | own numbers |
|---|---|---|---|
| revolute | 2 | 5, axis z | |
| prismatic | 2, along x | 5, along z | |
| cylindrical | | 4, axis z | |
| universal | | 4, axes x of the first and y of the second point | |
| spherical | | 3 | |
| planar | | 3, normal z | |
| fixed | 3 | 6 | |
| slot | 1, along x | 2, along z | |
| rod | 1 | 1 | length |
| screw | | 5, axis z | pitch |
| rolling | 2, on the line x | 1 and 2 of velocities, on the plane z = 0, axis z | radius |
| knife | 1 of velocities, along x | 1 of velocities, along x in the plane of x and y | |
| path | 1 | 1 | equation |
| gear, belt | 1, of two joints' angles | 1 | ratio, phase |
| rack | 1, of an angle and a slide | 1 | radius, phase |
| cam | 1, of an angle and a slide or angle | 1 | lift |

To add one, write a `Kind` and put it into `KINDS`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import jax.numpy as jnp

from zwang.mechanism.pairs import Pair, angle, sines, slide, wrapped


@dataclasses.dataclass(frozen=True)
class Kind:
    """A kind of joint.

    Attributes:
        plane, space: `(pair, size)` → rows that vanish, of shape (rows,) or a number; `(pair, pair,
            size)` for one that couples two joints; None where there is no such joint.
        plane_rates, space_rates: `(pair, rate of the pair, size)` → rows of velocities that vanish,
            likewise.
        sizes: names of its own numbers, in the order of `size`.
        coordinate: what a drive or spring of the joint takes unless told otherwise.
        couples: whether it couples two joints rather than two points.
        phase: whether its last number is a constant that is taken as drawn.
        formula: name of its formula, or None.
    """

    plane: Callable | None = None
    space: Callable | None = None
    plane_rates: Callable | None = None
    space_rates: Callable | None = None
    sizes: tuple[str, ...] = ()
    coordinate: str | None = None
    couples: bool = False
    phase: bool = False
    formula: str | None = None


def _rod(x: Pair, size):
    """(|gap|² − l²)/2l, which is |gap| − l to first order and smooth where the gap is none."""
    return (x.gap @ x.gap - size[0] ** 2) / (2 * size[0])


def _lean(turn):
    """Rows that keep the z axes parallel."""
    return turn[:2, 2]


def _screw(x: Pair, size):
    return jnp.concatenate(
        [x.gap[:2], _lean(x.turn), wrapped(angle(x) - 2 * jnp.pi * x.gap[2] / size[0])[None]]
    )


def _line_rolling(x: Pair, size):
    """The center at the radius above the line, and its way that of the rim; `size[1]` is the phase."""
    return jnp.stack([x.gap[1] - size[0], x.gap[0] + size[0] * x.turn - size[1]])


def to_contact(x: Pair, radius):
    """From a disk's center to its lowest point, in the axes of the plane that it touches with z =
    0.
    """
    axis = x.turn[:, 2]
    up = jnp.array([0.0, 0.0, 1.0])
    return -radius * (up - axis[2] * axis) / jnp.sqrt(1 - axis[2] ** 2)


def _contact(x: Pair, size):
    return x.gap[2] + to_contact(x, size[0])[2]


def _rolling(x: Pair, rate: Pair, size):
    """The velocity of the disk's lowest point along the plane."""
    spin = sines(
        rate.turn @ x.turn.T
    )  # Ṙ Rᵀ is antisymmetric: its entries are the angular velocity
    return (rate.gap + jnp.cross(spin, to_contact(x, size[0])))[:2]


def _plane_knife(x: Pair, rate: Pair, size):
    return jnp.cos(x.turn) * rate.gap[1] - jnp.sin(x.turn) * rate.gap[0]


def _space_knife(x: Pair, rate: Pair, size):
    return x.turn[:, 1] @ rate.gap


def _gear(a: Pair, b: Pair, size):
    return size[0] * angle(a) + size[1] * angle(b) - size[2]


def _belt(a: Pair, b: Pair, size):
    return size[0] * angle(a) - size[1] * angle(b) - size[2]


def _rack(a: Pair, b: Pair, size):
    return slide(b) - size[0] * angle(a) - size[1]


def _teeth(coupling: Callable) -> Callable:
    """A coupling in space, whose angles know no whole turns; whole numbers of teeth make no
    difference between them.
    """
    return lambda a, b, size: wrapped(coupling(a, b, size)) / size[0]


KINDS: dict[str, Kind] = {
    "revolute": Kind(
        plane=lambda x, size: x.gap,
        space=lambda x, size: jnp.concatenate([x.gap, _lean(x.turn)]),
        coordinate="angle",
    ),
    "prismatic": Kind(
        plane=lambda x, size: jnp.stack([x.gap[1], x.turn]),
        space=lambda x, size: jnp.concatenate([x.gap[:2], sines(x.turn)]),
        coordinate="slide",
    ),
    "cylindrical": Kind(
        space=lambda x, size: jnp.concatenate([x.gap[:2], _lean(x.turn)]), coordinate="slide"
    ),
    "universal": Kind(space=lambda x, size: jnp.append(x.gap, x.turn[0, 1])),
    "spherical": Kind(space=lambda x, size: x.gap),
    "planar": Kind(space=lambda x, size: jnp.append(_lean(x.turn), x.gap[2]), coordinate="angle"),
    "fixed": Kind(
        plane=lambda x, size: jnp.append(x.gap, x.turn),
        space=lambda x, size: jnp.concatenate([x.gap, sines(x.turn)]),
    ),
    "slot": Kind(
        plane=lambda x, size: x.gap[1], space=lambda x, size: x.gap[:2], coordinate="slide"
    ),
    "rod": Kind(plane=_rod, space=_rod, sizes=("length",)),
    "screw": Kind(space=_screw, sizes=("pitch",), coordinate="slide"),
    "rolling": Kind(
        plane=_line_rolling,
        space=_contact,
        space_rates=_rolling,
        sizes=("radius", "phase"),
        phase=True,
        coordinate="angle",
    ),
    "knife": Kind(plane_rates=_plane_knife, space_rates=_space_knife),
    "path": Kind(formula="equation"),
    "gear": Kind(
        plane=_gear, space=_teeth(_gear), sizes=("ratio", "phase"), couples=True, phase=True
    ),
    "belt": Kind(
        plane=_belt, space=_teeth(_belt), sizes=("ratio", "phase"), couples=True, phase=True
    ),
    "rack": Kind(
        plane=_rack,
        space=lambda a, b, size: size[0] * wrapped(_rack(a, b, size) / size[0]),
        sizes=("radius", "phase"),
        couples=True,
        phase=True,
    ),
    "cam": Kind(couples=True, formula="lift"),
}
