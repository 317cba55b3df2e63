"""The runs that `benchmarks.gallery_runs` records: every member of the gallery as it is, and some
members by other paths through the library. Each run becomes named arrays, together with two
measures of how far these can be trusted.

The script runs on versions whose inner modules differ, so it uses only names that `zwang` and
`zwang.gallery` export.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Callable
from pathlib import Path

import jax
import numpy as np

import zwang as zw
from zwang import gallery

LONGEST, SAMPLES = 2.0, 21
NUDGE = 4 * np.finfo(float).eps
"""How far a start is moved to measure noise, relative to its largest entry."""
SMALL = 1e-3
"""An entry is compared relative to its largest value, or to this part of that of all entries."""

Fields = dict[str, np.ndarray]
"""Arrays of a run by name. Floating-point arrays have samples along their first axis, except the
times of crossings and switches.
"""


def of_run(run, reactions=None) -> Fields:
    """The compared arrays of a `Run`; `reactions(run)` are the forces of its joints, if any."""
    data, fields = run.dataset, {"t": run.t, "q": run.q, "v": run.v}
    ranks = [(c.rank_before, c.rank, c.rank_after) for c in run.crossings]
    switched = [f"on {','.join(s.on)} off {','.join(s.off)}" for s in run.switches]
    for name in {"constraint_force", "multipliers", "control"} & {*data}:
        fields[name] = data[name].values
    for name, joint in (reactions(run) if reactions else {}).items():
        fields |= {f"force of {name}": joint.force, f"torque of {name}": joint.torque}
    return fields | {
        "steps": np.array([run.attrs["steps_accepted"], run.attrs["steps_rejected"]]),
        "result": np.array(run.result.name),
        "crossing times": np.array([c.time for c in run.crossings]),
        "crossing ranks": np.array(ranks, dtype=int).reshape(-1, 3),
        "switch times": np.array([s.time for s in run.switches]),
        "switches": np.array(switched, dtype=str),
    }


def each(calls: dict[str, Callable]) -> Fields:
    """The results of several calls, or the class of the error for a call that fails."""
    fields = {}
    for name, call in calls.items():
        try:
            fields[name] = np.asarray(call())[None]
        except Exception as error:
            fields[name] = np.array(type(error).__name__)
    return fields


def measured(compute: Callable[..., Fields], q0, v0, rtol=0.0) -> Fields:
    """The result of `compute(q0, v0, rtol)`, and that of a start moved by noise and of a coarser
    tolerance.
    """
    sign = lambda x: np.random.default_rng(0).choice([-1.0, 1.0], np.shape(x))
    nudged = lambda x: x + NUDGE * np.max(np.abs(x), initial=0.0) * sign(x)
    noise = fields = compute(q0, v0, rtol)
    # a start at rest is refused if its velocity is round-off alone; the noise is unknown then
    with contextlib.suppress(zw.ModelError):
        noise = compute(nudged(q0), nudged(v0), rtol)
    coarse = compute(q0, v0, 10 * rtol) if rtol else fields
    for varied, other in (("noise", noise), ("coarse", coarse)):
        names = [name for name in other if name == "steps" or over_samples(name, other)]
        fields = fields | {f"{varied} {name}": other[name] for name in names}
    return fields | {"rtol": np.array(rtol)}


def simulated(name: str, *, joint=False, settings=None, **changed) -> Fields:
    """A member's run, at most `LONGEST` long, and its motion at the start.

    Args:
        name: the member.
        joint: whether to take it, a mechanism, in joint coordinates.
        settings: of the member; changed: arguments of `zw.simulate`.
    """
    member = gallery.load(name, **settings or {})
    model, q0, v0, reactions = member.model, member.q0, member.v0, member.reactions
    if joint:
        file = next(Path(str(zw.__file__)).parent.rglob(f"{name}.toml"))
        mechanism = dataclasses.replace(zw.mechanism.read(file), coordinates="joint")
        model, q0, v0 = mechanism.model, mechanism.start_state.q, mechanism.start_state.v
        reactions = functools.partial(zw.mechanism.reactions, mechanism)
    given = {"rtol": member.rtol, **member.simulate, **changed}
    given |= {"duration": min(member.duration, LONGEST), "samples": SAMPLES, "throw": False}

    def compute(q0, v0, rtol):
        start = functools.cache(lambda: zw.motion(model, q0, v0))
        calls = {"start acceleration": lambda: start().acceleration}
        calls |= {"start force": lambda: start().constraint_force}
        return of_run(zw.simulate(model, q0, v0, **given | {"rtol": rtol}), reactions) | each(calls)

    return measured(compute, np.asarray(q0), np.asarray(v0), given["rtol"])


def pure(angles=(), **options) -> Fields:
    """`five-bar` by `zw.trajectory`, or from starts at some angles [deg] by `zw.batch`."""
    model, times = gallery.load("five-bar").model, np.linspace(0.0, LONGEST, SAMPLES)
    starts = [gallery.load("five-bar", angle=angle).q0 for angle in angles or (45.0,)]
    q0, follow = (np.stack(starts), zw.batch) if angles else (starts[0], zw.trajectory)

    def compute(q0, v0, rtol):
        found = follow(model, q0, v0, times, rtol=rtol, **options)
        q, v = (np.moveaxis(np.asarray(x), -2, 0) for x in (found.q, found.v))
        steps = np.array([np.sum(found.steps), np.sum(found.rejected)])
        return {"q": q, "v": v, "steps": steps, "result": np.asarray(found.result)}

    return measured(compute, q0, 0.0 * q0, 1e-8)


def derivative() -> Fields:
    """How a place of `five-bar` half a second later depends on first velocities and parameters."""
    member, times = gallery.load("five-bar"), np.linspace(0.0, 0.5, 3)

    @jax.jit
    @functools.partial(jax.jacfwd, argnums=(0, 1))
    def slopes(v0, params, q0, rtol):
        options = {"params": params, "rtol": rtol, "gradient": "forward"}
        return zw.trajectory(member.model, q0, v0, times, **options).q[-1:]

    def compute(q0, v0, rtol):
        found = jax.tree_util.tree_leaves(slopes(v0, member.model.params, q0, rtol))
        return {f"derivative {i}": np.asarray(x) for i, x in enumerate(found)}

    return measured(compute, member.q0, member.v0, 1e-8)


def evaluated(name: str, calls: Callable[..., dict[str, Callable]]) -> Fields:
    """The results of `calls(model, q0, v0)` at a member's start."""
    member = gallery.load(name)
    return measured(lambda q, v, _: each(calls(member.model, q, v)), member.q0, member.v0)


def by_level(model, q, v) -> dict[str, Callable]:
    """The motion with a hierarchy's constraints enforced level by level."""
    levels, parts = zw.enforce(model, q, v).levels, ("acceleration", "constraint_force", "rank")
    pairs = [(i, level, x) for i, level in enumerate(levels) for x in parts]
    return {f"{x} of level {i}": functools.partial(getattr, level, x) for i, level, x in pairs}


def by_method(model, q, v) -> dict[str, Callable]:
    """The motion by each pseudoinverse and each formulation, and a state moved onto constraints."""
    inverses = "Proximal CompleteOrthogonal SVD Varga Greville Householder GramSchmidt Sparse"
    equations = "UdwadiaKalaba Campbell CampbellSingular UdwadiaPhohomsiri LagrangeMultipliers"
    chosen = [("pseudoinverse", x) for x in inverses.split()]
    chosen += [("formulation", x) for x in (*equations.split(), "Nullspace")]
    moves = lambda kind, x: zw.motion(model, q, v, **{kind: getattr(zw.methods, x)()}).acceleration
    beside = q + 1e-3 * np.sin(np.arange(len(q)))
    calls = {x: functools.partial(moves, kind, x) for kind, x in chosen}
    return calls | {"placed": lambda: zw.consistent_state(model, beside).state.q}


def cases() -> dict[str, Callable[[], Fields]]:
    """All recorded runs by name: every member as it is, and some members by other paths.

    Options are made when a run is recorded: a name that a version lacks costs that run alone.
    """
    one, five, large = simulated, functools.partial(simulated, "five-bar"), {"N": 60}
    chain = functools.partial(simulated, "rod-chain", settings=large)
    loop = lambda: zw.Loop(sample_time=0.01, delay=0.015)
    return {name: functools.partial(one, name) for name in gallery.NAMES} | {
        "rod-chain of 60, proximal": lambda: chain(pseudoinverse=zw.methods.Proximal()),
        "rod-chain of 60, sparse": lambda: chain(pseudoinverse=zw.methods.Sparse()),
        "double-pendulum, Rattle": lambda: one(
            "double-pendulum", integrator=zw.methods.Rattle(), step=0.005
        ),
        "five-bar, Kvaerno5": lambda: five(integrator=zw.methods.Kvaerno5(), rtol=1e-6),
        "five-bar, Tsit5": lambda: five(integrator=zw.methods.Tsit5(), rtol=1e-6),
        "five-bar, fixed step": lambda: five(step=0.01),
        "five-bar, Baumgarte": lambda: five(drift=zw.methods.Baumgarte(20.0, 20.0)),
        "five-bar, SVD": lambda: five(pseudoinverse=zw.methods.SVD()),
        "five-bar, trajectory": pure,
        "five-bar, trajectory of fixed step": lambda: pure(step=0.01),
        "five-bar, derivative": derivative,
        "five-bar, batch": lambda: pure(angles=tuple(range(38, 54, 2))),
        "five-bar, methods": lambda: evaluated("five-bar", by_method),
        "pendulum, Nullspace": lambda: one("pendulum", formulation=zw.methods.Nullspace()),
        "crane, sampled": lambda: one("crane", loop=loop()),
        "slider-crank, joint coordinates": lambda: one("slider-crank", joint=True),
        "bennett, joint coordinates": lambda: one("bennett", joint=True),
        "3rrr, levels": lambda: evaluated("3rrr", by_level),
        "motor-linkage, levels": lambda: evaluated("motor-linkage", by_level),
    }


def over_samples(name: str, fields: Fields) -> bool:
    """Whether a field is compared sample by sample."""
    x = fields[name]
    return x.dtype.kind == "f" and x.ndim > 0 and not name.endswith(" times")


def plain(fields: Fields) -> set[str]:
    """Names of the results of a run, without those of its variations and its wall time."""
    return {x for x in fields if x != "seconds" and not x.startswith(("noise ", "coarse "))}


def gaps(a: Fields, b: Fields) -> dict[str, np.ndarray]:
    """Largest relative difference of each of `GROUPS` over time, from the fields that both have."""
    pairs: dict[str, list] = {}
    for name in sorted(plain(a) & plain(b)):
        if over_samples(name, a) and a[name].shape[1:] == b[name].shape[1:]:
            group = "start" if name.startswith("start ") else "forces"
            group = "motion" if name in ("t", "q", "v") else group
            pairs.setdefault(group, []).append((a[name], b[name]))
    # what is zero at the start but for round-off is compared with what acts later
    later = max(
        (float(np.max(np.abs(x), initial=0.0)) for x, _ in pairs.get("forces", ())), default=0.0
    )
    return {group: gap(found, later * (group == "start")) for group, found in pairs.items()}


def gap(pairs: list[tuple[np.ndarray, np.ndarray]], beside: float = 0.0) -> np.ndarray:
    """Largest difference of pairs of arrays at each common sample, each entry relative to its size.

    The size of an entry is its largest value, and at least `SMALL` times that of all entries and of
    what is `beside` them: a torque that vanishes but for round-off is compared with the torques and
    forces beside it.
    """
    n = min(len(x) for pair in pairs for x in pair)
    flat = lambda x: np.reshape(x[:n], (n, int(np.prod(x.shape[1:]))))
    x, y = (np.concatenate([flat(pair[i]) for pair in pairs], axis=1) for i in (0, 1))
    size = np.max(np.abs(np.nan_to_num(x)), axis=0, initial=0.0)
    size = np.maximum(size, SMALL * np.max(size, initial=beside))
    found = np.abs(x - y) / np.where(size > 0, size, 1.0)
    found = np.where(np.isnan(x) & np.isnan(y), 0.0, np.where(np.isnan(found), np.inf, found))
    return np.max(found, axis=1, initial=0.0)
