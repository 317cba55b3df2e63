"""Reproduction of papers: the printed results compared with those of zwang, with a verdict and a
reason for every claim.

| paper | reproduced results | folder |
|---|---|---|
| `review` | kinds of constraints, pseudoinverse; spiral, swarm, flexible-joint arm | `review/` |
| `pseudoinverse` | operation counts; the five-bar linkage by five methods | `pseudoinverse/` |
| `recursive` | constraints level by level; clearances, Kalman filter, 3RRR | `recursive/` |
| `scara` | a robot on a helix; the growth of its errors, and its remedies | `scara/` |
| `servo` | nonideal constraints, spring system, coordinated robots | `servo/` |

| file | content |
|---|---|
| `index.py` | the list of papers, without slow imports |
| `claim.py` | a claim with its verdict, and a page of them |
| `misprint.py` | an equation as printed and as corrected, with the errors of both |
| `drawing.py` | figures of lines, and figures of models of the gallery |
| `page.py` | a page as HTML (`paper.html`), with the skeleton of run reports |

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
        progress: called with the completed fraction and the name of the next part.

    Raises:
        ModelError: for an unknown name.
    """
    if name not in PAPERS:
        from zwang.errors import ModelError

        raise ModelError(f"there is no paper {name!r}; there are: {', '.join(PAPERS)}.")
    return importlib.import_module(PAPERS[name].module).reproduce(progress)
