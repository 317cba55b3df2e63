"""Papers reproduced: what each prints, beside what zwang computes, with a verdict and a reason for
every claim.

| paper | what is reproduced | folder |
|---|---|---|
| `review` | kinds of constraints, pseudoinverse; spiral, swarm, flexible-joint arm | `review/` |
| `pseudoinverse` | operation counts; the five-bar linkage by five methods | `pseudoinverse/` |
| `recursive` | constraints level by level; clearances, Kalman filter, 3RRR | `recursive/` |
| `scara` | a robot on a helix; why its errors grow, and what stops them | `scara/` |
| `servo` | nonideal constraints, spring system, coordinated robots | `servo/` |

| file | what |
|---|---|
| `index.py` | the list of papers; imports nothing slow |
| `claim.py` | a claim with its verdict, and a page of them |
| `misprint.py` | an equation as printed and corrected, both measured |
| `drawing.py` | figures of lines, and those of gallery members |
| `page.py` | a page as HTML (`paper.html`), by the skeleton that run reports have |

A paper is a folder with a function `reproduce(progress) → Page`, and an entry in `index.py`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable

from zwang.papers.claim import Claim as Claim
from zwang.papers.claim import Page as Page
from zwang.papers.claim import Verdict as Verdict
from zwang.papers.index import PAPERS as PAPERS


def reproduce(
    name: str, progress: Callable[[float, str], None] = lambda fraction, what: None
) -> Page:
    """Recompute a paper.

    Args:
        name: one of `PAPERS`.
        progress: called with the fraction done and what comes next.

    Raises:
        ModelError: for an unknown name.
    """
    if name not in PAPERS:
        from zwang.errors import ModelError

        raise ModelError(f"there is no paper {name!r}; there are: {', '.join(PAPERS)}.")
    return importlib.import_module(PAPERS[name].module).reproduce(progress)
