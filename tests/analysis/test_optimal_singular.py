"""Optimal control through configurations where rows lose rank, against a closed form.

The links of a parallelogram become collinear, where the motion could continue as an
antiparallelogram. On the parallelogram branch, crank and rocker have equal angles and the coupler
does not rotate, so the least effort between two states at rest is that of a single inertia, 12 J²
Δ² / T³.
"""

import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw
from zwang.errors import ModelError
from zwang.gallery.five_bar import parallel

pytest.importorskip("casadi", reason="extra `optimal`")
Phase = zw.analysis.Phase
CRANK, COUPLER = 0.5, 0.8
INERTIAS = 0.3, 0.2, 0.3


def parallelogram(rows=1):
    """Angles of crank, coupler and rocker, the loop entered several times."""
    system = zw.System(
        3,
        lambda q, t, p: jnp.array(INERTIAS),
        lambda q, v, t, p: jnp.zeros(3),
        coordinates=("crank", "coupler", "rocker"),
    )
    unit = lambda angle: jnp.stack([jnp.cos(angle), jnp.sin(angle)])
    ground = jnp.array([COUPLER, 0.0])
    loop = lambda q, t, p: CRANK * (unit(q[0]) - unit(q[2])) + COUPLER * unit(q[1]) - ground
    loops = [zw.Holonomic(loop, name=f"loop {i + 1}") for i in range(rows)]
    return zw.Model(system, loops, name="parallelogram")


def turned(first, last, duration=2.0, rows=1, **options):
    """Least effort of the crank from one angle to another, in 2 s."""
    at = lambda angle: (np.array([angle, 0.0, angle]), np.zeros(3))
    options = {"inputs": ["crank"], "intervals": 5} | options
    return zw.analysis.optimal_control(
        parallelogram(rows), at(first), at(last), duration, **options
    )


def least(first, last):
    return 12 * (INERTIAS[0] + INERTIAS[2]) ** 2 * (last - first) ** 2 / 2.0**3


def until(T):
    return lambda q, v, t, p: t - T


def parallelogram_through_its_line(rows=1):
    """Its motion in two phases, of which the first one ends where the links are on one line."""
    phases = [
        Phase((0.3, 2.0), end=lambda q, v, t, p: q[0] - np.pi),
        Phase((0.3, 2.0), end=until(2.0)),
    ]
    return turned(0.9, 2 * np.pi - 0.5, phases, rows), least(0.9, 2 * np.pi - 0.5)


def five_bar_through_its_line():
    """The gallery's `five-bar` without gravity: 12 rows of rank 11, and of rank 10 where all bars
    are on one line. One motor turns what is one inertia.
    """
    return _five_bar_turned(2.0, _way(0.6, 5.2), 6)


def five_bar_through_its_line_in_phases():
    """The same in two phases, which meet where all bars are on one line."""
    first = Phase((0.5, 1.6), end=lambda q, v, t, p: q[2] - np.pi, guess=_way(0.6, np.pi))
    second = Phase((0.4, 1.5), end=until(2.0), guess=_way(np.pi, 5.2))
    return _five_bar_turned([first, second], None, 3)


def _way(first, last):
    return [parallel(x) for x in np.linspace(first, last, 17)]


def _five_bar_turned(duration, guess, intervals):
    """Least effort of the first crank from 0.6 rad to 5.2 rad in 2 s, and the closed form."""
    model = zw.gallery.load("five-bar", gravity=0.0).model
    ends = [(parallel(x), np.zeros(12)) for x in (0.6, 5.2)]
    options = {"inputs": np.eye(12)[:, [2]], "intervals": intervals, "guess": guess}
    # derivatives near a loss of rank are not exact enough for the default, and the cost is as
    # exact as the square of this
    options["tolerance"] = 1e-6
    found = zw.analysis.optimal_control(model, *ends, duration, **options)
    inertia = 3 * (0.1 + 1.0 / 4) + 2.0
    return found, 12 * inertia**2 * (5.2 - 0.6) ** 2 / 2.0**3


@pytest.mark.slow
@pytest.mark.parametrize(("intervals", "last"), [(5, 5.5), (6, 2 * np.pi - 0.5), (6, np.pi)])
def test_least_effort_through_a_line_of_links_and_onto_it(intervals, last):
    """Between nodes, at a node, and at the end; the limit of the acceleration is that of the
    parallelogram, which A of that configuration alone does not know.
    """
    found = turned(0.5, last, intervals=intervals)
    assert found.status == "Solve_Succeeded" and len(found.history) < 10
    assert abs(found.cost - least(0.5, last)) < 1e-11
    assert found.kinematic_error <= 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("rows", [1, *(pytest.param(n, marks=pytest.mark.slow) for n in (2, 5))])
def test_a_phase_ends_where_the_links_are_on_one_line(rows):
    """It changes nothing, and the acceleration there is not zero."""
    found, exact = parallelogram_through_its_line(rows)
    assert abs(found.cost - exact) < 1e-10 * found.cost
    assert abs(found.phases[0].q[-1, 0] - np.pi) < 1e-12
    assert found.kinematic_error <= 1e-12
    s = found.phases[0].duration / 2.0
    share = s * s * (3 - 2 * s)
    assert abs(0.9 + (2 * np.pi - 1.4) * share - np.pi) < 1e-8
    np.testing.assert_allclose(found.u[0], 0.6 * 6 * (2 * np.pi - 1.4) / 4, rtol=1e-9)


@pytest.mark.parametrize("rows", [1, *(pytest.param(n, marks=pytest.mark.slow) for n in (2, 5))])
def test_phases_end_elsewhere_and_lead_through_it(rows):
    found = turned(0.5, 2 * np.pi - 0.5, [Phase(0.9), Phase(1.1)], rows)
    assert abs(found.cost - least(0.5, 2 * np.pi - 0.5)) < 1e-10 * found.cost
    assert found.kinematic_error <= 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("made", [five_bar_through_its_line, five_bar_through_its_line_in_phases])
def test_a_five_bar_passes_the_line_of_its_bars(made):
    found, exact = made()
    assert abs(found.cost - exact) < 1e-7 * exact
    assert found.kinematic_error <= 1e-12


@pytest.mark.slow
def test_from_rest_on_one_line_more_than_one_motion_leads():
    with pytest.raises(ModelError, match="singular configuration at rest"):
        turned(np.pi, 4.5)
