"""Misprints of the papers: each equation fails as printed and holds as corrected; and contradictory
printed numbers.
"""

import numpy as np
import pytest

from zwang.papers import Verdict
from zwang.papers.misprint import Misprint, apart
from zwang.papers.pseudoinverse import misprints as pseudoinverse
from zwang.papers.pseudoinverse import printed
from zwang.papers.review import misprints as review
from zwang.papers.servo import controllable
from zwang.papers.servo import misprints as servo

PLACES = {
    review: [
        "eq. (18)",
        "eq. (37), inertia matrix",
        "eq. (37), terms of velocity",
        "eq. (40)",
        "eq. (68)",
        "eq. (71), (72)",
    ],
    servo: [
        "eq. (5)",
        "eq. (19), its text",
        "eq. (20)",
        "eq. (21)",
        "eq. (28), (29)",
        "eq. (30)",
        "eq. (35)",
        "section III.B",
        "eq. (39)",
        "eq. (51), its text",
        "eq. (58)",
        "eq. (59)",
        "eq. (64)",
        "eq. (A1)",
    ],
    pseudoinverse: ["eq. (12)", "eq. (19), its σ", "Greville, step 3", "Greville, ‖c‖ = 0"],
}


@pytest.mark.one_in(3)
@pytest.mark.errata
@pytest.mark.parametrize("paper", PLACES, ids=lambda paper: paper.__name__.split(".")[-2])
def test_as_printed_it_fails_and_put_right_it_holds(paper):
    """ERRATA, review: (18) b ∈ Rⁿ for Rᵐ; (37) −m [c]× below the diagonal for m [c]×, and
    [c]×[c]× c for [ω]×[ω]× c; (40) c for −c; (68) m₁ for m₂ in c₁₁; (71), (72) q₁ for K q₁.

    ERRATA, servo: (5) without q̈; (19) "equation (6)" for (18); (20), (21) a sum over i for k;
    (28), (29) one vector for two, c and r; (30) min for arg min; (35) s ∈ Rᵐ for Rᵖ; III.B
    φ = A q̈ − b for the constraint; (39) x₂ for m₂; (51) j ≥ i for j > i; (58) a sign; (59) q for
    q̇; (64) first derivatives for second ones; (A1) J_L2⁽⁵⁾ of the third joint.

    ERRATA, pseudoinverse: (12) P for Pᵀ; (19) a 1 for σ₂; Greville's recursion a product for two
    blocks, and P for Pᵀ.
    """
    found = paper.misprints()
    assert [x.place for x in found] == PLACES[paper]
    for x in found:
        assert x.error_right < 1e-13 and x.error_printed > 0.01, x
        assert x.claim.verdict is Verdict.CORRECTED and not x.claim.changed


def test_a_misprint_that_is_none_or_a_correction_that_is_wrong_changes_its_verdict():
    right = Misprint("eq. (1)", "a value", "x", "y", 1.0, 0.0)
    assert not right.claim.changed
    assert Misprint("eq. (1)", "a value", "x", "y", 1e-15, 0.0).claim.changed
    assert Misprint("eq. (1)", "a value", "x", "y", 1.0, 1e-3).claim.changed
    assert apart(np.ones((2, 3)), np.ones(2)) == float("inf") and apart([1.0], [3.0]) == 2.0


@pytest.mark.errata
def test_newton_and_euler_as_printed_miss_the_force_of_a_body_that_only_turns():
    """ERRATA: a body that turns about P at a steady rate needs the force m [ω]×[ω]× c, which eq.
    (37) prints as m [c]×[c]× c = 0.
    """
    x = review.body()._replace(acceleration=np.zeros(3), alpha=np.zeros(3))
    assert np.abs(review.newton_euler(x, 1.0, turning=False)[:3]).max() < 1e-14
    c, omega = x.center, x.omega
    centripetal = x.mass * (omega * (omega @ c) - c * (omega @ omega))
    np.testing.assert_allclose(
        review.newton_euler(x, 1.0, turning=True)[:3], centripetal, atol=1e-13
    )


@pytest.mark.errata
def test_theorem_1_holds_in_one_direction():
    """ERRATA: "only if" rank[C B̄] ≥ 1; every u keeps a relation that the free motion obeys."""
    assert [claim.changed for claim in controllable.reproduced().claims[:3]] == [False] * 3
    assert controllable.reproduced().claims[2].verdict is Verdict.CORRECTED


@pytest.mark.errata
def test_tables_7_to_12_contradict_themselves():
    """ERRATA: Table 9 has the numbers of Table 8 for LS-Householder and the steps of Greville; the
    calls need up to thirty times what the machine can do, and a thousandth of them does not.
    """
    assert printed.repeats(1e-8, 1e-6, "LS-Householder") == ("violation", "calls", "steps")
    assert printed.repeats(1e-8, 1e-6, "Greville") == ("steps",)
    assert printed.repeats(1e-10, 1e-8, "LS-Householder") == ()
    assert printed.repeats(1e-8, 1e-6, "LS-Modified GS") == ()
    row = printed.PRINTED[True, 1e-10][1]  # Varga in Table 10: 78,491,398 calls in 11.4 s
    assert printed.gigaflops("Varga", row) == pytest.approx(78491398 / 11.4 * 16704e-9)
    assert printed.gigaflops("Varga", row) * 1e9 > 10 * printed.PEAK
    assert all(claim.verdict is Verdict.NOT for claim in printed.claims())
