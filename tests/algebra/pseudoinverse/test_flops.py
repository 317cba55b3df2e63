"""Operation counts."""

import re

import pytest

from zwang.algebra.pseudoinverse import ALL_PSEUDOINVERSES, SVD, Sparse
from zwang.objects.families import PSEUDOINVERSES


def counts_in_the_table():
    rows = re.findall(
        r"^\| `(\w+)`.*? \|.*?\| ([\d⅓⅔]+) n³ \|", PSEUDOINVERSES.table(), re.MULTILINE
    )
    fractions = {"⅓": 1 / 3, "⅔": 2 / 3}
    return {
        member: sum(fractions.get(c, 0) for c in count) + int(re.match(r"\d+", count)[0])
        for member, count in rows
    }


def test_the_table_of_the_family_counts_as_its_members_do():
    assert counts_in_the_table() == {
        member.__name__: pytest.approx(member().flops(10**4, 10**4) / 1e12)
        for member in (*ALL_PSEUDOINVERSES, Sparse)
    }


def test_a_singular_value_decomposition_counts_as_in_the_pseudoinverse_paper():
    assert SVD().flops(2, 3) == 4 * 4 * 3 + 8 * 2 * 9 + 9 * 27


@pytest.mark.parametrize("member", ALL_PSEUDOINVERSES, ids=lambda member: member.__name__)
def test_more_rows_or_columns_never_cost_less(member):
    for m, n in ((3, 8), (8, 8), (8, 3)):
        assert 0 < member().flops(m, n) < min(member().flops(m + 1, n), member().flops(m, n + 1))
