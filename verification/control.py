"""Comparison of control with closed forms and independent solutions, and of the errors of robust
control laws with their stated bounds for uncertain systems.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

import jax
import numpy as np
from tests.analysis import (
    test_base_parameters,
    test_optimal_control,
    test_optimal_singular,
    test_stable_inversion,
)
from tests.gallery import test_toda_lattice
from tests.servo.uncertain import UNCERTAIN, Uncertain

import zwang as zw
from verification.line import Line, judged
from zwang.analysis.nonlinear_program import ENDED

DRAWS = 1000
COVERED = 0.95
"""Nominal share of draws whose true values lie within the stated uncertainty."""


def lines(suite: str, cases: Sequence[str] = ()) -> list[Line]:
    """Compute the lines of the suite `control` or `uncertain`, by default of all its cases."""
    known = SUITES[suite]
    if unknown := sorted(set(cases) - set(known)):
        raise SystemExit(f"{suite} has no case {unknown[0]!r}; its cases are {', '.join(known)}.")
    return [line for name in cases or known for line in known[name]()]


def _line(suite, case: str, what: str, published, ours, off: float, allowed: float) -> Line:
    verdict = judged(off, allowed)
    command = f"python -m verification {suite}"
    return Line(
        suite, case, what, str(published), str(ours), float(off), allowed, verdict, "", command
    )


def _below(case: str, what: str, ours: float, allowed: float, published="0") -> Line:
    """Line for a quantity that must be below a limit."""
    return _line("control", case, what, published, f"{ours:.1e}", ours, allowed)


def _uncertain(name: str, make: Callable[[], Uncertain]) -> Iterator[Line]:
    """Lines for the worst of all draws, and for a case that violates the assumptions of the law."""
    loop = make()
    found = loop.drawn(DRAWS)
    for of, bound in loop.bounds.items():
        worst = float(np.max(found[of]))
        what = f"largest {of} of {DRAWS} draws, to its bound"
        yield _line("uncertain", name, what, f"≤ {bound:.4g}", f"{worst:.4g}", worst / bound, 1.0)
    (bound, *_), (beyond, _) = loop.bounds.values(), loop.outside()
    given = ", ".join(f"{key} = {x:g}" for key, x in loop.beyond[0].items())
    what = f"outside of what it assumes ({given}): the bound to the error"
    yield _line("uncertain", name, what, f"> {bound:.4g}", f"{beyond:.4g}", bound / beyond, 1.0)


def _base_parameters(name: str, driven: Callable, noise: float) -> Iterator[Line]:
    """Lines for the share of draws whose true base parameters are inside the 95 % ellipsoid."""
    found, u = driven()
    share = test_base_parameters.coverage(found, u, noise * np.std(u))
    what = (
        f"{found.rank} of {len(found.names)} base parameters, gap {found.gap:.0e}: share of "
        f"{test_base_parameters.DRAWS} draws within the stated uncertainty"
    )
    # three standard deviations of the share of this number of draws
    allowed = 3 * np.sqrt(COVERED * (1 - COVERED) / test_base_parameters.DRAWS)
    yield _line("uncertain", name, what, COVERED, share, abs(share - COVERED), allowed)


def _inversions() -> Iterator[Line]:
    case = "mass on car, 30°, led beyond the mass: not of minimum phase"
    model, servo = test_stable_inversion.car(30.0, 1.6, 0.5)
    found = zw.analysis.stable_inversion(model, servo, [0.0, 0.0], span=(0.0, 2.0))
    exact = zw.gallery.load("mass-on-car").exact(found.t + 3.0)  # whose path begins at 3 s
    off = np.abs(found.q - np.stack([exact["car"], exact["spring"]], 1)).max()
    yield _below(case, "linear boundary value problem, in closed form [m]", off, 1e-8)
    run = zw.simulate(
        found.model, found.q[0], found.v[0], t0=found.t[0], duration=8.0, samples=17, rtol=1e-9
    )
    path = np.asarray(jax.vmap(test_stable_inversion.path)(run.t))
    off = np.abs(run.q @ [1.0, 1.6] - path).max()
    yield _below(case, "replayed forward, tip off its path [m]", off, 1e-8)
    for angle, damping, degree in ((30, 0.5, 2), (0, 0.5, 3), (0, 0.0, 4)):
        model, servo = test_stable_inversion.car(angle, np.cos(np.radians(angle)), damping)
        at = zw.servo.relative_degree(model, servo, [0.1, 0.2], [0.3, -0.1]).degrees["tip"]
        case = f"mass on car, {angle}°, {damping} N s/m"
        yield _line("control", case, "relative degree", degree, at, abs((at or 0) - degree), 0.0)
    found, elbow = test_stable_inversion.inverted_arm()
    case, off = "rotational arm with a passive joint", np.abs(found.q[:, 1] - elbow).max()
    yield _below(case, "elbow beside SciPy's collocation [rad]", off, 1e-8)


def _flat(name: str, **settings: str) -> Iterator[Line]:
    """Line for a flat output, whose derivatives determine the states."""
    example = zw.gallery.load(name, **settings)
    errors = example.errors(example.run(rtol=1e-11))
    worst = max(errors, key=lambda of: errors[of])
    case = " ".join([name, *settings.values()])
    yield _below(case, f"flat closed form, worst in {worst}", errors[worst], 1e-9)


def _falling() -> Iterator[Line]:
    arm = zw.gallery.load("lyapunov-arm")
    run = zw.simulate(arm.model, arm.q0, arm.v0, duration=5.0, samples=26, rtol=1e-11)
    e, v, a = run.q - [np.pi / 2, 0.0], run.v, run.dataset["acceleration"].values
    change = (5.0 * e + v) * v + (e + v) * a
    off = np.abs(change + 5.0 * e**2 + 2 * e * v + v**2).max()
    yield _below("lyapunov-arm", "V̇ + w along the run", off, 1e-12)


def _optimal() -> Iterator[Line]:
    once, *several = test_optimal_control.swing_ups()
    for rows, found in zip((2, 5), several, strict=True):
        what = f"cost with the rod entered {rows} times, relative"
        off = abs(found.cost - once.cost) / once.cost
        published, ours = f"{once.cost:.12g}", f"{found.cost:.12g}"
        yield _line("control", "pendulum swung up", what, published, ours, off, 1e-10)


SINGULAR = {
    "parallelogram": (test_optimal_singular.parallelogram_through_its_line, "phases meet at"),
    "five-bar": (test_optimal_singular.five_bar_through_its_line, "it passes through"),
    "five-bar in phases": (
        test_optimal_singular.five_bar_through_its_line_in_phases,
        "phases meet at",
    ),
}


def _singular(case: str) -> Iterator[Line]:
    made, how = SINGULAR[case]
    found, exact = made()
    off = abs(found.cost - exact) / exact
    what = f"least effort, 12 J² Δ²/T³, where {how} a state at which rows lose rank"
    yield _line("control", case, what, f"{exact:.12g}", f"{found.cost:.12g}", off, 1e-7)
    yield _below(case, "φ and ψ at and between nodes", found.kinematic_error, 1e-12)


def _swing(name: str) -> Iterator[Line]:
    sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
    import optimal_swing_up as example

    found = getattr(example, f"swing_up_{name}")(rtol=1e-7)
    lost = example.lost_between(found)
    what = (
        f"φ and ψ at and between the nodes of {len(found.t) - 1} intervals of a motion of cost "
        f"{found.cost:.6g}; through nodes alone {lost:.1e} on average"
    )
    # a motion that does not reach its end is no swing-up, however well it satisfies φ and ψ
    off = found.kinematic_error if found.status in ENDED else np.nan
    yield _below(f"{name.replace('_', '-')} swung up", what, off, 1e-12)


def _lattice() -> Iterator[Line]:
    member = zw.gallery.load("toda-lattice", masses=200, actuators=10, energy=100.0)
    run = zw.simulate(member.model, member.q0, member.v0, duration=6.0, samples=7, rtol=1e-9)
    H = run.dataset["energy"].values
    off = np.abs(H - 100.0 - (H[0] - 100.0) * np.exp(-0.5 * run.t)).max() / 100.0
    case = "200 masses, 10 actuators"
    yield _below(case, "energy beside 100 + (H₀ − 100) exp(−α t), relative", off, 1e-8)
    counts = [test_toda_lattice.operations(masses) for masses in (200, 400)]
    growth = counts[1] / counts[0]
    what = "operations of an acceleration with its control, 400 masses to 200"
    yield _line("control", case, what, 2, f"{growth:.4g}", abs(growth - 2.0), 0.1)


SUITES: dict[str, dict[str, Callable[[], Iterable[Line]]]] = {
    "control": {
        "stable inversion": _inversions,
        "crane": partial(_flat, "crane"),
        "quadrotor": partial(_flat, "quadrotor"),
        "quadrotor flip": partial(_flat, "quadrotor", path="flip"),
        "lyapunov-arm": _falling,
        "pendulum": _optimal,
        **{name: partial(_singular, name) for name in SINGULAR},
        "five-bar swung up": partial(_swing, "five_bar"),
        "acrobot swung up": partial(_swing, "acrobot"),
        "lattice": _lattice,
    },
    "uncertain": {
        **{name: partial(_uncertain, name, make) for name, make in UNCERTAIN.items()},
        "four-bar": partial(
            _base_parameters, "four-bar", test_base_parameters.driven_four_bar, 0.05
        ),
        "3rrr": partial(_base_parameters, "3rrr", test_base_parameters.driven_3rrr, 0.02),
    },
}
"""The cases of each suite, by the names that `--cases` takes."""
