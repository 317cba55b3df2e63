"""Every variable and coordinate of a run's dataset has a description and a unit."""

import functools

import numpy as np
import pytest

import zwang as zw
from zwang.gallery import load
from zwang.mechanism.registry import JOINT_KINDS

MEMBERS = ["pendulum", "knife-edge", "two-mass-spring", "n-four-bar", "slider-crank"]


@functools.cache
def dataset(name):
    member = load(name)
    return zw.simulate(member.model, member.q0, member.v0, duration=0.05, samples=3).dataset


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", MEMBERS)
def test_everything_has_a_unit_and_a_long_name(name):
    data = dataset(name)
    for variable in (*data.data_vars, *data.coords):
        attrs = data[variable].attrs
        assert attrs.get("units"), f"{name}: {variable} has no units"
        assert attrs.get("long_name"), f"{name}: {variable} has no long_name"


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", MEMBERS)
def test_mixed_units_are_listed_where_the_variable_says(name):
    data = dataset(name)
    for variable in data.data_vars:
        unit = data[variable].attrs["units"]
        if unit.startswith("mixed: see "):
            listed = unit.removeprefix("mixed: see ").split(",")[0]
            assert len(set(data[listed].values)) > 1 and data[listed].dims[0] in data[variable].dims


def test_the_rank_of_the_constraints_is_found_by_attribute():
    """`dataset.rank` is a method of xarray's."""
    assert set(dataset("pendulum").constraint_rank.values) == {1}


def rods(**unit):
    """A mass on a rod to the ground, and a second mass on a rod from the first, hanging at rest."""

    def length(d):
        return (d @ d - 1.0) / 2.0

    system = zw.System(
        4,
        lambda q, t, p: np.ones(4),
        lambda q, v, t, p: np.array([0.0, -9.81, 0.0, -9.81]),
        units=("m",) * 4,
    )
    grounded = zw.Holonomic(lambda q, t, p: length(q[:2]), name="grounded", **unit)
    between = zw.Holonomic(lambda q, t, p: length(q[2:] - q[:2]), name="between", **unit)
    model = zw.Model(system, [grounded, between], name="two rods")
    return zw.simulate(model, [0, -1, 0, -2], np.zeros(4), duration=0.1, samples=3)


def test_a_rod_between_two_masses_transmits_its_tension_and_not_root_two_of_it():
    run = rods(unit="m")
    force = run.dataset["transmitted_force"]
    assert force.attrs["units"] == "N" and "tension of a rod" in force.attrs["long_name"]
    np.testing.assert_allclose(force.sel(constraint="grounded"), 2 * 9.81, rtol=1e-12)
    np.testing.assert_allclose(force.sel(constraint="between"), 9.81, rtol=1e-12)
    norm = np.linalg.norm(run.dataset["constraint_force"].sel(constraint="between"), axis=1)
    np.testing.assert_allclose(norm, np.sqrt(2) * 9.81, rtol=1e-12)
    assert set(run.dataset["multiplier_unit"].values) == {"N"}
    assert run.dataset["violation"].attrs["units"] == "m"


def test_the_report_shows_the_tension_and_names_the_norm_of_the_generalized_force():
    from zwang.output.report.figures import forces

    stated, plain = forces(rods(unit="m")), forces(rods())
    assert list(stated.tables)[:2] == ["transmitted_force", "generalized_force_norm"]
    np.testing.assert_allclose(stated.tables["transmitted_force"].values[:, 1], 9.81, rtol=1e-12)
    assert [p.ylabel for p in stated.figure.panels] == [
        "transmitted force [N]",
        "multipliers λ [N]",
    ]
    assert [p.ylabel for p in plain.figure.panels] == [
        "norm of generalized force [N]",
        "multipliers λ [model units]",
    ]


def test_a_wrong_number_of_units_is_refused():
    with pytest.raises(zw.ModelError, match="'grounded' has 2 units for 1 rows; give one unit"):
        rods(unit=("m", "rad"))


def test_a_joint_of_a_mechanism_transmits_the_size_of_its_reaction():
    member = load("slider-crank")
    run = zw.simulate(member.model, member.q0, member.v0, duration=0.05, samples=3)
    transmitted = run.dataset["transmitted_force"]
    assert member.reactions is not None
    for name, reaction in member.reactions(run).items():
        size = np.linalg.norm(reaction.force, axis=-1)
        np.testing.assert_allclose(transmitted.sel(constraint=name), size, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("world", ["plane", "space"])
def test_every_kind_of_joint_without_a_formula_states_the_units_of_its_rows(world):
    for name, kind in JOINT_KINDS.items():
        equations = kind.plane if world == "plane" else kind.space
        if equations is None or equations.position is None or kind.formulas:
            continue
        assert equations.units, f"{name} states no units of its rows in {world}"
        assert len(equations.units) == 1 or set(equations.units) == {"m", "rad"}, name
