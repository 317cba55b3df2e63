"""Printed objects: their numbers with names and units."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw
from zwang.gallery.mechanisms import FOLDER
from zwang.mechanism import read


@pytest.fixture(scope="module")
def pendulum():
    system = zw.System(
        nq=2,
        coordinates=("x", "y"),
        units=("m", "m"),
        mass_matrix=lambda q, t, p: jnp.ones(2),
        force=lambda q, v, t, p: jnp.array([0.0, -9.81]),
    )
    rod = zw.Holonomic(lambda q, t, p: q @ q - 1.0, name="rod")
    return zw.Model(system, [rod], name="pendulum")


def cells(text: str) -> list[list[str]]:
    return [line.split("  ") for line in text.splitlines()]


def test_a_motion_prints_accelerations_and_forces_by_name(pendulum):
    text = str(zw.motion(pendulum, q=[1.0, 0.0], v=[0.0, 2.0]))
    assert "pendulum: motion" in text and "force of rod" in text
    line = next(line for line in text.splitlines() if line.split()[:1] == ["x"])
    # 2 m/s on a circle of 1 m: 4 m/s² towards the center, by the rod
    assert line.split() == ["x", "-4", "m/s²", "0", "m/s²", "-4", "N"]
    assert "rank 1 of 1 rows" in text


def test_a_traced_motion_prints_its_shapes(pendulum):
    found = []

    @jax.jit
    def traced(v):
        m = zw.motion(pendulum, q=jnp.array([1.0, 0.0]), v=v)
        found.append(str(m))
        return m

    again = traced(jnp.array([0.0, 2.0]))
    assert "Motion(" in found[0]
    assert "force of rod" in str(again)  # names pass through jit


@pytest.mark.slow
def test_motions_of_a_batch_say_how_many(pendulum):
    many = jax.vmap(lambda v: zw.motion(pendulum, jnp.array([1.0, 0.0]), v))(jnp.ones((3, 2)))
    assert "3 instants" in str(many)


def test_a_control_prints_actuators_with_units(pendulum):
    height = zw.Holonomic(lambda q, t, p: q[0] - 0.5, name="reach")
    servo = zw.Servo(
        [height], np.array([[1.0], [0.0]]), actuators=["motor"], actuator_units=["N"], gains=5.0
    )
    text = str(zw.control(zw.Model(pendulum.system), servo, q=[1.0, 0.0], v=[0.0, 0.0]))
    line = next(line for line in text.splitlines() if "motor" in line)
    assert line.split() == ["motor", "-12.5", "N"]  # 5² · 0.5 m, a double pole at -5
    assert "reach" in text


def test_a_batch_prints_how_its_members_ended(pendulum):
    times = np.linspace(0.0, 0.5, 3)
    batch = zw.batch(pendulum, np.array([[1.0, 0.0], [0.0, -1.0]]), np.zeros((2, 2)), times=times)
    text = str(batch)
    assert "2 motions over 0.5 s" in text and "2 reached the end" in text
    line = next(line for line in text.splitlines() if line.split()[:1] == ["y"])
    assert line.split()[1:3] == ["-1", "m"]  # the one that hangs


def test_a_mechanism_prints_bodies_and_joints():
    text = str(read(FOLDER / "four-bar.toml"))
    assert "3 bodies and 4 joints in the plane" in text
    assert "ground and crank.start" in text and "kg m²" in text


@pytest.mark.parametrize("shown", ["motion", "mechanism"])
def test_notebooks_show_the_same_table(pendulum, shown):
    if shown == "motion":
        made = zw.motion(pendulum, q=[1.0, 0.0], v=[0.0, 2.0])
    else:
        made = read(FOLDER / "four-bar.toml")
    page = made._repr_html_()
    assert page.count("<table>") >= 1 and "<th>" in page


NOISE = ("ArrayImpl", "Array(", "array(", "f64[", "object at 0x", "<function", "float64")


def test_models_and_results_print_names_and_numbers_but_no_arrays(pendulum):
    found = zw.analysis.equilibrium(pendulum, [0.6, -0.8])
    placed = zw.consistent_state(pendulum, [1.0, 0.01], [0.0, 0.0])
    limits, gain = zw.servo.Limits(-2.0, 2.0), zw.servo.SecondOrder(3.0)
    stop = zw.Stop(lambda q, v, t, p: q[0], name="upright")
    plant, module = zw.Plant(pendulum, np.eye(2), [0.0, -1.0]), zw.Module(pendulum, name="left")
    shown = (pendulum, pendulum.system, pendulum.constraints, found, placed, limits, gain, stop)
    shown += (placed.state, plant, module, zw.Hierarchy([[module]], name="one"))
    for x in (*shown, zw.check(pendulum, found.q), pendulum.constraints.members[0]):
        for text in (repr(x), str(x)):
            assert not [noise for noise in NOISE if noise in text], text
    assert "rod" in repr(pendulum) and "m/s" in repr(pendulum)
    assert repr(limits) == "Limits(lower=-2, upper=2)"
    assert "y           -1" in repr(found)
    assert "moved by at most" in repr(placed)
    assert "2 inputs (u0, u1), steps of 0.02 s by Tsit5" in repr(plant)
    # of the kind that was written down, not of how a hierarchy evaluates it
    assert "left.rod    Holonomic" in repr(shown[-1]) and "1 constraint row)" in repr(module)


def test_a_member_of_the_gallery_prints_what_it_is():
    text = repr(zw.gallery.load("four-bar"))
    assert text.startswith("four-bar: a crank")
    assert not [noise for noise in NOISE if noise in text]


@pytest.mark.slow
def test_parts_and_results_of_analyses_print_no_arrays_and_no_functions(pendulum):
    linear = zw.analysis.linearize(pendulum, [0.0, -1.0])
    four_bar = read(FOLDER / "four-bar.toml")
    path = zw.analysis.kinematics(four_bar, "A", (0.0, 1.0), samples=3, output="D")
    rope = zw.Switch("rod", on=lambda q, v, t, p: q[0], off=2.0)
    chain = zw.bodies.OpenChain(
        [zw.bodies.Link("arm", [0, 0, 0, 0, 0, 1.0], 1.0, (0.5, 0, 0), (0.0, 0.1, 0.1))]
    )
    shown = (linear.descriptor, path.outputs[0], rope, chain)
    for x in shown:
        assert not [noise for noise in NOISE if noise in repr(x)], repr(x)
    assert repr(rope) == "Switch('rod', on: a function, off: 2 s, impulsive)"
    assert "rad over 3 samples" in repr(shown[1])
    assert "arm   1 kg" in repr(chain)


def test_what_a_joint_transmits_prints_components_with_units():
    from zwang.mechanism.reactions import Reaction

    over_a_run = Reaction(np.array([[1.0, -2.0], [3.0, 4.0]]), np.zeros(2), np.ones(2), "N m")
    assert "at 2 instants" in repr(over_a_run)
    rows = [line.split() for line in repr(over_a_run).splitlines()]
    assert ["force", "y", "-2", "N", "4", "N"] in rows
    assert ["effort", "1", "N", "m", "1", "N", "m"] in rows
    one = Reaction(np.array([0.0, 0.0, 9.81]), np.zeros(3))
    assert ["force", "z", "9.81", "N"] in [line.split() for line in repr(one).splitlines()]


def test_a_batch_in_a_notebook_has_units_on_its_axes(pendulum):
    times = np.linspace(0.0, 0.5, 3)
    batch = zw.batch(pendulum, np.array([[1.0, 0.0], [0.0, -1.0]]), np.zeros((2, 2)), times=times)
    assert "x [m]" in batch._repr_html_() and "y [m]" in batch._repr_html_()


def test_one_of_a_thing_is_not_called_by_its_plural(pendulum):
    text = str(zw.analysis.linearize(pendulum, [0.0, -1.0], inputs=["x"]))
    assert "2 states, 1 input, 4 outputs" in text
    assert "no constraints" in repr(zw.Model(pendulum.system))
    assert "1 constraint row of rank 1" in str(zw.check(pendulum, [1.0, 0.0]))


def test_a_run_under_a_servo_prints_its_tracking_error(pendulum):
    reach = zw.Holonomic(lambda q, t, p: q[0] - 0.5, name="reach")
    servo = zw.Servo([reach], np.array([[1.0], [0.0]]), gains=5.0)
    run = zw.simulate(
        zw.Model(pendulum.system, servo=servo), [1.0, 0.0], [0.0, 0.0], duration=1.0, samples=3
    )
    line = next(x for x in str(run).splitlines() if x.startswith("  tracking error"))
    # a double pole at -5 1/s: 0.5 (1 + 5) exp(-5) m is left
    assert line.split("tracking error")[1].split() == (
        "up to 0.5 (servo constraint reach, t = 0 s), 0.0202 at the end".split()
    )
    assert "tracking error" not in str(
        zw.simulate(pendulum, [1.0, 0.0], [0.0, 0.0], duration=0.1, samples=3)
    )
