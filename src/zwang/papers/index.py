"""The list of papers. It imports no slow modules, so that the command line knows the names
immediately.
"""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Paper:
    """A paper that is reproduced.

    Attributes:
        name: as in `zwang reproduce NAME`.
        citation: authors and title.
        module: module of its `reproduce`.
    """

    name: str
    citation: str
    module: str


PAPERS = {
    paper.name: paper
    for paper in (
        Paper(
            "review",
            "Udwadia-Kalaba equation: a review",
            "zwang.papers.review",
        ),
        Paper(
            "pseudoinverse",
            "de Falco, Pennestrì and Vita, An investigation of the influence of pseudoinverse "
            "matrix calculations on multibody dynamics simulations by means of the "
            "Udwadia-Kalaba formulation (2008)",
            "zwang.papers.pseudoinverse",
        ),
        Paper(
            "recursive",
            "Orsino, Recursive modular modelling methodology for lumped-parameter dynamic "
            "systems, Proc. R. Soc. A 473 (2017)",
            "zwang.papers.recursive",
        ),
        Paper(
            "scara",
            "Xu and Liu, Dynamic modeling of SCARA robot based on Udwadia-Kalaba theory (2017)",
            "zwang.papers.scara",
        ),
        Paper(
            "servo",
            "Liu, Zhen, Huang, Zhao, Chen and Shao, A systematic approach for designing "
            "analytical dynamics and servo control of constrained mechanical systems (2015)",
            "zwang.papers.servo",
        ),
    )
}
