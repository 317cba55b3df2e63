"""FMUs that run Python, for models that C cannot represent."""

import numpy as np
import pytest

import zwang as zw
from zwang.codegen.c import compiler
from zwang.codegen.fmu.python_unit import PythonUnit, Session

BEGIN, EVALUATE, ADVANCE, SAVE, RESTORE, FORGET = range(6)
cloudpickle = pytest.importorskip("cloudpickle")


@pytest.fixture(scope="module")
def example():
    return zw.gallery.load("pendulum")


def test_the_answers_of_a_session_are_those_of_a_run(example):
    """As the C of a unit asks them: all variables go there and come back."""
    unit = PythonUnit.of(example.model, example.q0, example.v0, {"rtol": 1e-10})
    names = [name for name, _ in unit.parameters]
    values = np.zeros(1 + 4 + 4 + 2 + len(names) + 2 + 1)
    values[1:5] = [*example.q0, *example.v0]
    values[11 : 11 + len(names)] = [x for _, x in unit.parameters]
    session = Session(unit)
    assert session.size == len(values)
    _, values = session.answer(EVALUATE, 0, 0, values)
    np.testing.assert_allclose(values[7:9], [0.0, -9.81], atol=1e-12)
    _, values = session.answer(BEGIN, 0, 0, values)
    number, _ = session.answer(SAVE, 0, 0, values)
    _, later = session.answer(ADVANCE, 0.0, 0.5, values)
    assert later[0] == 0.5
    expected = example.exact(np.array([0.5]))
    np.testing.assert_allclose(later[1:3], [expected["x"][0], expected["y"][0]], atol=1e-8)
    session.answer(RESTORE, number, 0, values)
    pushed = values.copy()
    pushed[9] = 1.0
    _, other = session.answer(ADVANCE, 0.0, 0.5, pushed)
    assert abs(other[1] - later[1]) > 1e-3
    session.answer(FORGET, number, 0, values)
    with pytest.raises(zw.ModelError, match="the master steps on from t = 0.2"):
        session.answer(ADVANCE, 0.2, 0.1, other)


def test_functions_of_a_script_go_along(example):
    unit = PythonUnit.of(example.model, example.q0, example.v0, {})
    assert cloudpickle.loads(unit.to_bytes()).model.name == "pendulum"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"python": True, "drift": None}, "option 'drift'; there are: rtol"),
        ({"rtol": 1e-9}, "rtol is not supported by a unit without Python; give python=True"),
        ({"python": 1}, "python"),
    ],
)
def test_options_without_a_place_are_refused(example, given, said):
    with pytest.raises(zw.ModelError, match=said):
        zw.fmu(example.model, example.q0, example.v0, **given)


@pytest.mark.slow
@pytest.mark.skipif(compiler() is None, reason="no C compiler")
@pytest.mark.parametrize("version", [2, 3])
def test_a_unit_holds_switches_and_replays_their_run(version, tmp_path):
    fmpy = pytest.importorskip("fmpy")
    validation = pytest.importorskip("fmpy.validation")
    example = zw.gallery.load("latching-pendulums")
    given = {"rtol": 1e-9, **example.simulate}
    unit = zw.fmu(example.model, example.q0, example.v0, version=version, python=True, **given)
    folder = tmp_path / "a folder"  # its URI has %20
    path = str(unit.write(folder))
    assert validation.validate_fmu(path) == []
    described = fmpy.read_model_description(path)
    assert described.modelExchange is None and described.coSimulation.needsExecutionTool
    unpacked = fmpy.extract(path, str(folder / "unpacked"))
    found = fmpy.simulate_fmu(unpacked, stop_time=3.5, output_interval=0.1)
    run = zw.simulate(example.model, example.q0, example.v0, times=found["time"], **given)
    assert run.switches
    for i, name in enumerate(example.model.system.coordinates):
        np.testing.assert_allclose(found[f"q.{name}"], run.q[:, i], atol=1e-7)
    assert found["violation"].max() < 1e-13


@pytest.mark.slow
@pytest.mark.skipif(compiler() is None, reason="no C compiler")
def test_a_master_may_take_a_step_back_and_is_told_what_is_wrong(example, tmp_path, capfd):
    fmpy = pytest.importorskip("fmpy")
    from fmpy.fmi2 import FMU2Slave

    path = str(zw.fmu(example.model, example.q0, example.v0, python=True).write(tmp_path))
    described = fmpy.read_model_description(path)
    slave = lambda name: FMU2Slave(
        guid=described.guid,
        unzipDirectory=fmpy.extract(path),
        instanceName=name,
        modelIdentifier=described.coSimulation.modelIdentifier,
    )
    units = slave("one"), slave("two")  # each has a process of its own
    place = {v.name: v.valueReference for v in described.modelVariables}
    for unit in units:
        unit.instantiate()
        unit.setupExperiment(startTime=0.0)
        unit.enterInitializationMode()
    units[1].setReal([place["q.x"], place["q.y"]], [0.0, -1.0])
    for unit in units:
        unit.exitInitializationMode()
    one, two = units
    state = one.getFMUstate()
    one.doStep(0.0, 0.1)
    first = one.getReal([place["q.x"]])
    one.setFMUstate(state)
    one.setReal([place["applied.y"]], [3.0])
    one.doStep(0.0, 0.1)
    assert abs(one.getReal([place["q.x"]])[0] - first[0]) > 1e-4
    one.setFMUstate(state)
    one.doStep(0.0, 0.1)
    assert one.getReal([place["q.x"]]) == first
    one.freeFMUstate(state)
    two.doStep(0.0, 0.1)
    np.testing.assert_allclose(two.getReal([place["q.y"]]), [-1.0], atol=1e-12)
    with pytest.raises(Exception, match="fmi2DoStep"):
        two.doStep(0.7, 0.1)
    with pytest.raises(Exception, match="fmi2SetReal"):
        two.setReal([place["q.x"]], [0.3])
    for unit in units:
        unit.terminate()
        unit.freeInstance()
    assert "the master steps on from t = 0.7 s" in capfd.readouterr().err
