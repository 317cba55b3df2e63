"""Position, velocity and acceleration analysis against closed forms."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr

import zwang as zw
from tests.analysis.models import LENGTHS, apart, closed_form, four_bar
from zwang.algebra.pseudoinverse.proximal import Proximal
from zwang.analysis.curve import Curve, affine_chart, chart
from zwang.analysis.interval import Interval, enclosure
from zwang.analysis.kinematics_result import Kinematics
from zwang.analysis.path import follow_branch
from zwang.analysis.subject import Entry, Quantity, subject_of, with_inputs
from zwang.bodies import Body, RigidBodies
from zwang.gallery.mechanisms import FOLDER
from zwang.mechanism import read

TURN = np.linspace(0.3, 0.3 + 2 * np.pi, 25)


@pytest.fixture(scope="module")
def turn() -> Kinematics:
    """A whole turn of a crank-rocker at 3 rad/s."""
    q = closed_form(LENGTHS, 0.3, 1)
    return zw.analysis.kinematics(four_bar(), "crank", TURN, q=q, rate=3.0, output="rocker")


@pytest.fixture(scope="module")
def held():
    """The four-bar with its crank held at t, ready to be followed with other lengths."""
    crank = Quantity("crank", Entry(0), "rad")
    return with_inputs(four_bar(), ((crank, None),)).dynamics(None, Proximal())


def path_of(held, lengths, q, wanted, **ways):
    dynamics = dataclasses.replace(held, p={"lengths": jnp.asarray(lengths)})
    return follow_branch(Curve(dynamics, np.ones(4)), q, wanted[0], wanted, **ways)


@pytest.mark.slow
def test_a_whole_turn_stays_on_its_branch(turn):
    assert turn.certified and turn.ended == "range" and len(turn.q) == len(TURN)
    for q, crank in zip(turn.q, turn.input, strict=True):
        assert apart(q, closed_form(LENGTHS, crank, 1)) < 1e-12


def test_velocity_and_acceleration_are_derivatives_of_the_closed_form(turn):
    h, i = 1e-4, 7
    near = [closed_form(LENGTHS, turn.input[i] + 3.0 * k * h, 1) for k in (-1, 0, 1)]
    assert np.allclose(turn.v[i], (near[2] - near[0]) / (2 * h), atol=1e-6)
    assert np.allclose(turn.a[i], (near[2] - 2 * near[1] + near[0]) / h**2, atol=1e-5)
    assert np.allclose(turn.outputs[0].rate, turn.v[:, 2], atol=1e-12)
    assert np.allclose(turn.mechanical_advantage["rocker"], 3.0 / turn.v[:, 2])


def test_dead_points_are_where_crank_and_coupler_are_in_line(turn):
    a, b, c, d = LENGTHS
    found = sorted(t % (2 * np.pi) for t, _ in turn.dead_points["rocker"])
    # triangle of crank ± coupler, ground and rocker
    stretched = np.arccos(((a + b) ** 2 + d**2 - c**2) / (2 * (a + b) * d))
    folded = np.pi + np.arccos(((b - a) ** 2 + d**2 - c**2) / (2 * (b - a) * d))
    assert np.allclose(found, sorted([stretched, folded]), atol=1e-10)


def test_the_advantage_over_a_slide_has_a_unit_and_a_curve(tmp_path):
    linkage = read(FOLDER / "slider-crank.toml")
    # a crank of 1 cm: the least value is 93 rad/m
    short = linkage.params | {"parameters": {"crank": 0.01}}
    found = zw.analysis.kinematics(
        linkage, "shaft", (0.3, 2.8), params=short, samples=9, output="cylinder"
    )
    panel = next(x for x in found.plot().panels if x.ylabel.startswith("advantage"))
    assert panel.ylabel == "advantage [rad/m]" and np.isfinite(panel.curves[0].y).all()
    heading = found.save(tmp_path / "found.csv").read_text().partition("\n")[0]
    assert "mechanical_advantage[cylinder] (rad/m)" in heading


@pytest.mark.parametrize(
    ("link", "fault"),
    [("cylinder", "cylinder is in m, expected an angle"), ("wrist", "between rod and piston")],
)
def test_a_transmission_angle_between_other_quantities_is_refused(link, fault):
    subject = subject_of(read(FOLDER / "slider-crank.toml"), None, None, "kinematics")
    with pytest.raises(zw.ModelError, match=fault):
        subject.link(link, "kinematics: transmission")
    assert subject.link("shaft", "transmission").unit == "rad"


@pytest.fixture(scope="module")
def hinged() -> zw.Model:
    """A body in space on a hinge along z, half a meter from its center."""
    body = RigidBodies([Body("door", 1.0, (1.0, 1.0, 1.0))])
    pin = lambda q, t, p: body.point(q, "door", (-0.5, 0.0, 0.0))
    axis = lambda q, t, p: body.direction(q, "door", (0.0, 0.0, 1.0))[:2]
    rows = [zw.Holonomic(pin, name="pin"), zw.Holonomic(axis, name="axis")]
    return zw.Model(body.system, rows, body.params, name="door")


@pytest.mark.slow
def test_rotations_in_space_are_certified_by_themselves(hinged):
    def angle(q, t, p):
        return 2 * jnp.arctan2(q[6], q[3])

    start = [0.5 * np.cos(0.2), 0.5 * np.sin(0.2), 0.0, np.cos(0.1), 0.0, 0.0, np.sin(0.1)]
    found = zw.analysis.kinematics(hinged, angle, (0.2, 1.7), samples=4, q=start)
    assert found.certified and found.ended == "range"
    for q, x in zip(found.q, found.input, strict=True):
        exact = [0.5 * np.cos(x), 0.5 * np.sin(x), 0, np.cos(x / 2), 0, 0, np.sin(x / 2)]
        assert np.max(np.abs(q - exact)) < 1e-12


def test_rows_that_see_the_length_of_a_quaternion_are_bounded_on_the_manifold(hinged):
    # q₀² + … + q₃² is 1 on the manifold and grows off it: only the chart that stays on it may serve
    odd = zw.Holonomic(lambda q, t, p: q[:1] - q[3:] @ q[3:], name="length")
    model = zw.Model(hinged.system, [odd], hinged.params)
    curves = [Curve(m.dynamics(None, Proximal()), np.ones(7)) for m in (hinged, model)]
    q = np.array([1.0, 0, 0, 1.0, 0, 0, 0])
    assert [c._narrowest(q, np.zeros(7)) for c in curves] == [affine_chart, chart]


@pytest.mark.slow
def test_a_bennett_linkage_is_certified_over_a_whole_turn():
    linkage = read(FOLDER / "bennett.toml")
    turn = zw.analysis.kinematics(linkage, "A", (2.0072, 2.0072 + 2 * np.pi), samples=37)
    assert turn.certified and turn.ended == "range" and len(turn.q) == 37
    subject = subject_of(linkage, None, None, "test")
    angle = subject.quantity("B", "test").value
    p = linkage.model.parameters(None)
    other = np.array([float(angle(q, 0.0, p)) for q in turn.q])
    # Bennett (1903): tan(θ/2) tan(φ/2) is constant over the turn, up to where the angles begin
    product = np.tan(turn.input / 2) * np.tan(other / 2)
    ratio = np.tan(turn.input / 2) / np.tan(other / 2)
    spread = [np.ptp(x) / np.abs(np.mean(x)) for x in (product, ratio)]
    assert min(spread) < 1e-9


def test_a_double_rocker_ends_at_its_limit_position(held):
    lengths = np.array([2.0, 1.5, 2.0, 3.0])
    q = closed_form(lengths, 0.3, 1)
    limit = np.arccos((2.0**2 + 3.0**2 - 3.5**2) / 12)  # coupler and rocker in line
    ended = path_of(held, lengths, q, TURN)
    assert ended.ended == "limit" and abs(ended.limits[0].t - limit) < 1e-12
    closed = path_of(held, lengths, q, TURN, at_limit="follow")
    assert closed.ended == "closed"
    assert np.allclose([x.t for x in closed.limits], [limit, -limit], atol=1e-12)


def test_a_change_point_is_reported_and_crossed_on_the_same_branch(held):
    path = path_of(held, [1.0, 2.0, 1.0, 2.0], np.array([0.3, 0.0, 0.3]), TURN)
    assert path.ended == "range" and len(path.q) == len(TURN)
    assert np.allclose([x.t for x in path.meetings], [np.pi, 2 * np.pi], atol=1e-9)
    assert max(abs(q[1]) for q in path.q) < 1e-12  # the coupler of a parallelogram stays level


@pytest.mark.slow
@pytest.mark.parametrize("count", [100, pytest.param(10_000, marks=pytest.mark.slow)])
def test_random_linkages_in_one_batch_never_leave_their_branch_unseen(count):
    random, members = np.random.default_rng(22), []
    while len(members) < count:
        lengths, sign = random.uniform(0.5, 3.0, 4), int(random.choice([-1, 1]))
        if (q := closed_form(lengths, 0.3, sign)) is not None:
            members.append((lengths, sign, q))
    lengths, start = np.array([x[0] for x in members]), np.array([x[2] for x in members])
    found = zw.analysis.kinematics_batch(
        four_bar(), "crank", (0.3, 0.3 + 2 * np.pi), q=start, params={"lengths": lengths}
    )
    # a linkage that comes so close to a change point that no step is certified is named, not lost
    assert np.mean(found.ended == "lost") < 1e-3
    assert np.all(found.t[found.ended == "range"] >= 0.3 + 2 * np.pi)
    for i, (own, sign, _) in enumerate(members):
        inputs, points = found.of(i)
        if found.ended[i] == "limit":  # the input has turned back between the last two points
            inputs, points = inputs[:-1], points[:-1]
        exact = np.array([closed_form(own, t, sign) for t in inputs])
        assert apart(points, exact) < 1e-7, own
    # a linkage turns round if and only if its crank closes with every angle (Grashof)
    free = [closed_form(x, t, 1) is not None for x in lengths[:100] for t in (0.0, np.pi)]
    turns = np.all(np.array(free).reshape(-1, 2), axis=1)
    assert np.array_equal(found.ended[:100] == "range", turns)


@pytest.mark.slow
def test_starts_off_their_branch_and_redundant_rows_are_refused_in_a_batch():
    q, lengths = np.zeros((2, 3)), np.ones((2, 4))
    with pytest.raises(zw.ModelError, match="off its constraints"):
        zw.analysis.kinematics_batch(
            four_bar(), "crank", (0, 1), q=q, params={"lengths": LENGTHS + q[:, :1]}
        )
    with pytest.raises(zw.ModelError, match="leading axis of 2"):
        zw.analysis.kinematics_batch(
            four_bar(), "crank", (0, 1), q=q, params={"lengths": lengths[:1]}
        )


@pytest.mark.slow
def test_random_linkages_followed_one_by_one_never_leave_their_branch_unseen(held, count=10):
    random, turned, stopped = np.random.default_rng(22), 0, 0
    for _ in range(count):
        lengths, sign = random.uniform(0.5, 3.0, 4), random.choice([-1, 1])
        q = closed_form(lengths, 0.3, sign)
        if q is None:
            continue
        path = path_of(held, lengths, q, TURN)
        assert path.ended in ("range", "limit"), lengths
        turned, stopped = turned + (path.ended == "range"), stopped + (path.ended == "limit")
        for found, crank in zip(path.q, path.t, strict=True):
            assert apart(found, closed_form(lengths, crank, sign)) < 1e-7, lengths
        if path.ended == "limit":  # just beyond it the linkage cannot be closed
            assert closed_form(lengths, path.limits[0].t + 1e-6, sign) is None
    assert turned and stopped


@pytest.mark.slow
def test_what_can_be_differentiated_agrees_with_other_lengths(turn):
    gradient = jax.jacfwd(lambda x: turn.configurations({"lengths": x})[5])(jnp.asarray(LENGTHS))
    h = 1e-5
    for k in range(4):
        there = [closed_form(LENGTHS + s * h * np.eye(4)[k], TURN[5], 1) for s in (-1, 1)]
        assert np.allclose(gradient[:, k], (there[1] - there[0]) / (2 * h), atol=1e-8)


def test_results_print_plot_and_save(turn, tmp_path):
    assert "every step certified" in str(turn) and "dead point" in str(turn)
    turn.plot().save(tmp_path / "turn.svg")
    turn.save(tmp_path / "turn.nc")
    with xr.open_dataset(tmp_path / "turn.nc") as data:
        assert np.array_equal(data["q"], turn.q) and data.attrs["ended"] == "range"


def test_wrong_input_is_one_sentence(turn):
    q = turn.q[0]
    with pytest.raises(
        zw.ModelError, match="there is no coordinate 'cranck'; did you mean 'crank'"
    ):
        zw.analysis.kinematics(four_bar(), "cranck", (0, 1), q=q)
    with pytest.raises(zw.ModelError, match="neither increase nor decrease"):
        zw.analysis.kinematics(four_bar(), "crank", (0, 1, 0.5), q=q)
    with pytest.raises(zw.ModelError, match="rate is 0"):
        zw.analysis.kinematics(four_bar(), "crank", (0, 1), q=q, rate=0)
    with pytest.raises(zw.ModelError, match="q is missing"):
        zw.analysis.kinematics(four_bar(), "crank", (0, 1))
    with pytest.raises(zw.ModelError, match="locked"):
        zw.analysis.kinematics(
            four_bar(), {"crank": lambda t: t, "rocker": float(q[2])}, (0.3, 1), q=q
        )


@pytest.mark.slow
def test_an_enclosure_holds_every_value_of_a_function():
    def f(x):
        rows = [jnp.sin(3 * x[0]) * x[1], jnp.arctan2(x[1], x[0] - 1), x @ x / (2 + x[1] ** 3)]
        return jnp.stack([*rows, jnp.where(x[0] > 0.3, jnp.sqrt(x[1]), jnp.exp(x[0]))])

    random, middle, radius = np.random.default_rng(1), np.array([0.3, 1.0]), np.array([0.5, 0.3])
    inside = middle + radius * random.uniform(-1, 1, (200, 2))
    for function in (f, jax.jacfwd(f)):
        low, high = enclosure(function, Interval(middle - radius, middle + radius))
        values = np.asarray(jax.vmap(function)(inside))
        assert np.all(values >= low) and np.all(values <= high)


@pytest.mark.parametrize("start", [0.0, np.pi])
def test_a_parallelogram_that_starts_in_line_is_said_to_be_singular(start):
    with pytest.raises(zw.ModelError, match=r"singular configuration in which branches.*branches"):
        zw.analysis.kinematics(
            four_bar(),
            "crank",
            (start, start + 1.0),
            q=[start, 0.0, start],
            params={"lengths": jnp.array([1.0, 2.0, 1.0, 2.0])},
        )


@pytest.mark.parametrize("start", [1e-8, 1e-7])
def test_a_parallelogram_is_followed_from_just_beside_its_singular_configuration(start):
    lengths = jnp.array([1.0, 2.0, 1.0, 2.0])
    found = zw.analysis.kinematics(
        four_bar(),
        "crank",
        (start, 1.0),
        q=[start, 0.0, start],
        params={"lengths": lengths},
        samples=3,
    )
    assert found.ended == "range"
    np.testing.assert_allclose(found.q[-1], [1.0, 0.0, 1.0], atol=1e-12)


def test_time_as_the_input_of_a_model_without_constraints_is_refused():
    system = zw.System(2, lambda q, t, p: jnp.ones(2), lambda q, v, t, p: jnp.zeros(2))
    with pytest.raises(zw.ModelError, match="2 degrees of freedom are left"):
        zw.analysis.kinematics(zw.Model(system, name="free"), "time", (0.5, 3.0), q=[0.0, 0.0])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["four-bar", "slider-crank", "quick-return"])
def test_mechanisms_are_followed_from_half_a_radian(name):
    """From an angle that is not that of the file's guess: the crank's angle is the input."""
    mechanism = read(FOLDER / f"{name}.toml")
    shaft = "A" if name == "four-bar" else "shaft"
    found = zw.analysis.kinematics(mechanism, shaft, (0.5, 1.5), samples=5)
    assert found.ended == "range" and found.certified
    turned = found.q[:, mechanism.model.system.coordinates.index("crank.angle")]
    np.testing.assert_allclose(np.diff(turned), 0.25, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("guess", [0.0, 0.5, 2.0])
def test_a_pendulum_without_constraints_is_followed_from_half_a_radian(guess):
    system = zw.System(
        1, lambda q, t, p: jnp.ones(1), lambda q, v, t, p: -jnp.sin(q), coordinates=("angle",)
    )
    found = zw.analysis.kinematics(zw.Model(system), "angle", (0.5, 3.0), q=[guess], samples=6)
    np.testing.assert_allclose(found.q[:, 0], np.linspace(0.5, 3.0, 6), atol=1e-12)
