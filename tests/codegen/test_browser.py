"""Steps printed as WebAssembly: the results of node equal those of Python."""

import dataclasses
import shutil
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest
from verification.pages import RTOL, in_node, states

import zwang as zw
from zwang.codegen.browser import browser_program
from zwang.mechanism.scene import scene
from zwang.mechanism.schema import Joint, Link
from zwang.mechanism.toml import read
from zwang.output.viewer.motion import everything, upright

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="no node")


@pytest.fixture(scope="module")
def pendulum():
    example = zw.gallery.load("pendulum")
    return example, browser_program(example.model, example.q0, example.v0, rtol=RTOL)


TIMES = np.linspace(0, 10, 601)
"""Frames of a page, on each of which a step ends."""


@pytest.mark.parametrize("name", ["pendulum", pytest.param("delta", marks=pytest.mark.slow)])
def test_ten_seconds_are_those_of_a_run_to_the_bit(name, tmp_path):
    """Of `delta`, also what native code computes in loops, and lengths that follow from others."""
    example = zw.gallery.load(name)
    program = browser_program(example.model, example.q0, example.v0, rtol=RTOL)
    run = zw.simulate(example.model, example.q0, example.v0, times=TIMES, rtol=RTOL)
    found = in_node(program, tmp_path, TIMES[1:])
    assert found["result"] == 0
    np.testing.assert_array_equal(found["y"], states(run))


def test_without_fused_products_sums_are_rounded_twice(pendulum, tmp_path):
    example, program = pendulum
    run = zw.simulate(example.model, example.q0, example.v0, times=TIMES, rtol=RTOL)
    found = in_node(program, tmp_path, TIMES[1:], "unfused")
    assert 0 < np.max(np.abs(found["y"] - states(run))) < 1e-12


def test_other_parameters_print_nothing_anew(pendulum, tmp_path):
    example, program = pendulum
    times, moon = np.linspace(0, 2, 21), {"gravity": 1.62}
    run = zw.simulate(example.model, example.q0, example.v0, times=times, rtol=RTOL, params=moon)
    own = dict(zip(program.parameters, program.start["p"], strict=True)) | moon
    found = in_node(program, tmp_path, times[1:], p=[own[x] for x in program.parameters])
    np.testing.assert_allclose(found["y"], states(run), atol=1e-11, rtol=0)


def test_a_state_that_is_dragged_is_put_back_onto_the_constraints(pendulum, tmp_path):
    _, program = pendulum
    found = in_node(program, tmp_path, y=[1.1, 0.3, 0.5, 0.2])
    x, y, *v = found["placed"]
    assert np.hypot(x, y) == pytest.approx(1.0, abs=1e-14) and found["violation"] < 1e-14
    # along the ray through where it was dragged, the metric being that of one mass
    assert y / x == pytest.approx(0.3 / 1.1, rel=1e-12)
    assert x * v[0] + y * v[1] == pytest.approx(0.0, abs=1e-14)


@pytest.mark.slow
def test_places_in_joint_coordinates_are_those_of_the_scene(tmp_path):
    """A rod on a rod: where the second one is depends on a product of rotations."""
    rods = zw.Mechanism(
        {"upper": Link(length=1.0), "lower": Link(length=0.7)},
        {
            "shoulder": Joint("revolute", ("ground", "upper.start")),
            "elbow": Joint("revolute", ("upper.end", "lower.start")),
        },
        coordinates="joint",
    )
    seen, q = scene(rods), np.array([0.4, -1.1])
    turn = upright(seen, q)
    drawn = lambda q: everything(seen, q, turn)
    program = browser_program(rods.model, 0 * q, 0 * q, seen=drawn)
    found = in_node(program, tmp_path, y=[*q, 0.0, 0.0])
    np.testing.assert_allclose(found["seen"], drawn(q), atol=1e-14)


LEG = """<mujoco><worldbody><body><joint name="hip" axis="0 1 0"/>
<geom type="capsule" fromto="0 0 0 0 0 -0.4" size="0.03"/>
<body pos="0 0 -0.4"><joint name="knee" axis="1 1 0" damping="0.02"/>
<geom type="capsule" fromto="0 0 0 0.1 0 -0.4" size="0.03"/></body></body></worldbody></mujoco>"""


def test_a_robot_moves_as_its_run_does(tmp_path):
    """Its run has numbers in the axes of its joints, a page derives others from its parameters."""
    pytest.importorskip("mujoco")
    (tmp_path / "leg.xml").write_text(LEG)
    model, times = zw.robot(tmp_path / "leg.xml").model, np.linspace(0, 2, 41)
    start = [0.5, -0.7], [0.0, 1.0]
    run = zw.simulate(model, *start, times=times, rtol=RTOL)
    program = browser_program(model, *start, rtol=RTOL)
    found = in_node(program, tmp_path, times[1:])
    np.testing.assert_allclose(found["y"], states(run), atol=1e-10, rtol=0)


@pytest.mark.slow
def test_forces_of_joints_are_those_of_the_run(tmp_path):
    """At the state that is reached, whose bits they do not change."""
    example = zw.gallery.load("four-bar")
    given = {"duration": 0.5, "rtol": RTOL, "forces": example.scene.forces_of}
    program = browser_program(example.model, example.q0, example.v0, **given)
    times = np.linspace(0, 0.5, 31)
    run = zw.simulate(example.model, example.q0, example.v0, times=times, rtol=RTOL)
    found = in_node(program, tmp_path, times[1:])
    np.testing.assert_array_equal(found["y"], states(run))
    forces = example.scene.forces(run)[-1]
    np.testing.assert_allclose(
        np.reshape(found["forces"], forces.shape), forces, rtol=1e-9, atol=1e-9
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", ["four-bar", pytest.param("sarrus", marks=pytest.mark.slow)])
def test_forces_of_joints_in_joint_coordinates_are_those_of_the_run(name, tmp_path):
    """Of joints that carry bodies, which are no constraints, and of one that closes a loop."""
    file = Path(zw.gallery.__file__).parent / "mechanisms" / f"{name}.toml"
    linkage = dataclasses.replace(read(file), coordinates="joint")
    start, drawn, times = linkage.start_state, scene(linkage), np.linspace(0, 0.5, 31)
    given = {"duration": 0.5, "rtol": RTOL, "forces": drawn.forces_of}
    program = browser_program(linkage.model, start.q, start.v, **given)
    run = zw.simulate(linkage.model, start.q, start.v, times=times, rtol=RTOL)
    found, forces = in_node(program, tmp_path, times[1:]), drawn.forces(run)[-1]
    np.testing.assert_allclose(
        np.reshape(found["forces"], forces.shape), forces, rtol=1e-8, atol=1e-9
    )


def test_a_pull_is_a_force_in_the_equation_of_motion(pendulum, tmp_path):
    example, _ = pendulum
    grip = lambda q, given: given[0] * jnp.append(q, 0.0)
    program = browser_program(example.model, example.q0, example.v0, rtol=RTOL, grip=grip, grips=1)
    force, pull, s = example.model.system.force, np.array([3.0, 7.0]), example.model.system
    pulled = zw.System(
        2, s.mass_matrix, lambda q, v, t, p: force(q, v, t, p) + pull, coordinates=["x", "y"]
    )
    model = zw.Model(pulled, example.model.constraints.members, example.model.params)
    times = np.linspace(0, 2, 121)
    run = zw.simulate(model, example.q0, example.v0, times=times, rtol=RTOL)
    found = in_node(program, tmp_path, times[1:], pull=pull, held=[1.0])
    np.testing.assert_allclose(found["y"], states(run), atol=1e-9, rtol=0)
    np.testing.assert_allclose(found["grasped"], [*found["y"][-1][:2], 0.0])
    np.testing.assert_allclose(found["lever"], [1, 0, 0, 1, 0, 0], atol=1e-15)
    at = run.q[-1], run.v[-1], run.t[-1]
    motion = zw.motion(model, *at)
    np.testing.assert_allclose(found["acceleration"], motion.acceleration, rtol=1e-8)


SLOW = ["rope-hoist", "balls-on-a-rail", "falling-chain", "table-on-four-legs", "block-on-incline"]
SLOW += ["belt-oscillator", "thrown-sphere", "compass-gait", "painleve-rod", "billiards"]
LETS_GO = {
    "bouncing-ball": 1e-11,
    "falling-ladder": 1e-11,
    "dry-spring": 1e-11,
    **dict.fromkeys(SLOW, 1e-11),
    # 52 impacts that come to rest within a second, and shapes that touch in space
    "rocking-block": 1e-9,
    "billiards": 1e-9,
}
QUICK = ("bouncing-ball", "falling-ladder", "dry-spring")


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [x if x in QUICK else pytest.param(x, marks=pytest.mark.slow) for x in LETS_GO]
)
def test_what_may_let_go_is_that_of_a_run(name, tmp_path):
    """At frames and at the instants of all events, rest after rebounds without end included."""
    example = zw.gallery.load(name)
    start = example.model, example.q0, example.v0
    program, given = browser_program(*start, rtol=RTOL), {"times": TIMES, "rtol": RTOL}
    run = zw.simulate(*start, **given)
    found = in_node(program, tmp_path, TIMES[1:])
    assert found["result"] == 0 and len(found["turns"]) == len(run.switches)
    np.testing.assert_allclose(found["y"], states(run), atol=LETS_GO[name], rtol=0)


@pytest.mark.slow
def test_the_force_of_a_contact_has_its_friction(tmp_path):
    """A sphere of 2 kg that slides with μ = 0.3, and then rolls without a force along the floor."""
    example = zw.gallery.load("thrown-sphere")
    program = browser_program(example.model, example.q0, example.v0, rtol=RTOL)
    weight = 2.0 * 9.81
    for end, along in ((0.2, -0.3 * weight), (1.2, 0.0)):
        found = in_node(program, tmp_path, [end])["pushes"]
        np.testing.assert_allclose(found, [along, weight, 0.1 * along], rtol=1e-10, atol=1e-9)


def test_what_a_browser_cannot_hold_is_refused():
    example = zw.gallery.load("pendulum")
    model = zw.Model(
        example.model.system,
        [zw.Holonomic(lambda q, t, p: np.e * (q @ q) + jax_erf(q[0]) - np.e - jax_erf(1.0))],
        example.model.params,
    )
    with pytest.raises(zw.ModelError, match="cannot be taken in a browser .*erf"):
        browser_program(model, [1.0, 0.0], [0.0, 0.0])


def jax_erf(x):
    from jax.scipy.special import erf

    return erf(x)
