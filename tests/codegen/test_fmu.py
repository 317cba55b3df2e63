"""Functional mock-up units, validated and run by FMPy, an independent program."""

import shutil
import subprocess

import numpy as np
import pytest

import zwang as zw
from zwang.codegen.c import compiler

fmpy = pytest.importorskip("fmpy")
validation = pytest.importorskip("fmpy.validation")
pytestmark = pytest.mark.skipif(compiler() is None, reason="no C compiler")


@pytest.fixture(scope="module", params=[2, 3])
def pendulum(request, tmp_path_factory):
    example = zw.gallery.load("pendulum")
    unit = zw.fmu(example.model, example.q0, example.v0, version=request.param)
    return example, str(unit.write(tmp_path_factory.mktemp("fmu")))


def run(path, kind="CoSimulation", stop=2.0, **more):
    return fmpy.simulate_fmu(path, fmi_type=kind, stop_time=stop, output_interval=0.1, **more)


def test_the_unit_is_valid(pendulum):
    assert validation.validate_fmu(pendulum[1]) == []


def test_co_simulation_follows_the_exact_solution(pendulum):
    example, path = pendulum
    found = run(path)
    exact = example.exact(found["time"])
    for name in ("x", "y"):
        np.testing.assert_allclose(found[f"q.{name}"], exact[name], atol=1e-9)
    assert found["violation"].max() < 1e-13


def test_model_exchange_follows_the_exact_solution_on_the_constraint(pendulum):
    example, path = pendulum
    found = run(path, "ModelExchange", relative_tolerance=1e-9)
    exact = example.exact(found["time"])
    np.testing.assert_allclose(found["q.x"], exact["x"], atol=1e-5)
    assert found["violation"].max() < 1e-5


def test_parameters_and_inputs_act(pendulum):
    _, path = pendulum
    start = {"parameter.gravity": 0.0, "q.x": 0.0, "q.y": -1.0, "applied.x": 0.0}
    still = run(path, start_values=start)
    np.testing.assert_allclose(still["q.y"], -1.0, atol=1e-12)
    pushed = run(path, start_values=start | {"applied.x": 0.5})
    assert pushed["q.x"][3] == pytest.approx(0.5 * 0.5 * 0.3**2, rel=1e-2)


def test_a_wrong_version_is_refused():
    with pytest.raises(zw.ModelError, match="expected 2 or 3"):
        zw.fmu(zw.gallery.load("pendulum").model, version=1)


@pytest.fixture(scope="module", params=[2, pytest.param(3, marks=pytest.mark.slow)])
def ball(request, tmp_path_factory):
    example = zw.gallery.load("bouncing-ball")
    unit = zw.fmu(example.model, example.q0, example.v0, version=request.param)
    return example, str(unit.write(tmp_path_factory.mktemp("fmu")))


@pytest.mark.slow
def test_a_ball_bounces_and_rests_in_both_interfaces(ball):
    """Its floor has an event indicator, and its impacts are events of the master."""
    example, path = ball
    assert validation.validate_fmu(path) == []
    times = np.linspace(0.0, 2.0, 21)
    own = zw.simulate(example.model, example.q0, example.v0, times=times, rtol=1e-12)
    for kind, tolerance in (("CoSimulation", 1e-11), ("ModelExchange", 1e-7)):
        found = run(path, kind, relative_tolerance=1e-10)
        # the last of several rows at one instant is that after its event
        last = [np.flatnonzero(np.abs(found["time"] - t) < 1e-9)[-1] for t in times]
        np.testing.assert_allclose(found["q.y"][last], own.q[:, 1], atol=tolerance)
        assert np.all(found["q.y"][found["time"] > 1.3545709] < 1e-12)
        assert found["q.y"].min() > -1e-9


@pytest.mark.slow
@pytest.mark.parametrize("name", ["3rrr", "cart-pole-track"])
def test_a_unit_replays_a_run(name, tmp_path):
    example = zw.gallery.load(name)
    path = str(zw.fmu(example.model, example.q0, example.v0, step=2e-4).write(tmp_path))
    assert validation.validate_fmu(path) == []
    found = run(path, stop=1.0)
    own = example.run(times=found["time"], rtol=1e-10)
    for i, name in enumerate(example.model.system.coordinates):
        np.testing.assert_allclose(found[f"q.{name}"], own.q[:, i], atol=1e-8)


CHECKER = shutil.which("fmuCheck.linux64")


@pytest.mark.slow
@pytest.mark.skipif(CHECKER is None, reason="no FMU Compliance Checker (fmuCheck.linux64)")
@pytest.mark.parametrize("kind", ["me", "cs"])
@pytest.mark.parametrize("name", ["3rrr", "cart-pole-track"])
def test_the_checker_of_the_standard_has_nothing_to_say(name, kind, tmp_path):
    """The tool of the FMI cross-check, for FMI 2.0."""
    example = zw.gallery.load(name)
    path = zw.fmu(example.model, example.q0, example.v0).write(tmp_path)
    words = [str(CHECKER), "-k", kind, "-l", "3", "-s", "0.2", "-h", "0.001", "-o", "out.csv"]
    said = subprocess.run(
        [*words, str(path)], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    summary = (said.stdout + said.stderr).split("FMU check summary")[1]
    assert "0 warning(s) and error(s)" in summary
    assert "0 Warning(s)" in summary and "0 Error(s)" in summary


def mass_on_springs(name, second):
    """A mass on a line; its coupling force comes from outside."""
    import jax.numpy as jnp

    system = zw.System(
        2,
        lambda q, t, p: jnp.ones(2) * p["mass"],
        lambda q, v, t, p: -p["stiffness"] * q,
        potential=lambda q, t, p: 0.5 * p["stiffness"] * (q @ q),
        coordinates=["x", "y"],
    )
    line = zw.Holonomic(lambda q, t, p: q[1] - 0.5 * q[0], name="line")
    params = {"mass": 1.0 + second, "stiffness": 4.0}
    return zw.Model(system, [line], params, name=name)


@pytest.mark.slow
def test_two_units_conserve_energy_to_the_order_of_their_coupling(tmp_path):
    paths = [
        str(zw.fmu(mass_on_springs(f"mass_{i}", i), [0.2, 0.1], [0.0, 0.0]).write(tmp_path))
        for i in (0, 1)
    ]
    drift = [abs(coupled(paths, h)) for h in (0.02, 0.01)]
    assert 1.7 < drift[0] / drift[1] < 2.3  # a spring held over each step: order one


def coupled(paths, h, k=3.0, stop=1.0):
    """Change of the total energy of two units with a spring between them, held over steps."""
    from fmpy.fmi2 import FMU2Slave

    units, references = [], []
    for path in paths:
        folder = fmpy.extract(path)
        described = fmpy.read_model_description(path)
        unit = FMU2Slave(
            guid=described.guid, unzipDirectory=folder,
            modelIdentifier=described.coSimulation.modelIdentifier, instanceName="unit",
        )  # fmt: skip
        unit.instantiate()
        unit.setupExperiment(startTime=0.0)
        references.append({v.name: v.valueReference for v in described.modelVariables})
        units.append(unit)
    units[1].setReal([references[1]["q.x"], references[1]["q.y"]], [-0.3, -0.15])
    for unit in units:
        unit.enterInitializationMode()
        unit.exitInitializationMode()

    def read(i, *names):
        return np.array(units[i].getReal([references[i][n] for n in names]))

    def energy():
        total = 0.0
        for i, mass in enumerate((1.0, 2.0)):
            x, y, u, w = read(i, "q.x", "q.y", "v.x", "v.y")
            total += 0.5 * mass * (u**2 + w**2) + 0.5 * 4.0 * (x**2 + y**2)
        return total + 0.5 * k * (read(0, "q.x")[0] - read(1, "q.x")[0]) ** 2

    before = energy()
    for step in range(round(stop / h)):
        pull = k * (read(1, "q.x")[0] - read(0, "q.x")[0])
        for i, sign in enumerate((1, -1)):
            units[i].setReal([references[i]["applied.x"]], [sign * pull])
            units[i].doStep(step * h, h)
    after = energy()
    for unit in units:
        unit.terminate()
        unit.freeInstance()
    return after - before
