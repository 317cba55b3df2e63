"""The documentation's example of every kind of joint is a valid file and runs."""

import sys
from pathlib import Path

import numpy as np
import pytest

import zwang as zw
from zwang.mechanism import KINDS, read
from zwang.objects.families import CONSTRAINTS
from zwang.simulation.results import Run

DOCS = Path(__file__).resolve().parents[2] / "docs"
sys.path.insert(0, str(DOCS))
from constraint_examples import EXAMPLES as CONSTRAINT_EXAMPLES  # noqa: E402
from joint_examples import EXAMPLES  # noqa: E402

WORLDS = ("plane", "space")


def test_every_kind_of_joint_has_an_example_wherever_it_exists():
    shown = {(example.kind.name, example.world) for example in EXAMPLES}
    assert shown == {
        (name, world)
        for name, kind in KINDS.items()
        for d, world in enumerate(WORLDS, 2)
        if kind.equations(d) is not None
    }


@pytest.mark.one_in(8)
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda x: f"{x.kind.name} {x.world}")
def test_an_example_is_read_and_fits_together_as_it_is_written(example, tmp_path):
    """Without the program that moves a start onto its constraints, which the run below has."""
    file = tmp_path / "example.toml"
    file.write_text(example.text, encoding="utf-8")
    mechanism = read(file)
    given, rows = mechanism.compiled.geometry, mechanism.model.constraints
    residuals = zw.program(
        lambda q, v, p: (rows.position_residual(q, 0.0, p), rows.velocity_residual(q, v, 0.0, p))
    )
    q = mechanism.compiled.started(given.q, {})  # with the angles that are counted
    phi, psi = residuals(q, given.v, mechanism.params)
    assert len(psi) >= rows.m > 0
    assert np.abs(phi).max(initial=0.0) < 1e-12 and np.abs(psi).max() < 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda x: f"{x.kind.name} {x.world}")
def test_an_example_runs_on_its_constraints(example, tmp_path):
    file = tmp_path / "example.toml"
    file.write_text(example.text, encoding="utf-8")
    mechanism = read(file)
    start = mechanism.start_state
    run = zw.simulate(mechanism.model, start.q, start.v, duration=0.2, samples=3, rtol=1e-6)
    assert float(run.dataset.violation.max()) < 1e-9
    assert np.all(np.isfinite(run.q))


def test_every_kind_of_constraint_has_an_example():
    assert set(CONSTRAINT_EXAMPLES) == {member.name for member in CONSTRAINTS.members.values()}


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", CONSTRAINT_EXAMPLES)
def test_an_example_of_a_constraint_runs_by_itself(name):
    found: dict = {}
    exec(CONSTRAINT_EXAMPLES[name], found)  # the page's own text
    assert isinstance(found["run"], Run)
    assert not found["run"].result.is_failure
