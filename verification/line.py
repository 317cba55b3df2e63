"""One line of the verification page, and the file that keeps all of them."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

FILE = Path(__file__).parents[1] / "docs" / "verification.json"

AGREES, DIFFERS, FAILED, NOT_MODELED = "agrees", "differs", "failed", "not modeled"
VERDICTS = (AGREES, DIFFERS, FAILED, NOT_MODELED)


@dataclasses.dataclass(frozen=True)
class Line:
    """A published result beside ours.

    Attributes:
        suite: where it was published.
        case: its name there.
        what: the quantities compared.
        published: the value there, as text; empty for curves.
        ours: what is computed here, as text; empty for curves.
        difference: the largest difference, relative to the largest value of its quantity; NaN
            where it is no number.
        allowed: the largest difference that counts as agreement, fixed before the comparison.
        verdict: one of `VERDICTS`: "failed" where our computation did not reach the end.
        why: of a difference, whose it is and how that is known; of a failure, where it ended; of a
            case left out, what is missing.
        command: what computes the line again.
    """

    suite: str
    case: str
    what: str
    published: str
    ours: str
    difference: float
    allowed: float
    verdict: str
    why: str
    command: str


def judged(difference: float, allowed: float) -> str:
    """The verdict of a comparison; a NaN does not agree."""
    return AGREES if difference <= allowed else DIFFERS


def kept_lines() -> dict[str, list[dict[str, Any]]]:
    """Fields of the lines in the file, by suite."""
    return json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}


def keep(suite: str, lines: Sequence[Line], cases: Sequence[str] = ()) -> None:
    """Replace the lines of one suite in the file, those of the cases computed alone if cases are
    named, and print them.
    """
    kept, computed = kept_lines(), {line.case for line in lines}
    others = [x for x in kept.get(suite, ()) if cases and x["case"] not in computed]
    new = [dataclasses.asdict(line) for line in lines]
    kept[suite] = sorted([*others, *new], key=lambda x: x["case"]) if cases else new
    text = json.dumps(kept, indent=1, ensure_ascii=False, sort_keys=True)
    FILE.write_text(text.replace("NaN", "null") + "\n", encoding="utf-8")
    for line in lines:
        print(f"{line.verdict:12} {line.difference:8.1e}  {line.case}: {line.why or line.what}")
    count = {v: sum(x.verdict == v for x in lines) for v in VERDICTS}
    print(", ".join(f"{n} {verdict}" for verdict, n in count.items()))
