"""The equations of a model and their derivatives at one state, compiled. Everything else in this
package is linear algebra on these values.

With constant v̇ = w and multipliers λ,

    dynamic = M(q) w − F(q, v) − Aᵀλ,    rate = A w − b

vanish along the motion, so that their derivatives along the constraint manifold give those of v̇
without the derivative of a pseudoinverse. Rows may be redundant.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from zwang.algebra.mass_matrix import dense_mass
from zwang.compile import program
from zwang.dynamics import functions
from zwang.dynamics.equation_of_motion import Dynamics
from zwang.dynamics.functions import as_velocity, velocity_map
from zwang.equations.state import State
from zwang.equations.system import System
from zwang.inputs.arrays import AnyArray
from zwang.objects.record import Record, replace
from zwang.stepping.explicit import equal_steps


class Generator(Record):
    """A vector field `Ξ(q) = c + B q` on coordinates, with unit rate of time; several fields if its
    arrays have a leading axis.

    Attributes:
        c: shape (nq,); B: shape (nq, nq).
    """

    c: Float[Array, " nq"]
    B: Float[Array, "nq nq"]

    @classmethod
    def still(cls, nq: int, *several: int) -> Generator:
        """The zero field."""
        return cls(jnp.zeros((*several, nq)), jnp.zeros((*several, nq, nq)))

    def __call__(self, q) -> Float[Array, " nq"]:
        """Ξ(q)."""
        return self.c + self.B @ q

    def plus(self, fields: Generator, rates) -> Generator:
        """The sum with several fields, each multiplied by its rate."""
        along = lambda x, more: x + jnp.tensordot(jnp.asarray(rates), more, 1)
        return Generator(along(self.c, fields.c), along(self.B, fields.B))

    def velocity(self, system: System, q, t, p) -> Float[Array, " nv"]:
        """Ξ as a velocity."""
        return as_velocity(system, q, t, p, self(q))


class Local(NamedTuple, Generic[AnyArray]):
    """The values of a model's functions at one state, as arrays.

    Attributes:
        phi, psi: residuals of the position rows and of the velocity rows.
        A, b: of `A v̇ = b`, shapes (m, nv) and (m,).
        M, F, N: dense mass matrix, force including actuators and nonideal constraints, velocity
            map.
        rate: q̇, shape (nq,).
        pull: derivative of F by the multipliers, which load sliding dry friction, shape (nv, m).
    """

    phi: AnyArray
    psi: AnyArray
    A: AnyArray
    b: AnyArray
    M: AnyArray
    F: AnyArray
    N: AnyArray
    rate: AnyArray
    pull: AnyArray


class Variation(NamedTuple, Generic[AnyArray]):
    """Derivatives with respect to (ξ, δv, δt), shape (…, 2 nv + 1), and to inputs, shape (…, k).

    ξ moves q along N ξ. `kinematic` is `N⁺ (q̇ − Ξ(q))`; `generator` is the rate of v along Ξ.
    """

    phi: AnyArray
    psi: AnyArray
    dynamic: AnyArray
    rate: AnyArray
    kinematic: AnyArray
    generator: AnyArray
    phi_input: AnyArray
    psi_input: AnyArray
    dynamic_input: AnyArray
    rate_input: AnyArray


def mass(system: System, q, t, p) -> Float[Array, "nv nv"]:
    """M as a dense matrix, from any form of M."""
    return dense_mass(functions.mass_matrix(system, q, t, p))


def force(dynamics: Dynamics, s: State, multipliers) -> Float[Array, " nv"]:
    """F including the force of actuators and the force c of nonideal constraints; sliding dry
    friction is loaded by the multipliers. Any other c that depends on the constraint force has been
    refused before (`depends_on_constraint_force`).
    """
    F, p = dynamics.applied_force(s), dynamics.p
    for c in dynamics.constraints.members:
        if c.nonideal is not None:
            ideal = jnp.zeros((len(c.parts), dynamics.system.nv))
            F = F + jnp.sum(c.impressed(s.q, s.v, s.t, p, ideal), axis=0)
    return sum(dynamics.sliding_forces(s, multipliers).values(), F)


def dynamic_residual(dynamics: Dynamics, s: State, w, multipliers) -> Float[Array, " nv"]:
    """`M w − F − Aᵀλ`."""
    system, p = dynamics.system, dynamics.p
    residual = functions.inertial_force(system, s.q, s.t, p, w)
    residual = residual - force(dynamics, s, multipliers)
    if not dynamics.constraints.m:
        return residual
    return residual - constraint_force(dynamics, s, multipliers)


def constraint_force(dynamics: Dynamics, s: State, multipliers) -> Float[Array, " nv"]:
    """`Aᵀλ`, by reverse mode, because derivatives of A take long to compile."""
    product = dynamics.constraints.product(s.q, s.v, s.t, dynamics.p)
    try:
        (found,) = jax.linear_transpose(product, s.v)(multipliers)
        return found
    except Exception:  # an operation that cannot be transposed, such as a loop of unknown length
        return dynamics.constraints.matrix(s.q, s.v, s.t, dynamics.p).T @ multipliers


def forces_by_constraint(dynamics: Dynamics, s: State, multipliers) -> Float[Array, "parts nv"]:
    """`Aᵢᵀ λᵢ` of each constraint, including the force of sliding dry friction."""
    slices = dynamics.constraints.row_slices
    sliding, still = dynamics.sliding_forces(s, multipliers), jnp.zeros(dynamics.system.nv)
    if not slices:
        return jnp.zeros((0, dynamics.system.nv))
    A = dynamics.constraints.matrix(s.q, s.v, s.t, dynamics.p)
    each = [A[x].T @ multipliers[x] + sliding.get(name, still) for name, x in slices.items()]
    return jnp.stack(each)


@program
def loads(dynamics: Dynamics, s: State, multipliers):
    """`forces_by_constraint`, and its derivative by the multipliers."""
    each = lambda x: forces_by_constraint(dynamics, s, x)
    return each(multipliers), jax.jacfwd(each)(multipliers)


def constraint_rate(dynamics: Dynamics, s: State, w) -> Float[Array, " m"]:
    """`A w − b`: dψ/dt along the motion, from one derivative of ψ."""
    system, rows, p = dynamics.system, dynamics.constraints, dynamics.p
    along = (system.rate(s.q, s.v, s.t, p), w, jnp.ones_like(s.t))
    psi = lambda q, v, t: rows.velocity_residual(q, v, t, p)
    found = jnp.zeros(rows.m)
    if len(rows.velocity_rows):
        found = found.at[rows.velocity_rows].set(jax.jvp(psi, (s.q, s.v, s.t), along)[1])
    outright = [
        c.acceleration_rows(system, s.q, s.v, s.t, p) for c in rows.members if not c.level.has_psi
    ]
    if outright:
        left = jnp.concatenate([A @ w - b for A, b in outright])
        found = found.at[rows.outright_rows].set(left)
    return found


def lifted(system: System, field: Generator, q, v, t, p) -> Float[Array, " nv"]:
    """The rate of v along Ξ: `N v` changes like q̇ under the linear part of Ξ."""
    # q̇ = v, so Ξ acts on velocities as on coordinates
    if system.velocity_map is None and system.offset is None:
        return field.B @ v
    moved = jax.jvp(lambda q: system.rate(q, v, t, p), (q,), (field(q),))[1]
    return as_velocity(system, q, t, p, field.B @ system.rate(q, v, t, p) - moved)


def departures(
    dynamics: Dynamics, s: State, w, multipliers, field: Generator, step, held: PyTree
) -> tuple[Any, Any, Any, Any, Any, Any]:
    """Residuals that vanish along a motion, at a neighbor of one of its states.

    Args:
        w, multipliers: v̇ and λ, constant.
        field: the generator; the state moves relative to its flow.
        step: (ξ, δv, δt) of the neighbor, shape (2 nv + 1,); ξ moves q along N ξ.
        held: the parameters of N, whose derivative is not needed because N acts on a vanishing
            difference.

    Returns:
        φ, ψ, `M w − F − Aᵀλ`, `A w − b`, `N⁺ (q̇ − Ξ(q))`, and the rate of v along Ξ.
    """
    system, rows, p = dynamics.system, dynamics.constraints, dynamics.p
    nv, t = system.nv, s.t + step[-1]
    # displacements along velocities, so that derivatives stay tangent to the manifold of
    # coordinates
    q, v = system.move(s.q, step[:nv], s.t, p), s.v + step[nv:-1]
    x = State(q, v, t)
    drift = system.rate(q, v, t, p) - field(q)
    return (
        rows.position_residual(q, t, p),
        rows.velocity_residual(q, v, t, p),
        dynamic_residual(dynamics, x, w, multipliers),
        constraint_rate(dynamics, x, w),
        as_velocity(system, s.q, s.t, held, drift),
        lifted(system, field, q, v, t, p),
    )


def by_parameters(function: Callable, p: PyTree, directions: PyTree) -> PyTree:
    """Derivatives of arrays along tangents of the parameters, in the last axis.

    Args:
        directions: tangents, with a leading axis over them; None if there are none.
    """
    if directions is None:
        return jax.tree_util.tree_map(lambda x: jnp.zeros((*x.shape, 0)), function(p))
    along = jax.vmap(lambda dp: jax.jvp(function, (p,), (dp,))[1])(directions)
    return jax.tree_util.tree_map(lambda x: jnp.moveaxis(x, 0, -1), along)


@program
def local(dynamics: Dynamics, s: State, multipliers) -> Local:
    """All values at one state, with friction loaded by multipliers."""
    system, rows, p = dynamics.system, dynamics.constraints, dynamics.p
    slides, still = rows.sliding is not None, jnp.zeros((system.nv, rows.m))
    return Local(
        rows.position_residual(s.q, s.t, p),
        rows.velocity_residual(s.q, s.v, s.t, p),
        rows.matrix(s.q, s.v, s.t, p) if rows.m else jnp.zeros((0, system.nv)),
        rows.rhs(s.q, s.v, s.t, p) if rows.m else jnp.zeros(0),
        mass(system, s.q, s.t, p),
        force(dynamics, s, multipliers),
        velocity_map(system, s.q, s.t, p),
        system.rate(s.q, s.v, s.t, p),
        jax.jacfwd(lambda x: force(dynamics, s, x))(multipliers) if slides else still,
    )


@program
def variation(
    dynamics: Dynamics, s: State, w, multipliers, field: Generator, directions
) -> Variation:
    """Derivatives at a state whose acceleration is w, relative to the flow of a generator.

    Args:
        directions: tangents of the parameters, with a leading axis over inputs; None without
            inputs.
    """
    nv = dynamics.system.nv

    def residuals(step, p):
        d = replace(dynamics, p=p)
        return departures(d, s, w, multipliers, field, step, held=dynamics.p)

    zero = jnp.zeros(2 * nv + 1)
    state = jax.jacfwd(lambda step: residuals(step, dynamics.p))(zero)
    by_input = by_parameters(lambda p: residuals(zero, p), dynamics.p, directions)
    return Variation(*state, *by_input[:4])


@program
def output_slopes(dynamics: Dynamics, s: State, outputs: Callable, directions):
    """Derivatives of `outputs(q, v, t, p)` with respect to (ξ, δv) and to the inputs."""
    system, nv, p = dynamics.system, dynamics.system.nv, dynamics.p

    def y(step, p):
        q = system.move(s.q, step[:nv], s.t, p)
        return jnp.atleast_1d(outputs(q, s.v + step[nv:], s.t, p))

    zero = jnp.zeros(2 * nv)
    C = jax.jacfwd(lambda step: y(step, p))(zero)
    return C, by_parameters(lambda p: y(zero, p), p, directions)


@program
def frames(dynamics: Dynamics, q, t):
    """N and M, and their derivatives with respect to q in the last axis."""
    system, p = dynamics.system, dynamics.p
    N, M = (lambda q: velocity_map(system, q, t, p)), (lambda q: mass(system, q, t, p))
    return N(q), jax.jacfwd(N)(q), M(q), jax.jacfwd(M)(q)


@program
def along_field(dynamics: Dynamics, s: State, w, field: Generator):
    """N⁺Ξ of a generator at a state, the rate of v along it, and the time derivative of this
    rate.
    """
    system, p = dynamics.system, dynamics.p
    rate = system.rate(s.q, s.v, s.t, p)
    turned, change = jax.jvp(
        lambda q, v: lifted(system, field, q, v, s.t, p), (s.q, s.v), (rate, w)
    )
    return field.velocity(system, s.q, s.t, p), turned, change


@program
def time_derivatives(dynamics: Dynamics, s: State, w):
    """Ṁ, Ȧ and N⁺Ṅ along the motion."""
    system, rows, p = dynamics.system, dynamics.constraints, dynamics.p
    along = (system.rate(s.q, s.v, s.t, p), w, jnp.ones_like(s.t))

    def matrices(q, v, t):
        A = rows.matrix(q, v, t, p) if rows.m else jnp.zeros((0, system.nv))
        return mass(system, q, t, p), A, velocity_map(system, q, t, p)

    M, A, N = jax.jvp(matrices, (s.q, s.v, s.t), along)[1]
    return M, A, jax.vmap(lambda x: as_velocity(system, s.q, s.t, p, x), 1, 1)(N)


@program
def energy_rates(dynamics: Dynamics, s: State, w):
    """Rate of the kinetic energy due to the rate of q, and due to that of v."""
    system, p = dynamics.system, dynamics.p
    energy = lambda q, v: 0.5 * v @ functions.inertial_force(system, q, s.t, p, v)
    rate = system.rate(s.q, s.v, s.t, p)
    by_place = jax.jvp(lambda q: energy(q, s.v), (s.q,), (rate,))[1]
    return by_place, jax.jvp(lambda v: energy(s.q, v), (s.v,), (w,))[1]


@program
def moved(dynamics: Dynamics, q, dv, t):
    """`q ⊕ dv`."""
    return dynamics.system.move(q, dv, t, dynamics.p)


@program
def travelled(dynamics: Dynamics, q, dv, t):
    """`q ⊕ dv` for a long displacement. If the system has no retraction, q moves along `q̇ = N(q)
    dv`, which keeps the invariants of N, such as the length of quaternions.
    """
    system, p = dynamics.system, dynamics.p
    if system.retract is not None or system.velocity_map is None:
        return system.move(q, dv, t, p)
    # 128 Runge-Kutta steps have an error of 1e-11 for a rotation by 2 rad
    return equal_steps(lambda _, q: system.along(q, dv, t, p), q, 1.0, 128)[-1]


@program
def turning(dynamics: Dynamics, s: State, field: Generator):
    """The derivative of `lifted` with respect to v: the rotation of velocities by a generator."""
    system, p = dynamics.system, dynamics.p
    return jax.jacfwd(lambda v: lifted(system, field, s.q, v, s.t, p))(s.v)


@program
def depends_on_constraint_force(dynamics: Dynamics, s: State):
    """Size of the derivatives of nonideal forces c with respect to the constraint force."""
    size = jnp.zeros(())
    for c in dynamics.constraints.members:
        if c.nonideal is not None:
            ideal = jnp.ones((len(c.parts), dynamics.system.nv))
            given = lambda x, c=c: c.impressed(s.q, s.v, s.t, dynamics.p, x)
            size = size + jnp.max(jnp.abs(jax.jacfwd(given)(ideal)))
    return size
