"""The advice for a run that ended early fits its integrator."""

import pytest

import zwang as zw
from tests.cli.command_line import spoken_to
from tests.hostile.given import pendulum
from zwang.cli.advice import fitted
from zwang.errors import Result


@pytest.mark.parametrize("result", [Result.STEP_TOO_SMALL, Result.TOO_MANY_STEPS])
@pytest.mark.parametrize("name", ["Dopri8", "Tsit5", "Kvaerno5"])
def test_nobody_is_sent_to_the_integrator_that_he_uses(result, name):
    said = result.said_of(name)
    assert said.startswith(result.sentence.split(":")[0])
    assert ("Kvaerno5" in said) == (name != "Kvaerno5")
    with spoken_to("run"):
        ended = fitted(result.said_of(name), "run")
    for python in ("zw.methods.Kvaerno5", "max_steps", "loosen rtol", "larger rtol"):
        assert python not in ended


def test_a_run_speaks_of_its_own_integrator():
    given = {"duration": 1.0, "max_steps": 3, "throw": False}
    run = zw.simulate(pendulum(), [0.6, 0.8], [0.0, 0.0], **given)
    assert "zw.methods.Kvaerno5() for a stiff system" in str(run)
    run.attrs["integrator"] = "Kvaerno5"  # whose loop would have to be compiled
    assert "raise max_steps or loosen rtol" in repr(run) and "Kvaerno5" not in run.sentence
