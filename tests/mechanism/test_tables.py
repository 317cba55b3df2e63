"""Tables as functions in formulas: motions and forces given by numbers."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.interpolate import CubicSpline

import zwang as zw
from tests.crossed import crossed
from zwang.errors import ModelError
from zwang.mechanism import Drive, Force, Joint, Link, Mechanism, Table, joint_motion, read

X, Y = (0.0, 0.3, 0.5, 1.1, 1.6), (0.2, 0.5, 0.1, -0.3, 0.2)
COORDINATES = ("maximal", "joint")


def moved(m: Mechanism, duration: float):
    start = m.start_state
    run = zw.simulate(m.model, start.q, start.v, duration=duration, rtol=1e-10, samples=9)
    return run, joint_motion(m, run)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("coordinates, repeat", crossed(COORDINATES, [False, True]))
def test_a_drive_follows_a_table_with_a_continuous_acceleration(repeat, coordinates):
    m = Mechanism(
        {"b": Link(length=1.0)},
        {"A": Joint("revolute", ("ground", "b.start"))},
        tables={"lift": Table(X, Y, repeat)},
        drives={"d": Drive("A", value="2*lift(t) + 0.1*t")},
        coordinates=coordinates,
    )
    run, found = moved(m, 4.0 if repeat else 1.6)
    spline = CubicSpline(X, Y, bc_type="periodic" if repeat else "not-a-knot")
    at = np.mod(run.t, 1.6) if repeat else run.t
    np.testing.assert_allclose(found["A"].values, 2 * spline(at) + 0.1 * run.t, atol=1e-9)
    np.testing.assert_allclose(found["A rate"].values, 2 * spline(at, 1) + 0.1, atol=1e-8)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("coordinates", COORDINATES)
def test_a_spring_has_the_characteristic_of_a_table(coordinates):
    x, y = (-1.0, -0.4, 0.0, 0.4, 1.0), (5.0, 1.0, 0.0, -1.0, -5.0)
    m = Mechanism(
        {"b": Link(2.0, 0.1, velocity=(0.8, 0.0))},
        {"S": Joint("prismatic", ("ground", "b"))},
        tables={"pull": Table(x, y)},
        forces={"f": Force("pull(value)", joint="S")},
        coordinates=coordinates,
    )
    spline = CubicSpline(x, y)
    expected = solve_ivp(
        lambda t, s: [s[1], spline(s[0]) / 2], (0, 2), [0, 0.8], rtol=1e-11, atol=1e-12
    )
    assert moved(m, 2.0)[1]["S"].values[-1] == pytest.approx(expected.y[0, -1], abs=1e-7)


@pytest.mark.native
def test_a_run_beyond_a_table_stops_at_its_end():
    m = Mechanism(
        {"b": Link(length=1.0)},
        {"A": Joint("revolute", ("ground", "b.start"))},
        tables={"lift": Table(X, Y)},
        drives={"d": Drive("A", value="lift(t)")},
    )
    start = m.start_state
    run = zw.simulate(m.model, start.q, start.v, duration=1.6, samples=2)
    assert "native" in run.attrs["engine"]
    with pytest.raises(zw.SimulationError, match=r"stopped at t = 1\.6 s"):
        zw.simulate(m.model, start.q, start.v, duration=3.0)


FILE = """
[parameters]
k = 2
[bodies]
b = { length = 1.0 }
[joints]
A = { kind = "revolute", between = ["ground", "b.start"] }
[drives]
d = { joint = "A", value = "k*lift(t)" }
[tables]
"""


def test_a_file_takes_a_table_from_a_file_beside_it(tmp_path):
    path = tmp_path / "m.toml"
    path.write_text(FILE + 'lift = { file = "lift.csv" }')
    rows = "\n".join(f"{x}, {y}" for x, y in zip(X, Y, strict=True))
    (tmp_path / "lift.csv").write_text(f"t, lift\n# measured\n{rows}\n")
    m = read(path)
    assert m.tables["lift"].x == X and m.tables["lift"].y == Y
    start = m.start_state
    assert float(start.q[2]) == pytest.approx(2 * Y[0], abs=1e-12)
    (tmp_path / "lift.csv").write_text("0 1\n1 2\n2 x\n")
    with pytest.raises(ModelError, match=r"tables.lift: line 3 of .*lift.csv has no two numbers"):
        read(path)


WRONG = {
    "lift = { x = [0, 1], y = [0] }": "has 2 x and 1 y",
    "lift = { x = [0, 1, 1], y = [0, 1, 2] }": "x increasing",
    "lift = { x = [0, 1], y = [0, 1], repeat = true }": "begins with 0 and ends with 1",
    "other = { x = [0, 1], y = [0, 1] }": "there is no function 'lift'; there are: .*other",
    "sin = { x = [0, 1], y = [0, 1] }": "tables.sin: is no name",
    'lift = { file = "none.csv" }': "none.csv",
    'lift = { file = "none.csv", x = [0, 1] }': "a file beside x and y",
}


@pytest.mark.parametrize("table, said", WRONG.items())
def test_a_table_that_is_none_is_refused_in_one_sentence(table, said, tmp_path):
    path = tmp_path / "m.toml"
    path.write_text(FILE + table)
    with pytest.raises(ModelError, match=said):
        read(path)
