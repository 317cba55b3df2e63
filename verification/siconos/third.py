"""The same impacts without zwang: SciPy between them, complementarity by trying every set of
contacts. It says whose a difference is, until the first contact stays closed.
"""

from __future__ import annotations

from itertools import combinations

import jax
import numpy as np
from scipy.integrate import solve_ivp

from verification.siconos.impact import ABOVE, CLOSED, Impacting, half_flight, reaction

RTOL = 1e-11
SLOW = 1e-4
"""Contacts that are left more slowly, of the fastest approach so far, end the answer."""


def solved(problem: Impacting, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The instants up to which it goes, and positions there, shapes (seen,) and (seen, n)."""
    n, fixed = len(problem.q), problem.fixed
    here = problem.here
    gaps = jax.jit(lambda q, t: problem.rows(q, t)[fixed:])

    def rate(t, y):
        M, A, _, free = map(np.asarray, here(y[:n], y[n:], t))
        a = np.linalg.solve(M, np.asarray(force(y[:n], y[n:], t)))
        return np.concatenate([y[n:], a + reaction(M, A[:fixed], free[:fixed])])

    force = jax.jit(problem.force)
    events = [_closing(gaps, n, i, ABOVE * problem.size) for i in range(len(problem.restitution))]
    t, y = float(times[0]), np.concatenate([problem.q, problem.v]).astype(float)
    seen_t, seen_q, fastest = [], [], 0.0
    while t < times[-1]:
        met = np.flatnonzero(np.abs(np.asarray(gaps(y[:n], t))) <= CLOSED * problem.size)
        M, A, rates, _ = map(np.asarray, here(y[:n], y[n:], t))
        approach = rates[fixed:][met]
        fastest = max(fastest, *(-approach), 0.0) if len(met) else fastest
        y[n:] += _impulse(M, A, rates, met, fixed, np.asarray(problem.restitution))
        left = np.asarray(here(y[:n], y[n:], t)[2])[fixed:][met]
        if len(met) and np.any(left <= SLOW * fastest):
            break
        inside = times[times > t]
        found = solve_ivp(
            rate,
            (t, times[-1]),
            y,
            "DOP853",
            inside,
            events=events,
            rtol=RTOL,
            atol=RTOL,
            max_step=half_flight(problem, y[:n], y[n:], t, SLOW * fastest),
        )
        seen_t.extend(found.t)
        # SciPy gives an empty list where no instant was reached
        seen_q.extend(np.reshape(found.y, (2 * n, -1))[:n].T)
        hits = [
            (x[0], state[0])
            for x, state in zip(found.t_events, found.y_events, strict=True)
            if len(x)
        ]
        if not hits:
            break
        t, y = min(hits, key=lambda hit: hit[0])
        y = y.copy()
    return np.array(seen_t), np.array(seen_q).reshape(-1, n)


def _closing(gaps, n: int, i: int, above: float):
    """The event of a gap that closes."""
    # one that has just opened may be below zero by round-off
    event = lambda t, y: float(gaps(y[:n], t)[i]) + above
    event.terminal, event.direction = True, -1
    return event


def _impulse(M, A, rates, met, fixed: int, restitution) -> np.ndarray:
    """The jump of the velocity: the first set of contacts whose impulses press and suffice."""
    change = np.zeros(len(M))
    wanted = (1 + restitution[met]) * np.minimum(rates[fixed:][met], 0.0)
    size = max(1.0, np.abs(rates).max(initial=0.0))
    if not np.any(wanted < 0):
        return change
    for count in range(len(met) + 1):
        for chosen in combinations(range(len(met)), count):
            rows = A[[*range(fixed), *(fixed + met[list(chosen)])]]
            right = np.r_[np.zeros(fixed), -wanted[list(chosen)]]
            pulled = np.linalg.solve(M, rows.T)
            sizes = np.linalg.solve(rows @ pulled, right) if len(rows) else right
            change = pulled @ sizes if len(rows) else np.zeros(len(M))
            after = A[fixed:][met] @ change + wanted
            if np.all(sizes[fixed:] >= 0) and np.all(after >= -1e-10 * size):
                return change
    raise ValueError("no set of contacts presses and suffices.")
