"""Assembly modes against closed forms."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw
from tests.analysis.models import LENGTHS, apart, closed_form, four_bar
from zwang.algebra.pseudoinverse.proximal import Proximal
from zwang.analysis.assembly_modes import AssemblyModes
from zwang.analysis.distinct import attitudes, distinct, telling
from zwang.bodies import Body, RigidBodies
from zwang.bodies.rotation import rotation_matrix
from zwang.gallery.mechanisms import FOLDER
from zwang.mechanism import read


def test_a_four_bar_has_its_two_modes():
    q = closed_form(LENGTHS, 0.3, 1)
    found = zw.analysis.assembly_modes(four_bar(), {"crank": 1.1}, q=q, starts=256)
    assert len(found) == 2 and found.unseen == 0
    for sign in (1, -1):
        assert min(apart(x, closed_form(LENGTHS, 1.1, sign)) for x in found.q) < 1e-10
    assert "2 assembly modes" in str(found) and found.missed(0.1) < 1e-10


@pytest.mark.slow
def test_an_input_out_of_reach_is_said():
    lengths, q = np.array([2.0, 1.5, 2.0, 3.0]), closed_form([2.0, 1.5, 2.0, 3.0], 0.3, 1)
    with pytest.raises(zw.ModelError, match="no configuration was found"):
        zw.analysis.assembly_modes(
            four_bar(), {"crank": 3.0}, q=q, params={"lengths": lengths}, starts=256
        )


@pytest.fixture(scope="module")
def platform() -> zw.Model:
    """A 3-RPR platform as three distances of its corners, 6 solutions at most."""
    base = np.array([[0.0, 0.0], [15.91, 0.0], [0.0, 10.0]])
    corners = np.array([[0.0, 0.0], [17.04, 0.0], [16.54 * 0.9, 20.84 * 0.9]])

    def phi(q, t, p):
        c, s = jnp.cos(q[2]), jnp.sin(q[2])
        place = q[:2] + corners @ jnp.array([[c, s], [-s, c]])
        return jnp.sum((place - base) ** 2, axis=1) - p["leg"] ** 2

    system = zw.System(
        3,
        lambda q, t, p: jnp.ones(3),
        lambda q, v, t, p: jnp.zeros(3),
        coordinates=("x", "y", "angle"),
        units=("m", "m", "rad"),
    )
    legs = np.array([14.98, 15.38, 12.0])
    return zw.Model(system, [zw.Holonomic(phi, name="legs")], {"leg": legs}, name="3-RPR")


@pytest.mark.slow
def test_a_planar_platform_has_as_many_modes_as_its_polynomial_has_real_roots(platform):
    turn = np.linspace(0, 2 * np.pi, 20001)
    base = np.array([[0.0, 0.0], [15.91, 0.0], [0.0, 10.0]])
    corners = np.array([[17.04, 0.0], [16.54 * 0.9, 20.84 * 0.9]])
    # differences of the three circles are linear in x, y; what is left is one function of the angle
    rho = np.asarray(platform.params["leg"])

    def left(angle):
        c, s = np.cos(angle), np.sin(angle)
        A, r = np.zeros((2, 2)), np.zeros(2)
        for i, corner in enumerate(corners):
            d = (
                np.array([c * corner[0] - s * corner[1], s * corner[0] + c * corner[1]])
                - base[i + 1]
            )
            A[i], r[i] = 2 * d, rho[i + 1] ** 2 - rho[0] ** 2 - d @ d
        det = A[0, 0] * A[1, 1] - A[0, 1] * A[1, 0]
        place = np.array([A[1, 1] * r[0] - A[0, 1] * r[1], A[0, 0] * r[1] - A[1, 0] * r[0]])
        return place @ place - (rho[0] * det) ** 2

    value = np.array([left(x) for x in turn])
    roots = int(np.sum(value[1:] * value[:-1] < 0))
    found = zw.analysis.assembly_modes(platform, q=[5.0, 12.0, 0.5], starts=512, spread=20.0)
    assert len(found) == roots >= 2


def test_an_attitude_is_counted_once_and_mirrored_places_twice():
    """Two free bodies: signs of each quaternion are no modes of their own, signs of places are."""
    two = RigidBodies([Body(name, 1.0, (1.0, 1.0, 1.0)) for name in "ab"])
    pin = lambda q, t, p: two.point(q, "a", (1.0, 0.0, 0.0))
    model = zw.Model(two.system, [zw.Holonomic(pin, name="pin")], two.params)
    dynamics = model.dynamics(None, Proximal())
    own = attitudes(dynamics, 0.0)
    assert [list(x) for x in own] == [[3, 4, 5, 6], [10, 11, 12, 13]]
    q = np.array([0.5, -0.2, 0.1, 0.5, 0.5, 0.5, 0.5, 0.3, 0.2, 0.1, 0.8, 0.0, 0.6, 0.0])
    many = np.repeat(q[None], 5, axis=0)
    many[1, 3:7] *= -1  # the same
    many[2, 10:] *= -1  # the same
    many[3, 1] *= -1  # another place
    many[4, 3] *= -1  # another attitude
    found, times = distinct(many, np.zeros(14, bool), own)
    assert len(found) == 3 and list(times) == [3, 1, 1]


@pytest.mark.slow
def test_a_bennett_linkage_has_one_mode_at_each_input():
    """Its crank fixes the other angles (Bennett 1903); three bodies have eight choices of signs."""
    found = zw.analysis.assembly_modes(read(FOLDER / "bennett.toml"), {"A": 2.0})
    assert found.method == "starts" and found.unseen_bound() < 0.05
    assert len(found) == 1


def test_what_random_starts_did_not_see_has_a_bound_that_holds_with_its_confidence():
    """Modes with known shares: the bound holds at least as often as it says."""
    random, shares = np.random.default_rng(1934), np.array([0.6, 0.3, 0.07, 0.02, 0.01])
    held = 0
    for _ in range(400):
        first, second = random.choice(5, (2, 40), p=shares)
        seen = np.unique(first)
        unseen = 1 - np.sum(shares[np.union1d(seen, second)])
        found = AssemblyModes(
            None, seen, seen, 80, seen, tried=40, surprises=int(np.sum(~np.isin(second, seen)))
        )
        held += unseen <= found.unseen_bound(0.9)
    assert held >= 0.9 * 400
    none = AssemblyModes(None, seen, seen, 80, seen, tried=40)
    assert abs(none.unseen_bound() - (1 - 0.05 ** (1 / 40))) < 1e-12


def dietmaier(rooted: bool) -> zw.Model:
    """Parameters of Dietmaier (1998), The Stewart-Gough platform of general geometry can have 40
    real postures, Advances in Robot Kinematics, 7-16; rows are squares of distances, or distances.
    """
    base = np.array([[0, 0, 0], [1.107915, 0, 0], [0.549094, 0.756063, 0]])
    base = np.vstack([base, [[0.735077, -0.223935, 0.525991], [0.514188, -0.526063, -0.368418]]])
    base = np.vstack([base, [[0.590473, 0.094733, -0.205018]]])
    plate = np.array([[0, 0, 0], [0.542805, 0, 0], [0.956919, -0.528915, 0]])
    plate = np.vstack([plate, [[0.665885, -0.353482, 1.402538], [0.478359, 1.158742, 0.107672]]])
    plate = np.vstack([plate, [[-0.137087, -0.235121, 0.353913]]])
    legs = np.array([1.0, 0.645275, 1.086284, 1.503439, 1.281933, 0.771071])

    def phi(q, t, p):
        places = q[:3] + (rotation_matrix(q[3:]) @ plate.T).T
        square = jnp.sum((places - base) ** 2, axis=1)
        return jnp.sqrt(square) - legs if rooted else square - legs**2

    body = RigidBodies([Body("plate", 1.0, (1.0, 1.0, 1.0))])
    return zw.Model(body.system, [zw.Holonomic(phi, name="legs")], body.params, name="hexapod")


NEAR = np.array([0.5, 0.5, 0.5, 1, 0, 0, 0])


@pytest.mark.slow
def test_dietmaiers_platform_has_forty_postures_and_no_other():
    found = zw.analysis.assembly_modes(dietmaier(False), q=NEAR, spread=1.5)
    assert found.complete and found.solutions == len(found) == 40 and found.starts == 128
    rooted = zw.analysis.assembly_modes(dietmaier(True), q=NEAR, spread=1.5, method="homotopy")
    assert rooted.complete and len(rooted) == 40
    for other in (
        rooted,
        zw.analysis.assembly_modes(dietmaier(False), q=NEAR, starts=4096, method="starts"),
    ):
        assert len(other) == 40 and other.unseen_bound() < 5e-3
        for q in other.q:
            off = [min(np.max(np.abs(q - x)) for x in (y, y * TURNED)) for y in found.q]
            assert min(off) < 1e-8


TURNED = np.array([1, 1, 1, -1, -1, -1, -1])
"""A quaternion and its negative are one attitude."""


def test_too_few_inputs_are_refused_before_anything_is_searched():
    with pytest.raises(
        zw.ModelError, match="of rank 2 for 3 velocities, so that inputs for 1 more"
    ):
        zw.analysis.assembly_modes(four_bar(), q=closed_form(LENGTHS, 0.3, 1))
    particle = zw.Model(zw.System(2, lambda q, t, p: jnp.ones(2), lambda q, v, t, p: 0 * q))
    with pytest.raises(zw.ModelError, match="has no loop or other constraint"):
        zw.analysis.assembly_modes(particle, q=[0.0, 0.0])


def test_modes_that_differ_late_are_printed_apart():
    """Six coordinates are printed of many: those that tell the modes apart."""
    q = np.zeros((3, 9))
    q[1, 7], q[2, 8] = 1.0, 2.0
    assert {7, 8} <= set(telling(q, 6))
    assert telling(q, 12) == list(range(9))
