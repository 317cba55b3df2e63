"""Operation counts against Tables 1 to 6 of the pseudoinverse paper."""

import pytest

from zwang.dynamics.formulation import (
    ALL_FORMULATIONS,
    Campbell,
    CampbellSingular,
    UdwadiaKalaba,
    UdwadiaPhohomsiri,
)

SHAPES = ((2, 3), (15, 18), (19, 28))


@pytest.mark.parametrize(
    ("formulation", "printed"),
    [
        (UdwadiaKalaba, (573, 129024, 421568)),
        (Campbell, (399, 119853, 288211)),
        (CampbellSingular, (1227, 274158, 968772)),
    ],
)
def test_sums_are_those_of_table_6(formulation, printed):
    assert tuple(formulation().flops(m, n) for m, n in SHAPES) == printed


@pytest.mark.parametrize(
    ("formulation", "table_1"),
    [
        (UdwadiaKalaba, lambda m, n: 12 * m * n**2 + 4 * m**2 * n + 9 * n**3 + 6 * n**2 + 4 * n),
        (Campbell, lambda m, n: 8 * n**2 * m + 21 * m**3 + 2 * m**2 * n + 6 * n**2 + 3 * n),
        (
            CampbellSingular,
            lambda m, n: 4 * m**2 * n + 12 * m * n**2 + 34 * n**3 + 3 * n + 4 * n**2,
        ),
    ],
)
def test_sums_are_those_of_table_1(formulation, table_1):
    for m, n in SHAPES:
        assert formulation().flops(m, n) == table_1(m, n)


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


@pytest.mark.errata
def test_the_table_of_equation_41_leaves_out_a_product():
    # Table 4 prints [I] + [M], n flops, where eq. (41) has I − Q M; Q M takes 2 n³ more, which
    # Table 6 does not count.
    operations = CampbellSingular().operations(15, 18)
    assert operations["I − Q M"] == 18
    assert not any(count == 2 * 18**3 for count in operations.values())


@pytest.mark.errata
def test_the_table_of_equation_31_counts_a_product_for_square_matrices_only():
    # Table 2 prints 2 n² for A a, which takes 2 m n.
    assert UdwadiaKalaba().operations(15, 18)["A a"] == 2 * 18**2 != 2 * 15 * 18


@pytest.mark.parametrize("formulation", ALL_FORMULATIONS, ids=lambda member: member.__name__)
def test_flops_are_the_sum_of_the_operations(formulation):
    assert formulation().flops(4, 7) == sum(formulation().operations(4, 7).values())
