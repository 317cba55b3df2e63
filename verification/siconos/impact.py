"""Frictionless impacts with restitution, by runs of zwang from impact to impact.

A run ends where a gap closes (`zw.Stop`), or where a contact that is closed would have to pull.
There Newton's law of impact gives the velocity of the next one, over all closed contacts:

    v⁺ = v⁻ + P AᵀΛ,    0 ≤ Λ  ⊥  A v⁺ + ψ_t + e (A v⁻ + ψ_t) ≥ 0

with A the derivatives of the gaps, ψ_t what they change with time, and P the inverse mass matrix
on the directions that the joints leave free, `M⁻¹ − M⁻¹Jᵀ(J M⁻¹Jᵀ)⁻¹J M⁻¹`. A contact from which
a body no longer rises is closed from then on: its gap is one more `zw.Holonomic`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from functools import cached_property

import jax
import jax.numpy as jnp
import numpy as np
from scipy.optimize import nnls

import zwang as zw
from zwang.simulation.results import Run

CLOSED, ABOVE = 1e-9, 1e-12
"""A gap below the first is closed, and one that opens begins at the second, of the model's size."""
SLOW = 1e-5
"""A contact that is left more slowly, of the fastest approach so far, stays closed."""
UNSTOPPED = 1e-6
"""A contact that is approached faster than this after its impact, of the fastest approach so far,
has not been stopped; round-off of a solution of least squares is far below."""
MOST = 4000
"""Impacts of one motion."""


class MotionError(Exception):
    """There is no motion from here on, or not within `MOST` impacts."""


@dataclasses.dataclass(frozen=True)
class Impacting:
    """A model with unilateral contacts; all functions take JAX arrays, and v = q̇.

    Attributes:
        mass: (q, t) → M; force: (q, v, t) → F.
        gaps: (q, t) → all gaps [size], shape (contacts,).
        restitution: e of each contact.
        q, v: the start.
        joints: (q, t) → residuals of the joints; none by default.
        size: what a gap is small beside.
    """

    mass: Callable
    force: Callable
    gaps: Callable
    restitution: Sequence[float] | np.ndarray
    q: Sequence[float] | np.ndarray
    v: Sequence[float] | np.ndarray
    joints: Callable | None = None
    size: float = 1.0

    def rows(self, q, t):
        """Residuals of the joints, then the gaps."""
        gaps = jnp.atleast_1d(self.gaps(q, t))
        if self.joints is None:
            return gaps
        return jnp.concatenate([jnp.atleast_1d(self.joints(q, t)), gaps])

    @cached_property
    def fixed(self) -> int:
        """How many rows are joints'."""
        return len(self.rows(jnp.asarray(self.q, float), 0.0)) - len(self.restitution)

    def rates(self, q, v, t):
        """What the rows change in a second."""
        return jax.jvp(self.rows, (q, t), (v, jnp.ones_like(t)))[1]

    @cached_property
    def here(self) -> Callable:
        """(q, v, t) → M, F, A of all rows, their rates, and their accelerations without forces of
        joints or contacts.
        """

        def evaluate(q, v, t):
            M, F = self.mass(q, t), self.force(q, v, t)
            a = jnp.linalg.solve(M, F)
            moved = jax.jvp(self.rates, (q, v, t), (v, a, jnp.ones_like(t)))
            return M, jax.jacfwd(self.rows)(q, t), moved[0], moved[1]

        return jax.jit(evaluate)

    def pressures(self, held: Sequence[int], q, v, t):
        """Forces of the closed contacts, which hold the accelerations of their gaps at zero."""
        M, A, _, free = self.here(q, v, t)
        kept = np.array([*range(self.fixed), *(self.fixed + i for i in held)])
        A, free = A[kept], free[kept]
        return jnp.linalg.solve(A @ jnp.linalg.solve(M, A.T), -free)[self.fixed :]

    def model(self, held: tuple[int, ...]) -> zw.Model:
        """The model with some contacts closed."""
        n = len(self.q)
        system = zw.System(
            n, lambda q, t, p: self.mass(q, t), lambda q, v, t, p: self.force(q, v, t)
        )
        closed = lambda i: zw.Holonomic(lambda q, t, p: self.gaps(q, t)[i], name=f"contact {i}")
        rows = [closed(i) for i in held]
        if self.joints is not None:
            joints = self.joints
            rows.insert(0, zw.Holonomic(lambda q, t, p: joints(q, t), name="joints"))
        return zw.Model(
            system, rows, name="contacts " + "".join(map(str, held)) if held else "free"
        )

    def stops(self, held: tuple[int, ...]) -> list[zw.Stop]:
        """Where the motion with some contacts closed ends."""
        open_ = np.array([i for i in range(len(self.restitution)) if i not in held], int)
        found = []
        if len(open_):
            found.append(zw.Stop(lambda q, v, t, p: jnp.min(self.gaps(q, t)[open_]), name="gap"))
        if held:
            pulls = lambda q, v, t, p: jnp.min(self.pressures(held, q, v, t))
            found.append(zw.Stop(pulls, name="pull"))
        return found


def least(G: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Λ with 0 ≤ Λ ⊥ G Λ + c ≥ 0, as the least squares of a factor of G."""
    if len(c) == 0:
        return c
    values, vectors = np.linalg.eigh(G)
    kept = values > 1e-12 * values[-1]
    root = np.sqrt(values[kept])[:, None] * vectors[:, kept].T
    right = -(vectors[:, kept].T @ c) / np.sqrt(values[kept])
    return nnls(root, right)[0]


def reaction(M: np.ndarray, J: np.ndarray, rate: np.ndarray) -> np.ndarray:
    """What joints add to a velocity, or to an acceleration, that changes their rows at a rate:
    `−M⁻¹Jᵀ(J M⁻¹Jᵀ)⁻¹ rate`.
    """
    pulled = np.linalg.solve(M, J.T)
    return -pulled @ np.linalg.solve(J @ pulled, rate)


def half_flight(problem: Impacting, q, v, t: float, slow: float) -> float:
    """Half the time until the next of the gaps that have just opened closes, as if nothing changed
    its acceleration [s]; those that open more slowly than `slow` do not count.
    """
    at = jnp.asarray(t)
    M, A, rates, free = map(np.asarray, problem.here(jnp.asarray(q), jnp.asarray(v), at))
    fixed = problem.fixed
    free = free + A @ reaction(M, A[:fixed], free[:fixed])
    gap = np.asarray(problem.rows(jnp.asarray(q), at))[fixed:]
    short = (gap <= CLOSED * problem.size) & (rates[fixed:] > slow) & (free[fixed:] < 0)
    return float(np.min(rates[fixed:][short] / -free[fixed:][short], initial=np.inf))


class Motion:
    """A motion from impact to impact.

    Args:
        problem: the model.
        times: increasing instants at which it is seen, from its start [s].
        rtol: as in `zw.simulate`.
    """

    def __init__(self, problem: Impacting, times, *, rtol: float = 1e-10):
        self.problem, self.times = problem, np.asarray(times, float)
        self.options = {"rtol": rtol}
        self.models: dict = {}
        self.fastest, self.impacts = 0.0, 0

    def states(self) -> tuple[np.ndarray, np.ndarray]:
        """Positions and velocities at the instants, shape (instants, n) each."""
        problem, end = self.problem, self.times[-1]
        t, q, v = float(self.times[0]), np.array(problem.q, float), np.array(problem.v, float)
        v = self.struck(q, v, t)
        seen_q, seen_v = [q], [v]
        while t < end:
            q, v, held = self.resting(q, v, t)
            if held and self.at_rest(q, v, t, held):
                later = int(np.sum(self.times > t))
                seen_q.extend([q] * later)
                seen_v.extend([v] * later)
                break
            run = self.piece(q, v, t, held)
            steps = run.steps
            reached = float(steps.t[-1])
            inside = (steps.sample >= 0) & np.isin(steps.t, self.times) & (steps.t > t)
            n = len(q)
            seen_q.extend(steps.y[inside, :n])
            seen_v.extend(steps.y[inside, n:])
            t, q, v = reached, steps.y[-1, :n], steps.y[-1, n:]
            if t < end:
                v = self.struck(q, v, t)
        return np.array(seen_q), np.array(seen_v)

    def piece(self, q, v, t: float, held: tuple[int, ...]) -> Run:
        """The motion until a contact opens or closes, or to the end."""
        model, stop = self.models_of(held)
        later = self.times[self.times > t]
        # a stop that rises and falls within a step is missed
        options = {
            **self.options,
            "longest_step": half_flight(self.problem, q, v, t, SLOW * self.fastest),
        }
        return zw.simulate(
            model, q, v, t0=t, times=np.r_[t, later], stop=stop, throw=False, **options
        )

    def at_rest(self, q, v, t: float, held: tuple[int, ...]) -> bool:
        """Whether nothing moves from here on: no force depends on time where a body can rest."""
        if np.any(v):
            return False
        motion = zw.motion(self.models_of(held)[0], q, v, t=t)
        pull = np.abs(np.asarray(motion.free_acceleration)).max()
        return bool(np.abs(np.asarray(motion.acceleration)).max() <= 1e-9 * pull)

    def models_of(self, held: tuple[int, ...]) -> tuple[zw.Model, list[zw.Stop]]:
        """The model and the stops of some closed contacts."""
        if held not in self.models:
            self.models[held] = self.problem.model(held), self.problem.stops(held)
        return self.models[held]

    def mobility(self, M: np.ndarray, A: np.ndarray) -> np.ndarray:
        """P: the velocity that an impulse gives where the joints hold."""
        P, J = np.linalg.inv(M), A[: self.problem.fixed]
        return P - P @ J.T @ np.linalg.solve(J @ P @ J.T, J @ P) if len(J) else P

    def struck(self, q, v, t: float) -> np.ndarray:
        """The velocity after the impacts of an instant, of joints that do not hold it too."""
        problem, at = self.problem, jnp.asarray(t)
        M, A, rates, _ = map(np.asarray, problem.here(jnp.asarray(q), jnp.asarray(v), at))
        fixed = problem.fixed
        if fixed:
            v = v + reaction(M, A[:fixed], rates[:fixed])
            rates = np.asarray(problem.rates(jnp.asarray(q), jnp.asarray(v), at))
        gap = np.asarray(problem.rows(jnp.asarray(q), at))[fixed:]
        met = np.flatnonzero(np.abs(gap) <= CLOSED * problem.size)
        approach = rates[fixed:][met]
        self.fastest = max(self.fastest, *(-approach), 0.0) if len(met) else self.fastest
        # round-off is no approach, and must not be thrown back
        if not np.any(approach < -1e-12 * max(self.fastest, 1e-300)):
            return v
        self.impacts += 1
        if self.impacts > MOST:
            raise MotionError(f"more than {MOST} impacts by t = {t:.6g} s")
        N, P = A[fixed:][met], self.mobility(M, A)
        e = np.asarray(problem.restitution)[met]
        # what is not approached is not thrown back
        impulse = least(N @ P @ N.T, approach + e * np.minimum(approach, 0.0))
        v = v + P @ N.T @ impulse
        left = np.asarray(problem.rates(jnp.asarray(q), jnp.asarray(v), at))[fixed:][met]
        if np.any(left < -UNSTOPPED * self.fastest):
            slowest = int(met[np.argmin(left)])
            raise MotionError(
                f"at t = {t:.4g} s no impulse keeps contact {slowest} from being passed at "
                f"{-left.min():.3g} m/s: the joints alone determine that velocity"
            )
        return v

    def resting(self, q, v, t: float) -> tuple[np.ndarray, np.ndarray, tuple[int, ...]]:
        """The contacts that stay closed, and the state on them; the others' gaps open."""
        problem, at = self.problem, jnp.asarray(t)
        M, A, rates, free = map(np.asarray, problem.here(jnp.asarray(q), jnp.asarray(v), at))
        fixed, P = problem.fixed, self.mobility(M, A)
        gap = np.asarray(problem.rows(jnp.asarray(q), at))[fixed:]
        met = np.flatnonzero(np.abs(gap) <= CLOSED * problem.size)
        slow = met[np.abs(rates[fixed:][met]) <= SLOW * max(self.fastest, 1e-300)]
        free = free + A @ reaction(M, A[:fixed], free[:fixed])
        N = A[fixed:][slow]
        pressed = least(N @ P @ N.T, free[fixed:][slow])
        held = tuple(int(i) for i in slow[pressed > 0])
        # open gaps begin just above zero, and closed ones on it
        wanted = np.zeros(len(gap))
        for i in set(met.tolist()) - set(held):
            wanted[i] = ABOVE * problem.size
        B = A[fixed:][met]
        if len(met):
            q = q + P @ B.T @ np.linalg.lstsq(B @ P @ B.T, (wanted - gap)[met], rcond=1e-10)[0]
        if held:
            H = A[fixed:][list(held)]
            left = rates[fixed:][list(held)]
            v = v - P @ H.T @ np.linalg.lstsq(H @ P @ H.T, left, rcond=1e-10)[0]
            # a body at rest keeps round-off, too small for a start to be compared with
            v = np.where(np.abs(v) > 1e-12 * self.fastest, v, 0.0)
        return q, v, held
