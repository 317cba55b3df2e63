"""Springs, dampers, bushings and forces: efforts f along coordinates x of two points.

V = Σ ½ k (x − x₀)²,    F = (∂ẋ/∂v)ᵀ f        (virtual power)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from zwang.inputs.arithmetic import xp
from zwang.mechanism.field_types import PartError
from zwang.mechanism.geometry import GROUND
from zwang.mechanism.joint_constraints import JointConstraints
from zwang.mechanism.relative_pose import ALL, DISPLACEMENT, DISTANCE, counted, relative_poses
from zwang.mechanism.resolution import Ends, coordinate_between, ends_between
from zwang.mechanism.schema import Bushing, Force, Spring

PLACES, SPEEDS = ("x", "y", "z"), ("vx", "vy", "vz")


class Forces:
    """All springs, bushings and forces of a mechanism, resolved and checked.

    Attributes:
        params: stiffness, damping and rest of the springs by coordinate, shape (springs, entries).
    """

    def __init__(
        self,
        springs: Mapping[str, Spring],
        bushings: Mapping[str, Bushing],
        forces: Mapping[str, Force],
        joints: JointConstraints,
    ):
        self.joints, d = joints, joints.geometry.d
        self._springs: dict[str, list[Ends]] = {}
        self._rows: dict[str, tuple[str, int]] = {}
        for name, spring in springs.items():
            self._add(name, joints.acted_on(spring, ("springs", name)))
        for name, bushing in bushings.items():
            where, size = ("bushings", name), 3 * (d - 1)
            damping = (0.0,) * size if bushing.damping is None else bushing.damping
            if not len(bushing.stiffness) == len(damping) == size:
                raise PartError(
                    where,
                    f"stiffness and damping have {len(bushing.stiffness)} and {len(damping)} "
                    f"numbers, expected {size}.",
                )
            ends = ends_between(bushing.between, joints.geometry, where)
            self._add(name, Ends(ends.a, ends.b, ALL))
        self.params = self.numbers(springs, bushings)
        self._stated = {name: _resolved(name, force, joints) for name, force in forces.items()}
        self._forces = [(joints.coordinate(ends), law) for ends, law in self._stated.values()]

    def numbers(self, springs: Mapping[str, Spring], bushings: Mapping[str, Bushing]) -> dict:
        """Stiffness, damping and rest of springs and bushings by coordinate, (springs, entries).

        The arrays are computed by NumPy on the host, or traced.
        """
        parts = {**springs, **bushings}
        found: dict[str, dict[str, Any]] = {}
        for coordinate in self._springs:
            alike = [parts[name] for name, (c, _) in self._rows.items() if c == coordinate]
            found[coordinate] = {
                name: xp.stack([_entries(part, name) for part in alike])
                for name in ("stiffness", "damping", "rest")
            }
        return found

    def _add(self, name: str, ends: Ends) -> None:
        self.joints.turns.count(ends, name)
        alike = self._springs.setdefault(ends.coordinate.name, [])
        self._rows[name] = ends.coordinate.name, len(alike)
        alike.append(ends)

    def laws(self) -> dict[str, tuple[Ends, Callable]]:
        """Points, coordinate x, law `(x, ẋ, t, p)` → effort of every spring, bushing and force."""
        springs = {
            name: (self._springs[coordinate][row], _spring_law(coordinate, row))
            for name, (coordinate, row) in self._rows.items()
        }
        return springs | self._stated

    @property
    def potential(self) -> Callable | None:
        """`(q, t, p)` → energy of the springs [J], or None."""
        if not self._springs:
            return None
        stretches = {c: self._stretch(c) for c in self._springs}

        def energy(q, t, p):
            parts = [
                0.5
                * jnp.sum(
                    p["springs"][c]["stiffness"] * (stretch(q, p) - p["springs"][c]["rest"]) ** 2
                )
                for c, stretch in stretches.items()
            ]
            return sum(parts, jnp.zeros(()))

        return energy

    def force(self, rate: Callable) -> Callable | None:
        """`(q, v, t, p)` → generalized force of dampers and forces, shape (nv,), or None."""
        if not self._springs and not self._forces:
            return None
        # also those without damping, for which a run may set it
        damped = {c: self._stretch(c) for c in self._springs}
        forces = self._forces

        def force(q, v, t, p):
            def coordinates(q):
                stretches = {c: stretch(q, p) for c, stretch in damped.items()}
                return stretches, [x(q, p) for x, _ in forces]

            x = coordinates(q)
            # ẋ is linear in v: the pullback of efforts on ẋ is the generalized force
            xdot, pull = jax.vjp(lambda v: jax.jvp(coordinates, (q,), (rate(q, v, t, p),))[1], v)
            damping = {c: -p["springs"][c]["damping"] * xdot[0][c] for c in damped}
            efforts = [law(x[1][i], xdot[1][i], t, p) for i, (_, law) in enumerate(forces)]
            return pull((damping, efforts))[0]

        return force

    def _stretch(self, coordinate: str) -> Callable:
        """`(q, p)` → the coordinate of all springs that act on it, shape (springs, entries)."""
        springs, frames = self._springs[coordinate], self.joints.frames
        a, b = (np.array([getattr(ends, x) for ends in springs]) for x in "ab")
        value = springs[0].coordinate.value
        entries = [self.joints.turns.entry(x) for x in springs]
        counts = np.array([x for x in entries if x is not None], int)

        def stretch(q, p):
            values = jax.vmap(value)(relative_poses(frames(q, p), a, b))
            if len(counts):  # turns of one coordinate are counted for all springs or for none
                values = counted(values, q[counts])
            return values.reshape(len(a), -1)

        return stretch


def _entries(part: Spring | Bushing, name: str):
    """Stiffness, damping or rest of a spring or bushing, shape (entries,)."""
    given = getattr(part, name, None)
    if given is None:  # a bushing without damping, or its rest
        assert isinstance(part, Bushing)
        given = xp.zeros(len(part.stiffness))
    return xp.atleast_1d(xp.asarray(given, float))


def _spring_law(coordinate: str, row: int) -> Callable:
    """`(x, ẋ, t, p)` → −k (x − x₀) − d ẋ of one spring or bushing."""

    def law(x, xdot, t, p):
        k, d, rest = (
            jnp.reshape(p["springs"][coordinate][name][row], jnp.shape(x))
            for name in ("stiffness", "damping", "rest")
        )
        return -k * (x - rest) - d * xdot

    return law


def _resolved(name: str, force: Force, joints: JointConstraints) -> tuple[Ends, Callable]:
    """The points of a force, and its law `(x, ẋ, t, p)` → effort."""
    where, geometry, d = ("forces", name), joints.geometry, joints.geometry.d
    if sum(x is not None for x in (force.on, force.joint, force.between)) != 1:
        raise PartError(where, "expected exactly one of on, joint and between.")
    if force.on is not None and force.coordinate is None:
        a, b = geometry.point(GROUND, where), geometry.point(force.on, (*where, "on"))
        efforts = force.effort if isinstance(force.effort, tuple) else (force.effort,)
        if len(efforts) != d:
            raise PartError((*where, "effort"), f"has {len(efforts)} components, expected {d}.")
        known = ("t", *PLACES[:d], *SPEEDS[:d])
        laws = [joints.formula(x, known, (*where, "effort")) for x in efforts]

        def law(x, xdot, t, p):
            values = {**p["parameters"], **dict(zip(known, [t, *x, *xdot], strict=True))}
            return jnp.stack([component.traced(values) for component in laws])

        return Ends(a, b, DISPLACEMENT), law
    if isinstance(force.effort, tuple):
        raise PartError((*where, "effort"), "has components; a coordinate takes one formula.")
    if force.joint is not None:
        ends = joints.of(force.joint, force.coordinate, where)
    elif force.between is not None:
        chosen = force.coordinate or DISTANCE.name
        ends = coordinate_between(force.between, geometry, where, chosen)
    else:
        ends = coordinate_between((GROUND, force.on), geometry, where, force.coordinate)
    one = joints.formula(force.effort, ("t", "value", "rate"), (*where, "effort"))
    if "value" in one.names:
        joints.turns.count(ends, name)
    return ends, lambda x, xdot, t, p: one.traced(
        {**p["parameters"], "t": t, "value": x, "rate": xdot}
    )
