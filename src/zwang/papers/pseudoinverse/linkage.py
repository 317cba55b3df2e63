"""The five-bar linkage integrated as in the paper: eq. (32) with one of five pseudoinverses, by a
variable-order Adams method.

CVODE of SUNDIALS replaces IMSL's DIVPAG. Its Newton iteration receives a Jacobian of zeros, which
makes it the fixed-point iteration that DIVPAG uses by default; finite differences of a right-hand
side with a rank decision would be differences across this decision.
"""

from __future__ import annotations

import dataclasses
import functools
import time
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

import zwang.gallery
from zwang.algebra.pseudoinverse import (
    SVD,
    AbstractPseudoinverse,
    GramSchmidt,
    Greville,
    Householder,
    Varga,
)
from zwang.dynamics.drift import BaumgarteRates
from zwang.dynamics.formulation import UdwadiaKalaba
from zwang.equations.state import State
from zwang.gallery import Example
from zwang.simulation.simulate import simulate
from zwang.stepping import Dopri8

ANGLE = -50.0
"""Initial angle of the cranks [deg], which the paper does not give. From rest at 45 to 50° below
the horizontal the linkage never becomes collinear, and truncated singular values fail at the times
of the paper.
"""
DURATION, FIRST_STEP = 20.0, 0.66e-2
"""Duration and first step of the paper's runs [s]."""
ALPHA, BETA = 1000.0, 100.0
"""The paper's gains [1/s]."""
WRONG = 1e-2
"""Angle error from which a run counts as wrong [rad]; it is visible in a drawing."""
MOST_CALLS = {False: 25_000, True: 400_000}
"""Function calls after which a run is stopped, without and with stabilization: about four times the
calls of most complete runs. At the limit of stability, round-off influences the step size, and some
runs need twice as many calls as others.
"""
SPACING = 0.05
"""Distance of the stored states [s]."""
METHODS: dict[str, Callable[..., AbstractPseudoinverse]] = {
    "SVD": SVD,
    "Varga": Varga,
    "Greville": Greville,
    "LS-Householder": Householder,
    "LS-Modified GS": GramSchmidt,
}
"""Pseudoinverses by the names in the paper."""


@dataclasses.dataclass(frozen=True)
class Outcome:
    """A run as a row of Tables 7-12.

    Attributes:
        t, q: stored states, shapes (k,) and (k, 12).
        angle_error: error of the angle of crank 1 relative to the exact motion [rad], shape (k,).
        violation: Σφ² [m²], shape (k,).
        calls, steps: number of function calls and of accepted steps.
        cpu: processor time of the thread [s].
        halted: reason for an early end; empty if there was none.
    """

    t: np.ndarray
    q: np.ndarray
    angle_error: np.ndarray
    violation: np.ndarray
    calls: int
    steps: int
    cpu: float
    halted: str = ""

    @property
    def correct_until(self) -> float:
        """The last stored instant before the angle was wrong by `WRONG` [s]."""
        wrong = np.flatnonzero(~(self.angle_error < WRONG))
        return float(self.t[wrong[0] - 1] if len(wrong) else self.t[-1])

    @property
    def correct(self) -> bool:
        return self.correct_until >= DURATION


@functools.cache
def linkage(angle: float = ANGLE) -> Example:
    """The gallery's model at the initial state of these runs."""
    return zwang.gallery.load("five-bar", angle=angle)


@functools.cache
def right_hand_side(method: Callable[..., AbstractPseudoinverse]) -> Callable:
    """`(t, y, threshold, α, β) → ẏ`, y = (q, v), by eq. (32); one program for every tolerance, with
    and without stabilization.
    """
    model = linkage().model

    @jax.jit
    def rate(t, y, threshold, alpha, beta):
        dynamics, state = model.dynamics(), State(y[:12], y[12:], t)
        M = model.system.mass_matrix(state.q, t, dynamics.p)
        F = model.system.force(state.q, state.v, t, dynamics.p)
        b = dynamics.rhs(state) + BaumgarteRates(alpha, beta).term(dynamics, state)
        A = dynamics.matrix(state)
        return jnp.concatenate(
            [state.v, UdwadiaKalaba().acceleration(M, F, A, b, method(threshold=threshold))]
        )

    return rate


@functools.cache
def _violation() -> Callable:
    dynamics = linkage().model.dynamics()
    return jax.jit(
        jax.vmap(
            lambda q: jnp.sum(
                dynamics.position_residual(State(q, jnp.zeros(12), jnp.zeros(()))) ** 2
            )
        )
    )


def adams(
    method: Callable[..., AbstractPseudoinverse],
    tolerance: float,
    *,
    stabilized: bool,
    duration: float = DURATION,
) -> Outcome:
    """One run of the paper: the rank threshold is the tolerance."""
    from sksundae.cvode import CVODE

    example, rate, calls = linkage(), right_hand_side(method), 0
    gains = (ALPHA, BETA) if stabilized else (0.0, 0.0)
    # arguments of the program, so that one compilation serves all tolerances
    settings = [jnp.asarray(x) for x in (tolerance, *gains)]
    y = np.concatenate([example.q0, example.v0])
    jax.block_until_ready(rate(0.0, y, *settings))  # compiled before the clock starts

    def function(t, y, ydot):
        nonlocal calls
        calls += 1
        ydot[:] = rate(t, y, *settings)

    began = time.thread_time()
    solver = CVODE(
        function,
        method="Adams",
        jacfn=lambda t, y, ydot, jacobian: None,
        rtol=tolerance,
        atol=tolerance,
        first_step=FIRST_STEP,
    )
    solver.init_step(0.0, y)
    kept, t, steps, halted = [(0.0, y)], 0.0, 0, ""
    while t < duration and not halted:
        there = solver.step(duration, method="onestep", tstop=duration)
        t, steps = float(there.t), steps + 1
        if not there.success:
            halted = there.message
        elif calls > MOST_CALLS[stabilized]:
            halted = f"given up after {calls:,} function calls"
        # not every step is stored, because a stabilized run has half a million
        if t - kept[-1][0] >= SPACING or t >= duration or halted:
            kept.append((t, np.array(there.y)))
    cpu = time.thread_time() - began
    instants, states = np.array([t for t, _ in kept]), np.array([y[:12] for _, y in kept])
    return _outcome(instants, states, calls, steps, cpu, halted)


def default(tolerance: float) -> Outcome:
    """The same motion with zwang's defaults: projection, Dopri8."""
    example = linkage()
    # the first run compiles
    simulate(example.model, example.q0, example.v0, duration=SPACING, samples=2, rtol=tolerance)
    began = time.thread_time()
    run = simulate(
        example.model, example.q0, example.v0, duration=DURATION, samples=2, rtol=tolerance
    )
    cpu = time.thread_time() - began
    # rejected steps also call the function
    steps = int(run.attrs["steps_accepted"])
    calls = Dopri8().tableau.stages * (steps + int(run.attrs["steps_rejected"]))
    t, q = np.asarray(run.steps.t), np.asarray(run.steps.y)[:, :12]
    return _outcome(t, q, calls, steps, cpu, run.result.sentence if run.result.is_failure else "")


def _outcome(t, q, calls: int, steps: int, cpu: float, halted: str) -> Outcome:
    exact = linkage().exact
    assert exact is not None
    error = np.abs(q[:, 2] - exact(t)["crank 1.angle"])
    return Outcome(
        t,
        q,
        error,
        np.concatenate([_violation()(part) for part in _batches(q)])[: len(q)],
        calls,
        steps,
        cpu,
        halted,
    )


def matrices(q: np.ndarray) -> np.ndarray:
    """D = Ψ_q M^-1/2 of every state, shape (k, 12, 12)."""
    return np.concatenate([_matrices()(part) for part in _batches(q)])[: len(q)]


@functools.cache
def _matrices() -> Callable:
    model = linkage().model
    dynamics = model.dynamics()

    def matrix(q):
        state = State(q, jnp.zeros(12), jnp.zeros(()))
        return dynamics.matrix(state) / jnp.sqrt(model.system.mass_matrix(q, state.t, dynamics.p))

    return jax.jit(jax.vmap(matrix))


def _batches(q: np.ndarray) -> np.ndarray:
    """States in batches of one size, so that one program is sufficient; the last batch is padded by
    repetition.
    """
    size = 512
    return np.concatenate([q, np.repeat(q[-1:], -len(q) % size, axis=0)]).reshape(-1, size, 12)
