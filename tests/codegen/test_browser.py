"""Steps printed as WebAssembly: what node computes is what Python computes."""

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import zwang as zw
from zwang.codegen.browser import browser_program
from zwang.mechanism.scene import scene
from zwang.mechanism.schema import Joint, Link
from zwang.output import viewer
from zwang.output.viewer.motion import everything, upright

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="no node")
RTOL = 1e-8
RUN = """
const fs = require("fs");
const { program, set, times } = JSON.parse(fs.readFileSync("given"));
const names = Object.getOwnPropertyNames(Math);
const math = Object.fromEntries(names.map((name) => [name, Math[name]]));
const binary = unpack(bytesOf(program.binary.packed), program.binary.size);
const compiled = new WebAssembly.Module(binary);
const { memory, advance, place, see } = new WebAssembly.Instance(compiled, { math }).exports;
const kinds = { Float64Array, BigInt64Array }, at = {};
for (const [name, [byte, kind, count]] of Object.entries(program.places))
  at[name] = new kinds[kind](memory.buffer, byte, count);
const put = (name, x) => at[name].set(x.map(at[name] instanceof BigInt64Array ? BigInt : Number));
for (const [name, x] of Object.entries({ ...program.start, ...set })) put(name, x);
place();
see();
const found = { seen: [...at.seen], placed: [...at.y], violation: at.violation[0], y: [] };
for (const t of times) {
  at.until[0] = t;
  for (let k = 0; k < 4 && at.t[0] < t; k++) advance();
  found.y.push([...at.y]);
}
fs.writeFileSync("found", JSON.stringify({ ...found, result: Number(at.result[0]) }));
"""


def in_node(program, folder, times=(), **given):
    """What node finds with some arrays set before."""
    content = {"program": program.as_data(), "times": list(times)}
    content["set"] = {name: np.ravel(x).tolist() for name, x in given.items()}
    (folder / "given").write_text(json.dumps(content))
    unpack = (Path(viewer.__file__).parent / "unpack.js").read_text()
    (folder / "run.cjs").write_text(unpack + RUN)
    subprocess.run(["node", "run.cjs"], cwd=folder, check=True, timeout=60)
    return json.loads((folder / "found").read_text())


@pytest.fixture(scope="module")
def pendulum():
    example = zw.gallery.load("pendulum")
    return example, browser_program(example.model, example.q0, example.v0, rtol=RTOL)


def states(run):
    return np.concatenate([run.q, run.v], axis=1)[1:]


def test_ten_seconds_are_those_of_a_run(pendulum, tmp_path):
    example, program = pendulum
    times = np.linspace(0, 10, 601)  # each is a step; of distant ones round-off decides the number
    run = zw.simulate(example.model, example.q0, example.v0, times=times, rtol=RTOL)
    found = in_node(program, tmp_path, times[1:])
    assert found["result"] == 0
    np.testing.assert_allclose(found["y"], states(run), atol=1e-12, rtol=0)


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


@pytest.mark.slow
def test_a_linkage_through_its_singular_configurations(tmp_path):
    example = zw.gallery.load("five-bar")
    program = browser_program(example.model, example.q0, example.v0, rtol=RTOL)
    times = np.linspace(0, 10, 101)
    run = zw.simulate(example.model, example.q0, example.v0, times=times, rtol=RTOL)
    found = np.array(in_node(program, tmp_path, times[1:])["y"])
    # round-off grows by a thousand in ten seconds, and velocities are up to 6 m/s
    np.testing.assert_allclose(found[:10], states(run)[:10], atol=1e-11, rtol=1e-11)
    np.testing.assert_allclose(found, states(run), atol=1e-8, rtol=0)


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
