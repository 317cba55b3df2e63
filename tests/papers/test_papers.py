"""The cheap claims of the papers in every run of the tests, whole papers as slow tests."""

import jax.numpy as jnp
import pytest

from zwang import papers
from zwang.algebra.pseudoinverse import SVD
from zwang.papers.pseudoinverse import counts
from zwang.papers.review import basics


def test_operation_counts_have_their_expected_verdicts():
    """Tables 1-6 without their times."""
    claims, table_6 = counts.claims_and_grid()
    assert len(claims) == 11 and not [claim for claim in claims if claim.changed]
    assert [row[4:] for row in table_6.rows] == [
        ["560", "128,805", "420,551"],
        ["1,461", "346,590", "1,173,284"],
        ["393", "119,745", "287,707"],
        ["1,275", "285,714", "1,012,172"],
    ]


@pytest.mark.errata
def test_table_1_as_printed_leaves_nine_cubes_out():
    """ERRATA: eq. (43) in Tables 1 and 6; Table 5 adds up to 20 n³."""
    x = counts.EQUATIONS["(43)"]
    for (m, n), value in zip(counts.SHAPES, x.table_6, strict=True):
        assert x.table_1(m, n) == value == x.formulation().flops(m, n) - 9 * n**3


def test_kinds_of_constraints_in_the_examples_of_the_review():
    claims = [basics.kind_of(place, *rest[:3]) for place, rest in basics.EXAMPLES.items()] + [
        basics.value_of_lemma_1()
    ]
    assert [claim for claim in claims if claim.changed] == []
    other = basics.kind_of(
        "Example 4 taken for holonomic", basics.EXAMPLES["Example 4, eq. (16)"][0], True, True
    )
    assert other.changed


def test_propositions_of_the_review_hold():
    assert [claim for claim in basics.propositions([SVD]) if claim.changed] == []


@pytest.mark.errata
def test_lemma_1_gives_two_for_example_4():
    """ERRATA: eq. (17) prints 1; the constraint is nonholonomic either way."""
    assert basics.frobenius(lambda x: jnp.stack([1.0, 2 * x[2], 1.0]), [0.1, 0.2, 0.3]) == 2


def test_an_exact_form_passes_lemma_1_and_a_contact_form_does_not():
    assert basics.frobenius(lambda x: jnp.stack([x[1], x[0], 1.0]), [0.1, 0.2, 0.3]) == 0
    assert (
        basics.frobenius(lambda x: jnp.stack([-x[1], 0.0, 1.0]), [0.1, 0.2, 0.3]) == -1
    )  # γ ∂α/∂y


@pytest.mark.slow
@pytest.mark.parametrize("name", papers.PAPERS)
def test_every_claim_of_a_paper_has_its_expected_verdict(name):
    if name == "pseudoinverse":
        pytest.importorskip("sksundae")
    page = papers.reproduce(name)
    assert page.claims and page.charts
    assert [f"{c.place}: {c.what}: {c.ours}" for c in page.changed] == []
