"""Every member of every family passes the public checks, and the checks can fail."""

import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw
from tests.algebra.pseudoinverse.matrices import SOME_SLOW
from tests.models import every_kind, pendulum
from zwang import testing
from zwang.algebra.pseudoinverse import SVD
from zwang.dynamics.drift import ALL_DRIFTS
from zwang.dynamics.formulation import ALL_FORMULATIONS
from zwang.stepping import ALL_INTEGRATORS


def made(member):
    return member() if isinstance(member, type) else member


@pytest.mark.parametrize("member", SOME_SLOW, ids=lambda m: made(m).__class__.__name__)
def test_every_pseudoinverse_complies(member):
    testing.check_pseudoinverse(made(member))


@pytest.mark.parametrize("member", ALL_FORMULATIONS, ids=lambda m: made(m).__class__.__name__)
def test_every_formulation_complies(member):
    testing.check_formulation(made(member), SVD())


@pytest.mark.parametrize("integrator", ALL_INTEGRATORS, ids=str)
def test_every_integrator_complies(integrator):
    testing.check_integrator(integrator)


@pytest.mark.parametrize(
    ("drift", "violation"),
    [*zip(ALL_DRIFTS, (1e-15, 1e-15, 1e-6, 1e-6, 1e-4), strict=True)],
    ids=[f"drift{i}" for i in range(5)],
)
def test_every_drift_treatment_complies(drift, violation):
    """Projection leaves round-off, Baumgarte the integrator's error, no treatment what that error
    grows to in 5 s.
    """
    testing.check_drift(drift, violation)


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
