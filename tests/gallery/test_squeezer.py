"""Andrews' mechanism compared with published values, and with Hairer and Wanner's equations."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from verification.ivp import SQUEEZER_END, SQUEEZER_START

import zwang as zw
from tests.gallery.examples import example, run
from zwang.gallery import squeezer as data


def printed(q, v):
    """M, f and ġ's matrix G with its derivative term, as Hairer and Wanner print them."""
    m1, m2, m3, m4, m5, m6, m7 = data.MASSES
    i1, i2, i3, i4, i5, i6, i7 = data.INERTIAS
    be, th, ga, ph, de, om, ep = q
    rr, d, ss, zt, zf, u, e = 0.007, 0.028, 0.035, 0.04, 0.02, 0.04, 0.02
    ra, da, sa, sb, ea, fa = 0.00092, 0.0115, 0.01874, 0.01043, 0.01421, 0.01421
    ta, tb, ua, ub, sc, sd = 0.02308, 0.00916, 0.01228, 0.00449, 0.018, 0.02
    s, c = np.sin, np.cos
    M = np.zeros((7, 7))
    M[0, 0] = m1 * ra**2 + m2 * (rr**2 - 2 * da * rr * c(th) + da**2) + i1 + i2
    M[0, 1] = M[1, 0] = m2 * (da**2 - da * rr * c(th)) + i2
    M[1, 1] = m2 * da**2 + i2
    M[2, 2] = m3 * (sa**2 + sb**2) + i3
    M[3, 3] = m4 * (e - ea) ** 2 + i4
    M[3, 4] = M[4, 3] = m4 * ((e - ea) ** 2 + zt * (e - ea) * s(ph)) + i4
    M[4, 4] = m4 * (zt**2 + 2 * zt * (e - ea) * s(ph) + (e - ea) ** 2)
    M[4, 4] += m5 * (ta**2 + tb**2) + i4 + i5
    M[5, 5] = m6 * (zf - fa) ** 2 + i6
    M[5, 6] = M[6, 5] = m6 * ((zf - fa) ** 2 - u * (zf - fa) * s(om)) + i6
    M[6, 6] = m6 * ((zf - fa) ** 2 - 2 * u * (zf - fa) * s(om) + u**2)
    M[6, 6] += m7 * (ua**2 + ub**2) + i6 + i7
    x = sd * c(ga) + sc * s(ga) + data.B[0] - data.C[0]
    y = sd * s(ga) - sc * c(ga) + data.B[1] - data.C[1]
    length = np.hypot(x, y)
    pull = -4530.0 * (length - data.REST) / length
    f = np.array(
        [
            0.033 - m2 * da * rr * v[1] * (v[1] + 2 * v[0]) * s(th),
            m2 * da * rr * v[0] ** 2 * s(th),
            pull * x * (sc * c(ga) - sd * s(ga)) + pull * y * (sd * c(ga) + sc * s(ga)),
            m4 * zt * (e - ea) * v[4] ** 2 * c(ph),
            -m4 * zt * (e - ea) * v[3] * (v[3] + 2 * v[4]) * c(ph),
            -m6 * u * (zf - fa) * v[6] ** 2 * c(om),
            m6 * u * (zf - fa) * v[5] * (v[5] + 2 * v[6]) * c(om),
        ]
    )

    def rows(q, t=0.0):
        be, th, ga, ph, de, om, ep = q + t * v
        G = np.zeros((6, 7), dtype=np.result_type(q, t))
        G[::2, 0] = -rr * s(be) + d * s(be + th)
        G[1::2, 0] = rr * c(be) - d * c(be + th)
        G[::2, 1], G[1::2, 1] = d * s(be + th), -d * c(be + th)
        G[0, 2], G[1, 2] = -ss * c(ga), -ss * s(ga)
        G[2, 3], G[3, 3] = -e * c(ph + de), -e * s(ph + de)
        G[2, 4], G[3, 4] = -e * c(ph + de) + zt * s(de), -e * s(ph + de) - zt * c(de)
        G[4, 5], G[5, 5] = zf * s(om + ep), -zf * c(om + ep)
        G[4, 6], G[5, 6] = zf * s(om + ep) - u * c(ep), -zf * c(om + ep) - u * s(ep)
        return G

    change = np.imag(rows(q, 1e-30j)) / 1e-30  # along the motion, by a complex step
    return M, f, rows(q), -change @ v


def accelerations(q, v):
    M, f, G, b = printed(q, v)
    whole = np.block([[M, G.T], [G, np.zeros((6, 6))]])
    found = np.linalg.solve(whole, np.r_[f, b])
    return found[:7], found[7:]


def test_the_start_is_that_of_the_source():
    member = example("squeezer")
    found = zw.motion(member.model, member.q0, member.v0)
    for ours, theirs in zip((found.acceleration, -found.multipliers), SQUEEZER_START, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12 * np.max(np.abs(theirs)))


def test_energies_give_the_equations_that_hairer_and_wanner_print():
    member, random = example("squeezer"), np.random.default_rng(1)
    for _ in range(3):
        q = member.q0 + 0.1 * random.standard_normal(7)
        q = np.asarray(zw.consistent_state(member.model, q).state.q)
        M, f, G, b = printed(q, v := np.zeros(7))
        v = np.linalg.svd(G)[2][6] * 300.0
        found, (wanted, forces) = zw.motion(member.model, q, v), accelerations(q, v)
        np.testing.assert_allclose(found.acceleration, wanted, rtol=1e-9)
        np.testing.assert_allclose(-found.multipliers, forces, rtol=1e-9, atol=1e-9)


def test_a_run_ends_at_the_published_angles():
    reached = run("squeezer")
    np.testing.assert_allclose(reached.q[-1], SQUEEZER_END["angles"], rtol=1e-7)
    np.testing.assert_allclose(reached.v[-1], SQUEEZER_END["velocities"], rtol=1e-6)


@pytest.mark.slow
def test_the_published_digits_end_where_the_printed_equations_do_not():
    """Two integrations agree two digits further than either does with the published values."""
    member = example("squeezer")
    ours = zw.simulate(member.model, member.q0, member.v0, duration=0.03, rtol=1e-12)
    rate = lambda t, y: np.r_[y[7:], accelerations(y[:7], y[7:])[0]]
    theirs = solve_ivp(
        rate, (0, 0.03), np.r_[member.q0, member.v0], "DOP853", rtol=1e-13, atol=1e-11
    )
    end = np.r_[ours.q[-1], ours.v[-1]]
    published = np.r_[SQUEEZER_END["angles"], SQUEEZER_END["velocities"]]
    apart = np.max(np.abs(end / theirs.y[:, -1] - 1))
    assert apart < 1e-9 < 2e-8 < np.max(np.abs(end / published - 1)) < 1e-7
