"""Gaps between shapes compared with the distances of independent programs, and their active
rows.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from zwang.bodies import contact
from zwang.bodies.contact import PAIRS, touch

KINDS, EACH = 4, 250
"""Pairs of shapes of one kind, and random placements of each."""


def sizes(kind: str, random) -> np.ndarray:
    if kind in ("plane", "point"):
        return np.zeros(0)
    if kind == "box":
        return random.uniform(0.2, 1.0, 3)
    radius, length = random.uniform(0.1, 0.3), random.uniform(0.3, 1.0)
    return np.array([radius] if kind == "sphere" else [radius, length])


class Coal:
    """Distances by coal."""

    def __init__(self, kinds, given):
        self.coal = pytest.importorskip("coal")
        self.shapes = [self.shape(*x) for x in zip(kinds, given, strict=True)]
        self.asked = self.coal.DistanceRequest()
        self.asked.gjk_tolerance, self.asked.gjk_max_iterations = 1e-15, 1000

    def shape(self, kind, size):
        if kind == "plane":
            return self.coal.Halfspace(np.array([0.0, 0.0, 1.0]), 0.0)
        return getattr(self.coal, kind.capitalize())(*map(float, size))

    def distance(self, place, turn):
        found = self.coal.DistanceResult()
        ends = self.coal.Transform3s(), self.coal.Transform3s(turn, place)
        a, b = self.shapes
        distance = self.coal.distance(a, ends[0], b, ends[1], self.asked, found)
        return distance, np.array(found.getNearestPoint2()) - np.array(found.getNearestPoint1())


class MuJoCo:
    """Distances by MuJoCo."""

    def __init__(self, kinds, given):
        self.mujoco = pytest.importorskip("mujoco")
        a, b = (self.shape(*x) for x in zip(kinds, given, strict=True))
        text = f"""<mujoco><option ccd_tolerance="1e-14" ccd_iterations="200"/><worldbody>
            <geom {a}/><body mocap="true"><geom {b}/></body></worldbody></mujoco>"""
        self.model = self.mujoco.MjModel.from_xml_string(text)
        self.data = self.mujoco.MjData(self.model)

    @staticmethod
    def shape(kind, size):
        half = {"plane": [9.0, 9.0, 1.0], "box": size / 2, "sphere": size}.get(kind)
        half = [size[0], size[1] / 2] if half is None else half
        return f'type="{kind}" size="{" ".join(f"{x:.17g}" for x in half)}"'

    def distance(self, place, turn):
        self.data.mocap_pos[0] = place
        self.data.mocap_quat[0] = np.roll(Rotation.from_matrix(turn).as_quat(), 1)
        self.mujoco.mj_kinematics(self.model, self.data)
        ends = np.zeros(6)
        distance = self.mujoco.mj_geomDistance(self.model, self.data, 0, 1, 10.0, ends)
        return distance, ends[3:] - ends[:3]


def placements(random, n):
    places = random.uniform(-1.2, 1.2, (n, 3))
    return places, Rotation.random(n, random_state=random).as_matrix()


ROUND = [pair for pair in PAIRS if pair[0] == "plane" or pair[1] in ("sphere", "capsule")]


@pytest.mark.one_in(4)
@pytest.mark.parametrize("program", [MuJoCo, Coal])
@pytest.mark.parametrize("pair", ROUND, ids="-".join)
def test_the_least_row_is_the_distance_of_two_shapes(pair, program):
    random = np.random.default_rng(1)
    rows = jax.jit(jax.vmap(lambda given, at: touch(pair, given, *at), in_axes=(None, 0)))
    worst, compared = 0.0, 0
    for _ in range(KINDS):
        given = tuple(sizes(x, random) for x in pair)
        other, at = program(pair, given), placements(random, EACH)
        if pair[0] == "plane":
            at[0][:, 2] = np.abs(at[0][:, 2]) + 0.2
        found = rows(given, at)
        gaps = np.min(np.where(found.way >= 0, found.gap, np.inf), axis=1)
        apart = np.array([other.distance(*x)[0] for x in zip(*at, strict=True)])
        free = apart > 1e-3
        compared += np.sum(free)
        worst = max(worst, np.max(np.abs(gaps - apart)[free]))
        assert np.all(gaps[apart <= 0] <= 1e-12)
    # what these programs iterate for ends at 1e-10, of MuJoCo beside a cylinder at 1e-7
    within = 1e-7 if pair == ("cylinder", "capsule") else 1e-9
    assert compared > 0.7 * KINDS * EACH and worst < within


EDGED = {
    ("box", "box"): ([8, 8, 16], 2e-9),
}
"""Pairs with edges: rows of each of their parts, and the accuracy of other programs."""


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "pair, program",
    [(("box", "box"), MuJoCo), (("box", "box"), Coal), *((x, MuJoCo) for x in [*EDGED][1:])],
)
def test_two_shapes_with_edges_that_come_to_touch_close_a_row_there(pair, program):
    """Moved towards each other until another program says that they are a hundred millionth of a
    metre apart: the least row says so, too, and overlap is negative.
    """
    parts, within = EDGED[pair]
    random = np.random.default_rng(2)
    rows = jax.jit(lambda given, *at: touch(pair, given, *at))
    used = np.zeros(sum(parts), int)
    for _ in range(KINDS * EACH // 4):
        given = tuple(sizes(x, random) for x in pair)
        other = program(pair, given)
        way = random.normal(size=3)
        way /= np.linalg.norm(way)
        place = 2.5 * way + random.uniform(-0.2, 0.2, 3)
        turn = Rotation.random(random_state=random).as_matrix()
        for _ in range(60):
            apart, between = other.distance(place, turn)
            if apart < 2e-8:
                break
            place -= (apart - 1e-8) / (between @ way / apart) * way
        assert 0 < apart < 2e-8
        found = rows(given, place, turn)
        gaps = np.where(found.way >= 0, found.gap, np.inf)
        k = int(np.argmin(gaps))
        used[k] += 1
        assert gaps[k] == pytest.approx(apart, abs=within)
        found = rows(given, place - 1e-5 * way, turn)
        assert np.min(np.where(found.way >= 0, found.gap, np.inf)) < 0
    # all parts but rims that lie flat, which none does by chance
    hits = [int(np.sum(x)) for x in np.split(used, np.cumsum(parts)[:-1])]
    flat = [k for k, n in enumerate(parts) if n == 8 and k and parts[k - 1] == 2]
    assert all((n > 0) != (k in flat) for k, n in enumerate(hits))


@pytest.mark.parametrize("turn", [0.0, 0.3, np.pi / 2, -1.1])
def test_a_plank_across_another_touches_it_around_what_they_share(turn):
    """Contacts of two flat faces are all corners of the area that they share, and no others."""
    low, high = np.array([0.9, 0.2, 0.1]), np.array([0.8, 0.15, 0.1])
    axes = Rotation.from_rotvec([0, 0, turn]).as_matrix()
    found = touch(("box", "box"), (low, high), jnp.array([0.05, 0.01, 0.1]), axes)
    closed = (np.abs(found.gap) < 1e-12) & (found.way > -1e-14)
    places = np.unique(np.round(np.asarray(found.place)[closed][:, :2], 9), axis=0)
    halves = low[:2] / 2, high[:2] / 2
    clipped = clip(halves[1], np.array([0.05, 0.01]), axes[:2, :2], halves[0])
    assert len(places) == len(clipped)
    np.testing.assert_allclose(places, clipped, atol=1e-8)
    up = np.broadcast_to([0.0, 0.0, 1.0], (int(closed.sum()), 3))
    np.testing.assert_allclose(np.asarray(found.normal)[closed], up)


def clip(half, center, axes, within) -> np.ndarray:
    """Corners of the area that two rectangles share, by Sutherland and Hodgman."""
    area = [center + axes @ (half * x) for x in np.array([(1, 1), (-1, 1), (-1, -1), (1, -1)])]
    for axis in (0, 1):
        for sign in (1, -1):
            inside = lambda x, axis=axis, sign=sign: within[axis] - sign * x[axis]
            kept = []
            for x, y in zip(area, area[1:] + area[:1], strict=True):
                if inside(x) >= 0:
                    kept.append(x)
                if inside(x) * inside(y) < 0:
                    kept.append(x + inside(x) / (inside(x) - inside(y)) * (y - x))
            area = kept
    return np.unique(np.round(area, 9), axis=0)


@pytest.mark.parametrize(
    "pair",
    [
        ("box", "sphere"),
        ("capsule", "capsule"),
        ("plane", "cylinder"),
        ("cylinder", "capsule"),
    ],
)
def test_the_order_of_two_shapes_does_not_matter(pair):
    random = np.random.default_rng(3)
    given = tuple(sizes(x, random) for x in pair)
    place, axes = random.normal(size=3), Rotation.random(random_state=random).as_matrix()
    one = touch(pair, given, place, axes)
    other = touch(pair[::-1], given[::-1], -axes.T @ place, axes.T)
    np.testing.assert_allclose(np.sort(other.gap), np.sort(one.gap), atol=1e-14)
    np.testing.assert_allclose(
        np.sort(-other.normal @ axes.T, axis=0), np.sort(one.normal, axis=0), atol=1e-14
    )


@pytest.mark.slow
def test_rims_have_derivatives_of_any_order():
    """First and second ones beside differences of the gap, where a rim is nearest."""
    given = (np.array([0.3, 0.4]), np.array([0.1, 1.0]))
    axes = Rotation.from_rotvec([0.3, 1.2, 0.1]).as_matrix()
    place, way = np.array([0.25, 0.1, 0.62]), np.array([0.2, -0.5, 0.84])
    gap = lambda s: touch(("cylinder", "capsule"), given, place + s * way, axes).gap
    first = jax.jacfwd(gap)
    rows, h = slice(3, 7), 1e-4
    ends = [gap(s * h) for s in (-2, -1, 0, 1, 2)]
    slope = (ends[0] - 8 * ends[1] + 8 * ends[3] - ends[4]) / (12 * h)
    bend = (-ends[0] + 16 * ends[1] - 30 * ends[2] + 16 * ends[3] - ends[4]) / (12 * h**2)
    np.testing.assert_allclose(first(0.0)[rows], slope[rows], atol=1e-9)
    np.testing.assert_allclose(jax.jacfwd(first)(0.0)[rows], bend[rows], atol=1e-5)


def test_a_flat_rim_is_held_all_around_and_a_tilted_one_by_its_lowest_point():
    r, length = 0.1, 0.3
    for tilt, closed in ((0.0, 8), (1e-9, 8), (1e-3, 1), (np.pi / 2, 2)):
        axes = Rotation.from_rotvec([0.0, tilt, 0.0]).as_matrix()
        height = r * np.sin(tilt) + length / 2 * np.cos(tilt)
        found = touch(
            ("plane", "cylinder"),
            (np.zeros(0), np.array([r, length])),
            jnp.array([0.0, 0.0, height]),
            axes,
        )
        there = np.asarray(found.way >= 0)
        gaps = np.asarray(found.gap)[there]
        assert np.min(gaps) > -1e-9 and np.sum(gaps < 1e-9) == closed
        assert np.all(np.isfinite(found.gap)) and np.all(np.isfinite(found.place))


def test_tangents_are_at_right_angles():
    for n in Rotation.random(20, random_state=4).as_matrix()[:, 0]:
        frame = np.vstack([n, contact._tangents(jnp.asarray(n))])
        np.testing.assert_allclose(frame @ frame.T, np.eye(3), atol=1e-14)
