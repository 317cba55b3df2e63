"""One rigid body, and the access to bodies by name or index."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from zwang.errors import ModelError


@dataclasses.dataclass(frozen=True)
class Body:
    """A rigid body with its origin at its center of mass.

    Attributes:
        name: prefix of its coordinates' names, e.g. "crank" gives "crank.x".
        mass: mass [kg].
        inertia: about the center of mass [kg·m²]: a number in the plane; in space the three
            principal moments along the body's own axes, or the full symmetric (3, 3) matrix in
            these axes.
    """

    name: str
    mass: float = 1.0
    inertia: float | Sequence = 1.0


@dataclasses.dataclass(frozen=True)
class FreeEquations:
    """Functions of a free system except its parameters. They contain no numbers: a compiled program
    is identified by everything that its functions refer to, and serves any masses.

    Attributes:
        wrench: `(q, v, t, p)` → further force and torque of each body, or None.
        potential: `(q, t, p)` → further potential energy, or None.
    """

    wrench: Callable | None
    potential: Callable | None


class Massive(Protocol):
    """An object with a name, a mass and an inertia: a body, or a link of a chain."""

    @property
    def name(self) -> str: ...
    @property
    def mass(self) -> float: ...
    @property
    def inertia(self) -> float | Sequence | np.ndarray: ...


def by_name(bodies: Sequence[Massive]) -> dict[str, int]:
    """Return the index of each body.

    Raises:
        ModelError: if there is none, or two share a name.
    """
    names = [body.name for body in bodies]
    if not names:
        raise ModelError(
            "no bodies given; expected a list such as [Body('rod', mass=1.0, inertia=0.1)]."
        )
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ModelError(
            f"body name {repeated[0]!r} is used {names.count(repeated[0])} times; give each "
            "body its own."
        )
    return {name: i for i, name in enumerate(names)}


def entry(index: dict[str, int], body):
    """Return `body` as an index of the axis of bodies: a name is looked up, an integer, slice or
    array is returned unchanged.

    Raises:
        ModelError: for an unknown name.
    """
    if not isinstance(body, str):
        return body
    if body not in index:
        raise ModelError(f"there is no body {body!r}; there are: {', '.join(index)}.")
    return index[body]


def stacked(bodies: Sequence[Massive], shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Return the masses, shape (nb,), and inertias, shape (nb, *shape).

    Raises:
        ModelError: for an inertia of another shape.
    """
    inertia = []
    for body in bodies:
        value = np.asarray(body.inertia, float)
        if shape == (3, 3) and value.shape == (3,):
            value = np.diag(value)
        if value.shape != shape:
            expected = "one number" if shape == () else "three principal moments or a (3, 3) matrix"
            raise ModelError(
                f"body {body.name!r} has an inertia of shape {value.shape}, expected {expected}."
            )
        inertia.append(value)
    return np.array([float(body.mass) for body in bodies]), np.array(inertia)


def entries_of(bodies: Sequence[Massive]) -> dict[str, tuple[list[str], str]]:
    """Return the bodies to which the entries of mass and inertia belong, for
    `System(parameters=...)`.
    """
    names = [body.name for body in bodies]
    return {"mass": (names, "kg"), "inertia": (names, "kg m2")}
