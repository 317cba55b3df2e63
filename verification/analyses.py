"""Analyses beside closed forms and published values."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import jax.numpy as jnp
import numpy as np
import scipy.optimize
from tests.analysis import models, systems, test_assembly_modes, test_bicycle, test_check

import zwang as zw
from verification.line import Line, judged

COMMAND = "python -m verification analyses"
LINKAGES = 10_000


def lines(suite: str) -> list[Line]:
    """All lines, in the order of the documentation's pages."""
    makers = (_balances, _steady_wheels, _bicycle, _linkages, _platforms, _kinds)
    return [line for make in makers for line in make()]


def _line(suite: str, case: str, what: str, published, ours, off: float, allowed: float) -> Line:
    verdict = judged(off, allowed)
    return Line(
        suite, case, what, str(published), str(ours), float(off), allowed, verdict, "", COMMAND
    )


def _number(suite: str, case: str, what: str, exact: float, found: float, allowed: float) -> Line:
    off = abs(found - exact) / abs(exact)
    return _line(suite, case, what, f"{exact:.12g}", f"{found:.12g}", off, allowed)


def _balances() -> Iterator[Line]:
    turning = zw.analysis.equilibrium(systems.governor(), [0.0, 0.9], v=[5.0, 0.0])
    exact = float(np.arccos(systems.G / 25.0))
    yield _number("closed form", "governor at 5 rad/s", "angle [rad]", exact, turning.q[1], 1e-10)
    upright = zw.analysis.continuation(
        systems.driven_governor(), [0.0], over="speed", to=(2.0, 6.0)
    )
    found = upright.branch_points[0].value
    exact = float(np.sqrt(systems.G))
    yield _number("closed form", "governor's pitchfork", "speed [rad/s]", exact, found, 1e-8)
    rest = zw.analysis.equilibrium(systems.spring_four_bar(), [0.5, 0.1, 2.0, 0.1])
    angle = float(np.arctan2(rest.q[1], rest.q[0]))
    exact = float(np.arctan2(-2.0 * systems.G, 40.0 * 0.8))
    yield _number("closed form", "four-bar with a spring", "angle [rad]", exact, angle, 1e-10)
    hanging = zw.analysis.equilibrium(systems.double_pendulum(), [0.9, 0.3, 1.2, 0.8])
    left = float(np.max(np.abs(hanging.gradient)))
    what = "force left along the manifold [N]"
    yield _line("closed form", "double pendulum", what, "0", f"{left:.1e}", left, 1e-12)
    modes = zw.analysis.linearize(systems.chain(5), np.zeros(7)).modes()
    exact_modes = 2 * np.sin(np.arange(1, 6) * np.pi / 12)
    off = np.max(np.abs(modes.frequencies * 2 * np.pi / exact_modes - 1))
    shown = ", ".join(f"{x:.6f}" for x in exact_modes)
    ours = ", ".join(f"{2 * np.pi * x:.6f}" for x in modes.frequencies)
    yield _line("closed form", "five masses and six springs", "rad/s", shown, ours, off, 1e-12)


def _steady_wheels() -> Iterator[Line]:
    disk = systems.rolling_disk()
    for name, diametral, factor in (("disk", 0.25, 1 / 3), ("hoop", 0.5, 1 / 4)):
        inertia = 0.25 * np.array([[diametral, diametral, 2 * diametral]])

        def squared(speed, inertia=inertia):
            """Square of the frequency of the wobble, negative where it grows."""
            state = systems.rolling_state(speed)
            return np.poly(
                zw.analysis.linearize(disk, *state, params={"inertia": inertia}).reduced().A
            )[2]

        found: float = scipy.optimize.brentq(squared, 0.5, 3.0, xtol=1e-10)  # type: ignore
        exact = float(np.sqrt(factor * systems.G * 0.5))
        case = f"rolling {name} of radius 0.5 m"
        yield _number("closed form", case, "critical speed [m/s]", exact, found, 1e-6)


def _bicycle() -> Iterator[Line]:
    with TemporaryDirectory() as folder:
        model, q, v = test_bicycle.benchmark_bicycle(Path(folder))
    for speed, (real, weave) in test_bicycle.PUBLISHED.items():
        expected = [complex(x) for x in real]
        if weave:
            expected += [complex(*weave), complex(weave[0], -weave[1])]
        poles = zw.analysis.linearize(model, q, speed * v).reduced().poles
        nearest = [poles[np.argmin(np.abs(poles - x))] for x in expected]
        off = max(abs(a - b) for a, b in zip(nearest, expected, strict=True))
        published, ours = (", ".join(f"{x:.8g}" for x in y) for y in (expected, nearest))
        case = f"benchmark bicycle at {speed} m/s"
        yield _line(
            "Meijaard, Papadopoulos, Ruina and Schwab (2007)",
            case,
            "four eigenvalues [1/s]",
            published,
            ours,
            off,
            test_bicycle.CLOSE,
        )


def _linkages() -> Iterator[Line]:
    random, members = np.random.default_rng(22), []
    while len(members) < LINKAGES:
        lengths, sign = random.uniform(0.5, 3.0, 4), int(random.choice([-1, 1]))
        if (q := models.closed_form(lengths, 0.3, sign)) is not None:
            members.append((lengths, sign, q))
    found = zw.analysis.kinematics_batch(
        models.four_bar(),
        "crank",
        (0.3, 0.3 + 2 * np.pi),
        q=np.array([x[2] for x in members]),
        params={"lengths": np.array([x[0] for x in members])},
    )
    off = 0.0
    for i, (lengths, sign, _) in enumerate(members):
        inputs, points = found.of(i)
        last = -1 if found.ended[i] == "limit" else None  # there the input has turned back
        exact = [models.closed_form(lengths, t, sign) for t in inputs[:last]]
        off = max(off, models.apart(points[:last], np.array(exact)))
    case = f"{LINKAGES} random four-bars through 360°"
    what = "largest distance from their branch [rad]"
    yield _line("closed form", case, what, "0", f"{off:.1e}; {found}", off, 1e-7)


def _platforms() -> Iterator[Line]:
    modes = zw.analysis.assembly_modes(
        models.four_bar(), {"crank": 1.1}, q=models.closed_form(models.LENGTHS, 0.3, 1)
    )
    exact = [models.closed_form(models.LENGTHS, 1.1, s) for s in (1, -1)]
    off = max(min(models.apart(x, y) for x in modes.q) for y in exact)
    what = "assembly modes, and their distance from the closed form [rad]"
    yield _line("closed form", "four-bar", what, 2, len(modes), off, 1e-10)
    platform = zw.analysis.assembly_modes(
        test_assembly_modes.dietmaier(False), q=test_assembly_modes.NEAR, spread=1.5
    )
    ours = f"{len(platform)}; {platform.starts} paths, {platform.failed} failed"
    off = abs(len(platform) - 40) / 40
    yield _line("Dietmaier (1998)", "Stewart platform", "real postures", 40, ours, off, 0.0)


def _kinds() -> Iterator[Line]:
    sin, cos, knife = jnp.sin, jnp.cos, test_check.knife
    forward = lambda q, v: v[0] * cos(q[2]) + v[1] * sin(q[2])
    three = [0.3, -0.7, 1.1]
    cases: list[tuple] = [
        (f"review, example {n}", three, {"row": lambda q, v, t, p, f=f: f(q, v)}, [kind], size)
        for n, (f, kind, size) in test_check.EXAMPLES.items()
    ]
    disk = {
        "x": lambda q, v, t, p: v[0] - cos(q[2]) * v[3],
        "y": lambda q, v, t, p: v[1] - sin(q[2]) * v[3],
    }
    car = {
        "wheels": knife,
        "trailer": lambda q, v, t, p: v[3] - sin(q[2] - q[3]) * forward(q, v),
    }
    appell = {"climb": lambda q, v, t, p: v[0] ** 2 + v[1] ** 2 - 4 * v[2] ** 2}
    both = {"disguised": test_check.in_disguise, "blade": knife}
    linear, four = "linear nonholonomic", [0.1, 0.2, 0.3, 0.4]
    cases += [
        ("knife edge", [0.3, 0.2, 0.5], {"blade": knife}, [linear], 3),
        ("machine of Appell and Hamel", [0.1, 0.2, 0.3], appell, ["nonlinear nonholonomic"], 3),
        ("rolling disk", four, disk, [linear] * 2, 4),
        ("car with trailer", four, car, [linear] * 2, 4),
        (
            "disguised beside a blade",
            list(np.linspace(0.1, 0.9, 6)),
            both,
            ["scleronomic", linear],
            5,
        ),
    ]
    for case, q, rows, kinds, size in cases:
        found = test_check.checked(len(q), q, rows)
        ours = test_check.kinds(found)
        right = all(a.startswith(b) for a, b in zip(ours, kinds, strict=True))
        off = 0.0 if right and found.reach.dimension == size else 1.0
        said = [f"{', '.join(x)}; {n}" for x, n in ((kinds, size), (ours, found.reach.dimension))]
        yield _line("Frobenius' theorem", case, "kinds; accessible dimension", *said, off, 0.0)
