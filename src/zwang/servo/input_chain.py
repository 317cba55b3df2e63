"""A model whose inputs are reached through chains of integrators: the thrust of a rotor as a state.

    u = T (z, …) + u₀,    d^k z_j / dt^k = w_j   w is the new input, T combines the actuators

A chain of k integrators has k − 1 coordinates z, ż … and one velocity z^(k−1) with mass 1, on which
w_j acts. They are states of the controller and contribute neither energy nor power.
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from zwang.algebra.decomposition import Decomposition
from zwang.algebra.lapack import LU
from zwang.algebra.mass_matrix import dense_mass
from zwang.compile.compatibility import outside_of_programs
from zwang.dynamics.equation_of_motion import Dynamics
from zwang.equations.constraint import AbstractConstraint, Constraints
from zwang.equations.constraint.base import AbstractForwarding
from zwang.equations.state import State
from zwang.equations.system import System
from zwang.inputs.text import unit_of_rate
from zwang.objects.record import Record, field, replace
from zwang.servo.lie_derivative import passive_acceleration


class Chains(Record):
    """Integrators before inputs w; the actuators apply `u = T w`.

    Attributes:
        system: the system without them.
        lengths: number of integrators before each input, 0 where there are none.
        names, units: of the inputs.
        combination: rows of T, shape (nu, nu); None if each input belongs to one actuator.
        seen: T and u₀ if they depend on the state; None if T is constant and u₀ = 0.
    """

    system: System
    lengths: tuple[int, ...] = field(static=True)
    names: tuple[str, ...] = field(static=True)
    units: tuple[str, ...] = field(static=True)
    combination: tuple[tuple[float, ...], ...] | None = field(static=True, default=None)
    seen: SeenInputs | None = None

    @property
    def extended(self) -> tuple[int, ...]:
        """The inputs that have integrators before them."""
        return tuple(j for j, k in enumerate(self.lengths) if k)

    @property
    def nq(self) -> int:
        return self.system.nq + sum(self.lengths[j] - 1 for j in self.extended)

    @property
    def nv(self) -> int:
        return self.system.nv + len(self.extended)

    @property
    def mixed(self) -> bool:
        """True if inputs are combinations of actuators."""
        return self.seen is not None or self.combination is not None

    def matrix(self, q, t, p) -> Float[Array, "nu inputs"]:
        """T."""
        if self.seen is not None:
            return self.seen(q[: self.system.nq], t, p)
        given = self.combination
        return jnp.asarray(np.eye(len(self.lengths)) if given is None else np.array(given))

    @property
    def integrators(self) -> dict[str, int]:
        """Input → number of integrators before it, for inputs with integrators."""
        return {self.names[j]: self.lengths[j] for j in self.extended}

    @property
    def sentence(self) -> str:
        """The integrators in words."""
        return " and ".join(
            f"{k} integrator{'s' * (k > 1)} before {name!r}" for name, k in self.integrators.items()
        )

    def coordinates(self, j: int) -> range:
        """Entries of q that are z, ż … of an input."""
        before = sum(self.lengths[i] - 1 for i in self.extended if i < j)
        first = self.system.nq + before
        return range(first, first + self.lengths[j] - 1)

    def velocity(self, j: int) -> int:
        """Entry of v that is z^(k−1) of an input."""
        return self.system.nv + self.extended.index(j)

    def input(self, j: int, q, v) -> Float[Array, ""]:
        """z, the input at the end of the chain."""
        own = self.coordinates(j)
        return q[own[0]] if len(own) else v[self.velocity(j)]

    def held(self, q, v, t, p) -> Float[Array, " nu"]:
        """The controls due to the states alone, `T z + u₀` with 0 for inputs without chains."""
        z = [self.input(j, q, v) if k else 0.0 for j, k in enumerate(self.lengths)]
        found = self.matrix(q, t, p) @ jnp.stack([jnp.asarray(x, float) for x in z])
        return found + self.offset(q, v, t, p)

    def offset(self, q, v, t, p):
        """u₀."""
        if self.seen is None:
            return 0.0
        return self.seen.offset(q[: self.system.nq], v[: self.system.nv], t, p)

    def applied(self, q, v, t, p, w: Float[Array, " nu"]) -> Float[Array, " nu"]:
        """u of the actuators: `T` times the states of the chains and w of the inputs without
        chains.
        """
        free = np.array([k == 0 for k in self.lengths], float)
        return self.held(q, v, t, p) + self.matrix(q, t, p) @ (free * w)

    def pushed(self, actuation: Callable, q, t, p, u) -> Float[Array, " nv"]:
        """B u of the actuators, with 0 for the integrators."""
        force = jnp.asarray(actuation(q[: self.system.nq], t, p), jnp.float64) @ u
        return jnp.concatenate([force, jnp.zeros(self.nv - self.system.nv)])

    def held_force(self, actuation: Callable, q, v, t, p) -> Float[Array, " nv"]:
        """Return the force that follows from the states alone, `B (T z + u₀)`."""
        return self.pushed(actuation, q, t, p, self.held(q, v, t, p))

    def state(self, q, v, u: np.ndarray, t, p) -> tuple[np.ndarray, np.ndarray]:
        """q and v of the extended system for actuators at rest at u, shape (nu,)."""
        with outside_of_programs():
            given = jnp.asarray(q, float), jnp.asarray(v, float)
            T, offset = self.matrix(given[0], t, p), self.offset(*given, t, p)
        q = np.concatenate([np.asarray(q, float), np.zeros(self.nq - self.system.nq)])
        v = np.concatenate([np.asarray(v, float), np.zeros(self.nv - self.system.nv)])
        inputs = Decomposition(np.asarray(T)).solve(np.asarray(u - offset, float))
        for j in self.extended:
            # an input behind one integrator is a velocity; behind several, the first of the
            # coordinates of the chain
            own = self.coordinates(j)
            if len(own):
                q[own[0]] = inputs[j]
            else:
                v[self.velocity(j)] = inputs[j]
        return q, v


class SeenInputs(Record):
    """T and u₀ for inputs of which the first ones are second derivatives of residuals:

        z = a(q) u + d(q, v, t),    u_j = a_j⁻¹ (z − d − a_i w_i),    u_i = w_i

    a are the rows of these residuals in the decoupling matrix, d their accelerations without
    control, j the same number of actuators, and i the other actuators.

    Attributes:
        dynamics: of the passive system; its own parameters are replaced by those of the call.
        constraints: the constraints of these rows, all at their natural degree.
        actuation: `(q, t, p)` → B.
        rows: indices of these rows among the rows of all constraints.
        own, others: the actuators j and i.
    """

    dynamics: Dynamics
    constraints: tuple[AbstractConstraint, ...]
    actuation: Callable
    rows: tuple[int, ...] = field(static=True)
    own: tuple[int, ...] = field(static=True)
    others: tuple[int, ...] = field(static=True)

    def _effect(self, q, t, p) -> Float[Array, "k nu"]:
        """a at v = 0, because T depends only on q."""
        dynamics = replace(self.dynamics, p=p)
        s = State(q, jnp.zeros(dynamics.system.nv), t)
        B = jnp.asarray(self.actuation(q, t, p), jnp.float64)
        reaction = jax.vmap(dynamics.gauss_at(s).mobility, 1, 1)(B)
        rows = Constraints(self.constraints, dynamics.system, p).matrix(s.q, s.v, t, p)
        return rows[np.array(self.rows)] @ reaction

    def __call__(self, q, t, p) -> Float[Array, "nu nu"]:
        a, k = self._effect(q, t, p), len(self.rows)
        own, others, nu = np.array(self.own), np.array(self.others, int), len(a[0])
        inverse = LU(a[:, own]).solve(jnp.eye(k))
        T = jnp.zeros((nu, nu)).at[own[:, None], np.arange(k)].set(inverse)
        T = T.at[own[:, None], np.arange(k, nu)].set(-inverse @ a[:, others])
        return T.at[others, np.arange(k, nu)].set(1.0)

    def offset(self, q, v, t, p) -> Float[Array, " nu"]:
        """u₀."""
        dynamics, s = replace(self.dynamics, p=p), State(q, v, t)
        c = Constraints(self.constraints, dynamics.system, p)
        free = c.matrix(q, v, t, p) @ passive_acceleration(dynamics, s) - c.rhs(q, v, t, p)
        a, own = self._effect(q, t, p), np.array(self.own)
        u = LU(a[:, own]).solve(-free[np.array(self.rows)])
        return jnp.zeros(len(a[0])).at[own].set(u)


def combined(chains: Chains, seen: np.ndarray) -> Chains:
    """Inputs of which some are the combinations that appear in certain rows.

        w = [E; Kᵀ] u,    E the echelon form of these combinations, K their orthogonal complement

    Args:
        chains: inputs that are the actuators, without integrators.
        seen: orthonormal columns, shape (nu, k).
    """
    E = seen.T.copy()
    for i in range(len(E)):
        # complete pivoting: the largest entry becomes 1
        row, column = np.unravel_index(np.argmax(np.abs(E[i:])), E[i:].shape)
        E[[i, i + row]] = E[[i + row, i]]
        E[i] /= E[i, column]
        others = np.arange(len(E)) != i
        E[others] -= np.outer(E[others, column], E[i])
    # entries such as 1 and −1 are exact only up to round-off
    E = np.round(E, 12) + 0.0
    touched = np.any(E != 0, axis=0)
    alone = np.eye(len(seen))[~touched]
    rest = np.zeros((int(np.sum(touched)) - len(E), len(seen)))
    rest[:, touched] = Decomposition(E[:, touched]).kernel.T
    T = Decomposition(np.concatenate([E, rest, alone])).inverse
    own = [chains.names[i] for i in np.flatnonzero(~touched)]
    units = [chains.units[i] for i in np.flatnonzero(~touched)]
    shared = {chains.units[i] for i in np.flatnonzero(touched)}
    unit = shared.pop() if len(shared) == 1 else ""
    names = [_sum(row, chains.names) for row in E]
    names += [f"difference {i + 1}" for i in range(len(rest))]
    return Chains(
        chains.system,
        chains.lengths,
        (*names, *own),
        (*[unit] * (len(E) + len(rest)), *units),
        tuple(map(tuple, T.tolist())),
    )


def _sum(row: np.ndarray, names: tuple[str, ...]) -> str:
    """A combination in words, as `left + right`."""
    terms = [
        f"{'-' if x < 0 else '+'} {'' if abs(x) == 1 else f'{abs(x):.4g} '}{name}"
        for x, name in zip(row, names, strict=True)
        if x
    ]
    return " ".join(terms).removeprefix("+ ")


class Leading(AbstractForwarding):
    """A constraint that depends on the leading entries of q and v."""

    constraint: AbstractConstraint
    home: System
    name: str

    def __init__(self, constraint: AbstractConstraint, home: System):
        self.constraint, self.home, self.name = constraint, home, constraint.name

    @property
    def nonideal(self) -> Callable | None:
        given = self.constraint.nonideal
        if given is None:
            return None

        def padded(q, v, t, p, ideal):
            own = ideal[..., : self.home.nv]
            c = jnp.asarray(given(*self._own(q, v), t, p, own))
            return jnp.zeros_like(ideal).at[..., : self.home.nv].set(c)

        return padded

    def _own(self, q, v):
        return q[: self.home.nq], v[: self.home.nv]

    def position_residual(self, system, q, t, p):
        return self.constraint.position_residual(self.home, q[: self.home.nq], t, p)

    def velocity_residual(self, system, q, v, t, p):
        return self.constraint.velocity_residual(self.home, *self._own(q, v), t, p)

    def acceleration_rows(self, system, q, v, t, p):
        A, b = self.constraint.acceleration_rows(self.home, *self._own(q, v), t, p)
        return jnp.pad(A, ((0, 0), (0, system.nv - self.home.nv))), b


def behind_integrators(system: System, chains: Chains) -> System:
    """The system extended by the states of the chains, on which only the new inputs act. The forces
    that these states apply are part of the control (`ExtendedServo`).
    """
    nq, nv, more = system.nq, system.nv, len(chains.extended)
    names, units = chains.names, chains.units

    def mass_matrix(q, t, p):
        M = system.mass_as_given(q[:nq], t, p)
        if M.ndim == 1:
            return jnp.concatenate([M, jnp.ones(more)])
        # a stack of blocks cannot hold blocks of different sizes
        return jax.scipy.linalg.block_diag(dense_mass(M), jnp.eye(more))

    def force(q, v, t, p):
        return jnp.concatenate([system.force(q[:nq], v[:nv], t, p), jnp.zeros(more)])

    def velocity_map(q, t, p):
        N = jnp.eye(nq, nv) if system.velocity_map is None else system.velocity_map(q[:nq], t, p)
        N = jnp.zeros((chains.nq, chains.nv)).at[:nq, :nv].set(N)
        for j in chains.extended:
            if own := chains.coordinates(j):
                N = N.at[own[-1], chains.velocity(j)].set(1.0)
        return N

    def offset(q, t, p):
        n = jnp.zeros(chains.nq)
        n = n if system.offset is None else n.at[:nq].set(system.offset(q[:nq], t, p))
        for j in chains.extended:
            for i in chains.coordinates(j)[:-1]:
                n = n.at[i].set(q[i + 1])
        return n

    def retract(q, dv, t, p):
        own = system.move(q[:nq], dv[:nv], t, p)
        return jnp.concatenate([own, (q + velocity_map(q, t, p) @ dv)[nq:]])

    plain = system.velocity_map is None and all(chains.lengths[j] == 2 for j in chains.extended)
    carried = system.offset is not None or max(chains.lengths) > 2
    prime = lambda j, n: f"{names[j]}{chr(39) * n}"
    coordinates, velocities, q_units, v_units = [], [], [], []
    for j in chains.extended:
        k = chains.lengths[j]
        coordinates += [prime(j, n) for n in range(k - 1)]
        velocities.append(prime(j, k - 1 if k > 2 else 0))
        q_units += [unit_of_rate(units[j], n) for n in range(k - 1)]
        v_units.append(unit_of_rate(units[j], k - 1))
    energy = system.potential
    return System(
        chains.nq,
        mass_matrix,
        force,
        nv=chains.nv,
        velocity_map=None if plain else velocity_map,
        offset=offset if carried else None,
        retract=None if system.retract is None else retract,
        potential=None if energy is None else lambda q, t, p: energy(q[:nq], t, p),
        coordinates=[*system.coordinates, *coordinates],
        velocities=[*system.velocities, *velocities],
        units=[*system.units, *q_units],
        velocity_units=[*system.velocity_units, *v_units],
        energy_unit=system.energy_unit,
        controller_states=more,
    )
