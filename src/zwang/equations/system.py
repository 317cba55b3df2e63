"""The free system: M(q, t) v̇ = F(q, v, t), q̇ = N(q) v + n(q)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from zwang.errors import ModelError
from zwang.inputs.arguments import (
    count,
    function,
    label,
    labels,
    mapping,
    optional_function,
    refuse,
    text,
    texts,
)
from zwang.inputs.call import misfits_named
from zwang.objects.display import present
from zwang.objects.record import Record, field

MOST_COORDINATES = 1_000_000
"""Largest number of coordinates of a system; a model is evaluated once when it is built."""


class Names(tuple):
    """Tuple of names that a pytree treats as one static value. A compiled function compares its
    static arguments with those it was compiled for at each call, and compares plain tuples element
    by element: 10⁵ names took as long as an acceleration.
    """

    def __hash__(self):
        if not hasattr(self, "_hash"):
            self._hash = super().__hash__()
        return self._hash

    def __eq__(self, other):
        return self is other or super().__eq__(other)

    def __ne__(self, other):
        return not self == other

    def __reduce__(self):
        return Names, (tuple(self),)  # without the hash, which is another one in another process

    def __fingerprint__(self):
        return tuple(self)


class AbstractVelocityMap(ABC):
    """Velocity map N of a large system, mostly zeros, with a product `N dv` that does not form N.

    It is intended for the systems of the library: only `zwang.testing.check_model` compares the
    product with N.
    """

    @abstractmethod
    def __call__(self, q, t, p) -> Float[Array, "nq nv"]:
        """N."""

    @abstractmethod
    def along(self, q, dv, t, p) -> Float[Array, " nq"]:
        """`N dv`."""


class AbstractMassMatrix(ABC):
    """Mass matrix of a system that computes `M w` and its derivatives with fewer operations than
    forming M needs; intended for the systems of the library.
    """

    @abstractmethod
    def __call__(self, q, t, p) -> Float[Array, "nv nv"]:
        """M."""

    @abstractmethod
    def times(self, q, t, p, w) -> Float[Array, " nv"]:
        """`M w`."""


class System(Record):
    """Free system, that is a system without constraints, given by plain functions.

        M(q, t) v̇ = F(q, v, t),    q̇ = N(q) v

    Args:
        nq: number of coordinates.
        mass_matrix: `(q, t, p)` → M [kg, kg·m² …] as diagonal (nv,), dense (nv, nv) or block
            diagonal (nb, k, k).
        force: `(q, v, t, p)` → F [N, N·m …], shape (nv,): all forces except constraint forces,
            including Coriolis terms.
        nv: number of velocities; nq by default.
        velocity_map: `(q, t, p)` → N, shape (nq, nv); the identity by default.
        offset: `(q, t, p)` → n in `q̇ = N v + n`, shape (nq,): rates that do not depend on v, as
            for variables of third order (`zw.HigherOrder`); none by default.
        retract: `(q, dv, t, p)` → q moved along the velocity direction `dv` on the manifold of
            coordinates, for example keeping a quaternion at unit length; `q + N dv` by default. It
            is applied after every step and every projection.
        potential: `(q, t, p)` → potential energy [J]; with it a run reports energy and power
            balance.
        coordinates, velocities: names, used in results and plots; `q0, q1 …` and the coordinates'
            names by default.
        units: unit of each coordinate ("m", "rad", …), used on axes; empty by default.
        velocity_units: unit of each velocity; the coordinate's unit per second by default.
        energy_unit: unit of energy that follows from the units of mass, length and time of M and F.
        parameters: owners and unit of the entries of array parameters, by parameter:
            `{"mass": (("crank", "rod"), "kg")}` lets users write `crank.mass` for `mass[0]`.
        controller_states: number of the last velocities that are states of a controller, whose
            rates contribute neither kinetic energy nor power.

    `p` is the model's parameters, any pytree of arrays; every function takes it last.

    Example:
        >>> System(nq=2, mass_matrix=lambda q, t, p: p["m"] * jnp.ones(2),
        ...        force=lambda q, v, t, p: jnp.array([0.0, -p["m"] * 9.81]))
    """

    nq: int
    mass_matrix: Callable
    force: Callable
    nv: int
    velocity_map: Callable | None
    offset: Callable | None
    retract: Callable | None
    potential: Callable | None
    # static: as leaves, thousands of names would be traversed at every call of a method
    coordinates: Names = field(static=True)
    velocities: Names = field(static=True)
    units: Names = field(static=True)
    velocity_units: Names = field(static=True)
    energy_unit: str = field(static=True)
    controller_states: int = field(static=True)
    parameters: Names = field(static=True)

    @misfits_named
    def __init__(
        self,
        nq: int,
        mass_matrix: Callable,
        force: Callable,
        *,
        nv: int | None = None,
        velocity_map: Callable | None = None,
        offset: Callable | None = None,
        retract: Callable | None = None,
        potential: Callable | None = None,
        coordinates: Sequence[str] | None = None,
        velocities: Sequence[str] | None = None,
        units: Sequence[str] | None = None,
        velocity_units: Sequence[str] | None = None,
        energy_unit: str = "J",
        controller_states: int = 0,
        parameters: Mapping[str, tuple[Sequence[str], str]] = MappingProxyType({}),
    ):
        if isinstance(parameters, Names):  # those of another system, by `dataclasses.replace`
            parameters = {name: (entries, unit) for name, entries, unit in parameters}
        stated = mapping(parameters, "System: parameters", 'parameters={"m": ((), "kg")}')
        for name, pair in stated.items():
            if not isinstance(pair, (tuple, list)) or len(pair) != 2:
                refuse(f"System: parameters[{name!r}]", pair, "a pair: names of entries, and unit")
        self.parameters = Names(
            (label(name, "System: parameters"), labels(entries, "System: parameters"), unit)
            for name, (entries, unit) in stated.items()
        )
        self.controller_states = count(controller_states, "System: controller_states", least=0)
        # variables of first order have velocities and no coordinates (`zw.HigherOrder`)
        self.nq = count(nq, "System: nq", least=1 if nv is None else 0, most=MOST_COORDINATES)
        self.nv = self.nq if nv is None else count(nv, "System: nv", least=1, most=MOST_COORDINATES)
        self.mass_matrix = function(mass_matrix, "System: mass_matrix", "(q, t, p) → M")
        self.force = function(force, "System: force", "(q, v, t, p) → F")
        self.energy_unit = text(energy_unit, "System: energy_unit")
        self.velocity_map = optional_function(
            velocity_map, "System: velocity_map", "(q, t, p) → N of shape (nq, nv)"
        )
        self.offset = optional_function(offset, "System: offset", "(q, t, p) → n of shape (nq,)")
        self.retract = optional_function(retract, "System: retract", "(q, dv, t, p) → q")
        self.potential = optional_function(potential, "System: potential", "(q, t, p) → energy")
        if self.nq != self.nv and velocity_map is None:
            raise ModelError(
                f"System has nq = {self.nq} and nv = {self.nv} but no velocity_map: "
                "give velocity_map=(q, t, p) → N of shape (nq, nv), so that q̇ = N v is known."
            )
        self.coordinates = _names(coordinates, [f"q{i}" for i in range(self.nq)], "coordinates")
        same = self.coordinates if self.nv == self.nq else [f"v{i}" for i in range(self.nv)]
        self.velocities = _names(velocities, same, "velocities")
        self.units = _names(units, [""] * self.nq, "units", unique=False)
        per_second = (
            [f"{u}/s" if u else "" for u in self.units] if self.nv == self.nq else [""] * self.nv
        )
        self.velocity_units = _names(velocity_units, per_second, "velocity_units", unique=False)

    def __repr__(self) -> str:
        return present("text_of", self, "system")

    @property
    def shapes(self) -> tuple[jax.ShapeDtypeStruct, ...]:
        """Shapes of q, v and t for `jax.eval_shape`."""
        return tuple(jax.ShapeDtypeStruct(s, jnp.float64) for s in ((self.nq,), (self.nv,), ()))

    @property
    def moves_by_velocity(self) -> bool:
        """True if velocities are the rates of the coordinates, `q̇ = v`."""
        return self.velocity_map is None and self.offset is None

    def rate(self, q: Float[Array, " nq"], v: Float[Array, " nv"], t, p) -> Float[Array, " nq"]:
        """`q̇ = N v + n`."""
        moved = self.along(q, v, t, p)
        return moved if self.offset is None else moved + self.offset(q, t, p)

    def along(self, q: Float[Array, " nq"], dv: Float[Array, " nv"], t, p) -> Float[Array, " nq"]:
        """Return `N dv`, the direction in q that corresponds to a direction of velocities."""
        if self.velocity_map is None:
            return dv
        if isinstance(self.velocity_map, AbstractVelocityMap):
            return self.velocity_map.along(q, dv, t, p)
        return self.velocity_map(q, t, p) @ dv

    def move(self, q: Float[Array, " nq"], dv: Float[Array, " nv"], t, p) -> Float[Array, " nq"]:
        """Return `q ⊕ dv`, q moved along the velocity direction dv."""
        return q + self.along(q, dv, t, p) if self.retract is None else self.retract(q, dv, t, p)

    def mechanical(self, v: Float[Array, " nv"]) -> Float[Array, " nv"]:
        """Return v with zeros in place of the rates of the states of a controller."""
        return v if not self.controller_states else v.at[-self.controller_states :].set(0.0)

    def mass_as_given(self, q: Float[Array, " nq"], t, p) -> Array:
        """Return M in the form that `mass_matrix` returns."""
        return jnp.asarray(self.mass_matrix(q, t, p), dtype=q.dtype)

    def energy(self, q, v, t, p) -> tuple[Float[Array, ""], Float[Array, ""]]:
        """Return the kinetic energy `½ vᵀ M v` and the potential energy [J], which is 0 if the
        system has no `potential`.
        """
        M, v = self.mass_as_given(q, t, p), self.mechanical(v)
        momentum = {
            1: lambda: M * v,
            2: lambda: M @ v,
            3: lambda: jnp.einsum("bij,bj->bi", M, v.reshape(M.shape[:2])).ravel(),
        }
        potential = (
            jnp.zeros(()) if self.potential is None else jnp.asarray(self.potential(q, t, p))
        )
        return 0.5 * v @ momentum[M.ndim](), potential


def _names(
    given: Sequence[str] | None, default: Sequence[str], what: str, unique: bool = True
) -> Names:
    if given is None:
        return Names(default)
    read = labels if unique else texts
    names = Names(read(given, f"System: {what}"))
    if len(names) != len(default):
        raise ModelError(f"System got {len(names)} {what}, expected {len(default)}.")
    if unique and len(set(names)) != len(names):
        raise ModelError(
            f"System got {what} that repeat a name: {', '.join(names)}; give each its own."
        )
    return names
