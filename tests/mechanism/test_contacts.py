"""Contact of shapes in mechanisms, compared with closed forms."""

import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp
from scipy.optimize import brentq

import zwang as zw
from tests.crossed import crossed
from zwang.mechanism import Contact, Link, Mechanism, Surface, read

G = 9.81


def ran(tmp_path, text, duration, **options):
    path = tmp_path / "contacts.toml"
    path.write_text(text)
    found = read(path)
    start = found.start_state
    return zw.simulate(
        found.model, start.q, start.v, duration=duration, **{"rtol": 1e-12} | options
    )


CAM = """
[parameters]
speed = 80.0
off = 0.02
[bodies.cam]
mass = 1.0
radius = 0.05
[bodies.follower]
mass = 0.3
inertia = 1.0
at = [0.0, 0.05]
[joints]
axle = { kind = "revolute", between = ["ground", "cam"] }
guide = { kind = "prismatic", between = ["ground.way", "follower.foot"] }
[ground]
way = { at = [0, 0], angle = "pi/2" }
[bodies.follower.points]
foot = { at = [0, 0], angle = "pi/2" }
[drives]
turn = { joint = "axle", value = "speed*t" }
[springs]
spring = { joint = "guide", stiffness = 400.0, rest = -0.02 }
[contacts.cam]
between = ["cam", "follower"]
[[contacts.cam.shapes]]
kind = "curve"
x = "off + 0.05*cos(s)"
y = "0.05*sin(s)"
ends = [0, "2*pi"]
closed = true
free = "right"
[[contacts.cam.shapes]]
kind = "point"
"""


class Eccentric:
    """A knife-edge follower on an eccentric circle, y(a) over the angle a of the cam."""

    R, e, m, k, rest = 0.05, 0.02, 0.3, 400.0, -0.02

    def lift(self, a):
        return self.e * np.sin(a) + np.sqrt(self.R**2 - (self.e * np.cos(a)) ** 2)

    def slopes(self, a):
        """y′ and y″ by a."""
        e, c, s = self.e, np.cos(a), np.sin(a)
        root = np.sqrt(self.R**2 - (e * c) ** 2)
        second = (c**2 - s**2) / root - (e * c * s) ** 2 / root**3
        return e * c + e**2 * c * s / root, -e * s + e**2 * second

    def push(self, a, omega):
        """The force of the cam along the guide."""
        spring = self.k * (self.lift(a) - self.rest)
        return self.m * (omega**2 * self.slopes(a)[1] + G) + spring

    @property
    def lifting(self):
        """The speed from which on the follower lifts off: where its force is zero on the top."""
        top = self.k * (self.R + self.e - self.rest) + self.m * G
        return np.sqrt(top / (self.m * self.e * (1 + self.e / self.R)))


@pytest.mark.slow
def test_a_follower_lifts_off_its_cam_and_lands_on_it(tmp_path):
    cam, omega = Eccentric(), 80.0
    run = ran(tmp_path, CAM, 0.08)
    leaves, lands = (x.time for x in run.switches[1:3])
    exact = brentq(lambda t: cam.push(omega * t, omega), 0.0, 0.02, xtol=1e-16)
    assert leaves == pytest.approx(exact, abs=1e-10)
    a, w, middle = omega * exact, np.sqrt(cam.k / cam.m), cam.rest - cam.m * G / cam.k
    y, rate = cam.lift(a), omega * cam.slopes(a)[0]
    flies = lambda t: (
        middle + (y - middle) * np.cos(w * (t - exact)) + rate / w * np.sin(w * (t - exact))
    )
    meets = brentq(lambda t: flies(t) - cam.lift(omega * t), 0.03, 0.06, xtol=1e-16)
    assert lands == pytest.approx(meets, abs=1e-10)
    assert run.q[-1, 4] == pytest.approx(cam.lift(omega * 0.08), abs=1e-12)
    above = cam.lifting * (1 + 1e-6)
    for speed, times in ((above, 3), (cam.lifting * (1 - 1e-6), 1)):
        found = zw.simulate(
            run.model,
            run.q[0],
            [0, 0, speed, 0, speed * cam.e, 0],
            duration=np.pi / speed,
            rtol=1e-10,
            params={"parameters": {"speed": speed}},
        )
        assert len(found.switches) == times


BALL = """
[bodies.ball]
mass = 2.0
radius = 0.1
at = [-0.3, 0.1]
velocity = [VELOCITY, 0.0]
[ground]
step = [-0.5, -0.25]
[contacts.edge]
between = ["ground.step", "ball"]
shapes = [{ kind = "box", size = [1.0, 0.5] }, { kind = "sphere", size = [0.1] }]
"""


@pytest.mark.parametrize("speed", [0.4, 1.2])
def test_a_ball_slides_over_an_edge_and_leaves_it(tmp_path, speed):
    """It turns about the edge until g cos θ = v²/r, with v² = v₀² + 2 g r (1 − cos θ); faster than
    g r it leaves at once.
    """
    r = 0.1
    run = ran(tmp_path, BALL.replace("VELOCITY", str(speed)), 1.2)
    theta = np.arccos(min(1.0, (2 + speed**2 / (G * r)) / 3))
    rate = lambda a: np.sqrt(speed**2 + 2 * G * r * (1 - np.cos(a))) / r
    leaves = 0.3 / speed + quad(lambda a: 1 / rate(a), 0.0, theta, epsabs=1e-15)[0]
    assert [x.on or x.off for x in run.switches] == [("edge",), ("edge",)]
    assert run.switches[1].time == pytest.approx(leaves, abs=1e-11)


STACK = """
[bodies.low]
mass = 2.0
inertia = 0.1
at = [0, 0.2]
velocity = [PUSHED, 0.0]
[bodies.top]
mass = 1.0
inertia = 0.05
at = [0.0, 0.55]
[contacts.floor]
between = ["ground", "low"]
shapes = [{ kind = "plane" }, { kind = "box", size = [0.6, 0.4] }]
static = 0.1
[contacts.stack]
between = ["low", "top"]
shapes = [{ kind = "box", size = [0.6, 0.4] }, { kind = "box", size = [0.6, 0.3] }]
static = 0.4
kinetic = 0.2
"""


@pytest.mark.slow
@pytest.mark.parametrize("pushed", [0.5, 0.0])
def test_a_flush_stack_of_two_boxes_slides_and_rests(tmp_path, pushed):
    """Edges of both lie on one another. The lower one, pushed, is slowed by 0.2 g of the upper one,
    which it takes along by the same, and 0.3 g of the floor, over its mass of two; from their
    common speed on both are slowed by 0.1 g.
    """
    run = ran(tmp_path, STACK.replace("PUSHED", str(pushed)), 0.6, rtol=1e-10)
    meet = pushed / (0.45 * G)
    speed = 0.2 * G * meet
    instants = [x.time for x in run.switches][-2:]
    if pushed:
        np.testing.assert_allclose(instants, [meet, meet + speed / (0.1 * G)], atol=1e-11)
    after = speed**2 / (0.2 * G)
    ways = [pushed * meet - 0.125 * G * meet**2 + after, 0.1 * G * meet**2 + after]
    np.testing.assert_allclose(run.q[-1], [ways[0], 0.2, 0, ways[1], 0.55, 0], atol=1e-11)
    np.testing.assert_allclose(run.v[-1], 0.0, atol=1e-13)
    np.testing.assert_allclose(run.q[:, [1, 4]], [[0.2, 0.55]] * len(run.q), atol=1e-12)


CAPSULE = """
world = "space"
[bodies.bar]
mass = 2.0
inertia = [0.1, 0.1, 0.01]
at = [0.05, 0.0, 0.4]
turn = [0, "pi/2", 0]
[ground]
top = [0, 0, -0.1]
[contacts.rest]
between = ["ground.top", "bar"]
shapes = [{ kind = "box", size = [0.4, 0.6, 0.2] }, { kind = "capsule", size = [0.05, 0.8] }]
restitution = 0.3
"""


@pytest.mark.slow
def test_a_capsule_falls_across_a_box_and_comes_to_rest_on_two_edges(tmp_path):
    """It bounces as a ball does, √(2h/g)(1+e)/(1−e) in all; its edges carry it by the lever."""
    run = ran(tmp_path, CAPSULE, 1.0, rtol=1e-10)
    falls = np.sqrt(2 * 0.35 / G)
    first, last = run.switches[0], run.switches[-1]
    assert first.time == pytest.approx(falls, abs=1e-12)
    impulses = [x[0] for x in first.multipliers.values()]
    np.testing.assert_allclose(impulses, 2 * 1.3 * G * falls * np.array([0.625, 0.375]), rtol=1e-9)
    assert last.time == pytest.approx(falls * 1.3 / 0.7, abs=1e-9)
    carried = run.dataset["multipliers"].values[-1]
    np.testing.assert_allclose(np.sort(carried)[-2:], 2 * G * np.array([0.375, 0.625]), rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("through", crossed({"formula": False, "points": True}))
def test_a_wheel_swings_in_a_bowl_as_a_pendulum(tmp_path, through):
    """A smooth wheel of radius r in a circle of radius R is a pendulum of length R − r; a spline
    through 49 points of it is so to four orders of their distance.
    """
    angles = np.linspace(np.pi, 2 * np.pi, 49)
    points = np.round(np.stack([np.cos(angles), np.sin(angles)], axis=1), 12).tolist()
    shape = (
        f"through = {points}" if through else 'x = "cos(s)", y = "sin(s)", ends = ["pi", "2*pi"]'
    )
    a = 0.7
    text = f"""
[bodies.wheel]
mass = 1.0
radius = 0.2
at = [{0.8 * np.sin(a):.17g}, {-0.8 * np.cos(a):.17g}]
[contacts.bowl]
between = ["ground", "wheel"]
shapes = [{{ kind = "curve", {shape} }}, {{ kind = "sphere", size = [0.2] }}]
"""
    run = ran(tmp_path, text, 1.5, rtol=1e-10, samples=4)
    swing = solve_ivp(
        lambda t, y: [y[1], -G / 0.8 * np.sin(y[0])],
        (0, 1.5),
        [a, 0.0],
        "DOP853",
        t_eval=run.t,
        rtol=1e-13,
        atol=1e-14,
    ).y[0]
    exact = 0.8 * np.stack([np.sin(swing), -np.cos(swing)], axis=1)
    np.testing.assert_allclose(run.q[:, :2], exact, atol=1e-5 if through else 1e-9)


ROLLS = """
world = "space"
[bodies.ball]
mass = 2.0
inertia = [0.008, 0.008, 0.008]
at = [0.0, 0.0, 0.1]
velocity = [1.2, 1.6, 0.0]
[contacts.table]
between = ["ground", "ball"]
shapes = [{ kind = "plane", size = [2.0, 9.0] }, { kind = "sphere", size = [0.1] }]
static = 0.3
"""


@pytest.mark.slow
def test_a_sphere_rolls_on_a_table_and_off_its_end(tmp_path):
    """It slides until 2 v₀/(7 μ g), rolls on with 5/7 of its speed, and leaves at x = 1."""
    run = ran(tmp_path, ROLLS, 1.3, rtol=1e-11)
    rolls = 2 * 2.0 / (7 * 0.3 * G)
    # x has 0.6 of the way
    slid = 0.6 * (2.0 * rolls - 0.3 * G * rolls**2 / 2)
    ends = rolls + (1.0 - slid) / (0.6 * 10 / 7)
    times = [x.time for x in run.switches if x.time > 0]
    np.testing.assert_allclose(times, [rolls, ends], atol=1e-10)
    np.testing.assert_allclose(run.v[-1, :2], np.array([0.6, 0.8]) * 10 / 7, atol=1e-10)
    assert run.q[-1, 2] == pytest.approx(0.1 - G * (1.3 - ends) ** 2 / 2, abs=1e-9)


SLOPE = 0.3
BLOCK = f"""
world = "space"
gravity = [{G * np.sin(SLOPE)}, 0.0, {-G * np.cos(SLOPE)}]
[parameters]
mu = 0.2
[bodies.top]
mass = 2.0
inertia = [0.1, 0.02, 0.1]
at = [-0.05, 0.02, 0.2]
turn = [0, 0, 0.1]
[contacts.rest]
between = ["ground", "top"]
shapes = [{{ kind = "box", size = [0.6, 0.4, 0.2] }}, {{ kind = "box", size = [0.2, 0.9, 0.2] }}]
static = "mu"
"""
FEET = {"a": (0.3, 0.2), "b": (0.3, -0.2), "c": (-0.3, 0.2), "d": (-0.3, -0.2)}
TABLE = "".join(
    [
        BLOCK.split("[contacts.rest]")[0],
        "[bodies.top.points]\n",
        *(f"{name} = [{x}, {y}, -0.2]\n" for name, (x, y) in FEET.items()),
        *(
            f"""[contacts.{name}]
between = ["ground", "top.{name}"]
shapes = [{{ kind = "plane" }}, {{ kind = "point" }}]
static = "mu"
"""
            for name in FEET
        ),
    ]
)


@pytest.mark.slow
@pytest.mark.parametrize("text", crossed({"box on a box": BLOCK, "table on four legs": TABLE}))
def test_what_repeats_its_contacts_sticks_on_an_incline_as_long_as_it_may(tmp_path, text):
    """It sticks up to tan α = μ, with forces that are not unique and a motion that is, though the
    feet that carry less give all they may before the others do, and slides by g (sin α − μ cos α)
    without turning. Edges of the boxes cross.
    """
    span, weight = 0.05, 2.0 * G * np.cos(SLOPE)
    run = lambda mu: ran(tmp_path, text, span, params={"parameters": {"mu": mu}}, samples=3)
    for more in (0.1, 1e-3):
        sticks = run(np.tan(SLOPE) * (1 + more))
        assert np.max(np.abs(sticks.v)) < 1e-13
        assert not any(x.off for x in sticks.switches)
        forces = sticks.dataset["multipliers"].values[:, sticks.model.constraints.one_sided_rows]
        assert np.min(forces) >= 0
        np.testing.assert_allclose(forces.sum(axis=1), weight, rtol=1e-11)
    for mu in (0.2, np.tan(SLOPE) * (1 - 1e-4)):
        slides = run(mu)
        way = G * (np.sin(SLOPE) - mu * np.cos(SLOPE)) * span**2 / 2
        np.testing.assert_allclose(slides.q[-1] - slides.q[0], [way, *[0.0] * 6], atol=1e-12)


CAN = """
world = "space"
[parameters]
push = 1.0
[bodies.can]
mass = 2.0
inertia = [0.02, 0.02, 0.01]
at = [0.0, 0.0, 0.15]
[bodies.can.points]
top = [0, 0, 0.15]
[forces.push]
on = "can.top"
effort = ["push", "0", "0"]
[contacts.floor]
between = ["ground", "can"]
shapes = [{ kind = "plane" }, { kind = "cylinder", size = [0.1, 0.3] }]
"""


@pytest.mark.slow
def test_a_can_tips_over_its_rim_at_the_known_push(tmp_path):
    """On ice, pushed by F at its top: it tips where F h/2 > m g r, and slides upright below."""
    least = 2.0 * G * 0.1 / 0.15
    run = lambda part: ran(
        tmp_path, CAN, 0.2, rtol=1e-10, params={"parameters": {"push": part * least}}, samples=5
    )
    for part in (0.6, 1 - 1e-6):
        stands = run(part)
        assert np.max(np.abs(stands.v[:, 3:])) < 1e-12
        assert stands.v[-1, 0] == pytest.approx(part * least / 2.0 * 0.2, abs=1e-11)
    tips = run(1 + 1e-6)
    assert tips.v[-1, 4] > 1e-5 and tips.switches[-1].on == ("floor 2",)


@pytest.mark.slow
def test_a_can_on_its_side_rolls_by_two_thirds(tmp_path):
    text = CAN.split("[bodies.can.points]")[0] + "[contacts" + CAN.split("[contacts")[1]
    text = text.replace("0.15]", '0.1]\nturn = ["pi/2", 0, 0]') + "static = 0.5\n"
    gravity = f"gravity = [{G * np.sin(SLOPE)}, 0.0, {-G * np.cos(SLOPE)}]\n"
    run = ran(tmp_path, gravity + text, 0.5, rtol=1e-10, samples=5)
    assert run.q[-1, 0] == pytest.approx(G * np.sin(SLOPE) / 3 * 0.25, abs=1e-12)


WRONG = {
    "of a ball and nothing": ({"kind": "shere"}, "did you mean"),
    "size": ({"kind": "sphere"}, "has 0 numbers, expected 1: radius"),
    "pieces": ({"kind": "sphere", "size": (0.1,), "pieces": 2}, "a sphere has no pieces"),
    "in the plane": (
        {"kind": "capsule", "size": (0.1, 0.2)},
        "no contact of a plane and a capsule",
    ),
    "negative": ({"kind": "sphere", "size": (-0.1,)}, "expected a positive number"),
    "curve last": ({"kind": "curve", "x": "s", "y": "s", "ends": (0, 1)}, "name the curve first"),
}


@pytest.mark.parametrize("second, why", WRONG.values(), ids=list(WRONG))
def test_a_contact_that_is_none_is_refused(second, why):
    with pytest.raises(zw.mechanism.PartError, match=why):
        Mechanism(
            bodies={"ball": Link(radius=0.1)},
            contacts={"c": Contact(("ground", "ball"), (Surface("plane"), Surface(**second)))},
        )
