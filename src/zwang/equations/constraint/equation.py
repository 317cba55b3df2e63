"""Computation of A v̇ = b from the functions of all kinds of constraints, by one rule.

With ψ = φ̇ for a holonomic constraint and ψ itself for a nonholonomic one,

    A = ∂ψ/∂v,    b = −(dψ/dt at fixed v) = −(∂ψ/∂q · N v + ∂ψ/∂t),

which is one `jvp` along (q̇ = N v, ṫ = 1). Acceleration constraints add their rows unchanged. Rows
are in the order of the constraints.

A row may be switched off during a run (`zw.Switch`). It keeps its place, and its A, b, φ and ψ are
zero. All parts of the library treat such a row as absent, so one compiled program serves all
topologies.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from zwang.equations.constraint.base import AbstractConstraint
from zwang.equations.constraint.dry_friction import (
    DryFriction,
    Friction,
    FrictionGroup,
    gives_all,
    in_order,
    sliding_direction,
)
from zwang.equations.constraint.inequality import Inequality
from zwang.equations.constraint.jacobian import Entries, jacobian
from zwang.equations.constraint.level import AbstractLevel, Cone, rows_of
from zwang.equations.constraint.nonideal import length
from zwang.equations.system import System
from zwang.errors import ModelError
from zwang.inputs.suggestions import did_you_mean
from zwang.inputs.tracing import first_line as first_line
from zwang.objects.display import present
from zwang.objects.record import Record, field
from zwang.thresholds import ROUND_OFF


class Constraints(Record):
    """All constraints of a model in their order, with the numbers of their rows.

    Attributes:
        members: the constraints.
        sizes: number of rows of each; the rows of a constraint with several parts are in the order
            of the parts.
        system: the system they act on.
        on: mask of the rows that are switched on, shape (m,); None if all rows are always on.
        sliding: direction of sliding for each row of dry friction, 1 or −1, and 0 for a row that
            does not slide, shape (m,); None if the model has no sliding friction. For a friction
            with two rows that slides in a fixed direction, these are the components of the
            direction; the rows are on and hold the component of s normal to it at zero. Both are 1
            if the direction changes.
        entries: structural nonzeros of A.
    """

    members: tuple[AbstractConstraint, ...]
    sizes: tuple[int, ...]
    system: System
    on: Bool[Array, " m"] | None
    sliding: Float[Array, " m"] | None
    entries: Entries = field(static=True)

    def __init__(self, members: Sequence[AbstractConstraint], system: System, p):
        self.members, self.system = tuple(members), system
        self.on = self.sliding = None
        counted = Counter(self.names)
        repeated = sorted(name for name, count in counted.items() if count > 1)
        if repeated:
            raise ModelError(
                f"constraint name {repeated[0]!r} is used {counted[repeated[0]]} times; give "
                "each its own name=."
            )
        self.sizes = tuple(rows_of(c, system, p) for c in self.members)
        for c, size in zip(self.members, self.sizes, strict=True):
            own = size // len(c.parts)
            if len(c.row_units) not in (0, 1, own):
                raise ModelError(
                    f"constraint {c.name!r} has {len(c.row_units)} units for {own} rows; "
                    "give one unit, or one per row."
                )
        for _, loaded, law in self.frictions:
            known = isinstance(p, dict) and law.load in p
            if isinstance(law.load, str) and loaded is None and not known:
                raise ModelError(
                    f"constraint {law.name!r}: load is {law.load!r}, expected a number, a "
                    f"constraint or a parameter{did_you_mean(law.load, self.row_slices)}"
                )
        self.entries = Entries(self, p)

    def __repr__(self) -> str:
        return present("text_of", self, "constraints")

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(part for c in self.members for part in c.parts)

    @property
    def owners(self) -> dict[str, AbstractConstraint]:
        """Constraint to which each part belongs, by the name of the part."""
        return {part: c for c in self.members for part in c.parts}

    @property
    def m(self) -> int:
        """Number of rows."""
        return sum(self.sizes)

    @property
    def row_slices(self) -> dict[str, slice]:
        """Rows of each constraint, or of each of its parts, by name."""
        slices, end = {}, 0
        for c, size in zip(self.members, self.sizes, strict=True):
            for part in c.parts:
                slices[part] = slice(end, end := end + size // len(c.parts))
        return slices

    def owner(self, row: int) -> tuple[str, slice]:
        """Return the name and the rows of the constraint, or of its part, that contains a row."""
        return next((n, s) for n, s in self.row_slices.items() if s.start <= row < s.stop)

    def worst(self, size: np.ndarray) -> str:
        """Return the name of the constraint, or of its part, with the row of largest `size`."""
        slices = self.row_slices
        return max(slices, key=lambda name: float(size[slices[name]].max(initial=0.0)))

    def rows_of(self, c: AbstractConstraint) -> slice:
        """Return the rows of one member, including all its parts."""
        slices = self.row_slices
        return slice(slices[c.parts[0]].start, slices[c.parts[-1]].stop)

    @property
    def one_sided_rows(self) -> np.ndarray:
        """Indices of the rows of inequalities."""
        return self.rows_where(lambda level: level.cone is Cone.PUSHES)

    def openings(self, q, v, t, p) -> Float[Array, " gaps"]:
        """Return the value of each gap; for a one-way constraint its velocity."""
        found = [
            x.position_residual(self.system, q, t, p)
            if x.level.has_phi
            else x.velocity_residual(self.system, q, v, t, p)
            for x in self.members
            if x.level.cone is Cone.PUSHES
        ]
        return jnp.concatenate(found)

    @property
    def has_ends(self) -> bool:
        """True if any gap has ends (`within`)."""
        return any(isinstance(c, Inequality) and c.within is not None for c in self.members)

    def beyond(self, q, t, p) -> Float[Array, " gaps"] | None:
        """Return the distance of each gap beyond its ends, less the round-off of the largest
        coordinate. It is negative within the ends. The result is None if no gap has ends.
        """
        if not self.has_ends:
            return None
        each = zip(self.members, self.sizes, strict=True)
        own = [(c, size) for c, size in each if isinstance(c, Inequality)]
        ways = jnp.concatenate([c.way_to_end(q, t, p, size) for c, size in own])
        return -ways - ROUND_OFF * jnp.max(jnp.abs(q))

    @property
    def loose(self) -> tuple[str, ...]:
        """Names of the constraints that may become inactive or slide; empty if the active set is
        fixed.
        """
        if self.sliding is not None:
            return ()
        return tuple(x for c in self.members if c.level.lets_go for x in c.parts)

    @property
    def frictions(self) -> list[Friction]:
        """Every dry friction."""
        slices = self.row_slices
        return [
            # a friction cannot be its own load: its own name refers to a parameter
            Friction(slices[c.name], None if c.load == c.name else slices.get(str(c.load)), c)
            for c in self.members
            if isinstance(c, DryFriction)
        ]

    @property
    def friction_groups(self) -> list[FrictionGroup]:
        """All dry frictions, those with one row and those with two."""
        frictions, found = self.frictions, []
        first = np.cumsum([0, *(len(x.indices) for x in frictions)])
        for width in (1, 2):
            own = [k for k, x in enumerate(frictions) if len(x.indices) == width]
            if own:
                rows = np.stack([frictions[k].indices for k in own])
                found.append(
                    FrictionGroup(np.array(own), rows, first[own, None] + np.arange(width))
                )
        return found

    def slips(self, q, v, t, p) -> Float[Array, " tangents"]:
        """Return the sliding velocities of all dry frictions, one after another."""
        return jnp.concatenate([x.law.sliding_velocity(q, v, t, p) for x in self.frictions])

    def sliding_pulls(self, q, v, t, p) -> Float[Array, "frictions nv"]:
        """Return the force per unit of load of each dry friction that slides or is at its limit,
        `−μ (∂s/∂v)ᵀ s/|s|`, zero for all others; no rows without sliding.
        """
        sliding, groups, nv = self.sliding, self.friction_groups, self.system.nv
        if sliding is None or not groups:
            return jnp.zeros((0, nv))
        slips = lambda v: [self.slips(q, v, t, p)] * 2
        tangents = sum(x.rows.size for x in groups)
        S, s = (jax.jacrev if tangents <= nv else jax.jacfwd)(slips, has_aux=True)(v)
        speeds = in_order(groups, [length(s[x.places]) for x in groups])
        kinetic = self.kinetic_coefficients(p, speeds)
        static, found = self.friction_limits(p, jnp.ones(len(speeds))), []
        for x in groups:
            direction, slip = sliding[x.rows], s[x.places]
            straight = jnp.zeros(len(slip), bool) if self.on is None else self.on[x.rows[:, 0]]
            along = jax.vmap(sliding_direction)(direction, slip, straight)
            mu = jnp.where(gives_all(direction), static[x.numbers], kinetic[x.numbers])
            pull = -mu[:, None] * jnp.einsum("kw,kwn->kn", along, S[x.places])
            found.append(jnp.where(jnp.any(direction != 0, axis=1)[:, None], pull, 0.0))
        return in_order(groups, found)

    def friction_loads(self, p, multipliers: Float[Array, " m"]) -> Float[Array, " frictions"]:
        """Return N of all dry frictions."""
        frictions = self.frictions
        one = [k for k, x in enumerate(frictions) if x.load_row is not None]
        other = [k for k in range(len(frictions)) if k not in {*one}]
        rows = np.array([frictions[k].load_row for k in one], int)
        single = length(multipliers[rows][:, None])
        rest = [frictions[k].load(p, multipliers) for k in other]
        found = jnp.concatenate([single, *(jnp.asarray(x, float).reshape(1) for x in rest)])
        return found[np.argsort([*one, *other])]

    def friction_limits(self, p, loads: Float[Array, " frictions"]) -> Float[Array, " frictions"]:
        """Return the largest force of sticking of all dry frictions, `μ₀ N`."""
        return _as_array([x.law.limit(p, 1.0) for x in self.frictions]) * loads

    def kinetic_coefficients(self, p, speeds: Float[Array, " frictions"]) -> Array:
        """Return μ of all dry frictions at their sliding speeds."""
        return _as_array(
            [x.law.kinetic_coefficient(speeds[k], p) for k, x in enumerate(self.frictions)]
        )

    def ideal_forces(
        self, c: AbstractConstraint, A, multipliers: Float[Array, " m"]
    ) -> Float[Array, "parts nv"]:
        """Return `Aᵢᵀ λᵢ` of each part of one constraint."""
        rows = self.row_slices
        return jnp.stack([A[rows[part]].T @ multipliers[rows[part]] for part in c.parts])

    def rows_where(self, holds: Callable[[AbstractLevel], bool]) -> np.ndarray:
        """Return the indices of the rows of the constraints whose level satisfies a condition."""
        keep = [np.arange(self.m)[self.rows_of(c)] for c in self.members if holds(c.level)]
        return np.concatenate([np.zeros(0, int), *keep])

    @property
    def position_rows(self) -> np.ndarray:
        """Rows of φ."""
        return self.rows_where(lambda level: level.has_phi)

    @property
    def velocity_rows(self) -> np.ndarray:
        """Rows of ψ, including those of φ."""
        return self.rows_where(lambda level: level.has_psi)

    @property
    def nonholonomic_rows(self) -> np.ndarray:
        """Rows of ψ that have no φ."""
        return self.rows_where(lambda level: level.has_psi and not level.has_phi)

    @property
    def outright_rows(self) -> np.ndarray:
        """Rows of acceleration constraints."""
        return self.rows_where(lambda level: not level.has_psi)

    def by_row(self, phi, psi) -> tuple[np.ndarray, np.ndarray]:
        """Return φ and ψ of all rows on the host, shape (m,), zero for rows without φ or ψ."""
        found = np.zeros((2, self.m))
        found[0, self.position_rows], found[1, self.velocity_rows] = phi, psi
        return found[0], found[1]

    def velocity_by_row(self, q, v, t, p) -> Float[Array, " m"]:
        """Return ψ of all rows, with zeros for rows without ψ."""
        psi = self.velocity_residual(q, v, t, p)
        return jnp.zeros(self.m).at[self.velocity_rows].set(psi)

    def position_residual(self, q, t, p) -> Float[Array, " holonomic"]:
        """`φ(q, t)` of the holonomic rows, shape (len(position_rows),)."""
        found = [c.position_residual(self.system, q, t, p) for c in self.members if c.level.has_phi]
        return self._present(jnp.concatenate([jnp.zeros(0), *found]), self.position_rows)

    def velocity_residual(self, q, v, t, p) -> Float[Array, " rows"]:
        """`ψ(q, v, t)` of the holonomic and nonholonomic rows, shape (len(velocity_rows),)."""
        found = [
            c.velocity_residual(self.system, q, v, t, p) for c in self.members if c.level.has_psi
        ]
        return self._present(jnp.concatenate([jnp.zeros(0), *found]), self.velocity_rows)

    def residuals(self, q, v, t, p) -> tuple[Float[Array, " holonomic"], Float[Array, " rows"]]:
        """Return φ and ψ, from one evaluation of each constraint."""
        members = [c for c in self.members if c.level.has_psi]
        # rows are in the order of the members at either level
        found = [c.residuals(self.system, q, v, t, p) for c in members]
        phi, psi = (jnp.concatenate([jnp.zeros(0), *(pair[k] for pair in found)]) for k in (0, 1))
        return self._present(phi, self.position_rows), self._present(psi, self.velocity_rows)

    def matrix(self, q, v, t, p) -> Float[Array, "m nv"]:
        """`A = ∂ψ/∂v`, shape (m, nv)."""
        return self.linearized(q, v, t, p)[0]

    def linearized(self, q, v, t, p) -> tuple:
        """Return A, φ and ψ, shapes (m, nv), (holonomic,) and (rows,), from one evaluation: A is
        the derivative of ψ, and φ is an intermediate result of ψ.
        """

        def residuals(v):
            phi, psi = self.residuals(q, v, t, p)
            return psi, phi

        A, psi, phi = jacobian(residuals, v, self.entries)
        return self._stack(A, [a for a, _ in self._outright(q, v, t, p)]), phi, psi

    @property
    def pattern(self) -> Bool[np.ndarray, "m nv"]:
        """Structural nonzeros of A; rows of acceleration constraints are assumed to be full."""
        pattern = np.ones((self.m, self.system.nv), bool)
        pattern[self.velocity_rows] = self.entries.pattern
        return pattern

    def product(self, q, v, t, p) -> Callable[[Float[Array, " nv"]], Float[Array, " m"]]:
        """Return the function `w ↦ A w`, which does not form A for rows at position or velocity
        level.
        """
        outright = [A for A, _ in self._outright(q, v, t, p)]

        def along(w):
            moved = jax.jvp(lambda v: self.velocity_residual(q, v, t, p), (v,), (w,))[1]
            return self._stack(moved, [A @ w for A in outright])

        return along

    def rhs(self, q, v, t, p) -> Float[Array, " m"]:
        """Return `b = −(dψ/dt at fixed v)`, shape (m,)."""
        along = (self.system.rate(q, v, t, p), jnp.ones_like(t))
        drift = jax.jvp(lambda q, t: self.velocity_residual(q, v, t, p), (q, t), along)[1]
        return self._stack(-drift, [b for _, b in self._outright(q, v, t, p)])

    def _outright(self, q, v, t, p):
        given = [
            c.acceleration_rows(self.system, q, v, t, p)
            for c in self.members
            if not c.level.has_psi
        ]
        if not given:
            return []
        rows = self.outright_rows
        A, b = (jnp.concatenate(x) for x in zip(*given, strict=True))
        return [(self._present(A, rows), self._present(b, rows))]

    def _present(self, x, rows: np.ndarray):
        """Return x, the values of some rows, with zeros for rows that are switched off, and without
        the component along the fixed direction of a friction that slides or is at its limit.
        """
        if (on := self.on) is None:
            return x
        x = jnp.where(on[rows].reshape(-1, *[1] * (x.ndim - 1)), x, 0.0)
        if (sliding := self.sliding) is None:
            return x
        for group in self.friction_groups:
            if group.in_space and len(own := group.rows[np.isin(group.rows[:, 0], rows)]):
                along = jnp.where(on[own], sliding[own], 0.0)
                along = jnp.where(gives_all(along)[:, None], along / 2, along)
                places = np.searchsorted(rows, own)
                part = jnp.einsum("kw,kw...->k...", along, x[places])
                x = x.at[places].add(-jnp.einsum("kw,k...->kw...", along, part))
        return x

    def _stack(self, differentiated, outright):
        if not outright:
            return differentiated
        order = np.argsort(np.concatenate([self.velocity_rows, self.outright_rows]))
        return jnp.concatenate([differentiated, *outright])[order]


def _as_array(numbers: Sequence) -> Float[Array, " k"]:
    """Return numbers as one array, a constant if all of them are."""
    if all(isinstance(x, (int, float)) for x in numbers):
        return jnp.asarray(np.array(numbers, float))
    return jnp.stack([jnp.asarray(x, float) for x in numbers])
