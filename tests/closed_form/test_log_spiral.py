"""The particle on a logarithmic spiral, review section 8.1."""

import numpy as np
import pytest

import zwang as zw
from tests.gallery.examples import example, run


def test_motion_is_the_closed_form():
    """Two constraints fix two coordinates, so that the projection leaves round-off of values up to
    30: 1e-12.
    """
    member = example("log-spiral")
    reached = run("log-spiral")
    assert member.error(reached) < 1e-12
    assert np.allclose(
        reached.v.T, [-0.1 * np.exp(3 - reached.t / 10), -np.ones_like(reached.t)], atol=1e-12
    )


@pytest.mark.errata
@pytest.mark.parametrize(
    ("t", "force"),
    [
        (0.0, (-29.577271786306763, 111.07932821375726)),
        (1.0, (-24.502652319877836, -67.31004271585174)),
        (10.0, (1.6408273716966844, 40.500127646629004)),
        (30.0, (-0.99, 10.01)),
    ],
)
def test_constraint_force_is_a_torque_along_theta(t, force):
    """Printed with M = diag(m, m), the second entry is m times an angular acceleration; the
    generalized force is r² times that.
    """
    member = example("log-spiral")
    q, v = [np.exp(3 - t / 10), 30 - t], [-0.1 * np.exp(3 - t / 10), -1.0]
    assert np.allclose(zw.motion(member.model, q, v, t).constraint_force, force, rtol=1e-12)


@pytest.mark.errata
def test_with_the_spiral_alone_the_mass_matrix_matters():
    """One constraint leaves one freedom, and M = diag(m, m) as printed gives another acceleration
    than diag(m, m r²).
    """
    member = example("log-spiral")
    model = zw.Model(member.model.system, member.model.constraints.members[:1], member.model.params)
    right = zw.motion(model, member.q0, member.v0).acceleration
    assert np.allclose(right, [-0.053856207936853195, -0.12681342706585433], rtol=1e-11)
