"""The suite of the Modelica Standard Library: its models with and without its data."""

import os
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from verification.line import AGREES
from verification.modelica import engines, loops, solids, suite

import zwang as zw
from zwang.mechanism.expression import Expression

DATA = "ZWANG_REFERENCE_RESULTS"
"""Environment variable: a clone of modelica/MAP-LIB_ReferenceResults."""
CASES = suite.cases()
DIFFER = {
    f"Elementary/{name}"
    for name in ("DoublePendulumInitTip", "PointGravity", "PointGravityWithPointMasses")
}
"""Examples whose difference is Dymola's, as equations by hand say."""


def test_two_halves_of_a_solid_are_the_whole():
    way = np.array([0.3, -0.2, 0.4])
    for shape, sizes in ((solids.box, (0.05, 0.08)), (solids.cylinder, (0.06,))):
        half = shape(way / 2, *sizes)
        whole, both = shape(way, *sizes), solids.joined(half, half.moved(way / 2))
        for found, expected in zip(both, whole, strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_the_drive_is_the_response_of_its_filter():
    a, b, cut = 1.3617, 0.6180, 2 * np.pi * 50

    def rate(t, y):
        reference = 0.7 * np.sin(2 * np.pi * t)
        return [y[1], ((reference - y[0]) * cut - a * y[1]) * cut / b]

    times = np.linspace(0.0, 0.3, 7)
    expected = solve_ivp(rate, (0.0, 0.3), [0.0, 0.0], "DOP853", times, rtol=1e-11, atol=1e-12).y[0]
    formula = Expression(loops.filtered_sine(0.7, 1.0))
    found = [formula.value({"t": t}) for t in times]
    np.testing.assert_allclose(found, expected, atol=1e-10)


@pytest.mark.parametrize("rate", [-1.0, 1.0])
def test_the_gas_presses_by_the_curve_of_its_direction(rate):
    length = 0.35
    forces = {way: Expression(text) for way, text in engines.gas(length).items()}
    limit, low, high = engines.CURVES["in" if rate < 0 else "out"]
    for part in (0.1, 0.5, 0.93, 0.94, 0.986, 0.9861, 0.99):
        curve = low if part < limit else high
        pressure = 1e5 * sum(c * part**i for i, c in enumerate(curve))
        values = {"value": length * (1 - part), "rate": rate}
        found = sum(force.value(values) for force in forces.values())
        assert found == pytest.approx(pressure * np.pi * engines.BORE**2 / 4, rel=1e-6)


def test_the_filter_of_a_torque_that_stays_holds_it():
    t = np.linspace(0.0, 1.0, 11)
    torque = engines.LOAD * (50.0 / engines.NOMINAL) ** 2
    found = engines.filtered(t, np.full(11, 50.0), torque, t)
    np.testing.assert_allclose(found, torque, rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_an_example_starts_on_its_constraints_and_keeps_its_balance_of_energy(case):
    example = case.build()
    run = zw.simulate(example.model, example.q, example.v, duration=0.05, samples=251, rtol=1e-10)
    assert run.attrs["start_violation"] < 1e-9
    energies = [run.dataset[name].values for name in ("kinetic_energy", "potential_energy")]
    scale = max(float(np.ptp(energies)), 1e-3)
    # work is a spline over the samples, which have to follow the filter of a drive
    assert np.abs(run.dataset["energy_balance"].values).max() < 1e-4 * scale
    assert all(np.all(np.isfinite(values)) for values in example.signals(run).values())


@pytest.mark.slow
@pytest.mark.skipif(DATA not in os.environ, reason=f"set {DATA} to a clone of the results")
def test_examples_agree_with_their_reference_results_or_by_hand():
    data = Path(os.environ[DATA])
    folders = ("Constraints", "Elementary", "Loops")
    there = [
        f"{folder}/{place.name}"
        for folder in folders
        for place in sorted((data / suite.FOLDER / folder).iterdir())
    ]
    assert there == suite.names()
    apart = {line.case for line in suite.lines(data) if line.verdict != AGREES}
    assert apart == DIFFER | set(suite.LEFT_OUT)


@pytest.mark.slow
@pytest.mark.parametrize("case", [x for x in CASES if x.by_hand], ids=lambda case: case.name)
def test_an_example_agrees_with_equations_by_hand(case):
    times, example = np.linspace(0.0, 2.0, 101), case.build()
    ours, exact = suite.ran(example, times, case.rtol), case.by_hand(times)
    assert max(suite.differences(ours, exact, ours).values()) < 1e-6
