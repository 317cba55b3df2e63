"""All solutions of quadratic equations, and the assembly modes of planar mechanisms computed from
them.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw
from tests.analysis.models import LENGTHS, apart, closed_form, four_bar
from zwang.analysis.homotopy import solutions
from zwang.mechanism import Joint, Link, Mechanism, Point


@pytest.mark.parametrize("k", [1, 3, 5])
def test_quadratic_equations_have_as_many_solutions_as_bezout_counts(k):
    random = np.random.default_rng(k)
    forms = random.standard_normal((k, k + 1, k + 1))
    forms = forms + forms.transpose(0, 2, 1)
    found = solutions(forms)
    assert len(found.w) == 2**k and not found.failed and not found.infinite
    full = np.column_stack([np.ones(len(found.w)), found.w])
    value = np.einsum("iab,na,nb->ni", forms, full, full)
    assert np.max(np.abs(value) / np.linalg.norm(full, axis=1)[:, None] ** 2) < 1e-12


def test_solutions_at_infinity_are_counted_apart():
    # two circles meet in two finite points and in the two circular points at infinity
    circle = lambda x, r: np.array([[x * x - r * r, -x, 0], [-x, 1, 0], [0, 0, 1.0]])
    found = solutions(np.array([circle(0.0, 1.0), circle(1.0, 1.5)]))
    assert len(found.w) == 2 and found.infinite == 2 and not found.failed
    x = (1.0 + 1.0 - 1.5**2) / 2
    exact = np.array([[x, np.sqrt(1 - x * x)], [x, -np.sqrt(1 - x * x)]])
    order = np.argsort(-found.w[:, 1].real)
    np.testing.assert_allclose(found.w[order], exact, atol=1e-12)


@pytest.mark.slow
def test_a_four_bar_has_its_two_modes_by_both_methods():
    start = closed_form(LENGTHS, 0.3, 1)
    for method in ("homotopy", "starts"):
        found = zw.analysis.assembly_modes(
            four_bar(), {"crank": 1.1}, q=start, starts=256, method=method
        )
        assert len(found) == 2 and found.complete == (method == "homotopy")
        for sign in (1, -1):
            assert min(apart(x, closed_form(LENGTHS, 1.1, sign)) for x in found.q) < 1e-10


@pytest.mark.slow
def test_random_four_bars_have_their_two_modes_or_none():
    random, none = np.random.default_rng(12), 0
    for _ in range(12):
        lengths, crank = random.uniform(0.5, 3.0, 4), random.uniform(-3, 3)
        exact = [closed_form(lengths, crank, sign) for sign in (1, -1)]
        asked, given = {"crank": crank}, {"lengths": lengths}
        if exact[0] is None:
            none += 1
            with pytest.raises(zw.ModelError, match="none of 2 solutions is a real one"):
                zw.analysis.assembly_modes(four_bar(), asked, q=np.zeros(3), params=given)
            continue
        found = zw.analysis.assembly_modes(four_bar(), asked, q=np.zeros(3), params=given)
        assert len(found) == 2 and found.complete
        assert all(min(apart(x, y) for x in found.q) < 1e-9 for y in exact)
    assert 0 < none < 12


def hinge(*between) -> Joint:
    return Joint("revolute", between=between)


def bar(length: float, *guess) -> Link:
    return Link(length=length, guess=guess)


@pytest.fixture(scope="module")
def five_bar() -> Mechanism:
    """Two driven cranks of 1 m, 1.5 m apart, and two bars of 1.4 m that meet."""
    return Mechanism(
        bodies={
            "left": bar(1.0, (0, 0), (0.0, 1.0)),
            "right": bar(1.0, (1.5, 0), (1.5, 1.0)),
            "first": bar(1.4, (0, 1), (0.75, 2.2)),
            "second": bar(1.4, (1.5, 1), (0.75, 2.2)),
        },
        ground={"b": Point((1.5, 0.0))},
        joints={
            "A": hinge("ground", "left.start"),
            "B": hinge("ground.b", "right.start"),
            "C": hinge("left.end", "first.start"),
            "D": hinge("right.end", "second.start"),
            "E": hinge("first.end", "second.end"),
        },
        name="five-bar",
    )


@pytest.mark.slow
def test_a_five_bar_has_its_two_modes_where_two_circles_meet(five_bar):
    a, b = 1.2, 1.9
    found = zw.analysis.assembly_modes(five_bar, {"left.angle": a, "right.angle": b})
    assert found.complete and len(found) == 2
    left, right = np.array([np.cos(a), np.sin(a)]), np.array([1.5 + np.cos(b), np.sin(b)])
    middle, across = (left + right) / 2, (right - left)[::-1] * [-1, 1]
    height = np.sqrt(1.4**2 - np.sum((right - left) ** 2) / 4) / np.linalg.norm(across)
    names = list(found.model.system.coordinates)
    i = [names.index(f"first.{x}") for x in ("x", "y", "angle")]
    ends = [q[i[:2]] + 0.7 * np.array([np.cos(q[i[2]]), np.sin(q[i[2]])]) for q in found.q]
    for sign in (1, -1):
        tip = middle + sign * height * across
        assert min(np.max(np.abs(x - tip)) for x in ends) < 1e-9


BASE = np.array([[0.0, 0.0], [15.91, 0.0], [0.0, 10.0]])
CORNERS = np.array([[0.0, 0.0], [17.04, 0.0], [13.24, 20.84]])
"""Base and platform of Gosselin and Merlet's example (1994), turned so that the first corners are
the origins."""


def resultant_roots(legs: np.ndarray) -> int:
    """Real roots of the polynomial of degree six of a 3-RPR platform, counted by its signs."""
    turn = np.linspace(-np.pi, np.pi, 400_001)
    c, s = np.cos(turn), np.sin(turn)
    # differences of the three circles are linear in the place; what is left is the angle's equation
    rows = []
    for i in (1, 2):
        d = np.array([c * CORNERS[i, 0] - s * CORNERS[i, 1], s * CORNERS[i, 0] + c * CORNERS[i, 1]])
        d = d - BASE[i][:, None]
        rows.append((2 * d, legs[i] ** 2 - legs[0] ** 2 - np.sum(d * d, axis=0)))
    (A, r), (B, s_) = rows
    det = A[0] * B[1] - A[1] * B[0]
    place = np.array([B[1] * r - A[1] * s_, A[0] * s_ - B[0] * r])
    value = np.sum(place * place, axis=0) - (legs[0] * det) ** 2
    return int(np.sum(value[1:] * value[:-1] < 0))


@pytest.fixture(scope="module")
def platform() -> zw.Model:
    def phi(q, t, p):
        c, s = jnp.cos(q[2]), jnp.sin(q[2])
        place = q[:2] + CORNERS @ jnp.array([[c, s], [-s, c]])
        return jnp.sum((place - BASE) ** 2, axis=1) - p["leg"] ** 2

    system = zw.System(
        3,
        lambda q, t, p: jnp.ones(3),
        lambda q, v, t, p: jnp.zeros(3),
        coordinates=("x", "y", "angle"),
        units=("m", "m", "rad"),
    )
    return zw.Model(system, [zw.Holonomic(phi, name="legs")], {"leg": np.ones(3)}, name="3-RPR")


@pytest.mark.slow
def test_a_planar_platform_has_as_many_modes_as_its_resultant_has_real_roots(platform):
    random, counts = np.random.default_rng(6), set()
    for legs in ([14.98, 15.38, 12.0], [10.0, 11.0, 13.0], *random.uniform(8.0, 22.0, (6, 3))):
        legs = np.asarray(legs)
        exact = resultant_roots(legs)
        if not exact:
            continue
        found = zw.analysis.assembly_modes(
            platform, q=[5.0, 12.0, 0.5], params={"leg": legs}, spread=20.0, method="homotopy"
        )
        assert found.complete and found.solutions == 6 and len(found) == exact
        counts.add(exact)
    assert {2, 4, 6} & counts and max(counts) == 6


@pytest.mark.slow
def test_a_3rrr_mechanism_has_the_modes_of_the_platform_on_its_elbows():
    """Its three driven cranks fix three elbows, from which bars of one length go to the corners."""
    reach, crank, bodies, joints, ground = 15.0, 5.0, {}, {}, {}
    pins = BASE + np.array([[-3.0, 2.0], [4.0, -1.0], [1.0, 4.0]])
    angles = {"crank 0.angle": 0.4, "crank 1.angle": 1.3, "crank 2.angle": -0.8}
    elbows = pins + crank * np.array([[np.cos(a), np.sin(a)] for a in angles.values()])
    corner = CORNERS + np.array([2.0, 8.0])
    points = {f"c{i}": tuple(map(float, CORNERS[i])) for i in range(3)}
    bodies["plate"] = Link(mass=1.0, inertia=1.0, at=(2.0, 8.0), points=points)
    for i in range(3):
        ground[f"p{i}"] = Point(tuple(map(float, pins[i])))
        bodies[f"crank {i}"] = bar(crank, tuple(pins[i]), tuple(elbows[i]))
        bodies[f"bar {i}"] = bar(reach, tuple(elbows[i]), tuple(corner[i]))
        joints[f"base {i}"] = hinge(f"ground.p{i}", f"crank {i}.start")
        joints[f"elbow {i}"] = hinge(f"crank {i}.end", f"bar {i}.start")
        joints[f"tip {i}"] = hinge(f"bar {i}.end", f"plate.c{i}")
    made = Mechanism(bodies=bodies, joints=joints, ground=ground, name="3RRR")
    found = zw.analysis.assembly_modes(made, angles, spread=20.0)
    assert found.complete and found.solutions == 6 and len(found) in (2, 4, 6)
    by_starts = zw.analysis.assembly_modes(made, angles, spread=20.0, starts=512, method="starts")
    assert len(by_starts) == len(found)
    for q in by_starts.q:
        assert min(apart(q[:3], x[:3]) for x in found.q) < 1e-6
