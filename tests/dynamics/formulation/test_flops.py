"""Operation counts compared with Tables 1 to 6 of the pseudoinverse paper."""

import pytest

from zwang.dynamics.formulation import (
    Campbell,
    CampbellSingular,
    UdwadiaKalaba,
    UdwadiaPhohomsiri,
)
from zwang.objects.families import FORMULATIONS

SHAPES = ((2, 3), (15, 18), (19, 28))


def product(m, n, p):
    """The paper's rule for the product of an (m, n) and an (n, p) matrix."""
    return 2 * m * n * p


@pytest.mark.errata
def test_the_rows_of_equation_31_for_matrices_that_are_not_square():
    """ERRATA: Table 2 counts two products with m rows and a difference of m numbers as if m were n;
    with its counts the sum is that of Tables 1 and 6.
    """
    printed = (573, 129024, 421568)
    for (m, n), table_6 in zip(SHAPES, printed, strict=True):
        rows = UdwadiaKalaba().operations(m, n)
        assert rows["A a"] == product(m, n, 1) and rows["b − A a"] == m
        assert rows["M^-1/2 D⁺ (b − A a)"] == product(n, m, 1)
        as_printed = sum(rows.values()) + 2 * (2 * n * n - 2 * m * n) + n - m
        assert as_printed == table_6
        assert table_6 == 12 * m * n**2 + 4 * m**2 * n + 9 * n**3 + 6 * n**2 + 4 * n


@pytest.mark.errata
def test_the_rows_of_equation_35_for_matrices_that_are_not_square():
    """ERRATA: Table 3 counts `H γ` as if m were n."""
    printed = (399, 119853, 288211)
    for (m, n), table_6 in zip(SHAPES, printed, strict=True):
        rows = Campbell().operations(m, n)
        assert rows["H b"] == product(n, m, 1)
        assert sum(rows.values()) + 2 * n * n - 2 * m * n == table_6
        assert table_6 == 8 * n**2 * m + 21 * m**3 + 2 * m**2 * n + 6 * n**2 + 3 * n


@pytest.mark.errata
def test_the_rows_of_equation_41_with_the_product_that_was_left_out():
    """ERRATA: Table 4 has I + M where eq. (41) has I − Q M, no row for Q M, and counts the product
    with γ as if m were n.
    """
    printed = (1227, 274158, 968772)
    for (m, n), table_6 in zip(SHAPES, printed, strict=True):
        rows = CampbellSingular().operations(m, n)
        assert rows["Q M"] == product(n, n, n)
        assert rows["(I − Q M) A⁺ b"] == product(n, m, 1)
        assert sum(rows.values()) - 2 * n**3 + 2 * n * n - 2 * m * n == table_6
        assert table_6 == 4 * m**2 * n + 12 * m * n**2 + 34 * n**3 + 3 * n + 4 * n**2


@pytest.mark.errata
def test_udwadia_phohomsiri_is_printed_without_the_last_term_of_its_second_pseudoinverse():
    # Tables 1 and 6 print 11 n³; the rows of Table 5 add up to 20 n³.
    printed = (1218, 294102, 975716)
    right = (1461, 346590, 1173284)
    for (m, n), wrong, sum_of_table_5 in zip(SHAPES, printed, right, strict=True):
        table_1 = (
            4 * m**2 * n
            + 10 * m * n**2
            + 11 * n**3
            + 4 * (n + m) ** 2 * n
            + (n + m) * (8 * n**2 + 2 * n)
            + n
        )
        assert table_1 == wrong
        assert UdwadiaPhohomsiri().flops(m, n) == sum_of_table_5 == wrong + 9 * n**3


@pytest.mark.parametrize("formulation", FORMULATIONS.classes(), ids=lambda member: member.__name__)
def test_flops_are_the_sum_of_the_operations(formulation):
    assert formulation().flops(4, 7) == sum(formulation().operations(4, 7).values())
