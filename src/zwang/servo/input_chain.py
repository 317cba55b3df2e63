"""A model whose inputs are reached through chains of integrators: the thrust of a rotor as a state.

    u_j = z,    d^k z / dt^k = w_j        w_j is the new input

A chain of k integrators has k − 1 coordinates z, ż … and one velocity z^(k−1), with a mass of 1 on
which w_j acts. They are states of the controller: their rates count as no energy and no power.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from zwang.algebra.mass_matrix import dense_mass
from zwang.dynamics.model import Model
from zwang.equations.constraint import AbstractConstraint
from zwang.equations.constraint.level import AbstractLevel
from zwang.equations.system import System
from zwang.errors import ModelError
from zwang.servo.servo import Servo


@dataclasses.dataclass(frozen=True)
class Chains:
    """Where the integrators of each input stand in the extended q and v.

    Attributes:
        system: the system without them.
        lengths: number of integrators before each actuator, 0 where there are none.
    """

    system: System
    lengths: tuple[int, ...]

    @property
    def extended(self) -> tuple[int, ...]:
        """The actuators that have integrators before them."""
        return tuple(j for j, k in enumerate(self.lengths) if k)

    @property
    def nq(self) -> int:
        return self.system.nq + sum(self.lengths[j] - 1 for j in self.extended)

    @property
    def nv(self) -> int:
        return self.system.nv + len(self.extended)

    def coordinates(self, j: int) -> range:
        """Entries of q that are z, ż … of an actuator."""
        before = sum(self.lengths[i] - 1 for i in self.extended if i < j)
        first = self.system.nq + before
        return range(first, first + self.lengths[j] - 1)

    def velocity(self, j: int) -> int:
        """Entry of v that is z^(k−1) of an actuator."""
        return self.system.nv + self.extended.index(j)

    def input(self, j: int, q, v) -> Float[Array, ""]:
        """z: what the actuator applies."""
        own = self.coordinates(j)
        return q[own[0]] if len(own) else v[self.velocity(j)]

    def state(self, q, v, inputs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """q and v of the extended system where the inputs are at rest at given values, (nu,)."""
        q = np.concatenate([np.asarray(q, float), np.zeros(self.nq - self.system.nq)])
        v = np.concatenate([np.asarray(v, float), np.zeros(self.nv - self.system.nv)])
        for j in self.extended:
            # an input behind one integrator is a velocity; behind more, the first of its
            # coordinates
            own = self.coordinates(j)
            if len(own):
                q[own[0]] = inputs[j]
            else:
                v[self.velocity(j)] = inputs[j]
        return q, v


class Leading(AbstractConstraint):
    """A constraint written for the leading entries of q and v."""

    constraint: AbstractConstraint
    home: System
    name: str

    def __init__(self, constraint: AbstractConstraint, home: System):
        self.constraint, self.home, self.name = constraint, home, constraint.name

    @property
    def level(self) -> AbstractLevel:
        return self.constraint.level

    @property
    def parts(self) -> tuple[str, ...]:
        return self.constraint.parts

    @property
    def row_units(self) -> tuple[str, ...]:
        return self.constraint.row_units

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


def extended_model(model: Model, servo: Servo, lengths: tuple[int, ...], **options) -> Model:
    """The closed loop of a model whose servo acts through integrators.

    Args:
        model: the model without control.
        servo: its servo, whose actuators the integrators are put before.
        lengths: number of integrators before each actuator.
        options: further arguments of the extended servo, such as `degrees`.
    """
    chains = Chains(model.system, lengths)
    constraints = [Leading(c, model.system) for c in model.constraints.members]
    return Model(
        _system(model.system, servo, chains),
        constraints,
        model.params,
        servo=_servo(servo, chains, options),
        singular_mass=model.singular_mass,
        name=model.name,
    )


def _system(system: System, servo: Servo, chains: Chains) -> System:
    """The system with the states of the chains, on which nothing but the new inputs acts."""
    nq, nv, more = system.nq, system.nv, len(chains.extended)
    nu = len(chains.lengths)
    names, units = servo.names(nu), servo.units(nu)

    def mass_matrix(q, t, p):
        M = system.mass_as_given(q[:nq], t, p)
        if M.ndim == 1:
            return jnp.concatenate([M, jnp.ones(more)])
        # blocks of different sizes cannot stay blocks
        return jax.scipy.linalg.block_diag(dense_mass(M), jnp.eye(more))

    def force(q, v, t, p):
        B = servo.actuation_matrix(q[:nq], t, p)
        held = sum((B[:, j] * chains.input(j, q, v) for j in chains.extended), jnp.zeros(nv))
        return jnp.concatenate([system.force(q[:nq], v[:nv], t, p) + held, jnp.zeros(more)])

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
    unit = lambda j, n: (
        f"{units[j]}/s{'²³⁴⁵⁶'[n - 2] if n > 1 else ''}" if n and units[j] else units[j]
    )
    coordinates, velocities, q_units, v_units = [], [], [], []
    for j in chains.extended:
        k = chains.lengths[j]
        coordinates += [prime(j, n) for n in range(k - 1)]
        velocities.append(prime(j, k - 1 if k > 2 else 0))
        q_units += [unit(j, n) for n in range(k - 1)]
        v_units.append(unit(j, k - 1))
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


def _servo(servo: Servo, chains: Chains, options: Mapping) -> Servo:
    """The servo whose extended actuators act on the last integrator of their chain."""
    home, nu = chains.system, len(chains.lengths)
    names, units = servo.names(nu), servo.units(nu)
    kept = np.array([k == 0 for k in chains.lengths], float)

    def actuation(q, t, p):
        B = jnp.zeros((chains.nv, nu))
        B = B.at[: home.nv].set(servo.actuation_matrix(q[: home.nq], t, p) * kept)
        for j in chains.extended:
            B = B.at[chains.velocity(j), j].set(1.0)
        return B

    own = {x.name: getattr(servo.null_space, x.name) for x in dataclasses.fields(servo.null_space)}
    leading = lambda f: lambda q, v, t, p: f(q[: home.nq], v[: home.nv], t, p)
    null_space = dataclasses.replace(
        servo.null_space, **{key: leading(f) for key, f in own.items() if callable(f)}
    )
    if servo.limits is not None:
        raise ModelError(
            "dynamic extension: limits= bound the actuators' own controls, which are states behind "
            "integrators then; leave limits= out, and bound the path instead."
        )
    power = lambda k: "s" if k == 1 else f"s{'²³⁴⁵⁶'[k - 2]}"
    return Servo(
        [Leading(c, home) for c in servo.constraints],
        actuation,
        actuators=[f"{n}{chr(39) * k}" for n, k in zip(names, chains.lengths, strict=True)],
        actuator_units=[
            f"{u}/{power(k)}" if k and u else u for u, k in zip(units, chains.lengths, strict=True)
        ],
        null_space=null_space,
        pseudoinverse=servo.pseudoinverse,
        **options,
    )
