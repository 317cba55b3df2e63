"""Coulomb's problem with random disks: its own conditions, and comparison with Lemke's method."""

import numpy as np
import pytest

from zwang.algebra.complementarity import complementary
from zwang.algebra.cone_complementarity import Disk, frictional


def contacts(rng, count, freedom):
    """Rows at unit length of contacts of a body with fewer freedoms than rows: D has no full rank.
    As of contacts that can open, some velocity opens all of them.
    """
    J = rng.standard_normal((3 * count, freedom))
    opens = rng.standard_normal(freedom)
    J[:count] *= np.sign(J[:count] @ opens)[:, None]
    J /= np.linalg.norm(J, axis=1)[:, None]
    disks = [
        Disk(count + 2 * k + np.arange(2), k, float(rng.uniform(0.1, 1.0)), 0.0)
        for k in range(count)
    ]
    return J, disks


def test_random_contacts_meet_coulomb_s_law():
    rng = np.random.default_rng(1991)
    solved = 0
    for _ in range(60):
        count = int(rng.integers(1, 12))
        J, disks = contacts(rng, count, int(rng.integers(3, 12)))
        c = J @ rng.standard_normal(J.shape[1])
        z = frictional(J @ J.T, c, count, disks)
        if z is None:
            continue
        solved += 1
        w, size = J @ (J.T @ z) + c, 1e-10 * (1 + np.max(np.abs(z)))
        assert np.all(z[:count] >= -size) and np.all(w[:count] >= -size)
        np.testing.assert_allclose(z[:count] * w[:count], 0.0, atol=size * np.max(np.abs(z)))
        for disk in disks:
            f, s, radius = z[disk.rows], w[disk.rows], disk.share * z[disk.owner]
            assert np.linalg.norm(f) <= radius + size
            # f against s at the rim, or s zero: f·s = −R |s| says both
            assert f @ s == pytest.approx(-radius * np.linalg.norm(s), abs=size * (1 + radius))
    # Newton's method need not end, and there may be no solution
    assert solved >= 57


def test_disks_of_one_tangent_are_the_linear_problem():
    rng = np.random.default_rng(7)
    for _ in range(40):
        J = rng.standard_normal((4, 6))
        J /= np.linalg.norm(J, axis=1)[:, None]
        D, c, limits = J @ J.T, rng.standard_normal(4), rng.uniform(0.0, 1.0, 2)
        disks = [Disk(np.array([2 + k]), -1, 0.0, limits[k]) for k in range(2)]
        z = frictional(D, c, 2, disks)
        # |f| ≤ r as 0 ≤ f + r ⊥ s₋ ..., in pushes, f + r and the negative part of s
        T = np.hstack([np.zeros((2, 2)), np.eye(2)])
        Q = np.block([[D, T.T], [-T, np.zeros((2, 2))]])
        q = np.concatenate([c - D @ np.concatenate([np.zeros(2), limits]), 2 * limits])
        known = complementary(Q, q)
        assert z is not None and known is not None
        np.testing.assert_allclose(z, known[:4] - [0, 0, *limits], atol=1e-9)


def test_no_solution_is_said():
    # a gap that no force opens
    assert frictional(np.array([[0.0]]), np.array([-1.0]), 1, []) is None
