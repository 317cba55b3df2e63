"""M and F from kinetic and potential energy, by automatic differentiation."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp

from zwang.equations.system import System
from zwang.inputs.arguments import count, function, optional_function
from zwang.inputs.call import misfits_named
from zwang.inputs.tracing import returned


@misfits_named
def Lagrangian(
    kinetic: Callable,
    potential: Callable | None = None,
    force: Callable | None = None,
    *,
    nq: int,
    coordinates: Sequence[str] | None = None,
    units: Sequence[str] | None = None,
) -> System:
    """The system of a Lagrangian `T − V` in minimal or redundant generalized coordinates, v = q̇.

        M = ∂²T/∂v²,    F = Q − (∂²T/∂v∂q v + ∂²T/∂v∂t) + ∂T/∂q − ∂V/∂q

    Args:
        kinetic: `(q, v, t, p)` → T [J], quadratic in v; terms that are linear in v or independent
            of v, as in moving frames, are allowed.
        potential: `(q, t, p)` → V [J].
        force: `(q, v, t, p)` → applied generalized force Q that has no potential [N, N·m …], shape
            (nq,).
        nq: number of coordinates.
        coordinates, units: see `System`.

    Example:
        >>> pendulum = Lagrangian(
        ...     lambda q, v, t, p: 0.5 * v[0] ** 2, lambda q, t, p: -9.81 * jnp.cos(q[0]), nq=1)
    """

    count(nq, "Lagrangian: nq", least=1)
    function(kinetic, "Lagrangian: kinetic", "(q, v, t, p) → T")
    optional_function(potential, "Lagrangian: potential", "(q, t, p) → V")
    optional_function(force, "Lagrangian: force", "(q, v, t, p) → Q")

    def energy(q, v, t, p):
        return returned(kinetic(q, v, t, p), "Lagrangian: kinetic(q, v, t, p)")

    def mass_matrix(q, t, p):
        return jax.hessian(energy, argnums=1)(q, jnp.zeros(nq), t, p)

    def total_force(q, v, t, p):
        momentum = jax.grad(energy, argnums=1)
        change = jax.jvp(lambda q, t: momentum(q, v, t, p), (q, t), (v, jnp.ones_like(t)))[1]
        F = jax.grad(energy)(q, v, t, p) - change
        F = F if potential is None else F - jax.grad(potential)(q, t, p)
        return F if force is None else F + jnp.asarray(force(q, v, t, p))

    return System(
        nq, mass_matrix, total_force, potential=potential, coordinates=coordinates, units=units
    )
