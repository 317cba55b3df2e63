"""Every member of every family passes the public checks, and the checks can fail."""

import importlib

import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw
from tests.algebra.pseudoinverse.matrices import SOME_SLOW
from tests.models import every_kind, pendulum
from zwang import testing
from zwang.algebra.pseudoinverse import SVD
from zwang.dynamics.drift import Baumgarte, BaumgarteGains, BaumgarteRates, Projection, Stabilized
from zwang.objects.families import ALL_FAMILIES, DRIFTS, FORMULATIONS, GAINS, INTEGRATORS


def finished(base):
    """All classes that derive from a base and leave nothing to implement."""
    for cls in base.__subclasses__():
        if not cls.__name__.startswith("Abstract"):
            yield cls
        yield from finished(cls)


def made(member):
    return member() if isinstance(member, type) else member


@pytest.mark.slow
@pytest.mark.parametrize("member", SOME_SLOW, ids=lambda m: made(m).__class__.__name__)
def test_every_pseudoinverse_complies(member):
    testing.check_pseudoinverse(made(member))


@pytest.mark.parametrize("key", FORMULATIONS.members)
def test_every_formulation_complies(key):
    testing.check_formulation(FORMULATIONS.members[key].load()(), SVD())


@pytest.mark.parametrize("key", INTEGRATORS.members)
def test_every_integrator_complies(key):
    testing.check_integrator(INTEGRATORS.members[key].load()())


VIOLATIONS = {"projection": 1e-15, "stabilized": 1e-4}
"""What is left of φ: round-off by projection, and without any treatment what the integrator's error
grows to in 5 s. Every other member has to keep to `LARGEST`, the size of that error itself.
"""
LARGEST = 1e-6


@pytest.mark.parametrize("key", DRIFTS.members)
def test_every_drift_treatment_complies(key):
    testing.check_drift(DRIFTS.members[key].load()(), VIOLATIONS.get(key, LARGEST))


@pytest.mark.parametrize(
    ("drift", "violation"),
    [
        (Projection(stabilization=BaumgarteRates(5.0, 5.0)), 1e-15),
        (Baumgarte(5.0, 5.0), LARGEST),
        (Stabilized(BaumgarteGains(10.0, 25.0)), LARGEST),
    ],
    ids=["both", "rates", "gains"],
)
def test_a_term_in_b_keeps_drift_down(drift, violation):
    testing.check_drift(drift, violation)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
@pytest.mark.parametrize("key", GAINS.members)
def test_every_gain_complies(key, order):
    gain = GAINS.members[key].load().example(order)
    if gain is not None:
        testing.check_gain(gain, order)


@pytest.mark.parametrize("key", GAINS.members)
def test_every_gain_fits_some_order(key):
    example = GAINS.members[key].load().example
    assert any(example(order) is not None for order in range(1, 5))


WRAPPERS = {
    "ByName",
    "Differentiable",
    "ReplicatedConstraint",
    "Leading",
    "DifferentiatedConstraint",
    "OneRow",
    "Lyapunov",
    "PulledDrift",
}
"""Classes of other packages that pass on what a member computes, or that servos alone enforce, and
are no member of their own."""


@pytest.mark.parametrize("family", ALL_FAMILIES, ids=lambda family: family.name)
def test_no_class_of_a_family_escapes_its_tests(family):
    """What is read from the text of files is every finished class that derives from the base."""
    base = getattr(importlib.import_module(f"zwang.{family.place}"), family.base)
    members = {member.load() for member in family.members.values()}
    others = {cls for cls in finished(base) if cls.__module__.startswith("zwang.")} - members
    assert members and {cls.__name__ for cls in others} <= WRAPPERS


@pytest.mark.parametrize("family", ALL_FAMILIES, ids=lambda family: family.name)
def test_a_family_has_a_table_with_a_row_for_every_member(family):
    head, _, *rows = family.table().splitlines()
    assert [row.split("|")[1].split("`")[1] for row in rows] == [
        member.name for member in family.members.values()
    ]
    assert all(row.replace(r"\|", "").count("|") == head.count("|") for row in rows)
    assert all(member.summary for member in family.members.values())


@pytest.mark.slow
def test_models_comply():
    testing.check_model(pendulum(), [0.6, -0.8], [0.8, 0.6])
    placed = zw.consistent_state(
        every_kind(), np.array([0.5, 0.4, 0.3, 0.2, 0.1]), np.ones(5), 0.7
    ).state
    testing.check_model(every_kind(), placed.q, placed.v, 0.7)


def test_checks_find_what_is_wrong():
    class Sloppy(SVD.__mro__[1]):  # type: ignore
        def factor(self, C):
            return SVD(threshold=0.3).factor(C)

        def relaxed(self, violation):
            return self

        def flops(self, m, n):
            return 0.0

    with pytest.raises(AssertionError, match="C C⁺ C = C"):
        testing.check_pseudoinverse(Sloppy())

    def skewed(q, t, p):
        return jnp.array([[2.0, 0.5], [0.0, 2.0]])

    system = zw.System(2, skewed, lambda q, v, t, p: jnp.zeros(2))
    with pytest.raises(AssertionError, match="M symmetric"):
        testing.check_model(zw.Model(system), [0.0, 0.0], [0.0, 0.0])

    system = zw.System(
        2,
        lambda q, t, p: jnp.ones(2),
        lambda q, v, t, p: jnp.zeros(2),
        retract=lambda q, dv, t, p: q + 2 * dv,
    )
    with pytest.raises(AssertionError, match="retract moves along N dv"):
        testing.check_model(zw.Model(system), [0.0, 0.0], [0.0, 0.0])
