"""Contacts over a run, for the report and the viewer.

They are the intervals in which gaps are closed and frictions stick or slide, impulses, and contact
forces at the points where they act.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from zwang.algebra.decomposition import Decomposition
from zwang.compile.blocks import mapped
from zwang.dynamics.vector_field import HELD_OFF, is_spent
from zwang.equations.system import System
from zwang.scene import Scene
from zwang.simulation.contact import Contacts
from zwang.simulation.results import Run
from zwang.simulation.results.plot import units_of

POINT_STEP = 1e-5
"""Step of the central differences for velocities of points, in the units of q and v; the velocities
are then accurate to 1e-9.
"""
ACTS_ELSEWHERE = 1e-6
"""Relative residual of a generalized force above which no force at a point explains it."""
LOOKED_AT = 5
"""Number of samples at which a contact's point is searched for: those of its largest forces."""


class Held(NamedTuple):
    """One gap or friction over a run.

    Attributes:
        name: of it.
        gap: whether it is a gap.
        holds: begin and end of each interval in which a gap is closed or a friction sticks [s],
            shape (n, 2).
        slides: the same for intervals in which a friction slides.
        impulses: instant [s] and size of each impulse of a gap, shape (n, 2).
        shared: begin and end of each interval in which its force is not unique.
    """

    name: str
    gap: bool
    holds: np.ndarray
    slides: np.ndarray
    impulses: np.ndarray
    shared: np.ndarray


class ContactForce(NamedTuple):
    """The force of a gap and of its friction, at a point of a scene.

    Attributes:
        name, friction: of the gap, and of its friction or "".
        point: index among the scene's points.
        coefficient: of static friction.
        normal, tangential: forces at the samples, shape (n, 3); zero while the gap is open.
    """

    name: str
    friction: str
    point: int
    coefficient: float
    normal: np.ndarray
    tangential: np.ndarray


def contacts_of(run: Run) -> tuple[Contacts, np.ndarray]:
    """The gaps and frictions of a run, and the mode of each after every step, shape (steps, n)."""
    contacts = Contacts(run.model, run.flow.dynamics.p, 0)
    applied = np.asarray(run.steps.applied)
    return contacts, applied[:, applied.shape[1] - len(contacts.names) :]


def held(run: Run) -> list[Held]:
    """Every gap, then every friction, of a run; empty for a model without them."""
    if not run.model.constraints.loose:
        return []
    (contacts, modes), t = contacts_of(run), run.steps.t
    holds = (modes > HELD_OFF) | is_spent(modes)
    slides = ~holds & (modes != HELD_OFF)
    found, known = [], _unique(run, contacts)
    for k, name in enumerate(contacts.names):
        hits = [(x.time, *x.multipliers[name]) for x in run.switches if x.multipliers.get(name)]
        impulses = np.array(hits).reshape(len(hits), -1)[:, :2] if hits else np.zeros((0, 2))
        gap = k < len(contacts.gaps)
        times = (_times(t, x[:, k]) for x in (holds, slides, ~known & (holds | slides)))
        found.append(Held(name, gap, next(times), next(times), impulses, next(times)))
    return found


def _unique(run: Run, contacts: Contacts) -> np.ndarray:
    """Whether the force of each gap and friction is unique after every step, shape (steps, n)."""
    if (labels := run.labels) is None:
        return np.ones((len(run.steps.t), len(contacts.names)), bool)
    own = [labels.names.index(x.law.name) for x in contacts.frictions]
    return np.hstack([labels.multipliers[:, contacts.gaps], labels.forces[:, own]])


def _times(t: np.ndarray, which: np.ndarray) -> np.ndarray:
    """Begin and end of each interval in which a condition holds, given after every step."""
    ends = np.diff(np.concatenate([[False], which[:-1], [False]]).astype(int))
    return np.stack([t[np.flatnonzero(ends > 0)], t[np.flatnonzero(ends < 0)]], axis=1)


def impulse_unit(run: Run, bands: list[Held]) -> str:
    """The common unit of the gaps' impulses, or a description if they differ."""
    rows = map(str, run.variables["row"].values)
    own = dict(zip(rows, units_of(run.variables, "multipliers"), strict=True))
    units = {own.get(x.name, "") for x in bands if x.gap}
    return f"{units.pop()} s" if len(units) == 1 and "" not in units else "force × s"


def contact_forces(run: Run, scene: Scene) -> list[ContactForce]:
    """The forces of gaps that act at points of a scene.

    A force f acts at a point if Jᵀf is the generalized force of the gap, where J is the derivative
    of the point's velocity by v. Others, such as end stops of joints, act at no point.
    """
    if not run.model.constraints.loose:
        return []
    contacts, _ = contacts_of(run)
    given = run.variables["constraint_force"].values
    rows = {str(name): i for i, name in enumerate(run.variables["constraint"].values)}
    loaded = {x.gap: x for x in contacts.frictions}
    marked = {n: m.point for m in scene.joints for n in (m.constraints or (m.name,))}
    velocities, found = None, []
    for k, name in enumerate(contacts.names[: len(contacts.gaps)]):
        shut = np.any(given[:, rows[name]], axis=1) if name in rows else np.zeros(0, bool)
        if not np.any(shut):
            continue
        velocities = point_velocities(run, scene) if velocities is None else velocities
        push = given[:, rows[name]]
        friction = loaded.get(k)
        pull = 0 * push if friction is None else given[:, rows[friction.law.name]]
        # Among points that move alike the gap's mark decides, else the friction may.
        order = sorted(scene.points, key=lambda x: x != marked.get(name))
        places = [i for i in map(scene.points.index, order) if _acts(velocities[:, i], push)]
        if not places:
            continue
        point = next((i for i in places if _acts(velocities[:, i], pull)), places[0])
        normal, tangential = np.zeros((2, len(push), 3))
        for i in np.flatnonzero(shut):
            normal[i] = _force(velocities[i, point], push[i])
            tangential[i] = _force(velocities[i, point], pull[i])
        static = 0.0 if friction is None else friction.static
        law = "" if friction is None else friction.law.name
        found.append(ContactForce(name, law, point, static, normal, tangential))
    return found


def _force(velocity: np.ndarray, generalized: np.ndarray) -> np.ndarray:
    """The least-squares force of least norm at a point that gives a generalized force."""
    return Decomposition(velocity, ACTS_ELSEWHERE).solve(generalized)


def _acts(velocities: np.ndarray, generalized: np.ndarray) -> bool:
    """Return whether forces at a point explain the generalized force of a contact."""
    size = np.linalg.norm(generalized, axis=1)
    largest = np.argsort(-size)[:LOOKED_AT]
    left = [velocities[k] @ _force(velocities[k], generalized[k]) - generalized[k] for k in largest]
    return bool(np.all(np.linalg.norm(left, axis=1) <= ACTS_ELSEWHERE * size[largest]))


def point_velocities(run: Run, scene: Scene) -> np.ndarray:
    """Derivatives of point velocities by v at the samples, shape (samples, points, nv, 3)."""
    system, p, q = run.model.system, run.flow.dynamics.p, run.q
    n, nv = len(q), system.nv
    units = np.tile(np.vstack([np.zeros(nv), np.eye(nv)]), (n, 1))
    rates = rates_of(system, p, np.repeat(q, nv + 1, axis=0), units, np.repeat(run.t, nv + 1))
    ways = rates.reshape(n, nv + 1, -1)
    ways = POINT_STEP * (ways[:, 1:] - ways[:, :1])
    places = [scene.at((q[:, None] + s * ways).reshape(n * nv, -1)).places for s in (1, -1)]
    return np.swapaxes(((places[0] - places[1]) / (2 * POINT_STEP)).reshape(n, nv, -1, 3), 1, 2)


def rates_of(system: System, p, q: np.ndarray, v: np.ndarray, t: np.ndarray) -> np.ndarray:
    """q̇ at many states, shape (n, nq)."""
    if system.velocity_map is None and system.offset is None:
        return v
    return np.asarray(mapped(_rate, (system, p), q, v, t))


def _rate(system: System, p, q, v, t):
    return system.rate(q, v, t, p)
