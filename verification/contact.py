"""Closed forms of what lets go, by members of the gallery: instants, velocities, forces, and the
coefficients from which on another thing happens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

import zwang as zw
from verification.line import Line, judged
from zwang.simulation.results import Run

SUITE = "Closed forms of contact"
COMMAND = "python -m verification contact"
ALLOWED = 1e-10
"""Largest difference of an instant or a state, relative to it."""
LEFT = 1e-12
"""Largest residual, and rise of the energy, of any saved instant."""
RTOL = 1e-12
HALVINGS = 50
"""Halvings of an interval of coefficients, down to its round-off."""


class Found(NamedTuple):
    """A quantity of a member, exact and ours."""

    what: str
    exact: float
    ours: float

    @property
    def difference(self) -> float:
        """Relative to the exact value, where that is not zero."""
        return float(abs(self.ours - self.exact) / (abs(self.exact) or 1.0))

    @property
    def allowed(self) -> float:
        return ALLOWED if self.exact else LEFT


def lines(_: str) -> list[Line]:
    return [
        Line(
            SUITE,
            name,
            x.what,
            f"{x.exact:.12g}",
            f"{x.ours:.12g}",
            x.difference,
            x.allowed,
            judged(x.difference, x.allowed),
            "",
            COMMAND,
        )
        for name, case in CASES.items()
        for x in case()
    ]


def ran(name: str, **settings) -> tuple[zw.gallery.Example, Run]:
    """A member, and its run."""
    example = zw.gallery.load(name, **settings)
    return example, example.run(rtol=RTOL)


def kept(run: Run) -> Iterator[Found]:
    """What is left of the equations at all saved instants, and of the energy that may only fall."""
    data = run.dataset
    names = "relative_violation", "velocity_violation", "residual"
    left = max(float(np.max(data[name].values)) for name in names)
    energy = data["energy"].values
    yield Found("largest residual of all saved instants", 0.0, left)
    rise = max(float(np.max(np.diff(energy))), 0.0) / float(np.max(np.abs(energy)))
    yield Found("largest rise of the energy", 0.0, rise)


def bouncing() -> Iterator[Found]:
    for e in (0.5, 0.8):
        example = zw.gallery.load("bouncing-ball", restitution=e)
        rests = np.sqrt(2 / 9.81) * (1 + e) / (1 - e)
        run = example.run(rtol=RTOL, duration=rests + 0.5)
        yield Found(f"rest with e = {e} [s]", rests, run.switches[-1].time)
    yield from kept(run)


def ladder() -> Iterator[Found]:
    example, run = ran("falling-ladder")
    leaves = run.at(run.switches[1].time)[0][2]
    exact = 2 / 3 * np.sin(example.q0[2])
    yield Found("sin θ where it leaves the wall", exact, np.sin(leaves))
    yield from kept(run)


def sphere() -> Iterator[Found]:
    _, run = ran("thrown-sphere")
    yield Found("rolls from [s]", 2 * 4 / (7 * 0.3 * 9.81), run.switches[-1].time)
    yield Found("rolls with [m/s]", 5 * 4 / 7, run.v[-1, 0])
    yield from kept(run)


def spring() -> Iterator[Found]:
    _, run = ran("dry-spring")
    turns = np.abs([run.at(x.time)[0][0] for x in run.switches])
    yield Found("amplitude lost in a cycle [m]", 4 * 3 / 50, turns[0] - turns[2])
    yield Found("sticks from [s]", 8 * np.pi * np.sqrt(2 / 50), run.switches[-1].time)
    yield from kept(run)


def belt() -> Iterator[Found]:
    _, run = ran("belt-oscillator")
    omega, wide, speed = np.sqrt(20.0), 0.2 * 9.81 / 20, 0.2
    slips, sticks = np.diff([x.time for x in run.switches][1:])[:2]
    exact = 2 / omega * (np.pi - np.arctan(wide * omega / speed))
    yield Found("slips for [s]", exact, slips)
    yield Found("sticks for [s]", 2 * wide / speed, sticks)


def rocking() -> Iterator[Found]:
    _, run = ran("rocking-block")
    alpha = np.arctan2(0.4, 1.0)
    inertia = 3.0 * (0.2**2 + 0.5**2) / 3
    hits = [x for x in run.switches if x.hit][:3]
    for k, hit in enumerate(hits, start=1):
        after = run.steps.y[np.flatnonzero(run.steps.t == hit.time)[-1]][5]
        part = after / (after - hit.impulse[2] / inertia)
        yield Found(f"part of the rate kept, impact {k}", 1 - 1.5 * np.sin(alpha) ** 2, part)
    yield from kept(run)


def incline() -> Iterator[Found]:
    example = zw.gallery.load("block-on-incline")

    def slides(mu: float) -> bool:
        mode = zw.contact_mode(example.model, example.q0, params={"static": mu})
        return any(isinstance(c, zw.DryFriction) for c in mode.constraints.members)

    least = halved(lambda mu: not slides(mu), 0.1, 0.5)
    yield Found("least coefficient that holds it", np.tan(0.3), least)
    _, run = ran("block-on-incline")
    exact = 1.5 / (9.81 * (np.sin(0.3) + 0.2 * np.cos(0.3)))
    yield Found("turns back at [s]", exact, run.switches[-1].time)
    yield from kept(run)


def painleve() -> Iterator[Found]:
    def fails(slope: float) -> Callable[[float], bool]:
        example = zw.gallery.load("painleve-rod", slope=slope)

        def no_answer(mu: float) -> bool:
            try:
                zw.contact_mode(example.model, example.q0, example.v0, params={"mu": mu})
            except zw.ModelError:
                return True
            return False

        return no_answer

    for slope in (2.0, 1.0, 4.0):
        c, s = 1 / np.hypot(1, slope), slope / np.hypot(1, slope)
        exact = (1 + 3 * c * c) / (3 * s * c)
        least = halved(fails(slope), 1.0, 3.0)
        yield Found(f"least μ without an answer, tan θ = {slope:g}", exact, least)


def table() -> Iterator[Found]:
    _, run = ran("table-on-four-legs")
    legs = np.array([[1.0, 1.0, -1.0], [1.0, -1.0, -1.0], [1.0, -1.0, 1.0], [1.0, 1.0, 1.0]])
    least = np.linalg.pinv(legs.T) @ [4.0 * 9.81, 0.2, -0.3]
    forces = run.dataset.multipliers.values[-1]
    names = run.model.constraints.names
    for name, exact, ours in zip(names, least, forces, strict=True):
        yield Found(f"force on {name} [N], of least norm", exact, ours)
    yield from kept(run)


def halved(holds: Callable[[float], bool], below: float, above: float) -> float:
    """The number from which on something holds."""
    for _ in range(HALVINGS):
        middle = (below + above) / 2
        below, above = (below, middle) if holds(middle) else (middle, above)
    return (below + above) / 2


CASES: dict[str, Callable[[], Iterator[Found]]] = {
    "bouncing-ball": bouncing,
    "falling-ladder": ladder,
    "thrown-sphere": sphere,
    "dry-spring": spring,
    "belt-oscillator": belt,
    "rocking-block": rocking,
    "block-on-incline": incline,
    "painleve-rod": painleve,
    "table-on-four-legs": table,
}
"""What is known of each member."""
