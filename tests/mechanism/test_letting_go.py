"""Short forms of unilateral joints and dry friction in mechanism files, compared with closed
forms.
"""

import numpy as np
import pytest
from scipy.optimize import brentq

import zwang as zw
from zwang.mechanism import Joint, JointStop, Link, Mechanism, Point, read

from .machines import PINNED_WHEEL

G = 9.81
WHEEL = """
gravity = [0, 0]
[bodies.first]
mass = 1.0
inertia = 2.0
angular_velocity = 6.0
[bodies.second]
mass = 1.0
inertia = 3.0
at = [1, 0]
[ground]
axle = [1, 0]
[joints]
a = { kind = "revolute", between = ["ground", "first"] }
b = { kind = "revolute", between = ["ground.axle", "second"] }
"""


def ran(tmp_path, text, duration, **options):
    path = tmp_path / "machine.toml"
    path.write_text(text)
    found = read(path)
    start = found.start_state
    options = {"samples": 3, "rtol": 1e-10} | options
    return zw.simulate(found.model, start.q, start.v, duration=duration, **options)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("e", [0.5, 0.0])
def test_gears_with_play_hit_each_other(tmp_path, e):
    """Teeth meet when the first has turned by half of the play over its radius; the impulse at the
    pitch circle keeps I₁ω₁/r₁ − I₂ω₂/r₂, and what closes opens with e times its speed.
    """
    gear = 'g = { kind = "gear", joints = ["a", "b"], ratio = [0.2, 0.4], backlash = { gap = 0.06, '
    run = ran(tmp_path, f"{WHEEL}{gear}restitution = {e} }} }}", 0.1)
    hit = run.switches[0]
    assert hit.time == pytest.approx(0.03 / 0.2 / 6.0, abs=1e-12)
    assert hit.hit == ("g backlash[1]",)
    # along the pitch circle: mobility r₁²/I₁ + r₂²/I₂
    impulse = (1 + e) * 0.2 * 6.0 / (0.2**2 / 2 + 0.4**2 / 3)
    first, second = 6.0 - 0.2 * impulse / 2, -0.4 * impulse / 3
    k = np.searchsorted(run.steps.t, hit.time, side="right")
    np.testing.assert_allclose(run.steps.y[k, 6:][[2, 5]], [first, second], atol=1e-9)
    if e == 0:
        assert first * 0.2 + second * 0.4 == pytest.approx(0.0, abs=1e-12)


@pytest.mark.slow
def test_a_one_way_clutch_lets_the_wheel_overrun(tmp_path):
    """Locked, both turn by their torque together, until the wheel would have to be held back; free,
    each turns by its own, until the motor has caught up.
    """
    text = (
        WHEEL.replace("angular_velocity = 6.0", "").replace("3.0", "4.0")
        + """
    [forces]
    drive = { joint = "a", effort = "6*cos(2*t)" }
    drag = { joint = "b", effort = "-2" }
    [gaps.clutch]
    of = { motor = "a", wheel = "b" }
    gap = "wheel_rate - motor_rate"
    """
    )
    run = ran(tmp_path, text, 3.6)
    # λ = 4 ω̇ + 2 = 4 cos 2t + 2/3 with ω̇ = (6 cos 2t − 2) / 6
    free = np.arccos(-1 / 6) / 2
    behind = lambda t: -(t - free) / 2 - 1.5 * (np.sin(2 * t) - np.sin(2 * free))
    again = brentq(behind, free + 0.5, 3.6, xtol=1e-14)
    assert [x.time for x in run.switches] == pytest.approx([0.0, free, again], abs=1e-9)
    assert all(x.energy_loss == 0 for x in run.switches)
    assert run.switches[1].off == ("clutch",) and run.switches[2].on == ("clutch",)


@pytest.mark.slow
def test_play_of_a_rate_takes_the_other_shaft_along(tmp_path):
    """Alone up to a rate of 0.1 by ω̇ = 1, and from there on with all of 2 t = 2 ω₁ + 3 ω₂."""
    text = (
        WHEEL.replace("angular_velocity = 6.0", "")
        + """
    [forces]
    drive = { joint = "a", effort = "2.0" }
    [gaps.play]
    of = { a = "a", b = "b" }
    gap = ["0.1 - a_rate + b_rate", "0.1 + a_rate - b_rate"]
    """
    )
    run = ran(tmp_path, text, 1.0)
    assert [x.on for x in run.switches] == [("play[0]",)]
    assert run.switches[0].time == pytest.approx(0.1, abs=1e-11)
    np.testing.assert_allclose(run.v[-1, [2, 5]], [0.46, 0.36], atol=1e-11)


@pytest.mark.slow
def test_a_ratchet_turns_one_way(tmp_path):
    """Forward by the torque `T cos 2t`, and held while that would turn it back."""
    text = (
        WHEEL.replace("angular_velocity = 6.0", "").split("b = {")[0]
        + """
    [forces]
    drive = { joint = "a", effort = "3*cos(2*t)" }
    """
    )
    text = text.replace('"first"] }', '"first"], ratchet = "forward" }')
    run = ran(tmp_path, text, 3.0, samples=31)
    assert [x.time for x in run.switches] == pytest.approx([np.pi / 2, 3 * np.pi / 4], abs=1e-8)
    assert run.switches[0].on == ("a ratchet",) and np.min(run.v[:, 2]) >= -1e-12


@pytest.mark.slow
def test_a_clutch_slips_until_both_turn_alike(tmp_path):
    text = WHEEL + '[frictions]\nclutch = { of = { a = "a", b = "b" }, slip = "a_rate - b_rate", '
    run = ran(tmp_path, text + "load = 4.0 }", 2.5, samples=6)
    together = 6.0 / (4.0 / 2 + 4.0 / 3)
    assert run.switches[-1].time == pytest.approx(together, abs=1e-10)
    assert run.switches[-1].on == ("clutch",)
    np.testing.assert_allclose(run.v[-1, [2, 5]], 2.0 * 6.0 / 5.0, rtol=1e-10)
    np.testing.assert_allclose(run.v[2, [2, 5]], [6.0 - 2.0, 4.0 / 3], rtol=1e-10)


@pytest.mark.slow
def test_a_drive_gives_way_where_its_torque_is_not_enough(tmp_path):
    """From rest up to 5 rad/s by at most 4 N m; then it holds against 3 N m, and not against 6."""
    text = (
        WHEEL.replace("angular_velocity = 6.0", "")
        + """
[forces]
load = { joint = "a", effort = "-3*(tanh(1e3*(t - 3)) + 1)/2" }
[frictions]
motor = { of = { a = "a" }, slip = "a_rate - 5", load = 4.0 }
"""
    )
    run = ran(tmp_path, text, 4.0, samples=5)
    assert run.switches[-1].time == pytest.approx(5.0 * 2.0 / 4.0, abs=1e-9)
    assert run.v[-1, 2] == pytest.approx(5.0, abs=1e-11)
    hold = run.observation.motion.multipliers[-1, run.model.constraints.row_slices["motor"]]
    assert hold[0] == pytest.approx(3.0, rel=1e-9)
    weak = ran(tmp_path, text.replace("-3*", "-6*"), 4.0, samples=5)
    # from 3 s on it is slowed by 2 N m
    assert weak.switches[-1].off == ("motor",)
    assert weak.v[-1, 2] == pytest.approx(5.0 - 2.0 / 2.0 * 1.0, abs=2e-3)


SLOPE = 0.4
BLOCK = f"""
[parameters]
mu = 0.3
[bodies.block]
mass = 2.0
inertia = 0.1
angle = {SLOPE}
velocity = [{3 * np.cos(SLOPE)}, {3 * np.sin(SLOPE)}]
[ground]
way = {{ at = [0, 0], angle = {SLOPE} }}
[joints.slide]
kind = "prismatic"
between = ["ground.way", "block"]
"""


@pytest.mark.parametrize("static, sticks", [(float(np.tan(SLOPE)) + 1e-9, True), (0.4, False)])
def test_a_joint_with_static_friction_sticks_up_to_its_coefficient(tmp_path, static, sticks):
    """It is thrown up a slope, stops after v₀/(g (sin α + μ cos α)), and stays or comes down."""
    friction = f'friction = {{ kinetic = "mu", static = {static!r} }}'
    run = ran(tmp_path, BLOCK + friction, 1.0)
    stop = 3 / (G * (np.sin(SLOPE) + 0.3 * np.cos(SLOPE)))
    top, left = 3 * stop / 2, 1.0 - stop
    back = 0.5 * G * (np.sin(SLOPE) - 0.3 * np.cos(SLOPE)) * left**2
    way = top if sticks else top - back
    np.testing.assert_allclose(run.q[-1, 0] / np.cos(SLOPE), way, rtol=1e-9)
    assert run.switches[-1].time == pytest.approx(stop, abs=1e-9)
    assert (run.switches[-1].on == ("slide friction",)) == sticks


def test_a_pin_stops_a_wheel_that_then_stays(tmp_path):
    wheel = (
        PINNED_WHEEL
        + """
    pin.friction = { kinetic = 0.2, static = 0.25, stribeck = 0.5, radius = 0.03 }
    """
    )
    run = ran(tmp_path, wheel, 4.0)
    # I ω̇ = −m g r (μ + (μ₀ − μ) exp(−(r ω/v)²)), by quadrature
    omega, weights = np.polynomial.legendre.leggauss(40)
    omega = (omega + 1) / 2
    rate = 2 * G * 0.03 / 0.1 * (0.2 + 0.05 * np.exp(-((0.03 * omega / 0.5) ** 2)))
    assert run.switches[-1].time == pytest.approx(weights @ (1 / rate) / 2, abs=1e-9)
    np.testing.assert_allclose(run.v[-1], 0.0, atol=1e-15)


@pytest.mark.slow
def test_a_hinge_that_is_pressed_against_its_stop_stays_there(tmp_path):
    """1 N m presses; least norm alone would ask the pin for a half, and it has 0.02 N m."""
    wheel = (
        PINNED_WHEEL
        + """
    pin.stop = { upper = 0.3 }
    pin.friction = { kinetic = 0.1, static = 0.1, radius = 0.01 }
    [forces]
    press = { joint = "pin", effort = 1.0 }
    """
    )
    run = ran(tmp_path, wheel, 1.0)
    rate = (1.0 - 0.1 * 2 * G * 0.01) / 0.1
    assert run.switches[-1].time == pytest.approx((np.sqrt(1 + 2 * rate * 0.3) - 1) / rate)
    assert len(run.steps.t) < 100
    np.testing.assert_allclose([run.q[-1, 2], run.v[-1, 2]], [0.3, 0.0], atol=1e-12)
    rest = zw.analysis.equilibrium(run.model, run.q[-1])
    # the last row is that of the friction, which is none of the equations there
    assert rest.multipliers[-2] == pytest.approx(1.0, rel=1e-9)


@pytest.mark.slow
def test_a_hinge_in_space_stops_within_a_turn():
    """½ I ω² = m g l (sin start − sin stop) of a rod that hangs on its end."""
    pin = lambda *at: Point(at=at, axis=(0, 1, 0))
    rod = Link(
        mass=2.0, inertia=(0.1, 1 / 6, 1 / 6), points={"end": pin(-0.5, 0, 0)}, at=(0.5, 0, 0)
    )
    made = Mechanism(
        world="space",
        bodies={"rod": rod},
        ground={"o": pin(0, 0, 0)},
        joints={
            "pin": Joint(
                "revolute", between=("ground.o", "rod.end"), stop=JointStop(-1.0, 2.0, 1.0)
            )
        },
    )
    start = made.start_state
    run = zw.simulate(made.model, start.q, start.v, duration=2.0, rtol=1e-10)
    assert len(start.q) == 7 and {x.hit for x in run.switches} == {("pin stop[1]",)}
    assert run.dataset["energy"].values == pytest.approx(run.dataset["energy"].values[0], abs=1e-8)


@pytest.mark.slow
def test_a_rope_over_points_lifts_a_weight_with_slack(tmp_path):
    """A weight of 3 kg falls by 0.5 m until the rope is taut, and takes one of 1 kg along, which
    lay on the floor: m v = (m + M) w, then ẍ = g (m − M)/(m + M).
    """
    text = """
[bodies]
heavy = { mass = 3.0, inertia = 1.0, at = [-1, -1] }
light = { mass = 1.0, inertia = 1.0, at = [1, -2] }
[ground]
left = { at = [-1, 0], angle = 1.5707963267948966 }
right = { at = [1, 0], angle = 1.5707963267948966 }
[joints]
a = { kind = "prismatic", between = ["ground.left", "heavy"] }
b = { kind = "prismatic", between = ["ground.right", "light"], stop = { lower = -2.0 } }
[ropes]
hoist = { over = ["heavy.center", "ground.left", "ground.right", "light.center"], length = 5.5 }
"""
    run = ran(tmp_path, text, 0.6)
    taut = np.sqrt(2 * 0.5 / G)
    hit = next(x for x in run.switches if x.hit == ("hoist",))
    assert hit.time == pytest.approx(taut, abs=1e-10)
    speed, left = 3 / 4 * G * taut, 0.6 - taut
    rise = speed * left + 0.5 * G / 2 * left**2
    np.testing.assert_allclose(run.q[-1, [1, 4]], [-1.5 - rise, -2.0 + rise], rtol=1e-9)


@pytest.mark.parametrize(
    "line, words",
    [
        (
            '[frictions]\nf = { of = { a = "a" }, slip = "a", load = 1.0 }',
            "is no velocity: expected",
        ),
        ('[frictions]\nf = { of = { a = "a" }, slip = "a_rate", load = "aa" }', "did you mean 'a'"),
        (
            'c = { kind = "revolute", between = ["first", "second"], stop = {} }',
            "expected lower, up",
        ),
        (
            'c = { kind = "fixed", between = ["first", "second"], backlash = { gap = 1 } }',
            "a fixed joint couples no two joints",
        ),
        ('[ropes]\nr = { over = ["first.center"], length = 1.0 }', "expected two points"),
    ],
)
def test_what_makes_no_sense_is_refused(tmp_path, line, words):
    with pytest.raises(zw.ModelError, match=words):
        ran(tmp_path, WHEEL + line, 0.1)
