"""Closed forms of what lets go, by members of the gallery: instants, velocities, forces, and the
coefficients from which on another thing happens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import fsolve

import zwang as zw
from verification.line import Line, judged
from zwang.mechanism import Gap, Joint, Link, Mechanism, Point
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
    """A quantity of a member, exact and ours; `within` is allowed of a published one."""

    what: str
    exact: float
    ours: float
    within: float = 0.0

    @property
    def difference(self) -> float:
        """Relative to the exact value, where that is not zero."""
        return float(abs(self.ours - self.exact) / (abs(self.exact) or 1.0))

    @property
    def allowed(self) -> float:
        return self.within or (ALLOWED if self.exact else LEFT)


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
        mode = zw.analysis.contact_mode(example.model, example.q0, params={"static": mu})
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
                zw.analysis.contact_mode(example.model, example.q0, example.v0, params={"mu": mu})
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


def cradle() -> Iterator[Found]:
    # one ball hits four at rest that touch: by Moreau's law they go on together
    run = zw.gallery.load("balls-on-a-rail", gap=0.0, last=0.0).run(rtol=RTOL)
    touching = "Newton's cradle, balls that touch, Moreau's law"
    yield Found(f"{touching}: the first goes back with [m/s]", -3 / 5, run.v[-1, 0])
    yield Found(f"{touching}: the last goes on with [m/s]", 2 / 5, run.v[-1, -1])
    # apart, however little, each passes all on
    run = zw.gallery.load("balls-on-a-rail", gap=1e-6, last=0.0).run(rtol=RTOL)
    yield Found("balls 1 μm apart: the last goes on with [m/s]", 1.0, run.v[-1, -1])
    yield Found("balls 1 μm apart: what all others keep [m/s]", 0.0, np.max(np.abs(run.v[-1, :-1])))


def chain() -> Iterator[Found]:
    example, run = ran("falling-chain")
    height, lies = example.q0, 0.02 * np.arange(len(example.q0))
    lands = np.sqrt(2 * (height - lies) / 9.81)
    landings = [x for x in run.switches if x.hit]
    for i in (0, len(height) - 1):
        exact, x = 0.1 * 9.81 * lands[i], landings[i]
        yield Found(f"bead {i + 1} lands at [s]", lands[i], x.time)
        yield Found(f"impulse on the table of bead {i + 1} [N s]", exact, x.multipliers["table"][0])
    yield from kept(run)


def hoist() -> Iterator[Found]:
    _, run = ran("rope-hoist")
    g, stroke, rate, slack, mass = 9.81, 0.5, 6.0, 0.1, 20.0
    taut = np.arccos(1 - slack / stroke) / rate
    flies = np.arccos(-g / (stroke * rate**2)) / rate
    height, speed = (
        stroke * (1 - np.cos(rate * flies)) - slack,
        stroke * rate * np.sin(rate * flies),
    )
    lands = flies + (speed + np.sqrt(speed**2 + 2 * g * height)) / g
    times = [x.time for x in run.switches[1:]]
    exact = taut, flies, lands, taut + 2 * np.pi / rate
    names = "taut", "slack", "on the floor", "taut again"
    for what, t, ours in zip(names, exact, times[:4], strict=True):
        yield Found(f"{what} at [s]", t, ours)
    pluck = mass * stroke * rate * np.sin(rate * taut)
    yield Found("impulse of the rope [N s]", pluck, run.switches[1].multipliers["rope"][0])


def step_of_gait(z: np.ndarray, duration: float, **settings) -> np.ndarray:
    """The state after the next impact of a foot, of one at the start of a step: the angle of the
    leg in front, its rate and that of the leg behind.
    """
    start = {"angle": z[0], "front": z[1], "back": z[2]}
    example = zw.gallery.load("compass-gait", **start, **settings)
    run = example.run(rtol=RTOL, duration=duration, samples=2)
    q, v = run.at(next(x for x in run.switches if x.hit).time)
    return np.array([q[3], v[3], v[2]])


def gait(z: np.ndarray, duration: float, **settings) -> tuple[np.ndarray, np.ndarray]:
    """The step that repeats itself, by Newton's method, and the multipliers of small changes."""
    wide = 1e-5
    for _ in range(3):
        moved = [
            step_of_gait(z + x, duration, **settings) - step_of_gait(z - x, duration, **settings)
            for x in wide * np.eye(3)
        ]
        J = np.stack(moved, axis=1) / (2 * wide)
        z = z - np.linalg.solve(J - np.eye(3), step_of_gait(z, duration, **settings) - z)
    return z, np.linalg.eigvals(J)


def walker() -> Iterator[Found]:
    """Garcia's simplest walker has feet without mass: our values are extrapolated to it. His two
    steps and their multipliers are those of his program of 1998.
    """
    steps = {
        "long": ((0.20031090049483, -0.19983247291764), abs(-0.1912086894994 + 0.55633363687106j)),
        "short": ((0.19393736960624, -0.20386692731962), 4.0),
    }
    settings = {"slope": 0.009, "hip": 1.0, "length": 1.0, "down": 1.0, "gravity": 1.0}
    for name, (published, multiplier) in steps.items():
        settings["step"] = 2 * np.sin(published[0])
        start = np.append(published, np.cos(2 * published[0]) * published[1])
        (two, _), (one, stays) = (gait(start, 4.5, leg=m, **settings) for m in (2e-6, 1e-6))
        light, of = 2 * one - two, f"simplest walker, {name} step:"
        yield Found(f"{of} angle of the leg in front [rad]", published[0], light[0], 5e-9)
        yield Found(f"{of} its rate [rad/s]", published[1], light[1], 5e-9)
        largest = float(np.max(np.abs(stays)))
        yield Found(f"{of} largest multiplier", multiplier, largest, 2e-3)
    found, multipliers = gait(np.array([0.271, -1.0918, -0.3772]), 0.9, gravity=9.8)
    for what, exact, ours in (
        ("angle of the leg in front [rad]", 0.2187 + np.deg2rad(3.0), found[0]),
        ("its rate [rad/s]", -1.0918, found[1]),
        ("rate of the leg behind [rad/s]", -0.3772, found[2]),
    ):
        yield Found(f"compass gait at 3°: {what}", exact, ours, 5e-4)
    largest = float(np.max(np.abs(multipliers)))
    yield Found("compass gait at 3°: less than 1 of a change stays", 1.0, largest, 1.0)


def crank() -> Iterator[Found]:
    """Beside SciPy: the slider never turns, so that two corners act as one contact."""
    _, run = ran("slider-crank-clearance")
    hits = [x.time for x in run.switches if x.hit]
    for k, exact in enumerate(hits_of_slider(4), start=1):
        yield Found(f"impact {k} at [s]", exact, hits[k - 1])
    yield from kept(run)


def hits_of_slider(count: int) -> list[float]:
    """Instants of the first impacts of the slider of `slider-crank-clearance`."""
    L = np.array([0.153, 0.306])
    own = np.array([0.114 + 0.038 / 4, 0.076 + 0.038 / 4]) * L**2 + np.array([7.4e-5, 5.9e-4])
    at_end, coupled = np.array([0.114 + 0.019, 0.076 + 0.019]), 0.095 * L[0] * L[1]
    play, e, mu = 1e-3, 0.4, 0.01

    def mass(q):
        across = coupled * np.cos(q[1] - q[0])
        return np.array([[own[0], across], [across, own[1]]])

    def rate(t, y):
        q, v = y[:2], y[2:]
        turned = coupled * np.sin(q[1] - q[0]) * np.array([v[1] ** 2, -(v[0] ** 2)])
        return np.append(v, np.linalg.solve(mass(q), turned - 9.81 * at_end * L * np.cos(q)))

    # what has just been left is above zero, whatever round-off says
    sides = [lambda t, y, way=way: play + 1e-14 - way * (L @ np.sin(y[:2])) for way in (1, -1)]
    for event in sides:
        event.terminal, event.direction = True, -1
    t, y, found = 0.0, np.array([0.0, 0.0, 150.0, -75.0]), []
    while len(found) < count:
        run = solve_ivp(rate, (t, 0.2), y, "DOP853", events=sides, rtol=1e-13, atol=1e-13)
        t, y = run.t[-1], run.y[:, -1].copy()
        way = 1 if len(run.t_events[0]) else -1
        normal, along = -way * L * np.cos(y[:2]), -L * np.sin(y[:2])
        push = normal - mu * np.sign(along @ y[2:]) * along
        effect = np.linalg.solve(mass(y[:2]), push)
        y[2:] -= (1 + e) * (normal @ y[2:]) / (normal @ effect) * effect
        found.append(t)
    return found


def four_bar() -> Iterator[Found]:
    """A four-bar whose pin has play in its hole, by joints, beside SciPy in three angles."""
    angles, rates = FOUR_BAR.start
    crank, coupler, _ = lengths = FOUR_BAR.lengths
    along = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    across = np.stack([-along[:, 1], along[:, 0]], axis=1) * rates[:, None]
    centers, speeds = ([0.0 * x[0], crank * x[0], 0.0 * x[0]] for x in (along, across))
    centers[2] = np.array([FOUR_BAR.base, 0.0])
    q, v = (
        [np.append(c + L / 2 * x, w) for c, L, x, w in zip(first, lengths, each, last, strict=True)]
        for first, each, last in ((centers, along, angles), (speeds, across, rates))
    )
    names = "crank", "coupler", "rocker"
    bodies = {
        name: Link(mass, length=L, at=tuple(x[:2]), angle=x[2])
        for name, mass, L, x in zip(names, FOUR_BAR.masses, lengths, q, strict=True)
    }
    pins = {"A": ("ground", "crank.start"), "B": ("crank.end", "coupler.start")}
    pins["D"] = ("ground.d", "rocker.start")
    hole = Gap({"d": ("coupler.end", "rocker.end")}, f"{FOUR_BAR.play} - d", FOUR_BAR.restitution)
    mechanism = Mechanism(
        bodies,
        {name: Joint("revolute", between) for name, between in pins.items()},
        ground={"d": Point((FOUR_BAR.base, 0.0))},
        gaps={"hole": hole},
        name="four-bar with clearance",
    )
    begun = np.concatenate(q), np.concatenate(v)
    run = zw.simulate(mechanism.model, *begun, duration=0.5, rtol=RTOL, atol=1e-14, samples=501)
    hits = [x.time for x in run.switches if x.hit]
    for k, exact in enumerate(FOUR_BAR.hits(6), start=1):
        yield Found(f"impact {k} at [s]", exact, hits[k - 1])
    yield from kept(run)


class FourBar(NamedTuple):
    """A four-bar linkage by the angles of its uniform bars, with play between the last two.

    Attributes:
        lengths, masses: of crank, coupler and rocker [m, kg]; base: between the fixed pins [m].
        play: radius of the hole less that of the pin [m].
        rate: of the crank at the start [rad/s].
    """

    lengths: tuple[float, float, float] = (0.1, 0.4, 0.3)
    masses: tuple[float, float, float] = (1.0, 2.0, 1.5)
    base: float = 0.35
    play: float = 1e-3
    restitution: float = 0.7
    rate: float = 15.0

    @property
    def start(self) -> tuple[np.ndarray, np.ndarray]:
        """Angles and rates: without play, but for half of it, by which the pin is off."""
        L = self.lengths
        offset = np.array([0.5 * self.play, 0.0])
        closed = lambda x: self.pin(np.array([1.0, *x])) - offset
        angles = np.array([1.0, *fsolve(closed, [0.5, 1.8], xtol=1e-14)])
        J = np.stack([-np.sin(angles), np.cos(angles)]) * np.array([L[0], L[1], -L[2]])
        return angles, np.append(self.rate, -np.linalg.solve(J[:, 1:], J[:, 0] * self.rate))

    def pin(self, q: np.ndarray) -> np.ndarray:
        """From the middle of the hole to that of the pin."""
        along = np.stack([np.cos(q), np.sin(q)]) * np.array([*self.lengths[:2], -self.lengths[2]])
        return np.sum(along, axis=1) - [self.base, 0.0]

    def hits(self, count: int) -> list[float]:
        """Instants of the first impacts."""
        L, m = np.array(self.lengths), np.array(self.masses)
        own = (m / 3 + [m[1], 0.0, 0.0]) * L**2
        coupled, weight = m[1] * L[0] * L[1] / 2, 9.81 * (m / 2 + [m[1], 0.0, 0.0]) * L

        def mass(q):
            M = np.diag(own)
            M[0, 1] = M[1, 0] = coupled * np.cos(q[1] - q[0])
            return M

        def rate(t, y):
            q, v = y[:3], y[3:]
            turned = coupled * np.sin(q[1] - q[0]) * np.array([v[1] ** 2, -(v[0] ** 2), 0.0])
            return np.append(v, np.linalg.solve(mass(q), turned - weight * np.cos(q)))

        gap = lambda t, y: self.play + 1e-15 - np.linalg.norm(self.pin(y[:3]))
        gap.terminal, gap.direction = True, -1
        (q, v), t, found = self.start, 0.0, []
        y = np.append(q, v)
        while len(found) < count:
            run = solve_ivp(rate, (t, 2.0), y, "DOP853", events=gap, max_step=1e-3, **CLOSE)
            t, y = run.t[-1], run.y[:, -1].copy()
            normal, q = self.pin(y[:3]) / self.play, y[:3]
            J = np.stack([-np.sin(q), np.cos(q)]) * L * [1.0, 1.0, -1.0]
            push = -normal @ J
            effect = np.linalg.solve(mass(q), push)
            y[3:] -= (1 + self.restitution) * (push @ y[3:]) / (push @ effect) * effect
            found.append(t)
        return found


CLOSE = {"rtol": 1e-13, "atol": 1e-14}
FOUR_BAR = FourBar()


def toy() -> Iterator[Found]:
    """The cycle that Glocker's start lies on, as he prints it for the bird at −0.2788 rad."""
    run = zw.gallery.load("woodpecker").run(rtol=RTOL, duration=2.0, samples=20001)
    bird = run.q[:, 2] + 0.2788
    falls = np.flatnonzero((bird[:-1] > 0) & (bird[1:] <= 0))[-2:]
    part = (bird[falls] / (bird[falls] - bird[falls + 1]))[:, None]
    # every second cycle is alike, until all are: the mean of both is the one that stays
    ours = np.mean((1 - part) * run.v[falls] + part * run.v[falls + 1], axis=0)
    yield Found("fall of the sleeve as it lets go [m/s]", -0.3411, ours[0], 6e-3)
    yield Found("rate of the bird there [rad/s]", -7.4583, ours[2], 6e-3)
    yield from kept(run)


def billiards() -> Iterator[Found]:
    """A ball that slides along s is slowed by μ g along it, and rolls once it has lost 2/7 of s."""
    _, run = ran("billiards")
    mu, g, r, e = 0.2, 9.81, 0.03, 0.95
    size = lambda x: float(np.linalg.norm(x))
    v, slip, red = (
        np.array([2.0, 0.0]),
        np.array([2.0 + 20.0 * r, 40.0 * r]),
        np.array([1.2, -0.19]),
    )
    rolls = 2 * size(slip) / (7 * mu * g)
    x = v * rolls - mu * g * slip / size(slip) * rolls**2 / 2
    v = v - 2 / 7 * slip
    way, along = red - x, v / size(v)
    aside = way @ [-along[1], along[0]]
    hits = rolls + (way @ along - np.sqrt(4 * r**2 - aside**2)) / size(v)
    normal = (red - x - v * (hits - rolls)) / (2 * r)
    passed = (1 + e) / 2 * (v @ normal) * normal
    again = hits + 2 * size(passed) / (7 * mu * g)
    instants = {"rolls": rolls, "hits": hits, "rolls again": again}
    times = [x.time for x in run.switches if x.time > 0]
    for (what, exact), ours in zip(instants.items(), times, strict=True):
        yield Found(f"the cue ball {what} at [s]", exact, ours)
    for k, name in enumerate("xy"):
        yield Found(
            f"the cue ball goes on along {name} [m/s]", (v - 5 / 7 * passed)[k], run.v[-1, k]
        )
        yield Found(f"the red ball goes on along {name} [m/s]", 5 / 7 * passed[k], run.v[-1, 6 + k])
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
    "balls-on-a-rail": cradle,
    "falling-chain": chain,
    "rope-hoist": hoist,
    "compass-gait": walker,
    "slider-crank-clearance": crank,
    "four-bar with clearance": four_bar,
    "woodpecker": toy,
    "billiards": billiards,
}
"""What is known of each member."""
