"""Tables 1-6: operation counts as printed and as corrected."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping

from zwang.algebra.pseudoinverse import SVD
from zwang.dynamics.formulation import (
    AbstractFormulation,
    Campbell,
    CampbellSingular,
    UdwadiaKalaba,
    UdwadiaPhohomsiri,
)
from zwang.papers.claim import Claim, Grid, Verdict, compared

SHAPES = ((2, 3), (15, 18), (19, 28))
"""(m, n) of Table 6."""


@dataclasses.dataclass(frozen=True)
class Counted:
    """An equation in Tables 1 to 6.

    Attributes:
        formulation: the same equation here.
        table_1: its operations for (m, n), as printed.
        table_6: printed numbers for `SHAPES`.
        miscounted: row of our count → place of the printed count, this count for (m, n), and the
            error in it.
    """

    formulation: Callable[[], AbstractFormulation]
    table_1: Callable[[int, int], int]
    table_6: tuple[int, ...]
    miscounted: Mapping[str, tuple[str, Callable[[int, int], int], str]]


AS_IF_SQUARE = (
    "By the paper's rule a product (m, n) by (n, p) takes 2mnp; it counts as if m were n."
)
EQUATIONS = {
    "(31)": Counted(
        UdwadiaKalaba,
        lambda m, n: 12 * m * n**2 + 4 * m**2 * n + 9 * n**3 + 6 * n**2 + 4 * n,
        (573, 129024, 421568),
        {
            "A a": ("Table 2, Ψ_q q̈_f", lambda m, n: 2 * n**2, AS_IF_SQUARE),
            "b − A a": ("Table 2, γ − Ψ_q q̈_f", lambda m, n: n, "A difference of m numbers."),
            "M^-1/2 D⁺ (b − A a)": (
                "Table 2, M^(−1/2) D⁺ (γ − Ψ_q q̈_f)",
                lambda m, n: 2 * n**2,
                AS_IF_SQUARE,
            ),
        },
    ),
    "(43)": Counted(
        UdwadiaPhohomsiri,
        lambda m, n: (
            4 * m**2 * n
            + 10 * m * n**2
            + 11 * n**3
            + 4 * (n + m) ** 2 * n
            + (n + m) * (8 * n**2 + 2 * n)
            + n
        ),
        (1218, 294102, 975716),
        {
            "M̄⁺": (
                "Table 1, M̄⁺ of Table 5",
                lambda m, n: int(SVD().flops(n + m, n)) - 9 * n**3,
                "Table 5 prints 9n³ in this row and adds up to 20n³; Table 1 prints 11n³.",
            )
        },
    ),
    "(35)": Counted(
        Campbell,
        lambda m, n: 8 * n**2 * m + 21 * m**3 + 2 * m**2 * n + 6 * n**2 + 3 * n,
        (399, 119853, 288211),
        {"H b": ("Table 3, H γ", lambda m, n: 2 * n**2, AS_IF_SQUARE)},
    ),
    "(41)": Counted(
        CampbellSingular,
        lambda m, n: 4 * m**2 * n + 12 * m * n**2 + 34 * n**3 + 3 * n + 4 * n**2,
        (1227, 274158, 968772),
        {
            "Q M": (
                "Table 4, I + M",
                lambda m, n: 0,
                "Eq. (41) has I − Q M; the product Q M is in no row.",
            ),
            "(I − Q M) A⁺ b": (
                "Table 4, (I + M) Ψ_q⁺",
                lambda m, n: 2 * n**2,
                f"The product with γ is meant. {AS_IF_SQUARE}",
            ),
        },
    ),
}


def claims_and_grid() -> tuple[list[Claim], Grid]:
    """Tables 1-6 without times."""
    return [claim for equation in EQUATIONS for claim in operations(equation)], _table_6()


def operations(equation: str) -> list[Claim]:
    """An equation in Tables 1 and 6, and its miscounted rows."""
    x = EQUATIONS[equation]
    each = [x.formulation().operations(m, n) for m, n in SHAPES]
    ours = [int(sum(rows.values())) for rows in each]
    # with the printed counts of these rows, all sums must equal the printed sums
    printed = [
        sum(
            x.miscounted[row][1](m, n) if row in x.miscounted else count
            for row, count in rows.items()
        )
        for rows, (m, n) in zip(each, SHAPES, strict=True)
    ]
    agrees = tuple(printed) == x.table_6 == tuple(x.table_1(m, n) for m, n in SHAPES)
    places = "; ".join(place for place, _, _ in x.miscounted.values())
    correction = f"Adds up to the printed numbers with what is printed for: {places}."
    whole = Claim(
        f"Tables 1, 6, eq. {equation}",
        "operations for (m, n) = (2, 3), (15, 18), (19, 28)",
        _counts(x.table_6),
        _counts(ours),
        compared(agrees, correction),
        correction,
        Verdict.CORRECTED,
    )
    m, n = SHAPES[1]
    rows = [
        Claim(
            place,
            f"operations at ({m}, {n})",
            f"{int(there(m, n)):,}",
            f"{int(each[1][row]):,}",
            compared(there(m, n) != each[1][row], why),
            why,
            Verdict.CORRECTED,
        )
        for row, (place, there, why) in x.miscounted.items()
    ]
    return [whole, *rows]


def _table_6() -> Grid:
    rows = []
    for equation, counted in EQUATIONS.items():
        ours = [int(counted.formulation().flops(m, n)) for m, n in SHAPES]
        rows.append(
            [f"eq. {equation}", *(f"{x:,}" for x in counted.table_6), *(f"{x:,}" for x in ours)]
        )
    headings = [
        "equation",
        *(f"printed ({m}, {n})" for m, n in SHAPES),
        *(f"ours ({m}, {n})" for m, n in SHAPES),
    ]
    return Grid(
        "Table 6: operations for the accelerations",
        headings,
        rows,
        "Ours: sums of the rows of Tables 2-5, all their miscounts corrected.",
    )


def _counts(values) -> str:
    return ", ".join(f"{x:,}" for x in values)
