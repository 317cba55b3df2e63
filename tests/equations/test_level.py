"""Levels of constraints, and features that inequalities exclude."""

import jax.numpy as jnp
import pytest

import zwang as zw
from zwang.equations.constraint.level import ACCELERATION, FRICTION, GAP, POSITION, VELOCITY
from zwang.equations.constraint.units import MODEL_UNITS

FREE = zw.System(
    2, mass_matrix=lambda q, t, p: jnp.ones(2), force=lambda q, v, t, p: jnp.array([0.0, -9.81])
)
OUTRIGHT = zw.AccelerationConstraint(lambda q, v, t, p: jnp.eye(2)[:1], lambda q, v, t, p: 0.0)
GIVEN = [
    (zw.Holonomic(lambda q, t, p: q[0], name="a", unit="m"), POSITION, ("m", "m/s")),
    (zw.Nonholonomic(lambda q, v, t, p: v[0], name="b", unit="m/s"), VELOCITY, (None, "m/s")),
    (OUTRIGHT, ACCELERATION, (None, None)),
    (zw.Inequality(lambda q, t, p: q[1], name="c", unit="m"), GAP, ("m", "m/s")),
    (
        zw.DryFriction(lambda q, v, t, p: v[0], load="c", static=0.3, name="d", unit="m/s"),
        FRICTION,
        (None, "m/s"),
    ),
]


@pytest.mark.parametrize("constraint, level, units", GIVEN, ids=[c.name for c, *_ in GIVEN])
def test_a_constraint_is_given_at_one_level_which_knows_units(constraint, level, units):
    assert constraint.level == level
    assert constraint.residual_units == tuple(x or MODEL_UNITS for x in units)


def test_rows_are_sorted_by_what_their_levels_have():
    rows = zw.Model(FREE, [c for c, *_ in GIVEN]).constraints
    assert rows.position_rows.tolist() == [0, 3]
    assert rows.velocity_rows.tolist() == [0, 1, 3, 4]
    assert rows.nonholonomic_rows.tolist() == [1, 4] and rows.outright_rows.tolist() == [2]
    assert rows.one_sided_rows.tolist() == [3] and rows.loose == ("c", "d")


@pytest.mark.parametrize(
    "make",
    [
        lambda gap: zw.Hierarchy([[zw.Module(zw.Model(FREE, [gap]), name="m")]]),
        lambda gap: zw.Hierarchy([[zw.Module(zw.Model(FREE), name="m")], [gap]]),
    ],
    ids=["module", "between modules"],
)
def test_what_lets_go_is_not_held_as_an_equation(make):
    """Hierarchies held a gap in both directions, without a word."""
    with pytest.raises(zw.ModelError, match="'floor' is an inequality or dry friction"):
        make(zw.Inequality(lambda q, t, p: q[1], name="floor"))
