"""Checks for parts of your own: the library's own compliance tests, callable on a model, a method
or an integrator.

Each raises an `AssertionError` that says which law is broken and by how much; none returns
anything.

    from zwang.testing import check_model
    check_model(model, q0, v0)
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from scipy.integrate import solve_ivp

from zwang.algebra.mass_matrix import dense_mass
from zwang.algebra.pseudoinverse import AbstractPseudoinverse, Proximal, Pseudoinverse
from zwang.compile import program
from zwang.dynamics.drift import AbstractDrift
from zwang.dynamics.evaluation import evaluate
from zwang.dynamics.formulation import AbstractFormulation
from zwang.dynamics.model import Model
from zwang.dynamics.motion import motion
from zwang.equations.state import State
from zwang.equations.system import System
from zwang.servo.gains import AbstractGain
from zwang.simulation.simulate import simulate
from zwang.stepping import AbstractIntegrator

DIFFERENCE_STEP = 1e-6
"""Step of central differences; with float64 they are good to about 1e-9 of the function's scale."""
DIFFERENCE_ACCURACY = 1e-6
"""Largest deviation from a central difference, relative to 1 + the value, that passes."""


def check_model(model: Model, q, v, t: float = 0.0) -> None:
    """Check a model's functions against each other at a state.

    - M is symmetric and, unless `singular_mass`, positive definite;
    - `retract` moves along N: d/ds (q ⊕ s dv) = N dv at s = 0, and an empty move stays;
    - ψ is the rate of φ, and A v̇ − b is the rate of ψ, along a random v̇ (central differences);
    - M v̇ = F + Q_c, A v̇ = b, and an ideal Q_c does no virtual work;
    - all derivatives with respect to the state are finite.

    Args:
        model: the model.
        q, v: a state on the constraints, shapes (nq,) and (nv,).
        t: time [s].
    """
    s = model.state(q, v, t)
    _check_mass(model, s)
    _check_retraction(model.system, s, model.params)
    _check_rates(model, s)
    # A whole: its null space is looked at
    answer = motion(model, q, v, t, pseudoinverse=Proximal())
    dynamics = model.dynamics(pseudoinverse=Proximal())
    F = dynamics.applied_force(s)
    M = dynamics.mass(s, jnp.asarray(answer.matrix))
    if not model.singular_mass:
        _assert(
            M.apply(answer.acceleration) - F - answer.constraint_force,
            1e-9 * _size(F, answer.constraint_force),
            "M v̇ = F + Q_c",
        )
    allowed = np.linalg.svd(np.asarray(answer.matrix))[2][int(answer.rank) :]
    _assert(
        allowed @ np.asarray(answer.ideal_force),
        1e-7 * _size(answer.ideal_force),
        "no virtual work of the ideal constraint force",
    )
    acceleration = lambda q, v: (
        motion(model, q, v, t, pseudoinverse=Proximal(), throw=False).acceleration
    )
    gradient = jax.jit(jax.jacrev(acceleration, argnums=(0, 1)))(s.q, s.v)
    if not all(bool(jnp.all(jnp.isfinite(g))) for g in gradient):
        raise AssertionError("the derivative of the acceleration is not finite at this state")


def check_pseudoinverse(method: AbstractPseudoinverse) -> None:
    """Check a pseudoinverse: the four Penrose conditions on wide, square, tall, rank-deficient and
    zero matrices (1e-9 relative), `solve` and `solve_transpose` against the matrix, its derivative
    against central differences, and finite derivatives at rank loss.
    """
    random = np.random.default_rng(4)
    full = [random.standard_normal(shape) for shape in ((3, 5), (4, 4), (5, 3))]
    deficient = [random.standard_normal((5, 2)) @ random.standard_normal((2, 4)), np.zeros((2, 3))]
    for C in map(jnp.asarray, [*full, *deficient]):
        r, x = (
            C @ jnp.asarray(random.standard_normal(C.shape[1])),
            jnp.asarray(random.standard_normal(C.shape[1])),
        )
        X, solved, transposed, rank = _applied(method, C, r, x)
        expected = np.linalg.pinv(C, rcond=1e-8)
        for left, right, law in ((C @ X @ C, C, "C C⁺ C = C"), (X @ C @ X, X, "C⁺ C C⁺ = C⁺")):
            _assert(left - right, 1e-9 * _size(right), law)
        for product, law in ((C @ X, "C C⁺ symmetric"), (X @ C, "C⁺ C symmetric")):
            _assert(product - product.T, 1e-9, law)
        _assert(solved - expected @ r, 1e-9 * _size(r), "solve(r) = C⁺ r for r in the range of C")
        _assert(
            transposed - expected.T @ x,
            1e-8 * _size(expected) * _size(x),
            "solve_transpose(x) = (C⁺)ᵀ x",
        )
        if int(rank) != np.linalg.matrix_rank(C):
            raise AssertionError(
                f"rank is {int(rank)}, expected {np.linalg.matrix_rank(C)} for a matrix of "
                f"shape {C.shape}"
            )
    _check_pseudoinverse_derivative(method, jnp.asarray(full[0]), jnp.asarray(deficient[0]))


@program
def _applied(method: AbstractPseudoinverse, C, r, x):
    P = Pseudoinverse(method, C)
    return P.matrix(), P.solve(r), P.solve_transpose(x), P.rank()


def check_formulation(formulation: AbstractFormulation, method: AbstractPseudoinverse) -> None:
    """Check an equation of motion against a dense solve of the multiplier equations (1e-8):
    independent rows, repeated rows, and,
    where `singular_mass` says so, a massless direction that a row holds.
    """
    random = np.random.default_rng(5)
    L, A = random.standard_normal((6, 6)), random.standard_normal((3, 6))
    M, F, b = L @ L.T + np.eye(6), random.standard_normal(6), random.standard_normal(3)
    cases = [
        ("independent rows", M, A, b),
        ("repeated rows", M, np.vstack([A, A]), np.concatenate([b, b])),
    ]
    if formulation.singular_mass:
        massless = np.diag([1.0, 1.0, 1.0, 1.0, 1.0, 0.0])
        cases.append(("a massless direction", massless @ M @ massless, A, b))
    for what, mass, rows, rhs in cases:
        kkt = np.block([[mass, -rows.T], [rows, np.zeros((len(rows), len(rows)))]])
        expected = np.linalg.lstsq(kkt, np.concatenate([F, rhs]), rcond=1e-12)[0][:6]
        given = [jnp.asarray(x) for x in (mass, F, rows, rhs)]
        got = jax.jit(lambda M, F, A, b: formulation.acceleration(M, F, A, b, method))(*given)
        _assert(got - expected, 1e-8 * _size(expected), f"{type(formulation).__name__} with {what}")


def check_integrator(integrator: AbstractIntegrator) -> None:
    """Check an integrator's order on a pendulum on its rod: halving a fixed step divides the error
    by 2^order, within half an order over several halvings.
    """
    model = _pendulum()
    exact = simulate(model, [1.0, 0.0], [0.0, 0.0], times=[1.0], rtol=1e-13).q[-1]
    coarse, halvings = (0.2, 2) if integrator.order > 5 else (0.1, 3)

    def error(step):
        run = simulate(
            model, [1.0, 0.0], [0.0, 0.0], times=[1.0], step=step, integrator=integrator, rtol=1e-11
        )
        return float(np.abs(run.q[-1] - exact).max())

    order = np.log2(error(coarse) / error(coarse / 2**halvings)) / halvings
    if order < integrator.order - 0.5:
        raise AssertionError(
            f"{type(integrator).__name__} converges at order {order:.2f}, expected "
            f"{integrator.order}"
        )


def check_gain(gain: AbstractGain, order: int) -> None:
    """Check a gain for error dynamics of an order: all poles have a negative real part, and from a
    random start the error, integrated with `pull`, falls by 1e-4 within 20 times the slowest
    pole's time.

    Args:
        gain: the gain, for one row or for several.
        order: r, order of the error dynamics.
    """
    poles = gain.error_poles(order)
    if not np.max(np.real(poles)) < 0:
        raise AssertionError(f"{type(gain).__name__} has a pole that does not decay: {poles}")
    rows = max((len(c) for c in gain.coefficients(order) if jnp.ndim(c)), default=1)
    start = np.random.default_rng(9).standard_normal((order, rows))

    @jax.jit
    def slope(t, y):
        chain = y.reshape(order, rows)
        return jnp.concatenate([chain[1:].ravel(), gain.pull(list(chain))])

    end = 20 / float(np.min(-np.real(poles)))
    # an implicit method: a boundary layer is stiff
    found = solve_ivp(slope, (0.0, end), start.ravel(), method="LSODA", rtol=1e-8, atol=1e-10)
    _assert(found.y[:, -1], 1e-4 * _size(start), f"the error decays under {gain!r}")


def check_drift(drift: AbstractDrift, violation: float) -> None:
    """Check a drift treatment on a pendulum on its rod over 5 s at rtol 1e-8: φ stays below
    `violation`, the angle within 1e-4.
    """
    run = simulate(_pendulum(), [1.0, 0.0], [0.0, 0.0], times=[2.5, 5.0], rtol=1e-8, drift=drift)
    _assert(np.einsum("ij,ij->i", run.q, run.q) - 1, violation, f"{drift!r} keeps φ")
    exact = simulate(_pendulum(), [1.0, 0.0], [0.0, 0.0], times=[2.5, 5.0], rtol=1e-12)
    _assert(run.q - exact.q, 1e-4, f"{drift!r} keeps the motion")


def _check_mass(model: Model, s: State) -> None:
    M = dense_mass(np.asarray(evaluate(model.dynamics(), s).M))
    _assert(M - M.T, 1e-12 * _size(M), "M symmetric")
    smallest = np.linalg.eigvalsh(M)[0]
    if smallest < 0 if model.singular_mass else smallest <= 0:
        raise AssertionError(f"M is not positive: its smallest eigenvalue is {smallest:.3g}")


def _check_retraction(system: System, s: State, p) -> None:
    dv, h = jnp.asarray(np.random.default_rng(6).standard_normal(system.nv)), DIFFERENCE_STEP

    @jax.jit
    def compared(s):
        moved = (system.move(s.q, h * dv, s.t, p) - system.move(s.q, -h * dv, s.t, p)) / (2 * h)
        along, N = system.along(s.q, dv, s.t, p), system.velocity_map
        apart = jnp.zeros(system.nq) if N is None else N(s.q, s.t, p) @ dv - along
        return moved - along, system.move(s.q, 0 * dv, s.t, p) - s.q, apart

    off, stayed, apart = compared(s)
    _assert(apart, 1e-12 * _size(dv), "velocity_map.along gives N dv")
    _assert(off, DIFFERENCE_ACCURACY * _size(dv), "retract moves along N dv")
    _assert(stayed, 1e-12 * _size(s.q), "an empty retraction stays")


def _check_rates(model: Model, s: State) -> None:
    c, p, system, h = model.constraints, model.params, model.system, DIFFERENCE_STEP
    vdot = jnp.asarray(np.random.default_rng(7).standard_normal(system.nv))

    def at(s, step):
        return State(system.move(s.q, step * s.v, s.t, p), s.v + step * vdot, s.t + step)

    held = np.searchsorted(c.velocity_rows, c.position_rows)

    @jax.jit
    def compared(s):
        after, before = at(s, h), at(s, -h)
        rate = (
            c.position_residual(after.q, after.t, p) - c.position_residual(before.q, before.t, p)
        ) / (2 * h)
        psi, *psi_around = (c.velocity_residual(x.q, x.v, x.t, p) for x in (s, after, before))
        turn = (psi_around[0] - psi_around[1]) / (2 * h)
        change = (c.matrix(s.q, s.v, s.t, p) @ vdot - c.rhs(s.q, s.v, s.t, p))[c.velocity_rows]
        return psi, rate - psi[held], change, turn - change

    psi, off, change, off_change = compared(s)
    _assert(off, DIFFERENCE_ACCURACY * _size(psi), "ψ is the rate of φ")
    _assert(off_change, DIFFERENCE_ACCURACY * _size(change), "A v̇ − b is the rate of ψ")


def _check_pseudoinverse_derivative(method, C, deficient) -> None:
    r, h = jnp.arange(1.0, C.shape[0] + 1), DIFFERENCE_STEP
    dC = jnp.asarray(np.random.default_rng(8).standard_normal(C.shape))

    @jax.jit
    def x(s):
        return Pseudoinverse(method, C + s * dC).solve(r)

    numeric = (x(h) - x(-h)) / (2 * h)
    _assert(
        jax.jit(jax.jacfwd(x))(0.0) - numeric,
        DIFFERENCE_ACCURACY * _size(numeric),
        "derivative of C⁺ r",
    )
    gradient = jax.jit(
        jax.grad(lambda C: jnp.sum(Pseudoinverse(method, C).solve(C @ jnp.ones(C.shape[1])) ** 2))
    )(deficient)
    if not bool(jnp.all(jnp.isfinite(gradient))):
        raise AssertionError("the derivative of C⁺ r is not finite where C loses rank")


def _pendulum() -> Model:
    from zwang.equations.constraint import Holonomic

    system = System(2, lambda q, t, p: jnp.ones(2), lambda q, v, t, p: jnp.array([0.0, -9.81]))
    return Model(system, [Holonomic(lambda q, t, p: q @ q - 1.0, name="rod")])


def _size(*arrays) -> float:
    return 1.0 + max(float(jnp.max(jnp.abs(x), initial=0.0)) for x in map(jnp.asarray, arrays))


def _assert(deviation, allowed: float, law: str) -> None:
    worst = float(jnp.max(jnp.abs(jnp.asarray(deviation)), initial=0.0))
    if not worst <= allowed:
        raise AssertionError(f"{law}: off by {worst:.3g}, allowed {allowed:.1e}")
