"""RATTLE: a symplectic method with fixed steps for long runs of conservative systems."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from zwang.compile import model_program
from zwang.errors import ModelError
from zwang.inputs.arguments import choice
from zwang.objects.record import field
from zwang.remedy import Remedy, advice
from zwang.stepping.base import AbstractIntegrator, Flow, Step
from zwang.thresholds import ALL_BUT_ZERO

BLOCK, PROBES = 64, 9
"""Number of instants that one call checks for properties that the method cannot integrate; and the
number of instants checked before a run, spread over its duration, at several velocities.
"""
STEP = Remedy("give zw.simulate step=", (("step", "give --step"),))
UNSUITED = "Rattle keeps the energy of models with a constant mass matrix and forces of position"
_THIRD = 1 / (4 - 4 ** (1 / 3))
HALVES = {
    2: (1.0,),
    4: (_THIRD, _THIRD, 1 - 4 * _THIRD),
    6: (
        0.39216144400731413928,
        0.33259913678935943860,
        -0.70624617255763935981,
        0.08221359629355080023,
        0.79854399093482996340,
    ),
}
"""Lengths of the steps of order 2 whose composition has order 4 (Suzuki) or 6 (Kahan and Li), up to
the middle one.
"""


class Rattle(AbstractIntegrator):
    """Störmer-Verlet method on the constraints, for a constant mass matrix and forces that depend
    on q and t alone:

        v½ = v + ½h (a(q) − M⁻¹Aᵀ(q) λ),    q₁ = q + h v½    with λ such that φ(q₁) = 0,
        v₁ = v½ + ½h a(q₁),    v₁ ← v₁ − A⊕ψ

    It is symmetric and symplectic. For a conservative system the energy error remains bounded by a
    multiple of h^order for longer than any run, whereas that of other methods grows. The step is
    fixed, `simulate(..., step=...)`, and must divide the distance of samples. λ is computed by
    repeated `A⊕(q) φ(q₁)` with one factor per step, dense or sparse. A run ends where the step is
    too long to follow the constraints, which may happen at a singular configuration;
    `zw.methods.Dopri8()` crosses singular configurations.

    Attributes:
        order: 2, or 4 or 6 by composing 5 or 9 steps of order 2, for accuracies below about 1e-6.

    Reference: Andersen (1983), J. Comput. Phys. 52, 24-34; Hairer, Lubich and Wanner, Geometric
        Numerical Integration (2006), sections VII.1.4 and V.3.2.
    """

    order: int = field(static=True, default=2)
    estimates = False

    def __post_init__(self):
        choice(self.order, "Rattle: order", HALVES)

    @property
    def parts(self) -> tuple[float, ...]:
        """Lengths of the composed steps of order 2, as fractions of the whole step."""
        half = HALVES[self.order]
        return (*half, *half[-2::-1])

    def step(self, flow: Flow, t, y, h, weight):
        parts = jnp.asarray(self.parts)

        def part(i, carry):
            t, q, v, kick, solved = carry
            length, normals, a = parts[i] * h, flow.normals(t, q), flow.free_acceleration(t, q)
            v = v + kick * a  # the end of the part before, which shares a and A⊕
            v = v - normals(flow.velocity_residual(t, q, v)) + 0.5 * length * a
            moved, ok = _onto(flow, normals, t + length, q + length * v)
            aside = (moved - q) / length - v
            size = lambda w: flow.speed(t, q, w)
            # a larger deflection does not follow one branch: where rows lose rank, the normals at
            # the start of a step are not those at its end
            ok = ok & (size(aside) <= 0.5 * size(v) + 2 * jnp.abs(length) * size(a))
            return t + length, moved, v + aside, 0.5 * length, solved & ok

        start = (t, *flow.split(y), jnp.zeros(()), jnp.asarray(True))
        _, q, v, kick, solved = jax.lax.fori_loop(0, len(parts), part, start)
        v = v + kick * flow.free_acceleration(
            t + h, q
        )  # the projection after the step makes it tangent
        return Step(jnp.concatenate([q, v]), jnp.zeros_like(y), solved, jnp.zeros(()))

    def refuse(self, model, flow, state, instants, step):
        dynamics, system, c = flow.dynamics, model.system, model.constraints
        along = _direction(system.nv)
        for wrong, why in (
            (step is None, f"takes steps of one length: {advice(STEP)} in seconds"),
            (
                system.velocity_map is not None or system.offset is not None,
                "needs velocities that are the rates of coordinates",
            ),
            (dynamics.singular_mass, "needs a mass matrix that is not singular"),
            (len(c.position_rows) < c.m, "takes position constraints alone"),
            (any(x.nonideal is not None for x in c.members), "takes ideal constraints alone"),
            (dynamics.law is not None or flow.sampler is not None, "takes no control"),
            (dynamics.formulation is not None, "takes no formulation="),
            (
                not flow.drift.projects or flow.drift.stabilization is not None,
                "needs zw.methods.Projection() without a stabilization",
            ),
        ):
            if wrong:
                raise ModelError(
                    f"{model.name}: zw.methods.Rattle {why}; zw.methods.Dopri8() takes any model."
                )
        t = np.linspace(float(state.t), instants[-1], PROBES)
        v = np.stack([state.v + size * along for size in np.resize([1.0, 0.0, 100.0], PROBES)])
        y = np.concatenate([np.tile(state.q, (PROBES, 1)), v], axis=1)
        for what in _found_dependence(flow, t, y)[:1]:
            raise ModelError(f"{model.name}: {UNSUITED}, but {what[1]}; take zw.methods.Dopri8().")
        apart = np.diff(np.concatenate([[float(state.t)], instants]))
        count = apart / step
        if np.any(np.abs(count - np.round(count)) > ALL_BUT_ZERO):
            raise ModelError(
                f"{model.name}: step = {step:g} s does not divide the distances of samples, "
                f"{np.max(apart):g} s, and steps of other lengths would cost zw.methods.Rattle "
                f"what it is for; take for example step = "
                f"{np.max(apart) / np.ceil(np.max(count)):g}."
            )

    def watch(self, flow, t, y):
        for instant, what in _found_dependence(flow, t, y)[:1]:
            raise ModelError(
                f"at t = {instant:.6g} s {what}, which it did not at the start, and {UNSUITED}: "
                "take zw.methods.Dopri8(), or end the run before."
            )


def _direction(nv: int) -> np.ndarray:
    """Return a direction of velocities in general position."""
    return np.random.default_rng(1983).standard_normal(nv)


def _found_dependence(flow: Flow, t: np.ndarray, y: np.ndarray) -> list[tuple[float, str]]:
    """Find where M changes or F depends on v; return instants [s] and descriptions."""
    changes = []
    for i in range(0, len(t), BLOCK):
        # blocks have one compiled size: each begins with the first instant, the last one is padded
        index = np.concatenate([[0], np.minimum(np.arange(i, i + BLOCK), len(t) - 1)])
        block = _dependence(flow, t[index], y[index], _direction(len(flow.split(y[0])[1])))
        changes.append(np.asarray(block)[:, 1 : 1 + min(BLOCK, len(t) - i)])
    changed = np.concatenate(changes, axis=1)
    found = []
    for values, what in zip(
        changed, ("mass_matrix depends on q or t", "force depends on velocities"), strict=True
    ):
        # values that are not finite are refused by the step itself
        at = np.flatnonzero(np.isfinite(values) & (values > 0))
        found += [(float(t[at[0]]), what)] if len(at) else []
    return sorted(found)


@model_program
def _dependence(flow, t, y, along):
    """Return the changes of M, along a direction of (q, t) and since the first instant, and of F
    along a direction of v, at v and away from it, shape (2, instants).
    """
    dynamics = flow.dynamics
    mass = lambda t, y: dynamics.mass_as_given(flow.state(t, y)).given
    M0 = mass(t[0], y[0])

    def at(x):
        t, y = x
        q, v = flow.split(y)
        at = lambda v: jnp.concatenate([q, v])
        turned = jnp.concatenate([along, jnp.zeros_like(v)])
        M, M_rate = jax.jvp(mass, (t, y), (jnp.ones_like(t), turned))
        force = lambda v: dynamics.applied_force(flow.state(t, at(v)))
        F_rates = [jax.jvp(force, (w,), (along,))[1] for w in (v, v + along)]
        largest = lambda *xs: sum(jnp.max(jnp.abs(x)) for x in xs)
        return jnp.stack([largest(M_rate, M - M0), largest(*F_rates)])

    return jax.lax.map(at, (jnp.asarray(t), jnp.asarray(y))).T


def _onto(flow: Flow, normals, t: Array, q: Array):
    """Move q along fixed normals until φ is round-off, at least once. Return q, and whether this
    converged.
    """

    def correct(carry):
        q, before, i, _ = carry
        phi, size = flow.position_residual(t, q)
        done = (i > 0) & (~(size > flow.target) | ((i > 2) & (size > 0.5 * before)))
        return jnp.where(done, q, q - normals(phi)), size, i + 1, done

    start = (q, jnp.asarray(jnp.inf), 0, jnp.asarray(False))
    # maximum number of corrections of q in one step; each multiplies the residual by about the
    # angle through which the normals rotate in the step
    q, size, _, done = jax.lax.while_loop(lambda carry: ~carry[3] & (carry[2] < 50), correct, start)
    return q, done & jnp.isfinite(size)
