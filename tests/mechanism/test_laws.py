"""Laws between several joints, and driven distances: one motion in the plane and in space, in body
coordinates and in joint coordinates.
"""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import zwang as zw
from tests.crossed import crossed
from zwang.errors import ModelError
from zwang.mechanism import (
    Begin,
    Drive,
    Force,
    Joint,
    Law,
    Link,
    Mechanism,
    PartError,
    Point,
    joint_motion,
    reactions,
    read,
)

G = 9.81
COORDINATES = ("maximal", "joint")
WORLDS = ("plane", "space")


def hung(world: str, coordinates: str, law: str) -> Mechanism:
    """Masses of 1 and 2 kg on vertical slides, 1 m below the ground, joined by a rope."""
    z = (0.0,) if world == "space" else ()
    way = {"axis": (0, -1, 0)} if z else {"angle": -np.pi / 2}
    at = lambda x: Point((x, 0.0, *z), **way)
    inertia = (1.0, 1.0, 1.0) if z else 0.1
    return Mechanism(
        {
            "a": Link(1.0, inertia, at=(0, -1.0, *z), points={"p": at(0.0)}),
            "b": Link(2.0, inertia, at=(1.0, -1.0, *z), points={"p": at(0.0)}),
        },
        {
            "A": Joint("prismatic", ("ground.a", "a.p")),
            "B": Joint("prismatic", ("ground.b", "b.p")),
        },
        ground={"a": at(0.0), "b": at(1.0)},
        laws={"rope": Law({"l": ("ground.a", "a"), "r": ("ground.b", "b")}, law)},
        world=world,
        gravity=(0, -G, *z),
        coordinates=coordinates,
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "law, world, coordinates",
    crossed(["l + r - 2", "2*l + r - 3", "l + 2*r - 3"], WORLDS, COORDINATES),
)
def test_a_rope_over_pulleys_is_a_law_of_distances(law, world, coordinates):
    """m₁ = 1, m₂ = 2 kg: along the virtual motion (δl, δr) = (k₂, −k₁) of k₁ l + k₂ r the
    acceleration of l is k₂ g (k₂ m₁ − k₁ m₂) / (k₂² m₁ + k₁² m₂), upwards negative.
    """
    k1, k2 = (2.0, 1.0) if law.startswith("2") else (1.0, 2.0 if "2*r" in law else 1.0)
    expected = k2 * G * (k2 * 1.0 - k1 * 2.0) / (k2**2 * 1.0 + k1**2 * 2.0)
    m = hung(world, coordinates, law)
    start = m.start_state
    run = zw.simulate(m.model, start.q, start.v, duration=0.3, rtol=1e-10, samples=2)
    down = -np.asarray(m.body_state(run.q[-1], run.v[-1]).q)[1]
    assert down - 1.0 == pytest.approx(expected * 0.3**2 / 2, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.parametrize("world", WORLDS)
def test_a_law_of_three_hinges_and_time_holds_over_turns(world, coordinates):
    """No whole ratio, a sine and time; the wheels run up over many turns."""
    z = (0.0,) if world == "space" else ()
    inertia = (0.1, 0.1, 0.1) if z else 0.1
    m = Mechanism(
        {n: Link(1.0, inertia, at=(float(i), 0.0, *z)) for i, n in enumerate("abc")},
        {n.upper(): Joint("revolute", (f"ground.{n}", n)) for n in "abc"},
        ground={n: (float(i), 0.0, *z) for i, n in enumerate("abc")},
        laws={"mix": Law({"x": "A", "y": "B", "z": "C"}, "x + k*y - 0.3*sin(z) - 0.2*t")},
        forces={"f": Force("20", joint="A"), "g": Force("10*cos(t)", joint="C")},
        parameters={"k": 2.5},
        world=world,
        coordinates=coordinates,
    )
    start = m.start_state
    run = zw.simulate(m.model, start.q, start.v, duration=1.0, rtol=1e-10, samples=2)
    x, y, z = (joint_motion(m, run)[n].values[-1] for n in "ABC")
    assert x > 6 * np.pi
    assert x + 2.5 * y - 0.3 * np.sin(z) - 0.2 == pytest.approx(0.0, abs=1e-9)

    def rate(t, y):
        """J q̈ = Q + λ a with a q̈ = −0.3 sin z ż²."""
        a = np.array([1.0, 2.5, -0.3 * np.cos(y[2])])
        free = np.array([20.0, 0.0, 10 * np.cos(t)]) / 0.1
        pushed = -(a @ free + 0.3 * np.sin(y[2]) * y[5] ** 2) / (a @ a)
        return [*y[3:], *(free + pushed * a)]

    # the start moves at the law's own rate, least in kinetic energy
    a = np.array([1.0, 2.5, -0.3])
    expected = solve_ivp(rate, (0, 1), [0, 0, 0, *(0.2 * a / (a @ a))], rtol=1e-11, atol=1e-11)
    assert (x, y, z) == pytest.approx(expected.y[:3, -1], abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("world, coordinates", crossed(WORLDS, COORDINATES))
def test_a_start_value_stands_beside_a_law(world, coordinates):
    m = hung(world, coordinates, "l + r - 2 - 0.1*t")
    m = Mechanism(
        **{
            **{x: getattr(m, x) for x in ("bodies", "joints", "ground", "laws", "gravity")},
            "world": world,
            "coordinates": coordinates,
            "start": {"A": Begin(value=0.7, rate=0.3)},
        }
    )
    start = m.start_state
    at = m.body_state(start.q, start.v)
    down = 3 if world == "plane" else 7
    assert np.asarray(at.q)[[1, down + 1]] == pytest.approx([-0.7, -1.3], abs=1e-10)
    assert np.asarray(at.v)[[1, (3 if world == "plane" else 6) + 1]] == pytest.approx(
        [-0.3, 0.2], abs=1e-10
    )


CYLINDER = {
    "value": ({"value": "L + 0.1*sin(t)"}, lambda t: 0.5 + 0.1 * np.sin(t)),
    "rate": ({"rate": "0.1"}, None),
}


@pytest.mark.slow
@pytest.mark.parametrize("driven, coordinates", crossed(CYLINDER, COORDINATES))
def test_a_cylinder_drives_the_distance_of_its_ends(driven, coordinates):
    """A rod on a pin, pushed by a cylinder from (1, 0): its effort is the power over its rate."""
    motion, at = driven
    m = Mechanism(
        {"rod": Link(length=1.0, angle=0.3, at=(0.5 * np.cos(0.3), 0.5 * np.sin(0.3)))},
        {"A": Joint("revolute", ("ground", "rod.start"))},
        ground={"c": (1.0, 0.0)},
        drives={"cylinder": Drive(between=("ground.c", "rod.end"), **motion)},
        parameters={"L": 0.5},
        coordinates=coordinates,
    )
    start = m.start_state
    run = zw.simulate(m.model, start.q, start.v, duration=1.0, rtol=1e-10, samples=3)
    moved = joint_motion(m, run)
    angle, rate = moved["A"].values, moved["A rate"].values
    length = np.hypot(np.cos(angle) - 1, np.sin(angle))
    expected = at(run.t) if at else length[0] + 0.1 * run.t
    np.testing.assert_allclose(length, expected, atol=1e-9)
    stretching = np.sin(angle) * rate / length
    found = reactions(m, run)["cylinder"]
    alpha = run.dataset["acceleration"].values[:, 0 if coordinates == "joint" else 2]
    power = (alpha / 3 + 0.5 * G * np.cos(angle)) * rate  # of the rod's inertia and weight
    np.testing.assert_allclose(found.effort * stretching, power, atol=1e-8)
    assert found.unit == "N"


FILE = """
[bodies]
rod = { length = 1.0 }
[ground]
c = [2, 0]
[joints]
A = { kind = "revolute", between = ["ground", "rod.start"] }
"""
WRONG = {
    "unknown joint": (
        '[laws]\nx = { of = { a = "AA" }, equation = "a" }',
        "no joint 'AA'; did you",
    ),
    "unknown point": (
        '[laws]\nx = { of = { a = ["ground.d", "rod"] }, equation = "a" }',
        "no point 'ground.d'",
    ),
    "unknown name": ('[laws]\nx = { of = { a = "A" }, equation = "a + b" }', "uses 'b'"),
    "unused": ('[laws]\nx = { of = { a = "A" }, equation = "t" }', "does not use 'a'"),
    "function": ('[laws]\nx = { of = { sin = "A" }, equation = "sin" }', "no name that a formula"),
    "nothing": ('[laws]\nx = { of = { }, equation = "t" }', "of: is empty"),
    "name": ('[laws]\nA = { of = { a = "A" }, equation = "a" }', "laws.A: has the name of a joint"),
    "both": (
        '[drives]\nx = { joint = "A", between = ["ground.c", "rod"], rate = 1 }',
        "expected either between or joint",
    ),
    "a rod over time": (
        '[joints.B]\nkind = "rod"\nbetween = ["ground.c", "rod.end"]\nlength = "0.5 + 0.1*t"',
        r"'0.5 \+ 0.1\*t' changes with time; .* of the distance between two points",
    ),
}


@pytest.mark.parametrize("text, said", WRONG.values(), ids=WRONG)
def test_a_law_that_makes_no_sense_is_refused_in_one_sentence(text, said, tmp_path):
    path = tmp_path / "m.toml"
    path.write_text(FILE + text)
    with pytest.raises(ModelError, match=said):
        read(path)


def test_a_rod_with_a_text_for_its_length_is_refused():
    with pytest.raises(
        PartError, match=r"joints.A.length: is the text '0.5\+t', expected a number"
    ):
        Mechanism(
            {"b": Link(length=1.0)}, {"A": Joint("rod", ("ground", "b.start"), length="0.5+t")}
        )


DOWN = 'angle = "-90*deg"'
ROPE = f"""
[bodies]
load = {{ mass = 1, inertia = 0.1, at = [0, -1], points = {{ p = {{ at = [0, 0], {DOWN} }} }} }}
weight = {{ mass = 2, inertia = 0.1, at = [1, -1], points = {{ p = {{ at = [0, 0], {DOWN} }} }} }}
[ground]
a = {{ at = [0, 0], {DOWN} }}
b = {{ at = [1, 0], {DOWN} }}
[joints]
A = {{ kind = "prismatic", between = ["ground.a", "load.p"] }}
B = {{ kind = "prismatic", between = ["ground.b", "weight.p"] }}
[laws]
rope = {{ of = {{ l = ["ground.a", "load"], r = ["ground.b", "weight"] }}, equation = "l + r - 2" }}
"""
DRIVEN = """
[bodies]
rod = { length = 1.0 }
[ground]
c = [1, 0]
[joints]
A = { kind = "revolute", between = ["ground", "rod.start"] }
[drives]
cylinder = { between = ["ground.c", "rod.end"], value = "0.5 + 0.1*sin(t)" }
"""
MIXED = """
[bodies]
one = { mass = 1, inertia = 1 }
two = { mass = 1, inertia = 1, at = [2, 0] }
three = { mass = 1, inertia = 1, at = [4, 0] }
[ground]
b = [2, 0]
c = [4, 0]
[joints]
A = { kind = "revolute", between = ["ground", "one"] }
B = { kind = "revolute", between = ["ground.b", "two"] }
C = { kind = "revolute", between = ["ground.c", "three"] }
[laws]
mixer = { of = { a = "A", b = "B", c = "C" }, equation = "a + 0.5*b - sin(c) - 0.1*t" }
[forces]
motor = { joint = "A", effort = 3 }
"""
POINT = """
world = "space"
[bodies]
ball = { mass = 2.0, at = [0.6, 0, -0.8], velocity = [0, 1.5, 0] }
[joints]
string = { kind = "rod", between = ["ground", "ball"], length = 1.0 }
"""
FROM_FILES = {
    "rope over pulleys": (ROPE, (1, 4), [G / 3, -G / 3]),
    # d = 2 sin(θ/2) with ḋ = 0.1 and d̈ = 0
    "driven distance": (DRIVEN, (2,), [0.1**2 * 0.5 / 4 / (1 - 0.5**2 / 4) ** 1.5]),
    # the part of the motor's 3 N m that is along (1, ½, −1) is held
    "law of three joints": (MIXED, (2, 5, 8), [3 - 3 / 2.25, -1.5 / 2.25, 3 / 2.25]),
    # r̈ = g + λ r with λ = −(v² + g·r)/r²
    "point mass in space": (
        POINT,
        (0, 1, 2),
        [-0.6 * (1.5**2 + 0.8 * G), 0, 0.8 * (1.5**2 + 0.8 * G) - G],
    ),
}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("text, at, expected", FROM_FILES.values(), ids=FROM_FILES)
def test_a_file_accelerates_by_its_closed_form(text, at, expected, tmp_path):
    path = tmp_path / "m.toml"
    path.write_text(text)
    m = read(path)
    start = m.start_state
    found = np.asarray(zw.motion(m.model, start.q, start.v).acceleration)[list(at)]
    if text is DRIVEN:  # to either side of the ground
        found = np.abs(found)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
