"""A claim of a paper with its verdict, and the page that a paper gets."""

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
    """What a paper says in one place, and what comes out here.

    Attributes:
        place: equation, table or figure.
        what: what is claimed.
        printed: the value in the paper.
        ours: the value computed here.
        verdict: what the comparison says, computed.
        why: the correction, or the reason with its measurement; empty where nothing needs saying.
        expected: the verdict that is known to be right; another one means that something has
            changed.
        fitted: the choice that was fitted to this printed value, so that the value is no test of
            it; empty if none was.
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
    """A table of the paper redone.

    Attributes:
        title: the paper's number, and what it shows.
        headings: of the columns; `rows`: a text for each; spaces at its beginning stay.
        note: what to read from it, and choices made here.
    """

    title: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""


@dataclasses.dataclass(frozen=True)
class Page:
    """A paper reproduced.

    Attributes:
        paper: name in the index.
        lead: a paragraph: what the paper does, and what was found.
        choices: what the paper leaves open and was chosen here, a sentence each.
        claims: in the paper's order.
        grids: tables redone.
        charts: figures redrawn, each with the paper's number in its title.
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
    """Sections of a paper, by what `progress` shows of each, recomputed one after another and
    joined.
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
    """The verdict of a comparison, made after a correction if one is named."""
    if not agrees:
        return Verdict.NOT
    return Verdict.CORRECTED if correction else Verdict.REPRODUCED
