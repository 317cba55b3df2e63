"""Claims of a paper with their verdicts, and the page of a paper."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from zwang.output.report.figures import Chart


class Verdict(enum.StrEnum):
    REPRODUCED = "reproduced"
    CORRECTED = "reproduced after a correction"
    NOT = "not reproducible"


@dataclasses.dataclass(frozen=True)
class Claim:
    """A statement of a paper, and the corresponding result of zwang.

    Attributes:
        place: equation, table or figure.
        what: the claim.
        printed: the value in the paper.
        ours: the value computed here.
        verdict: the computed result of the comparison.
        why: the correction, or the reason with its measurement; empty if no remark is necessary.
        expected: the verdict that is known to be right; a different verdict indicates a change.
        fitted: the choice that was fitted to this printed value, so that the value does not test
            it; empty if there is none.
    """

    place: str
    what: str
    printed: str
    ours: str
    verdict: Verdict
    why: str = ""
    expected: Verdict = Verdict.REPRODUCED
    fitted: str = ""

    @property
    def changed(self) -> bool:
        return self.verdict is not self.expected


@dataclasses.dataclass(frozen=True)
class Grid:
    """A recomputed table of the paper.

    Attributes:
        title: the paper's number of the table, and its content.
        headings: of the columns.
        rows: a string for each column; leading spaces are kept.
        note: a comment on the result, and choices made here.
    """

    title: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""


@dataclasses.dataclass(frozen=True)
class Page:
    """The reproduction of a paper.

    Attributes:
        paper: name in the index.
        lead: a paragraph on the content of the paper and the result of its reproduction.
        choices: a sentence for each choice that the paper leaves open.
        claims: in the paper's order.
        grids: recomputed tables.
        charts: redrawn figures, each with the paper's number in its title.
    """

    paper: str
    lead: str
    choices: Sequence[str]
    claims: Sequence[Claim]
    grids: Sequence[Grid]
    charts: Sequence[Chart]

    @property
    def changed(self) -> list[Claim]:
        """Claims whose verdict is not the expected one."""
        return [claim for claim in self.claims if claim.changed]


@dataclasses.dataclass(frozen=True)
class Part:
    """Claims, tables and figures of one section of a paper."""

    claims: Sequence[Claim]
    grids: Sequence[Grid] = ()
    charts: Sequence[Chart] = ()


def gathered(
    sections: Mapping[str, Callable[[], Part]], progress: Callable[[float, str], None]
) -> Part:
    """Recompute the sections of a paper one after another and join them; their keys are shown by
    `progress`.
    """
    found = []
    for i, (what, reproduced) in enumerate(sections.items()):
        progress(i / len(sections), what)
        found.append(reproduced())
    return Part(
        [claim for part in found for claim in part.claims],
        [grid for part in found for grid in part.grids],
        [chart for part in found for chart in part.charts],
    )


def compared(agrees: bool, correction: str = "") -> Verdict:
    """The verdict of a comparison, made after a correction if one is given."""
    if not agrees:
        return Verdict.NOT
    return Verdict.CORRECTED if correction else Verdict.REPRODUCED
