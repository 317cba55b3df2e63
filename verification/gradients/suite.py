"""Lines of the gradient audit: zwang, and MuJoCo where its model of the system is at hand."""

from __future__ import annotations

import dataclasses

import numpy as np

from verification.gradients import plane, space
from verification.gradients.case import RTOL, Case
from verification.line import DIFFERS, Line, judged

COMMAND = "python -m verification gradients"
ALLOWED = 1e-9
PEERS = {
    "1 four-bar loop": ("a02-1", 2),
    "2 four-bar loops": ("a02-2", 3),
    "five-bar": ("five-bar", 3),
}
"""Case → the problem of `benchmarks.peers` that MuJoCo has, and the index of its first coupler."""
CHANGES = np.spacing(1.0) * np.arange(1, 9)
"""Relative changes of the start, by its last digits, that show what round-off makes of a
derivative."""
STEP, DIFFERENCES = 1e-3, (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
"""MuJoCo's step [s], and relative steps of the differences, the best of which counts."""


def lines(suite: str) -> list[Line]:
    """Forward and reverse mode of every case, and an impact."""
    found = []
    for case in [*plane.cases(), *space.cases()]:
        end, exact = case.reference()
        peer = _mujoco(case, exact)
        found += [_line(case, mode, end, exact, peer) for mode in ("forward", "reverse")]
    return [*found, _impacts()]


def _line(case: Case, mode: str, end: np.ndarray, exact: np.ndarray, peer: str) -> Line:
    """One mode of differentiation beside the reference."""
    answer = case.answers(mode)
    reached, slopes = answer(0.0)
    off = _apart(slopes, exact)
    shown = lambda x: ", ".join(f"{z:.9g}" for z in x[0])
    verdict, why = judged(off, ALLOWED), peer
    if verdict == DIFFERS:
        others = [answer(change)[1] for change in CHANGES]
        errors = [off, *(_apart(other, exact) for other in others)]
        said = (
            f"The motion is {_apart(reached, end):.0e} off. Where the start differs in its last "
            f"digits, the derivative changes by {max(_apart(x, slopes) for x in others):.0e}; "
            f"of {len(errors)} such runs the best is {min(errors):.0e} off, the median "
            f"{np.median(errors):.0e}."
        )
        why = " ".join(x for x in (said, peer) if x)
    return Line(
        "reduced equations, complex step",
        f"{case.name}, {mode}",
        f"{case.shows}; by {', '.join(case.values)} after {case.seconds:g} s",
        shown(exact),
        shown(slopes),
        off,
        ALLOWED,
        verdict,
        why,
        COMMAND,
    )


def _apart(slopes: np.ndarray, exact: np.ndarray) -> float:
    """Largest difference, relative to the largest derivative."""
    return float(np.max(np.abs(slopes - exact)) / np.max(np.abs(exact)))


def _impacts() -> Line:
    """A ball that falls from h and has bounced once: `q = e √(2gh) τ − g τ²/2` at the time τ after
    its impact at √(2h/g), by h, g and e.
    """
    import jax
    import jax.numpy as jnp

    import zwang as zw

    seconds, given = 0.8, {"h": 1.0, "g": 9.81, "e": 0.5}
    ball = zw.System(1, lambda q, t, p: jnp.ones(1), lambda q, v, t, p: -p["g"] * jnp.ones(1))
    floor = zw.Inequality(lambda q, t, p: q[0], name="floor", restitution="e")
    model = zw.Model(ball, [floor], {"g": given["g"], "e": given["e"]})
    run = zw.simulate(model, [given["h"]], [0.0], duration=seconds, rtol=RTOL)
    end = zw.analysis.final_state(run)

    def reached(h, g, e):
        return end(h[None], jnp.zeros(1), {"g": g, "e": e}).q[0]

    def closed(h, g, e):
        after = seconds - jnp.sqrt(2 * h / g)
        return e * jnp.sqrt(2 * g * h) * after - g * after**2 / 2

    values = [jnp.asarray(x) for x in given.values()]
    slopes, exact = (np.array([jax.jacfwd(f, (0, 1, 2))(*values)]) for f in (reached, closed))
    off = _apart(slopes, exact)
    shown = lambda x: ", ".join(f"{z:.9g}" for z in x[0])
    return Line(
        "closed form",
        "ball with restitution, forward",
        f"an impact, by zw.analysis.final_state; by {', '.join(given)} after {seconds:g} s",
        shown(exact),
        shown(slopes),
        off,
        ALLOWED,
        judged(off, ALLOWED),
        "",
        COMMAND,
    )


def _mujoco(case: Case, exact: np.ndarray) -> str:
    """How far central differences of MuJoCo's runs are off, where it is installed; of the
    parameters other than lengths, which its model holds as many numbers."""
    if case.name not in PEERS:
        return ""
    try:
        import mujoco
    except ImportError:
        return ""
    names = [name for name in case.values if "length" not in name and "inertia" not in name]
    columns = [list(case.values).index(name) for name in names]
    off = min(
        float(
            np.max(
                np.abs(
                    np.stack([_difference(case, name, part) for name in names], axis=1)
                    - exact[:, columns]
                )
            )
            / np.max(np.abs(exact[:, columns]))
        )
        for part in DIFFERENCES
    )
    return (
        f"MuJoCo {mujoco.__version__}, stiffest, step {STEP:g} s, central differences by "
        f"{', '.join(names)}: {off:.0e} off"
    )


def _difference(case: Case, name: str, part: float) -> np.ndarray:
    """Derivative of the first crank's angle and rate by central differences."""
    from benchmarks.peers.of_mujoco import MujocoStiff
    from benchmarks.peers.problems import PROBLEMS, Linkage

    key, coupler = PEERS[case.name]
    problem = PROBLEMS[key]()
    assert isinstance(problem, Linkage)

    def end(value: float) -> np.ndarray:
        if name == "gravity":
            varied = dataclasses.replace(problem, gravity=value)
        else:
            mass = np.array(problem.mass, float)
            mass[0 if name == "crank mass" else coupler] = value
            varied = dataclasses.replace(problem, mass=mass)
        import mujoco

        model, data = MujocoStiff().model(varied, STEP)
        for _ in range(round(case.seconds / STEP)):
            mujoco.mj_step(model, data)
        return np.array([data.qpos[0], data.qvel[0]])

    value = case.values[name]
    h = part * value
    return (end(value + h) - end(value - h)) / (2 * h)
